//! Reads the path and method of a request: the verb, the resource, the object.
//!
//! Authorization depends on it, so paths are read as the API server reads them. The list of resources is not needed.

use http::Method;

use crate::protocol::query::Query;

/// What a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// The decoded path.
    pub(crate) path: String,
    /// For a resource `get`, `list`, `watch`, ...; otherwise the method in lower case.
    pub(crate) verb: String,
    /// True if it is about a resource; if not, nothing below is set.
    pub(crate) is_resource: bool,
    /// The API group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The namespace; of the resource `namespaces`, the object itself.
    pub(crate) namespace: String,
    /// The resource.
    pub(crate) resource: String,
    /// The object; of lists and watches, the one that a field selector asks for.
    pub(crate) name: String,
    /// The part of the object.
    pub(crate) subresource: String,
    /// How many parts the path has from the resource on.
    pub(crate) parts: usize,
    /// True if the path has the deprecated form `/api/v1/watch/...`.
    pub(crate) watch_prefix: bool,
}

/// Parts after a namespace's name that are no resources within it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

impl RequestInfo {
    /// Reads a request line. `path` is decoded.
    pub(crate) fn new(method: &Method, path: &str, query: &Query) -> Self {
        let mut info = Self {
            path: path.to_owned(),
            verb: method.as_str().to_lowercase(),
            ..Self::default()
        };
        let trimmed = path.trim_matches('/');
        let mut parts: &[&str] = &trimmed.split('/').collect::<Vec<_>>();
        let (group, version);
        match *parts {
            ["api", its_version, _, ..] => {
                (group, version) = ("", its_version);
                parts = &parts[2..];
            }
            ["apis", its_group, its_version, _, ..] => {
                (group, version) = (its_group, its_version);
                parts = &parts[3..];
            }
            _ => return info,
        }
        info.is_resource = true;
        info.group = group.to_owned();
        info.version = version.to_owned();
        info.verb = match *method {
            Method::POST => "create",
            Method::GET | Method::HEAD => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "",
        }
        .to_owned();
        if let ["proxy" | "watch", ..] = *parts {
            info.verb = parts[0].to_owned();
            info.watch_prefix = info.verb == "watch";
            parts = &parts[1..];
        }
        if let ["namespaces", namespace, ..] = *parts {
            info.namespace = namespace.to_owned();
            if let [_, _, inner, ..] = *parts
                && !NAMESPACE_SUBRESOURCES.contains(&inner)
            {
                parts = &parts[2..];
            }
        }
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        info.resource = part(0);
        info.name = part(1);
        if info.verb != "proxy" {
            info.subresource = part(2);
        }
        info.parts = parts.len();
        info.settle_collection(query);
        info
    }

    /// Without a name, a get is a list or a watch, and a deletion is one of many.
    fn settle_collection(&mut self, query: &Query) {
        if !self.name.is_empty() {
            return;
        }
        match self.verb.as_str() {
            "get" => {
                self.verb = if query.flag("watch").unwrap_or(false) {
                    "watch".to_owned()
                } else {
                    "list".to_owned()
                };
                let selector = query.first("fieldSelector").unwrap_or_default();
                let name = crate::protocol::selectors::FieldSelector::parse(selector)
                    .ok()
                    .and_then(|selector| selector.required("metadata.name").map(str::to_owned))
                    .filter(|name| is_path_segment(name));
                self.name = name.unwrap_or_default();
            }
            "delete" => self.verb = "deletecollection".to_owned(),
            _ => {}
        }
    }

    /// Returns true if answers may take any time.
    pub(crate) fn is_long_running(&self) -> bool {
        self.is_resource && self.verb == "watch"
    }
}

/// Returns true if a name could stand in a path.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// Decodes percent-encoding; `None` if it is malformed or not UTF-8. In a query, a plus is a space.
pub(crate) fn decode(text: &str, in_query: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if in_query => b' ',
            other => other,
        });
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Method, path and query, then verb, group/version, namespace, resource, name, subresource; `-` for an empty one.
    const ROWS: &str = "\
GET /api/v1/namespaces list /v1 - namespaces - -
GET /api/v1/namespaces/ list /v1 - namespaces - -
GET /api/v1/namespaces/a get /v1 a namespaces a -
HEAD /api/v1/namespaces/a get /v1 a namespaces a -
PUT /api/v1/namespaces/a/finalize update /v1 a namespaces a finalize
PUT /api/v1/namespaces/a/status update /v1 a namespaces a status
GET /api/v1/namespaces/a/secrets list /v1 a secrets - -
POST /api/v1/namespaces/a/secrets create /v1 a secrets - -
DELETE /api/v1/namespaces/a/secrets deletecollection /v1 a secrets - -
DELETE /api/v1/namespaces/a/secrets/s delete /v1 a secrets s -
POST /api/v1/namespaces/a/serviceaccounts/s/token create /v1 a serviceaccounts s token
GET /api/v1/secrets?watch=1 watch /v1 - secrets - -
GET /api/v1/secrets?watch= watch /v1 - secrets - -
GET /api/v1/secrets?watch=False list /v1 - secrets - -
GET /api/v1/namespaces/a/secrets/s?watch=true get /v1 a secrets s -
GET /api/v1/watch/namespaces/a/secrets watch /v1 a secrets - -
GET /api/v1/watch/namespaces/a watch /v1 a namespaces a -
GET /api/v1/secrets?fieldSelector=metadata.name%3Dx list /v1 - secrets x -
GET /api/v1/secrets?fieldSelector=metadata.name%3D.. list /v1 - secrets - -
PATCH /apis/g.io/v1/things/t/status patch g.io/v1 - things t status
GET /apis/g.io/v1/namespaces/a/things/t/x/y get g.io/v1 a things t x
OPTIONS /apis/g.io/v1/things - g.io/v1 - things - -
GET /apis/g.io/v1/things/a%2Fb get g.io/v1 - things a b
";

    #[test]
    fn a_path_names_a_resource() {
        for row in ROWS.lines() {
            let words: Vec<&str> = row.split(' ').collect();
            let info = read(words[0], words[1]);
            assert!(info.is_resource, "{row}");
            let group_version = format!("{}/{}", info.group, info.version);
            let found = [
                &info.verb,
                &group_version,
                &info.namespace,
                &info.resource,
                &info.name,
                &info.subresource,
            ];
            let found = found.map(|word| if word.is_empty() { "-" } else { word });
            assert_eq!(found, words[2..], "{row}");
        }
    }

    #[test]
    fn other_paths_name_none() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/g.io",
            "/apis/g.io/v1/",
            "/healthz",
            "/openapi/v3/apis/g.io/v1",
        ] {
            let info = read("POST", path);
            assert!(!info.is_resource, "{path}");
            assert_eq!((info.verb.as_str(), info.path.as_str()), ("post", path));
        }
    }

    #[test]
    fn escapes_are_undone_or_refused() {
        let rows = [
            ("a%20b", Some("a b")),
            ("%E2%82%ac", Some("€")),
            ("a+b", Some("a+b")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
        ];
        for (text, expected) in rows {
            assert_eq!(decode(text, false).as_deref(), expected, "{text}");
        }
        assert_eq!(decode("a+b%2B", true).as_deref(), Some("a b+"));
    }

    fn read(method: &str, uri: &str) -> RequestInfo {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        RequestInfo::new(
            &method.parse().unwrap(),
            &decode(path, false).unwrap(),
            &Query::parse(query),
        )
    }
}
