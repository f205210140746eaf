//! The Secrets of a registration: one with the certificate, and one with the key of a request under way.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_agent_core::asked::Asked;
use berth_agent_core::held::{self, SecretData};
use berth_agent_core::registration::Attempt;
use berth_api::GroupVersionResource;
use berth_certs::client::ClientKey;
use berth_hub::{Call, CallError, HubApi, MERGE_PATCH, object_path, optional};
use berth_lease::Term;
use berth_reconcile::{Item, Watched};
use serde::Deserialize;
use serde_json::{Value, json};

/// The longest time for a call.
const LONGEST: Duration = Duration::from_secs(10);

/// The key of [`Attempt::number`].
const NUMBER: &str = "csr-number";

/// The key of [`Asked::mark`], for add-ons: what they ask for may change.
const MARK: &str = "asked";

/// The Secrets of a namespace.
#[derive(Clone)]
pub(crate) struct Secrets {
    api: HubApi,
    term: Option<Term>,
    namespace: String,
}

/// A Secret with a certificate, and the one beside it with the key of a request that is not answered yet.
pub(crate) struct Store {
    secrets: Secrets,
    secret: String,
    pending: String,
}

/// A Secret as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) data: SecretData,
    resource_version: String,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) key: ClientKey,
    pub(crate) number: u32,
    stored: Stored,
}

#[derive(Deserialize)]
struct Secret {
    metadata: Metadata,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: Option<String>,
}

// === impl Secrets ===

impl Secrets {
    /// Writes only during `term`; without one, no other process may run the agent.
    pub(crate) fn new(api: HubApi, term: Option<Term>, namespace: &str) -> Self {
        Self {
            api,
            term,
            namespace: namespace.to_owned(),
        }
    }

    pub(crate) async fn read(&self, name: &str) -> Result<Option<Stored>, CallError> {
        let read = Call::get(self.path(name)).within(LONGEST);
        let Some(answer) = optional(self.api.call(read).await)? else {
            return Ok(None);
        };
        Ok(Some(Stored::of(answer.json()?)))
    }

    /// Writes a Secret. Fails with a conflict if it is no longer as `before`.
    pub(crate) async fn write(
        &self,
        name: &str,
        before: Option<&Stored>,
        data: SecretData,
    ) -> Result<Stored, CallError> {
        let encode =
            |(key, value): (&String, &Vec<u8>)| (key.clone(), json!(BASE64_STANDARD.encode(value)));
        let encoded: Value = Value::Object(data.iter().map(encode).collect());
        let call = match before {
            None => Call::post(
                self.path(""),
                json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": name, "namespace": self.namespace},
                    "type": "Opaque",
                    "data": encoded,
                })
                .to_string(),
            ),
            Some(before) => Call::patch(
                self.path(name),
                MERGE_PATCH,
                json!({
                    "metadata": {"resourceVersion": before.resource_version},
                    "data": encoded,
                })
                .to_string(),
            ),
        };
        let answer = self.send(call).await?;
        Ok(Stored::of(answer.json()?))
    }

    /// Deletes a Secret, if it exists.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), CallError> {
        let delete = Call::delete(self.path(name), "");
        optional(self.send(delete).await).map(|_| ())
    }

    /// Sends a write, within the term.
    pub(crate) async fn send(&self, call: Call) -> Result<berth_hub::Answer, CallError> {
        let within = match &self.term {
            None => Some(LONGEST),
            Some(term) => term.bound(LONGEST),
        };
        match within {
            Some(within) => self.api.call(call.within(within)).await,
            None => Err(call.not_sent("another agent leads now")),
        }
    }

    /// The path of a Secret, or of all if the name is empty.
    fn path(&self, name: &str) -> String {
        object_path(("", "v1", "secrets"), &self.namespace, name)
    }
}

// === impl Store ===

