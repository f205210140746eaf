//! Reads and writes of objects. Each has a timeout, and each error is a [`CommandError`].

use std::io::{self, Write};

use berth_hub::{Answer, Call, CallError, MERGE_PATCH, METADATA_LIST, optional};
use http::{Method, Request};
use kube::Resource;
use kube::core::params::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{HubConnection, Item};
use crate::failure::CommandError;

/// The mode of writes, as kubectl's `--dry-run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DryRun {
    /// The object is written.
    #[default]
    None,
    /// Nothing is sent to the hub.
    Client,
    /// The hub decides about the write, but stores nothing.
    Server,
}

// === impl DryRun ===

impl DryRun {
    /// A dry run of the hub, or a write.
    pub(crate) fn of(dry_run: bool) -> Self {
        match dry_run {
            true => Self::Server,
            false => Self::None,
        }
    }

    /// Returns the suffix of a line about a write.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

// === impl HubConnection ===

impl HubConnection {
    /// Returns an object, or None if it does not exist.
    pub(crate) async fn get<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Item<K>>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        let value = self.get_value::<K>(namespace, name).await?;
        Ok(value.map(Item::of))
    }

    /// Returns an object as the hub sent it, or None if it does not exist.
    pub(crate) async fn get_value<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Value>, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        if !are_names(namespace, Some(name)) {
            return Ok(None);
        }
        let request = urls::<K>(namespace).get(name, &GetParams::default());
        let answer = self.call(call(request)?).await;
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        answer.map(|answer| self.read(&answer)).transpose()
    }

    /// Returns what the hub has at a path, as the hub sent it, or None if it does not exist.
    pub(crate) async fn read_at(&self, path: String) -> Result<Option<Value>, CommandError> {
        let answer = self.call(Call::get(path)).await;
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        answer.map(|answer| self.read(&answer)).transpose()
    }

    /// Creates an object, and returns it as the hub sent it. With [`DryRun::Client`] nothing is sent.
    pub(crate) async fn create<K>(
        &self,
        namespace: Option<&str>,
        object: &(impl Serialize + Sync),
        dry_run: DryRun,
    ) -> Result<Value, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        let body = serde_json::to_value(object)
            .map_err(|error| CommandError::Unreadable(error.to_string()))?;
        checked::<K>(namespace, None)?;
        if dry_run == DryRun::Client {
            return Ok(body);
        }
        let request = urls::<K>(namespace).create(&writes(dry_run), body.to_string().into_bytes());
        self.ask(call(request)?).await
    }

    /// Posts an object to a path, such as a TokenRequest to the subresource of an account, and returns the response.
    pub(crate) async fn post(&self, path: String, object: &Value) -> Result<Value, CommandError> {
        self.ask(Call::post(path, object.to_string())).await
    }

    /// Changes an object or one of its subresources by a merge patch, and returns the result. With [`DryRun::Client`] nothing is sent, and the
    /// result is `null`.
    pub(crate) async fn merge<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: Value,
        dry_run: DryRun,
    ) -> Result<Value, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, Some(name))?;
        if dry_run == DryRun::Client {
            return Ok(Value::Null);
        }
        let params = PatchParams {
            dry_run: dry_run == DryRun::Server,
            field_manager: Some("berth".to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let request = match subresource {
            None => urls::<K>(namespace).patch(name, &params, &patch),
            Some(sub) => urls::<K>(namespace).patch_subresource(sub, name, &params, &patch),
        };
        self.ask(call(request)?).await
    }

    /// Replaces an object, and returns the result. With [`DryRun::Client`] nothing is sent, and the result is `null`.
    pub(crate) async fn replace<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        object: &(impl Serialize + Sync),
        dry_run: DryRun,
    ) -> Result<Value, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, Some(name))?;
        if dry_run == DryRun::Client {
            return Ok(Value::Null);
        }
        let body = serde_json::to_vec(object)
            .map_err(|error| CommandError::Unreadable(error.to_string()))?;
        let request = urls::<K>(namespace).replace(name, &writes(dry_run), body);
        self.ask(call(request)?).await
    }

    /// Replaces a subresource of an object. With [`DryRun::Client`] nothing is sent.
    pub(crate) async fn replace_subresource<K>(
        &self,
        name: &str,
        subresource: &str,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<(), CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(None, Some(name))?;
        if dry_run == DryRun::Client {
            return Ok(());
        }
        let body = body.to_string().into_bytes();
        let request =
            urls::<K>(None).replace_subresource(subresource, name, &writes(dry_run), body);
        self.ask(call(request)?).await.map(drop)
    }

    /// Deletes an object, if its uid is the given one. Returns false if it does not exist. With [`DryRun::Client`] nothing is
    /// sent.
    pub(crate) async fn delete<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        uid: Option<String>,
        dry_run: DryRun,
    ) -> Result<bool, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        if !are_names(namespace, Some(name)) {
            return Ok(false);
        }
        if dry_run == DryRun::Client {
            return Ok(true);
        }
        let mut params = DeleteParams::default();
        if dry_run == DryRun::Server {
            params = params.dry_run();
        }
        params.preconditions = uid.map(|uid| Preconditions {
            uid: Some(uid),
            resource_version: None,
        });
        let answer = self
            .call(call(urls::<K>(namespace).delete(name, &params))?)
            .await;
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        Ok(answer.is_some())
    }

    /// Returns the name of the first object at a path, or None if there is none, or the kind is not served.
    pub(crate) async fn first_name(&self, path: &str) -> Result<Option<String>, CommandError> {
        match self.metadata(path).await {
            Ok(list) => {
                let name = list["items"][0]["metadata"]["name"].as_str();
                Ok(name.map(str::to_owned))
            }
            Err(CommandError::NoHub { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Lists the metadata of the objects at a path.
    pub(crate) async fn metadata(&self, path: &str) -> Result<Value, CommandError> {
        self.ask(Call::get(path.to_owned()).accept(METADATA_LIST))
            .await
    }

    /// Makes a call, and decodes the response.
    pub(super) async fn ask(&self, call: Call) -> Result<Value, CommandError> {
        let answer = self.call(call).await;
        self.read(&answer.map_err(|error| self.failure(&error))?)
    }

    /// Makes a call, within the time that a user waits. The hub's warnings go to standard error, as kubectl has it, also those
    /// of a refusal.
    pub(super) async fn call(&self, call: Call) -> Result<Answer, CallError> {
        let answer = self.api.call(call.within(self.wait)).await;
        let warnings: Vec<String> = match &answer {
            Ok(answer) => answer.warnings().collect(),
            Err(error) => error
                .refusal()
                .map_or_else(Vec::new, |it| it.warnings.clone()),
        };
        for warning in warnings {
            // With nowhere to write it to, the command goes on.
            let _ = writeln!(io::stderr(), "Warning: {warning}");
        }
        answer
    }

    pub(super) fn read(&self, answer: &Answer) -> Result<Value, CommandError> {
        answer.json().map_err(|error| self.failure(&error))
    }

    pub(super) fn failure(&self, error: &CallError) -> CommandError {
        CommandError::of(&format!("{} at {}", self.peer, self.server()), error)
    }
}

/// Converts a request of kube to a call. Patches are merge patches.
pub(super) fn call(
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Call, CommandError> {
    let request = request.map_err(|error| CommandError::Config(error.to_string()))?;
    let path = request.uri().to_string();
    let method = request.method().clone();
    let body = request.into_body();
    Ok(match method {
        Method::POST => Call::post(path, body),
        Method::PUT => Call::put(path, body),
        Method::PATCH => Call::patch(path, MERGE_PATCH, body),
        Method::DELETE => Call::delete(path, body),
        method => Call::new(method, path),
    })
}

pub(super) fn urls<K: Resource<DynamicType = ()>>(namespace: Option<&str>) -> kube::core::Request {
    kube::core::Request::new(K::url_path(&(), namespace))
}

/// Returns true if each name can stand in a path as it is; another name could change the path. (Most kinds allow fewer
/// names, but CSRs do not.)
fn are_names(namespace: Option<&str>, name: Option<&str>) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:!$&'()*+,;=@".contains(&byte);
    let is_name = |name: &str| !["", ".", ".."].contains(&name) && name.bytes().all(is_plain);
    [namespace, name].into_iter().flatten().all(is_name)
}

/// # Errors
/// No object can have one of these names.
pub(super) fn checked<K: Resource<DynamicType = ()>>(
    namespace: Option<&str>,
    name: Option<&str>,
) -> Result<(), CommandError> {
    if are_names(namespace, name) {
        return Ok(());
    }
    let wrong = name.or(namespace).unwrap_or_default();
    let resource = match name {
        Some(_) => K::plural(&()).into_owned(),
        None => "namespaces".to_owned(),
    };
    Err(CommandError::no_such(&resource, wrong, []))
}

pub(super) fn writes(dry_run: DryRun) -> PostParams {
    PostParams {
        dry_run: dry_run == DryRun::Server,
        field_manager: Some("berth".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_object_can_be_called_reaches_no_path() {
        for name in ["c1", "a.b", "node-csr:X"] {
            assert!(are_names(Some("ns"), Some(name)), "{name}");
        }
        for name in ["", ".", "..", "a/status", "a?x=y", "a#", "a b", "é", "%2e"] {
            assert!(!are_names(None, Some(name)), "{name}");
            assert!(!are_names(Some(name), Some("c1")), "{name}");
        }
    }
}
