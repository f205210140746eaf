//! Values that the API server keeps as a whole: atomic maps, structs and lists, such as `nodeSelector`, `tolerations` and the lists of
//! custom resources.
//!
//! managedFields has one leaf for such a value, whatever is in it. So what a manifest no longer has inside it is not found by its leaf:
//! the value is compared exactly. That is possible only where the defaults inside such values are known, or cannot be: a difference that
//! is a default would be written at each start of the agent.

use serde_json::{Map, Value};

use super::{Comparison, ListKind, Node, below, is_void, key, keyed_below};
use crate::managed::{has_key, text};
use crate::path::{Part, Path};

/// Whose whole values are compared exactly.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'m> {
    /// The field manager that applied them.
    pub(crate) manager: &'m str,
    /// The defaults inside whole values of the kind are in [`DEFAULTS`].
    pub(crate) is_known: bool,
}

/// Kinds with known defaults inside whole values, by their group.
const KNOWN: [(&str, &[&str]); 5] = [
    (
        "",
        &[
            "ReplicationController",
            "PodTemplate",
            "PersistentVolumeClaim",
            "ResourceQuota",
        ],
    ),
    (
        "apps",
        &["Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"],
    ),
    ("batch", &["Job", "CronJob"]),
    ("networking.k8s.io", &["Ingress"]),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
];

/// The last two fields of a path inside a whole value of a known kind, and what the API server fills in.
const DEFAULTS: [(&str, &str, &str); 6] = [
    ("fieldRef", "apiVersion", r#""v1""#),
    ("resourceFieldRef", "divisor", r#""0""#),
    ("fileKeyRef", "optional", "false"),
    ("serviceAccountToken", "expirationSeconds", "3600"),
    ("podCertificate", "maxExpirationSeconds", "86400"),
    ("onPodConditions", "status", r#""True""#),
];

/// Are the defaults inside whole values of a kind known?
pub(crate) fn is_known(group: &str, kind: &str) -> bool {
    let mut known = KNOWN.iter().filter(|(known, _)| *known == group);
    known.any(|(_, kinds)| kinds.contains(&kind))
}

/// Does the API server fill the value in, inside a whole value?
pub(super) fn is_default(path: &Path, value: &Value) -> bool {
    let mut fields = path.fields_from_last();
    let last = fields.next().unwrap_or_default();
    let above = fields.next().unwrap_or_default();
    let mut defaults = DEFAULTS.iter();
    defaults.any(|(parent, name, default)| {
        (*parent, *name) == (above, last) && super::is_json(value, default)
    })
}

/// Has the managers' fields nothing but one leaf for a value? Then the API server keeps the value as a whole.
pub(crate) fn is_leaf(nodes: &[Node<'_>]) -> bool {
    let is_empty = |node: &Node<'_>| node.fields.as_object().is_some_and(Map::is_empty);
    !nodes.is_empty() && nodes.iter().all(is_empty)
}

fn is_map_of_texts(value: &Value) -> bool {
    let object = value.as_object();
    object.is_some_and(|object| object.values().all(Value::is_string))
}

/// Takes each whole value out of a manifest in which something was cut, if the object has the value: what is cut inside it cannot be left
/// alone otherwise. `full` is the manifest before the cut.
pub(crate) fn take_out_cut(body: &mut Value, full: &Value, live: &Value, nodes: &[Node<'_>]) {
    match (body, full) {
        (Value::Object(body), Value::Object(full)) => {
            for (name, full) in full {
                let Some(value) = body.get_mut(name).filter(|value| *value != full) else {
                    continue;
                };
                let Some(live) = live.get(name) else {
                    continue;
                };
                let below = below(nodes, name);
                if is_whole(full, live, &below) {
                    body.remove(name);
                } else {
                    take_out_cut(value, full, live, &below);
                }
            }
        }
        (Value::Array(body), Value::Array(full)) => {
            let found = live.as_array().map_or(&[][..], Vec::as_slice);
            let ListKind::Keyed(names) = ListKind::of(full, found, nodes) else {
                return;
            };
            let nodes = keyed_below(nodes);
            for item in body {
                let key = key(item, &names);
                let is_same = |it: &&Value| !key.is_empty() && has_key(it, &key);
                let Some(full) = full.iter().find(is_same) else {
                    continue;
                };
                let Some(live) = found.iter().find(is_same) else {
                    continue;
                };
                let below = nodes.get(&text(&super::key(live, &names)));
                take_out_cut(item, full, live, below.map_or(&[], Vec::as_slice));
            }
        }
        _ => {}
    }
}

/// Does the API server keep the value as a whole?
fn is_whole(full: &Value, live: &Value, nodes: &[Node<'_>]) -> bool {
    match full {
        Value::Array(full) => {
            let live = live.as_array().map_or(&[][..], Vec::as_slice);
            matches!(ListKind::of(full, live, nodes), ListKind::Whole)
        }
        _ => is_leaf(nodes),
    }
}

// === impl Comparison ===

impl Comparison<'_, '_, '_> {
    /// Must nothing be in this value of the object but what the manifest has?
    pub(super) fn is_exact(&self, ours: &Value, theirs: &Value, nodes: &[Node<'_>]) -> bool {
        let Some(whole) = self.whole else {
            return false;
        };
        let is_ours = |node: &Node<'_>| node.entry.manager == whole.manager;
        // Items of an atomic list come with the leaf of the list. Labels and annotations are no atomic maps.
        let is_item = matches!(self.path.0.last(), Some(Part::Index(_)));
        let is_metadata = self.path.0.first() == Some(&"metadata".into());
        // `strategy: {}` is a leaf, too, and gets defaults.
        if is_item || is_metadata || is_void(ours) || !is_leaf(nodes) || !nodes.iter().any(is_ours)
        {
            return false;
        }
        // Each item is a PersistentVolumeClaim with defaults.
        let is_known = whole.is_known && !self.path.ends_with("volumeClaimTemplates");
        is_known || is_map_of_texts(ours) && is_map_of_texts(theirs)
    }
}
