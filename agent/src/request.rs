//! A CertificateSigningRequest of the agent on the hub: created, and followed until it is answered.

use std::sync::Arc;

use berth_agent_core::asked::Asked;
use berth_agent_core::pending::Listed;
use berth_agent_core::registration::{Credentials, Request};
use berth_agent_core::request::StoredRequest;
use berth_api::{GroupVersionResource, groups};
use berth_certs::client::ClientKey;
use berth_hub::{Call, CallError, HubApi};
use berth_reconcile::{Item, WatchError, Watched, follow_one};
use jiff::Timestamp;
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
    pub(crate) api: HubApi,
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
        let (sender, followed_at) = (seen.clone(), api.clone());
        let task = tokio::spawn(async move {
            let told = follow_one(&followed_at, &row, |found| {
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
            api,
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

    /// Notes the hub's response to the creation, unless the watch has reported the request already.
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
    /// Takes the response to the creation. Returns true if that is news.
    ///
    /// A hub that approves by itself may have signed before its response is read: what the watch has reported is as new or newer.
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

/// Counts the agent's other pending requests for this registration ([`Listed::others_pending`]). Of very many, some are counted.
pub(crate) async fn others_pending(
    api: &HubApi,
    asked: &Asked,
    user: Option<&str>,
    but: &str,
) -> Result<usize, CallError> {
    let encoded = [('/', "%2F"), ('=', "%3D"), (',', "%2C"), ('!', "%21")];
    let selector = encoded
        .into_iter()
        .fold(asked.selector(), |text, (from, to)| text.replace(from, to));
    let list = Call::get(format!("{PATH}?labelSelector={selector}&limit={MOST_READ}"));
    let list: Listed = api.call(list).await?.json()?;
    Ok(list.others_pending(asked, user, but))
}

#[cfg(test)]
mod tests {
    use berth_agent_core::identity::Identity;
    use serde_json::json;

    use super::*;

    fn judged(seen: &Seen) -> Request {
        let asked = Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), None);
        seen.judge(&asked, &ClientKey::generate().unwrap(), Timestamp::now())
    }

    #[test]
    fn the_response_to_the_creation_does_not_hide_what_the_watch_has_reported() {
        let new = || StoredRequest::default();
        let approved = json!({"status": {"conditions": [{"type": "Approved", "status": "True"}]}});
        let approved = Arc::new(serde_json::from_value(approved).unwrap());
        for (mut seen, is_news, expected) in [
            (Seen::Unknown, true, Request::Pending),
            (Seen::Absent, true, Request::Pending),
            (Seen::Stored(approved), false, Request::Unsigned),
        ] {
            assert_eq!(seen.is_created(new()), is_news);
            assert_eq!(judged(&seen), expected);
        }
    }
}
