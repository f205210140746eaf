use serde_json::{Value, json};

use crate::differs::Settled;
use crate::testing::{Server, apply, drive, mapped, owner, strategy};
use crate::{ApplyOutcome, Applying, Response, Step, Verdict};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const NETWORKING: &str = "networking.k8s.io/v1";

fn object(version: &str, kind: &str, content: &Value) -> Value {
    let mut object =
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}});
    for (name, value) in content.as_object().unwrap() {
        object[name] = value.clone();
    }
    object
}

fn verdict(manifest: &Value, live: &Value) -> Verdict {
    let machine = Applying::new(mapped(manifest), None, owner("w"), Settled::default(), None);
    machine.unwrap().differs(live)
}

fn paths(verdict: &Verdict) -> Vec<&str> {
    let shown = verdict.differences.shown.iter();
    shown.map(|difference| difference.path.as_str()).collect()
}

#[test]
fn content_is_compared_as_the_kind_needs() {
    let hook = |more: Value| {
        let mut hook =
            json!({"name": "h", "clientConfig": {"service": {"name": "s", "namespace": "n"}}});
        for (name, value) in more.as_object().unwrap() {
            hook[name] = value.clone();
        }
        json!({"webhooks": [hook]})
    };
    let bundle = json!({"clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}, "caBundle": "Q0E="}, "timeoutSeconds": 10});
    let rules = |verb: &str| json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]});
    let subject = |group: &str| json!({"subjects": [{"kind": "User", "name": "u", "apiGroup": group}], "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}});
    for (sentence, version, kind, ours, theirs, expected) in [
        (
            "another value",
            "v1",
            "ConfigMap",
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": "2"}}),
            &["data.a"][..],
        ),
        (
            "an extra key",
            "v1",
            "ConfigMap",
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": "1", "b": "2"}}),
            &["data.b"],
        ),
        (
            "no data",
            "v1",
            "ConfigMap",
            json!({}),
            json!({"data": {"a": "1"}}),
            &["data"],
        ),
        (
            "nothing is nothing",
            "v1",
            "ConfigMap",
            json!({"data": {}}),
            json!({"binaryData": null}),
            &[],
        ),
        (
            "immutable is not taken away",
            "v1",
            "ConfigMap",
            json!({}),
            json!({"immutable": true}),
            &[],
        ),
        (
            "quantities are texts",
            "v1",
            "ConfigMap",
            json!({"data": {"cpu": "1"}}),
            json!({"data": {"cpu": "1000m"}}),
            &["data.cpu"],
        ),
        (
            "stringData is data",
            "v1",
            "Secret",
            json!({"stringData": {"a": "b"}}),
            json!({"data": {"a": "Yg=="}, "type": "Opaque"}),
            &[],
        ),
        (
            "an extra key",
            "v1",
            "Secret",
            json!({"data": {"a": "Yg=="}}),
            json!({"data": {"a": "Yg==", "b": "Yg=="}, "type": "Opaque"}),
            &["data.b"],
        ),
        (
            "a token keeps what the API server wrote",
            "v1",
            "Secret",
            json!({"type": "kubernetes.io/service-account-token"}),
            json!({"type": "kubernetes.io/service-account-token", "data": {"token": "eA=="}}),
            &[],
        ),
        (
            "rules",
            RBAC,
            "Role",
            rules("get"),
            rules("list"),
            &["rules[0].verbs[0]"],
        ),
        (
            "rules",
            RBAC,
            "ClusterRole",
            rules("get"),
            rules("list"),
            &["rules[0].verbs[0]"],
        ),
        (
            "rules of an aggregated role are the controller's",
            RBAC,
            "ClusterRole",
            json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}),
            json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}, "rules": rules("get")["rules"]}),
            &[],
        ),
        (
            "groups are filled in",
            RBAC,
            "RoleBinding",
            subject(""),
            subject("rbac.authorization.k8s.io"),
            &[],
        ),
        (
            "another role",
            RBAC,
            "RoleBinding",
            subject(""),
            json!({"subjects": subject("rbac.authorization.k8s.io")["subjects"],
            "roleRef": {"kind": "Role", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}}),
            &["roleRef.name"],
        ),
        (
            "defaults and an injected bundle",
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            hook(json!({})),
            hook(bundle),
            &[],
        ),
        (
            "another default",
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            hook(json!({})),
            hook(json!({"timeoutSeconds": 5})),
            &["webhooks[0].timeoutSeconds"],
        ),
        (
            "another selector of all",
            NETWORKING,
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}]}]}}),
            json!({"spec": {"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": {}}]}], "policyTypes": ["Ingress"]}}),
            &[
                "spec.ingress[0].from[0].podSelector",
                "spec.ingress[0].from[0].namespaceSelector",
            ],
        ),
        (
            "the selector of all pods is a default",
            NETWORKING,
            "NetworkPolicy",
            json!({"spec": {"egress": [{}]}}),
            json!({"spec": {"podSelector": {}, "egress": [{}], "policyTypes": ["Ingress", "Egress"]}}),
            &[],
        ),
        (
            "egress is restricted by another client",
            NETWORKING,
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "ingress": [{}]}}),
            json!({"spec": {"podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress", "Egress"]}}),
            &["spec.policyTypes"],
        ),
        (
            "egress is no longer restricted",
            NETWORKING,
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "egress": [{}]}}),
            json!({"spec": {"podSelector": {}, "egress": [{}], "policyTypes": ["Ingress"]}}),
            &["spec.policyTypes"],
        ),
        (
            "all namespaces are selected no longer",
            "monitoring.coreos.com/v1",
            "Prometheus",
            json!({"spec": {"replicas": 1}}),
            json!({"spec": {"replicas": 1, "serviceMonitorNamespaceSelector": {}}}),
            &["spec.serviceMonitorNamespaceSelector"],
        ),
        (
            "empty maps are not stored",
            "v1",
            "Service",
            json!({"spec": {"selector": {}, "ports": [{"port": 80}]}}),
            json!({"spec": {"ports": [{"port": 80}]}}),
            &[],
        ),
        (
            "selectors are defaults",
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            hook(json!({})),
            hook(json!({"namespaceSelector": {}, "objectSelector": {}})),
            &[],
        ),
        (
            "labels of a Namespace",
            "v1",
            "Namespace",
            json!({}),
            json!({"spec": {"finalizers": ["kubernetes"]}}),
            &[],
        ),
        (
            "what the API server allocates",
            "v1",
            "Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
            json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "sessionAffinity": "None",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]}}),
            &[],
        ),
        (
            "another port",
            "v1",
            "Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
            json!({"spec": {"ports": [{"port": 81}]}}),
            &["spec.ports[0].port"],
        ),
        (
            "an extra selector",
            "v1",
            "Service",
            json!({"spec": {"selector": {"a": "b"}}}),
            json!({"spec": {"selector": {"a": "b", "c": "d"}}}),
            &["spec.selector.c"],
        ),
    ] {
        let manifest = object(version, kind, &ours);
        let mut live = object(version, kind, &theirs);
        // The hash of the spec belongs to the manifest.
        live["metadata"]["annotations"] =
            Server::created(&manifest)["metadata"]["annotations"].clone();
        assert_eq!(
            paths(&verdict(&manifest, &live)),
            expected,
            "{kind}: {sentence}"
        );
    }
}

