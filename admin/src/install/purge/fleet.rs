//! The objects of the fleet on a hub: their kinds, their lists, and what a deletion waits for.

use std::collections::BTreeMap;

use berth_api::path::object_path;
use berth_manifests::{Hub, Mode};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection};
use crate::install::facts::AT_ONCE;

/// Upper bound on the objects that a message names.
const SHOWN: usize = 20;

/// A part of each finalizer of OCM: the end of its group and the slash.
const OCM: &str = ".open-cluster-management.io/";

/// A kind of the fleet, and its definition.
#[derive(Clone, Debug)]
pub(super) struct FleetKind {
    pub(super) kind: String,
    group: String,
    version: String,
    plural: String,
    pub(super) definition: Value,
}

/// An object of the fleet: its metadata, as far as a deletion needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FleetObject {
    /// In lower case.
    kind: String,
    /// Empty for an object without one.
    namespace: String,
    name: String,
    uid: String,
    /// The time of its deletion.
    since: Option<String>,
    finalizers: Vec<String>,
}

/// The kinds that `berth init` defines, in the order of their definitions.
pub(super) fn kinds() -> Vec<FleetKind> {
    let hub = Hub::of(Mode::default(), "");
    hub.definitions.into_iter().map(FleetKind::of).collect()
}

/// Names these objects with their finalizers, at most [`SHOWN`], a line for each.
pub(super) fn lines(objects: &[FleetObject]) -> String {
    let mut text = String::new();
    for object in objects.iter().take(SHOWN) {
        text.push_str(&format!("\n  {}", object.waits()));
    }
    if objects.len() > SHOWN {
        text.push_str(&format!("\n  ... and {} more", objects.len() - SHOWN));
    }
    text
}

/// Says how many objects wait, and names the one that waits longest.
pub(super) fn waiting(objects: &[FleetObject]) -> Option<String> {
    // Times of the API server are in UTC with seconds, so that they sort as texts. An object that is not deleted yet comes last.
    let oldest = objects
        .iter()
        .min_by_key(|it| (it.since.is_none(), &it.since))?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        *counts.entry(&object.kind).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    Some(format!("{} to go; {}", counts.join(", "), oldest.waits()))
}

// === impl FleetKind ===

impl FleetKind {
    fn of(definition: Value) -> Self {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array();
        let stored = versions
            .into_iter()
            .flatten()
            .find(|it| it["storage"] == true);
        Self {
            kind: text(&spec["names"]["kind"]),
            group: text(&spec["group"]),
            version: stored.map(|it| text(&it["name"])).unwrap_or_default(),
            plural: text(&spec["names"]["plural"]),
            definition,
        }
    }

    /// Returns the objects of this kind. A hub without the kind has none.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(super) async fn list(&self, hub: &HubConnection) -> Result<Vec<FleetObject>, CommandError> {
        let mut objects = Vec::new();
        let mut take = |object: Option<Value>| match object {
            Some(object) => objects.push(self.object(&object["metadata"])),
            None => objects.clear(),
        };
        let path = object_path((&self.group, &self.version, &self.plural), "", "");
        match hub.each_metadata_at(path, &mut take).await {
            Ok(()) => Ok(objects),
            Err(CommandError::NoHub { .. }) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// Deletes those of the objects that are not being deleted. Returns the ones that were.
    ///
    /// # Errors
    /// The hub refuses a deletion. What may pass, such as an overload, is left to the next look.
    pub(super) async fn delete<'a>(
        &self,
        hub: &HubConnection,
        objects: &'a [FleetObject],
        dry_run: DryRun,
    ) -> Result<Vec<&'a FleetObject>, CommandError> {
        let fresh = objects.iter().filter(|it| it.since.is_none());
        let calls = stream::iter(fresh).map(async |object| {
            let FleetObject {
                namespace, name, ..
            } = object;
            let path = object_path((&self.group, &self.version, &self.plural), namespace, name);
            match hub.remove_at(path, Some(&object.uid), dry_run).await {
                Ok(true) => Ok(Some(object)),
                Ok(false) => Ok(None),
                // A conflict: another object has its name now.
                Err(failure) if failure.is_passing() || failure.is_conflict() => Ok(None),
                Err(failure) => Err(CommandError::Refused(format!(
                    "{} cannot be deleted: {failure}. Run the command again",
                    object.title()
                ))),
            }
        });
        let deleted: Vec<_> = calls.buffered(AT_ONCE).collect().await;
        let deleted: Result<Vec<_>, _> = deleted.into_iter().collect();
        Ok(deleted?.into_iter().flatten().collect())
    }

    fn object(&self, metadata: &Value) -> FleetObject {
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
        let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        FleetObject {
            kind: self.kind.to_lowercase(),
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            since: metadata["deletionTimestamp"].as_str().map(str::to_owned),
            finalizers: finalizers
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect(),
        }
    }
}

