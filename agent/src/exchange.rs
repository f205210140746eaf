//! The exchange of a key for a certificate: a Secret, the key that is kept beside it until the hub has answered, and the request on the
//! hub. The registration of the cluster and those of its add-ons are made of it.

use std::time::Duration;

use berth_agent_core::asked::Asked;
use berth_agent_core::held::{self, SecretData};
use berth_agent_core::registration::{Attempt, Credentials, MOST_PENDING, Request};
use berth_certs::client::{ClientCertificate, ClientKey};
use berth_hub::HubApi;
use berth_reconcile::WatchError;
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::info;

use crate::failed::Failed;
use crate::request::{self, Followed, Seen};
use crate::store::{Pending, Store, Stored};

/// How long the number of pending requests counts.
const COUNT_AGAIN: Duration = Duration::from_secs(300);

/// The state of an exchange. All of it can be read again from the two clusters.
pub(crate) struct Exchange<'a> {
    pub(crate) store: &'a Store,
    /// The agent's user name on the hub, with which it asks for an add-on.
    user: Option<&'a str>,
    /// `None`: not known yet.
    pub(crate) secret: Option<Option<Stored>>,
    /// `None`: not known yet.
    pending: Option<Option<Pending>>,
    followed: Option<Followed>,
    /// The number of pending requests, and when they were counted.
    others_pending: (usize, Instant),
}

// === impl Exchange ===

