//! What a call asks for, in the words of a role.

use std::borrow::Cow;
use std::fmt;

use http::Method;

/// Method and path: kept of a call, and formatted only for messages.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) method: Method,
    pub(crate) path: Cow<'static, str>,
}

/// The permission that a call needs, as a role grants it: `get managedclusters.cluster.open-cluster-management.io c1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The verb of RBAC; for a path that is no resource, the HTTP method in lower case.
    pub verb: &'static str,
    /// The path without its query.
    pub path: String,
    /// The resource, if the path is one.
    pub resource: Option<Resource>,
}

/// A resource, or one object or subresource of it, as a path names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// API group; empty: the core group.
    pub group: String,
    /// Version of the group.
    pub version: String,
    /// The plural.
    pub plural: String,
    /// The subresource; empty: the object itself.
    pub subresource: String,
    /// The namespace; `None`: cluster-scoped, or in all namespaces.
    pub namespace: Option<String>,
    /// The object; `None`: the collection.
    pub name: Option<String>,
}

// === impl Line ===

impl Line {
    pub(crate) fn asked(&self) -> Asked {
        Asked::of(&self.method, &self.path)
    }
}

// === impl Asked ===

impl Asked {
    fn of(method: &Method, path: &str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let resource = Resource::of(path);
        let watches = query
            .split('&')
            .any(|pair| matches!(pair, "watch=true" | "watch=1"));
        let names_one = resource.as_ref().is_some_and(|it| it.name.is_some());
        let verb = match (method.as_str(), &resource) {
            ("GET", Some(_)) if watches => "watch",
            ("GET", Some(_)) if !names_one => "list",
            ("POST", Some(_)) => "create",
            ("PUT", Some(_)) => "update",
            ("DELETE", Some(_)) if !names_one => "deletecollection",
            ("GET", _) => "get",
            ("POST", _) => "post",
            ("PUT", _) => "put",
            ("PATCH", _) => "patch",
            ("DELETE", _) => "delete",
            ("HEAD", _) => "head",
            _ => "request",
        };
        Self {
            verb,
            path: path.to_owned(),
            resource,
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verb)?;
        let Some(resource) = &self.resource else {
            return write!(f, " {}", self.path);
        };
        write!(f, " {}", resource.plural)?;
        if !resource.subresource.is_empty() {
            write!(f, "/{}", resource.subresource)?;
        }
        if !resource.group.is_empty() {
            write!(f, ".{}", resource.group)?;
        }
        match (&resource.namespace, &resource.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            (Some(namespace), None) => write!(f, " in {namespace}"),
            (None, None) => Ok(()),
        }
    }
}

// === impl Resource ===

impl Resource {
    /// The resource of a path without query, or `None` if it is no path of a resource.
    fn of(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let group = match parts.next()? {
            "api" => "",
            "apis" => parts.next()?,
            _ => return None,
        };
        let version = parts.next()?;
        let rest: Vec<&str> = parts.collect();
        let (namespace, rest) = match &rest[..] {
            ["namespaces", _, "status" | "finalize"] => (None, &rest[..]),
            ["namespaces", namespace, _, ..] => (Some((*namespace).to_owned()), &rest[2..]),
            _ => (None, &rest[..]),
        };
        let (plural, rest) = rest.split_first()?;
        let (name, subresource) = match rest {
            [] => (None, String::new()),
            [name, subresource @ ..] => (Some((*name).to_owned()), subresource.join("/")),
        };
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: (*plural).to_owned(),
            subresource,
            namespace,
            name,
        })
    }
}
