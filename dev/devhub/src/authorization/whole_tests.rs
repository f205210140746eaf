//! Who may do what, through whole writes into a hub without a network: escalation of rights, reviews, tokens, certificates.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::issue::Authority;
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use crate::World;
use crate::admission::Admission;
use crate::authentication::Authenticator;
use crate::authorization::{Authorizer, bootstrap};
use crate::object::Object;
use crate::resources::Registry;
use crate::status::ApiError;
use crate::storage::Store;
use crate::user::User;
use crate::writes::{FieldValidation, Patch, WriteOptions, Writer, create, patch, update};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

struct DevHub {
    world: World,
    now: Timestamp,
}

/// A resource, or a part of one: `("v1", "serviceaccounts/token")`.
type Place<'a> = (&'a str, &'a str, &'a str);

impl DevHub {
    fn new() -> Self {
        let now = Timestamp::now();
        let clients = Authority::new("clients", Duration::from_secs(86_400), now).unwrap();
        let hub = Self {
            world: World {
                store: Arc::new(Store::new(1000)),
                registry: Registry::new(),
                authenticator: Authenticator::new(Arc::new(clients), "CA", &[])
                    .unwrap()
                    .into(),
                authorizer: Authorizer::default(),
                admission: Admission::new(crate::Services::default()),
            },
            now,
        };
        for object in bootstrap::objects() {
            hub.put(object);
        }
        for namespace in ["app", "other"] {
            hub.put_json(json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": namespace, "uid": namespace },
            }));
        }
        hub
    }

    /// Stores an object as it is.
    fn put(&self, object: Object) {
        let (registry, store) = (&self.world.registry, &self.world.store);
        let resource = registry
            .find_kind(object.api_version(), object.kind())
            .unwrap();
        let key = resource.key(object.namespace(), object.name());
        store.create(&key, object).unwrap();
    }

    fn put_json(&self, object: Value) {
        self.put(Object::try_from(object).unwrap());
    }

    /// Binds a new ClusterRole with these rules to a user.
    fn grant(&self, user: &str, rules: Value) {
        let name = format!("{user}-{}", uuid::Uuid::new_v4());
        self.put_json(json!({
            "apiVersion": RBAC, "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules,
        }));
        self.put_json(json!({
            "apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": super::GROUP, "kind": "ClusterRole", "name": name },
            "subjects": [{ "apiGroup": super::GROUP, "kind": "User", "name": user }],
        }));
    }

    async fn write<T>(
        &self,
        user: &User,
        (api_version, path, namespace): Place<'_>,
        write: impl AsyncFnOnce(&Writer<'_>) -> T,
    ) -> T {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let resource = self.world.registry.find(group, version, resource).unwrap();
        let writer = Writer {
            world: &self.world,
            user,
            resource: &resource,
            subresource,
            namespace,
            options: WriteOptions {
                dry_run: false,
                field_manager: "test".to_owned(),
                field_validation: FieldValidation::Strict,
                field_manager_parameter: None,
                field_validation_parameter: None,
                force: false,
                timeout: Duration::from_secs(5),
            },
            now: self.now,
        };
        write(&writer).await
    }

    async fn create(&self, user: &User, place: Place<'_>, body: Value) -> Result<Object, ApiError> {
        self.create_in("", user, place, body).await
    }

    /// Creates below an object of this name.
    async fn create_in(
        &self,
        name: &str,
        user: &User,
        place: Place<'_>,
        body: Value,
    ) -> Result<Object, ApiError> {
        let body = Object::try_from(body).unwrap();
        let outcome = self.write(user, place, async |writer: &Writer<'_>| {
            create(writer, name, body, &mut Vec::new()).await
        });
        Ok(outcome.await?.object)
    }

    async fn update(
        &self,
        user: &User,
        place: Place<'_>,
        body: Object,
    ) -> Result<Object, ApiError> {
        let name = body.name().to_owned();
        let outcome = self.write(user, place, async |writer: &Writer<'_>| {
            update(writer, &name, body, &mut Vec::new()).await
        });
        Ok(outcome.await?.object)
    }

    async fn merge(
        &self,
        user: &User,
        place: Place<'_>,
        name: &str,
        change: Value,
    ) -> Result<Object, ApiError> {
        let outcome = self.write(user, place, async |writer: &Writer<'_>| {
            patch(writer, name, Patch::Merge(change), &[], &mut Vec::new()).await
        });
        Ok(outcome.await?.object)
    }

    fn stored(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Object {
        let resource = self.world.registry.find_kind(api_version, kind).unwrap();
        let stored = self.world.store.get(&resource.key(namespace, name));
        stored.unwrap().object.clone()
    }
}

