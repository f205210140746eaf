//! The conversion of add-ons, as CustomResourceDefinitions name it: by the gate while it runs, and by nothing when it is gone.
//!
//! The version in which the API server stores objects is never changed here.

use std::io::{self, Write};

use berth_manifests::{HUB_NAMESPACE, Manifest, files, is_converted, serve_what_is_stored};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::doctor::WEBHOOK;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, title};

/// Returns true if the gate converts the objects of a definition.
pub(super) fn is_by_the_gate(definition: &Value) -> bool {
    let service = &definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
    is_converted(definition) && service["namespace"] == HUB_NAMESPACE && service["name"] == WEBHOOK
}

/// Returns true if the stored definition converts as ours, serves the versions that ours serves, and has the annotations of ours.
pub(super) fn is_as(ours: &Value, stored: &Value) -> bool {
    has(&ours["spec"]["conversion"], &stored["spec"]["conversion"])
        && has(
            &ours["metadata"]["annotations"],
            &stored["metadata"]["annotations"],
        )
        && versions(ours).all(|ours| {
            let stored = version(stored, &ours["name"]);
            stored.is_some_and(|stored| stored["served"] == ours["served"])
        })
}

/// Sets the stored version of our definition to that of the stored one.
pub(super) fn keep_storage(ours: &mut Value, stored: &Value) {
    let Some(name) = storage(stored).filter(|name| version(ours, name).is_some()) else {
        return;
    };
    for version in versions_mut(ours) {
        version["storage"] = json!(version["name"] == *name);
    }
    // Only a definition that nothing converts has a version that is not served.
    if versions(ours).any(|version| version["served"] == false) {
        serve_what_is_stored(ours);
    }
}

/// Returns the stored definition, converted as ours and with the served versions of ours. `None`: it has a version that ours lacks, and
/// that the gate cannot convert.
pub(super) fn on_top_of(ours: &Value, stored: &Value) -> Option<Value> {
    if versions(stored).any(|it| version(ours, &it["name"]).is_none()) {
        return None;
    }
    let mut object = ours.clone();
    object["spec"] = stored["spec"].clone();
    object["spec"]["conversion"] = ours["spec"]["conversion"].clone();
    for stored in versions_mut(&mut object) {
        if let Some(ours) = version(ours, &stored["name"]) {
            stored["served"] = ours["served"].clone();
        }
    }
    Some(object)
}

/// Returns the merge patch that ends the conversion of a stored definition by a webhook, and gives it the versions of `wanted`. Then only
/// the stored version is served.
///
/// # Errors
/// Objects are stored in several versions. Without a conversion the API server would return some of them without fields, and the next
/// write would drop these fields.
pub(super) fn without_webhook(wanted: &Value, stored: &Value) -> Result<Value, String> {
    let storage = storage(stored).unwrap_or_default();
    let stored_in = stored["status"]["storedVersions"].as_array();
    let stored_in: Vec<&str> = stored_in
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if stored_in.iter().any(|it| storage != *it) {
        return Err(format!(
            "objects are stored in several versions ({})",
            stored_in.join(", ")
        ));
    }
    let mut wanted = wanted.clone();
    serve_what_is_stored(&mut wanted);
    Ok(json!({
        "apiVersion": stored["apiVersion"],
        "kind": stored["kind"],
        // The patch replaces the list of versions that was read.
        "metadata": {"name": stored["metadata"]["name"], "resourceVersion": stored["metadata"]["resourceVersion"]},
        "spec": {
            "conversion": {"strategy": "None", "webhook": null},
            "versions": wanted["spec"]["versions"],
        },
    }))
}

/// Sends a patch of [`without_webhook`], and returns the definition as it is then.
///
/// # Errors
/// The hub refuses it.
pub(super) async fn end(
    hub: &HubConnection,
    patch: &Value,
    dry_run: DryRun,
) -> Result<Value, CommandError> {
    let name = patch["metadata"]["name"].as_str().unwrap_or_default();
    hub.merge::<CustomResourceDefinition>(None, name, None, patch.clone(), dry_run)
        .await
}

/// The definitions of a hub whose objects the gate converts.
pub(super) struct OfTheGate {
    /// What ends the conversion.
    patches: Vec<Value>,
    /// Definitions that keep it, and why.
    kept: Vec<(Value, String)>,
}

// === impl OfTheGate ===

