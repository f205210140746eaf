use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{Server, apply, drive, mapped, owner, settled, strategy};
use crate::{ApplyOutcome, Applying, Settled};

fn deployment(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}, "spec": spec})
}

/// A Deployment with one container of this content.
fn container(content: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    for (name, value) in content.as_object().unwrap() {
        container[name] = value.clone();
    }
    deployment(json!({"template": {"spec": {"containers": [container]}}}))
}

/// What a real API server refuses, as far as these tests need it.
fn invalid(object: &Value) -> Option<&'static str> {
    let has = |value: &Value, name: &str| value.get(name).is_some_and(|it| !it.is_null());
    let several =
        |value: &Value, names: &[&str]| names.iter().filter(|name| has(value, name)).count() > 1;
    let spec = &object["spec"];
    if spec["strategy"]["type"] == "Recreate" && has(&spec["strategy"], "rollingUpdate") {
        return Some("Forbidden: may not be specified when strategy `type` is 'Recreate'");
    }
    let pod = &spec["template"]["spec"];
    let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
    for container in items(&pod["containers"]) {
        if several(
            &container["livenessProbe"],
            &["httpGet", "exec", "tcpSocket"],
        ) {
            return Some("Forbidden: may not specify more than 1 handler type");
        }
        let mut names: Vec<_> = (items(&container["ports"]).iter())
            .map(|port| port["name"].to_string())
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        if names.len() < count {
            return Some("Duplicate value");
        }
        if items(&container["env"])
            .iter()
            .any(|it| several(it, &["value", "valueFrom"]))
        {
            return Some("Invalid value: may not be specified when `value` is not empty");
        }
        let cpu = |of: &str| container["resources"][of]["cpu"].as_i64();
        if let (Some(request), Some(limit)) = (cpu("requests"), cpu("limits"))
            && request > limit
        {
            return Some("Invalid value: must be less than or equal to cpu limit");
        }
    }
    if items(&pod["volumes"])
        .iter()
        .any(|it| several(it, &["emptyDir", "configMap", "secret"]))
    {
        return Some("Forbidden: may not specify more than 1 volume type");
    }
    None
}

/// The values of another manager, who replaces the whole spec of what the agent applied.
fn drift(ours: &Value, theirs: &Value, how: &Value) -> (Server, Settled) {
    let mut server = Server::empty();
    server.invalid = invalid;
    let (outcome, _) = apply(
        &mut server,
        ours,
        how.clone(),
        owner("w"),
        Settled::default(),
    );
    server.edit("kubectl", |object| object["spec"] = theirs["spec"].clone());
    (server, settled(outcome))
}

/// Does an object have all that a manifest has? Only the items of lists in it are looked for by their names or ports.
fn covers(ours: &Value, live: &Value) -> bool {
    match (ours, live) {
        (Value::Object(ours), Value::Object(live)) => (ours.iter())
            .all(|(name, value)| live.get(name).is_some_and(|live| covers(value, live))),
        (Value::Array(ours), Value::Array(live)) => {
            (ours.iter()).all(|item| live.iter().any(|live| covers(item, live)))
        }
        _ => ours == live,
    }
}

