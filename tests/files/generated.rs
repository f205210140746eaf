//! Generated files in the repository: the test fails if one differs from what the code generates.
//!
//! To write them: `BERTH_GENERATE=1 cargo test --test files generated`.

mod answers;
mod conditions;
mod coverage;
mod denials;
mod help;
mod limits;
mod policies;
mod security;

use std::fs;
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

pub(crate) const HEADER: &str = "# Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated\n";

/// Fails, with the first line that differs, unless the file holds the content; with `BERTH_GENERATE=1` writes it.
///
/// The path is relative to the repository.
fn assert_generated(path: &str, content: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BERTH_GENERATE").is_some_and(|value| value == "1") {
        fs::create_dir_all(file.parent().expect("a file has a folder"))
            .expect("the folder can be made");
        fs::write(&file, content).unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
        return;
    }
    let found = fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "cannot read {path}: {error}; write it: BERTH_GENERATE=1 cargo test --test files generated"
        )
    });
    if found != content {
        let same = found
            .lines()
            .zip(content.lines())
            .take_while(|(found, content)| found == content)
            .count();
        let line = |text: &str| text.lines().nth(same).unwrap_or("(end of file)").to_owned();
        panic!(
            "{path} is not what the code says, from line {}:\n  file: {}\n  code: {}\n\
             write it anew: BERTH_GENERATE=1 cargo test --test files generated",
            same + 1,
            line(&found),
            line(content),
        );
    }
}

fn yaml(value: &impl serde::Serialize) -> String {
    let body = serde_saphyr::to_string(value).expect("Kubernetes objects are YAML");
    format!("{HEADER}{body}")
}

/// The name that OCM's generator gives the file.
fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

#[test]
fn the_crds_in_manifests_are_those_of_the_types() {
    use berth_api::crds;

    let hub = [
        crds::managed_cluster(),
        crds::managed_cluster_set(),
        crds::managed_cluster_set_binding(),
    ];
    // A hub without placement does not need these.
    let placement = [
        crds::placement(),
        crds::placement_decision(),
        crds::addon_placement_score(),
    ];
    // For hubs that serve the inventory API of SIG-Multicluster.
    let inventory = crds::inventory();
    // No controller uses these yet.
    let work = [crds::manifest_work(), crds::manifest_work_replica_set()];
    let addons = crds::addons();
    // For hubs that are installed by an object.
    let operator = [crds::cluster_manager()];
    let klusterlet = [crds::klusterlet()];
    // On the managed clusters, not on the hub.
    let agent = [crds::cluster_claim()];
    let work_agent = [crds::applied_manifest_work()];

    for (folder, crds) in [
        ("manifests/crds", &hub[..]),
        ("manifests/crds/placement", &placement[..]),
        ("manifests/crds/inventory", &inventory[..]),
        ("manifests/crds/work", &work[..]),
        ("manifests/crds/addons", &addons[..]),
        ("manifests/crds/operator", &operator[..]),
        ("manifests/crds/operator/klusterlet", &klusterlet[..]),
        ("manifests/crds/agent", &agent[..]),
        ("manifests/crds/agent/work", &work_agent[..]),
    ] {
        for crd in crds {
            assert_generated(&format!("{folder}/{}", file_name(crd)), &yaml(crd));
        }
        let kustomization = serde_json::json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": crds.iter().map(file_name).collect::<Vec<_>>(),
        });
        assert_generated(
            &format!("{folder}/kustomization.yaml"),
            &yaml(&kustomization),
        );
    }
}

/// As the lifecycle writes them where it may.
#[test]
fn the_roles_that_all_agents_share_are_those_of_the_lifecycle() {
    use berth_lifecycle_core::{config::Config, names, roles};

    let config = Config::default();
    let roles = [roles::registration_role(&config), roles::work_role(&config)];
    let roles = roles.map(|role| serde_saphyr::to_string(&role).expect("it is YAML"));
    let why = "# The permissions of every agent in its cluster's namespace. The controller may bind these roles without having their \
               permissions.\n";
    let content = format!("{HEADER}{why}{}---\n{}", roles[0], roles[1]);
    assert_generated(names::AGENT_ROLES_MANIFEST, &content);
}

#[test]
fn the_roles_of_the_operators_have_what_they_grant() {
    use berth_operator_core::role;

    for (path, documents, why) in [
        (
            "manifests/overlays/hosting/role.yaml",
            role::of_hosting(),
            "# What the operator does in the namespace of a ClusterManager whose hub is another cluster.\n",
        ),
        (
            "manifests/overlays/hosted-hub/tokens.yaml",
            role::of_tokens(),
            "# On a hub whose components run on another cluster, they have tokens of these accounts.\n",
        ),
        (
            "manifests/operator/role.yaml",
            role::of_hub(),
            "# The permissions of the operator: for its own work, and all that the hub's components have.\n",
        ),
        (
            "manifests/operator/klusterlet/role.yaml",
            role::of_cluster(),
            "# The permissions of the operator. Whoever has this account has the cluster: agents that carry out ManifestWorks may escalate and\n\
             # bind (manifests/agent/work/execution.yaml), and an API server lets nobody give what he does not have.\n",
        ),
    ] {
        let documents = documents
            .iter()
            .map(|it| serde_saphyr::to_string(it).expect("it is YAML"));
        let documents = documents.collect::<Vec<_>>().join("---\n");
        let content = format!("{HEADER}{why}{documents}");
        assert_generated(path, &content);
    }
}

#[tokio::test]
async fn every_message_is_documented() {
    assert_generated("docs/denials.md", &denials::page().await);
}

#[test]
fn what_policies_do_not_cover_is_documented() {
    assert_generated("docs/policies.md", &coverage::page());
}

#[test]
fn every_limit_is_documented() {
    assert_generated("docs/limits.md", &limits::page());
}

#[test]
fn the_commands_are_documented() {
    assert_generated("docs/commands.md", &help::page());
}

#[test]
fn the_policies_in_manifests_are_those_of_the_rules() {
    for (path, flags) in [
        ("manifests/policies/policies.yaml", &[][..]),
        (
            "manifests/policies/with-webhook/policies.yaml",
            &["--mode=with-webhook"],
        ),
    ] {
        assert_generated(path, &policies::printed(flags));
    }
}

#[test]
fn policies_and_registrations_have_the_same_conditions() {
    for (path, guard) in policies::REGISTRATIONS {
        assert_generated(path, &policies::with_condition(path, guard));
    }
}

#[test]
fn the_charts_are_those_of_the_manifests_and_of_the_values() {
    for (path, content) in crate::charts::generated_files() {
        assert_generated(&path, &content);
    }
}
