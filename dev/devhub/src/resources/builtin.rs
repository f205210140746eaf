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

    /// What kube-apiserver 1.36 serves under these names: resource, short names, categories, scope, subresources, and how many
    /// verbs there are (8 is all of them, 7 all but deletecollection, 1 create; 3 read, which is not what kube-apiserver has).
    const SERVED: &str = "\
v1 configmaps [cm] [] true [] 8
v1 events [ev] [] true [] 8
v1 limitranges [limits] [] true [] 3
v1 namespaces [ns] [] false [finalize status] 7
v1 nodes [no] [] false [status] 8
v1 pods [po] [all] true [] 3
v1 resourcequotas [quota] [] true [] 3
v1 secrets [] [] true [] 8
v1 serviceaccounts [sa] [] true [token] 8
v1 services [svc] [all] true [status] 8
apps/v1 deployments [deploy] [all] true [status] 8
events.k8s.io/v1 events [ev] [] true [] 8
authentication.k8s.io/v1 selfsubjectreviews [] [] false [] 1
authentication.k8s.io/v1 tokenreviews [] [] false [] 1
authorization.k8s.io/v1 localsubjectaccessreviews [] [] true [] 1
authorization.k8s.io/v1 selfsubjectaccessreviews [] [] false [] 1
authorization.k8s.io/v1 selfsubjectrulesreviews [] [] false [] 1
authorization.k8s.io/v1 subjectaccessreviews [] [] false [] 1
certificates.k8s.io/v1 certificatesigningrequests [csr] [] false [approval status] 8
policy/v1 poddisruptionbudgets [pdb] [] true [status] 8
rbac.authorization.k8s.io/v1 clusterrolebindings [] [] false [] 8
rbac.authorization.k8s.io/v1 clusterroles [] [] false [] 8
rbac.authorization.k8s.io/v1 rolebindings [] [] true [] 8
rbac.authorization.k8s.io/v1 roles [] [] true [] 8
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations [] [api-extensions] false [] 8
admissionregistration.k8s.io/v1 validatingwebhookconfigurations [] [api-extensions] false [] 8
apiextensions.k8s.io/v1 customresourcedefinitions [crd crds] [api-extensions] false [status] 8
coordination.k8s.io/v1 leases [] [] true [] 8
";

    #[test]
    fn kinds_are_served_as_kubernetes_serves_them() {
        let mut served = String::new();
        for resource in all() {
            let parts: Vec<&str> = resource
                .subresources
                .iter()
                .map(|part| part.name.as_str())
                .collect();
            served.push_str(&format!(
                "{} {} [{}] [{}] {} [{}] {}\n",
                resource.api_version(),
                resource.name,
                resource.short_names.join(" "),
                resource.categories.join(" "),
                resource.namespaced,
                parts.join(" "),
                resource.verbs.len(),
            ));
        }
        assert_eq!(served, SERVED);
    }

    #[test]
    fn names_are_subdomains_but_for_these_kinds() {
        let takes = |name: &str| {
            let mut kinds = Vec::new();
            for resource in all().iter().filter(|resource| resource.has_objects()) {
                if (resource.name_errors)(name).is_empty() {
                    kinds.push(format!("{} {}", resource.api_version(), resource.name));
                }
            }
            kinds
        };
        let free = [
            "v1 events",
            "certificates.k8s.io/v1 certificatesigningrequests",
            "policy/v1 poddisruptionbudgets",
            "rbac.authorization.k8s.io/v1 clusterrolebindings",
            "rbac.authorization.k8s.io/v1 clusterroles",
            "rbac.authorization.k8s.io/v1 rolebindings",
            "rbac.authorization.k8s.io/v1 roles",
        ];
        assert_eq!(takes("a:managedcluster:B_c.17af"), free);
        assert_eq!(takes("a/b"), [""; 0]);
        let every: Vec<String> = takes("a");
        let dotted = takes("a.b");
        let labels = every.iter().filter(|kind| !dotted.contains(kind));
        assert!(labels.eq(["v1 namespaces", "v1 services"]));
    }

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