impl OfTheGate {
    /// Reads them.
    ///
    /// # Errors
    /// A definition cannot be read.
    pub(super) async fn read(hub: &HubConnection) -> Result<Self, CommandError> {
        let (mut patches, mut kept) = (Vec::new(), Vec::new());
        let ours = files::ADDON_CRDS.iter().flat_map(Manifest::documents);
        for ours in ours.filter(is_converted) {
            let stored = hub.stored(&ours).await?;
            let Some(stored) = stored.filter(is_by_the_gate) else {
                continue;
            };
            match without_webhook(&stored, &stored) {
                Ok(patch) => patches.push(patch),
                Err(why) => kept.push((ours, why)),
            }
        }
        Ok(Self { patches, kept })
    }

    /// Returns true if nothing has to be changed.
    pub(super) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Ends the conversions, and prints a line for each.
    ///
    /// # Errors
    /// The hub refuses a change. Those before it are done.
    pub(super) async fn end(&self, hub: &HubConnection, dry_run: DryRun) -> anyhow::Result<()> {
        for patch in &self.patches {
            end(hub, patch, dry_run).await?;
            let version = storage(patch).and_then(Value::as_str).unwrap_or_default();
            writeln!(
                io::stdout(),
                "{} configured (without the gate, only {version} is served){}",
                title(patch),
                dry_run.suffix()
            )?;
        }
        for (definition, why) in &self.kept {
            writeln!(
                io::stderr(),
                "Note: {} still names the gate, because {why}: until Berth or OCM is installed again, each object can be read only in the \
                 version in which it is stored",
                title(definition)
            )?;
        }
        Ok(())
    }
}

/// An object to be created as a dry run, in the version in which it is not stored: the API server has it converted.
pub(super) struct Probe<'a> {
    /// Resource and group.
    pub(super) resource: (&'a str, &'a str),
    pub(super) version: &'a str,
    pub(super) namespace: Option<&'static str>,
    pub(super) object: Value,
}

// === impl Probe ===

impl<'a> Probe<'a> {
    /// `None`: all versions that are served are stored ones.
    pub(super) fn of(definition: &'a Value) -> Option<Self> {
        let spec = &definition["spec"];
        let mut others = versions(definition).filter(|it| it["storage"] != true);
        let version = others.find(|it| it["served"] == true)?["name"].as_str()?;
        let group = spec["group"].as_str()?;
        let namespace = (spec["scope"] == "Namespaced").then_some(HUB_NAMESPACE);
        let mut metadata = json!({"name": "berth-tries-the-conversion"});
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        Some(Self {
            resource: (spec["names"]["plural"].as_str()?, group),
            version,
            namespace,
            object: json!({
                "apiVersion": format!("{group}/{version}"),
                "kind": spec["names"]["kind"],
                "metadata": metadata,
                "spec": {},
            }),
        })
    }
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition["spec"]["versions"].as_array();
    versions.into_iter().flatten()
}

fn versions_mut(definition: &mut Value) -> impl Iterator<Item = &mut Value> {
    let versions = definition["spec"]["versions"].as_array_mut();
    versions.into_iter().flatten()
}

fn version<'a>(definition: &'a Value, name: &Value) -> Option<&'a Value> {
    versions(definition).find(|it| it["name"] == *name)
}

/// The name of the version in which objects are stored.
fn storage(definition: &Value) -> Option<&Value> {
    let mut versions = versions(definition);
    Some(&versions.find(|it| it["storage"] == true)?["name"])
}

/// Returns true if the stored value has all that ours has. A field that ours lacks may have any value.
fn has(ours: &Value, stored: &Value) -> bool {
    match (ours, stored) {
        (Value::Null, _) => true,
        (Value::Object(ours), stored) => ours.iter().all(|(name, it)| has(it, &stored[name])),
        (ours, stored) => ours == stored,
    }
}

#[cfg(test)]
mod tests {
    use berth_manifests::{Hub, Mode};

    use super::*;

    const KIND: &str = "ManagedClusterAddOn";

    fn of(mode: Mode) -> Value {
        let mut definitions = Hub::of(mode, "").definitions.into_iter();
        definitions
            .find(|it| it["spec"]["names"]["kind"] == KIND)
            .unwrap()
    }

    fn stored(change: impl FnOnce(&mut Value)) -> Value {
        let mut stored = of(Mode::Webhooks);
        stored["metadata"]["resourceVersion"] = json!("7");
        stored["status"]["storedVersions"] = json!(["v1alpha1"]);
        let webhook = &mut stored["spec"]["conversion"]["webhook"];
        webhook["clientConfig"]["caBundle"] = json!("eA==");
        change(&mut stored);
        stored
    }

    /// Name, served, stored.
    fn shown(definition: &Value) -> Vec<(&str, bool, bool)> {
        let is = |value: &Value| value == true;
        versions(definition)
            .map(|it| {
                (
                    it["name"].as_str().unwrap(),
                    is(&it["served"]),
                    is(&it["storage"]),
                )
            })
            .collect()
    }

