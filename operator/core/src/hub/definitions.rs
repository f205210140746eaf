//! CustomResourceDefinitions: their versions and their conversion; and the bundles of whom the API server calls.

use std::collections::BTreeMap;

use berth_manifests::{is_converted, serve_what_is_stored};
use serde_json::{Value, json};

use super::migration::keep;
use super::render::GATE;
use crate::names::DEFINITION_VERSION;
use crate::objects::{Id, Kind, Stored};
use crate::versions::is_later;

/// The webhook configuration that every hub has.
const VALIDATORS: &str = "managedclustervalidators.admission.cluster.open-cluster-management.io";

/// A definition that is converted.
const CONVERTED: &str = "clustermanagementaddons.addon.open-cluster-management.io";

/// The group of definitions of another project, which others may use, too.
pub(super) const OF_OTHERS: &str = ".multicluster.x-k8s.io";

/// A definition as it should be now; `None`: leave it as it is.
pub(super) fn definition(
    mut wanted: Value,
    stored: Option<&Stored>,
    is_rolled_out: bool,
    known: Option<&str>,
) -> Option<Value> {
    let object = stored.map(Stored::object);
    if let (Some(object), Some(stored)) = (&object, stored) {
        let is_of_others = wanted["metadata"]["name"]
            .as_str()
            .is_some_and(|it| it.ends_with(OF_OTHERS));
        let has_version = !object["metadata"]["annotations"][DEFINITION_VERSION].is_null();
        if is_later(object, &wanted) || is_of_others && !has_version {
            return None;
        }
        keep(&mut wanted, stored, is_rolled_out);
        // The gate is not there yet: whoever converts goes on.
        if !is_rolled_out && is_converted(object) {
            wanted["spec"]["conversion"] = object["spec"]["conversion"].clone();
        }
    }
    if is_converted(&wanted) {
        let calls_another = object.as_ref().is_some_and(|it| {
            let service =
                |it: &Value| service_of(&it["spec"]["conversion"]["webhook"]["clientConfig"]);
            service(it) != service(&wanted)
        });
        let stored = object
            .as_ref()
            .and_then(|it| bundle_of(&it["spec"]["conversion"]["webhook"]["clientConfig"]));
        let stored = stored.filter(|_| !calls_another);
        set(
            &mut wanted["spec"]["conversion"]["webhook"]["clientConfig"],
            stored.as_deref().or(known),
        );
    }
    Some(wanted)
}

/// Gives a webhook configuration the bundles that are stored; a new one gets the one that is known.
pub(super) fn with_bundle(guard: &mut Value, stored: Option<&Stored>, known: Option<&str>) {
    let stored = stored.map(Stored::object);
    let stored = |name: &Value| {
        let webhooks = stored.as_ref()?["webhooks"].as_array()?;
        let webhook = webhooks.iter().find(|it| it["name"] == *name)?;
        bundle_of(&webhook["clientConfig"])
    };
    for webhook in guard["webhooks"].as_array_mut().into_iter().flatten() {
        let bundle = stored(&webhook["name"]);
        set(&mut webhook["clientConfig"], bundle.as_deref().or(known));
    }
}

/// The bundle by which the gate is trusted, as the certificate keeper published it.
pub(super) fn bundle(stored: &BTreeMap<Id, Stored>) -> Option<String> {
    let object = |kind: Kind, name: &str| {
        let id = Id {
            kind,
            namespace: String::new(),
            name: name.to_owned(),
        };
        stored.get(&id).map(Stored::object)
    };
    let of_webhooks = object(Kind::ValidatingWebhooks, VALIDATORS)
        .and_then(|it| bundle_of(&it["webhooks"][0]["clientConfig"]));
    of_webhooks.or_else(|| {
        let definition = object(Kind::Definition, CONVERTED)?;
        bundle_of(&definition["spec"]["conversion"]["webhook"]["clientConfig"])
    })
}

/// Returns whether another server than the gate converts add-ons, such as OCM's on a hub with later definitions: it is still needed.
pub(super) fn converts_elsewhere(stored: &BTreeMap<Id, Stored>) -> bool {
    let definitions = stored.iter().filter(|(id, _)| id.kind == Kind::Definition);
    let converted = definitions.map(|(_, it)| it.object());
    let mut converted = converted.filter(is_converted);
    converted.any(|it| {
        let service = &it["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        service["name"] != GATE
    })
}

/// A definition for a hub without a gate. Where objects are stored in several versions, it stays as it is.
pub(super) fn without_gate(stored: &Stored) -> Option<Value> {
    let mut object = stored.object();
    if !is_converted(&object) {
        return None;
    }
    serve_what_is_stored(&mut object);
    let spec = &object["spec"];
    Some(
        json!({"spec": {"conversion": {"strategy": "None", "webhook": null}, "versions": spec["versions"]}}),
    )
}

fn service_of(client_config: &Value) -> (Value, Value) {
    let service = &client_config["service"];
    (service["namespace"].clone(), service["name"].clone())
}

fn bundle_of(client_config: &Value) -> Option<String> {
    let bundle = client_config["caBundle"].as_str()?;
    (!bundle.is_empty()).then(|| bundle.to_owned())
}

fn set(client_config: &mut Value, bundle: Option<&str>) {
    if let Some(bundle) = bundle {
        client_config["caBundle"] = json!(bundle);
    }
}
