//! What of a ManifestWork is not on its cluster as prescribed, by its status.

use berth_api::conditions::{FALSE, TRUE, UNKNOWN, condition_of, manifest, manifest_work};
use berth_api::work::{ManifestResourceMeta, ManifestWork};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

/// An object that is not as prescribed, or a whole ManifestWork that was not reported.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The cluster.
    pub cluster: String,
    /// The name of the ManifestWork.
    pub work: String,
    /// `None`: all objects of the ManifestWork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<DifferingObject>,
    /// How it differs.
    pub state: DifferenceState,
    /// What the agent reported.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An object of a ManifestWork.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DifferingObject {
    group: String,
    version: String,
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
}

/// How an object differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum DifferenceState {
    /// It has other fields than its manifest.
    Drifted,
    /// It does not exist.
    Missing,
    /// The manifest could not be applied.
    NotApplied,
    /// The agent could not find out.
    Unknown,
    /// The agent has not reported this generation of the ManifestWork.
    NotReported,
}

/// Returns what differs. A ManifestWork that is being deleted prescribes nothing.
pub(crate) fn of(work: &ManifestWork) -> Vec<Difference> {
    if work.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let difference = |object, state, message: &str| Difference {
        cluster: work.metadata.namespace.clone().unwrap_or_default(),
        work: work.metadata.name.clone().unwrap_or_default(),
        object,
        state,
        message: message.to_owned(),
    };
    let status = work.status.as_ref();
    let reported = status
        .and_then(|it| condition_of(&it.conditions, manifest_work::APPLIED))
        .map(|it| it.observed_generation);
    let mut differences = Vec::new();
    match (reported, work.metadata.generation) {
        (None, _) => {
            differences.push(difference(
                None,
                DifferenceState::NotReported,
                "no status was reported yet",
            ));
        }
        (Some(Some(seen)), Some(generation)) if seen != generation => {
            let why = format!("generation {seen} was reported, generation {generation} was not");
            differences.push(difference(None, DifferenceState::NotReported, &why));
        }
        _ => {}
    }
    let manifests = status
        .into_iter()
        .flat_map(|it| &it.resource_status.manifests);
    for manifest in manifests {
        for (state, message) in states(&manifest.conditions) {
            differences.push(difference(
                Some((&manifest.resource_meta).into()),
                state,
                message,
            ));
        }
    }
    differences
}

/// An object that could not be applied may exist and differ, too. One that does not exist is missing, whatever else is said of it.
fn states(conditions: &[Condition]) -> Vec<(DifferenceState, &str)> {
    let is = |type_, status| condition_of(conditions, type_).filter(|it| it.status == status);
    let mut states = Vec::new();
    if let Some(failed) = is(manifest::APPLIED, FALSE) {
        states.push((DifferenceState::NotApplied, failed.message.as_str()));
    }
    if is(manifest::AVAILABLE, FALSE).is_some() {
        states.push((DifferenceState::Missing, ""));
    } else if let Some(unknown) = is(manifest::AVAILABLE, UNKNOWN) {
        states.push((DifferenceState::Unknown, &unknown.message));
    } else if let Some(drifted) = is(manifest_work::DRIFTED, TRUE) {
        states.push((DifferenceState::Drifted, &drifted.message));
    }
    states
}

// === impl DifferenceState ===

impl DifferenceState {
    /// The state in a word, as the command prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drifted => "Drifted",
            Self::Missing => "Missing",
            Self::NotApplied => "NotApplied",
            Self::Unknown => "Unknown",
            Self::NotReported => "NotReported",
        }
    }
}

// === impl DifferingObject ===

impl DifferingObject {
    /// As kubectl names it, with its namespace before its name.
    pub fn title(&self) -> String {
        let Self {
            namespace, name, ..
        } = self;
        let slash = if namespace.is_empty() { "" } else { "/" };
        format!("{} {namespace}{slash}{name}", self.kind())
    }