    fn of_ocm(definition: &mut Value) {
        let webhook = &mut definition["spec"]["conversion"]["webhook"];
        webhook["clientConfig"]["service"]["name"] = json!("cluster-manager-addon-webhook");
    }

    #[test]
    fn a_definition_is_as_ours_if_it_converts_and_serves_as_ours() {
        type Change = fn(&mut Value);
        let table: [(&str, Mode, Change, bool); 6] = [
            ("as it is shipped, with a CA", Mode::Webhooks, |_| {}, true),
            ("of OCM", Mode::Webhooks, of_ocm, false),
            (
                "one version is not served",
                Mode::Webhooks,
                |it| it["spec"]["versions"][1]["served"] = json!(false),
                false,
            ),
            (
                "not converted",
                Mode::Webhooks,
                |it| it["spec"]["conversion"] = json!({"strategy": "None"}),
                false,
            ),
            ("converted, without a gate", Mode::Policies, |_| {}, false),
            (
                "not converted, without a gate",
                Mode::Policies,
                serve_what_is_stored,
                true,
            ),
        ];
        for (sentence, mode, change, expected) in table {
            assert_eq!(is_as(&of(mode), &stored(change)), expected, "{sentence}");
        }
        let mut annotated = of(Mode::Webhooks);
        annotated["metadata"]["annotations"]["a"] = json!("b");
        assert!(!is_as(&annotated, &stored(|_| {})), "without an annotation");
    }

    #[test]
    fn the_stored_version_stays() {
        let other = stored(|it| {
            it["spec"]["versions"][0]["storage"] = json!(false);
            it["spec"]["versions"][1]["storage"] = json!(true);
        });
        for (mode, expected) in [
            (
                Mode::Webhooks,
                [("v1alpha1", true, false), ("v1beta1", true, true)],
            ),
            (
                Mode::Policies,
                [("v1alpha1", false, false), ("v1beta1", true, true)],
            ),
        ] {
            let mut ours = of(mode);
            keep_storage(&mut ours, &other);
            assert_eq!(shown(&ours), expected, "{mode:?}");
        }
        let unknown = stored(|it| it["spec"]["versions"][0]["name"] = json!("v2"));
        let mut ours = of(Mode::Webhooks);
        keep_storage(&mut ours, &unknown);
        assert_eq!(ours, of(Mode::Webhooks));
    }

    #[test]
    fn a_newer_definition_keeps_its_schema_and_gets_our_conversion() {
        let newer = stored(|it| {
            of_ocm(it);
            it["spec"]["versions"][0]["schema"]["more"] = json!(true);
            it["spec"]["versions"][1]["served"] = json!(false);
        });
        let made = on_top_of(&of(Mode::Webhooks), &newer).unwrap();
        assert!(is_as(&of(Mode::Webhooks), &made) && is_by_the_gate(&made));
        assert_eq!(made["spec"]["versions"][0]["schema"]["more"], true);
        let unknown = stored(|it| it["spec"]["versions"][1]["name"] = json!("v2"));
        assert_eq!(on_top_of(&of(Mode::Webhooks), &unknown), None);
    }

    #[test]
    fn a_conversion_ends_where_all_objects_are_stored_in_one_version() {
        let stored_in = |names: Value| stored(|it| it["status"]["storedVersions"] = names);
        let one = stored_in(json!(["v1alpha1"]));
        let patch = without_webhook(&one, &one).unwrap();
        assert_eq!(
            shown(&patch),
            [("v1alpha1", true, true), ("v1beta1", false, false)]
        );
        assert_eq!(
            patch["spec"]["conversion"],
            json!({"strategy": "None", "webhook": null})
        );
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let several = stored_in(json!(["v1alpha1", "v1beta1"]));
        assert_eq!(
            without_webhook(&several, &several).unwrap_err(),
            "objects are stored in several versions (v1alpha1, v1beta1)"
        );
    }

    #[test]
    fn a_probe_is_an_object_in_the_version_that_is_not_stored() {
        let stored = stored(|_| {});
        let probe = Probe::of(&stored).unwrap();
        assert_eq!(probe.version, "v1beta1");
        assert_eq!(
            probe.object["apiVersion"],
            "addon.open-cluster-management.io/v1beta1"
        );
        assert_eq!(probe.namespace, Some(HUB_NAMESPACE));
        assert!(Probe::of(&of(Mode::Policies)).is_none());
    }

    #[test]
    fn only_a_conversion_that_names_the_gates_service_is_by_the_gate() {
        assert!(is_by_the_gate(&stored(|_| {})));
        assert!(!is_by_the_gate(&stored(of_ocm)));
        assert!(!is_by_the_gate(&of(Mode::Policies)));
    }
}
