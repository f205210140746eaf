//! The status of a replica set.

use berth_work_replicas::FailedChange;
use serde_json::json;

use crate::bench::Hub;

fn hub(clusters: &[&str]) -> Hub {
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.select("p", clusters);
    hub.settle();
    hub
}

#[test]
fn conditions_are_ocms() {
    for (sentence, conditions, verified, rolled_out, applied) in [
        (
            "available",
            "A+ V+ P-",
            "True AsExpected",
            "True Complete",
            "True AsExpected",
        ),
        (
            "without Progressing",
            "A+ V+",
            "True AsExpected",
            "True Complete",
            "True AsExpected",
        ),
        (
            "progressing",
            "A+ V+ P+",
            "True AsExpected",
            "False Progressing",
            "False Processing",
        ),
        (
            "degraded",
            "A+ V+ P+ D+",
            "True AsExpected",
            "False Progressing",
            "False NotAsExpected",
        ),
        (
            "not available",
            "A+ V-",
            "True AsExpected",
            "False Progressing",
            "False NotAsExpected",
        ),
        (
            "not applied",
            "A- V-",
            "True AsExpected",
            "False Progressing",
            "False NotAsExpected",
        ),
        (
            "not reported",
            "",
            "True AsExpected",
            "False Progressing",
            "False Processing",
        ),
    ] {
        let mut hub = hub(&["c1", "c2"]);
        hub.report("c1", conditions);
        hub.report("c2", conditions);
        hub.settle();
        for (type_, expected) in [
            ("PlacementVerified", verified),
            ("PlacementRolledOut", rolled_out),
            ("ManifestworkApplied", applied),
        ] {
            let said = hub.condition(type_);
            assert!(
                said.starts_with(&format!("{expected}: ")),
                "{sentence}: {type_} {said}"
            );
        }
    }
}

#[test]
fn without_clusters_nothing_is_applied_and_all_is_rolled_out() {
    let hub = hub(&[]);
    assert_eq!(
        hub.condition("PlacementVerified"),
        "False PlacementDecisionEmpty: the placements select no cluster"
    );
    assert!(
        hub.condition("PlacementRolledOut")
            .starts_with("True Complete: 0 of 0")
    );
    assert!(
        hub.condition("ManifestworkApplied")
            .starts_with("False PlacementDecisionEmpty: ")
    );
}

#[test]
fn counts_are_of_works_with_the_template() {
    let mut hub = Hub::new(
        &["p"],
        &json!({"type": "Progressive", "progressive": {"maxConcurrency": 1}}),
    );
    hub.select("p", &["c1", "c2", "c3"]);
    hub.settle();
    hub.report("c1", "A+ V+ P-");
    hub.settle();
    hub.report("c2", "A+ V- P+ D+");
    hub.settle();
    let summary = json!({
        "total": 2, "applied": 2, "available": 1, "progressing": 1, "degraded": 1, "desiredTotal": 0, "updated": 0,
    });
    let status = &hub.set["status"];
    assert_eq!(status["summary"], summary);
    assert_eq!(
        status["placementSummary"],
        json!([{"name": "p", "availableDecisionGroups": "1 (2 / 3 clusters applied)", "summary": summary}])
    );
}

/// OCM says that no cluster is selected.
#[test]
fn an_error_is_reported_and_concerns_its_cluster_only() {
    let failure = |cluster: &str, is_transient| FailedChange {
        cluster: cluster.to_owned(),
        name: "set".to_owned(),
        message: "namespaces \"c1\" not found".to_owned(),
        is_transient,
    };
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.select("p", &["c1", "c2"]);
    hub.failures.push(failure("c1", false));
    hub.settle();
    assert_eq!(hub.made(), "c2/set=");
    assert_eq!(
        hub.condition("ManifestworkApplied"),
        "False NotAsExpected: 1 ManifestWorks cannot be written: c1/set: namespaces \"c1\" not found"
    );
    assert_eq!(hub.condition("PlacementVerified"), "True AsExpected: ");
    hub.failures = vec![failure("c1", true)];
    hub.settle();
    assert!(
        hub.condition("ManifestworkApplied")
            .starts_with("False Processing: ")
    );
}

#[test]
fn many_errors_are_counted() {
    let clusters: Vec<_> = (0..9).map(|it| format!("c{it}")).collect();
    let names: Vec<_> = clusters.iter().map(String::as_str).collect();
    let mut hub = Hub::new(&["p"], &json!({"type": "All"}));
    hub.select("p", &names);
    hub.failures = (clusters.iter())
        .map(|cluster| FailedChange {
            cluster: cluster.clone(),
            name: "set".to_owned(),
            message: "é".repeat(10_000),
            is_transient: false,
        })
        .collect();
    hub.settle();
    let said = hub.condition("ManifestworkApplied");
    assert!(said.starts_with("False NotAsExpected: 9 ManifestWorks cannot be written: c0/set: "));
    assert!(
        said.ends_with("; and 4 more") && said.len() < 2000,
        "{said}"
    );
}

#[test]
fn a_settled_status_stays_as_it_is() {
    let mut hub = hub(&["c1"]);
    hub.report("c1", "A+ V+");
    hub.settle();
    let before = hub.set["status"].clone();
    hub.after(60);
    hub.settle();
    assert_eq!(hub.set["status"], before);
    hub.report("c1", "A+ V-");
    hub.settle();
    let changed = hub.set["status"]["conditions"].as_array().unwrap().clone();
    let times = changed
        .iter()
        .map(|it| it["lastTransitionTime"].as_str().unwrap());
    assert_eq!(
        times.collect::<Vec<_>>(),
        [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:01:00Z",
            "2026-01-01T00:01:00Z"
        ]
    );
}

#[test]
fn conditions_of_others_stay() {
    let mut hub = hub(&["c1"]);
    let theirs = json!({"type": "Theirs", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let all = hub.set["status"]["conditions"].as_array_mut().unwrap();
    all.push(theirs);
    hub.report("c1", "A+ V+");
    hub.settle();
    assert_eq!(hub.condition("Theirs"), "True R: ");
}
