//! An agent is installed, joins, is put back, and left alone.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_installed_by_an_object_and_joins_its_hub() {
    let world = World::new().await;
    let (operator, _agent) = world.joined().await;
    let admin = &world.admin;
    world.said(("Applied", "True", "KlusterletApplied")).await;
    for type_ in ["RegistrationDesiredDegraded", "WorkDesiredDegraded"] {
        world.said((type_, "False", "DeploymentsFunctional")).await;
    }
    let info = admin.berth(&["get", "klusterlet-info"]).await;
    for line in [
        "Registration Operator:\t<none>\n",
        "Components of Klusterlet klusterlet, mode Default:\n  klusterlet-registration-agent:\t(1/1) registry.example.com/berth:v1\n",
        "    (installed) appliedmanifestworks.work.open-cluster-management.io [*v1]\n",
    ] {
        assert!(info.ok().contains(line), "{line}: {info:?}");
    }
    // The agent has the name that OCM's would have.
    let klusterlet = admin.get(KLUSTERLET).await.unwrap();
    let secret = admin
        .get(&format!("{SPACE}/secrets/hub-kubeconfig-secret"))
        .await
        .unwrap();
    let name = secret.ok()["data"]["agent-name"].as_str().unwrap();
    let name = BASE64_STANDARD.decode(name).unwrap();
    assert_eq!(
        klusterlet.ok()["metadata"]["uid"]
            .as_str()
            .unwrap()
            .as_bytes(),
        name
    );

    // A second operator finds everything right.
    let paths = related_to(admin, KLUSTERLET).await;
    assert_eq!(paths.len(), 18, "{paths:#?}");
    let before = versions_of(admin, paths.clone()).await;
    drop(operator);
    let mut operator = world.operator().await;
    operator
        .process
        .logged(|line| line["message"] == "reconciling");
    world.create("second", json!({})).await;
    said_by(
        admin,
        &format!("{KLUSTERLETS}/second"),
        ("Applied", "False", "AnotherKlusterlet"),
    )
    .await;
    assert_eq!(versions_of(admin, paths.clone()).await, before);

    // Each object in turn: deleted, and without its label.
    for path in paths {
        let is_shared = path.contains("customresourcedefinitions")
            || path.contains("/namespaces/") && path.matches('/').count() == 4;
        let old = admin.get(&path).await.unwrap();
        let uid = old.ok()["metadata"]["uid"].clone();
        if is_shared {
            continue;
        }
        admin.delete(&path).await.unwrap().ok();
        once(admin, &path, "it is there again", |it| {
            it["metadata"]["uid"] != uid
        })
        .await;
        if path == DEPLOYMENT {
            world.reports(DEPLOYMENT).await;
        }
        let label = "open-cluster-management.io/created-by-klusterlet";
        let without = json!({"metadata": {"labels": {label: null}}});
        admin.merge(&path, &without).await.unwrap().ok();
        once(admin, &path, "it has its label again", |it| {
            it["metadata"]["labels"][label] == "klusterlet"
        })
        .await;
    }
    world.said(("Applied", "True", "KlusterletApplied")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mode_is_switched_there_and_back() {
    let world = World::new().await;
    let _operator = world.operator().await;
    let admin = &world.admin;
    world
        .create("klusterlet", json!({"clusterName": "c1"}))
        .await;
    world.reports(DEPLOYMENT).await;
    world
        .said(("Available", "True", "KlusterletAvailable"))
        .await;
    let single = DEPLOYMENT.replace("-registration-agent", "-agent");
    for (mode, wanted, other) in [
        ("Singleton", &*single, DEPLOYMENT),
        ("Default", DEPLOYMENT, &*single),
    ] {
        let spec = json!({"spec": {"deployOption": {"mode": mode}}});
        admin.merge(KLUSTERLET, &spec).await.unwrap().ok();
        gone(admin, other).await;
        world.reports(wanted).await;
        let name = wanted.rsplit('/').next().unwrap();
        once(admin, KLUSTERLET, "it has this one", |it| {
            it["status"]["generations"][0]["name"] == name
        })
        .await;
    }
    // Without a kubeconfig of another cluster it stays where it is.
    let spec = json!({"spec": {"deployOption": {"mode": "Hosted"}}});
    admin.merge(KLUSTERLET, &spec).await.unwrap().ok();
    let unprepared = ("ReadyToApply", "False", "KlusterletPrepareFailed");
    world.said(unprepared).await;
    admin.get(DEPLOYMENT).await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_and_add_ons_pull_with_the_credentials_of_the_registry() {
    let world = World::new().await;
    let admin = &world.admin;
    let source = pull_secret(admin, "e30=").await;
    let space = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "monitoring", "labels": {"addon.open-cluster-management.io/namespace": "true"}},
    });
    admin.post("/api/v1/namespaces", &space).await.unwrap().ok();
    let _operator = world.operator().await;
    world
        .create("klusterlet", json!({"clusterName": "c1"}))
        .await;
    let copies = [
        "open-cluster-management-agent",
        "open-cluster-management-agent-addon",
        "monitoring",
    ]
    .map(|it| {
        source.replace(
            "namespaces/open-cluster-management/",
            &format!("namespaces/{it}/"),
        )
    });
    for copy in &copies {
        once(admin, copy, "it is copied", |it| {
            it["data"][".dockerconfigjson"] == "e30="
        })
        .await;
    }
    once(admin, DEPLOYMENT, "its pods use it", |it| {
        it["spec"]["template"]["spec"]["imagePullSecrets"][0]["name"] == PULL_SECRET
    })
    .await;
    let other = json!({"data": {".dockerconfigjson": "e30K"}});
    admin.merge(&source, &other).await.unwrap().ok();
    for copy in &copies {
        once(admin, copy, "it is copied again", |it| {
            it["data"][".dockerconfigjson"] == "e30K"
        })
        .await;
    }
    admin.delete(&source).await.unwrap().ok();
    once(admin, DEPLOYMENT, "its pods use none", |it| {
        it["spec"]["template"]["spec"]["imagePullSecrets"].is_null()
    })
    .await;
    world.reports(DEPLOYMENT).await;
    for copy in &copies {
        gone(admin, copy).await;
    }
}
