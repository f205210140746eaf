//! A hub is installed, guarded, put back, and left alone.

use serde_json::Map;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_is_installed_by_an_object_and_put_back_when_others_change_it() {
    let (node, operator) = installed(json!({})).await;
    let admin = &node.admin;

    // The gate decides, and fills in.
    let (path, cluster) = managed_cluster("by-an-object");
    admin
        .post(path.rsplit_once('/').unwrap().0, &cluster)
        .await
        .unwrap()
        .ok();
    let stored = admin.get(&path).await.unwrap();
    let set = &stored.ok()["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"];
    assert_eq!(set, "default");
    let (path, cluster) = managed_cluster("a.b");
    let refused = admin
        .post(path.rsplit_once('/').unwrap().0, &cluster)
        .await
        .unwrap();
    assert_eq!(refused.code, 400, "{refused:?}");

    // A second operator finds everything right.
    let before = versions(admin).await;
    drop(operator);
    let mut operator = Operator::start(&node.cluster).await;
    operator
        .process
        .logged(|line| line["message"] == "reconciling");
    create(admin, "second", json!({})).await.ok();
    let second = format!("{MANAGERS}/second");
    once(admin, &second, "it is refused", |it| {
        it["status"]["conditions"][0]["reason"] == "AnotherClusterManager"
    })
    .await;
    assert_eq!(versions(admin).await, before);
    admin.delete(&second).await.unwrap().ok();

    // Each object in turn: deleted, and without its label.
    for path in related(admin).await {
        // The hub deletes what is in it first; and with a definition all its objects.
        let stays =
            path.contains("/namespaces/open-cluster-management-hub") && path.ends_with("-hub");
        let old = admin.get(&path).await.unwrap();
        let uid = old.ok()["metadata"]["uid"].clone();
        if !stays && !path.contains("customresourcedefinitions") {
            admin.delete(&path).await.unwrap().ok();
            once(admin, &path, "it is there again", |it| {
                it["metadata"]["uid"] != uid
            })
            .await;
            if path.contains("/deployments/") {
                node.reports().await;
            }
        }
        let label = "open-cluster-management.io/created-by-clustermanager";
        let patch = json!({"metadata": {"labels": {label: null}}});
        admin.merge(&path, &patch).await.unwrap().ok();
        once(admin, &path, "it has its label again", |it| {
            !it["metadata"]["labels"][label].is_null()
        })
        .await;
    }
    node.reports().await;
    guarded(admin).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_changed_in_the_object_is_changed_on_the_hub() {
    let (node, _operator) = installed(json!({})).await;
    let admin = &node.admin;
    let gate = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/cluster-manager-registration-webhook";
    let infra = json!({"nodeSelector": {"infra": ""}});
    let patch = json!({"spec": {
        "registrationImagePullSpec": "registry.example.com/mine:v2", "nodePlacement": infra,
        "registrationConfiguration": {"featureGates": [{"feature": "NoSuchGate", "mode": "Enable"}]},
        "serverConfiguration": {},
    }});
    admin.merge(MANAGER, &patch).await.unwrap().ok();
    once(admin, gate, "image and nodes", |it| {
        let pods = &it["spec"]["template"]["spec"];
        pods["containers"][0]["image"] == "registry.example.com/mine:v2"
            && pods["nodeSelector"]["infra"] == ""
    })
    .await;
    let rolling = said(
        admin,
        ("Progressing", "True", "ClusterManagerDeploymentRolling"),
    )
    .await;
    assert!(
        rolling.contains("cluster-manager-registration-webhook"),
        "{rolling}"
    );
    said(
        admin,
        ("ValidFeatureGates", "False", "InvalidFeatureGatesExisting"),
    )
    .await;
    let unsupported = said(admin, ("SettingsSupported", "False", "NotSupported")).await;
    assert!(
        unsupported.contains("spec.serverConfiguration"),
        "{unsupported}"
    );
    // What is not wanted any more goes.
    let patch = json!({"spec": {"nodePlacement": null, "registrationConfiguration": null, "serverConfiguration": null}});
    admin.merge(MANAGER, &patch).await.unwrap().ok();
    once(admin, gate, "any node", |it| {
        let nodes = &it["spec"]["template"]["spec"]["nodeSelector"];
        nodes.as_object().is_none_or(Map::is_empty)
    })
    .await;
    node.reports().await;
    said(admin, ("SettingsSupported", "True", "AllSupported")).await;
    guarded(admin).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_may_not_write_is_named() {
    let node = node().await;
    let admin = &node.admin;
    let role =
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:berth-operator";
    let stored = admin.get(role).await.unwrap().ok().clone();
    let mut weak = stored.clone();
    let rules = weak["rules"].as_array_mut().unwrap();
    rules.retain(|it| it["resources"] != json!(["clusterroles"]));
    rules.push(json!({
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["get", "list", "watch"],
    }));
    admin.put(role, &weak).await.unwrap().ok();
    let _operator = Operator::start(&node.cluster).await;
    create(admin, "cluster-manager", json!({})).await.ok();
    let why = said(admin, ("Applied", "False", "HubResourceApplyFailed")).await;
    assert!(
        why.contains("ClusterRole open-cluster-management:"),
        "{why}"
    );
    let strong = eventually("no conflict", async || {
        let mut role_ = stored.clone();
        role_["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("resourceVersion");
        when(admin.put(role, &role_).await.unwrap(), |it| it.code == 200)
    });
    strong.await;
    said(admin, ("Applied", "True", "ClusterManagerApplied")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_command_installs_an_operator_and_the_hub_by_it() {
    let mut node = HubNode::start().await.of_operator();
    let admin = node.admin.clone();
    let line = ["init", "--operator", "--image", IMAGE, "--no-token"];
    let shown = admin
        .berth(&[&line[..], &["--dry-run=server"]].concat())
        .await;
    let not_yet = "clustermanager/cluster-manager not checked: its CustomResourceDefinition does not exist yet (server dry run)\n";
    assert!(shown.ok().ends_with(not_yet), "{shown:?}");
    let started = admin.berth(&[&line[..], &["--wait=false"]].concat()).await;
    assert!(
        started
            .ok()
            .contains("clustermanager/cluster-manager created\n"),
        "{started:?}"
    );
    let late = admin
        .berth(&[&line[..], &["--timeout", "1"]].concat())
        .await;
    let says = "waiting for the operator to begin; the operator goes on\n";
    assert!(late.failed().ends_with(says), "{late:?}");

    let _operator = Operator::start(&node.cluster).await;
    let waiting = tokio::spawn({
        let admin = admin.clone();
        async move { admin.berth(&line).await }
    });
    node.runs_the_hub().await;
    let ready = waiting.await.unwrap();
    assert!(ready.ok().ends_with("The hub is ready.\n"), "{ready:?}");
    guarded(&admin).await;
    let info = admin.berth(&["get", "hub-info"]).await;
    for line in [
        "Registration Operator:\n  berth-operator:\t(0/",
        "    (installed) clustermanagers.operator.open-cluster-management.io [*v1]\n",
        "Components of ClusterManager cluster-manager, mode Default:\n",
        "  cluster-manager-registration-webhook:\t(3/3) registry.example.com/berth:v1\n",
        "    (installed) managedclusteraddons.addon.open-cluster-management.io [*v1alpha1|v1beta1]\n",
    ] {
        assert!(info.ok().contains(line), "{line}: {info:?}");
    }

    let doctor = admin.berth(&["doctor", "-v"]).await;
    assert!(
        doctor
            .stdout
            .contains("ok operator: the operator, if there is one, reports no trouble"),
        "{doctor:?}"
    );

    // A hub without an operator is in the way, and the other way round.
    let refused = admin.berth(&["init", "--image", IMAGE]).await;
    assert!(
        refused
            .failed()
            .contains("an operator runs this hub (ClusterManager cluster-manager)"),
        "{refused:?}"
    );
    let refused = admin.berth(&["uninstall", "--yes"]).await;
    assert!(
        refused
            .failed()
            .contains("kubectl delete clustermanager cluster-manager removes it"),
        "{refused:?}"
    );
}

/// As with the role of OCM's operator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_operator_may_not_see_is_named_until_it_may() {
    let node = node().await;
    let admin = &node.admin;
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/open-cluster-management-hub/roles/open-cluster-management:berth-operator";
    admin.delete(role).await.unwrap().ok();
    let _operator = Operator::start(&node.cluster).await;
    create(admin, "cluster-manager", json!({})).await.ok();
    // The kinds are listed one after the other.
    let words = [
        "the operator cannot list ",
        "deployments",
        "apply its role again",
    ];
    let object = once(admin, MANAGER, "it says what cannot be listed", |it| {
        let said = condition(it, "Applied")["message"].to_string();
        words.iter().all(|word| said.contains(word))
    });
    let said_so = condition(&object.await, "Applied");
    assert_eq!(
        (&said_so["status"], &said_so["reason"]),
        (&json!("False"), &json!("HubResourceApplyFailed"))
    );
    node.cluster
        .apply_manifests(&[files::OPERATOR_ROLE.path])
        .await;
    let path = format!("{HUB}/deployments/cluster-manager-registration-controller");
    once(admin, &path, "it is installed", |_| true).await;
    said(admin, ("Applied", "True", "ClusterManagerApplied")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_pulls_with_the_credentials_of_the_registry() {
    let (node, _operator) = installed(json!({})).await;
    let admin = &node.admin;
    let source = pull_secret(admin, "e30=").await;
    let copy = source.replace("open-cluster-management/", "open-cluster-management-hub/");
    once(admin, &copy, "it is copied", |it| {
        it["data"][".dockerconfigjson"] == "e30="
    })
    .await;
    let deployments = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments";
    let controller = format!("{deployments}/cluster-manager-registration-controller");
    once(admin, &controller, "its pods use it", |it| {
        it["spec"]["template"]["spec"]["imagePullSecrets"][0]["name"] == PULL_SECRET
    })
    .await;
    admin.delete(&source).await.unwrap().ok();
    gone(admin, &copy).await;
}
