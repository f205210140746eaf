//! The kind of add-ons, on hubs without a gate that converts them.

use berth_manifests::files::CRD_MANAGED_CLUSTER_ADDONS;
use serde_json::{Value, json};

/// The CustomResourceDefinition of ManagedClusterAddOn as it is shipped, but with v1beta1 alone, which is stored: so nothing has to be
/// converted.
pub fn definition() -> Value {
    let mut definition = CRD_MANAGED_CLUSTER_ADDONS.documents().remove(0);
    let spec = &mut definition["spec"];
    spec["conversion"] = json!({"strategy": "None"});
    let versions = spec["versions"].as_array_mut();
    let versions = versions.expect("a definition has versions");
    versions.retain(|it| it["name"] == "v1beta1");
    for version in versions {
        version["storage"] = json!(true);
    }
    definition
}
