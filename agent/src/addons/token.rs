//! The token of an add-on: asked for with the agent's certificate, and renewed before it ends.

use std::time::Duration;

use berth_agent_core::addons::status::Rotation;
use berth_agent_core::addons::token::{self, Token};
use berth_agent_core::addons::wanted::Registration;
use berth_agent_core::held::SecretData;
use berth_api::token::{Standing, judge};
use berth_hub::{Call, HubApi, object_path};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use tracing::info;

use super::kept::RotationResult;
use super::reporter::Reporter;
use crate::exchange::Exchange;
use crate::failed::Failed;
use crate::standing::Wait;

/// The longest time for a request.
const LONGEST: Duration = Duration::from_secs(10);

/// A token, and what its Secret has beside it.
pub(super) struct TokenContent<'a> {
    of: &'a Token,
    kubeconfig: String,
    /// A token that is not saved yet.
    unsaved: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct TokenRequest {
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    token: String,
}

// === impl TokenContent ===

impl<'a> TokenContent<'a> {
    /// `kubeconfig`: the agent's own.
    pub(super) fn new(of: &'a Token, kubeconfig: &str) -> Self {
        Self {
            of,
            kubeconfig: token::kubeconfig(kubeconfig),
            unsaved: None,
        }
    }

    pub(super) async fn keep(
        &mut self,
        reporter: &mut Reporter<'_>,
        exchange: &mut Exchange<'_>,
        hub: &HubApi,
    ) -> RotationResult<Option<Instant>> {
        let kept = self.get_and_save(reporter, exchange, hub).await;
        kept.map_err(|failed| {
            let rotation = no_token(&failed.wait);
            (failed, rotation)
        })
    }

    /// Gets a token if one is due. Returns when to look again.
    async fn get_and_save(
        &mut self,
        reporter: &mut Reporter<'_>,
        exchange: &mut Exchange<'_>,
        hub: &HubApi,
    ) -> Result<Option<Instant>, Failed> {
        if exchange.secret.is_none() {
            return Ok(None);
        }
        let now = Timestamp::now();
        let uid = self.of.uid.as_deref();
        let empty = SecretData::new();
        let data = exchange.stored().map_or(&empty, |it| &it.data);
        let held = self.unsaved.as_ref().or_else(|| data.get(token::TOKEN));
        let mut current = held.cloned().unwrap_or_default();
        let mut standing = judge(&current, uid, now);
        if standing == Standing::Due {
            if uid.is_none() {
                let message = "condition TokenInfrastructureReady of the add-on is not True: on the hub, check the controller of add-ons";
                let wait = Wait {
                    reason: "TokenInfrastructureNotReady",
                    message: message.to_owned(),
                };
                return Ok(reporter.waits(&wait, no_token(&wait)));
            }
            current = self.ask(&reporter.of.asked.cluster, hub).await?;
            standing = judge(&current, uid, now);
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
        let cluster = &reporter.of.asked.cluster;
        let empty = SecretData::new();
        let stored = exchange.stored().map_or(&empty, |it| &it.data);
        let data = token::filled(stored, cluster, &self.kubeconfig, &current);
        if data != *stored {
            let written = exchange.write(data).await;
            written.map_err(|failed| reporter.homeless(failed))?;
            self.unsaved = None;
            let Registration { addon, secret, .. } = reporter.of;
            info!(addon, secret, %expires, "the token of an add-on is saved");
        }
        reporter.is_good(Rotation::GoodToken(expires));
        let pause = Duration::try_from(renew_at.duration_since(now)).unwrap_or_default();
        Ok(Some(Instant::now() + pause))
    }

    /// Asks the hub for a token.
    async fn ask(&self, cluster: &str, hub: &HubApi) -> Result<Vec<u8>, Failed> {
        let Token {
            account, seconds, ..
        } = self.of;
        let path = object_path(("", "v1", "serviceaccounts"), cluster, account) + "/token";
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        });
        let call = Call::post(path, request.to_string()).within(LONGEST);
        let answer = hub.call(call).await;
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
}

pub(super) fn no_token(why: &Wait) -> Rotation {
    Rotation::NoToken(format!("Failed to create token: {why}"))
}
