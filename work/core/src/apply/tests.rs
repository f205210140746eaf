mod ownership;
mod whole;

use serde_json::{Value, json};

use super::*;
use crate::testing::{Server, apply, drive, mapped, owner, settled, strategy};

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": "a"}, "data": data})
}

fn deployment(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "n", "name": "a"}, "spec": spec})
}

fn update() -> Value {
    json!({"type": "Update"})
}

fn server_side(more: Value) -> Value {
    json!({"type": "ServerSideApply", "serverSideApply": more})
}

fn requests(server: &mut Server, manifest: &Value, how: Value) -> Vec<&'static str> {
    let (outcome, requests) = apply(server, manifest, how, owner("w"), Settled::default());
    assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    requests
}

#[test]
fn each_strategy_sends_what_it_needs() {
    let exact = config_map(json!({"k": "new"}));
    let exact_old = config_map(json!({"k": "old", "more": "x"}));
    let other = deployment(json!({"replicas": 2}));
    let other_old = deployment(json!({"replicas": 1, "paused": true}));
    let none: Option<&Value> = None;
    for (sentence, manifest, live, how, expected) in [
        (
            "an exact kind is created by POST",
            &exact,
            none,
            update(),
            &["get", "create"][..],
        ),
        (
            "an exact kind is replaced",
            &exact,
            Some(&exact_old),
            update(),
            &["get", "update"],
        ),
        (
            "only the owner is missing",
            &exact,
            Some(&exact),
            update(),
            &["get", "patch"],
        ),
        (
            "another kind is created by apply",
            &other,
            none,
            update(),
            &["get", "apply"],
        ),
        (
            "another kind is applied",
            &other,
            Some(&other_old),
            update(),
            &["get", "apply"],
        ),
        (
            "create only, missing",
            &other,
            none,
            json!({"type": "CreateOnly"}),
            &["get", "create"],
        ),
        (
            "create only, there",
            &other,
            Some(&other_old),
            json!({"type": "CreateOnly"}),
            &["get", "patch"],
        ),
        (
            "read only",
            &other,
            Some(&other_old),
            json!({"type": "ReadOnly"}),
            &["get"],
        ),
        (
            "server-side apply, missing",
            &other,
            none,
            server_side(json!({})),
            &["get", "apply"],
        ),
        (
            "server-side apply of what is there",
            &other,
            Some(&other),
            server_side(json!({})),
            &["get", "apply"],
        ),
    ] {
        let mut server = live.map_or_else(Server::empty, |live| Server::with(live, "kubectl"));
        assert_eq!(
            requests(&mut server, manifest, how.clone()),
            expected,
            "{sentence}"
        );
        assert_eq!(
            requests(&mut server, manifest, how.clone()),
            ["get"],
            "{sentence}: again"
        );
        let machine = Applying::new(
            mapped(manifest),
            strategy(how).as_ref(),
            owner("w"),
            Settled::default(),
            None,
        );
        let verdict = machine.unwrap().differs(&server.live().unwrap());
        assert!(!verdict.write, "{sentence}: {verdict:?}");
    }
}

#[test]
fn extra_keys_of_a_config_map_go_and_foreign_fields_of_other_kinds_stay() {
    let mut server = Server::with(&config_map(json!({"k": "old", "more": "x"})), "kubectl");
    requests(&mut server, &config_map(json!({"k": "new"})), update());
    assert_eq!(server.live().unwrap()["data"], json!({"k": "new"}));

    let mut server = Server::with(
        &deployment(json!({"replicas": 1, "paused": true})),
        "kubectl",
    );
    requests(&mut server, &deployment(json!({"replicas": 2})), update());
    assert_eq!(
        server.live().unwrap()["spec"],
        json!({"replicas": 2, "paused": true})
    );
}

#[test]
fn what_the_api_server_changes_is_written_once() {
    let mut server = Server::empty();
    server.admission = |object| {
        object["spec"]["image"] = "mirror/x".into();
        object["spec"].as_object_mut().unwrap().remove("unknown");
    };
    let manifest = deployment(json!({"image": "x", "unknown": 1}));
    let (outcome, sent) = apply(
        &mut server,
        &manifest,
        update(),
        owner("w"),
        Settled::default(),
    );
    assert_eq!(sent, ["get", "apply"]);
    let remembered = settled(outcome);
    let (outcome, sent) = apply(
        &mut server,
        &manifest,
        update(),
        owner("w"),
        remembered.clone(),
    );
    assert_eq!(sent, ["get"]);
    assert!(matches!(outcome, ApplyOutcome::Applied(done) if done.differences.is_empty()));
    // Another change is found, and the accepted ones do not show.
    server.admission = |_| {};
    server.edit("kubectl", |live| live["spec"]["replicas"] = 5.into());
    let mut more = manifest.clone();
    more["spec"]["replicas"] = 2.into();
    let machine = Applying::new(mapped(&more), None, owner("w"), remembered, None).unwrap();
    let verdict = machine.differs(&server.live().unwrap());
    assert!(verdict.write);
    assert_eq!(
        verdict.differences.count, 3,
        "another manifest accepts nothing"
    );
}

