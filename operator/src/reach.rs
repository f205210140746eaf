//! Another cluster, reached by a Secret with its kubeconfig; and the token of an account there, for pods that run here.

use std::collections::BTreeMap;
use std::fmt::Display;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_api::plan::{Action, Write};
use berth_hub::{Call, CallError, HubApi, optional};
use berth_operator_core::objects::{Id, Kind};
use berth_operator_core::{
    Account, Credentials, Failure, TOKEN_SECONDS, Unprepared, Unusable, content, credentials,
    good_until, secret, token_until,
};
use berth_reconcile::{Handle, World, now};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::elsewhere::{Elsewhere, is_away};

/// What another cluster is, in messages.
pub(crate) struct Called {
    pub(crate) what: &'static str,
    /// What gives the operator its permissions there.
    pub(crate) there: &'static str,
    /// What gives it those for the Secrets here.
    pub(crate) here: &'static str,
}

/// Another cluster.
pub(crate) struct Reached {
    called: &'static Called,
    pub(crate) cluster: Elsewhere,
    pub(crate) credentials: Credentials,
    /// When the Secret was created.
    pub(crate) created: String,
}

/// A Secret of this cluster, with a token.
pub(crate) struct Kept<'a> {
    pub(crate) id: &'a Id,
    /// Of what the operator writes.
    pub(crate) labels: Map<String, Value>,
    pub(crate) reconciler: &'static str,
    /// The kind of what a failure is reported as.
    pub(crate) failing: Kind,
}

/// Reads a Secret of this cluster.
async fn read<W: World>(on: &Handle<W>, secret: &Id) -> Result<Option<Value>, CallError> {
    let answer = optional(on.writer(0).send(Call::get(secret.path())).await)?;
    answer.map(|it| it.json()).transpose()
}

/// Reaches the cluster of a Secret. `probe`: a path that it answers.
pub(crate) async fn reach<W: World>(
    on: &Handle<W>,
    id: &Id,
    called: &'static Called,
    probe: &str,
) -> Result<Reached, Unprepared> {
    let what = format!("secret {}/{}", id.namespace, id.name);
    let unusable = |is_away: bool, why: String| Unprepared { is_away, why };
    let secret = read(on, id).await;
    let secret = secret.map_err(|error| unusable(false, explain(&error, called.here)))?;
    let secret = secret.ok_or_else(|| {
        let why = format!(
            "{what} does not exist; create it with a kubeconfig of {} in the key kubeconfig",
            called.what
        );
        unusable(true, why)
    })?;
    let found = credentials(&decoded(&secret), |it| BASE64_STANDARD.encode(it));
    let credentials = found.map_err(|why| match why {
        Unusable::Missing => unusable(false, format!("{what} has no key kubeconfig")),
        Unusable::Kubeconfig(why) => unusable(false, format!("the kubeconfig of {what}: {why}")),
    })?;
    let api = HubApi::of_kubeconfig(&credentials.kubeconfig, &what).await;
    let api = api.map_err(|error| unusable(false, error.to_string()))?;
    let server = api.server().to_owned();
    let cluster = Elsewhere::new(on.writer(0), api);
    cluster.answers(probe).await.map_err(|error| {
        let why = format!("{server} with {what}: {}", explain(&error, called.there));
        unusable(is_away(&error), why)
    })?;
    let created = secret["metadata"]["creationTimestamp"].as_str();
    Ok(Reached {
        called,
        cluster,
        credentials,
        created: created.unwrap_or_default().to_owned(),
    })
}

/// An error as text for users, with what helps if a permission is missing.
pub(crate) fn explain(error: &CallError, remedy: &str) -> String {
    match error.code() {
        403 => format!("{error}: {remedy}"),
        _ => error.to_string(),
    }
}

// === impl Reached ===

impl Reached {
    /// A failure on that cluster.
    pub(crate) fn failure(&self, kind: Kind, why: &impl Display) -> Failure {
        let what = self.called.what;
        Failure {
            kind,
            message: format!("{what}: {why}"),
        }
    }

    /// A call to that cluster that failed.
    pub(crate) fn refused(&self, kind: Kind, error: &CallError) -> Failure {
        self.failure(kind, &explain(error, self.called.there))
    }

    /// Returns when another token is due, and what makes the Secret with this one, unless it is good.
    ///
    /// # Errors
    /// There is no token.
    pub(crate) async fn token<W: World>(
        &self,
        on: &Handle<W>,
        account: &Account,
        kept: Kept<'_>,
    ) -> Result<(Timestamp, Option<Write>), Vec<Failure>> {
        let of = |error: CallError| vec![self.refused(kept.failing, &error)];
        let cluster = &self.credentials.cluster;
        let stored = read(on, kept.id).await.map_err(|error| {
            vec![Failure {
                kind: kept.failing,
                message: explain(&error, self.called.here),
            }]
        })?;
        let data = stored.as_ref().map(decoded).unwrap_or_default();
        if let Some(renew_at) = good_until(&data, cluster, account, now().wall) {
            return Ok((renew_at, None));
        }
        let token = self
            .cluster
            .token(&account.namespace, &account.name, TOKEN_SECONDS);
        let token = token.await.map_err(of)?;
        // One that is due at once would be asked for again and again.
        let Some(renew_at) = token_until(token.token.as_bytes(), account, now().wall) else {
            let what = format!(
                "the token of the account {}/{} is of another one, or is over; compare the clocks",
                account.namespace, account.name
            );
            return Err(vec![self.failure(kept.failing, &what)]);
        };
        let content = content(cluster, account, &token.token, token.expires.as_deref());
        let body = secret(kept.id, &kept.labels, &content, |it| {
            BASE64_STANDARD.encode(it)
        });
        // OCM's role for its operator allows to update it, and not to patch it.
        let write = kept
            .id
            .write(kept.reconciler, Action::CreateOrUpdate { body });
        Ok((renew_at, Some(write)))
    }
}

/// `data` of a Secret.
pub(crate) fn decoded(secret: &Value) -> BTreeMap<String, Vec<u8>> {
    let data = secret["data"].as_object().into_iter().flatten();
    let data = data.filter_map(|(key, value)| {
        let bytes = BASE64_STANDARD.decode(value.as_str()?).ok()?;
        Some((key.clone(), bytes))
    });
    data.collect()
}
