//! What is kept for an add-on in a Secret, whether a certificate or a token: looks when something has changed, and when it is due.

use std::convert::Infallible;
use std::time::Duration;

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::addons::wanted::Registration;
use berth_hub::HubApi;
use berth_reconcile::{WatchError, follow_one};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::AddonWork;
use super::registration::Certificate;
use super::reporter::{Reporter, appears};
use super::token::{TokenContent, no_token};
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::standing::Wait;
use crate::store::{Store, Stored};

/// The longest time between two looks.
const AGAIN: Duration = Duration::from_secs(3600);

/// A failed step, and what it means for the add-on.
pub(super) type RotationResult<T> = Result<T, (Failed, Rotation)>;

/// The Secret as the watch reports it.
type SecretSeen = Option<Result<Option<Stored>, WatchError>>;

/// Keeps one Secret.
pub(super) struct Keeper<'a> {
    pub(super) reporter: Reporter<'a>,
    pub(super) exchange: Exchange<'a>,
    pub(super) hub: &'a HubApi,
    content: Content<'a>,
}

/// What is in the Secret.
enum Content<'a> {
    /// A certificate, and this kubeconfig.
    Certificate(&'a str),
    Token(TokenContent<'a>),
}

// === impl Keeper ===

impl<'a> Keeper<'a> {
    /// `user`, `kubeconfig`: the agent's own.
    pub(super) fn new(
        of: &'a Registration,
        store: &'a Store,
        hub: &'a HubApi,
        user: &'a str,
        kubeconfig: &'a str,
        work: &'a AddonWork,
    ) -> Self {
        Self {
            reporter: Reporter::new(of, work),
            exchange: Exchange::for_addon(store, user),
            hub,
            content: match &of.token {
                None => Content::Certificate(kubeconfig),
                Some(token) => Content::Token(TokenContent::new(token, kubeconfig)),
            },
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
        let namespace = self.reporter.of.place.namespace.as_str();
        let work = async {
            let mut seen = None;
            loop {
                let until = self.round(seen.take()).await;
                let latest = Instant::now() + AGAIN;
                let until = until.map_or(latest, |it| it.min(latest));
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
                let secret = &self.reporter.of.secret;
                let wait = Wait {
                    reason: "SecretUnreadable",
                    message: format!("Secret {secret} cannot be read: {error}"),
                };
                let rotation = match self.content {
                    Content::Certificate(_) => Rotation::failed(&wait),
                    Content::Token(_) => no_token(&wait),
                };
                return self.reporter.waits(&wait, rotation);
            }
        }
        if let Some(until) = self.reporter.in_trouble() {
            return Some(until);
        }
        let Self {
            reporter,
            exchange,
            hub,
            content,
        } = self;
        let acted = match content {
            Content::Certificate(kubeconfig) => {
                let mut keeper = Certificate {
                    reporter,
                    exchange,
                    hub,
                    kubeconfig,
                };
                keeper.decide_and_act().await
            }
            Content::Token(content) => content.keep(reporter, exchange, hub).await,
        };
        match acted {
            Ok(again) => {
                self.reporter.succeeded();
                again
            }
            Err((failed, rotation)) => Some(self.reporter.failed(failed, rotation)),
        }
    }
}
