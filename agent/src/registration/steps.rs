//! The steps of a registration, each a call or two.

use berth_agent_core::held;
use berth_agent_core::identity::Identity;
use berth_agent_core::registration::{ClusterOnHub, Credentials, MOST_PENDING, Step};
use berth_certs::client::{ClientCertificate, ClientKey};
use berth_hub::{Access, Call, CallError, HubApi};
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::info;

use super::{CLUSTER_AGAIN, Failed, Registration};
use crate::bootstrap::Hub;
use crate::request::{self, Seen};

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

impl Registration<'_> {
    /// Carries out a step.
    pub(super) async fn carry_out(
        &mut self,
        step: Step,
        identity: &Identity,
        hub: &Hub,
    ) -> Result<(), Failed> {
        match step {
            Step::CreateCluster => {
                self.create_cluster(&hub.api, identity).await;
                Ok(())
            }
            Step::Keep {
                number,
                with_new_key,
            } => self.keep(identity, number, with_new_key).await,
            Step::Ask { name, with } => self.ask(identity, &name, with).await,
            Step::Rewrite => self.rewrite(identity, hub).await,
            Step::Save => self.save(identity, hub).await,
            Step::Forget => {
                self.store
                    .forget()
                    .await
                    .map_err(|error| Failed::here(&error))?;
                self.pending = Some(None);
                self.followed = None;
                Ok(())
            }
        }
    }

    /// The connections with these credentials.
    pub(super) async fn api(&mut self, with: Credentials) -> Result<HubApi, Failed> {
        if with == Credentials::Bootstrap {
            let hub = self.bootstrap.hub();
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
        let access = Access::of_server(Some(self.folder.kubeconfig()));
        let api = HubApi::connect(&access).await;
        let api = api.map_err(|error| Failed::of("HubAway", error.to_string()))?;
        self.own = Some((connection, api.clone()));
        Ok(api)
    }

    /// Finds out whether the hub has the ManagedCluster, now and then.
    pub(super) async fn look_for_cluster(&mut self, api: &HubApi, identity: &Identity) {
        let is_due = |at: Instant| at.elapsed() >= CLUSTER_AGAIN;
        let is_unknown = self.cluster == ClusterOnHub::Unknown;
        let is_absent = self.cluster == ClusterOnHub::Absent;
        let is_refused = matches!(self.cluster, ClusterOnHub::Refused { .. });
        if is_absent || is_refused || !is_unknown && !self.cluster_asked.is_none_or(is_due) {
            return;
        }
        self.cluster_asked = Some(Instant::now());
        let read = Call::get(format!("{CLUSTERS}/{}", identity.cluster));
        self.cluster = match api.call(read).await {
            Ok(_) => ClusterOnHub::Present,
            Err(error) if error.is_absent() => ClusterOnHub::Absent,
            Err(error) => self.refused_cluster(&error),
        };
    }

    async fn create_cluster(&mut self, api: &HubApi, identity: &Identity) {
        let body = self.settings.wish.body(&identity.cluster);
        let create = Call::post(CLUSTERS, body.to_string());
        self.cluster = match api.call(create).await {
            Ok(_) => {
                info!(
                    cluster = identity.cluster,
                    "ManagedCluster created on the hub"
                );
                ClusterOnHub::Present
            }
            Err(error) if error.is_conflict() => ClusterOnHub::Present,
            Err(error) => self.refused_cluster(&error),
        };
    }

    /// A refusal by the hub, and also one by the network: both are retried after a pause that grows.
    fn refused_cluster(&self, error: &CallError) -> ClusterOnHub {
        let times = match &self.cluster {
            ClusterOnHub::Refused { times, .. } => times.saturating_add(1),
            _ => 0,
        };
        ClusterOnHub::Refused {
            message: error.to_string(),
            at: Timestamp::now(),
            times,
        }
    }

    async fn keep(
        &mut self,
        identity: &Identity,
        number: u32,
        with_new_key: bool,
    ) -> Result<(), Failed> {
        let before = self.pending.take().flatten();
        let result = match (&before, with_new_key) {
            (Some(before), false) => ClientKey::from_pem(before.key.to_pem().as_bytes())
                .map_err(|error| error.to_string()),
            _ => ClientKey::generate().map_err(|error| error.to_string()),
        };
        let key =
            result.map_err(|why| Failed::of("NoKey", format!("a key cannot be made: {why}")))?;
        let kept = self
            .store
            .keep(key, number, identity, before.as_ref())
            .await;
        // After a failure the Secret is read again: `pending` is not known.
        self.pending = Some(Some(kept.map_err(|error| Failed::here(&error))?));
        Ok(())
    }

    async fn ask(
        &mut self,
        identity: &Identity,
        name: &str,
        with: Credentials,
    ) -> Result<(), Failed> {
        let api = self.api(with).await?;
        // Some hubs let agents create requests, and not list them.
        let others = request::others_pending(&api, identity, name).await;
        let others = others.unwrap_or_default();
        self.others_pending = (others, Instant::now());
        if others >= MOST_PENDING {
            // The next decision says so.
            return Ok(());
        }
        let Some(Some(pending)) = &self.pending else {
            return Ok(());
        };
        let body = berth_agent_core::request::body(
            name,
            identity,
            &pending.key,
            self.settings.expiration_seconds,
        );
        let body = body.map_err(|error| Failed::of("NoKey", error.to_string()))?;
        let stored = match api.call(request::create(&body)).await {
            Ok(answer) => {
                info!(name, "CertificateSigningRequest created on the hub");
                answer.json()
            }
            // The agent was killed after it had asked.
            Err(error) if error.is_conflict() => request::read(&api, name).await,
            Err(error) => Err(error),
        };
        let stored = stored.map_err(|error| Failed::on_hub(&error))?;
        if let Some(followed) = &self.followed {
            followed.created(stored);
        }
        Ok(())
    }

    async fn rewrite(&mut self, identity: &Identity, hub: &Hub) -> Result<(), Failed> {
        let Some(Some(before)) = &self.secret else {
            return Ok(());
        };
        let data = held::filled(&before.data, identity, &hub.kubeconfig, None);
        let stored = self.store.save(Some(before), data).await;
        self.secret = Some(Some(stored.map_err(|error| Failed::here(&error))?));
        info!(
            "the hub's address in the bootstrap kubeconfig has changed: the certificate is tried there"
        );
        Ok(())
    }

    async fn save(&mut self, identity: &Identity, hub: &Hub) -> Result<(), Failed> {
        let (Some(secret), Some(Some(pending)), Some(followed)) =
            (&self.secret, &self.pending, &self.followed)
        else {
            return Ok(());
        };
        let Seen::Stored(request) = followed.now() else {
            return Ok(());
        };
        let Some(chain) = request.certificate() else {
            return Ok(());
        };
        let is_renewal = followed.with == Credentials::Hub;
        let empty = held::SecretData::new();
        let before = secret.as_ref().map_or(&empty, |it| &it.data);
        let data = held::filled(
            before,
            identity,
            &hub.kubeconfig,
            Some((&chain, &pending.key)),
        );
        let stored = self.store.save(secret.as_ref(), data).await;
        self.secret = Some(Some(stored.map_err(|error| Failed::here(&error))?));
        self.refused_since = None;
        if let Ok(certificate) = ClientCertificate::from_pem(&chain) {
            let (from, to) = (certificate.not_before, certificate.not_after);
            info!(not_after = %to, "the certificate for the hub is saved");
            if is_renewal {
                let go = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string();
                let message = format!(
                    "client certificate rotated starting from {} to {}",
                    go(from),
                    go(to)
                );
                self.rotated(true, message);
            }
        }
        Ok(())
    }
}
