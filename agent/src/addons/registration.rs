//! A registration of an add-on: reads what is known, decides ([`berth_agent_core::registration`]), carries out the steps, and waits for
//! the next change. It is the cluster's own registration with another subject, and with the agent's certificate for all calls.

use std::convert::Infallible;
use std::time::Duration;

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::addons::wanted::Registration;
use berth_agent_core::held::{self, Judged};
use berth_agent_core::registration::{
    ClusterOnHub, Credentials, Decision, Facts, Held, Need, Step, decide,
};
use berth_hub::HubApi;
use berth_reconcile::{WatchError, follow_one};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::AddonWork;
use super::reporter::{Reporter, appears};
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::standing::Wait;
use crate::store::{Store, Stored};

/// The longest time between two decisions.
const AGAIN: Duration = Duration::from_secs(3600);

/// A registration of an add-on, while it is kept.
pub(super) struct Keeper<'a> {
    of: &'a Registration,
    exchange: Exchange<'a>,
    hub: &'a HubApi,
    kubeconfig: &'a str,
    reporter: Reporter<'a>,
}

type SecretSeen = Option<Result<Option<Stored>, WatchError>>;

/// A failed step, and what it means for the add-on.
type Outcome<T> = Result<T, (Failed, Rotation)>;

// === impl Keeper ===

impl<'a> Keeper<'a> {
    pub(super) fn new(
        of: &'a Registration,
        store: &'a Store,
        hub: &'a HubApi,
        kubeconfig: &'a str,
        work: &'a AddonWork,
    ) -> Self {
        Self {
            of,
            exchange: Exchange::new(store),
            hub,
            kubeconfig,
            reporter: Reporter::new(of, work),
        }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(mut self) -> Infallible {
        let (sender, mut secrets) = watch::channel::<SecretSeen>(None);
        let store = self.exchange.store;
        let row = store.watched_secret();
        let follow = follow_one(store.api(), &row, |seen| {
            sender.send_replace(Some(seen));
        });
        let namespace = self.of.place.namespace.as_str();
        let work = async {
            let mut seen = None;
            loop {
                let until = self.round(seen.take()).await;
                let until = until.unwrap_or_else(|| Instant::now() + AGAIN);
                let is_homeless = self.reporter.is_homeless();
                tokio::select! {
                    _ = secrets.changed() => seen = secrets.borrow_and_update().clone(),
                    () = self.exchange.answered() => {}
                    () = appears(store.api(), namespace), if is_homeless => self.reporter.try_again(),
                    () = sleep_until(until) => {}
                }
            }
        };
        tokio::select! {
            never = follow => never,
            never = work => never,
        }
    }

    /// Reads, decides and acts once. Returns when to look again.
    async fn round(&mut self, seen: SecretSeen) -> Option<Instant> {
        let seen = match seen {
            Some(seen) => self.exchange.see_secret(seen).await,
            None => Ok(false),
        };
        match seen {
            Ok(true) => self.reporter.try_again(),
            Ok(false) => {}
            Err(error) => {
                let wait = Wait {
                    reason: "SecretUnreadable",
                    message: format!("Secret {} cannot be read: {error}", self.of.secret),
                };
                let rotation = Rotation::failed(&wait);
                return self.reporter.waits(&wait, rotation);
            }
        }
        if let Some(until) = self.reporter.in_trouble() {
            return Some(until);
        }
        match self.decide_and_act().await {
            Ok(again) => {
                self.reporter.succeeded();
                again
            }
            Err((failed, rotation)) => Some(self.reporter.failed(failed, rotation)),
        }
    }

    /// Decides until nothing is due now. Returns when to look again.
    async fn decide_and_act(&mut self) -> Outcome<Option<Instant>> {
        let asked = &self.of.asked;
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
                refused_since: None,
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

    async fn carry_out(&mut self, step: Step) -> Outcome<()> {
        let asked = &self.of.asked;
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
                        addon = self.of.addon,
                        secret = self.of.secret,
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
