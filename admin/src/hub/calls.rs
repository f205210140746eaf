//! Reads and writes. Every one ends in time, and tells what went wrong in the words of [`Failure`].

use std::io::{self, Write};

use http::response::Parts;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use kube::Resource;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::Request as Urls;
use kube::core::response::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Hub, Item};
use crate::failure::{Ask, Failure};

/// Objects are listed in pages of this many.
const PAGE: u32 = 500;
/// No answer is larger, unless something is wrong: 500 objects of the 1.5 MiB that etcd takes at most.
const LONGEST_ANSWER: usize = 768 << 20;

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

// === impl Hub ===

impl Hub {
    /// One object. None: there is none of this name.
    pub(crate) async fn get<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<Item<K>>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        if !are_names(namespace, Some(name)) {
            return Ok(None);
        }
        let ask = Ask::of::<K>("get", namespace, Some(name));
        let request = urls::<K>(namespace).get(name, &GetParams::default());
        match self.ask(request, &ask).await {
            Ok(value) => Ok(Some(Item::of(value))),
            Err(Failure::NotFound { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// All objects that the filter lets through, of one namespace or of all, sorted by namespace and name; and the
    /// resourceVersion they are of.
    pub(crate) async fn list_at<K>(
        &self,
        namespace: Option<&str>,
        filter: &Filter,
    ) -> Result<(Vec<Item<K>>, String), Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        checked::<K>(namespace, None)?;
        let ask = Ask::of::<K>("list", namespace, None);
        let mut params = filter.params().limit(PAGE);
        let mut items = Vec::new();
        let version = loop {
            let mut page = match self.ask(urls::<K>(namespace).list(&params), &ask).await {
                // The list took so long that its next page is of the past: once more, all at once.
                Err(Failure::Api(status))
                    if status.code == 410 && params.continue_token.is_some() =>
                {
                    items.clear();
                    params = filter.params();
                    continue;
                }
                page => page?,
            };
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more.into_iter().map(Item::<K>::of));
            }
            let metadata = &page["metadata"];
            match metadata["continue"].as_str().filter(|it| !it.is_empty()) {
                Some(token) => params.continue_token = Some(token.to_owned()),
                None => {
                    break metadata["resourceVersion"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                }
            }
        };
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
    ) -> Result<Vec<Item<K>>, Failure>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        Ok(self.list_at(namespace, filter).await?.0)
    }