#[test]
fn a_branch_that_cannot_have_both_is_replaced() {
    let force = json!({"type": "ServerSideApply", "serverSideApply": {"force": true}});
    let rows = [
        (
            "a handler",
            container(json!({"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 7}})),
            container(
                json!({"livenessProbe": {"exec": {"command": ["x"]}, "timeoutSeconds": 3}, "tty": true}),
            ),
            json!({"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 7}, "tty": true}),
        ),
        (
            "the number of a port",
            container(json!({"ports": [{"containerPort": 8080, "name": "http"}]})),
            container(
                json!({"ports": [{"containerPort": 8083, "name": "http"}, {"containerPort": 9, "name": "theirs"}]}),
            ),
            json!({"ports": [{"containerPort": 9, "name": "theirs"}, {"containerPort": 8080, "name": "http"}]}),
        ),
        (
            "where a variable is from",
            container(json!({"env": [{"name": "A", "value": "1"}]})),
            container(
                json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}, {"name": "B", "value": "2"}]}),
            ),
            json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
        ),
        (
            "a limit below the request",
            container(json!({"resources": {"requests": {"cpu": 5}}})),
            container(
                json!({"resources": {"requests": {"cpu": 1}, "limits": {"cpu": 1}}, "tty": true}),
            ),
            json!({"resources": {"requests": {"cpu": 5}}, "tty": true}),
        ),
    ];
    for (name, ours, theirs, expected) in rows {
        for how in [json!({"type": "Update"}), force.clone()] {
            let (mut server, settled) = drift(&ours, &theirs, &how);
            let (outcome, requests) = apply(&mut server, &ours, how, owner("w"), settled);
            assert!(
                matches!(outcome, ApplyOutcome::Applied(_)),
                "{name}: {outcome:?}"
            );
            let writes: Vec<_> = requests
                .iter()
                .filter(|it| **it != "get" && **it != "try")
                .collect();
            assert_eq!(writes, [&"apply", &"patch", &"apply"], "{name}");
            let mut found =
                server.live().unwrap()["spec"]["template"]["spec"]["containers"][0].clone();
            for field in ["name", "image"] {
                found.as_object_mut().unwrap().remove(field);
            }
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn without_force_or_patch_or_a_way_out() {
    let ours = container(json!({"livenessProbe": {"httpGet": {"port": 80}}}));
    let theirs = container(json!({"livenessProbe": {"exec": {"command": ["x"]}}}));
    let update = json!({"type": "Update"});

    let (mut server, settled) = drift(&ours, &theirs, &update);
    server.refuse_patch = true;
    let (outcome, requests) = apply(&mut server, &ours, update.clone(), owner("w"), settled);
    assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    assert_eq!(requests.last(), Some(&"update"));

    let gentle = json!({"type": "ServerSideApply", "serverSideApply": {"force": false}});
    let (mut server, settled) = drift(&ours, &theirs, &gentle);
    let (outcome, requests) = apply(&mut server, &ours, gentle, owner("w"), settled);
    assert!(matches!(outcome, ApplyOutcome::Failed(_)));
    assert_eq!(requests, ["get", "apply"]);

    // The manifest itself is invalid.
    let wrong = container(json!({"livenessProbe": {"httpGet": {"port": 80}, "exec": {}}}));
    let mut server = Server::with(&theirs, "kubectl");
    server.invalid = invalid;
    let (outcome, requests) = apply(&mut server, &wrong, update, owner("w"), Settled::default());
    let ApplyOutcome::Failed(failure) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        failure.message.contains("more than 1 handler"),
        "{}",
        failure.message
    );
    assert!(!requests.contains(&"patch"), "{requests:?}");
}

#[test]
fn what_is_ignored_does_not_go() {
    let how = json!({"type": "ServerSideApply", "serverSideApply": {"force": true, "ignoreFields": [
        {"condition": "OnSpokePresent", "jsonPointers": ["/spec/template/spec/containers/0/livenessProbe/timeoutSeconds"]}
    ]}});
    let ours = container(json!({"livenessProbe": {"httpGet": {"port": 80}}}));
    let theirs = container(
        json!({"livenessProbe": {"exec": {"command": ["x"]}, "timeoutSeconds": 3, "periodSeconds": 4}}),
    );
    let (mut server, settled) = drift(&ours, &theirs, &how);
    let (outcome, _) = apply(&mut server, &ours, how, owner("w"), settled);
    assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    let live = server.live().unwrap();
    let probe = &live["spec"]["template"]["spec"]["containers"][0]["livenessProbe"];
    assert_eq!(
        *probe,
        json!({"httpGet": {"port": 80}, "timeoutSeconds": 3})
    );
}

/// One of several, or none.
fn one_of(all: Vec<Value>) -> impl Strategy<Value = Value> {
    prop::sample::select(all)
}

fn valid() -> impl Strategy<Value = Value> {
    let probe = one_of(vec![
        json!({}),
        json!({"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 7}}),
        json!({"livenessProbe": {"httpGet": {"port": 81}}}),
        json!({"livenessProbe": {"exec": {"command": ["x"]}, "timeoutSeconds": 3}}),
        json!({"livenessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": 2}}),
    ]);
    let number = prop_oneof![Just(8080), Just(8083), Just(9)];
    let ports = prop::collection::btree_map("[ab]", number, 0..3).prop_map(|ports| {
        let items = ports
            .iter()
            .map(|(name, port)| json!({"name": name, "containerPort": port}));
        let mut items: Vec<_> = items.collect();
        items.dedup_by_key(|it| it["containerPort"].clone());
        items
    });
    let env = one_of(vec![
        json!([]),
        json!([{"name": "A", "value": "1"}]),
        json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]),
        json!([{"name": "B", "value": "1"}, {"name": "A", "value": "2"}]),
    ]);
    let volumes = one_of(vec![
        json!([]),
        json!([{"name": "v", "emptyDir": {}}]),
        json!([{"name": "v", "configMap": {"name": "c"}}]),
        json!([{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "emptyDir": {}}]),
    ]);
    let resources = one_of(vec![
        json!({}),
        json!({"requests": {"cpu": 5}}),
        json!({"limits": {"cpu": 1}, "requests": {"cpu": 1}}),
        json!({"limits": {"cpu": 7, "memory": 1}}),
    ]);
    let strategy = one_of(vec![
        json!(null),
        json!({"type": "Recreate"}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
    ]);
    (probe, ports, env, volumes, resources, strategy).prop_map(
        |(probe, ports, env, volumes, resources, strategy)| {
            let mut object = container(json!({"ports": ports, "env": env, "resources": resources}));
            let pod = &mut object["spec"]["template"]["spec"];
            if let Some(probe) = probe.get("livenessProbe") {
                pod["containers"][0]["livenessProbe"] = probe.clone();
            }
            pod["volumes"] = volumes;
            if !strategy.is_null() {
                object["spec"]["strategy"] = strategy;
            }
            object
        },
    )
}

/// Of several containers ports, the model merges those of one number.
fn is_possible(object: &Value) -> bool {
    invalid(object).is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// From any valid object to any other, in at most two writes.
    #[test]
    fn drift_is_put_back(
        ours in valid().prop_filter("valid", is_possible),
        theirs in valid().prop_filter("valid", is_possible),
        force in any::<bool>(),
        taken_over in any::<bool>(),
    ) {
        let how = match force {
            true => json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
            false => json!({"type": "Update"}),
        };
        let (mut server, remembered) = match taken_over {
            true => {
                let mut server = Server::with(&theirs, "kubectl");
                server.invalid = invalid;
                (server, Settled::default())
            }
            false => drift(&ours, &theirs, &how),
        };
        let before = server.version();
        let (outcome, requests) = apply(&mut server, &ours, how.clone(), owner("w"), remembered);
        prop_assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
        prop_assert!(server.version() - before <= 2, "{requests:?}");
        let live = server.live().unwrap();
        prop_assert!(covers(&ours["spec"], &live["spec"]), "{live}");
        // It stays.
        let strategy = strategy(how);
        let machine = Applying::new(mapped(&ours), strategy.as_ref(), owner("w"), settled(outcome), None);
        let (_, requests) = drive(&mut machine.unwrap(), &mut server);
        prop_assert_eq!(requests, ["get"]);
    }
}
