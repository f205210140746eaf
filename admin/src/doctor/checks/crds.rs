//! The CRDs: they exist, are established, and have the fields that Berth reads and writes. OCM's own CRDs pass as well.

use std::collections::BTreeSet;

use berth_manifests::{Manifest, files, is_converted};
use berth_rules::display::first_of;
use serde_json::Value;

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};

const CHECK: Check = Check::Crds;

/// Kinds that a hub has or lacks together.
pub(crate) struct Part {
    crds: &'static [Manifest],
    remedy: &'static str,
    /// What a hub without these kinds lacks. `None`: every hub has them.
    without: Option<&'static str>,
}

const CORE: Part = Part {
    crds: &files::CRDS,
    remedy: "kubectl apply -k manifests/crds",
    without: None,
};
pub(crate) const PLACEMENT: Part = Part {
    crds: &files::PLACEMENT_CRDS,
    remedy: "kubectl apply -k manifests/crds/placement",
    without: Some("placements"),
};
pub(crate) const WORK: Part = Part {
    crds: &files::WORK_CRDS,
    remedy: "kubectl apply -k manifests/crds/work",
    without: Some("works"),
};

pub(crate) const ADDONS: Part = Part {
    crds: &files::ADDON_CRDS,
    remedy: "kubectl apply -k manifests/crds/addons",
    without: Some("add-ons"),
};

/// The parts of a hub.
const PARTS: [Part; 4] = [CORE, PLACEMENT, WORK, ADDONS];

/// The fields that gate, controllers and agents need: without them in the schema, the hub drops their values. A schema that lacks other
/// fields is older, and works.
const NEEDED: [&str; 24] = [
    "spec.hubAcceptsClient",
    "spec.leaseDurationSeconds",
    "spec.managedClusterClientConfigs",
    "spec.managedClusterClientConfigs[].url",
    "spec.managedClusterClientConfigs[].caBundle",
    "spec.taints",
    "spec.taints[].key",
    "spec.taints[].effect",
    "spec.clusterSelector",
    "spec.clusterSelector.selectorType",
    "spec.clusterSet",
    "status.conditions",
    "spec.clusterSets",
    "spec.numberOfClusters",
    "spec.predicates",
    "status.decisions",
    "status.decisions[].clusterName",
    "status.scores",
    "spec.workload.manifests",
    "spec.deleteOption",
    "spec.executor",
    "spec.manifestConfigs",
    "status.resourceStatus",
    "spec.manifestWorkTemplate",
];

/// Returns the shipped CRDs of a hub. A test keeps them equal to those that are generated from the types.
pub(crate) fn expected() -> Vec<Value> {
    PARTS.iter().flat_map(Part::documents).collect()
}

