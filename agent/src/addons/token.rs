//! The token of an add-on: asked for with the agent's certificate, and renewed before it ends.

use std::convert::Infallible;
use std::time::Duration;

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::addons::token::{self, Standing, Token};
use berth_agent_core::addons::wanted::Registration;
use berth_agent_core::held::SecretData;
use berth_hub::{Call, HubApi};
use berth_reconcile::{WatchError, follow_one};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use super::AddonWork;
use super::reporter::{Reporter, appears};
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::standing::Wait;
use crate::store::{Store, Stored};

/// The longest time between two looks at the token.
const AGAIN: Duration = Duration::from_secs(3600);

/// The longest time for a request.
const LONGEST: Duration = Duration::from_secs(10);

/// A registration by a token, while it is kept.
pub(super) struct TokenKeeper<'a> {
    reporter: Reporter<'a>,
    of: &'a Token,
    exchange: Exchange<'a>,
    hub: &'a HubApi,
    kubeconfig: String,
    /// A token that is not saved yet.
    unsaved: Option<Vec<u8>>,
}

type SecretSeen = Option<Result<Option<Stored>, WatchError>>;

#[derive(Deserialize)]
struct TokenRequest {
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    token: String,
}

// === impl TokenKeeper ===

impl<'a> TokenKeeper<'a> {
    /// `kubeconfig`: the agent's own.
    pub(super) fn new(
        registration: &'a Registration,
        of: &'a Token,
        store: &'a Store,
        hub: &'a HubApi,
        kubeconfig: &str,
        work: &'a AddonWork,
    ) -> Self {
        Self {
            reporter: Reporter::new(registration, work),
            of,
            exchange: Exchange::new(store),
            hub,
            kubeconfig: token::kubeconfig(kubeconfig),
            unsaved: None,
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
                let message = format!("Secret {secret} cannot be read: {error}");
                return self.waits("SecretUnreadable", message);
            }
        }
        if let Some(until) = self.reporter.in_trouble() {
            return Some(until);
        }
        match self.keep().await {
            Ok(again) => {
                self.reporter.succeeded();
                again
            }
            Err(failed) => {
                let rotation = no_token(&failed.wait);
                Some(self.reporter.failed(failed, rotation))
            }
        }
    }

    /// Gets a token if one is due. Returns when to look again.
    async fn keep(&mut self) -> Result<Option<Instant>, Failed> {
        if self.exchange.secret.is_none() {
            return Ok(None);
        }
        let now = Timestamp::now();
        let uid = self.of.uid.as_deref();
        let empty = SecretData::new();
        let data = self.exchange.stored().map_or(&empty, |it| &it.data);
        let held = self.unsaved.as_ref().or_else(|| data.get(token::TOKEN));
        let mut current = held.cloned().unwrap_or_default();
        let mut standing = token::judge(&current, uid, now);
        if standing == Standing::Due {
            if uid.is_none() {
                let message = "condition TokenInfrastructureReady of the add-on is not True: on the hub, check the manager of the add-on";
                return Ok(self.waits("TokenInfrastructureNotReady", message.to_owned()));
            }
            current = self.ask().await?;
            standing = token::judge(&current, uid, now);
            let is_good = standing != Standing::Due;
            self.unsaved = is_good.then(|| current.clone());
        }
        let Standing::Fresh { renew_at, expires } = standing else {
            return Err(Failed::of(
                "WrongToken",
                "the hub's token is not for the service account in condition TokenInfrastructureReady, or ends too soon"
                    .to_owned(),
            ));
        };
        let cluster = &self.reporter.of.asked.cluster;
        let empty = SecretData::new();
        let stored = self.exchange.stored().map_or(&empty, |it| &it.data);
        let data = token::filled(stored, cluster, &self.kubeconfig, &current);
        if data != *stored {
            let written = self.exchange.write(data).await;
            written.map_err(|failed| self.reporter.homeless(failed))?;
            self.unsaved = None;
            let Registration { addon, secret, .. } = self.reporter.of;
            info!(addon, secret, %expires, "the token of an add-on is saved");
        }
        self.reporter.is_good(Rotation::GoodToken(expires));
        let pause = Duration::try_from(renew_at.duration_since(now)).unwrap_or_default();
        Ok(Some(Instant::now() + pause.min(AGAIN)))
    }

    /// Asks the hub for a token.
    async fn ask(&self) -> Result<Vec<u8>, Failed> {
        let Token {
            account, seconds, ..
        } = self.of;
        let cluster = &self.reporter.of.asked.cluster;
        let path = format!("/api/v1/namespaces/{cluster}/serviceaccounts/{account}/token");
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        });
        let call = Call::post(path, request.to_string()).within(LONGEST);
        let answer = self.hub.call(call).await;
        let read = answer.and_then(|it| it.json::<TokenRequest>());
        match read {
            Ok(read) => Ok(read.status.token.into_bytes()),
            Err(error) => Err(Failed {
                // The account is missing, and not the namespace of the Secret.
                is_absent: false,
                // The right to ask is new: the hub may not have noticed it yet.
                is_refusal: false,
                ..Failed::on_hub(&error)
            }),
        }
    }

    fn waits(&mut self, reason: &'static str, message: String) -> Option<Instant> {
        let wait = Wait { reason, message };
        let rotation = no_token(&wait);
        self.reporter.waits(&wait, rotation)
    }
}

fn no_token(why: &Wait) -> Rotation {
    Rotation::NoToken(format!("Failed to create token: {why}"))
}
