//! Rows of the tables of conversions, invalid objects, reviews, and laws.

mod laws;
mod reviews;

use serde_json::{Value, json};

use super::{Fault, Kind, Version, convert};

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// An object of this version, with these parts.
fn object(kind: Kind, version: Version, parts: &Value) -> Value {
    let mut object = json!({"kind": kind.as_str(), "apiVersion": version.api_version()});
    let metadata = match kind {
        Kind::ClusterManagementAddOn => json!({"name": "proxy", "uid": "u"}),
        Kind::ManagedClusterAddOn => json!({"name": "proxy", "namespace": "c1", "uid": "u"}),
    };
    object["metadata"] = metadata;
    for (name, part) in parts.as_object().into_iter().flatten() {
        match (object[name].as_object_mut(), part) {
            (Some(fields), Value::Object(part)) => fields.extend(part.clone()),
            _ => object[name] = part.clone(),
        }
    }
    object
}

fn converted(object: &Value, to: Version) -> Value {
    let (_, json) = convert(&object.to_string(), to).unwrap_or_else(|fault| panic!("{fault}"));
    serde_json::from_str(&json).expect("it is JSON")
}

fn fault(object: &Value, to: Version) -> String {
    let fault: Fault = convert(&object.to_string(), to).expect_err("it cannot be converted");
    fault.to_string()
}

