//! A registration of an add-on: reads what is known, decides ([`berth_agent_core::registration`]), carries out the steps, and waits for
//! the next change. It is the cluster's own registration with another subject, and with the agent's certificate for all calls.

use std::time::Duration;

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::held::{self, Judged};
use berth_agent_core::registration::{
    ClusterOnHub, Credentials, Decision, Facts, Held, Need, Step, decide,
};
use berth_hub::HubApi;
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::info;

use super::kept::RotationResult;
use super::reporter::Reporter;
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::standing::Wait;

/// A certificate of an add-on, and what is needed to keep it.
pub(super) struct Certificate<'k, 'a> {
    pub(super) reporter: &'k mut Reporter<'a>,
    pub(super) exchange: &'k mut Exchange<'a>,
    pub(super) hub: &'a HubApi,
    /// The agent's own.
    pub(super) kubeconfig: &'a str,
}

// === impl Certificate ===

impl Certificate<'_, '_> {
    /// Decides until nothing is due now. Returns when to look again.
    pub(super) async fn decide_and_act(&mut self) -> RotationResult<Option<Instant>> {
        let asked = &self.reporter.of.asked;
        // Each step changes what the next decision is made of. More than these would be a circle.
        for _ in 0..16 {
            if self.exchange.secret.is_none() {
                return Ok(None);
            }
            self.exchange.read_pending().await.map_err(of)?;
            self.exchange.drop_pending_of_others(asked);
            self.exchange.follow(asked, Credentials::Hub, self.hub);
            let now = Timestamp::now();
            let empty = held::SecretData::new();
            let data = self.exchange.stored().map_or(&empty, |it| &it.data);
            let judged = held::judge(data, asked, now);
            let is_usable = !matches!(judged.held, Held::Unusable(_));
            let facts = Facts {
                asked,
                held: judged.held,
                held_key: judged.key,
                // A Secret without a certificate is written with the next one.
                is_current: !is_usable || held::filled(data, asked, self.kubeconfig, None) == *data,
                refusal: None,
                attempt: self.exchange.attempt(),
                request: self.exchange.request(asked, now),
                others_pending: self.exchange.others_pending(),
                cluster: ClusterOnHub::Present,
            };
            let decision = decide(&facts, now);
            if decision.steps.is_empty() {
                return Ok(self.rest(&decision, &judged, now));
            }
            for step in decision.steps {
                self.carry_out(step).await?;
            }
        }
        Err(of(Failed::of(
            "Undecided",
            "the registration does not settle: this is a defect of the agent".to_owned(),
        )))
    }

    async fn carry_out(&mut self, step: Step) -> RotationResult<()> {
        let asked = &self.reporter.of.asked;
        match step {
            // Without one there are no add-ons.
            Step::CreateCluster => Ok(()),
            Step::Keep {
                number,
                with_new_key,
            } => {
                let kept = self.exchange.keep(asked, number, with_new_key).await;
                kept.map_err(|failed| of(self.reporter.homeless(failed)))
            }
            Step::Ask { name, .. } => {
                let made = self.exchange.ask(asked, &name, self.hub).await;
                made.map_err(|failed| {
                    let rotation = Rotation::not_asked(&failed.wait);
                    (failed, rotation)
                })
            }
            Step::Rewrite => {
                let written = self.exchange.rewrite(asked, self.kubeconfig).await;
                written.map(|_| ()).map_err(of)
            }
            Step::Save => {
                let saved = self.exchange.save(asked, self.kubeconfig).await;
                let saved = saved.map_err(|failed| of(self.reporter.homeless(failed)))?;
                if let Some((certificate, _)) = saved {
                    info!(
                        addon = self.reporter.of.addon,
                        secret = self.reporter.of.secret,
                        not_after = %certificate.not_after,
                        "the certificate of an add-on is saved"
                    );
                }
                Ok(())
            }
            Step::Forget => self.exchange.forget().await.map_err(of),
        }
    }

    /// Reports how the registration stands. Returns when to look again.
    fn rest(&mut self, decision: &Decision, judged: &Judged, now: Timestamp) -> Option<Instant> {
        let waiting = (decision.waiting.as_ref()).map(|waiting| {
            let wait = Wait {
                reason: waiting.reason(),
                message: waiting.to_string(),
            };
            (wait, Rotation::waits(waiting))
        });
        let waiting = waiting.or_else(|| {
            let (name, error) = self.exchange.unseen_request()?;
            let wait = Wait {
                reason: "HubAway",
                message: format!("CertificateSigningRequest {name} cannot be read: {error}"),
            };
            let rotation = Rotation::failed(&wait);
            Some((wait, rotation))
        });
        let mut tell = None;
        if let Some((wait, rotation)) = waiting {
            tell = self.reporter.waits(&wait, rotation);
        } else if let Need::Nothing { .. } = decision.need
            && let (Some(not_before), Some(not_after)) = (judged.not_before, judged.not_after)
        {
            self.reporter.is_good(Rotation::Good {
                not_before,
                not_after,
            });
        }
        let again = decision.again.map(|again| {
            let pause = Duration::try_from(again.duration_since(now)).unwrap_or_default();
            Instant::now() + pause
        });
        tell.into_iter().chain(again).min()
    }
}

fn of(failed: Failed) -> (Failed, Rotation) {
    let rotation = Rotation::failed(&failed.wait);
    (failed, rotation)
}
