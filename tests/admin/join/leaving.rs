//! `berth unjoin` at the managed cluster, and `berth delete cluster` on the hub.

use serde_json::json;

use crate::accept::cluster_path;
use crate::house::House;
use crate::join::{Managed, Printed, cluster_name, with_object};
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::{fresh, rule};

/// The CRD of AppliedManifestWorks.
const WORKS: &str = "customresourcedefinition/appliedmanifestworks.work.open-cluster-management.io";

#[tokio::test]
async fn everything_that_join_installed_is_removed() {
    let house = House::shared().await;
    let Some(managed) = Managed::new().await else {
        return;
    };
    let name = cluster_name();
    let output = managed
        .types(&Printed::of(&house).await.command(&name))
        .await;
    output.ok();
    managed.has_joined_as(&name).await;

    let output = managed.types("berth unjoin --cluster-name another").await;
    let words = format!(
        "Error: this cluster has joined as {name}, not as another: check --context and --kubeconfig\n"
    );
    assert_eq!(output.failed(), words);
    let output = managed.types("berth --context elsewhere unjoin").await;
    assert_eq!(
        output.failed(),
        "Error: the kubeconfig has no context \"elsewhere\"\n"
    );
    let output = managed.types("berth unjoin --dry-run").await;
    assert!(
        output
            .ok()
            .contains("deployment/berth-agent deleted (dry run)\n"),
        "{output:?}"
    );
    assert!(
        output
            .ok()
            .contains(&format!("{WORKS} deleted (dry run)\n")),
        "{output:?}"
    );
    let output = managed.types("berth unjoin --dry-run=server").await;
    for object in [
        "deployment/berth-agent",
        "namespace/open-cluster-management-agent",
        WORKS,
    ] {
        let line = format!("{object} deleted (server dry run)\n");
        assert!(output.ok().contains(&line), "{output:?}");
    }
    let reader = managed.cluster.user(&fresh("reader"), &[]).await;
    let reads = rule(&["get", "list"], "*", &["*"], &[]);
    managed.cluster.grant(&reader, &[reads]).await;
    let output = reader.berth(&["unjoin", "--dry-run=client"]).await;
    output.ok();
    let output = reader.berth(&["unjoin", "--dry-run=server"]).await;
    let words = "Error: deployments.apps \"berth-agent\" is forbidden: ";
    assert!(output.failed().starts_with(words), "{output:?}");
    assert!(managed.has_namespace().await);
    let secret = managed.get("secrets/hub-kubeconfig-secret").await;
    assert!(secret.is_object() && secret["metadata"]["deletionTimestamp"].is_null());

    let output = managed
        .types(&format!(
            "berth unjoin --cluster-name {name} --purge-operator=true"
        ))
        .await;
    let said = output.ok();
    for object in [
        "deployment/berth-agent",
        "rolebinding/berth-agent",
        "clusterrolebinding/open-cluster-management:berth-agent",
        "role/berth-agent",
        "clusterrole/open-cluster-management:berth-agent",
        "clusterrolebinding/open-cluster-management:berth-agent-applied-works",
        "clusterrolebinding/open-cluster-management:berth-agent-work",
        "clusterrolebinding/open-cluster-management:berth-agent-work-execution-admin",
        "clusterrole/open-cluster-management:berth-agent-work-execution",
        "clusterrole/open-cluster-management:berth-agent-work",
        "secret/bootstrap-hub-kubeconfig",
        "secret/hub-kubeconfig-secret",
        "serviceaccount/berth-agent",
        "namespace/open-cluster-management-agent",
        WORKS,
    ] {
        assert!(
            said.contains(&format!("{object} deleted\n")),
            "{object}: {said}"
        );
    }
    assert!(
        said.ends_with(&format!("on the hub, run: berth delete cluster {name}\n")),
        "{said}"
    );
    // What ManifestWorks may contain goes with the agent; roles that others made stay.
    let admin = "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin";
    managed.admin.get(admin).await.unwrap().ok();
    // The claims of the cluster's admin stay.
    let claims = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterclaims.cluster.open-cluster-management.io";
    managed.admin.get(claims).await.unwrap().ok();
    let output = managed.types("berth unjoin").await;
    assert_eq!(
        output.ok(),
        "This cluster has no agent of Berth: nothing was removed\n"
    );
}

