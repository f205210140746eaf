use serde_json::json;

use super::*;

fn placement(name: &str, spec: serde_json::Value, status: serde_json::Value) -> Item<Placement> {
    Item::of(json!({
        "metadata": {"name": name, "namespace": "team-a", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
        "status": status,
    }))
}

fn view(wide: bool) -> Placements {
    Placements {
        wide,
        namespaces: Namespaces(None),
        selected: Some(
            [(
                ("team-a".to_owned(), "app".to_owned()),
                vec!["c1".to_owned(), "c2".to_owned()],
            )]
            .into(),
        ),
    }
}

#[test]
fn a_row_says_how_the_placement_is() {
    let now: Timestamp = "2026-01-01T00:05:00Z".parse().unwrap();
    let status = json!({
        "numberOfSelectedClusters": 2,
        "decisionGroups": [{"decisionGroupIndex": 0, "clusterCount": 2}],
        "conditions": [
            {"type": "PlacementSatisfied", "status": TRUE, "reason": "AllDecisionsScheduled", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "PlacementMisconfigured", "status": "False", "reason": "Succeedconfigured", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    });
    let known = placement(
        "app",
        json!({"numberOfClusters": 2, "clusterSets": ["prod", "test"]}),
        status,
    );
    let cells = view(true).cells(&known, now);
    let expected = [
        "team-a",
        "app",
        "True",
        "AllDecisionsScheduled",
        "2",
        "1",
        "5m",
        "prod,test",
        "2",
        "False",
    ];
    assert_eq!(cells, expected);
    let wrong = placement(
        "wrong",
        json!({}),
        json!({"conditions": [
            {"type": "PlacementSatisfied", "status": "False", "reason": "NoManagedClusterMatched", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "PlacementMisconfigured", "status": TRUE, "reason": "Misconfigured", "message": "a mistake", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}),
    );
    let cells = view(true).cells(&wrong, now);
    assert_eq!(cells[2..4], ["False", "Misconfigured"]);
    assert_eq!(cells.last().unwrap(), "True: a mistake");
    let fresh = placement("new", json!({}), json!(null));
    let cells = view(true).cells(&fresh, now);
    assert_eq!(
        cells,
        [
            "team-a", "new", "", "", "", "", "5m", "<bound>", "<all>", ""
        ]
    );
    let broken = placement("bad", json!({"predicates": 7}), json!({}));
    let cells = view(false).cells(&broken, now);
    assert_eq!(cells[..3], ["team-a", "bad", UNREADABLE]);
    let mut out = Vec::new();
    view(false)
        .tree(&[known, fresh, broken])
        .write(&mut out)
        .unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "<Placement>\n\
         ├── <app>\n\
         │   ├── <Namespace> team-a\n\
         │   ├── <ClusterSet> prod,test\n\
         │   ├── <NumberOfSelectedClusters> 2\n\
         │   ├── <Satisfied> True (AllDecisionsScheduled)\n\
         │   ├── <Misconfigured> False\n\
         │   └── <PlacementDecision> [c1 c2]\n\
         ├── <new>\n\
         │   ├── <Namespace> team-a\n\
         │   ├── <ClusterSet> <bound>\n\
         │   ├── <NumberOfSelectedClusters> 0\n\
         │   ├── <Satisfied>\n\
         │   ├── <Misconfigured>\n\
         │   └── <PlacementDecision> []\n\
         └── <bad>\n    \
             ├── <Namespace> team-a\n    \
             └── <Status> <unreadable>\n"
    );
}

#[test]
fn the_decisions_of_a_placement_are_put_together() {
    let decision = |name: &str, clusters: &[&str]| {
        let listed: Vec<_> = clusters
            .iter()
            .map(|it| json!({"clusterName": it, "reason": ""}))
            .collect();
        Item::<PlacementDecision>::of(json!({
            "metadata": {"name": name, "namespace": "team-a", "labels": {labels::PLACEMENT: "app"}},
            "status": {"decisions": listed},
        }))
    };
    let selected = by_placement(&[
        decision("app-decision-1", &["c2"]),
        decision("app-decision-2", &["c1", "c2"]),
    ]);
    let expected = vec!["c1".to_owned(), "c2".to_owned()];
    assert_eq!(
        selected,
        [(("team-a".to_owned(), "app".to_owned()), expected)].into()
    );
}