fn admin() -> User {
    User::new("root", &["system:masters", "system:authenticated"])
}

fn dev() -> User {
    User::new("dev", &["system:authenticated"])
}

fn pods(verbs: &[&str]) -> Value {
    json!({ "apiGroups": [""], "resources": ["pods"], "verbs": verbs })
}

fn words(result: Result<Object, ApiError>) -> (u16, String) {
    match result {
        Ok(_) => (200, String::new()),
        Err(error) => (error.code.as_u16(), error.message),
    }
}

#[tokio::test]
async fn a_role_is_written_by_those_who_hold_its_rights() {
    let hub = DevHub::new();
    hub.grant("dev", json!([pods(&["get"])]));
    let roles: Place<'_> = (RBAC, "roles", "app");
    let cluster_roles: Place<'_> = (RBAC, "clusterroles", "");
    let role = |name: &str, rules: Value| json!({ "metadata": { "name": name }, "rules": rules });

    let held = hub
        .create(&dev(), roles, role("held", json!([pods(&["get"])])))
        .await;
    assert_eq!(words(held), (200, String::new()));
    let groups = r#"(groups=["system:authenticated"])"#;
    let more = hub
        .create(&dev(), roles, role("more", json!([pods(&["get", "list"])])))
        .await;
    let expected = format!(
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"dev\" {groups} is attempting to grant RBAC permissions not currently held:\n{{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}}"
    );
    assert_eq!(words(more), (403, expected));
    let by_admin = hub
        .create(&admin(), roles, role("more", json!([pods(&["list"])])))
        .await;
    assert_eq!(words(by_admin), (200, String::new()));

    // What does not change rights, anybody may write who may write roles; labels are more than that.
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/f"] } });
    let touched = hub.merge(&dev(), roles, "more", finalizers).await;
    assert_eq!(words(touched), (200, String::new()));
    let labels = json!({ "metadata": { "labels": { "a": "b" } } });
    let labelled = hub.merge(&dev(), roles, "more", labels.clone()).await;
    assert_eq!(words(labelled).0, 403);

    let aggregated = json!({
        "metadata": { "name": "agg" },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] },
    });
    let refused = hub.create(&dev(), cluster_roles, aggregated.clone()).await;
    let expected = "clusterroles.rbac.authorization.k8s.io \"agg\" is forbidden: must have cluster-admin privileges to use the aggregationRule";
    assert_eq!(words(refused), (403, expected.to_owned()));

    hub.grant("dev", json!([{ "apiGroups": [super::GROUP], "resources": ["roles"], "verbs": ["escalate"], "resourceNames": ["more"] }]));
    let labelled = hub.merge(&dev(), roles, "more", labels).await;
    assert_eq!(words(labelled), (200, String::new()), "escalate, by name");
    let created = hub
        .create(&dev(), roles, role("new", json!([pods(&["list"])])))
        .await;
    assert_eq!(words(created).0, 403, "a creation has no name to compare");
    hub.grant("dev", json!([{ "apiGroups": [super::GROUP], "resources": ["clusterroles"], "verbs": ["escalate"] }]));
    let created = hub.create(&dev(), cluster_roles, aggregated).await;
    assert_eq!(words(created), (200, String::new()), "escalate");
}

