//! What is in atomic values: managedFields has one leaf for each.

use serde_json::{Value, json};

use super::*;

fn pods(spec: Value) -> Value {
    deployment(json!({"template": {"spec": spec}}))
}

fn route(rules: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Route", "metadata": {"namespace": "n", "name": "a"}, "spec": {"rules": rules}})
}

/// Applies a changed manifest. `knows`: the agent knows the manifest before.
fn change(server: &mut Server, old: &Value, new: &Value, how: Value, knows: bool) -> ApplyOutcome {
    let before = mapped(old);
    let mut machine = Applying::new(
        mapped(new),
        strategy(how).as_ref(),
        owner("w"),
        Settled::default(),
        knows.then_some(&before),
    )
    .unwrap();
    drive(&mut machine, server).0
}

#[test]
fn what_a_manifest_drops_inside_an_atomic_value_is_removed() {
    let toleration = |more: Value| {
        let mut toleration = json!({"key": "k", "operator": "Exists"});
        for (name, value) in more.as_object().unwrap() {
            toleration[name] = value.clone();
        }
        pods(json!({"tolerations": [toleration]}))
    };
    let ingress = |rule: Value| json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"namespace": "n", "name": "a"}, "spec": {"rules": [rule]}});
    for (sentence, old, new, also_after_restart) in [
        (
            "a map",
            pods(json!({"nodeSelector": {"a": "1", "b": "2"}})),
            pods(json!({"nodeSelector": {"a": "1"}})),
            true,
        ),
        (
            "a field of an item",
            toleration(json!({"tolerationSeconds": 5})),
            toleration(json!({})),
            true,
        ),
        (
            "a field of an Ingress",
            ingress(json!({"host": "h", "http": {"paths": []}})),
            ingress(json!({"http": {"paths": []}})),
            true,
        ),
        (
            "a map of a custom resource",
            json!({"apiVersion": "example.com/v1", "kind": "Route", "metadata": {"name": "a"}, "spec": {"nodeSelector": {"a": "1", "b": "2"}}}),
            json!({"apiVersion": "example.com/v1", "kind": "Route", "metadata": {"name": "a"}, "spec": {"nodeSelector": {"a": "1"}}}),
            true,
        ),
        // The schema may have defaults for its items.
        (
            "a list of a custom resource",
            route(json!([{"host": "h", "port": 1}])),
            route(json!([{"port": 1}])),
            false,
        ),
    ] {
        for how in [update(), server_side(json!({}))] {
            for knows in [true, false] {
                let mut server = Server::empty();
                requests(&mut server, &old, how.clone());
                let outcome = change(&mut server, &old, &new, how.clone(), knows);
                let live = server.live().unwrap();
                let removed = knows || also_after_restart;
                assert_eq!(
                    live["spec"],
                    if removed { &new } else { &old }["spec"],
                    "{sentence} {how} {knows}"
                );
                let (_, sent) = apply(&mut server, &new, how.clone(), owner("w"), settled(outcome));
                assert_eq!(sent, ["get"], "{sentence} {how} {knows}");
                assert_eq!(
                    requests(&mut server, &new, how.clone()),
                    ["get"],
                    "{sentence} {how} {knows}: restart"
                );
            }
        }
    }
}

#[test]
fn atomic_values_are_replaced_without_the_right_to_patch() {
    let selector = |selector: Value| {
        pods(json!({"nodeSelector": selector, "containers": [{"name": "a", "selector": selector}]}))
    };
    let new = selector(json!({"a": "1"}));
    let mut stored = selector(json!({"a": "1", "b": "2"}));
    stored["spec"]["template"]["spec"]["more"] = true.into();
    let mut server = Server::with(&stored, "work-agent");
    server.refuse_patch = true;
    assert_eq!(
        requests(&mut server, &new, update()),
        ["get", "apply", "get", "update"]
    );
    let mut expected = new.clone();
    expected["spec"]["template"]["spec"]["more"] = true.into();
    assert_eq!(server.live().unwrap()["spec"], expected["spec"]);
    assert_eq!(requests(&mut server, &new, update()), ["get"]);
}

#[test]
fn defaults_inside_an_atomic_value_do_not_differ() {
    let manifest = pods(json!({
        "volumes": [{"projected": {"sources": [
            {"serviceAccountToken": {"path": "t"}},
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ]}}],
        "containers": [{"name": "a", "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}],
    }));
    let mut server = Server::empty();
    server.admission = |object| {
        let spec = &mut object["spec"]["template"]["spec"];
        let sources = &mut spec["volumes"][0]["projected"]["sources"];
        sources[0]["serviceAccountToken"]["expirationSeconds"] = 3600.into();
        sources[1]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] = "v1".into();
        spec["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] = "v1".into();
    };
    requests(&mut server, &manifest, update());
    assert_eq!(requests(&mut server, &manifest, update()), ["get"]);
    // A custom resource, with a default that only its schema knows.
    let manifest = route(json!([{"host": "h"}]));
    let mut server = Server::empty();
    server.admission = |object| object["spec"]["rules"][0]["kind"] = "Gateway".into();
    requests(&mut server, &manifest, update());
    assert_eq!(requests(&mut server, &manifest, update()), ["get"]);
}

#[test]
fn what_another_work_has_inside_an_atomic_value_stays() {
    let one = pods(json!({"nodeSelector": {"a": "1"}}));
    let two = pods(json!({"nodeSelector": {"a": "1", "b": "2"}}));
    let mut server = Server::empty();
    for (manifest, who) in [(&one, "one"), (&two, "two"), (&one, "one"), (&two, "two")] {
        apply(
            &mut server,
            manifest,
            update(),
            owner(who),
            Settled::default(),
        );
    }
    assert_eq!(server.live().unwrap()["spec"], two["spec"]);
}

#[test]
fn a_change_of_the_rules_of_a_manifest_writes_nothing() {
    let manifest = pods(json!({"nodeSelector": {"a": "1"}}));
    let mut server = Server::empty();
    requests(&mut server, &manifest, update());
    let before = mapped(&manifest);
    let mut machine = Applying::new(
        mapped(&manifest),
        None,
        owner("w"),
        Settled::default(),
        Some(&before),
    )
    .unwrap();
    assert_eq!(drive(&mut machine, &mut server).1, ["get"]);
}