#[tokio::test]
async fn a_cluster_with_applied_works_is_not_left() {
    let Some(managed) = Managed::new().await else {
        return;
    };
    managed.has_joined_as("c1").await;
    with_object(&managed, "work.open-cluster-management.io", "AppliedManifestWork", "hash-w1", async || {
        let output = managed.types("berth unjoin").await;
        assert_eq!(
            output.failed(),
            "Error: AppliedManifestWorks exist on this cluster: hash-w1, with 0 objects; delete the ManifestWorks on the hub (kubectl -n c1 delete \
             manifestworks --all), or leave what they deployed: --force\n"
        );
        assert!(managed.get("secrets/hub-kubeconfig-secret").await.is_object());
        let output = managed.types("berth unjoin --force").await;
        assert!(output.ok().contains("secret/hub-kubeconfig-secret deleted\n"), "{output:?}");
        assert!(output.stderr.contains("hash-w1; they stay, and so does what they deployed"), "{output:?}");
        assert!(
            output.stderr.contains(&format!("Note: {WORKS} stays: AppliedManifestWorks exist\n")),
            "{output:?}"
        );
        // The test created the namespace, not join.
        assert!(output.stderr.contains("Note: namespace open-cluster-management-agent stays: 'berth join' did not create it"), "{output:?}");
    })
    .await;
    managed
        .admin
        .delete(crate::join::NAMESPACE)
        .await
        .unwrap()
        .ok();
}

#[tokio::test]
async fn a_cluster_is_deleted_from_the_hub_after_a_yes() {
    let house = House::shared().await;
    let [a, b] = [cluster_name(), cluster_name()];
    for name in [&a, &b] {
        house.managed_cluster(name, &[]).await;
    }
    house
        .stage()
        .with("a", &a)
        .plays(
            "
$ berth delete cluster {a}
Error: a deletion removes the clusters' add-ons and ManifestWorks; without a terminal to confirm it on, add --yes
? 2
$ berth delete cluster {a} --dry-run=server
managed cluster {a} is being deleted (server dry run)
",
        )
        .await;
    let command = || house.admin.berth_command(&["delete", "cluster", &a]);
    let (seen, code) = at_a_terminal(command(), 80, "n\n").await;
    assert_eq!(code, 1, "{seen}");
    assert!(
        seen.contains(&format!("Delete managed cluster {a}? [y/N] "))
            && seen.contains("Nothing was changed."),
        "{seen}"
    );
    house.admin.get(&cluster_path(&a)).await.unwrap().ok();
    house
        .stage()
        .with("a", &a)
        .with("b", &b)
        .plays(
            "
$ berth delete cluster {a} {b} x{b} --yes --wait
managed cluster {a} is deleted
managed cluster {b} is deleted
Error: x{b}: managedclusters.cluster.open-cluster-management.io \"x{b}\" not found; did you mean \"{b}\"?
...
? 1
",
        )
        .await;
    for name in [&a, &b] {
        assert_eq!(
            house.admin.get(&cluster_path(name)).await.unwrap().code,
            404
        );
    }
}

#[tokio::test]
async fn a_deletion_that_takes_long_says_what_it_waits_for() {
    let house = House::shared().await;
    let name = cluster_name();
    house.managed_cluster(&name, &[]).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let path = cluster_path(&name);
    house.admin.merge(&path, &hold).await.unwrap().ok();
    let output = house
        .berth(&format!("delete cluster {name} --yes --wait --timeout 2"))
        .await;
    let words =
        format!("Error: {name}: timed out: managed cluster {name} is still being deleted: ");
    assert!(output.failed().contains(&words), "{output:?}");
    let release = json!({"metadata": {"finalizers": null}});
    house.admin.merge(&path, &release).await.unwrap();
}
