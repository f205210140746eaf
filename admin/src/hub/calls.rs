//! Reads and writes. Every one ends in time, and tells what went wrong in the words of [`CommandError`].

use std::io::{self, Write};

use berth_hub::{Answer, Call, CallError, MERGE_PATCH, METADATA_LIST, optional};
use http::{Method, Request};
use kube::Resource;
use kube::core::Request as Urls;
use kube::core::params::{
    DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{HubConnection, Item};
use crate::failure::CommandError;

/// Objects are listed in pages of this many.
const PAGE: u32 = 250;
/// The byte bound of a page: as many objects of the 1.5 MiB that etcd takes at most.
const LONGEST_PAGE: usize = 384 << 20;
/// How often a list is begun again whose next page the hub has forgotten.
const MOST_RESTARTS: usize = 3;

/// Whether something is written, as kubectl's `--dry-run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DryRun {
    /// Yes.
    #[default]
    None,
    /// No, and the hub is not asked.
    Client,
    /// No, but the hub decides about it as if it were.
    Server,
}

/// Which objects of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// A label selector.
    pub(crate) labels: Option<String>,
    /// A field selector.
    pub(crate) fields: Option<String>,
}

// === impl DryRun ===

impl DryRun {
    /// What follows a line about something that was done, or would be.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

// === impl Filter ===

impl Filter {
    pub(crate) fn labels(selector: impl Into<String>) -> Self {
        Self {
            labels: Some(selector.into()),
            fields: None,
        }
    }

    pub(super) fn params(&self) -> ListParams {
        let mut params = ListParams::default();
        params.label_selector.clone_from(&self.labels);
        params.field_selector.clone_from(&self.fields);
        params
    }
}

// === impl HubConnection ===

impl HubConnection {
    /// One object. None: there is none of this name.
    pub(crate) async fn get<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Item<K>>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        if !are_names(namespace, Some(name)) {
            return Ok(None);
        }
        let request = urls::<K>(namespace).get(name, &GetParams::default());
        let answer = self.call(call(request)?).await;
        match optional(answer).map_err(|error| self.failure(&error))? {
            Some(answer) => Ok(Some(Item::of(self.read(&answer)?))),
            None => Ok(None),
        }
    }

    /// All objects that the filter lets through, of one namespace or of all, sorted by namespace and name; and the
    /// resourceVersion they are of.
    pub(crate) async fn list_at<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<(Vec<Item<K>>, String), CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        checked::<K>(namespace, None)?;
        let mut items = Vec::new();
        let version = self
            .pages::<K>(namespace, filter.params(), None, |page| match page {
                Some(page) => items.extend(page.into_iter().map(Item::<K>::of)),
                None => items.clear(),
            })
            .await?;
        items.sort_by_cached_key(|item| {
            let meta = item.object.meta();
            (meta.namespace.clone(), meta.name.clone())
        });
        Ok((items, version))
    }

    /// The same without the resourceVersion.
    pub(crate) async fn list<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<Vec<Item<K>>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        Ok(self.list_at(namespace, filter).await?.0)
    }

    /// The names of all objects, and nothing else of them.
    pub(crate) async fn names<K>(
        &self,
        namespace: Option<&str>,
    ) -> Result<Vec<String>, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, None)?;
        let mut names = Vec::new();
        self.pages::<K>(
            namespace,
            ListParams::default(),
            Some(METADATA_LIST),
            |page| match page {
                Some(page) => names.extend(page.iter().filter_map(|item| {
                    let name = item["metadata"]["name"].as_str();
                    name.map(str::to_owned)
                })),
                None => names.clear(),
            },
        )
        .await?;
        Ok(names)
    }

    /// Lists in pages, each given to `take` before the next one is asked for; `None`: the hub has forgotten the next page,
    /// and all begins again. Returns the resourceVersion.
    async fn pages<K>(
        &self,
        namespace: Option<&str>,
        params: ListParams,
        accept: Option<&'static str>,
        mut take: impl FnMut(Option<Vec<Value>>),
    ) -> Result<String, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        let mut params = params.limit(PAGE);
        let mut restarts = 0;
        loop {
            let mut page = call(urls::<K>(namespace).list(&params))?.at_most(LONGEST_PAGE);
            if let Some(accept) = accept {
                page = page.accept(accept);
            }
            let mut page = match self.ask(page).await {
                Err(CommandError::Api(status))
                    if status.code == 410
                        && params.continue_token.is_some()
                        && restarts < MOST_RESTARTS =>
                {
                    restarts += 1;
                    take(None);
                    params.continue_token = None;
                    continue;
                }
                page => page?,
            };
            if let Value::Array(more) = page["items"].take() {
                take(Some(more));
            }
            let metadata = &page["metadata"];
            match metadata["continue"].as_str().filter(|it| !it.is_empty()) {
                Some(token) => params.continue_token = Some(token.to_owned()),
                None => {
                    let version = metadata["resourceVersion"].as_str();
                    return Ok(version.unwrap_or_default().to_owned());
                }
            }
        }
    }

    /// Makes an object, and returns it as the hub has it. Under [`DryRun::Client`] nothing is sent.
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

    /// Changes an object, or one of its subresources, by a merge patch. Under [`DryRun::Client`] nothing is sent.
    pub(crate) async fn merge<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: Value,
        dry_run: DryRun,
    ) -> Result<(), CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, Some(name))?;
        if dry_run == DryRun::Client {
            return Ok(());
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
        self.ask(call(request)?).await.map(drop)
    }

    /// Puts a subresource of an object in the place of what is there. Under [`DryRun::Client`] nothing is sent.
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

    /// Deletes an object; false: there was none. With a uid, only if it is still that object. Under [`DryRun::Client`]
    /// nothing is sent.
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

    /// The objects of a list by its path, with nothing but their metadata.
    pub(crate) async fn metadata(&self, path: &str) -> Result<Value, CommandError> {
        self.ask(Call::get(path.to_owned()).accept(METADATA_LIST))
            .await
    }

    /// Makes a call, and reads the answer.
    async fn ask(&self, call: Call) -> Result<Value, CommandError> {
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
        CommandError::of(self.server(), error)
    }
}

/// A request as kube makes them, as a call. Patches are merge patches.
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

pub(super) fn urls<K: Resource<DynamicType = ()>>(namespace: Option<&str>) -> Urls {
    Urls::new(K::url_path(&(), namespace))
}

/// Whether each of these can be one part of a path, as it is; others would reach another path. (Names of most kinds are
/// narrower; a CSR's is not.)
fn are_names(namespace: Option<&str>, name: Option<&str>) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:!$&'()*+,;=@".contains(&byte);
    let is_name = |name: &str| !["", ".", ".."].contains(&name) && name.bytes().all(is_plain);
    [namespace, name].into_iter().flatten().all(is_name)
}

/// # Errors
/// There is nothing under these names, which no object can have.
fn checked<K: Resource<DynamicType = ()>>(
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