/// Returns the name of a CRD, such as `managedclusters.cluster.open-cluster-management.io`.
pub(crate) fn name(crd: &Value) -> String {
    crd["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let parts = PARTS.iter().flat_map(|part| part.check(facts));
    parts.collect()
}

// === impl Part ===

impl Part {
    fn documents(&self) -> impl Iterator<Item = Value> {
        self.crds.iter().flat_map(Manifest::documents)
    }

    /// Returns whether any of the CRDs exists, or may exist.
    pub(crate) fn exists(&self, facts: &Facts) -> bool {
        let mut found = self
            .documents()
            .filter_map(|crd| facts.crds.get(&name(&crd)));
        found.any(|found| *found != Ok(None))
    }

    fn check(&self, facts: &Facts) -> Vec<Finding> {
        let lacks = self.without.filter(|_| !self.exists(facts));
        let mut findings = Vec::new();
        for crd in self.documents() {
            let name = name(&crd);
            let found = match (facts.crds.get(&name), lacks) {
                (Some(Ok(Some(stored))), _) => compare(&crd, stored, self.remedy),
                (Some(Ok(None)), None) => vec![
                    CHECK
                        .fault("it does not exist: the hub does not know the kind")
                        .remedy(self.remedy),
                ],
                (Some(Ok(None)), Some(lacks)) => vec![
                    CHECK
                        .note(format!("it does not exist: the hub has no {lacks}"))
                        .remedy(self.remedy),
                ],
                (Some(Err(unread)), _) => vec![CHECK.unknown("whether it exists", unread)],
                (None, _) => Vec::new(),
            };
            let object = || FindingObject::new("customresourcedefinition", &name);
            findings.extend(found.into_iter().map(|finding| finding.of(object())));
        }
        findings
    }
}

/// Compares a stored CRD with ours.
fn compare(ours: &Value, stored: &Value, remedy: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let fault = |message: String| CHECK.fault(message).remedy(remedy);
    for (condition, means) in [
        (
            "NamesAccepted",
            "another kind has its names: delete that kind",
        ),
        ("Established", "the hub does not serve the kind"),
    ] {
        let found = stored["status"]["conditions"]
            .as_array()
            .and_then(|all| all.iter().find(|it| it["type"] == condition));
        if found.is_none_or(|it| it["status"] != "True") {
            let says = found.and_then(|it| it["message"].as_str());
            let says = says.map_or_else(String::new, |says| format!(" ({says:?})"));
            let remedy = format!(
                "kubectl describe crd {}",
                ours["metadata"]["name"].as_str().unwrap_or_default()
            );
            let message = format!("it is not {condition}: {means}{says}");
            findings.push(CHECK.fault(message).remedy(remedy));
            return findings;
        }
    }
    for path in ["/spec/scope", "/spec/names/kind", "/spec/names/plural"] {
        let (ours, stored) = (ours.pointer(path), stored.pointer(path));
        if ours != stored {
            findings.push(fault(format!(
                "{} is {}, not {}",
                path.trim_start_matches('/').replace('/', "."),
                shown(stored),
                shown(ours)
            )));
        }
    }
    let none = Vec::new();
    let version = &ours["spec"]["versions"][0];
    let wanted = version["name"].as_str().unwrap_or_default();
    let versions = stored["spec"]["versions"].as_array().unwrap_or(&none);
    let is_served = |it: &&Value| it["served"] == true;
    let served: Vec<&str> = versions
        .iter()
        .filter(is_served)
        .filter_map(|it| it["name"].as_str())
        .collect();
    let Some(found) = versions
        .iter()
        .filter(is_served)
        .find(|it| it["name"] == wanted)
    else {
        findings.push(fault(format!(
            "version {wanted} is not served; those that are: {}",
            if served.is_empty() {
                "none".to_owned()
            } else {
                served.join(", ")
            }
        )));
        return findings;
    };
    if found["storage"] != true {
        findings.push(CHECK.note(format!("objects are not stored as version {wanted}")));
    }
    let of_ours = |name: &str| {
        let ours = ours["spec"]["versions"].as_array().unwrap_or(&none);
        ours.iter().find(|it| it["name"] == name)
    };
    let others: Vec<&str> = served
        .iter()
        .copied()
        .filter(|name| of_ours(name).is_none())
        .collect();
    if !others.is_empty() {
        findings.push(CHECK.note(format!("it also serves {}", others.join(", "))));
    }
    findings.extend(conversion(ours, stored, &served, remedy));
    if found["subresources"]["status"].is_null() && !version["subresources"]["status"].is_null() {
        findings.push(fault(
            "it has no subresource status: users who may write an object may also write its status, and the hub cannot"
                .to_owned(),
        ));
    }
    for found in versions.iter().filter(is_served) {
        let Some(version) = found["name"].as_str().and_then(of_ours) else {
            continue;
        };
        let differences = compare_schemas(
            &version["schema"]["openAPIV3Schema"],
            &found["schema"]["openAPIV3Schema"],
            remedy,
        );
        for finding in differences {
            // Most fields are those of all versions.
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// What converts the objects. Other checks look at the webhook and its certificate.
fn conversion(ours: &Value, stored: &Value, served: &[&str], remedy: &str) -> Option<Finding> {
    if !is_converted(ours) || is_converted(stored) {
        return None;
    }
    Some(match served {
        [] | [_] => CHECK.note(format!(
            "nothing converts its objects, so only {} is served",
            served.join(", ")
        )),
        _ => CHECK
            .fault(format!(
                "nothing converts its objects, and {} are served: a write in one version drops fields of another",
                served.join(", ")
            ))
            .remedy(remedy),
    })
}

/// How a stored CustomResourceDefinition stands to ours, for an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// It has all that ours has, and nothing more.
    Complete,
    /// Ours has more, and drops nothing.
    Older,
    /// It stays as it is, and why: Berth works with it, and ours would drop something.
    Kept(String),
    /// Berth does not work with it, and ours would drop something.
    Refused(String),
}

/// Compares a stored CustomResourceDefinition with ours. Nothing that has more than ours is ever replaced: objects would lose fields.
pub(crate) fn compare_definitions(ours: &Value, stored: &Value) -> Stands {
    let none = Vec::new();
    let versions = |crd: &'_ Value| crd["spec"]["versions"].as_array().cloned();
    let (our_versions, their_versions) = (versions(ours), versions(stored));
    let named = |versions: &Option<Vec<Value>>, name: &Value| -> Option<Value> {
        let mut all = versions.iter().flatten();
        all.find(|it| it["name"] == *name).cloned()
    };
    let mut more = BTreeSet::new();
    let mut lacking = Vec::new();
    for version in their_versions.iter().flatten() {
        if named(&our_versions, &version["name"]).is_none() {
            more.insert(format!("version {}", shown(version.get("name"))));
        }
    }
    let stored_as = stored["status"]["storedVersions"].as_array();
    for name in stored_as.unwrap_or(&none) {
        if named(&our_versions, name).is_none() {
            more.insert(format!("objects stored as version {}", shown(Some(name))));
        }
    }
    for version in our_versions.iter().flatten() {
        let Some(theirs) = named(&their_versions, &version["name"]) else {
            lacking.push(format!("version {}", shown(version.get("name"))));
            continue;
        };
        let mut difference = Difference::default();
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        difference.compare(&schema(version), &schema(&theirs), "");
        lacking.extend(difference.lacking);
        let changed = difference.types.into_iter();
        lacking.extend(
            changed.map(|(path, ours, stored)| format!("{path} as {ours} (it is {stored})")),
        );
        more.extend(difference.more);
    }
    if lacking.is_empty() && more.is_empty() {
        return Stands::Complete;
    }
    if more.is_empty() {
        return Stands::Older;
    }
    let more: Vec<String> = more.into_iter().collect();
    let is_needed = |path: &&String| NEEDED.contains(&path.as_str()) || path.contains(' ');
    let needed: Vec<&String> = lacking.iter().filter(is_needed).collect();
    if needed.is_empty() {
        return Stands::Kept(format!(
            "it is newer, and also has {}",
            first_of(&more, ", ")
        ));
    }
    Stands::Refused(format!(
        "the CustomResourceDefinition lacks {}, and has {}, which this version of Berth does not know",
        first_of(needed, ", "),
        first_of(&more, ", ")
    ))
}

fn compare_schemas(ours: &Value, stored: &Value, remedy: &str) -> Vec<Finding> {
    let mut difference = Difference::default();
    difference.compare(ours, stored, "");
    let mut findings = Vec::new();
    let (needed, lacking): (Vec<_>, Vec<_>) = difference
        .lacking
        .into_iter()
        .partition(|path| NEEDED.contains(&path.as_str()));
    for path in needed {
        let message = format!("its schema lacks {path}: the hub drops values of this field");
        findings.push(CHECK.fault(message).remedy(remedy));
    }
    for (path, ours, stored) in difference.types {
        let message = format!("in its schema {path} is of type {stored}, not {ours}");
        findings.push(CHECK.fault(message).remedy(remedy));
    }
    if !lacking.is_empty() {
        findings.push(CHECK.note(format!(
            "it is an older version, which works: its schema lacks {}",
            lacking.join(", ")
        )));
    }
    if !difference.more.is_empty() {
        let more: Vec<String> = difference.more.into_iter().collect();
        findings.push(CHECK.note(format!(
            "it is a newer version, which works: its schema also has {}",
            more.join(", ")
        )));
    }
    findings
}

/// The fields in which two schemas differ.
#[derive(Default)]
struct Difference {
    lacking: Vec<String>,
    more: BTreeSet<String>,
    /// Path, type in our schema, type in the stored schema.
    types: Vec<(String, String, String)>,
}

impl Difference {
    fn compare(&mut self, ours: &Value, stored: &Value, path: &str) {
        let (our_type, type_) = (&ours["type"], &stored["type"]);
        if our_type.is_string() && type_.is_string() && our_type != type_ {
            let (ours, stored) = (shown(Some(our_type)), shown(Some(type_)));
            self.types.push((path.to_owned(), ours, stored));
            return;
        }
        if ours["items"].is_object() && stored["items"].is_object() {
            self.compare(&ours["items"], &stored["items"], &format!("{path}[]"));
        }
        let empty = serde_json::Map::new();
        let properties =
            |schema: &'_ Value| schema["properties"].as_object().unwrap_or(&empty).clone();
        let (ours, theirs) = (properties(ours), properties(stored));
        let keeps_all = stored["x-kubernetes-preserve-unknown-fields"] == true;
        let join = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        for (name, schema) in &ours {
            match theirs.get(name) {
                Some(stored) => self.compare(schema, stored, &join(name)),
                None if keeps_all => {}
                None => self.lack(schema, &join(name)),
            }
        }
        let more = theirs.keys().filter(|name| !ours.contains_key(*name));
        self.more.extend(more.map(|name| join(name)));
    }

    /// Adds the needed fields below a missing field, or else the field itself.
    fn lack(&mut self, schema: &Value, path: &str) {
        if NEEDED.contains(&path) {
            self.lacking.push(path.to_owned());
            return;
        }
        let before = self.lacking.len();
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            self.lack(below, &format!("{path}.{name}"));
        }
        if !self.lacking[before..]
            .iter()
            .any(|path| NEEDED.contains(&path.as_str()))
        {
            self.lacking.truncate(before);
            self.lacking.push(path.to_owned());
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => format!("{text:?}"),
        Some(value) => value.to_string(),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{told, with};

    fn managed_cluster() -> Value {
        files::CRD_CLUSTERS.documents().remove(0)
    }

    fn stored(change: impl Fn(&mut Value)) -> Value {
        let mut stored = managed_cluster();
        stored["status"]["conditions"] = json!([
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": "True"},
        ]);
        change(&mut stored);
        stored
    }

    fn properties(crd: &mut Value) -> &mut Value {
        &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    }

    #[test]
    fn a_crd_is_compared_with_ours() {
        // (sentence, what is done to it, what is found)
        type Change = fn(&mut Value);
        let table: [(&str, Change, &[&str]); 12] = [
            ("as it is shipped", |_| {}, &[]),
            (
                "not established",
                |crd| crd["status"]["conditions"][1]["status"] = json!("False"),
                &["fault: it is not Established"],
            ),
            (
                "no status at all",
                |crd| crd["status"] = Value::Null,
                &["fault: it is not NamesAccepted"],
            ),
            (
                "the version is not served",
                |crd| crd["spec"]["versions"][0]["served"] = json!(false),
                &["fault: version v1 is not served; those that are: none"],
            ),
            (
                "another version only",
                |crd| crd["spec"]["versions"][0]["name"] = json!("v2"),
                &["fault: version v1 is not served; those that are: v2"],
            ),
            (
                "another version, too",
                |crd| {
                    let mut other = crd["spec"]["versions"][0].clone();
                    other["name"] = json!("v2");
                    other["storage"] = json!(false);
                    crd["spec"]["versions"].as_array_mut().unwrap().push(other);
                },
                &["note: it also serves v2"],
            ),
            (
                "of another scope",
                |crd| crd["spec"]["scope"] = json!("Namespaced"),
                &["fault: spec.scope is \"Namespaced\", not \"Cluster\""],
            ),
            (
                "no status subresource",
                |crd| crd["spec"]["versions"][0]["subresources"] = json!({}),
                &["fault: it has no subresource status"],
            ),
            (
                "without taints",
                |crd| {
                    let spec = properties(crd)["spec"]["properties"].as_object_mut();
                    spec.unwrap().remove("taints");
                },
                &["fault: its schema lacks spec.taints: the hub drops"],
            ),
            (
                "without taints, but it keeps everything",
                |crd| {
                    let spec = &mut properties(crd)["spec"];
                    spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
                    spec["properties"].as_object_mut().unwrap().remove("taints");
                },
                &[],
            ),
            (
                "older, and newer",
                |crd| {
                    let status = properties(crd)["status"]["properties"].as_object_mut();
                    let status = status.unwrap();
                    status.remove("managedNamespaces");
                    status.insert("phase".to_owned(), json!({"type": "string"}));
                },
                &[
                    "note: it is an older version, which works: its schema lacks status.managedNamespaces",
                    "note: it is a newer version, which works: its schema also has status.phase",
                ],
            ),
            (
                "a field of another type",
                |crd| {
                    properties(crd)["spec"]["properties"]["hubAcceptsClient"]["type"] =
                        json!("string");
                },
                &[
                    "fault: in its schema spec.hubAcceptsClient is of type \"string\", not \"boolean\"",
                ],
            ),
        ];
        for (sentence, change, expected) in table {
            let findings = compare(&managed_cluster(), &stored(change), CORE.remedy);
            assert_eq!(told(&findings, expected), expected, "{sentence}");
        }
    }

    #[test]
    fn two_versions_are_served_only_if_they_are_converted() {
        let ours = files::CRD_MANAGED_CLUSTER_ADDONS.documents().remove(0);
        let of = |change: fn(&mut Value)| {
            let mut crd = ours.clone();
            crd["status"] = stored(|_| {})["status"].clone();
            change(&mut crd);
            compare(&ours, &crd, ADDONS.remedy)
        };
        for (sentence, change, expected) in [
            ("as it is shipped", (|_| {}) as fn(&mut Value), &[][..]),
            (
                "without a gate",
                berth_manifests::serve_what_is_stored,
                &["note: nothing converts its objects, so only v1alpha1 is served"],
            ),
            (
                "without a conversion",
                |crd| crd["spec"]["conversion"] = json!({"strategy": "None"}),
                &[
                    "fault: nothing converts its objects, and v1alpha1, v1beta1 are served: a write in one version drops fields of another",
                ],
            ),
        ] {
            assert_eq!(told(&of(change), expected), expected, "{sentence}");
        }
    }

    #[test]
    fn nothing_that_has_more_than_ours_is_replaced() {
        let ours = managed_cluster();
        let without = |crd: &mut Value, field: &str| {
            let spec = properties(crd)["spec"]["properties"].as_object_mut();
            spec.unwrap().remove(field);
        };
        let with_phase = |crd: &mut Value| {
            properties(crd)["status"]["properties"]["phase"] = json!({"type": "string"});
        };
        assert_eq!(compare_definitions(&ours, &ours), Stands::Complete);
        let older = stored(|crd| without(crd, "taints"));
        assert_eq!(compare_definitions(&ours, &older), Stands::Older);
        let newer = stored(with_phase);
        let words = "it is newer, and also has status.phase".to_owned();
        assert_eq!(compare_definitions(&ours, &newer), Stands::Kept(words));
        let both = stored(|crd| {
            without(crd, "taints");
            with_phase(crd);
        });
        let Stands::Refused(why) = compare_definitions(&ours, &both) else {
            panic!("its objects would lose a field");
        };
        assert!(why.contains("lacks spec.taints"), "{why}");
        let stored_as = stored(|crd| crd["status"]["storedVersions"] = json!(["v1", "v2"]));
        let Stands::Kept(why) = compare_definitions(&ours, &stored_as) else {
            panic!("its objects could no longer be read");
        };
        assert_eq!(
            why,
            "it is newer, and also has objects stored as version \"v2\""
        );
    }

    #[test]
    fn one_that_is_not_there_is_a_fault_with_its_name() {
        let missing = name(&managed_cluster());
        let facts = with(|facts| drop(facts.crds.insert(missing.clone(), Ok(None))));
        let findings = check(&facts);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(
            findings[0].object,
            Some(FindingObject::new("customresourcedefinition", missing))
        );
        assert_eq!(findings[0].remedy.as_deref(), Some(CORE.remedy));
    }

    #[test]
    fn a_hub_may_lack_all_kinds_of_a_part_but_not_some() {
        for part in [PLACEMENT, WORK, ADDONS] {
            let all: Vec<_> = part.documents().map(|crd| name(&crd)).collect();
            let without = |names: &[String]| {
                check(&with(|facts| {
                    for name in names {
                        facts.crds.insert(name.clone(), Ok(None));
                    }
                }))
            };
            let lacks = part.without.unwrap();
            let note = format!("note: it does not exist: the hub has no {lacks}");
            let expected = vec![note.as_str(); all.len()];
            assert_eq!(told(&without(&all), &expected), expected);
            let findings = without(&all[1..]);
            let fault = "fault: it does not exist: the hub does not know the kind";
            let expected = vec![fault; all.len() - 1];
            assert_eq!(told(&findings, &expected), expected);
            assert_eq!(findings[0].remedy.as_deref(), Some(part.remedy));
        }
    }

    #[test]
    fn every_needed_field_is_one_of_the_types() {
        let mut all = Difference::default();
        for ours in expected() {
            all.compare(
                &json!({}),
                &ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
                "",
            );
            let schema = &ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            fields(schema, "", &mut all.more);
        }
        for path in NEEDED {
            assert!(all.more.contains(path), "{path}");
        }
    }

    fn fields(schema: &Value, path: &str, all: &mut BTreeSet<String>) {
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            fields(below, &path, all);
            fields(&below["items"], &format!("{path}[]"), all);
            all.insert(path);
        }
    }
}