#[test]
fn a_conflict_names_field_and_manager_and_waits_for_a_change() {
    let mut server = Server::with(&deployment(json!({"replicas": 5})), "hpa");
    let (outcome, sent) = apply(
        &mut server,
        &deployment(json!({"replicas": 2})),
        server_side(json!({})),
        owner("w"),
        Settled::default(),
    );
    assert_eq!(sent, ["get", "apply"]);
    let ApplyOutcome::Failed(failure) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.reason, "AppliedManifestFailed");
    assert_eq!(failure.retry, Retry::OnChange);
    assert!(
        failure.message.starts_with("Failed to apply manifest: Apply failed with 1 conflict; .spec.replicas is owned by \"hpa\": remove"),
        "{}", failure.message
    );
    assert_eq!(
        requests(
            &mut server,
            &deployment(json!({"replicas": 2})),
            server_side(json!({"force": true}))
        ),
        ["get", "apply"]
    );
}

#[test]
fn without_the_right_to_patch_objects_are_replaced() {
    let mut server = Server::with(
        &deployment(json!({"replicas": 1, "paused": true})),
        "kubectl",
    );
    server.refuse_patch = true;
    let manifest = deployment(json!({"replicas": 2}));
    assert_eq!(
        requests(&mut server, &manifest, update()),
        ["get", "apply", "get", "update"]
    );
    assert_eq!(
        server.live().unwrap()["spec"],
        json!({"replicas": 2, "paused": true})
    );
    assert_eq!(server.owner_names(), ["w"]);
    assert_eq!(requests(&mut server, &manifest, update()), ["get"]);
    let mut server = Server::empty();
    server.refuse_patch = true;
    assert_eq!(
        requests(&mut server, &manifest, update()),
        ["get", "apply", "get", "create"]
    );
}

#[test]
fn an_object_that_is_being_deleted_is_left_alone() {
    let mut live = config_map(json!({"k": "old"}));
    live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let mut server = Server::with(&live, "kubectl");
    assert_eq!(
        requests(&mut server, &config_map(json!({"k": "new"})), update()),
        ["get"]
    );
}

#[test]
fn drift_is_shown_with_path_values_and_manager() {
    let mut server = Server::empty();
    let manifest =
        deployment(json!({"template": {"spec": {"containers": [{"name": "a", "image": "x"}]}}}));
    requests(&mut server, &manifest, update());
    server.edit("kubectl-edit", |live| {
        live["spec"]["template"]["spec"]["containers"] =
            json!([{"name": "side", "image": "s"}, {"name": "a", "image": "y"}]);
    });
    let machine = Applying::new(
        mapped(&manifest),
        None,
        owner("w"),
        Settled::default(),
        None,
    )
    .unwrap();
    let verdict = machine.differs(&server.live().unwrap());
    assert!(verdict.write);
    assert_eq!(
        verdict.differences.to_string(),
        r#"spec.template.spec.containers[name="a"].image: prescribed "x", found "y" (written by kubectl-edit)"#
    );
}

#[test]
fn values_of_secrets_do_not_show() {
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "a"}, "stringData": {"k": value}});
    for how in [
        update(),
        server_side(json!({})),
        json!({"type": "ReadOnly"}),
    ] {
        let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "a"}, "data": {"k": "dGhlaXJz"}, "type": "Opaque"});
        let server = Server::with(&live, "kubectl");
        let machine = Applying::new(
            mapped(&secret("ours")),
            strategy(how).as_ref(),
            owner("w"),
            Settled::default(),
            None,
        )
        .unwrap();
        let text = format!("{:?}", machine.differs(&server.live().unwrap()));
        assert!(text.contains("(hidden)"), "{text}");
        assert!(
            !text.contains("dGhlaXJz") && !text.contains("b3Vycw") && !text.contains("\"ours\\"),
            "{text}"
        );
    }
}

#[test]
fn the_spec_of_a_pod_is_reported_and_not_written() {
    let pod = |image: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "n", "name": "a"},
        "spec": {"containers": [{"name": "a", "image": image}]}})
    };
    let mut server = Server::with(&pod("old"), "kubectl");
    let (outcome, sent) = apply(
        &mut server,
        &pod("new"),
        update(),
        owner("w"),
        Settled::default(),
    );
    assert_eq!(sent, ["get", "patch"]);
    let ApplyOutcome::Applied(done) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(done.differences.count, 1);
}

#[test]
fn an_object_of_which_much_is_pruned_settles() {
    let mut server = Server::empty();
    server.admission = |object| object["spec"] = json!({"kept": true});
    let mut manifest = deployment(json!({"kept": true}));
    for index in 0..5000 {
        manifest["spec"][format!("pruned-{index}")] = 1.into();
    }
    let (outcome, sent) = apply(
        &mut server,
        &manifest,
        update(),
        owner("w"),
        Settled::default(),
    );
    assert_eq!(sent, ["get", "apply"]);
    let (_, sent) = apply(
        &mut server,
        &manifest,
        update(),
        owner("w"),
        settled(outcome),
    );
    assert_eq!(sent, ["get"]);
}