/// A row: a sentence, a part of an object in v1alpha1, and the same in v1beta1.
type Row = (&'static str, Value, Value);

/// Rows that hold in both directions.
fn equal_rows() -> Vec<(Kind, Row)> {
    let of = |kind| move |row| (kind, row);
    let definitions = [
        (
            "a config without a default",
            json!({"spec": {"supportedConfigs": [{"group": "g", "resource": "r"}]}}),
            json!({"spec": {"defaultConfigs": [{"group": "g", "resource": "r", "name": "__reserved_no_default__"}]}}),
        ),
        (
            "a config with a default",
            json!({"spec": {"supportedConfigs": [
                {"group": "g", "resource": "r", "defaultConfig": {"namespace": "n", "name": "d"}},
                {"group": "", "resource": "s", "defaultConfig": {"name": "e"}},
            ]}}),
            json!({"spec": {"defaultConfigs": [
                {"group": "g", "resource": "r", "namespace": "n", "name": "d"},
                {"group": "", "resource": "s", "name": "e"},
            ]}}),
        ),
        (
            "an empty list",
            json!({"spec": {"supportedConfigs": []}}),
            json!({"spec": {"defaultConfigs": []}}),
        ),
        (
            "the name of a list in the status",
            json!({"status": {"defaultconfigReferences": [{"resource": "r", "desiredConfig": {"name": "d", "specHash": "h"}}]}}),
            json!({"status": {"defaultConfigReferences": [{"resource": "r", "desiredConfig": {"name": "d", "specHash": "h"}}]}}),
        ),
        (
            "what both have, and what is not known",
            json!({"spec": {"addOnMeta": {"displayName": "P"}, "new": [1]}, "status": {"installProgressions": [{"name": "p"}], "x": 1.50}, "more": {}}),
            json!({"spec": {"addOnMeta": {"displayName": "P"}, "new": [1]}, "status": {"installProgressions": [{"name": "p"}], "x": 1.50}, "more": {}}),
        ),
    ];
    let addons = [
        (
            "an install namespace",
            json!({"spec": {"installNamespace": "x"}}),
            json!({"spec": {}, "metadata": {"annotations": {"addon.open-cluster-management.io/v1alpha1-install-namespace": "x"}}}),
        ),
        (
            "an install namespace beside other annotations",
            json!({"spec": {"installNamespace": "x"}, "metadata": {"annotations": {"a": "b"}}}),
            json!({"spec": {}, "metadata": {"annotations": {"a": "b", "addon.open-cluster-management.io/v1alpha1-install-namespace": "x"}}}),
        ),
        (
            "annotations without an install namespace",
            json!({"spec": {}, "metadata": {"annotations": {}}}),
            json!({"spec": {}, "metadata": {"annotations": {}}}),
        ),
        (
            "a driver for two registrations, one of which is custom",
            json!({"status": {"kubeClientDriver": "token", "registrations": [
                {"signerName": "s.io/x", "subject": {"user": "u", "groups": ["g"], "organizationUnit": ["o"]}},
                {"signerName": SIGNER, "subject": {"user": "u", "groups": ["g"]}},
            ]}}),
            json!({"status": {"registrations": [
                {"type": "customSigner", "customSigner": {"signerName": "s.io/x", "subject": {"user": "u", "groups": ["g"], "organizationUnits": ["o"]}}},
                {"type": "kubeClient", "kubeClient": {"driver": "token", "subject": {"user": "u", "groups": ["g"]}}},
            ]}}),
        ),
        (
            "registrations without a driver and without subjects",
            json!({"status": {"registrations": [{"signerName": SIGNER}, {"signerName": "s.io/x"}]}}),
            json!({"status": {"registrations": [
                {"type": "kubeClient", "kubeClient": {}},
                {"type": "customSigner", "customSigner": {"signerName": "s.io/x"}},
            ]}}),
        ),
        (
            "the copy of a config's name",
            json!({"status": {"configReferences": [{"resource": "r", "namespace": "n", "name": "d",
                "desiredConfig": {"namespace": "n", "name": "d", "specHash": "h"}, "lastObservedGeneration": 2}]}}),
            json!({"status": {"configReferences": [{"resource": "r",
                "desiredConfig": {"namespace": "n", "name": "d", "specHash": "h"}, "lastObservedGeneration": 2}]}}),
        ),
        (
            "what both have, and what is not known",
            json!({"spec": {"configs": [{"name": "d"}], "new": 1}, "status": {"conditions": [{"type": "Available"}], "namespace": "n", "x": null}}),
            json!({"spec": {"configs": [{"name": "d"}], "new": 1}, "status": {"conditions": [{"type": "Available"}], "namespace": "n", "x": null}}),
        ),
        (
            "a part without spec and status, as in an apply",
            json!({}),
            json!({}),
        ),
    ];
    let definitions = definitions.map(of(Kind::ClusterManagementAddOn));
    let addons = addons.map(of(Kind::ManagedClusterAddOn));
    definitions.into_iter().chain(addons).collect()
}

#[test]
fn each_version_says_the_same_in_its_own_way() {
    for (kind, (sentence, old, new)) in equal_rows() {
        let old = object(kind, Version::V1alpha1, &old);
        let new = object(kind, Version::V1beta1, &new);
        let name = kind.as_str();
        assert_eq!(converted(&old, Version::V1beta1), new, "{name}: {sentence}");
        assert_eq!(
            converted(&new, Version::V1alpha1),
            old,
            "{name}: {sentence}"
        );
        for (object, version) in [(&old, Version::V1alpha1), (&new, Version::V1beta1)] {
            assert_eq!(converted(object, version), *object, "{name}: {sentence}");
        }
    }
}

#[test]
fn what_v1beta1_cannot_say_is_left_out() {
    for (kind, sentence, old, new) in [
        (
            Kind::ClusterManagementAddOn,
            "the old configuration",
            json!({"spec": {"addOnConfiguration": {"crdName": "c"}, "addOnMeta": {}}}),
            json!({"spec": {"addOnMeta": {}}}),
        ),
        (
            Kind::ClusterManagementAddOn,
            "a default without a name has no default",
            json!({"spec": {"supportedConfigs": [{"resource": "r", "defaultConfig": {"namespace": "n"}}, {"resource": "s", "defaultConfig": null}]}}),
            json!({"spec": {"defaultConfigs": [{"resource": "r", "namespace": "n"}, {"resource": "s", "name": "__reserved_no_default__"}]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "the old configuration, an empty namespace, a driver of nothing",
            json!({"spec": {"installNamespace": ""}, "status": {"addOnConfiguration": {"crName": "c"}, "kubeClientDriver": "csr"}}),
            json!({"spec": {}, "status": {}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "organization units at the API server",
            json!({"status": {"registrations": [{"signerName": SIGNER, "subject": {"user": "u", "organizationUnit": ["o"]}}]}}),
            json!({"status": {"registrations": [{"type": "kubeClient", "kubeClient": {"subject": {"user": "u"}}}]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "an install namespace wins over an annotation",
            json!({"spec": {"installNamespace": "x"}, "metadata": {"annotations": {"addon.open-cluster-management.io/v1alpha1-install-namespace": "y"}}}),
            json!({"spec": {}, "metadata": {"annotations": {"addon.open-cluster-management.io/v1alpha1-install-namespace": "x"}}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "the copy of a config that is not desired",
            json!({"status": {"configReferences": [{"resource": "r", "name": "d", "namespace": "n"}]}}),
            json!({"status": {"configReferences": [{"resource": "r"}]}}),
        ),
    ] {
        let old = object(kind, Version::V1alpha1, &old);
        let new = object(kind, Version::V1beta1, &new);
        assert_eq!(converted(&old, Version::V1beta1), new, "{sentence}");
    }
}

#[test]
fn what_v1alpha1_cannot_say_is_left_out() {
    let install = "addon.open-cluster-management.io/v1alpha1-install-namespace";
    for (kind, sentence, new, old) in [
        (
            Kind::ClusterManagementAddOn,
            "an empty name is no default",
            json!({"spec": {"defaultConfigs": [{"resource": "r", "name": "", "namespace": "n"}, {"resource": "s"}]}}),
            json!({"spec": {"supportedConfigs": [{"resource": "r"}, {"resource": "s"}]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "the first driver is that of all",
            json!({"status": {"registrations": [
                {"type": "customSigner", "customSigner": {"signerName": "s.io/x"}},
                {"type": "kubeClient"},
                {"type": "kubeClient", "kubeClient": {"driver": "csr"}},
                {"type": "kubeClient", "kubeClient": {"driver": "token"}},
            ]}}),
            json!({"status": {"kubeClientDriver": "csr", "registrations": [
                {"signerName": "s.io/x"}, {"signerName": SIGNER}, {"signerName": SIGNER}, {"signerName": SIGNER},
            ]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "a first registration without a driver means none",
            json!({"status": {"registrations": [
                {"type": "kubeClient", "kubeClient": {"subject": {"user": "u"}}},
                {"type": "kubeClient", "kubeClient": {"driver": "token"}},
            ]}}),
            json!({"status": {"registrations": [{"signerName": SIGNER, "subject": {"user": "u"}}, {"signerName": SIGNER}]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "a registration of an unknown type has an empty signer",
            json!({"status": {"registrations": [{"type": "new"}, {}, {"type": "new", "customSigner": {"signerName": "s.io/x"}}]}}),
            json!({"status": {"registrations": [{"signerName": ""}, {"signerName": ""}, {"signerName": "s.io/x"}]}}),
        ),
        (
            Kind::ManagedClusterAddOn,
            "an empty annotation is no namespace",
            json!({"metadata": {"annotations": {install: ""}}, "spec": {"installNamespace": "pruned"}}),
            json!({"spec": {"installNamespace": "pruned"}}),
        ),
    ] {
        let old = object(kind, Version::V1alpha1, &old);
        let new = object(kind, Version::V1beta1, &new);
        assert_eq!(converted(&new, Version::V1alpha1), old, "{sentence}");
    }
}

#[test]
fn an_invalid_object_is_named_with_its_field() {
    let (definition, addon) = (Kind::ClusterManagementAddOn, Kind::ManagedClusterAddOn);
    for (kind, from, parts, expected) in [
        (
            definition,
            Version::V1alpha1,
            json!({"spec": []}),
            "ClusterManagementAddOn \"proxy\": spec: expected an object, found a list",
        ),
        (
            definition,
            Version::V1alpha1,
            json!({"spec": {"supportedConfigs": {}}}),
            "ClusterManagementAddOn \"proxy\": spec.supportedConfigs: expected a list, found an object",
        ),
        (
            definition,
            Version::V1alpha1,
            json!({"spec": {"supportedConfigs": [{}, {"defaultConfig": {"name": 1}}]}}),
            "ClusterManagementAddOn \"proxy\": spec.supportedConfigs[1].defaultConfig.name: expected a string, found a number",
        ),
        (
            definition,
            Version::V1beta1,
            json!({"spec": {"defaultConfigs": [{"name": true}]}}),
            "ClusterManagementAddOn \"proxy\": spec.defaultConfigs[0].name: expected a string, found a boolean",
        ),
        (
            addon,
            Version::V1alpha1,
            json!({"status": {"registrations": [null]}}),
            "ManagedClusterAddOn \"c1/proxy\": status.registrations[0]: expected an object, found null",
        ),
        (
            addon,
            Version::V1alpha1,
            json!({"status": {"registrations": [{"signerName": "s.io/x", "subject": "u"}]}}),
            "ManagedClusterAddOn \"c1/proxy\": status.registrations[0].subject: expected an object, found a string",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"status": {"registrations": [{"type": "kubeClient", "kubeClient": {"driver": []}}]}}),
            "ManagedClusterAddOn \"c1/proxy\": status.registrations[0].kubeClient.driver: expected a string, found a list",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"metadata": {"annotations": {"addon.open-cluster-management.io/v1alpha1-install-namespace": 1}}}),
            "ManagedClusterAddOn \"c1/proxy\": metadata.annotations.addon.open-cluster-management.io/v1alpha1-install-namespace: expected \
             a string, found a number",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"status": {"configReferences": [{"desiredConfig": {"name": {}}}]}}),
            "ManagedClusterAddOn \"c1/proxy\": status.configReferences[0].desiredConfig.name: expected a string, found an object",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"kind": "AddOnTemplate"}),
            "object \"c1/proxy\": kind: \"AddOnTemplate\" is not a kind that is converted here",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"apiVersion": "v1"}),
            "object \"c1/proxy\": apiVersion: \"v1\" is neither addon.open-cluster-management.io/v1alpha1 nor \
             addon.open-cluster-management.io/v1beta1",
        ),
        (
            addon,
            Version::V1beta1,
            json!({"kind": null, "metadata": 1}),
            "object without a name: kind: is missing",
        ),
    ] {
        let to = match from {
            Version::V1alpha1 => Version::V1beta1,
            Version::V1beta1 => Version::V1alpha1,
        };
        assert_eq!(fault(&object(kind, from, &parts), to), expected);
    }
    assert_eq!(
        fault(&json!([]), Version::V1alpha1),
        "an object: expected an object, found a list"
    );
}