#[tokio::test]
async fn a_role_is_bound_by_those_who_hold_its_rights() {
    let hub = DevHub::new();
    hub.grant("dev", json!([pods(&["get"])]));
    let bindings: Place<'_> = (RBAC, "rolebindings", "app");
    let binding = |name: &str, role: &str| {
        json!({
            "metadata": { "name": name },
            "roleRef": { "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "User", "name": "friend" }],
        })
    };
    hub.put_json(json!({
        "apiVersion": RBAC, "kind": "ClusterRole", "metadata": { "name": "getter" }, "rules": [pods(&["get"])],
    }));
    let rows = [
        ("getter", 200, String::new()),
        (
            "gone",
            404,
            "rolebindings.rbac.authorization.k8s.io \"gone\" not found".to_owned(),
        ),
        (
            "system:auth-delegator",
            403,
            "rolebindings.rbac.authorization.k8s.io \"system:auth-delegator\" is forbidden: user \"dev\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"authentication.k8s.io\"], Resources:[\"tokenreviews\"], Verbs:[\"create\"]}\n{APIGroups:[\"authorization.k8s.io\"], Resources:[\"subjectaccessreviews\"], Verbs:[\"create\"]}".to_owned(),
        ),
    ];
    for (role, code, message) in rows {
        let created = hub.create(&dev(), bindings, binding(role, role)).await;
        assert_eq!(words(created), (code, message), "{role}");
    }
    let bind = json!([{ "apiGroups": [super::GROUP], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["system:auth-delegator"] }]);
    hub.grant("dev", bind);
    let name = "system:auth-delegator";
    let created = hub.create(&dev(), bindings, binding(name, name)).await;
    assert_eq!(words(created), (200, String::new()), "bind");

    let mut changed = hub.stored(RBAC, "RoleBinding", "app", "getter");
    changed.set(&["roleRef", "name"], "view");
    let refused = hub.update(&admin(), bindings, changed).await;
    let expected = "RoleBinding.rbac.authorization.k8s.io \"getter\" is invalid: roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"view\"}: cannot change roleRef";
    assert_eq!(words(refused), (422, expected.to_owned()));
}

#[tokio::test]
async fn aggregated_roles_have_the_rules_they_select() {
    let hub = DevHub::new();
    let roles: Place<'_> = (RBAC, "clusterroles", "");
    let rules = |name: &str| {
        let role = hub.stored(RBAC, "ClusterRole", "", name);
        role.at(&["rules"]).cloned().unwrap_or_default()
    };
    let with_widgets = |name: &str| {
        let rules = rules(name);
        let mut rules = rules.as_array().unwrap().iter();
        rules.any(|rule| rule["resources"] == json!(["widgets"]))
    };
    assert!(!with_widgets("admin"));
    let part = json!({
        "metadata": { "name": "widgets", "labels": { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
        "rules": [{ "apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"] }],
    });
    hub.create(&admin(), roles, part).await.unwrap();
    for name in ["view", "edit", "admin"] {
        assert!(with_widgets(name), "{name}");
    }
    let label = json!({ "metadata": { "labels": { "rbac.authorization.k8s.io/aggregate-to-view": null, "x": "y" } } });
    hub.merge(&admin(), roles, "widgets", label).await.unwrap();
    for name in ["view", "edit", "admin"] {
        assert!(!with_widgets(name), "{name}");
    }
    // Whatever somebody writes there does not stay.
    let before = rules("view");
    let own = json!({ "rules": [pods(&["delete"])] });
    hub.merge(&admin(), roles, "view", own).await.unwrap();
    assert_eq!(rules("view"), before);
}

#[tokio::test]
async fn reviews_say_whether_and_why() {
    let hub = DevHub::new();
    hub.grant("dev", json!([pods(&["get"])]));
    let reviews: Place<'_> = ("authorization.k8s.io/v1", "subjectaccessreviews", "");
    let ask = async |user: &str, groups: &[&str], verb: &str| {
        let attributes = json!({ "verb": verb, "resource": "pods", "namespace": "app" });
        let spec = json!({ "user": user, "groups": groups, "resourceAttributes": attributes });
        let answer = hub
            .create(&admin(), reviews, json!({ "spec": spec }))
            .await
            .unwrap();
        answer.at(&["status"]).cloned().unwrap()
    };
    let allowed = ask("dev", &[], "get").await;
    let reason = allowed["reason"].as_str().unwrap();
    assert_eq!(allowed["allowed"], true);
    assert!(
        reason.starts_with("RBAC: allowed by ClusterRoleBinding \"dev-"),
        "{reason}"
    );
    assert!(reason.ends_with("to User \"dev\""), "{reason}");
    assert_eq!(ask("dev", &[], "list").await, json!({ "allowed": false }));
    assert_eq!(
        ask("x", &["system:masters"], "list").await,
        json!({ "allowed": true })
    );
    hub.put_json(json!({
        "apiVersion": RBAC, "kind": "RoleBinding", "metadata": { "name": "b", "namespace": "app" },
        "roleRef": { "apiGroup": super::GROUP, "kind": "Role", "name": "gone" },
        "subjects": [{ "apiGroup": super::GROUP, "kind": "User", "name": "dev" }],
    }));
    let reason = r#"RBAC: role.rbac.authorization.k8s.io "gone" not found"#;
    assert_eq!(
        ask("dev", &[], "list").await,
        json!({ "allowed": false, "reason": reason })
    );

    let self_reviews: Place<'_> = ("authorization.k8s.io/v1", "selfsubjectaccessreviews", "");
    let attributes = json!({ "path": "/version", "verb": "get" });
    let question = json!({ "spec": { "nonResourceAttributes": attributes } });
    let answer = hub.create(&dev(), self_reviews, question).await.unwrap();
    let reason = "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\"";
    assert_eq!(
        answer.at(&["status"]),
        Some(&json!({ "allowed": true, "reason": reason }))
    );

    let local: Place<'_> = (
        "authorization.k8s.io/v1",
        "localsubjectaccessreviews",
        "app",
    );
    let question = json!({ "spec": { "user": "dev", "resourceAttributes": { "verb": "get", "resource": "pods", "namespace": "other" } } });
    let refused = hub.create(&admin(), local, question).await;
    let expected = ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: null: must match metadata.namespace";
    assert_eq!(words(refused), (422, expected.to_owned()));

    let rules: Place<'_> = ("authorization.k8s.io/v1", "selfsubjectrulesreviews", "");
    let refused = hub.create(&dev(), rules, json!({ "spec": {} })).await;
    assert_eq!(words(refused), (400, "no namespace on request".to_owned()));
    let answer = hub
        .create(&dev(), rules, json!({ "spec": { "namespace": "other" } }))
        .await;
    let status = answer.unwrap().at(&["status"]).cloned().unwrap();
    let found = status["resourceRules"].as_array().unwrap();
    assert!(found.contains(&pods(&["get"])), "{status}");
    assert_eq!(status["incomplete"], false);
}

fn bearer(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    headers.insert(header::AUTHORIZATION, value);
    headers
}

#[tokio::test]
async fn a_token_that_was_asked_for_lets_in() {
    let hub = DevHub::new();
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "bot", "namespace": "app", "uid": "u1" },
    });
    hub.put_json(account);
    let tokens: Place<'_> = ("v1", "serviceaccounts/token", "app");
    let answer = hub
        .create_in("bot", &admin(), tokens, json!({}))
        .await
        .unwrap();
    assert_eq!(
        answer.at(&["spec", "expirationSeconds"]),
        Some(&json!(3600))
    );
    assert_eq!(
        (answer.kind(), answer.api_version()),
        ("TokenRequest", "authentication.k8s.io/v1")
    );
    let token = answer.str_at(&["status", "token"]).to_owned();
    let ask = |token: &str| {
        let (world, headers) = (&hub.world, bearer(token));
        let authenticator = &world.authenticator;
        authenticator.authenticate(world, None, &headers, hub.now)
    };
    assert_eq!(ask(&token).unwrap().name, "system:serviceaccount:app:bot");
    let forged = format!("{}x", &token[..token.len() - 1]);
    for bad in [forged.as_str(), "x", "a.b.c"] {
        let error = ask(bad).unwrap_err();
        assert_eq!(
            (error.code.as_u16(), error.message.as_str()),
            (401, "Unauthorized"),
            "{bad}"
        );
    }
    let gone = hub.create_in("nobody", &admin(), tokens, json!({})).await;
    assert_eq!(
        words(gone),
        (404, "serviceaccounts \"nobody\" not found".to_owned())
    );
    let pod =
        json!({ "spec": { "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": "p" } } });
    let refused = hub.create_in("bot", &admin(), tokens, pod).await;
    assert_eq!(words(refused).0, 501);

    let reviews: Place<'_> = ("authentication.k8s.io/v1", "tokenreviews", "");
    let review = async |token: &str| {
        let question = json!({ "spec": { "token": token } });
        let answer = hub.create(&admin(), reviews, question).await.unwrap();
        answer.at(&["status"]).cloned().unwrap()
    };
    let status = review(&token).await;
    assert_eq!(status["authenticated"], true);
    assert_eq!(
        status["audiences"],
        json!(["https://kubernetes.default.svc"])
    );
    assert_eq!(status["user"]["uid"], "u1");
    let expected = json!({ "user": {}, "error": "invalid bearer token" });
    assert_eq!(review("abc").await, expected);
}