    /// Its kind, as kubectl names it.
    pub fn kind(&self) -> String {
        let Self {
            group,
            kind,
            resource,
            ..
        } = self;
        // Of a kind that the cluster does not know, there is no resource.
        let kind = if resource.is_empty() { kind } else { resource };
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}")
    }
}

impl From<&ManifestResourceMeta> for DifferingObject {
    fn from(meta: &ManifestResourceMeta) -> Self {
        Self {
            group: meta.group.clone(),
            version: meta.version.clone(),
            kind: meta.kind.clone(),
            resource: meta.resource.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn condition(type_: &str, status: &str, message: &str) -> Value {
        json!({
            "type": type_, "status": status, "reason": "R", "message": message, "observedGeneration": 3,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    fn work(manifests: &[Vec<Value>]) -> ManifestWork {
        let manifests: Vec<_> = manifests
            .iter()
            .map(|conditions| {
                let meta = json!({"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments", "namespace": "shop", "name": "web"});
                json!({"resourceMeta": meta, "conditions": conditions})
            })
            .collect();
        let work = json!({
            "metadata": {"name": "w", "namespace": "c1", "generation": 3},
            "status": {"conditions": [condition("Applied", "True", "")], "resourceStatus": {"manifests": manifests}},
        });
        serde_json::from_value(work).unwrap()
    }

    fn said(work: &ManifestWork) -> Vec<String> {
        let differences = of(work);
        let said = differences.iter().map(|it| {
            let object = it
                .object
                .as_ref()
                .map(DifferingObject::title)
                .unwrap_or_default();
            format!("{object}: {} {}", it.state.name(), it.message)
        });
        said.collect()
    }

    #[test]
    fn each_state_of_an_object_is_told_from_its_conditions() {
        let ok = [
            condition("Applied", "True", ""),
            condition("Available", "True", ""),
        ];
        let rows: [(&str, Vec<Value>, &[&str]); 7] = [
            ("as prescribed", ok.to_vec(), &[]),
            (
                "as prescribed, and compared",
                [&ok[..], &[condition("Drifted", "False", "same")]].concat(),
                &[],
            ),
            (
                "with another field",
                [
                    &ok[..],
                    &[condition("Drifted", "True", ".spec.replicas: 3, is 5")],
                ]
                .concat(),
                &["deployments.apps shop/web: Drifted .spec.replicas: 3, is 5"],
            ),
            (
                "missing",
                vec![
                    condition("Applied", "True", ""),
                    condition("Available", "False", "gone"),
                    condition("Drifted", "True", "old"),
                ],
                &["deployments.apps shop/web: Missing "],
            ),
            (
                "refused",
                vec![
                    condition("Applied", "False", "Failed to apply manifest: no"),
                    condition("Available", "True", ""),
                ],
                &["deployments.apps shop/web: NotApplied Failed to apply manifest: no"],
            ),
            (
                "refused and missing",
                vec![
                    condition("Applied", "False", "no"),
                    condition("Available", "False", ""),
                ],
                &[
                    "deployments.apps shop/web: NotApplied no",
                    "deployments.apps shop/web: Missing ",
                ],
            ),
            (
                "not found out",
                vec![
                    condition("Applied", "True", ""),
                    condition("Available", "Unknown", "Failed to fetch resource: x"),
                ],
                &["deployments.apps shop/web: Unknown Failed to fetch resource: x"],
            ),
        ];
        for (name, conditions, expected) in rows {
            assert_eq!(said(&work(&[conditions])), expected, "{name}");
        }
    }

    #[test]
    fn a_work_that_was_not_reported_is_told_and_one_that_is_deleted_is_not() {
        let mut it = work(&[]);
        assert_eq!(said(&it), [""; 0]);
        it.metadata.generation = Some(4);
        assert_eq!(
            said(&it),
            [": NotReported generation 3 was reported, generation 4 was not"]
        );
        it.status = None;
        assert_eq!(said(&it), [": NotReported no status was reported yet"]);
        it.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(said(&it), [""; 0]);
    }
}
