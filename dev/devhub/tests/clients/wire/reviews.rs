//! Reviews of access, and requests for tokens.

use serde_json::{Value, json};

use crate::cluster::rule;
use crate::desk::Desk;

const REVIEWS: &str = "authorization.k8s.io/v1";

#[tokio::test]
async fn a_question_is_about_a_user_and_an_action() {
    let desk = Desk::new().await;
    let review = |kind: &str| json!({ "apiVersion": REVIEWS, "kind": kind });
    let path = format!("/apis/{REVIEWS}/subjectaccessreviews");
    desk.creates(&path, &review("SubjectAccessReview"), r#"
{"spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
= fine
{"spec": {"groups": ["g"], "nonResourceAttributes": {"verb": "get", "path": "/x"}}}
= fine
{"spec": {}}
= [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: [..]: at least one of user or group must be specified]
{"spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}, "nonResourceAttributes": {"verb": "get", "path": "/x"}}}
= spec.nonResourceAttributes: Invalid value: [..]: cannot be specified in combination with resourceAttributes
"#)
    .await;
    let path = desk.in_group(REVIEWS, "localsubjectaccessreviews");
    desk.creates(&path, &review("LocalSubjectAccessReview"), r#"
{"metadata": {"namespace": "{ns}"}, "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}}}
= spec.resourceAttributes.namespace: Invalid value: [..]: must match metadata.namespace
{"metadata": {"namespace": "{ns}"}, "spec": {"user": "u", "nonResourceAttributes": {"verb": "get", "path": "/x"}}}
= spec.nonResourceAttributes: Invalid value: [..]: disallowed on this kind of request
"#)
    .await;
    let path = format!("/apis/{REVIEWS}/selfsubjectaccessreviews");
    desk.creates(
        &path,
        &review("SelfSubjectAccessReview"),
        r#"
{"spec": {"nonResourceAttributes": {"verb": "get", "path": "/x"}}}
= fine
{"metadata": {"name": "x"}, "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
= metadata: Invalid value: [..]: must be empty
"#,
    )
    .await;
    let path = format!("/apis/{REVIEWS}/selfsubjectrulesreviews");
    desk.creates(
        &path,
        &review("SelfSubjectRulesReview"),
        r#"
{"spec": {}}
= 400 BadRequest: no namespace on request
"#,
    )
    .await;
}

#[tokio::test]
async fn an_answer_says_why() {
    let desk = Desk::new().await;
    let joe = format!("{}-joe", desk.namespace);
    let user = desk.cluster.user(&joe, &[]).await;
    let pods = rule(&["get"], "", &["pods"], &[]);
    desk.cluster.grant_in(&desk.namespace, &user, &[pods]).await;
    let ask = async |spec: Value| {
        let review = json!({ "apiVersion": REVIEWS, "kind": "SubjectAccessReview", "spec": spec });
        let path = format!("/apis/{REVIEWS}/subjectaccessreviews");
        desk.admin.post(&path, &review).await.unwrap().ok()["status"].clone()
    };
    let pods =
        |verb: &str| json!({ "verb": verb, "resource": "pods", "namespace": desk.namespace });
    let allowed = ask(json!({ "user": joe, "resourceAttributes": pods("get") })).await;
    assert_eq!(allowed["allowed"], true);
    let words = allowed["reason"]
        .as_str()
        .unwrap()
        .split('"')
        .collect::<Vec<_>>();
    let [by, _, of, _, to, who, _] = words[..] else {
        panic!("{words:?}")
    };
    assert_eq!(
        [by, of, to, who],
        [
            "RBAC: allowed by RoleBinding ",
            " of Role ",
            " to User ",
            &joe
        ]
    );
    let denied = ask(json!({ "user": joe, "resourceAttributes": pods("list") })).await;
    assert_eq!(denied, json!({ "allowed": false }));
    let master =
        json!({ "user": "x", "groups": ["system:masters"], "resourceAttributes": pods("list") });
    assert_eq!(ask(master).await, json!({ "allowed": true }));
    let apis = json!({ "verb": "get", "path": "/apis" });
    let everybody = json!({ "groups": ["system:authenticated"], "nonResourceAttributes": apis });
    let reason = r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#;
    assert_eq!(
        ask(everybody).await,
        json!({ "allowed": true, "reason": reason })
    );

    // Bindings of roles that do not exist are in the reason.
    let bind = async |role: &str| {
        let binding = json!({
            "metadata": { "generateName": "b-" }, "roleRef": { "apiGroup": "", "kind": "Role", "name": role },
            "subjects": [{ "kind": "User", "name": joe }],
        });
        let path = desk.in_group("rbac.authorization.k8s.io/v1", "rolebindings");
        desk.admin.post(&path, &binding).await.unwrap().ok();
        let review = json!({ "user": joe, "resourceAttributes": pods("list") });
        berth_testkit::eventually("the binding counts", async || {
            let reason = ask(review.clone()).await["reason"].to_string();
            berth_testkit::when(reason, |reason| reason.contains(role))
        })
        .await
    };
    bind("gone").await;
    let refused = user.get(&desk.core("secrets")).await.unwrap();
    let words = refused.refused(403, "Forbidden");
    assert!(
        words.ends_with(": RBAC: role.rbac.authorization.k8s.io \"gone\" not found"),
        "{words}"
    );
    assert!(
        bind("lost")
            .await
            .contains("RBAC: [role.rbac.authorization.k8s.io")
    );
}

#[tokio::test]
async fn a_token_is_for_a_time_and_for_audiences() {
    let desk = Desk::new().await;
    let robot = json!({ "metadata": { "name": "robot" } });
    desk.admin
        .post(&desk.core("serviceaccounts"), &robot)
        .await
        .unwrap()
        .ok();
    let base =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    desk.creates(
        &desk.core("serviceaccounts/robot/token"),
        &base,
        r#"
{"spec": {"expirationSeconds": 600, "audiences": []}}
= fine
{"spec": {"expirationSeconds": 599}}
= spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes
{"spec": {"expirationSeconds": 4294967297}}
= spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds
{"spec": {"expirationSeconds": "600"}}
= 400 BadRequest: [..]
{"spec": {"audiences": "vault"}}
= 400 BadRequest: [..]
{"metadata": {"name": "robot", "namespace": "{ns}"}}
= fine
{"metadata": {"namespace": "other"}}
= 400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
{"metadata": {"uid": "2"}}
= 409 Conflict: Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (2) does not match the UID of the service account ([..])
"#,
    )
    .await;
    let token = desk.core("serviceaccounts/robot/token");
    let made = desk.admin.post(&token, &base).await.unwrap();
    let kind = ["apiVersion", "kind"].map(|field| made.ok()[field].clone());
    assert_eq!(
        kind,
        ["authentication.k8s.io/v1", "TokenRequest"].map(Value::from)
    );
    let review = json!({ "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": { "token": "abc" } });
    let review = desk
        .admin
        .post("/apis/authentication.k8s.io/v1/tokenreviews", &review)
        .await
        .unwrap();
    assert_eq!(review.ok()["status"]["user"], json!({}));
    assert!(
        review.ok()["status"]["error"]
            .as_str()
            .unwrap()
            .contains("invalid bearer token")
    );
}
