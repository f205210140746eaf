//! A CertificateSigningRequest of the agent on the hub: created, and followed until it is answered.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_agent_core::asked::Asked;
use berth_agent_core::registration::{Credentials, Request};
use berth_agent_core::request::StoredRequest;
use berth_api::{GroupVersionResource, groups};
use berth_certs::client::ClientKey;
use berth_certs::csr::Csr;
use berth_hub::{Call, CallError, HubApi};
use berth_reconcile::{Item, WatchError, Watched, follow_one};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Upper bound on the requests that are read to count the agent's own. Anyone may create them under the label of any cluster.
const MOST_READ: usize = 50;

/// The request, as the hub was last seen to have it.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Unknown,
    Absent,
    Stored(Arc<StoredRequest>),
    Failed(WatchError),
}

/// Follows one request. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) name: String,
    pub(crate) with: Credentials,
    seen: watch::Sender<Seen>,
    changes: watch::Receiver<Seen>,
    task: JoinHandle<()>,
}

// === impl Followed ===

impl Followed {
    pub(crate) fn start(api: HubApi, name: String, with: Credentials) -> Self {
        let (seen, changes) = watch::channel(Seen::Unknown);
        let kind =
            GroupVersionResource::new(groups::CERTIFICATES, "v1", "certificatesigningrequests");
        let row = Watched::new("certificatesigningrequests", kind, |item: &Item<'_>| {
            item.parse::<StoredRequest>()
        })
        .named(&name);
        let sender = seen.clone();
        let task = tokio::spawn(async move {
            let told = follow_one(&api, &row, |found| {
                let _ = sender.send(match found {
                    Ok(Some(stored)) => Seen::Stored(Arc::new(stored)),
                    Ok(None) => Seen::Absent,
                    Err(error) => Seen::Failed(error),
                });
            });
            match told.await {}
        });
        Self {
            name,
            with,
            seen,
            changes,
            task,
        }
    }

    /// Resolves when the hub has another answer.
    pub(crate) async fn changed(&mut self) {
        // This holds a sender.
        let _ = self.changes.changed().await;
    }

    /// The request now.
    pub(crate) fn now(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Notes the hub's answer to the creation, which the watch may report later.
    pub(crate) fn created(&self, stored: StoredRequest) {
        self.seen.send_if_modified(|seen| seen.is_created(stored));
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Seen ===

impl Seen {
    /// Takes the hub's answer to the creation. Returns false if the watch was faster: then it may know the certificate already.
    fn is_created(&mut self, stored: StoredRequest) -> bool {
        if matches!(self, Self::Stored(_)) {
            return false;
        }
        *self = Self::Stored(Arc::new(stored));
        true
    }

    /// Judges the request that was made with this key.
    pub(crate) fn judge(&self, asked: &Asked, key: &ClientKey, now: Timestamp) -> Request {
        match self {
            Self::Unknown | Self::Failed(_) => Request::Unknown,
            Self::Absent => Request::Absent,
            Self::Stored(stored) => stored.judge(asked, key, now),
        }
    }
}

/// Reads a request.
pub(crate) async fn read(api: &HubApi, name: &str) -> Result<StoredRequest, CallError> {
    api.call(Call::get(format!("{PATH}/{name}"))).await?.json()
}

/// The call that creates a request.
pub(crate) fn create(body: &serde_json::Value) -> Call {
    Call::post(PATH, body.to_string())
}

/// Counts the pending requests with the user name that is asked for in them, but for this one. Of very many, some are counted.
///
/// OCM's agent counts all requests with the label of its cluster, so that anyone who may create requests can stop its renewals.
pub(crate) async fn others_pending(
    api: &HubApi,
    asked: &Asked,
    but: &str,
) -> Result<usize, CallError> {
    let encoded = [('/', "%2F"), ('=', "%3D"), (',', "%2C"), ('!', "%21")];
    let selector = encoded
        .into_iter()
        .fold(asked.selector(), |text, (from, to)| text.replace(from, to));
    let list = Call::get(format!("{PATH}?labelSelector={selector}&limit={MOST_READ}"));
    let answer = api.call(list).await?;
    let list: List = answer.json()?;
    let is_own = |it: &&Listed| {
        let pem = BASE64_STANDARD.decode(&it.spec.request).unwrap_or_default();
        Csr::from_pem(&pem).is_ok_and(|csr| csr.common_name() == asked.subject.user)
    };
    let others = list.items.iter().filter(|it| it.metadata.name != but);
    Ok(others
        .filter(|it| it.status.conditions.is_empty())
        .filter(is_own)
        .count())
}

#[derive(Deserialize)]
struct List {
    items: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct Spec {
    request: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<serde::de::IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_late_answer_to_the_creation_does_not_hide_the_certificate() {
        let stored = |status| serde_json::from_value::<StoredRequest>(json!({"status": status}));
        let (new, issued) = (
            json!({}),
            json!({"certificate": BASE64_STANDARD.encode("pem")}),
        );
        let mut seen = Seen::Absent;
        assert!(seen.is_created(stored(new.clone()).unwrap()));
        let mut seen = Seen::Stored(Arc::new(stored(issued).unwrap()));
        assert!(!seen.is_created(stored(new).unwrap()));
        let Seen::Stored(stored) = seen else {
            panic!("{seen:?}")
        };
        assert!(stored.certificate().is_some());
    }
}
