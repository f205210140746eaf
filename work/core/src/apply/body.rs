//! Bodies of server-side apply, and of creation.

use serde_json::{Value, json};

use super::Applying;
use super::dropped::Dropped;
use super::strategy::{Strategy, annotate};
use crate::managed::{self, Entry};
use crate::owner::is_shared;

// === impl Applying ===

impl Applying {
    /// The body of a server-side apply to an existing object.
    ///
    /// The API server removes what the manager applied before and the body lacks. So these are added with the values they have:
    /// fields that are ignored from now on (`full` has them, `body` not); finalizers and references to other owners; and if another
    /// AppliedManifestWork owns the object too, all fields. The body then has the resourceVersion, so that no newer value is
    /// overwritten; and the UID, so that an object that is created anew does not get them.
    pub(super) fn body_to_apply(
        &self,
        body: &Value,
        full: Option<&Value>,
        manager: &str,
        live: &Value,
        entries: &[Entry<'_>],
        dropped: &Dropped,
    ) -> Value {
        let mut body = body.clone();
        if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            metadata.remove("ownerReferences");
            metadata.remove("finalizers");
        }
        let mut kept = false;
        if let Some(own) = applied_by(entries, manager) {
            let owners = self.owner.missing(live);
            let owners =
                owners.map_or_else(|| live["metadata"]["ownerReferences"].clone(), Value::from);
            let mut names = json!({"metadata": {"finalizers": live["metadata"]["finalizers"]}});
            names["metadata"]["ownerReferences"] = owners;
            kept |= managed::unite(&mut body, own.fields, live, Some(&names));
            if is_shared(live, &self.owner) {
                let mut others = live.clone();
                for path in &dropped.paths {
                    managed::remove(&mut others, &path.0);
                }
                if let Some(Value::Object(metadata)) = others.get_mut("metadata") {
                    metadata.retain(|name, _| name == "labels" || name == "annotations");
                }
                kept |= managed::unite(&mut body, own.fields, live, Some(&others));
            } else if let Some(full) = full {
                kept |= managed::unite(
                    &mut body,
                    own.fields,
                    live,
                    Some(&without_server_metadata(full)),
                );
            }
        }
        self.own_if_missing(&mut body);
        if kept && let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            for name in ["resourceVersion", "uid"] {
                metadata.insert(name.to_owned(), live["metadata"][name].clone());
            }
        }
        body
    }

    /// Adds our owner reference to a body, beside those it has.
    fn own_if_missing(&self, body: &mut Value) {
        if let Some(owners) = self.owner.missing(body)
            && let Some(Value::Object(metadata)) = body.get_mut("metadata")
        {
            metadata.insert("ownerReferences".to_owned(), owners.into());
        }
    }

    /// The body that creates the object.
    pub(super) fn body_to_create(&self) -> Value {
        let mut body = self.body.clone();
        if let Strategy::ServerSide(settings) = &self.strategy
            && let Some(ignored) = &settings.ignored
        {
            annotate(&mut body, &ignored.hash);
        }
        self.own_if_missing(&mut body);
        body
    }
}

/// The entry of a manager that was written by server-side apply.
pub(super) fn applied_by<'a>(entries: &[Entry<'a>], manager: &str) -> Option<Entry<'a>> {
    entries
        .iter()
        .find(|entry| entry.applied && entry.manager == manager)
        .copied()
}

/// A manifest without the metadata that is not compared.
pub(super) fn without_server_metadata(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        metadata.remove("ownerReferences");
        metadata.remove("finalizers");
    }
    body
}
