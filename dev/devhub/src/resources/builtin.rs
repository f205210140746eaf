//! Kubernetes' own kinds.

mod access;
pub(crate) mod certificates;
mod data;
mod events;
pub(crate) mod fields;
pub(crate) mod kind;
mod namespaces;
pub(crate) mod rbac;
pub(crate) mod reviews;
mod stored;
pub(crate) mod tokens;
mod webhook_checks;
mod webhook_configurations;

use std::sync::{Arc, LazyLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::resources::{Resource, custom};

/// Every kind that devhub has without a CustomResourceDefinition, in discovery's order: groups as Kubernetes ranks them, and
/// names by the alphabet.
///
/// Their schemas are large; they are made once, however many hubs there are.
pub(crate) fn all() -> Vec<Arc<Resource>> {
    static ALL: LazyLock<Vec<Arc<Resource>>> =
        LazyLock::new(|| make().into_iter().map(Arc::new).collect());
    ALL.clone()
}

fn make() -> Vec<Resource> {
    let [limits, pods, quotas] = stored::absent();
    let mut all = vec![
        data::config_maps(),
        events::core(),
        limits,
        namespaces::resource(),
        stored::nodes(),
        pods,
        quotas,
        data::secrets(),
        access::service_accounts(),
        stored::services(),
    ];
    all.push(stored::deployments());
    all.push(events::new());
    all.extend(access::authentication());
    all.extend(access::authorization());
    all.push(access::certificate_signing_requests());
    all.push(stored::pod_disruption_budgets());
    all.extend(access::rbac());
    all.push(webhook_configurations::mutating());
    all.push(webhook_configurations::validating());
    all.push(definitions());
    all.push(stored::leases());
    all
}

/// CustomResourceDefinitions; what is special about them is in [`custom`].
fn definitions() -> Resource {
    Resource {
        short_names: kind::names(&["crd", "crds"]),
        categories: kind::names(&["api-extensions"]),
        subresources: vec![kind::part::<CustomResourceDefinition>("status")],
        needs_version: true,
        has_generation: true,
        behaviour: &custom::Definitions,
        ..kind::kind::<CustomResourceDefinition>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{Columns, Verb};

    #[test]
    fn every_kind_has_a_place_and_a_row() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        for resource in all() {
            let own_place = resource.storage_version == resource.api_version();
            assert!(
                own_place || resource.group == "events.k8s.io",
                "{resource:?}"
            );
            assert_eq!(
                resource.has_objects(),
                resource.verbs != [Verb::Create],
                "{resource:?}"
            );
            let Columns::Code { columns, cells } = &resource.columns else {
                continue;
            };
            // A bare object is shown, whatever it lacks.
            let row = cells(&Default::default(), now);
            assert_eq!(row.len(), columns.len(), "{resource:?}");
            assert!(
                columns.iter().any(|column| column.format == "name"),
                "{resource:?}"
            );
        }
        let place = |group: &str| {
            all()
                .iter()
                .find(|resource| resource.name == "events" && resource.group == group)
                .map(|resource| resource.storage.clone())
        };
        assert_eq!(place(""), place("events.k8s.io"));
    }

    #[test]
    fn only_kinds_with_a_spec_that_somebody_follows_have_generations() {
        let counted: Vec<String> = all()
            .iter()
            .filter(|resource| resource.has_generation)
            .map(|resource| resource.name.clone())
            .filter(|name| name != "customresourcedefinitions")
            .collect();
        assert_eq!(
            counted,
            [
                "deployments",
                "poddisruptionbudgets",
                "mutatingwebhookconfigurations",
                "validatingwebhookconfigurations"
            ]
        );
    }
}
