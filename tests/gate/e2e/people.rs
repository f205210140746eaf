//! The users of the tests, and the rights of the gate's own account.

use serde_json::json;

use berth_testkit::cluster::{Cluster, Credentials, fresh, kubectl_is_there};
use berth_testkit::guarded::{Guarded, gates_account};

const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

#[tokio::test]
async fn a_certificate_names_its_user_and_groups() {
    let cluster = Cluster::shared().await;
    let name = fresh("dev");
    let dev = cluster.user(&name, &["team-a", "team-b"]).await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = dev.post(WHO_AM_I, &review).await.unwrap();
    let user = &answer.ok()["status"]["userInfo"];
    assert_eq!(user["username"], name);
    let groups = json!(["team-a", "team-b", "system:authenticated"]);
    assert_eq!(user["groups"], groups);
}

#[tokio::test]
async fn a_token_names_its_service_account() {
    let cluster = Cluster::shared().await;
    let name = fresh("agent");
    let agent = cluster.service_account("default", &name).await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let answer = agent.post(WHO_AM_I, &review).await.unwrap();
    let user = &answer.ok()["status"]["userInfo"];
    assert_eq!(
        user["username"],
        format!("system:serviceaccount:default:{name}")
    );
    let groups = json!([
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]);
    assert_eq!(user["groups"], groups);
}

#[tokio::test]
async fn whoever_cannot_prove_who_they_are_is_nobody() {
    let cluster = Cluster::shared().await;
    let forged =
        Credentials::Token("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.Zm9yZ2Vk".to_owned());
    for credentials in [&Credentials::None, &forged] {
        let nobody = cluster.person("nobody", credentials).await;
        let answer = nobody.get("/api/v1/namespaces").await.unwrap();
        assert_eq!(answer.refused(401, "Unauthorized"), "Unauthorized");
    }
    if kubectl_is_there() {
        let forger = cluster.person("forger", &forged).await;
        let output = forger
            .kubectl(&["get", "--raw", "/api/v1/namespaces"])
            .await;
        let complaint = "error: You must be logged in to the server (Unauthorized)\n";
        assert!(output.failed().ends_with(complaint), "{output:?}");
    }
}

#[tokio::test]
async fn the_gates_account_may_do_what_its_role_says_and_nothing_else() {
    let hub = Guarded::shared().await;
    let gate = gates_account(hub.cluster).await;
    let list = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersetbindings";
    gate.get(list).await.unwrap().ok();
    let answer = gate.get("/api/v1/secrets").await.unwrap();
    assert_eq!(
        answer.refused(403, "Forbidden"),
        "secrets is forbidden: User \"system:serviceaccount:open-cluster-management-hub:registration-webhook-sa\" \
         cannot list resource \"secrets\" in API group \"\" at the cluster scope"
    );
}
