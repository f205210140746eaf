//! Which fields and references belong to the agent, and what becomes of those that no longer do.

use serde_json::{Value, json};

use super::*;

#[test]
fn what_a_manifest_drops_is_removed() {
    let with = |labels: Value, spec: Value| {
        let mut manifest = deployment(spec);
        manifest["metadata"]["labels"] = labels;
        manifest
    };
    let mut server = Server::empty();
    requests(
        &mut server,
        &with(
            json!({"a": "1", "b": "2"}),
            json!({"replicas": 2, "paused": true}),
        ),
        update(),
    );
    server.edit("kubectl", |live| {
        live["metadata"]["labels"]["theirs"] = "3".into()
    });
    let sent = requests(
        &mut server,
        &with(json!({"a": "1"}), json!({"replicas": 2})),
        update(),
    );
    assert_eq!(sent, ["get", "apply"]);
    let live = server.live().unwrap();
    assert_eq!(live["metadata"]["labels"], json!({"a": "1", "theirs": "3"}));
    assert_eq!(live["spec"], json!({"replicas": 2}));
}

#[test]
fn what_the_agent_before_wrote_by_put_is_moved_and_removed() {
    let mut old = deployment(json!({"replicas": 2, "template": {"spec": {"containers": [
        {"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}]},
    ]}}}));
    old["metadata"]["labels"] = json!({"a": "1", "dropped": "2"});
    // The API server's defaults belong to the agent that created the object.
    let mut stored = old.clone();
    stored["spec"]["progressDeadlineSeconds"] = 600.into();
    let mut server = Server::with(&stored, "work-agent");
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"a": "1"});
    new["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "E", "value": "1"}]);
    let before = mapped(&old);
    let mut machine = Applying::new(
        mapped(&new),
        None,
        owner("w"),
        Settled::default(),
        Some(&before),
    )
    .unwrap();
    let (outcome, sent) = drive(&mut machine, &mut server);
    assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    assert_eq!(sent, ["get", "patch", "apply"]);
    let live = server.live().unwrap();
    assert_eq!(live["metadata"]["labels"], json!({"a": "1"}));
    assert_eq!(live["spec"]["progressDeadlineSeconds"], 600);
    assert_eq!(live["spec"]["template"], new["spec"]["template"]);
    assert_eq!(requests(&mut server, &new, update()), ["get"]);
}

#[test]
fn a_conflict_does_not_prevent_the_move_of_dropped_fields() {
    let mut old = deployment(json!({"replicas": 2}));
    old["metadata"]["labels"] = json!({"a": "1", "dropped": "2"});
    let mut server = Server::with(&old, "work-agent");
    let mut new = old.clone();
    new["metadata"]["labels"] = json!({"a": "1"});
    let mut machine =
        Applying::new(mapped(&new), None, owner("w"), Settled::default(), None).unwrap();
    let read = server.answer(machine.next(None));
    let step = machine.next(Some(read));
    assert!(matches!(step, Step::Merge(_)), "{step:?}");
    server.edit("kubectl", |live| live["spec"]["paused"] = true.into());
    let conflict = server.answer(step);
    assert!(matches!(conflict, Response::Refused(_)), "{conflict:?}");
    let mut requests = Vec::new();
    let mut response = conflict;
    loop {
        let step = machine.next(Some(response));
        match &step {
            Step::Done(_) => break,
            Step::Get => requests.push("get"),
            Step::Merge(_) => requests.push("patch"),
            Step::Apply { .. } => requests.push("apply"),
            step => panic!("{step:?}"),
        }
        response = server.answer(step);
    }
    assert_eq!(requests, ["get", "patch", "apply"]);
    assert_eq!(
        server.live().unwrap()["metadata"]["labels"],
        json!({"a": "1"})
    );
}

