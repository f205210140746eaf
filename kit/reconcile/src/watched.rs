//! A row of the table of kinds.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use berth_api::GroupVersionResource;
use berth_hub::{object_path, query_value};

use crate::object::Item;

/// A kind that is watched: its resource, a selection of its objects, and the function that reads an object.
///
/// Rows may be added and removed while the controller runs, see [`Handle::watch`](crate::Handle::watch).
pub struct Watched<F> {
    pub(crate) group: Cow<'static, str>,
    pub(crate) versions: Vec<Cow<'static, str>>,
    pub(crate) resource: Cow<'static, str>,
    pub(crate) name: &'static str,
    pub(crate) server: usize,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Option<Cow<'static, str>>,
    pub(crate) object: Option<String>,
    pub(crate) optional: bool,
    read: Read<F>,
}

/// Makes the controller's fact of an object.
type Read<F> = Arc<dyn Fn(&Item<'_>) -> Result<F, serde_json::Error> + Send + Sync>;

// === impl Watched ===

impl<F> Watched<F> {
    /// All objects of a kind, on the first API server. `name`: its name in metrics and logs, which kinds that are only known at
    /// run time share. `read` makes a fact of an object, and should keep only what the controller needs. No lock is held while
    /// it runs.
    pub fn new(
        name: &'static str,
        kind: GroupVersionResource,
        read: impl Fn(&Item<'_>) -> Result<F, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            group: kind.group.into(),
            versions: vec![kind.version.into()],
            resource: kind.resource.into(),
            name,
            server: 0,
            namespace: None,
            labels: None,
            object: None,
            optional: false,
            read: Arc::new(read),
        }
    }

    /// Adds a version, for API servers that do not serve the ones before.
    #[must_use]
    pub fn or_version(mut self, version: impl Into<Cow<'static, str>>) -> Self {
        self.versions.push(version.into());
        self
    }

    /// Sets the API server: its place among those that the controller was given.
    #[must_use]
    pub fn on(self, server: usize) -> Self {
        Self { server, ..self }
    }

    /// Only the objects in this namespace.
    #[must_use]
    pub fn within(self, namespace: impl Into<String>) -> Self {
        let namespace = Some(namespace.into());
        Self { namespace, ..self }
    }

    /// Only the objects that this label selector selects.
    #[must_use]
    pub fn labelled(self, selector: impl Into<Cow<'static, str>>) -> Self {
        let labels = Some(selector.into());
        Self { labels, ..self }
    }

    /// Only the object of this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let object = Some(name.to_owned());
        Self { object, ..self }
    }

    /// The API server need not serve the kind: the controller works without it.
    #[must_use]
    pub fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    /// Makes the fact of an object, as the watch does.
    ///
    /// # Errors
    /// The fact cannot be read.
    pub fn read(&self, item: &Item<'_>) -> Result<F, serde_json::Error> {
        (self.read)(item)
    }

    /// The path of the collection in a version, with the selectors as its query.
    pub(crate) fn path(&self, version: &str) -> String {
        let kind = (&*self.group, version, &*self.resource);
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let mut path = object_path(kind, namespace, "");
        path.push('?');
        if let Some(labels) = &self.labels {
            path.push_str(&format!("labelSelector={}&", query_value(labels)));
        }
        if let Some(name) = &self.object {
            let name = query_value(name);
            path.push_str(&format!("fieldSelector=metadata.name%3D{name}&"));
        }
        path
    }
}

impl<F> fmt::Debug for Watched<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Watched")
            .field("name", &self.name)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_names_what_is_watched() {
        let kind = |group: &str, resource: &str| GroupVersionResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
        };
        let watched = Watched::new("leases", kind("coordination.k8s.io", "leases"), |_| Ok(()))
            .or_version("v1beta1")
            .labelled("a/b,!c");
        assert_eq!(
            watched.path("v1beta1"),
            "/apis/coordination.k8s.io/v1beta1/leases?labelSelector=a/b%2C%21c&"
        );
        let watched = Watched::new("secrets", kind("", "secrets"), |_| Ok(()))
            .within("n1")
            .named("s");
        assert_eq!(
            watched.path("v1"),
            "/api/v1/namespaces/n1/secrets?fieldSelector=metadata.name%3Ds&"
        );
    }
}