#[test]
fn another_kind_of_volume_is_drift() {
    let volumes = |volume: Value| deployment(json!({"template": {"spec": {"volumes": [volume]}}}));
    let manifest = volumes(json!({"name": "v", "emptyDir": {}}));
    let machine = Applying::new(
        mapped(&manifest),
        None,
        owner("w"),
        Settled::default(),
        None,
    )
    .unwrap();
    let verdict = machine.differs(&volumes(json!({"name": "v", "hostPath": {"path": "/"}})));
    assert!(verdict.write);
}

#[test]
fn an_empty_object_is_a_value_unless_the_api_server_drops_it() {
    let widget = |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    for (manifest, live, expected) in [
        (
            widget(json!({"interfaces": [{"name": "i", "masquerade": {}}]})),
            widget(json!({"interfaces": [{"name": "i", "bridge": {}}]})),
            true,
        ),
        (widget(json!({"a": {}})), widget(json!({})), true),
        (widget(json!({"a": []})), widget(json!({})), false),
        (widget(json!({"a": null})), widget(json!({})), false),
        (
            deployment(
                json!({"strategy": {}, "template": {"metadata": {"labels": {}}, "spec": {"nodeSelector": {}}}}),
            ),
            deployment(json!({"template": {"spec": {}}})),
            false,
        ),
        (
            deployment(json!({"template": {"spec": {"securityContext": {}}}})),
            deployment(json!({"template": {"spec": {}}})),
            true,
        ),
    ] {
        let mut live = live;
        live["metadata"]["ownerReferences"] = json!([owner("w").reference()]);
        let machine = Applying::new(
            mapped(&manifest),
            None,
            owner("w"),
            Settled::default(),
            None,
        );
        let verdict = machine.unwrap().differs(&live);
        assert_eq!(verdict.write, expected, "{manifest} {live}");
    }
}

#[test]
fn long_lists_are_compared_in_time() {
    let env = |value: &str| {
        let env = (0..5000).map(|index| json!({"name": format!("E{index}"), "value": value}));
        deployment(
            json!({"template": {"spec": {"containers": [{"name": "a", "env": env.collect::<Vec<_>>()}]}}}),
        )
    };
    let mut live = env("1");
    let owned = (0..5000).map(|index| {
        (
            format!("k:{{\"name\":\"E{index}\"}}"),
            json!({".": {}, "f:name": {}, "f:value": {}}),
        )
    });
    let owned: Value = Value::Object(owned.collect());
    live["metadata"]["ownerReferences"] = json!([owner("w").reference()]);
    live["metadata"]["managedFields"] = json!([{"manager": "work-agent", "operation": "Apply", "fieldsV1":
        {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:env": owned}}}}}}}]);
    for how in [update(), server_side(json!({}))] {
        let differs = |manifest: &Value| {
            Applying::new(
                mapped(manifest),
                strategy(how.clone()).as_ref(),
                owner("w"),
                Settled::default(),
                None,
            )
            .unwrap()
            .differs(&live)
        };
        assert_eq!(differs(&env("1")), crate::Verdict::default());
        assert_eq!(differs(&env("2")).differences.count, 5000);
    }
}

#[test]
fn an_unknown_strategy_is_refused() {
    let manifest = mapped(&config_map(json!({})));
    let error = Applying::new(
        manifest,
        strategy(json!({"type": "Recreate"})).as_ref(),
        owner("w"),
        Settled::default(),
        None,
    );
    assert_eq!(
        error.unwrap_err().condition().1,
        "Failed to apply manifest: updateStrategy.type \"Recreate\" is unknown: use Update, CreateOnly, ServerSideApply or ReadOnly"
    );
}

#[test]
fn replicas_that_leave_the_manifest_stay_as_they_are() {
    for how in [update(), server_side(json!({"force": true}))] {
        let mut server = Server::empty();
        let three = deployment(json!({"replicas": 3, "paused": true, "minReadySeconds": 5}));
        apply(
            &mut server,
            &three,
            how.clone(),
            owner("w"),
            Settled::default(),
        );
        server.admission = |object| {
            if object["spec"]["replicas"].is_null() {
                object["spec"]["replicas"] = 1.into();
            }
        };
        let none = deployment(json!({"minReadySeconds": 5}));
        assert_eq!(
            requests(&mut server, &none, how.clone()),
            ["get", "patch", "apply"]
        );
        let live = server.live().unwrap();
        assert_eq!(live["spec"], json!({"replicas": 3, "minReadySeconds": 5}));
        assert!(
            !live["metadata"]["managedFields"]
                .to_string()
                .contains("replicas")
        );
        assert_eq!(requests(&mut server, &none, how), ["get"]);
    }
}