// === impl FleetObject ===

impl FleetObject {
    /// Returns true if a component of OCM has to remove a finalizer.
    pub(super) fn is_held(&self) -> bool {
        let mut finalizers = self.finalizers.iter();
        finalizers.any(|it| it.contains(OCM))
    }

    /// Returns true if it is being deleted.
    pub(super) fn is_ending(&self) -> bool {
        self.since.is_some()
    }

    /// `kind/name`, as kubectl prints it, with the namespace.
    pub(super) fn title(&self) -> String {
        let Self {
            kind,
            namespace,
            name,
            ..
        } = self;
        match namespace.is_empty() {
            true => format!("{kind}/{name}"),
            false => format!("{kind}/{name} in namespace {namespace}"),
        }
    }

    /// Says since when it is being deleted, and for which finalizers it waits.
    fn waits(&self) -> String {
        let since = match &self.since {
            Some(since) => format!("is being deleted since {since}"),
            None => "is not being deleted yet".to_owned(),
        };
        match self.finalizers.is_empty() {
            true => format!("{} {since}", self.title()),
            false => format!(
                "{} {since}, and waits for: {}",
                self.title(),
                self.finalizers.join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, since: Option<&str>) -> FleetObject {
        FleetObject {
            kind: "managedcluster".to_owned(),
            name: name.to_owned(),
            since: since.map(str::to_owned),
            finalizers: vec!["a/b".to_owned()],
            ..FleetObject::default()
        }
    }

    #[test]
    fn kinds_are_those_of_the_definitions() {
        let kinds = kinds();
        let paths: Vec<String> = kinds
            .iter()
            .map(|it| object_path((&it.group, &it.version, &it.plural), "", ""))
            .collect();
        for path in [
            "/apis/cluster.open-cluster-management.io/v1/managedclusters",
            "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets",
            "/apis/work.open-cluster-management.io/v1/manifestworks",
            "/apis/work.open-cluster-management.io/v1alpha1/manifestworkreplicasets",
        ] {
            assert!(paths.iter().any(|it| it == path), "{path}: {paths:?}");
        }
        let metadata = json!({
            "name": "w", "namespace": "c1", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"],
        });
        let works = kinds.iter().find(|it| it.kind == "ManifestWork").unwrap();
        assert_eq!(
            works.object(&metadata).waits(),
            "manifestwork/w in namespace c1 is being deleted since 2026-01-01T00:00:00Z, and waits for: x/y"
        );
    }

    #[test]
    fn the_longest_wait_is_named_and_the_others_are_counted() {
        assert_eq!(waiting(&[]), None);
        let all = [
            object("c1", None),
            object("c2", Some("2026-01-02T00:00:00Z")),
            object("c3", Some("2026-01-01T00:00:00Z")),
        ];
        assert_eq!(
            waiting(&all).unwrap(),
            "3 managedcluster to go; managedcluster/c3 is being deleted since 2026-01-01T00:00:00Z, and waits for: a/b"
        );
        assert!(
            waiting(&all[..1])
                .unwrap()
                .contains("c1 is not being deleted yet")
        );
    }

    #[test]
    fn the_objects_that_are_named_are_bounded() {
        let many = vec![object("c", None); 25];
        let text = lines(&many);
        assert_eq!(text.lines().filter(|it| !it.is_empty()).count(), SHOWN + 1);
        assert!(text.ends_with("\n  ... and 5 more"), "{text}");
        assert_eq!(lines(&[]), "");
    }
}
