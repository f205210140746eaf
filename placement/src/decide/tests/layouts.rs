//! Layouts and writes, by tables.

use serde_json::json;

use super::{Model, Step, kept, text, wanted};

/// As many clusters, with names that begin with a letter.
fn many(letter: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|index| format!("{letter}{index:03}"))
        .collect()
}

#[test]
fn a_new_placement_gets_an_object_then_its_clusters_then_its_status() {
    let mut model = Model::new();
    let rounds = model.settle(&wanted(&[":c1 c2 c3"]));
    let expected = [
        "create p-decision-1",
        "list p-decision-1: c1 c2 c3",
        "status of p",
    ];
    assert_eq!(rounds, expected.map(|it| vec![it.to_owned()]));
    let decision = &model.decisions["p-decision-1"];
    assert_eq!(
        decision["metadata"]["labels"],
        json!({
            "cluster.open-cluster-management.io/placement": "p",
            "cluster.open-cluster-management.io/decision-group-index": "0",
            "cluster.open-cluster-management.io/decision-group-name": "",
        })
    );
    let owners = json!([{
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "p", "uid": "p-uid",
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(decision["metadata"]["ownerReferences"], owners);
    let first = json!({"clusterName": "c1", "reason": ""});
    assert_eq!(decision["status"]["decisions"][0], first);
    let status = &model.placement["status"];
    assert_eq!(status["numberOfSelectedClusters"], 3);
    let groups = json!([{
        "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["p-decision-1"], "clusterCount": 3,
    }]);
    assert_eq!(status["decisionGroups"], groups);
    let condition = &status["conditions"][0];
    assert_eq!(condition["lastTransitionTime"], "2026-08-11T12:00:00Z");
}

#[test]
fn without_clusters_one_empty_object_exists() {
    let mut model = Model::new();
    let rounds = model.settle(&wanted(&[":"])).concat();
    assert_eq!(rounds, ["create p-decision-1", "status of p"]);
    assert_eq!(model.layout(), ["1 0/ "]);
    let groups = &model.placement["status"]["decisionGroups"];
    assert_eq!(groups[0]["decisions"], json!(["p-decision-1"]));
}

#[test]
fn what_ocm_wrote_is_adopted_without_a_write() {
    let (a, b) = (many("a", 100).join(" "), many("b", 28).join(" "));
    let names = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let split = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (first, second) = (split(&a), split(&b));
    let (first, second): (Vec<_>, Vec<_>) = (
        first.iter().map(String::as_str).collect(),
        second.iter().map(String::as_str).collect(),
    );
    let all = format!(":{a} {b}");
    for (sentence, model, groups) in [
        ("empty", Model::new().decision(1, (0, ""), &[]), vec![":"]),
        (
            "128 clusters",
            Model::new()
                .decision(1, (0, ""), &first)
                .decision(2, (0, ""), &second),
            vec![&*all],
        ),
        (
            "groups of one",
            Model::new()
                .decision(1, (0, "canary"), &names("c3"))
                .decision(2, (1, "canary"), &names("c4"))
                .decision(3, (2, ""), &names("c1"))
                .decision(4, (3, ""), &names("c2")),
            vec!["canary:c3", "canary:c4", ":c1", ":c2"],
        ),
    ] {
        let wanted = wanted(&groups);
        let writes: Vec<_> = model.plan(&wanted, Step::Next).iter().map(text).collect();
        assert_eq!(
            writes,
            ["status of p"],
            "{sentence}: the model has no status yet"
        );
        let mut settled = model.clone();
        settled.settle(&wanted);
        assert_eq!(settled.decisions, model.decisions, "{sentence}");
        assert_eq!(settled.plan(&wanted, Step::Next), [], "{sentence}");
    }
}

#[test]
fn additions_come_first_and_little_moves() {
    let one = |clusters| Model::new().decision(1, (0, ""), clusters);
    let two = |name, first, second| {
        let model = Model::new().decision(1, (0, name), first);
        model.decision(2, (1, ""), second)
    };
    let metadata = |patch| one(&["a"]).with("p-decision-1", json!({"metadata": patch}));
    let former = json!([{"apiVersion": "x/v1", "kind": "Placement", "name": "p", "uid": "former", "controller": true}]);
    for (sentence, mut model, groups, expected, layout) in [
        (
            "one is replaced in its object by one write",
            one(&["a", "b"]),
            &[":a c"][..],
            &["list p-decision-1: a c"][..],
            &["1 0/ a c"][..],
        ),
        (
            "one changes groups: first it is listed in both",
            two("x", &["a", "b"], &["c", "d"]),
            &["x:a", ":b c d"],
            &["list p-decision-2: b c d", "list p-decision-1: a"],
            &["1 0/x a", "2 1/ b c d"],
        ),
        (
            "a group vanishes: indexes stay without a gap",
            two("x", &["a"], &["b", "c"]),
            &[":b c"],
            &[
                "label p-decision-1",
                "list p-decision-1: b c",
                "delete p-decision-2",
            ],
            &["1 0/ b c"],
        ),
        (
            "two groups are exchanged: no index has two names",
            two("x", &["a"], &["b"]),
            &[":b", "x:a"],
            &[
                "label p-decision-1",
                "label p-decision-2",
                "list p-decision-1: b a",
                "list p-decision-2: a b",
                "list p-decision-1: b",
                "list p-decision-2: a",
            ],
            &["1 0/ b", "2 1/x a"],
        ),
        (
            "groups shift: the clusters move, and not the labels",
            two("", &["a"], &["b"]).decision(3, (2, ""), &["c"]),
            &[":b", ":c", ":d"],
            &[
                "list p-decision-1: b",
                "list p-decision-2: c b",
                "list p-decision-3: d c",
                "list p-decision-2: c",
                "list p-decision-3: d",
            ],
            &["1 0/ b", "2 1/ c", "3 2/ d"],
        ),
        (
            "a group is put before those of several objects: all but one of them move behind it, then it is renamed",
            one(&["a"])
                .decision(2, (0, ""), &["b"])
                .decision(3, (0, ""), &["c"]),
            &["canary:a", ":b c"],
            &[
                "label p-decision-2",
                "label p-decision-3",
                "label p-decision-1",
                "list p-decision-2: b c",
                "delete p-decision-3",
            ],
            &["1 0/canary a", "2 1/ b c"],
        ),
        (
            "an object without clusters is used",
            one(&[]),
            &["x:a"],
            &["label p-decision-1", "list p-decision-1: a"],
            &["1 0/x a"],
        ),
        (
            "few clusters in many objects come together",
            one(&["a"]).decision(2, (0, ""), &["b", "c"]),
            &[":a b c"],
            &["list p-decision-2: a b c", "delete p-decision-1"],
            &["2 0/ a b c"],
        ),
        (
            "a wrong order is corrected",
            one(&["b", "a", "b"]),
            &[":a b"],
            &["list p-decision-1: a b"],
            &["1 0/ a b"],
        ),
        (
            "all go: the object stays",
            one(&["a"]),
            &[":"],
            &["list p-decision-1: "],
            &["1 0/ "],
        ),
        (
            "the labels were removed",
            metadata(json!({"labels": null})),
            &[":a"],
            &["label p-decision-1"],
            &["1 0/ a"],
        ),
        (
            "the owner was removed",
            metadata(json!({"ownerReferences": null})),
            &[":a"],
            &["label p-decision-1"],
            &["1 0/ a"],
        ),
        (
            "an object of a former placement of this name is replaced",
            metadata(json!({"ownerReferences": former})),
            &[":a"],
            &[
                "create p-decision-2",
                "list p-decision-2: a",
                "delete p-decision-1",
            ],
            &["2 0/ a"],
        ),
        (
            "a name that another object has is left to it",
            metadata(json!({"ownerReferences": null, "labels": null})),
            &[":a"],
            &["create p-decision-2", "list p-decision-2: a"],
            &["1 -/- a", "2 0/ a"],
        ),
        (
            "an object that is being deleted does not count",
            metadata(json!({"deletionTimestamp": "2026-08-11T12:00:00Z"})),
            &[":a"],
            &["create p-decision-2", "list p-decision-2: a"],
            &["1 0/ a", "2 0/ a"],
        ),
    ] {
        let rounds = model.settle(&wanted(groups)).concat();
        let writes: Vec<_> = rounds.iter().filter(|it| *it != "status of p").collect();
        assert_eq!(writes, expected, "{sentence}");
        assert_eq!(model.layout(), layout, "{sentence}");
    }
}

#[test]
fn a_hundred_clusters_fill_an_object() {
    let mut model = Model::new();
    let mut clusters = many("c", 101);
    let group = |clusters: &[String]| wanted(&[&format!(":{}", clusters.join(" "))]);
    model.settle(&group(&clusters));
    let sizes = |model: &Model| {
        let names = model.decisions.keys();
        names
            .map(|name| model.clusters(name).len())
            .collect::<Vec<_>>()
    };
    assert_eq!(sizes(&model), [100, 1]);
    let decisions = &model.placement["status"]["decisionGroups"][0]["decisions"];
    assert_eq!(*decisions, json!(["p-decision-1", "p-decision-2"]));
    // A full object loses one cluster and gets another by one write.
    let left = clusters.remove(7);
    clusters.insert(0, "a".to_owned());
    let rounds = model.settle(&group(&clusters)).concat();
    assert_eq!(rounds.len(), 1, "{rounds:?}");
    assert_eq!(sizes(&model), [100, 1]);
    assert!(!model.listed().contains(&left));
    // Of a few that stay, none moves.
    let rounds = model.settle(&group(&clusters[..10])).concat();
    assert!(
        rounds.contains(&"delete p-decision-2".to_owned()),
        "{rounds:?}"
    );
    assert_eq!(sizes(&model), [10]);
}

#[test]
fn a_placement_that_cannot_be_evaluated_keeps_its_groups() {
    for (sentence, clusters, layout, groups) in [
        ("all", "a b c", &["1 0/x a b", "2 1/ c"][..], 2),
        ("one of a group is gone", "a c", &["1 0/x a", "2 1/ c"], 2),
        ("a group is gone", "c", &["1 0/ c"], 1),
        ("all are gone", "", &["1 0/ "], 1),
        (
            "others are not added",
            "a b c d",
            &["1 0/x a b", "2 1/ c"],
            2,
        ),
    ] {
        let model = Model::new().decision(1, (0, "x"), &["a", "b"]);
        let mut model = model.decision(2, (1, ""), &["c"]);
        model.settle(&kept(clusters));
        assert_eq!(model.layout(), layout, "{sentence}");
        let status = model.placement["status"]["decisionGroups"].as_array();
        assert_eq!(status.map(Vec::len), Some(groups), "{sentence}");
    }
}

#[test]
fn when_additions_fail_removals_are_carried_out_and_the_reason_is_shown() {
    let model = Model::new().decision(1, (0, ""), &["a", "b"]);
    let mut model = model.decision(2, (1, "x"), &["c", "d", "e", "f"]);
    // c moves to a group whose object cannot be made; b and d are not selected any more.
    let wanted = wanted(&[":a", "x:e f", "new:c"]);
    let writes = model.plan(&wanted, Step::Failed(Some("quota")));
    let texts: Vec<_> = writes.iter().map(text).collect();
    assert_eq!(
        texts,
        [
            "list p-decision-1: a",
            "list p-decision-2: e f c",
            "status of p"
        ]
    );
    writes.iter().for_each(|write| model.carry_out(write));
    let satisfied = &model.placement["status"]["conditions"][0];
    assert_eq!(satisfied["reason"], "NotAllDecisionsScheduled");
    assert_eq!(
        satisfied["message"],
        "the decisions cannot be written: quota"
    );
}

#[test]
fn a_name_that_is_too_long_for_a_label_is_said_in_the_status() {
    let name = "p".repeat(64);
    let mut model = Model::named(&name);
    let rounds = model.settle(&wanted(&[":a"])).concat();
    assert_eq!(rounds, [format!("status of {name}")]);
    let satisfied = &model.placement["status"]["conditions"][0];
    assert_eq!(satisfied["status"], "False");
    let message = satisfied["message"].as_str().expect("a message");
    assert!(message.contains("63"), "{message}");
    assert_eq!(model.layout(), [""; 0]);
}
