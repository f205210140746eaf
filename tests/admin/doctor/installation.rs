//! Faults of the installation: registrations, Deployments, rights and leases.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{DEPLOYMENTS, Expected, NAMESPACE, OF_BINDINGS, OF_CLUSTERS, VALIDATING, Ward, issued};
use berth_testkit::cluster::documents_of;

#[tokio::test]
async fn faults_of_an_installation_are_found_one_by_one() {
    let ward = Ward::new().await;
    ward.is_sound().await;

    // 1. A CRD whose schema lacks what the gate guards.
    let crd = "managedclusters.cluster.open-cluster-management.io";
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}");
    let before = ward
        .change(&path, |crd| {
            let root = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let spec = &mut root["properties"]["spec"]["properties"];
            let item = &mut spec["managedClusterClientConfigs"]["items"]["properties"];
            item.as_object_mut().unwrap().remove("caBundle").unwrap();
        })
        .await;
    let expected = Expected {
        check: "crds",
        severity: "fault",
        object: crd,
        says: "its schema lacks spec.managedClusterClientConfigs[].caBundle",
        remedy: "kubectl apply -k manifests/crds",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 2. A registration that is not there.
    ward.unregister(OF_BINDINGS).await;
    let expected = Expected {
        check: "registrations",
        severity: "fault",
        object: OF_BINDINGS,
        says: "it does not exist: any user who may write bindings may bind any set",
        remedy: "kubectl apply -k",
    };
    ward.finds(expected, &[]).await;
    ward.register().await;
    ward.is_sound().await;

    // 3. A registration that fails open.
    ward.change_registration(OF_CLUSTERS, |it| it["failurePolicy"] = json!("Ignore"))
        .await;
    let expected = Expected {
        check: "registrations",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "failurePolicy is \"Ignore\"; the shipped value is \"Fail\"",
        remedy: r#"-p '[{"op":"add","path":"/webhooks/0/failurePolicy","value":"Fail"}]'"#,
    };
    ward.finds(expected, &[]).await;
    ward.register().await;

    // What is only to be warned of fails on demand.
    ward.change_registration(OF_CLUSTERS, |it| it["timeoutSeconds"] = json!(20))
        .await;
    ward.berth("doctor").await.ok();
    let strict = ward.berth("doctor --strict").await;
    assert_eq!(strict.code, 1, "{strict:?}");
    ward.register().await;
    ward.is_sound().await;

    // 4. A caBundle that is another CA's.
    let (ca, _) = issued("somebody.svc");
    ward.change_registration(OF_CLUSTERS, |it| {
        it["clientConfig"]["caBundle"] = json!(STANDARD.encode(&ca));
    })
    .await;
    let expected = Expected {
        check: "webhook-certificate",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "its caBundle does not match the certificate that certificate/https://127.0.0.1:",
        remedy: "kubectl patch validatingwebhookconfiguration",
    };
    ward.finds(expected, &["dry-run"]).await;
    // And the API server says the same.
    let expected = Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "the API server cannot call the webhook",
        remedy: "see webhook-certificate",
    };
    ward.finds(expected, &["webhook-certificate"]).await;
    ward.register().await;
    ward.is_sound().await;

    // 5. Nobody at the address.
    ward.change_registration(OF_CLUSTERS, |it| {
        let url = it["clientConfig"]["url"].as_str().unwrap();
        let path = url.rsplit_once('/').unwrap().1;
        it["clientConfig"]["url"] = json!(format!("https://127.0.0.1:1/{path}"));
    })
    .await;
    let expected = Expected {
        check: "dry-run",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "the API server cannot call the webhook",
        remedy: "check that the gate runs",
    };
    ward.finds(expected, &["webhook-certificate"]).await;
    ward.register().await;
    ward.is_sound().await;

    // 6. Rights of the controller that somebody took away.
    let role = "open-cluster-management:berth-registration:controller";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward
        .change(&path, |role| {
            let rules = role["rules"].as_array_mut().unwrap();
            rules.retain(|it| it["resources"][0] != "managedclustersets/status");
        })
        .await;
    let account = format!(
        "system:serviceaccount:{NAMESPACE}:{}",
        berth_testkit::shipped::CONTROLLER
    );
    let expected = Expected {
        check: "controller-rights",
        severity: "fault",
        object: &account,
        says: "it lacks verb \"patch\" on managedclustersets/status.cluster.open-cluster-management.io: the controller",
        remedy: "kubectl apply -f manifests/server/controller-role.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 7. Rights of the gate that somebody took away.
    let role = "open-cluster-management:berth-registration:webhook";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward.change(&path, |role| role["rules"] = json!([])).await;
    let account = format!(
        "system:serviceaccount:{NAMESPACE}:{}",
        berth_testkit::shipped::GATE
    );
    let expected = Expected {
        check: "gate-rights",
        severity: "fault",
        object: &account,
        says: "it lacks verb \"get\" on namespaces; verb \"create\" on subjectaccessreviews.authorization.k8s.io",
        remedy: "kubectl apply -f manifests/server/cluster-role.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 7a. A role that all agents share and somebody edited: the controller's account may not mend it.
    let role = "open-cluster-management:managedcluster:work";
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
    let before = ward
        .change(&path, |role| role["rules"][0]["verbs"] = json!(["create"]))
        .await;
    let expected = Expected {
        check: "agent-roles",
        severity: "warning",
        object: role,
        says: "its rules differ from those that ship",
        remedy: "kubectl apply -f manifests/server/agent-roles.yaml",
    };
    ward.finds(expected, &[]).await;
    ward.restore(&path, &before).await;
    ward.is_sound().await;

    // 8. A registration of OCM's under another name.
    let mut old = ward.registrations[1].clone();
    old["metadata"]["name"] = json!("cluster-manager-old");
    old["webhooks"][0]["name"] = json!("old.admission.cluster.open-cluster-management.io");
    ward.make(VALIDATING, old).await;
    let expected = Expected {
        check: "ocm-leftovers",
        severity: "warning",
        object: "cluster-manager-old",
        says: "it covers the same objects as the gate",
        remedy: "kubectl delete validatingwebhookconfiguration cluster-manager-old",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{VALIDATING}/cluster-manager-old");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 9. OCM's controller beside ours.
    let gate = documents_of("manifests/server/deployment.yaml").remove(0);
    ward.make(DEPLOYMENTS, gate).await;
    let mut ours = documents_of("manifests/server/controller-deployment.yaml").remove(0);
    ward.make(DEPLOYMENTS, ours.clone()).await;
    ward.is_sound().await;
    let controller = "cluster-manager-registration-controller";
    ours["metadata"]["name"] = json!(controller);
    ours["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["/registration"]);
    ours["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["controller"]);
    ward.make(DEPLOYMENTS, ours).await;
    let expected = Expected {
        check: "ocm-leftovers",
        severity: "warning",
        object: controller,
        says: "OCM's controller runs beside Berth's",
        remedy: "scale deployment/cluster-manager-registration-controller --replicas=0",
    };
    ward.finds(expected, &[]).await;
    for name in [
        controller,
        "berth-registration-controller",
        "cluster-manager-registration-webhook",
    ] {
        let path = format!("{DEPLOYMENTS}/{name}");
        ward.admin.delete(&path).await.unwrap().ok();
    }
    ward.is_sound().await;

    // 10. A namespace in which nobody is elected.
    let elsewhere = ward.berth("doctor -n elsewhere").await;
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert!(
        elsewhere
            .stdout
            .starts_with("WARNING controller: lease/registration-controller-lock in elsewhere\n  it does not exist, so"),
        "{elsewhere:?}"
    );
}
