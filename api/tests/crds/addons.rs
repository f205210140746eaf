//! The CRDs of add-ons, compared with OCM's: the files in `ocm` have their structure, without descriptions and without the conversion,
//! which OCM's operator adds.

use berth_api::crds::{
    CONVERSION_PATH, addon_deployment_config, addon_template, addons, cluster_management_addon,
    managed_cluster_addon,
};
use serde_json::{Value, json};

use super::structure::assert_structure;

fn of_ocm(text: &str) -> Value {
    let mut crd: Value = serde_json::from_str(text).expect("the file is JSON");
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        // No subresource, in other words.
        if version["subresources"] == json!({})
            && let Some(version) = version.as_object_mut()
        {
            version.remove("subresources");
        }
    }
    crd
}

#[test]
fn both_versions_of_each_kind_equal_those_of_ocm() {
    for (crd, expected) in [
        (
            cluster_management_addon(),
            include_str!("ocm/clustermanagementaddons.json"),
        ),
        (
            managed_cluster_addon(),
            include_str!("ocm/managedclusteraddons.json"),
        ),
        (
            addon_deployment_config(),
            include_str!("ocm/addondeploymentconfigs.json"),
        ),
        (addon_template(), include_str!("ocm/addontemplates.json")),
    ] {
        let mut crd = crd;
        crd.spec.conversion = None;
        assert_structure(&crd, &of_ocm(expected));
    }
    assert_eq!(addons().len(), 4);
}

#[test]
fn the_gate_converts_the_kinds_whose_versions_differ() {
    let webhook = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {
                "name": "cluster-manager-registration-webhook",
                "namespace": "open-cluster-management-hub",
                "path": CONVERSION_PATH,
                "port": 9443,
            }},
            "conversionReviewVersions": ["v1", "v1beta1"],
        },
    });
    let conversions = addons().into_iter().map(|crd| {
        let crd = super::json(&crd);
        crd["spec"]["conversion"].clone()
    });
    let conversions: Vec<Value> = conversions.collect();
    assert_eq!(
        conversions,
        [webhook.clone(), webhook, Value::Null, Value::Null]
    );
}
