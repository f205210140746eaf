//! All resources that are currently served.

use std::sync::Arc;

use tokio::sync::watch;

use crate::resources::{Resource, builtin};

/// The resources, in discovery's order. CustomResourceDefinitions come and go.
#[derive(Debug)]
pub(crate) struct Registry {
    resources: watch::Sender<Served>,
}

/// Everything that is served at some moment.
pub(crate) type Served = Arc<Vec<Arc<Resource>>>;

impl Registry {
    /// Kubernetes' own kinds.
    pub(crate) fn new() -> Self {
        Self {
            resources: watch::Sender::new(Arc::new(builtin::all())),
        }
    }

    /// Everything that is served. Changes replace the list, so `Arc::ptr_eq` of two answers says whether anything changed.
    pub(crate) fn all(&self) -> Served {
        Arc::clone(&self.resources.borrow())
    }

    /// As [`Registry::all`], for callers that wait for changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Served> {
        self.resources.subscribe()
    }

    /// The resource that a path names.
    pub(crate) fn find(&self, group: &str, version: &str, name: &str) -> Option<Arc<Resource>> {
        let all = self.all();
        let found = all.iter().find(|resource| {
            resource.name == name && resource.version == version && resource.group == group
        });
        found.cloned()
    }

    /// The resource whose objects have this `apiVersion` and `kind`.
    pub(crate) fn find_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let all = self.all();
        let found = all.iter().find(|resource| {
            resource.kind == kind && resource.api_version() == api_version && resource.has_objects()
        });
        found.cloned()
    }

    /// Replaces the resources of a CustomResourceDefinition, which are those with this group and name, by `resources` (none
    /// when it is gone).
    pub(crate) fn replace_custom(&self, group: &str, name: &str, resources: Vec<Resource>) {
        self.resources.send_modify(|all| {
            let mut next: Vec<_> = all.as_ref().clone();
            next.retain(|old| !(old.custom && old.group == group && old.name == name));
            next.extend(resources.into_iter().map(Arc::new));
            *all = Arc::new(next);
        });
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}