/// A work applies an object that it shares, from a state of before the object was deleted.
#[test]
fn an_object_that_is_created_anew_gets_no_owner_of_the_former_one() {
    for is_custom in [false, true] {
        let mut server = Server::empty();
        server.is_custom = is_custom;
        let one = deployment(json!({"replicas": 2}));
        for who in ["one", "two"] {
            let (outcome, _) = apply(&mut server, &one, update(), owner(who), Settled::default());
            assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
        }
        let former = server.live().unwrap();
        let two = deployment(json!({"replicas": 3}));
        let mut machine =
            Applying::new(mapped(&two), None, owner("two"), Settled::default(), None).unwrap();
        let step = machine.next(Some(Response::Found(former.clone())));
        assert!(matches!(step, Step::Apply { .. }), "{step:?}");
        let uid = former["metadata"]["uid"].as_str().unwrap().to_owned();
        server.answer::<()>(Step::Delete {
            uid,
            resource_version: None,
        });
        let refused = server.answer(step);
        assert!(matches!(refused, Response::Refused(_)), "{refused:?}");
        assert_eq!(machine.next(Some(refused)), Step::Get);
        let step = machine.next(Some(Response::NotFound));
        let written = server.answer(step);
        let done = machine.next(Some(written));
        assert!(
            matches!(done, Step::Done(ApplyOutcome::Applied(_))),
            "{done:?}"
        );
        assert_eq!(server.owner_names(), ["two"]);
    }
}

#[test]
fn two_works_share_an_object_without_a_fight() {
    let mut server = Server::empty();
    let first = deployment(json!({"replicas": 2}));
    let second = deployment(json!({"paused": true}));
    for (manifest, who) in [
        (&first, "one"),
        (&second, "two"),
        (&first, "one"),
        (&second, "two"),
    ] {
        let (outcome, _) = apply(
            &mut server,
            manifest,
            update(),
            owner(who),
            Settled::default(),
        );
        assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    }
    assert_eq!(server.owner_names(), ["one", "two"]);
    assert_eq!(
        server.live().unwrap()["spec"],
        json!({"replicas": 2, "paused": true})
    );
    for (manifest, who) in [(&first, "one"), (&second, "two")] {
        let (_, sent) = apply(
            &mut server,
            manifest,
            update(),
            owner(who),
            Settled::default(),
        );
        assert_eq!(sent, ["get"], "{who}");
    }
}

#[test]
fn an_orphaned_object_loses_our_reference_only() {
    for manifest in [
        deployment(json!({"replicas": 2})),
        config_map(json!({"a": "b"})),
    ] {
        let mut server = Server::empty();
        for who in ["one", "two"] {
            apply(
                &mut server,
                &manifest,
                update(),
                owner(who),
                Settled::default(),
            );
        }
        let mut orphaned = owner("one");
        orphaned.holding = crate::Holding::Orphaned;
        let (outcome, _) = apply(
            &mut server,
            &manifest,
            update(),
            orphaned,
            Settled::default(),
        );
        assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
        assert_eq!(server.owner_names(), ["two"]);
    }
}

#[test]
fn owners_in_a_manifest_are_sent_only_by_server_side_apply() {
    for (how, expected) in [
        (update(), &["w"][..]),
        (json!({"type": "CreateOnly"}), &["w"]),
        // As OCM's agent does.
        (server_side(json!({})), &["other", "w"]),
    ] {
        for mut manifest in [
            deployment(json!({"replicas": 2})),
            config_map(json!({"a": "b"})),
        ] {
            manifest["metadata"]["ownerReferences"] = json!([
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "of-another-cluster"},
            ]);
            let mut server = Server::empty();
            requests(&mut server, &manifest, how.clone());
            assert_eq!(server.owner_names(), expected, "{how}");
            assert_eq!(
                requests(&mut server, &manifest, how.clone()),
                ["get"],
                "{how}"
            );
            let mut orphaned = owner("w");
            orphaned.holding = crate::Holding::Orphaned;
            let mut server = Server::empty();
            apply(
                &mut server,
                &manifest,
                how.clone(),
                orphaned,
                Settled::default(),
            );
            assert_eq!(
                server.owner_names(),
                expected[..expected.len() - 1],
                "{how}: orphaned"
            );
        }
    }
}