    /// The names of all objects, and nothing else of them.
    pub(crate) async fn names<K>(&self, namespace: Option<&str>) -> Result<Vec<String>, Failure>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, None)?;
        let ask = Ask::of::<K>("list", namespace, None);
        let request = urls::<K>(namespace).list_metadata(&ListParams::default());
        let list = self.ask(request, &ask).await?;
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        let names = items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Makes an object, and returns it as the hub has it. Under [`DryRun::Client`] nothing is sent.
    pub(crate) async fn create<K>(
        &self,
        namespace: Option<&str>,
        object: &(impl Serialize + Sync),
        dry_run: DryRun,
    ) -> Result<Value, Failure>
    where
        K: Resource<DynamicType = ()>,
    {
        let body = serde_json::to_value(object).map_err(Failure::unreadable)?;
        let name = body["metadata"]["name"].as_str().map(str::to_owned);
        checked::<K>(namespace, None)?;
        let ask = Ask::of::<K>("create", namespace, name.as_deref());
        if dry_run == DryRun::Client {
            return Ok(body);
        }
        let request = urls::<K>(namespace).create(&writes(dry_run), body.to_string().into_bytes());
        self.ask(request, &ask).await
    }

    /// Changes an object, or one of its subresources. Under [`DryRun::Client`] nothing is sent.
    pub(crate) async fn patch<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &Patch<Value>,
        dry_run: DryRun,
    ) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(namespace, Some(name))?;
        let ask = Ask::of::<K>("patch", namespace, Some(name));
        if dry_run == DryRun::Client {
            return Ok(());
        }
        let params = PatchParams {
            dry_run: dry_run == DryRun::Server,
            field_manager: Some("berth".to_owned()),
            ..PatchParams::default()
        };
        let request = match subresource {
            None => urls::<K>(namespace).patch(name, &params, patch),
            Some(sub) => urls::<K>(namespace).patch_subresource(sub, name, &params, patch),
        };
        self.ask(request, &ask).await.map(drop)
    }

    /// Puts a subresource of an object in the place of what is there. Under [`DryRun::Client`] nothing is sent.
    pub(crate) async fn replace_subresource<K>(
        &self,
        name: &str,
        subresource: &str,
        body: &Value,
        dry_run: DryRun,
    ) -> Result<(), Failure>
    where
        K: Resource<DynamicType = ()>,
    {
        checked::<K>(None, Some(name))?;
        let ask = Ask::of::<K>("update", None, Some(name)).sub(subresource);
        if dry_run == DryRun::Client {
            return Ok(());
        }
        let body = body.to_string().into_bytes();
        let request =
            urls::<K>(None).replace_subresource(subresource, name, &writes(dry_run), body);
        self.ask(request, &ask).await.map(drop)
    }

    /// Deletes an object; false: there was none. With a uid, only if it is still that object. Under [`DryRun::Client`]
    /// nothing is sent.
    pub(crate) async fn delete<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        uid: Option<String>,
        dry_run: DryRun,
    ) -> Result<bool, Failure>
    where
        K: Resource<DynamicType = ()>,
    {
        if !are_names(namespace, Some(name)) {
            return Ok(false);
        }
        let ask = Ask::of::<K>("delete", namespace, Some(name));
        if dry_run == DryRun::Client {
            return Ok(true);
        }
        let mut params = DeleteParams::default();
        if dry_run == DryRun::Server {
            params = params.dry_run();
        }
        params.preconditions = uid.map(|uid| kube::api::Preconditions {
            uid: Some(uid),
            resource_version: None,
        });
        match self
            .ask(urls::<K>(namespace).delete(name, &params), &ask)
            .await
        {
            Ok(_) => Ok(true),
            Err(Failure::NotFound { .. }) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// The answer to any other GET, as it is.
    pub(crate) async fn raw(&self, path: &str) -> Result<Value, Failure> {
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(kube::core::request::Error::BuildRequest);
        self.ask(request, &Ask::path(path)).await
    }

    /// Sends a request, and reads the answer. The hub's warnings go to standard error, as kubectl has it.
    pub(super) async fn ask(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
        ask: &Ask,
    ) -> Result<Value, Failure> {
        let (head, body) = self.exchange(request, ask).await?;
        tell_warnings(&head.headers);
        if head.status.is_success() {
            return serde_json::from_slice(body.as_ref()).map_err(Failure::unreadable);
        }
        Err(Failure::answered(
            ask,
            head.status.as_u16(),
            status_of(body.as_ref()),
        ))
    }

    /// Sends a request, and returns whatever is answered.
    pub(super) async fn exchange(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
        ask: &Ask,
    ) -> Result<(Parts, impl AsRef<[u8]> + use<>), Failure> {
        let request = request
            .map_err(|error| Failure::Config(error.to_string()))?
            .map(Body::from);
        let answered = tokio::time::timeout(self.wait, async {
            let answer = self
                .client
                .send(request)
                .await
                .map_err(|error| Failure::unreachable(&self.server, ask, error))?;
            let (head, body) = answer.into_parts();
            let body = http_body_util::Limited::new(body, LONGEST_ANSWER)
                .collect()
                .await
                .map_err(|error| Failure::cut_off(&self.server, ask, error.as_ref()))?;
            Ok::<_, Failure>((head, body.to_bytes()))
        });
        let Ok(answered) = answered.await else {
            return Err(Failure::timed_out(&self.server, ask, self.wait));
        };
        answered
    }
}

/// The Status of a refusal, or what else was said.
pub(super) fn status_of(body: &[u8]) -> Status {
    serde_json::from_slice::<Status>(body).unwrap_or_else(|_| Status {
        message: String::from_utf8_lossy(&body[..body.len().min(300)])
            .trim()
            .to_owned(),
        ..Status::default()
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
) -> Result<(), Failure> {
    if are_names(namespace, name) {
        return Ok(());
    }
    let wrong = name.or(namespace).unwrap_or_default();
    let resource = match name {
        Some(_) => K::plural(&()).into_owned(),
        None => "namespaces".to_owned(),
    };
    Err(Failure::no_such(&resource, wrong, []))
}

pub(super) fn writes(dry_run: DryRun) -> PostParams {
    PostParams {
        dry_run: dry_run == DryRun::Server,
        field_manager: Some("berth".to_owned()),
    }
}

/// The texts of `Warning: 299 - "text"` headers.
fn tell_warnings(headers: &HeaderMap) {
    for value in headers.get_all(http::header::WARNING) {
        let Some(text) = value.to_str().ok().and_then(warning) else {
            continue;
        };
        // With nowhere to write it to, the command goes on.
        let _ = writeln!(io::stderr(), "Warning: {text}");
    }
}

/// The text of a warning (RFC 7234, section 5.5), its escapes undone and nothing in it that a terminal would obey.
fn warning(value: &str) -> Option<String> {
    let quoted = value.trim().splitn(3, ' ').nth(2)?.strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => return Some(text),
            '\\' => text.extend(characters.next()),
            c if !berth_rules::display::is_plain(c) => text.push('?'),
            c => text.push(c),
        }
    }
    None
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

    #[test]
    fn warnings_are_read_as_the_api_server_writes_them() {
        for (header, text) in [
            (r#"299 - "plain""#, Some("plain")),
            (r#"299 - "a \"b\" \\ c""#, Some(r#"a "b" \ c"#)),
            (r#"299 - "open"#, None),
            ("299", None),
            ("", None),
        ] {
            assert_eq!(warning(header).as_deref(), text, "{header}");
        }
    }
}
