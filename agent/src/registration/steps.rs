//! The steps of a registration, each a call or two.

use berth_agent_core::asked::Asked;
use berth_agent_core::identity::Identity;
use berth_agent_core::registered::HubStanding;
use berth_agent_core::registration::{ClusterOnHub, Credentials, Step};
use berth_agent_core::rotation::rotated;
use berth_hub::{Access, Call, CallError, HubApi};
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::info;

use super::publish::server_of;
use super::{CLUSTER_AGAIN, CLUSTERS, Registration};
use crate::bootstrap::Hub;
use crate::failed::Failed;

impl Registration<'_> {
    /// Carries out a step.
    pub(super) async fn carry_out(
        &mut self,
        step: Step,
        asked: &Asked,
        hub: &Hub,
    ) -> Result<(), Failed> {
        match step {
            Step::CreateCluster => self.create_cluster(&hub.api, &asked.cluster).await,
            Step::Keep {
                number,
                with_new_key,
            } => self.exchange.keep(asked, number, with_new_key).await,
            Step::Ask { name, with } => {
                let api = self.api(with).await?;
                let done = self.exchange.ask(asked, &name, &api).await;
                // With its own certificate the agent may only lack its role, which the hub is about to create.
                done.map_err(|failed| Failed {
                    is_refusal: failed.is_refusal && with == Credentials::Bootstrap,
                    ..failed
                })
            }
            Step::Rewrite => self.rewrite(asked, hub).await,
            Step::Save => self.save(asked, hub).await,
            Step::Forget => self.exchange.forget().await,
        }
    }

    /// The connections with these credentials.
    pub(super) async fn api(&mut self, with: Credentials) -> Result<HubApi, Failed> {
        if with == Credentials::Bootstrap {
            let hub = self.hubs.hub();
            let hub =
                hub.map_err(|why| Failed::of("BootstrapKubeconfigUnusable", why.to_owned()))?;
            return Ok(hub.api.clone());
        }
        let connection = self.tell.borrow().connection.clone();
        let Some(connection) = connection else {
            return Err(Failed::of(
                "HubAway",
                "there is no certificate for the hub".to_owned(),
            ));
        };
        if let Some((of, api)) = &self.own
            && *of == connection
        {
            return Ok(api.clone());
        }
        let access = Access::of_agent(Some(self.folder.kubeconfig()));
        let api = HubApi::connect(&access).await;
        let api = api.map_err(|error| Failed::of("HubAway", error.to_string()))?;
        self.own = Some((connection, api.clone()));
        Ok(api)
    }

    /// Finds out whether the hub has the ManagedCluster, now and then.
    pub(super) async fn look_for_cluster(
        &mut self,
        api: &HubApi,
        identity: &Identity,
    ) -> Result<(), Failed> {
        let is_due = match &self.cluster {
            ClusterOnHub::Unknown => true,
            ClusterOnHub::Present => self
                .cluster_asked
                .is_none_or(|at| at.elapsed() >= CLUSTER_AGAIN),
            ClusterOnHub::Absent | ClusterOnHub::Refused { .. } => false,
        };
        if !is_due {
            return Ok(());
        }
        let read = Call::get(format!("{CLUSTERS}/{}", identity.cluster));
        self.cluster = match api.call(read).await {
            Ok(_) => ClusterOnHub::Present,
            Err(error) if error.is_absent() => ClusterOnHub::Absent,
            Err(error) => self.refused_cluster(&error)?,
        };
        self.cluster_asked = Some(Instant::now());
        Ok(())
    }

    async fn create_cluster(&mut self, api: &HubApi, cluster: &str) -> Result<(), Failed> {
        let body = self.settings.wish.body(cluster);
        let create = Call::post(CLUSTERS, body.to_string());
        self.cluster = match api.call(create).await {
            Ok(_) => {
                info!(cluster, "ManagedCluster created on the hub");
                ClusterOnHub::Present
            }
            Err(error) if error.is_conflict() => ClusterOnHub::Present,
            Err(error) => self.refused_cluster(&error)?,
        };
        Ok(())
    }

    /// A refusal is tried again after minutes. A hub that is away or busy fails the step, and so do credentials that it does not know:
    /// nothing else would succeed with them.
    fn refused_cluster(&self, error: &CallError) -> Result<ClusterOnHub, Failed> {
        if error.may_pass() || error.code() == 401 {
            return Err(Failed::on_hub(error));
        }
        let times = match &self.cluster {
            ClusterOnHub::Refused { times, .. } => times.saturating_add(1),
            _ => 0,
        };
        Ok(ClusterOnHub::Refused {
            message: error.to_string(),
            at: Timestamp::now(),
            times,
        })
    }

    async fn rewrite(&mut self, asked: &Asked, hub: &Hub) -> Result<(), Failed> {
        let url = &hub.endpoint.server;
        let was_for_other = server_of(&self.exchange.data()).is_some_and(|it| it != *url);
        if self.exchange.rewrite(asked, &hub.kubeconfig).await? {
            // Another agent that shares the Secret may write its own URL there again and again: only a change of the file counts.
            if was_for_other && self.url.as_ref() != Some(url) {
                self.is_at_new_url = true;
                self.refused_since = None;
                self.standing.hub(HubStanding::Unknown);
            }
            self.url = Some(url.clone());
            info!(
                "the hub's address in the bootstrap kubeconfig has changed: the certificate is tried there"
            );
        }
        Ok(())
    }

    async fn save(&mut self, asked: &Asked, hub: &Hub) -> Result<(), Failed> {
        let Some((certificate, with)) = self.exchange.save(asked, &hub.kubeconfig).await? else {
            return Ok(());
        };
        self.refused_since = None;
        self.is_at_new_url = false;
        info!(not_after = %certificate.not_after, "the certificate for the hub is saved");
        if with == Credentials::Hub {
            self.rotated(true, rotated(certificate.not_before, certificate.not_after));
        }
        Ok(())
    }
}
