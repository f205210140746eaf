//! Why Berth is not installed on a hub: plain functions of what is known.

use berth_manifests::Mode;
use berth_rules::display::first_of;

use super::facts::{Facts, Standing};
use super::keep::{is_ours, is_run_by_helm};
use crate::doctor::{CONTROLLER, OCMS_CONTROLLER, WEBHOOK};

/// The oldest version of Kubernetes.
const OLDEST: (u32, u32) = (1, 28);
/// The oldest one whose policies can carry the gate's rules.
const OLDEST_WITH_POLICIES: (u32, u32) = (1, 36);

/// Returns what is in the way, each with the remedy. `on_managed_cluster`: the user knows that this cluster has a hub of its own.
pub(super) fn refusals(facts: &Facts, mode: Mode, on_managed_cluster: bool) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(name) = &facts.cluster_manager {
        all.push(format!(
            "an operator runs this hub (ClusterManager {name}), and would undo what is installed here. Two ways: keep the operator, \
             and name Berth's image in the ClusterManager (manifests/README.md, \"On a hub of OCM's operator\"; with Berth's operator, \
             change the operator's image); or remove the hub first: kubectl delete clustermanager {name} (OCM's operator deletes all \
             clusters with it)"
        ));
    }
    if let Some((major, minor)) = facts.version.filter(|version| *version < OLDEST) {
        all.push(format!(
            "the API server is Kubernetes {major}.{minor}; Berth needs {}.{} or newer",
            OLDEST.0, OLDEST.1
        ));
    }
    let too_old = facts
        .version
        .is_some_and(|version| version < OLDEST_WITH_POLICIES);
    if mode.has_policies() && (too_old || !facts.serves_policies) {
        all.push(format!(
            "--mode {} needs Kubernetes {}.{} with MutatingAdmissionPolicies in admissionregistration.k8s.io/v1: use --mode webhooks",
            mode.name(),
            OLDEST_WITH_POLICIES.0,
            OLDEST_WITH_POLICIES.1
        ));
    }
    if facts.namespace == Standing::Ending {
        all.push(
            "namespace open-cluster-management-hub is being deleted; wait: kubectl wait --for=delete namespace/open-cluster-management-hub"
                .to_owned(),
        );
    }
    if let Some(cluster) = &facts.agent_of
        && !facts.is_hub
        && !on_managed_cluster
    {
        all.push(format!(
            "an agent runs here: this is a managed cluster (name on its hub: {cluster}), not a hub: check --context and --kubeconfig. \
             If it is to be a hub, too: --on-managed-cluster"
        ));
    }
    if !facts.of_other_modes.is_empty() {
        let others: Vec<&str> = facts.of_other_modes.iter().map(String::as_str).collect();
        all.push(format!(
            "the hub has objects of another mode, which --mode {} lacks: {}. To change the mode: docs/operations.md",
            mode.name(),
            first_of(&others, ", ")
        ));
    }
    for (name, overlay) in [
        (OCMS_CONTROLLER, "ocm-names"),
        ("berth-placement-controller", "placement-apart"),
    ] {
        if facts.deployment(name).is_some_and(is_ours) {
            all.push(format!(
                "Deployment {name} is of manifests/overlays/{overlay}, which this command does not install: kubectl apply -k"
            ));
        }
    }
    for name in [WEBHOOK, CONTROLLER] {
        if facts.deployment(name).is_some_and(is_run_by_helm) {
            all.push(format!(
                "Deployment {name} belongs to a release of Helm: helm upgrade"
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(name: &str, command: &str) -> Value {
        let container = json!({"command": [command]});
        json!({
            "kind": "Deployment", "metadata": {"name": name},
            "spec": {"template": {"spec": {"containers": [container]}}},
        })
    }

    fn fresh() -> Facts {
        Facts {
            version: Some((1, 36)),
            serves_policies: true,
            ..Facts::default()
        }
    }

    #[test]
    fn each_obstacle_is_named_with_its_remedy() {
        type Change = fn(&mut Facts);
        let table: [(Mode, Change, &str); 11] = [
            (
                Mode::Webhooks,
                |facts| facts.cluster_manager = Some("cluster-manager".to_owned()),
                "an operator runs this hub (ClusterManager cluster-manager)",
            ),
            (
                Mode::Webhooks,
                |facts| facts.version = Some((1, 27)),
                "the API server is Kubernetes 1.27; Berth needs 1.28 or newer",
            ),
            (
                Mode::Policies,
                |facts| facts.version = Some((1, 35)),
                "--mode policies needs Kubernetes 1.36",
            ),
            (
                Mode::PoliciesWithWebhook,
                |facts| facts.serves_policies = false,
                "--mode policies-with-webhook needs Kubernetes 1.36",
            ),
            (
                Mode::Webhooks,
                |facts| facts.namespace = Standing::Ending,
                "namespace open-cluster-management-hub is being deleted",
            ),
            (
                Mode::Webhooks,
                |facts| facts.agent_of = Some("c1".to_owned()),
                "an agent runs here: this is a managed cluster (name on its hub: c1)",
            ),
            (
                Mode::Policies,
                |facts| facts.of_other_modes = vec!["service/x".to_owned()],
                "the hub has objects of another mode, which --mode policies lacks: service/x",
            ),
            (
                Mode::Webhooks,
                |facts| facts.deployments = vec![deployment(OCMS_CONTROLLER, "/berth")],
                "is of manifests/overlays/ocm-names",
            ),
            (
                Mode::Webhooks,
                |facts| {
                    facts.deployments = vec![deployment("berth-placement-controller", "/berth")]
                },
                "is of manifests/overlays/placement-apart",
            ),
            (
                Mode::Webhooks,
                |facts| {
                    let mut ours = deployment(WEBHOOK, "/berth");
                    ours["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
                    facts.deployments = vec![ours];
                },
                "belongs to a release of Helm: helm upgrade",
            ),
            (
                Mode::Policies,
                |facts| {
                    facts.version = None;
                    facts.serves_policies = false;
                },
                "use --mode webhooks",
            ),
        ];
        for (mode, change, words) in table {
            let mut facts = fresh();
            change(&mut facts);
            let refusals = refusals(&facts, mode, false);
            assert_eq!(refusals.len(), 1, "{refusals:?}");
            assert!(refusals[0].contains(words), "{refusals:?}");
        }
    }

    #[test]
    fn nothing_is_in_the_way_on_a_fresh_hub_nor_on_one_of_ours() {
        for mode in Mode::ALL {
            assert_eq!(refusals(&fresh(), mode, false), [""; 0]);
        }
        let managed = Facts {
            agent_of: Some("local-cluster".to_owned()),
            ..fresh()
        };
        assert_eq!(refusals(&managed, Mode::Webhooks, true), [""; 0]);
        let manages_itself = Facts {
            is_hub: true,
            ..managed
        };
        assert_eq!(refusals(&manages_itself, Mode::Webhooks, false), [""; 0]);
        // OCM's own webhook and controller, without its operator: the first is replaced in place.
        let ocms = Facts {
            deployments: vec![
                deployment(WEBHOOK, "/registration"),
                deployment(OCMS_CONTROLLER, "/registration"),
            ],
            ..fresh()
        };
        assert_eq!(refusals(&ocms, Mode::Webhooks, false), [""; 0]);
    }
}