impl Store {
    pub(crate) fn new(secrets: Secrets, secret: &str) -> Self {
        Self {
            secrets,
            secret: secret.to_owned(),
            pending: pending_name(secret),
        }
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(crate) fn api(&self) -> &HubApi {
        &self.secrets.api
    }

    /// The row that selects the Secret.
    pub(crate) fn watched_secret(&self) -> Watched<Stored> {
        let kind = GroupVersionResource::new("", "v1", "secrets");
        let read = |item: &Item<'_>| item.parse().map(Stored::of);
        Watched::new("secrets", kind, read)
            .within(self.secrets.namespace.as_str())
            .named(&self.secret)
    }

    /// Reads the Secret.
    pub(crate) async fn secret(&self) -> Result<Option<Stored>, CallError> {
        self.secrets.read(&self.secret).await
    }

    /// Reads the request that is under way. `None`: there is no such Secret, or it has no key that can be read.
    pub(crate) async fn pending(&self) -> Result<Option<Pending>, CallError> {
        let stored = self.secrets.read(&self.pending).await?;
        Ok(stored.and_then(Pending::of))
    }

    /// Reads the names that an interrupted registration uses.
    pub(crate) fn names_of(pending: Option<&Pending>) -> (Option<&str>, Option<&str>) {
        let name = |key| pending.and_then(|it| held::name(&it.stored.data, key));
        (name(held::CLUSTER_NAME), name(held::AGENT_NAME))
    }

    /// Keeps a request that is about to be made.
    pub(crate) async fn keep(
        &self,
        key: ClientKey,
        number: u32,
        asked: &Asked,
        before: Option<&Pending>,
    ) -> Result<Pending, CallError> {
        let mut data = asked.names();
        data.extend([
            (held::PRIVATE_KEY.to_owned(), key.to_pem().into_bytes()),
            (NUMBER.to_owned(), number.to_string().into_bytes()),
        ]);
        if asked.addon.is_some() {
            data.insert(MARK.to_owned(), asked.mark().into_bytes());
        }
        let name = &self.pending;
        let before = before.map(|it| &it.stored);
        let stored = match self.secrets.write(name, before, data.clone()).await {
            // One without a key that can be read is there.
            Err(error) if error.is_conflict() => {
                let before = self.secrets.read(name).await?;
                self.secrets.write(name, before.as_ref(), data).await?
            }
            written => written?,
        };
        Ok(Pending {
            key,
            number,
            stored,
        })
    }

    /// Writes the Secret. Fails with a conflict if it is no longer as `before`.
    pub(crate) async fn save(
        &self,
        before: Option<&Stored>,
        data: SecretData,
    ) -> Result<Stored, CallError> {
        self.secrets.write(&self.secret, before, data).await
    }

    /// Deletes the request that was under way.
    pub(crate) async fn forget(&self) -> Result<(), CallError> {
        self.secrets.delete(&self.pending).await
    }
}

/// The name of the Secret with the key of a request that is not answered yet, beside the one for the certificate.
pub(crate) fn pending_name(secret: &str) -> String {
    format!("{secret}-pending")
}

// === impl Stored ===

impl Stored {
    /// Returns true if this was stored later. Versions of one object grow.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let version = |it: &Self| it.resource_version.parse::<u64>();
        matches!((version(self), version(other)), (Ok(own), Ok(other)) if own > other)
    }

    /// Values that are not base64 count as empty.
    fn of(secret: Secret) -> Self {
        let decoded = |(key, value): (String, String)| {
            (key, BASE64_STANDARD.decode(value).unwrap_or_default())
        };
        Self {
            data: secret
                .data
                .unwrap_or_default()
                .into_iter()
                .map(decoded)
                .collect(),
            resource_version: secret.metadata.resource_version.unwrap_or_default(),
        }
    }
}

// === impl Pending ===

impl Pending {
    fn of(stored: Stored) -> Option<Self> {
        let key = ClientKey::from_pem(stored.data.get(held::PRIVATE_KEY)?).ok()?;
        let number = held::name(&stored.data, NUMBER)?.parse().ok()?;
        Some(Self {
            key,
            number,
            stored,
        })
    }

    /// Returns true if the request is for this signer and subject. The cluster's own never change.
    pub(crate) fn is_for(&self, asked: &Asked) -> bool {
        asked.addon.is_none() || held::name(&self.stored.data, MARK) == Some(&asked.mark())
    }

    pub(crate) fn attempt(&self) -> Attempt {
        Attempt {
            key: self.key.fingerprint(),
            number: self.number,
        }
    }
}