impl<'a> Exchange<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            store,
            user: None,
            secret: None,
            pending: None,
            followed: None,
            others_pending: (0, Instant::now()),
        }
    }

    /// The exchange for an add-on, with which the agent asks as this user.
    pub(crate) fn for_addon(store: &'a Store, user: &'a str) -> Self {
        Self {
            user: Some(user),
            ..Self::new(store)
        }
    }

    /// The Secret, if it exists.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        self.secret.iter().flatten().next()
    }

    /// What is in the Secret; nothing without one.
    pub(crate) fn data(&self) -> SecretData {
        let stored = self.stored();
        stored.map(|it| it.data.clone()).unwrap_or_default()
    }

    /// The key that is kept, if there is one.
    pub(crate) fn pending(&self) -> Option<&Pending> {
        self.pending.iter().flatten().next()
    }

    pub(crate) fn attempt(&self) -> Option<Attempt> {
        self.pending().map(Pending::attempt)
    }

    /// Takes what the watch reports of the Secret. Returns true if that is news.
    ///
    /// # Errors
    /// The Secret has never been read, and cannot be.
    pub(crate) async fn see_secret(
        &mut self,
        seen: Result<Option<Stored>, WatchError>,
    ) -> Result<bool, WatchError> {
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) if self.secret.is_none() => return Err(error),
            // What was read before is still true, as far as the agent knows.
            Err(_) => return Ok(false),
        };
        let is_behind =
            |known: &Stored| (seen.as_ref()).is_none_or(|seen| known.is_newer_than(seen));
        // The watch lags behind the agent's own write, or the cluster's etcd was restored to an earlier state. A read is never behind.
        let seen = match self.stored() {
            Some(known) if is_behind(known) => match self.store.secret().await {
                Ok(stored) => stored,
                Err(_) => return Ok(false),
            },
            _ => seen,
        };
        let is_news = self.secret.as_ref() != Some(&seen);
        self.secret = Some(seen);
        Ok(is_news)
    }

    /// Reads the key that is kept, unless it is known.
    pub(crate) async fn read_pending(&mut self) -> Result<(), Failed> {
        if self.pending.is_none() {
            let pending = self.store.pending().await;
            self.pending = Some(pending.map_err(|error| Failed::here(&error))?);
        }
        Ok(())
    }

    /// Drops a key that was kept for another subject: its certificate would be of no use.
    pub(crate) fn drop_pending_of_others(&mut self, asked: &Asked) {
        if self.pending().is_some_and(|it| !it.is_for(asked)) {
            self.pending = Some(None);
        }
    }

    /// Follows the request under way, with these credentials, at this API server.
    pub(crate) fn follow(&mut self, asked: &Asked, with: Credentials, api: &HubApi) {
        let Some(attempt) = self.attempt() else {
            self.followed = None;
            return;
        };
        let name = attempt.csr_name(asked);
        let is_followed =
            |it: &Followed| it.name == name && it.with == with && it.api.is_clone_of(api);
        if !self.followed.as_ref().is_some_and(is_followed) {
            self.followed = Some(Followed::start(api.clone(), name, with));
        }
    }

    /// Resolves when the hub has another answer to the request; never without one.
    pub(crate) async fn answered(&mut self) {
        match &mut self.followed {
            Some(followed) => followed.changed().await,
            None => std::future::pending().await,
        }
    }

    /// What the hub knows of the request.
    pub(crate) fn request(&self, asked: &Asked, now: Timestamp) -> Request {
        match (&self.followed, self.pending()) {
            (Some(followed), Some(pending)) => followed.now().judge(asked, &pending.key, now),
            _ => Request::Unknown,
        }
    }

    /// The name of the request, and why it cannot be seen, if that is so.
    pub(crate) fn unseen_request(&self) -> Option<(&str, WatchError)> {
        let followed = self.followed.as_ref()?;
        match followed.now() {
            Seen::Failed(error) => Some((&followed.name, error)),
            _ => None,
        }
    }

    /// The number of other pending requests. After some time they are counted again.
    pub(crate) fn others_pending(&self) -> usize {
        match self.others_pending {
            (count, at) if at.elapsed() < COUNT_AGAIN => count,
            _ => 0,
        }
    }

    pub(crate) async fn keep(
        &mut self,
        asked: &Asked,
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
        let kept = self.store.keep(key, number, asked, before.as_ref()).await;
        // After a failure the Secret is read again: `pending` is not known.
        self.pending = Some(Some(kept.map_err(|error| Failed::here(&error))?));
        Ok(())
    }

    /// Creates the request, unless too many others are pending.
    pub(crate) async fn ask(
        &mut self,
        asked: &Asked,
        name: &str,
        api: &HubApi,
    ) -> Result<(), Failed> {
        // Some hubs let agents create requests, and not list them.
        let others = request::others_pending(api, asked, self.user, name).await;
        let others = others.unwrap_or_default();
        self.others_pending = (others, Instant::now());
        if others >= MOST_PENDING {
            // The next decision says so.
            return Ok(());
        }
        let Some(pending) = self.pending() else {
            return Ok(());
        };
        let body = berth_agent_core::request::body(name, asked, &pending.key);
        let body = body.map_err(|error| Failed::of("NoKey", error.to_string()))?;
        let stored = match api.call(request::create(&body)).await {
            Ok(answer) => {
                info!(name, "CertificateSigningRequest created on the hub");
                answer.json()
            }
            // The agent was killed after it had asked.
            Err(error) if error.is_conflict() => request::read(api, name).await,
            Err(error) => Err(error),
        };
        let stored = stored.map_err(|error| Failed::on_hub(&error))?;
        if let Some(followed) = &self.followed {
            followed.created(stored);
        }
        Ok(())
    }

    /// Writes the kubeconfig and the names beside the certificate that is there. Returns false without a Secret.
    pub(crate) async fn rewrite(
        &mut self,
        asked: &Asked,
        kubeconfig: &str,
    ) -> Result<bool, Failed> {
        let Some(before) = self.stored() else {
            return Ok(false);
        };
        let data = held::filled(&before.data, asked, kubeconfig, None);
        self.write(data).await?;
        Ok(true)
    }

    /// Writes the issued certificate and its key. Returns the certificate, and the credentials that the agent asked with.
    pub(crate) async fn save(
        &mut self,
        asked: &Asked,
        kubeconfig: &str,
    ) -> Result<Option<(ClientCertificate, Credentials)>, Failed> {
        let (Some(secret), Some(pending), Some(followed)) =
            (&self.secret, self.pending(), &self.followed)
        else {
            return Ok(None);
        };
        let Seen::Stored(request) = followed.now() else {
            return Ok(None);
        };
        let Some(chain) = request.certificate() else {
            return Ok(None);
        };
        let with = followed.with;
        let empty = SecretData::new();
        let before = secret.as_ref().map_or(&empty, |it| &it.data);
        let data = held::filled(before, asked, kubeconfig, Some((&chain, &pending.key)));
        self.write(data).await?;
        let certificate = ClientCertificate::from_pem(&chain);
        Ok(certificate.ok().map(|it| (it, with)))
    }

    /// Drops what another hub said.
    pub(crate) fn leave_hub(&mut self) {
        self.followed = None;
        self.others_pending = (0, Instant::now());
    }

    pub(crate) async fn forget(&mut self) -> Result<(), Failed> {
        let forgotten = self.store.forget().await;
        forgotten.map_err(|error| Failed::here(&error))?;
        self.pending = Some(None);
        self.followed = None;
        Ok(())
    }

    /// Writes the Secret.
    pub(crate) async fn write(&mut self, data: SecretData) -> Result<(), Failed> {
        let stored = self.store.save(self.stored(), data).await;
        self.secret = Some(Some(stored.map_err(|error| Failed::here(&error))?));
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