#[test]
fn a_new_applied_manifest_work_replaces_the_uid() {
    let mut server = Server::empty();
    let manifest = deployment(json!({"replicas": 2}));
    apply(
        &mut server,
        &manifest,
        update(),
        owner("one"),
        Settled::default(),
    );
    let mut again = owner("one");
    again.uid = "new".to_owned();
    apply(&mut server, &manifest, update(), again, Settled::default());
    let live = server.live().unwrap();
    assert_eq!(
        live["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(live["metadata"]["ownerReferences"][0]["uid"], "new");
}

#[test]
fn ignored_fields_are_applied_at_creation_and_then_left_alone() {
    let ignore = |condition: &str| {
        server_side(
            json!({"force": true, "ignoreFields": [{"condition": condition, "jsonPaths": [".spec.replicas"]}]}),
        )
    };
    let manifest =
        |replicas: i32, paused: bool| deployment(json!({"replicas": replicas, "paused": paused}));
    for (condition, after_change) in [("OnSpokePresent", 2), ("OnSpokeChange", 4)] {
        let mut server = Server::empty();
        requests(&mut server, &manifest(3, false), ignore(condition));
        assert_eq!(
            server.live().unwrap()["spec"]["replicas"],
            3,
            "created with the ignored field"
        );
        // The field does not fall back to its default while nobody else has written it.
        assert_eq!(
            requests(&mut server, &manifest(3, false), ignore(condition)),
            ["get"]
        );
        requests(&mut server, &manifest(3, true), ignore(condition));
        assert_eq!(
            server.live().unwrap()["spec"],
            json!({"replicas": 3, "paused": true}),
            "{condition}"
        );
        server.edit("hpa", |live| live["spec"]["replicas"] = 2.into());
        assert_eq!(
            requests(&mut server, &manifest(3, true), ignore(condition)),
            ["get"],
            "{condition}"
        );
        requests(&mut server, &manifest(4, true), ignore(condition));
        assert_eq!(
            server.live().unwrap()["spec"]["replicas"],
            after_change,
            "{condition}"
        );
        // Drift of other fields is repaired all the same.
        server.edit("kubectl", |live| live["spec"]["paused"] = false.into());
        assert_eq!(
            requests(&mut server, &manifest(4, true), ignore(condition)),
            ["get", "apply"]
        );
        let live = server.live().unwrap();
        assert_eq!(
            live["spec"],
            json!({"replicas": after_change, "paused": true}),
            "{condition}"
        );
    }
}

#[test]
fn an_ignored_item_of_a_list_keeps_the_value_of_the_cluster() {
    let ignore = |expression: &str| {
        server_side(
            json!({"force": true, "ignoreFields": [{"condition": "OnSpokePresent", "jqPathExpressions": [expression]}]}),
        )
    };
    let how = || ignore(r#".spec.containers[].env[] | select(.name == "E")"#);
    let manifest = |image: &str| {
        let env = json!([{"name": "E", "value": "ours"}, {"name": "F", "value": "2"}]);
        deployment(json!({"containers": [{"name": "a", "image": image, "env": env}]}))
    };
    let env = |server: &Server| server.live().unwrap()["spec"]["containers"][0]["env"].clone();
    let mut server = Server::empty();
    requests(&mut server, &manifest("x"), how());
    assert_eq!(
        env(&server),
        json!([{"name": "E", "value": "ours"}, {"name": "F", "value": "2"}])
    );
    server.edit("kubectl", |live| {
        live["spec"]["containers"][0]["env"][0]["value"] = "theirs".into()
    });
    assert_eq!(requests(&mut server, &manifest("x"), how()), ["get"]);
    assert_eq!(
        requests(&mut server, &manifest("y"), how()),
        ["get", "apply"]
    );
    let kept = env(&server);
    assert!(
        kept.as_array()
            .unwrap()
            .contains(&json!({"name": "E", "value": "theirs"})),
        "{kept}"
    );
    let error = Applying::new(
        mapped(&manifest("x")),
        strategy(ignore(".spec[")).as_ref(),
        owner("w"),
        Settled::default(),
        None,
    );
    let (reason, message) = error.unwrap_err().condition();
    assert_eq!(reason, "AppliedManifestSSAIgnoreFieldError");
    assert_eq!(
        message,
        "Failed to process ignoreFields: jq path expression \".spec[\": it is not a jq expression"
    );
}

#[test]
fn keys_that_end_in_a_hyphen_are_removed() {
    let keys = json!({"old-": "", "kept": "1"});
    for mut manifest in [
        deployment(json!({"replicas": 2})),
        config_map(json!({"a": "b"})),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "n", "name": "a"}, "secrets": [{"name": "s"}]}),
    ] {
        let mut live = manifest.clone();
        live["metadata"]["labels"] = json!({"old": "x", "theirs": "x"});
        live["metadata"]["annotations"] = json!({"old": "x"});
        live.as_object_mut().unwrap().remove("secrets");
        manifest["metadata"]["labels"] = keys.clone();
        manifest["metadata"]["annotations"] = keys.clone();
        for refuse_patch in [false, true] {
            let mut server = Server::with(&live, "kubectl");
            server.refuse_patch = refuse_patch;
            requests(&mut server, &manifest, update());
            let metadata = server.live().unwrap()["metadata"].clone();
            assert_eq!(metadata["labels"], json!({"kept": "1", "theirs": "x"}));
            assert_eq!(metadata["annotations"], json!({"kept": "1"}));
            assert_eq!(requests(&mut server, &manifest, update()), ["get"]);
            // It comes back.
            server.edit("kubectl", |live| {
                live["metadata"]["labels"]["old"] = "y".into()
            });
            requests(&mut server, &manifest, update());
            assert_eq!(
                server.live().unwrap()["metadata"]["labels"],
                metadata["labels"]
            );
        }
        for how in [update(), json!({"type": "CreateOnly"})] {
            let mut server = Server::empty();
            requests(&mut server, &manifest, how);
            let metadata = server.live().unwrap()["metadata"].clone();
            assert_eq!(metadata["labels"], json!({"kept": "1"}));
            assert_eq!(metadata["annotations"], json!({"kept": "1"}));
        }
    }
    // An admission webhook that sets it always: it is accepted, and nothing else with it.
    let mut manifest = deployment(json!({"replicas": 2}));
    manifest["metadata"]["labels"] = json!({"old-": ""});
    let mut server = Server::with(&deployment(json!({"replicas": 1})), "kubectl");
    server.admission = |object| object["metadata"]["labels"]["old"] = "x".into();
    let (outcome, sent) = apply(
        &mut server,
        &manifest,
        update(),
        owner("w"),
        Settled::default(),
    );
    assert_eq!(sent, ["get", "apply", "patch"]);
    let remembered = settled(outcome);
    for expected in [&["get"][..], &["get", "apply"]] {
        let (_, sent) = apply(
            &mut server,
            &manifest,
            update(),
            owner("w"),
            remembered.clone(),
        );
        assert_eq!(sent, expected);
        server.edit("kubectl", |live| live["spec"]["replicas"] = 9.into());
    }
}

