//! The kinds that a work defines itself.

use std::collections::HashSet;

use berth_api::work::ManifestWork;

/// Group and kind of the CustomResourceDefinitions in the manifests of the work.
pub(super) fn defined(work: &ManifestWork) -> HashSet<(String, String)> {
    #[derive(serde::Deserialize)]
    struct Definition {
        kind: String,
        spec: Spec,
    }
    #[derive(serde::Deserialize)]
    struct Spec {
        group: String,
        names: Names,
    }
    #[derive(serde::Deserialize)]
    struct Names {
        kind: String,
    }
    let manifests = work.spec.workload.manifests.iter();
    let definitions = manifests.filter_map(|it| it.read::<Definition>().ok());
    let definitions = definitions.filter(|it| it.kind == "CustomResourceDefinition");
    definitions
        .map(|it| (it.spec.group, it.spec.names.kind))
        .collect()
}