#[test]
fn keys_that_openshift_injects_stay() {
    let mut manifest = object("v1", "ConfigMap", &json!({"data": {"a": "1"}}));
    manifest["metadata"]["labels"] = json!({"config.openshift.io/inject-trusted-cabundle": "true"});
    let mut live = manifest.clone();
    live["data"]["ca-bundle.crt"] = "x".into();
    assert_eq!(paths(&verdict(&manifest, &live)), [""; 0]);
    live["data"]["service-ca.crt"] = "x".into();
    assert_eq!(
        paths(&verdict(&manifest, &live)),
        [r#"data["service-ca.crt"]"#]
    );
}

fn secret(kind: &str, data: &Value) -> Value {
    object("v1", "Secret", &json!({"type": kind, "data": data}))
}

#[test]
fn a_secret_of_another_type_and_an_immutable_class_are_created_anew() {
    let class = |name: &str| {
        object(
            "storage.k8s.io/v1",
            "StorageClass",
            &json!({"provisioner": name}),
        )
    };
    for (old, new) in [
        (secret("a", &json!({})), secret("b", &json!({}))),
        (class("a"), class("b")),
    ] {
        let mut server = Server::with(&old, "kubectl");
        server.immutable =
            |old, new| old["provisioner"] != new["provisioner"] || old["type"] != new["type"];
        let (outcome, requests) = apply(
            &mut server,
            &new,
            json!({"type": "Update"}),
            owner("w"),
            Settled::default(),
        );
        assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
        assert_eq!(requests, ["get", "update", "delete", "create"]);
        assert_eq!(server.owner_names(), ["w"]);
    }
}

#[test]
fn an_object_is_not_deleted_for_a_manifest_that_is_invalid() {
    for (sentence, kind, immutable) in [
        ("the data are invalid", "kubernetes.io/tls", false),
        ("the type is another one, too", "Opaque", true),
    ] {
        let mut server = Server::with(&secret(kind, &json!({"tls.crt": "eA=="})), "kubectl");
        server.immutable = |old, new| old["type"] != new["type"];
        server.invalid = |_| Some("Required value: tls.key");
        let (outcome, requests) = apply(
            &mut server,
            &secret("kubernetes.io/tls", &json!({"tls.crt": "eQ=="})),
            json!({"type": "Update"}),
            owner("w"),
            Settled::default(),
        );
        assert_eq!(requests, ["get", "update"], "{sentence}");
        assert!(server.live().is_some(), "{sentence}");
        let ApplyOutcome::Failed(failure) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(failure.reason, "AppliedManifestFailed");
        assert_eq!(
            failure.message.contains("field is immutable"),
            immutable,
            "{sentence}: {}",
            failure.message
        );
        assert!(
            failure.message.ends_with("Required value: tls.key"),
            "{sentence}: {}",
            failure.message
        );
    }
}

#[test]
fn what_only_updates_need_is_no_drift_of_a_read_only_object() {
    for (version, kind, content) in [
        ("v1", "Service", json!({"spec": {"ports": [{"port": 80}]}})),
        (
            "storage.k8s.io/v1",
            "CSIDriver",
            json!({"spec": {"attachRequired": false}}),
        ),
        (
            "v1",
            "Secret",
            json!({"data": {}, "type": "kubernetes.io/tls"}),
        ),
        (RBAC, "RoleBinding", json!({"subjects": [{"name": "u"}]})),
    ] {
        let live = object(version, kind, &content);
        let mut manifest = live.clone();
        manifest.as_object_mut().unwrap().remove("type");
        for how in ["ReadOnly", "CreateOnly"] {
            let machine = Applying::new(
                mapped(&manifest),
                strategy(json!({"type": how})).as_ref(),
                owner("w"),
                Settled::default(),
                None,
            );
            let mut machine = machine.unwrap();
            assert_eq!(paths(&machine.differs(&live)), [""; 0], "{kind} {how}");
            if how == "CreateOnly" {
                let Step::Create(body) = machine.next(Some(Response::NotFound)) else {
                    panic!("{kind}")
                };
                assert_eq!(body["metadata"].get("annotations"), None, "{kind}");
            }
        }
    }
}

#[test]
fn line_breaks_in_base64_do_not_differ() {
    let mut stored = secret("Opaque", &json!({"k": "YWJj"}));
    stored["immutable"] = true.into();
    let mut manifest = secret("Opaque", &json!({"k": "YW\r\nJj\n"}));
    manifest["immutable"] = true.into();
    assert_eq!(paths(&verdict(&manifest, &stored)), [""; 0]);
    let mut server = Server::with(&stored, "kubectl");
    for how in ["Update", "ServerSideApply", "ReadOnly"] {
        let how = json!({"type": how});
        let (outcome, _) = apply(
            &mut server,
            &manifest,
            how.clone(),
            owner("w"),
            Settled::default(),
        );
        assert!(
            matches!(outcome, ApplyOutcome::Applied(done) if done.differences.is_empty()),
            "{how}"
        );
        assert_eq!(server.live().unwrap()["data"], stored["data"], "{how}");
    }
    let binary = |text: &str| object("v1", "ConfigMap", &json!({"binaryData": {"k": text}}));
    assert_eq!(paths(&verdict(&binary("YW\nJj"), &binary("YWJj"))), [""; 0]);
}

/// The API server refuses it, and its words are the condition's.
#[test]
fn what_is_not_understood_is_passed_on() {
    let config = "config.openshift.io/inject-trusted-cabundle";
    let named = |field: &str, value: Value| json!({"metadata": {"name": "a", "namespace": "n", field: value}});
    for (version, kind, content, pointers) in [
        (
            "v1",
            "Secret",
            json!({"stringData": {"user": "app", "port": 5432}}),
            &["/stringData"][..],
        ),
        (
            "v1",
            "Secret",
            json!({"stringData": ["a"]}),
            &["/stringData"],
        ),
        ("v1", "Secret", json!({"stringData": "a"}), &["/stringData"]),
        (
            "v1",
            "Secret",
            json!({"stringData": {"a": "b"}, "data": ["a"]}),
            &["/stringData", "/data"],
        ),
        ("v1", "Secret", json!({"data": {"k": 5}}), &["/data"]),
        ("v1", "Secret", json!({"type": 5}), &["/type"]),
        ("v1", "Secret", json!({"type": ["Opaque"]}), &["/type"]),
        (
            "v1",
            "Secret",
            json!({"type": "kubernetes.io/service-account-token", "data": "a"}),
            &["/data"],
        ),
        (
            "v1",
            "ConfigMap",
            json!({"data": ["a"], "metadata": {"name": "a", "namespace": "n", "labels": {config: "true"}}}),
            &["/data"],
        ),
        ("v1", "Service", json!({"spec": ["a"]}), &["/spec"]),
        ("v1", "Service", json!({"spec": "a"}), &["/spec"]),
        (
            "v1",
            "Service",
            json!({"spec": {"clusterIP": 0}}),
            &["/spec/clusterIP"],
        ),
        (
            "v1",
            "Service",
            json!({"spec": {"ports": [{"port": 80, "nodePort": ""}]}}),
            &["/spec/ports/0/nodePort"],
        ),
        (
            RBAC,
            "RoleBinding",
            json!({"subjects": ["u", {"kind": "User", "apiGroup": 5}], "roleRef": "r"}),
            &["/subjects", "/roleRef"],
        ),
        (
            "v1",
            "Secret",
            named("labels", json!("a")),
            &["/metadata/labels"],
        ),
        (
            "v1",
            "ConfigMap",
            named("labels", json!({"a-": 5, "b": true})),
            &["/metadata/labels/a-", "/metadata/labels/b"],
        ),
        (
            "v1",
            "Service",
            named("annotations", json!(["a"])),
            &["/metadata/annotations"],
        ),
        (
            "apps/v1",
            "Deployment",
            named("annotations", json!({"a": {}, "b": 1})),
            &["/metadata/annotations"],
        ),
    ] {
        let manifest = object(version, kind, &content);
        let mut live = object(
            version,
            kind,
            &json!({
                "type": content["type"].as_str().unwrap_or("Opaque"), "data": {"k": "eA=="},
                "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30000}]},
            }),
        );
        live["metadata"]["labels"] = json!({config: "true", "a": "b"});
        live["data"]["ca-bundle.crt"] = "x".into();
        for how in ["Update", "ServerSideApply"] {
            for response in [Response::NotFound, Response::Found(live.clone())] {
                let machine = Applying::new(
                    mapped(&manifest),
                    strategy(json!({"type": how})).as_ref(),
                    owner("w"),
                    Settled::default(),
                    None,
                );
                let step = machine.unwrap().next(Some(response));
                let (Step::Create(body) | Step::Replace(body) | Step::Apply { body, .. }) = &step
                else {
                    panic!("{kind} {content} {how}: {step:?}")
                };
                for pointer in pointers {
                    assert_eq!(
                        body.pointer(pointer),
                        manifest.pointer(pointer),
                        "{kind} {content} {how}"
                    );
                }
            }
        }
    }
}

#[test]
fn owner_references_that_are_no_list_are_passed_on() {
    let mut manifest = object("v1", "ConfigMap", &json!({}));
    manifest["metadata"]["ownerReferences"] = "a".into();
    let created = Server::created(&manifest);
    assert_eq!(created["metadata"]["ownerReferences"], "a");
}

/// The content of an object with a CA bundle.
type Content<'a> = &'a dyn Fn(&str) -> Value;

/// As in manifests for the injector of cert-manager: `Cg==` is a line break.
#[test]
fn a_bundle_without_a_certificate_counts_as_none() {
    const INJECTED: &str =
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    let config =
        |bundle: &str| json!({"service": {"name": "s", "namespace": "n"}, "caBundle": bundle});
    let hook = |bundle: &str| json!({"webhooks": [{"name": "h", "clientConfig": config(bundle)}]});
    let definition = |bundle: &str| json!({"spec": {"scope": "Cluster", "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config(bundle)}}}});
    let service = |bundle: &str| json!({"spec": {"group": "g", "caBundle": bundle}});
    const HOOKS: &str = "admissionregistration.k8s.io/v1";
    let kinds: [(&str, &str, Content<'_>, &str); 4] = [
        (
            HOOKS,
            "MutatingWebhookConfiguration",
            &hook,
            "/webhooks/0/clientConfig/caBundle",
        ),
        (
            HOOKS,
            "ValidatingWebhookConfiguration",
            &hook,
            "/webhooks/0/clientConfig/caBundle",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &definition,
            "/spec/conversion/webhook/clientConfig/caBundle",
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            &service,
            "/spec/caBundle",
        ),
    ];
    for (version, kind, content, pointer) in kinds {
        for how in ["Update", "ServerSideApply"] {
            if version == HOOKS && how != "Update" {
                // The model of an API server has no lists with keys.
                continue;
            }
            let live = object(version, kind, &content(INJECTED));
            for bundle in ["Cg==", "C\ng==", "Q0E=", ""] {
                let mut server = Server::with(&live, "cainjector");
                let manifest = object(version, kind, &content(bundle));
                let how = json!({"type": how, "serverSideApply": {"force": true}});
                let (outcome, _) =
                    apply(&mut server, &manifest, how, owner("w"), Settled::default());
                assert!(
                    matches!(outcome, ApplyOutcome::Applied(_)),
                    "{kind}: {outcome:?}"
                );
                let found = server.live().unwrap();
                assert_eq!(
                    found.pointer(pointer).unwrap(),
                    INJECTED,
                    "{kind} {bundle:?}"
                );
            }
            for bundle in ["#", INJECTED] {
                let created = Server::created(&object(version, kind, &content(bundle)));
                assert_eq!(created.pointer(pointer), Some(&bundle.into()), "{kind}");
            }
        }
    }
}

#[test]
fn a_changed_role_fails_with_a_remedy() {
    let binding = |role: &str| {
        object(
            RBAC,
            "RoleBinding",
            &json!({"roleRef": {"kind": "Role", "name": role}}),
        )
    };
    let mut server = Server::with(&binding("a"), "kubectl");
    server.immutable = |_, _| true;
    let mut machine = Applying::new(
        mapped(&binding("b")),
        None,
        owner("w"),
        Settled::default(),
        None,
    )
    .unwrap();
    let (outcome, requests) = drive(&mut machine, &mut server);
    assert_eq!(requests, ["get", "update"]);
    let ApplyOutcome::Failed(failure) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        failure.message,
        "Failed to apply manifest: spec: Invalid value: field is immutable; delete the object on the cluster, then it is created anew"
    );
}

#[test]
fn the_hash_of_a_spec_is_that_of_go() {
    // printf '%s' '{"ports":[{"name":"a","port":80,"targetPort":"b\u003c"}],"selector":{"x":"y"}}' | sha256sum
    let service = object(
        "v1",
        "Service",
        &json!({"spec": {
            "selector": {"x": "y"}, "ports": [{"targetPort": "b<", "port": 80, "name": "a"}],
        }}),
    );
    let hash =
        &Server::created(&service)["metadata"]["annotations"]["operator.openshift.io/spec-hash"];
    assert_eq!(
        hash,
        "9d5b4631e41e705b5d8e90835039dc30638c9b4fd3f159537c18008a4855b5e6"
    );
}

/// `tests/data/live`: manifests, and the objects that a kube-apiserver 1.36 made of them. None differs.
#[test]
fn what_an_api_server_stores_does_not_differ() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/live");
    let mut files = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let recorded: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let manifest = &recorded["manifest"];
        let mut live = recorded["live"].clone();
        // The recorded objects were not written by this agent, which adds the hash of the spec and the owner.
        let created = Server::created(manifest);
        for (key, value) in created["metadata"]["annotations"]
            .as_object()
            .into_iter()
            .flatten()
        {
            live["metadata"]["annotations"][key] = value.clone();
        }
        live["metadata"]["ownerReferences"] = json!([owner("w").reference()]);
        let verdict = verdict(manifest, &live);
        let expected = if name.starts_with("widget") {
            "spec.unknown: prescribed true, not found"
        } else {
            ""
        };
        let found = verdict.differences.to_string();
        if found != expected || verdict.write == expected.is_empty() {
            wrong.push((name, found, verdict.write));
        }
        files += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(files > 30, "{files}");
}