fn request_for(groups: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, groups);
    params.distinguished_name.push(DnType::CommonName, "agent");
    let request = params.serialize_request(&KeyPair::generate().unwrap());
    BASE64_STANDARD.encode(request.unwrap().pem().unwrap())
}

#[tokio::test]
async fn a_signing_request_is_approved_by_those_who_may() {
    let hub = DevHub::new();
    let version = "certificates.k8s.io/v1";
    let requests: Place<'_> = (version, "certificatesigningrequests", "");
    let signer = "kubernetes.io/kube-apiserver-client";
    let csr = |groups: &str| {
        json!({
            "metadata": { "name": "c" },
            "spec": {
                "request": request_for(groups), "signerName": signer, "usages": ["client auth"],
                "username": "somebody else",
            },
            "status": { "certificate": "eA==" },
        })
    };
    let refused = hub.create(&dev(), requests, csr("system:masters")).await;
    let expected = "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
    assert_eq!(words(refused), (403, expected.to_owned()));

    let created = hub.create(&dev(), requests, csr("agents")).await.unwrap();
    assert_eq!(created.str_at(&["spec", "username"]), "dev");
    assert_eq!(
        created.at(&["spec", "groups"]),
        Some(&json!(["system:authenticated"]))
    );
    assert_eq!(created.at(&["status"]), Some(&json!({})));

    let mut changed = created.clone();
    changed.set(&["spec", "signerName"], "example.com/other");
    changed.set(&["metadata", "labels"], json!({ "a": "b" }));
    let changed = hub.update(&dev(), requests, changed).await.unwrap();
    assert_eq!(
        changed.str_at(&["spec", "signerName"]),
        signer,
        "it does not change"
    );
    assert_eq!(changed.labels()["a"], "b");

    let approval: Place<'_> = (version, "certificatesigningrequests/approval", "");
    let mut approved = changed.clone();
    let condition = json!([{ "type": "Approved", "status": "True", "reason": "Tested" }]);
    approved.set(&["status", "conditions"], condition);
    let refused = hub.update(&dev(), approval, approved.clone()).await;
    let expected = "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to approve requests with signerName \"kubernetes.io/kube-apiserver-client\"";
    assert_eq!(words(refused), (403, expected.to_owned()));
    hub.grant("dev", json!([{ "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"], "resourceNames": ["kubernetes.io/*"] }]));
    let approved = hub.update(&dev(), approval, approved).await.unwrap();
    let condition = &approved.at(&["status", "conditions"]).unwrap()[0];
    assert!(condition["lastUpdateTime"].is_string(), "{condition}");

    let status: Place<'_> = (version, "certificatesigningrequests/status", "");
    let mut failed = approved.clone();
    let mut conditions = failed.at(&["status", "conditions"]).unwrap().clone();
    let failure = json!({ "type": "Failed", "status": "True" });
    conditions.as_array_mut().unwrap().push(failure);
    failed.set(&["status", "conditions"], conditions);
    let refused = hub.update(&dev(), status, failed.clone()).await;
    let expected = "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to sign requests with signerName \"kubernetes.io/kube-apiserver-client\"";
    assert_eq!(words(refused), (403, expected.to_owned()));
    assert_eq!(
        words(hub.update(&admin(), status, failed).await),
        (200, String::new())
    );
}
