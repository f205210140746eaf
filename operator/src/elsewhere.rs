//! Another cluster than the operator's own, in which objects are installed with a kubeconfig from a Secret.

use std::collections::BTreeMap;

use berth_api::plan::Write;
use berth_hub::{
    Call, CallError, Cause, HubApi, METADATA_LIST, object_path, optional, query_value,
};
use berth_operator_core::Failure;
use berth_operator_core::objects::{Id, Kind, Stored};
use berth_reconcile::Writer;
use futures::future::join_all;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::settle::{failure, id};

/// Another cluster.
pub(crate) struct Elsewhere {
    writer: Writer,
}

/// A token of a service account.
pub(crate) struct Token {
    pub(crate) token: String,
    pub(crate) expires: Option<String>,
}

/// Upper bound on the objects of a kind with one label. An operator writes a few.
const MOST_OF_A_KIND: usize = 500;

#[derive(Deserialize)]
struct List<'a> {
    // Go writes an empty list as `null`.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Named {
    metadata: Name,
}

#[derive(Deserialize)]
struct Name {
    name: String,
    #[serde(default)]
    namespace: String,
}

// === impl Elsewhere ===

impl Elsewhere {
    /// `here`: the writer of the operator's own cluster.
    pub(crate) fn new(here: &Writer, api: HubApi) -> Self {
        Self {
            writer: here.to(api),
        }
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Returns whether the cluster answers: it lists this kind, or says that it does not serve it.
    pub(crate) async fn answers(&self, path: &str) -> Result<(), CallError> {
        let call = Call::get(format!("{path}?limit=1")).accept(METADATA_LIST);
        match self.writer.send(call).await {
            Err(error) if !error.kind_is_absent() => Err(error),
            _ => Ok(()),
        }
    }

    /// Asks for a token of a service account.
    pub(crate) async fn token(
        &self,
        namespace: &str,
        account: &str,
        seconds: i64,
    ) -> Result<Token, CallError> {
        let path = object_path(("", "v1", "serviceaccounts"), namespace, account);
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        });
        let call = Call::post(format!("{path}/token"), request.to_string());
        let answer = self.writer.send(call).await?;
        let review: Value = answer.json()?;
        let text = |field: &str| review["status"][field].as_str().map(str::to_owned);
        let token = text("token").filter(|it| !it.is_empty());
        let token = token.ok_or_else(|| answer.unreadable("it has no token"))?;
        Ok(Token {
            token,
            expires: text("expirationTimestamp"),
        })
    }
}

/// The objects of these kinds, each in a namespace or in all, with a label; and those of these names.
pub(crate) async fn stored<'a>(
    writer: &Writer,
    kinds: impl IntoIterator<Item = (Kind, &'a str)>,
    (label, value): (&str, &str),
    names: impl IntoIterator<Item = Id>,
) -> Result<BTreeMap<Id, Stored>, CallError> {
    let mut stored = BTreeMap::new();
    let lists = kinds.into_iter();
    let lists = lists.map(|(kind, namespace)| list(writer, id(kind, namespace, ""), label, value));
    for list in join_all(lists).await {
        stored.extend(list?);
    }
    let others: Vec<_> = (names.into_iter())
        .filter(|it| !stored.contains_key(it))
        .collect();
    for found in join_all(others.into_iter().map(|id| get(writer, id, label))).await {
        stored.extend(found?);
    }
    Ok(stored)
}

/// `all`: the kind and the namespace, without a name.
async fn list(
    writer: &Writer,
    all: Id,
    label: &str,
    value: &str,
) -> Result<Vec<(Id, Stored)>, CallError> {
    let selector = query_value(&format!("{label}={value}"));
    let path = all.path();
    let call = Call::get(format!(
        "{path}?labelSelector={selector}&limit={MOST_OF_A_KIND}"
    ));
    let answer = match writer.send(call).await {
        // There are none of a kind that is not served.
        Err(error) if error.kind_is_absent() => return Ok(Vec::new()),
        answer => answer?,
    };
    let unreadable = |error: serde_json::Error| answer.unreadable(error.to_string());
    let list: List<'_> = serde_json::from_slice(&answer.body).map_err(unreadable)?;
    let items = list.items.into_iter().flatten();
    let items = items.map(|it| read(all.kind, it.get(), label));
    items.collect::<Result<_, _>>().map_err(unreadable)
}

async fn get(writer: &Writer, id: Id, label: &str) -> Result<Option<(Id, Stored)>, CallError> {
    let call = Call::get(id.path());
    let Some(answer) = optional(writer.send(call).await)? else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&answer.body);
    let text = text.map_err(|error| answer.unreadable(error.to_string()))?;
    let object = read(id.kind, text, label);
    object
        .map(Some)
        .map_err(|error| answer.unreadable(error.to_string()))
}

/// Sends writes at the same time.
///
/// # Errors
/// Those that failed, but for what passes by itself.
pub(crate) async fn carry_out(writer: &Writer, writes: &[Write]) -> Result<(), Vec<Failure>> {
    let written = join_all(writes.iter().map(|it| writer.write(it))).await;
    let failed: Vec<_> = written.into_iter().filter_map(Result::err).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.iter().filter_map(|(it, _)| failure(it)).collect()),
    }
}

fn read(kind: Kind, json: &str, label: &str) -> Result<(Id, Stored), serde_json::Error> {
    let Named { metadata } = serde_json::from_str(json)?;
    let id = Id {
        kind,
        namespace: metadata.namespace,
        name: metadata.name,
    };
    Ok((id, Stored::read(json, label)?))
}

/// Returns whether nobody answers, in the words of the connection: the cluster may not exist any more. One that is slow, or has another
/// certificate than expected, is there.
pub(crate) fn is_away(error: &CallError) -> bool {
    const WORDS: [&str; 4] = ["tcp connect error", "dns error", "refused", "timed out"];
    match error.cause() {
        Cause::NoConnection(why) => {
            let why = why.to_ascii_lowercase();
            WORDS.iter().any(|it| why.contains(it))
        }
        _ => false,
    }
}
