//! The objects that an operator writes: which of them are as they should be, and what makes the others so.
//!
//! # Guarantees
//! - An object that is as it should be is not written, whoever wrote it.
//! - Fields that this operator applied once, and does not want any more, are removed. So are those of the content that another client set
//!   without server-side apply, as OCM's operator and `kubectl apply` do, once the object is not as it should be. Labels and annotations of
//!   others stay, and so does what the certificate keeper writes: the content of the Secret, and the `caBundle` of webhooks.

mod agree;
mod kinds;
mod managed;
mod stored;

use berth_api::path::object_path;
use berth_api::plan::{Action, Target, Write};

use crate::pull::is_copy_of;
use serde_json::{Value, json};

pub use agree::agrees;
pub use kinds::Kind;
pub use stored::Stored;

/// The field manager of operators.
pub const MANAGER: &str = "berth-operator";

/// An object, by its kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    /// Its kind.
    pub kind: Kind,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

// === impl Id ===

impl Id {
    /// The kind and the name of an object; `None` for one that operators do not write.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        Some(Self {
            kind: Kind::of(object)?,
            namespace: text("namespace").unwrap_or_default(),
            name: text("name")?,
        })
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            resource: self.kind.resource(),
            namespace: (!self.namespace.is_empty()).then(|| self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    /// Its path at an API server.
    #[must_use]
    pub fn path(&self) -> String {
        let resource = self.kind.resource();
        let kind = (&*resource.group, &*resource.version, &*resource.resource);
        object_path(kind, &self.namespace, &self.name)
    }

    /// A write of this object.
    #[must_use]
    pub fn write(&self, reconciler: &'static str, action: Action) -> Write {
        Write {
            target: self.target(),
            action,
            reconciler,
            events: Vec::new(),
        }
    }

    /// The name in messages.
    #[must_use]
    pub fn shown(&self) -> String {
        let kind = self.kind.kind();
        match &*self.namespace {
            "" => format!("{kind} {}", self.name),
            namespace => format!("{kind} {namespace}/{}", self.name),
        }
    }
}

/// What makes an object as it should be; `None` if it is. `stored`: the object, if the watch of labelled objects shows it.
#[must_use]
pub fn action(wanted: &Value, stored: Option<&Stored>) -> Option<Action> {
    // Applying creates it, too. It may exist without the label.
    let apply = |body| Action::Apply {
        manager: MANAGER,
        body,
    };
    if stored.is_some_and(|it| it.is_as(wanted)) {
        return None;
    }
    if is_copy_of(wanted) {
        // OCM's role for its operator allows to update them, and not to patch them.
        return Some(Action::CreateOrUpdate {
            body: wanted.clone(),
        });
    }
    let Some(stored) = stored else {
        return Some(apply(wanted.clone()));
    };
    let api_version = wanted["apiVersion"].as_str().unwrap_or_default();
    if let Some(managed) = stored.adopted(api_version) {
        let metadata = json!({
            "uid": stored.uid, "resourceVersion": stored.resource_version, "managedFields": managed,
            // By this OCM's operator would take the content for its own, on the way back.
            "annotations": {"operator.openshift.io/spec-hash": null},
        });
        return Some(Action::Patch {
            subresource: None,
            body: json!({"metadata": metadata}),
        });
    }
    // Decided from this version: a bundle that was published since must not be undone.
    let mut body = wanted.clone();
    body["metadata"]["resourceVersion"] = json!(stored.resource_version);
    Some(apply(body))
}

#[cfg(test)]
mod tests;