#[test]
fn a_key_of_a_secret_is_ignored_by_both_of_its_names() {
    let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "a"}, "stringData": {"k": "ours", "l": "ours"}});
    for field in [
        json!({"jsonPointers": ["/stringData/k"]}),
        json!({"jsonPointers": ["/data/k"]}),
        json!({"jsonPaths": [".stringData.k"]}),
        json!({"jqPathExpressions": [".stringData | .k"]}),
    ] {
        let how = || {
            let mut field = field.clone();
            field["condition"] = "OnSpokePresent".into();
            server_side(json!({"force": true, "ignoreFields": [field]}))
        };
        let mut server = Server::empty();
        requests(&mut server, &manifest, how());
        assert_eq!(
            server.live().unwrap()["data"],
            json!({"k": "b3Vycw==", "l": "b3Vycw=="})
        );
        server.edit("kubectl", |live| live["data"]["k"] = "dGhlaXJz".into());
        assert_eq!(requests(&mut server, &manifest, how()), ["get"], "{field}");
        server.edit("kubectl", |live| live["data"]["l"] = "dGhlaXJz".into());
        assert_eq!(
            requests(&mut server, &manifest, how()),
            ["get", "apply"],
            "{field}"
        );
        assert_eq!(
            server.live().unwrap()["data"],
            json!({"k": "dGhlaXJz", "l": "b3Vycw=="}),
            "{field}"
        );
    }
}

