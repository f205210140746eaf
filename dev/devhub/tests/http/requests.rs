use http::{StatusCode, header};
use serde_json::json;

use crate::client::{Answer, Client, SECRETS, hub};

#[tokio::test]
async fn who_is_asked_before_whether_and_whether_before_what() {
    let hub = hub(100).await;
    let nobody = Client::new(&hub, None, false);
    let answer = nobody.get("/apis/nope.io/v1/things").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        (answer.message(), &answer.body["reason"]),
        ("Unauthorized", &json!("Unauthorized"))
    );

    let user = Client::new(&hub, Some(("dev", &["team"])), false);
    let answer = user.get("/apis/nope.io/v1/things").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(
        answer.message(),
        "things.nope.io is forbidden: User \"dev\" cannot list resource \"things\" in API group \"nope.io\" at the cluster scope"
    );
    assert_eq!(user.get("/version").await.status, StatusCode::OK);

    let admin = Client::admin(&hub);
    let answer = admin.get("/apis/nope.io/v1/things").await;
    assert_eq!(
        (answer.status, &answer.body),
        (StatusCode::NOT_FOUND, &json!("404 page not found\n"))
    );
    let answer = admin.get("/api/v1/things").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(
        answer.message(),
        "the server could not find the requested resource"
    );
}

#[tokio::test]
async fn warnings_are_headers() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let request = client
        .request("POST", SECRETS)
        .header("content-type", "application/json");
    let body = r#"{"metadata": {"name": "a"}, "data": {"k": "MQ==", "k": "Mg=="}, "what": 1}"#;
    let answer = Answer::read(client.send(request, body).await).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.body["data"], json!({"k": "Mg=="}));
    let mut warnings: Vec<_> = answer.headers.get_all(header::WARNING).iter().collect();
    warnings.sort();
    assert_eq!(
        warnings,
        [
            "299 - \"duplicate field \\\"data.k\\\"\"",
            "299 - \"unknown field \\\"what\\\"\""
        ]
    );
}

#[tokio::test]
async fn what_is_deleted_is_told_by_a_status() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let created = client.create("a", "x").await;
    let path = format!("{SECRETS}/a");
    let dry = client
        .ask("DELETE", &format!("{path}?dryRun=All"), None)
        .await;
    assert_eq!(dry.status, StatusCode::OK);
    let finalizers = json!({"metadata": {"finalizers": ["x.io/f"]}});
    client.ask("PATCH", &path, Some(finalizers)).await;
    let waits = client.ask("DELETE", &path, None).await;
    assert_eq!(
        (waits.status, &waits.body["kind"]),
        (StatusCode::OK, &json!("Secret"))
    );
    assert!(waits.body["metadata"]["deletionTimestamp"].is_string());
    let waits = client
        .ask("DELETE", &format!("{path}?orphanDependents=false"), None)
        .await;
    assert_eq!(waits.status, StatusCode::ACCEPTED);
    let free = json!({"metadata": {"finalizers": null}});
    let last = client.ask("PATCH", &path, Some(free)).await;
    assert_eq!(last.body["metadata"]["finalizers"], json!(null));
    // It was never stored so.
    let version = |answer: &Answer| answer.body["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&last), version(&waits));
    assert_eq!(client.get(&path).await.status, StatusCode::NOT_FOUND);

    client.create("b", "x").await;
    let gone = client.ask("DELETE", &format!("{SECRETS}/b"), None).await;
    let details = &gone.body["details"];
    assert_eq!(
        (&gone.body["kind"], &gone.body["status"]),
        (&json!("Status"), &json!("Success"))
    );
    assert_eq!(
        (&details["name"], &details["kind"]),
        (&json!("b"), &json!("secrets"))
    );
    assert_ne!(details["uid"], created["metadata"]["uid"]);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "x".repeat(3 * 1024 * 1024)}});
    let answer = client.ask("POST", SECRETS, Some(object)).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.body["reason"], "RequestEntityTooLarge");
    assert_eq!(
        answer.message(),
        "Request entity too large: limit is 3145728"
    );
}

#[tokio::test]
async fn people_get_indentation_and_yaml_if_they_like() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    let path = format!("{SECRETS}/a");
    let request = client.request("GET", &path).header("user-agent", "curl/8");
    let response = client.send(request, "").await;
    let bytes = http_body_util::BodyExt::collect(response.into_body())
        .await
        .unwrap()
        .to_bytes();
    assert!(bytes.starts_with(b"{\n  \""));
    let request = client
        .request("GET", &path)
        .header("accept", "application/yaml");
    let answer = Answer::read(client.send(request, "").await).await;
    assert!(answer.body.as_str().unwrap().contains("kind: Secret\n"));
}

#[tokio::test]
async fn health_is_told() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, &answer.body),
            (StatusCode::OK, &json!("ok")),
            "{path}"
        );
    }
    let verbose = client.get("/readyz?verbose").await;
    assert_eq!(verbose.body, "[+]ping ok\nreadyz check passed\n");
}

#[tokio::test]
async fn protobuf_is_taken_and_json_given() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    // As kubectl create configmap a --from-literal=k=v sends it.
    let sent = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x1b\n\x11\n\x01a\x12\0\x1a\0\"\0*\x002\08\0B\0\x12\x06\n\x01k\x12\x01v\x1a\0\"\0";
    let request = client
        .request("POST", "/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/vnd.kubernetes.protobuf")
        .header(
            "accept",
            "application/vnd.kubernetes.protobuf,application/json",
        );
    let answer = Answer::read(client.send(request, &sent[..]).await).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
    assert_eq!(answer.body["data"], json!({"k": "v"}));
    let request = client
        .request("GET", "/api/v1/namespaces/default/configmaps/a")
        .header("accept", "application/vnd.kubernetes.protobuf");
    let answer = Answer::read(client.send(request, "").await).await;
    assert_eq!(answer.status, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn what_devhub_has_not_it_refuses() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {
            "group": "x.io",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = client.ask("POST", path, Some(definition)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let things = "/apis/x.io/v1/namespaces/default/things";
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}});
    let answer = client.ask("POST", things, Some(thing)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let answer = client.get(&format!("{things}/a/scale")).await;
    assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
    assert_eq!(answer.body["reason"], "NotImplemented");
    assert!(
        answer
            .message()
            .starts_with("devhub does not implement the subresource \"scale\";")
    );
    let answer = client.get(&format!("{things}/a/status")).await;
    assert_eq!(
        (answer.status, answer.message()),
        (StatusCode::NOT_FOUND, "things.x.io \"a\" not found")
    );
    let list = client.get(things).await;
    assert_eq!(
        list.body["items"][0]["kind"], "Thing",
        "items of custom kinds have a type"
    );
}

#[tokio::test]
async fn servers_find_out_who_signs_certificates_of_clients() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let name = "extension-apiserver-authentication";
    let path = format!("/api/v1/namespaces/kube-system/configmaps/{name}");
    let answer = client.get(&path).await;
    assert_eq!(
        (answer.status, &answer.body["data"]),
        (
            StatusCode::OK,
            &json!({"client-ca-file": hub.client_ca().certificate_pem()})
        )
    );
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader";
    let answer = client.get(path).await;
    assert_eq!(
        answer.body["rules"],
        json!([{
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [name],
            "verbs": ["get", "list", "watch"],
        }])
    );
    hub.shutdown().await;
}