#[test]
fn a_list_with_an_ignored_item_is_left_alone_if_it_is_one_value() {
    for (sentence, expression, path, ours, theirs) in [
        (
            "a list of texts",
            ".spec.containers[0].args[1]",
            "/spec/containers/0/args",
            json!(["x", "y"]),
            json!(["x", "z"]),
        ),
        (
            "a field of an item",
            ".spec.metrics[] | select(.type == \"Resource\") | .target",
            "/spec/metrics",
            json!([{"type": "Resource", "target": 1}, {"type": "Pods", "target": 2}]),
            json!([{"type": "Resource", "target": 5}, {"type": "Pods", "target": 2}]),
        ),
        (
            "a map",
            ".spec.nodeSelector.zone",
            "/spec/nodeSelector",
            json!({"zone": "1", "disk": "ssd"}),
            json!({"zone": "2", "disk": "ssd"}),
        ),
    ] {
        for condition in ["OnSpokePresent", "OnSpokeChange"] {
            let how = || {
                server_side(
                    json!({"force": true, "ignoreFields": [{"condition": condition, "jqPathExpressions": [expression]}]}),
                )
            };
            let mut manifest = deployment(json!({
                "replicas": 1, "containers": [{"name": "a", "args": []}], "metrics": [], "nodeSelector": {},
            }));
            *manifest.pointer_mut(path).unwrap() = ours.clone();
            let value = |server: &Server| server.live().unwrap().pointer(path).cloned();
            let drift = |server: &mut Server| {
                server.edit("kubectl", |live| live["spec"]["replicas"] = 9.into());
                assert_eq!(
                    requests(server, &manifest, how()),
                    ["get", "apply"],
                    "{sentence}"
                );
                assert_eq!(server.live().unwrap()["spec"]["replicas"], 1, "{sentence}");
            };
            let mut server = Server::empty();
            requests(&mut server, &manifest, how());
            assert_eq!(
                requests(&mut server, &manifest, how()),
                ["get"],
                "{sentence}"
            );
            drift(&mut server);
            assert_eq!(value(&server).as_ref(), Some(&ours), "{sentence}");
            server.edit("kubectl", |live| {
                *live.pointer_mut(path).unwrap() = theirs.clone()
            });
            assert_eq!(
                requests(&mut server, &manifest, how()),
                ["get"],
                "{sentence}"
            );
            drift(&mut server);
            assert_eq!(value(&server).as_ref(), Some(&theirs), "{sentence}");
        }
    }
}

#[test]
fn a_new_list_with_an_ignored_item_is_applied_without_it() {
    let how = || {
        server_side(
            json!({"force": true, "ignoreFields": [{"condition": "OnSpokePresent", "jqPathExpressions": [".spec.args[1]"]}]}),
        )
    };
    let mut server = Server::empty();
    requests(&mut server, &deployment(json!({"replicas": 1})), how());
    let manifest = deployment(json!({"replicas": 1, "args": ["x", "y"]}));
    requests(&mut server, &manifest, how());
    assert_eq!(server.live().unwrap()["spec"]["args"], json!(["x"]));
    assert_eq!(requests(&mut server, &manifest, how()), ["get"]);
}

#[test]
fn labels_that_an_exact_kind_drops_are_removed() {
    let labelled = |labels: Value| {
        let mut manifest = config_map(json!({"k": "v"}));
        manifest["metadata"]["labels"] = labels;
        manifest
    };
    let mut server = Server::empty();
    requests(
        &mut server,
        &labelled(json!({"a": "1", "b": "2"})),
        update(),
    );
    server.edit("kubectl", |live| {
        live["metadata"]["labels"]["theirs"] = "3".into()
    });
    assert_eq!(
        requests(&mut server, &labelled(json!({"a": "1"})), update()),
        ["get", "update"]
    );
    assert_eq!(
        server.live().unwrap()["metadata"]["labels"],
        json!({"a": "1", "theirs": "3"})
    );
}

#[test]
fn a_forced_second_manager_takes_its_fields_and_leaves_the_others() {
    let first = |replicas: i32, account: &str| {
        deployment(json!({"replicas": replicas, "serviceAccountName": account}))
    };
    let second = deployment(json!({"serviceAccountName": "second"}));
    let mut server = Server::empty();
    requests(&mut server, &first(1, "first"), server_side(json!({})));
    let forced = server_side(json!({"force": true, "fieldManager": "work-agent-another"}));
    apply(
        &mut server,
        &second,
        forced,
        owner("two"),
        Settled::default(),
    );
    // The first one may change what is only its own.
    let (outcome, _) = apply(
        &mut server,
        &first(3, "second"),
        server_side(json!({})),
        owner("w"),
        Settled::default(),
    );
    assert!(matches!(outcome, ApplyOutcome::Applied(_)), "{outcome:?}");
    let (outcome, _) = apply(
        &mut server,
        &first(3, "third"),
        server_side(json!({})),
        owner("w"),
        Settled::default(),
    );
    assert!(
        matches!(
            outcome,
            ApplyOutcome::Failed(ApplyFailure {
                retry: Retry::OnChange,
                ..
            })
        ),
        "{outcome:?}"
    );
    let live = server.live().unwrap();
    assert_eq!(
        live["spec"],
        json!({"replicas": 3, "serviceAccountName": "second"})
    );
}
