//! The matchConditions of the registrations, compared with the gate: they evaluate without an error, and they select every
//! write that the gate would ask about, patch, warn about or refuse.

use std::cell::RefCell;
use std::collections::BTreeSet;

use berth_review::Webhook;
use berth_webhooks::shipped;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::manifests::conditions::Conditions;
use crate::manifests::reviews::{Judge, bare, merged, recorded, review};

const CLUSTER: [Webhook; 2] = [Webhook::MutateCluster, Webhook::ValidateCluster];
const SET: &str = "cluster.open-cluster-management.io/clusterset";
const DENY_NOW: &str = berth_api::labels::DENY_NOW;
const RETIRED: &str = "open-cluster-management.io/clusterset";

/// The conditions next to the gate.
struct Comparison {
    judge: Judge,
    conditions: Vec<(Webhook, Conditions)>,
    /// Webhooks of which a write was skipped, and of which one was not.
    skipped: BTreeSet<&'static str>,
    concerned: BTreeSet<&'static str>,
}

impl Comparison {
    fn new() -> Self {
        Self {
            judge: Judge::new(),
            conditions: Webhook::ALL
                .map(|webhook| (webhook, Conditions::of(webhook)))
                .into(),
            skipped: BTreeSet::new(),
            concerned: BTreeSet::new(),
        }
    }

    /// The gate is called about whatever it would ask, patch, warn of or refuse.
    fn check(&mut self, webhook: Webhook, review: &Value) -> Result<(), String> {
        let conditions = self
            .conditions
            .iter()
            .find_map(|(of, conditions)| (*of == webhook).then_some(conditions))
            .expect("there are conditions for every webhook");
        let matches = conditions
            .match_request(&review["request"])
            .map_err(|error| format!("the write would be refused: {error}: {review}"))?;
        let concern = self.judge.concern(webhook, review);
        if let (Some(concern), false) = (&concern, matches) {
            return Err(format!(
                "{} is not called, but {concern}: {review}",
                shipped(webhook).name
            ));
        }
        if concern.is_some() {
            self.concerned.insert(shipped(webhook).path);
        }
        if !matches {
            self.skipped.insert(shipped(webhook).path);
        }
        Ok(())
    }

    /// Fails if there was nothing to compare.
    fn assert_meant_something(&self, webhooks: &[Webhook]) {
        let paths: BTreeSet<_> = webhooks
            .iter()
            .map(|webhook| shipped(*webhook).path)
            .collect();
        assert_eq!(self.skipped, paths, "skipped");
        assert_eq!(self.concerned, paths, "concerned");
    }
}

#[test]
fn the_gate_is_called_about_every_recorded_review_that_concerns_it() {
    let mut comparison = Comparison::new();
    let reviews = recorded();
    assert!(reviews.len() > 30);
    for (name, webhook, review) in reviews {
        comparison
            .check(webhook, &review)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// What a cluster can have, as merge patches: of each row an object has one.
fn cluster_parts() -> Vec<Vec<Value>> {
    let labels = |labels: Value| json!({ "metadata": { "labels": labels } });
    let spec = |field: &str, value: Value| json!({ "spec": { field: value } });
    let taint = |value: &str, time: Value| json!({ "key": "k", "value": value, "effect": "NoSelect", "timeAdded": time });
    let (then, earlier) = ("2026-11-01T08:00:00Z", "2026-10-01T08:00:00Z");
    vec![
        vec![
            json!({}),
            labels(json!({})),
            labels(json!({ "vendor": "Kind" })),
            labels(json!({ SET: "" })),
            labels(json!({ SET: "default" })),
            labels(json!({ SET: "set-a" })),
            labels(json!({ RETIRED: "x" })),
            labels(json!({ RETIRED: "", SET: "default" })),
            labels(json!({ RETIRED: "x", SET: "default" })),
            json!({ "metadata": { "annotations": { DENY_NOW: "true" } } }),
            json!({ "metadata": { "annotations": { DENY_NOW: "", "a": "b" }, "labels": { SET: "default" } } }),
        ],
        vec![
            json!({}),
            spec("hubAcceptsClient", json!(false)),
            spec("hubAcceptsClient", json!(true)),
        ],
        vec![
            json!({}),
            spec("leaseDurationSeconds", json!(60)),
            spec("leaseDurationSeconds", json!(-5)),
            spec("leaseDurationSeconds", json!(86_401)),
        ],
        vec![
            json!({}),
            spec("managedClusterClientConfigs", json!([])),
            spec(
                "managedClusterClientConfigs",
                json!([{ "url": "https://c1.example.com:6443" }]),
            ),
            spec(
                "managedClusterClientConfigs",
                json!([{ "url": "http://x" }]),
            ),
            spec(
                "managedClusterClientConfigs",
                json!([{ "url": "https://c1.example.com:6443", "caBundle": "Zm9v" }]),
            ),
        ],
        vec![
            json!({}),
            spec("taints", json!([])),
            spec("taints", json!([taint("v", json!(then))])),
            spec("taints", json!([taint("v", json!(earlier))])),
            spec("taints", json!([taint("v", Value::Null)])),
            spec("taints", json!([taint("w", json!(then))])),
            spec(
                "taints",
                json!([{ "key": "k", "value": "v", "effect": "NoSelect" }]),
            ),
            spec(
                "taints",
                json!([taint("v", json!(then)), { "key": "j", "effect": "NoSelectIfNew" }]),
            ),
            spec(
                "taints",
                json!([taint("v", json!(then)), taint("v", json!(then))]),
            ),
        ],
        vec![
            json!({}),
            json!({ "spec": {} }),
            json!({ "metadata": { "annotations": { "a": "b" } } }),
            json!({ "metadata": { "finalizers": ["a"] } }),
        ],
        vec![
            json!({}),
            json!({ "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" } }),
        ],
    ]
}

/// The object with these parts.
fn assembled(bare: &Value, parts: &[Vec<Value>], choice: &[usize]) -> Value {
    merged(
        bare,
        parts.iter().zip(choice).map(|(options, i)| &options[*i]),
    )
}

#[test]
fn the_gate_is_called_about_every_change_of_one_part_of_a_cluster_that_concerns_it() {
    let (mut comparison, parts) = (Comparison::new(), cluster_parts());
    let deletion = parts.len() - 1;
    let last: Vec<_> = parts.iter().map(|options| options.len() - 1).collect();
    // What the other parts are: nothing, something of each, the usual.
    let surroundings = [vec![0; parts.len()], last, vec![4, 2, 1, 2, 2, 3, 0]];
    for surrounding in &surroundings {
        for part in 0..deletion {
            for (before, after) in pairs(parts[part].len()) {
                for (deleted, still_deleted) in pairs(parts[deletion].len()) {
                    let choose = |option: usize, deleted: usize| {
                        let mut choice = surrounding.clone();
                        choice[part] = option;
                        choice[deletion] = deleted;
                        assembled(&bare(Webhook::ValidateCluster), &parts, &choice)
                    };
                    let old = choose(before, deleted);
                    let new = choose(after, still_deleted);
                    for webhook in CLUSTER {
                        for stored in [Some(&old), None] {
                            comparison
                                .check(webhook, &review(webhook, &new, stored))
                                .unwrap_or_else(|error| panic!("{error}"));
                        }
                    }
                }
            }
        }
    }
    comparison.assert_meant_something(&CLUSTER);
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (0..n).map(move |j| (i, j)))
}

#[test]
fn the_gate_is_called_about_any_change_of_a_cluster_that_concerns_it() {
    let (comparison, parts) = (RefCell::new(Comparison::new()), cluster_parts());
    let choice = || {
        parts
            .iter()
            .map(|options| 0..options.len())
            .collect::<Vec<_>>()
    };
    // Most parts stay as they are, or hardly any change would be unguarded.
    let strategy = (
        choice(),
        choice(),
        vec(prop::bool::weighted(0.2), parts.len()),
    );
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    });
    runner
        .run(&strategy, |(before, other, changed)| {
            let after: Vec<_> = (0..parts.len())
                .map(|part| {
                    if changed[part] {
                        other[part]
                    } else {
                        before[part]
                    }
                })
                .collect();
            let old = assembled(&bare(Webhook::ValidateCluster), &parts, &before);
            let new = assembled(&bare(Webhook::ValidateCluster), &parts, &after);
            for webhook in CLUSTER {
                comparison
                    .borrow_mut()
                    .check(webhook, &review(webhook, &new, Some(&old)))
                    .map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    comparison.borrow().assert_meant_something(&CLUSTER);
}

/// Specs of ManifestWorks: sound ones, faulty ones, and ones with an executor or a warning.
fn works() -> Vec<Value> {
    let manifests = |names: &[&str]| {
        let all = names.iter().map(
            |name| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }),
        );
        json!({ "manifests": all.collect::<Vec<_>>() })
    };
    let account =
        json!({ "type": "ServiceAccount", "serviceAccount": { "namespace": "a", "name": "b" } });
    vec![
        json!({}),
        json!({ "workload": {} }),
        json!({ "workload": manifests(&["a"]) }),
        json!({ "workload": manifests(&["a", "a"]) }),
        json!({ "workload": manifests(&[""]) }),
        json!({ "workload": manifests(&["a"]), "executor": {} }),
        json!({ "workload": manifests(&["a"]), "executor": { "subject": account } }),
        json!({ "workload": manifests(&["b"]), "executor": { "subject": account } }),
        json!({ "workload": manifests(&["a"]), "manifestConfigs": "x" }),
        json!({ "workload": manifests(&["a"]), "deleteOption": { "propagationPolicy": "SelectivelyOrphan" } }),
    ]
}

#[test]
fn the_gate_is_called_about_every_change_of_another_kind_that_concerns_it() {
    let work = |spec: Value| json!({ "spec": spec });
    let template = |spec: Value| json!({ "spec": { "manifestWorkTemplate": spec, "placementRefs": [{ "name": "p" }] } });
    let selector = |selector: Value| json!({ "spec": { "clusterSelector": selector } });
    let config = json!({ "configs": [{ "resource": "settings", "name": "a" }] });
    let supported = json!({ "status": { "supportedConfigs": [{ "resource": "a" }] } });
    let others = [
        vec![
            json!({}),
            json!({ "spec": {} }),
            json!({ "metadata": { "labels": { "a": "b" }, "finalizers": ["a"] } }),
        ],
        vec![
            json!({}),
            json!({ "metadata": { "deletionTimestamp": "2026-11-20T08:00:00Z" } }),
        ],
    ];
    for (webhook, options) in [
        (
            Webhook::ValidateClusterSet,
            vec![
                json!({}),
                selector(json!({})),
                selector(json!({ "selectorType": "ExclusiveClusterSetLabel" })),
                selector(json!({ "selectorType": "LabelSelector" })),
                selector(json!({ "selectorType": "LabelSelector", "labelSelector": {} })),
                selector(json!({ "selectorType": "LabelSelector", "labelSelector": {
                    "matchExpressions": [{ "key": "vendor", "operator": "Among" }],
                } })),
            ],
        ),
        (
            Webhook::ValidateBinding,
            vec![
                json!({}),
                json!({ "spec": { "clusterSet": "" } }),
                json!({ "spec": { "clusterSet": "set-a" } }),
                json!({ "spec": { "clusterSet": "set-b" } }),
            ],
        ),
        (
            Webhook::ValidateWork,
            std::iter::once(json!({}))
                .chain(works().into_iter().map(work))
                .collect(),
        ),
        (
            Webhook::ValidateReplicaSet,
            std::iter::once(json!({}))
                .chain(works().into_iter().map(template))
                .collect(),
        ),
        (
            Webhook::ValidateTemplate,
            vec![
                json!({}),
                work(json!({ "agentSpec": { "workload": { "manifests": [{}] } } })),
                work(json!({ "agentSpec": { "workload": { "manifests": ["{{"] } } })),
                work(json!({ "agentSpec": [] })),
                work(json!({ "registration": [{ "type": "Other" }] })),
            ],
        ),
        (
            Webhook::ValidateDeploymentConfig,
            vec![
                json!({}),
                work(json!({ "proxyConfig": { "caBundle": "%" } })),
                work(json!({ "customizedVariables": [{ "name": "CLUSTER_NAME" }] })),
                work(json!({ "customizedVariables": 1 })),
            ],
        ),
        (
            Webhook::ValidateManagementAddOn,
            vec![
                json!({}),
                work(json!({ "installStrategy": { "placements": [config.clone()] } })),
                work(
                    json!({ "installStrategy": { "placements": [config.clone()] }, "supportedConfigs": [{ "resource": "a" }] }),
                ),
                work(json!({ "supportedConfigs": [{ "resource": "a" }] })),
            ],
        ),
        (
            Webhook::ValidateClusterAddOn,
            vec![
                json!({}),
                work(config.clone()),
                merged(&work(config), [&supported]),
                supported,
            ],
        ),
    ] {
        let mut comparison = Comparison::new();
        let parts: Vec<_> = std::iter::once(options).chain(others.clone()).collect();
        let choices: Vec<_> = (0..parts[0].len())
            .flat_map(|i| (0..parts[1].len()).map(move |j| (i, j)))
            .flat_map(|(i, j)| (0..parts[2].len()).map(move |k| vec![i, j, k]))
            .collect();
        let objects: Vec<_> = choices
            .iter()
            .map(|choice| assembled(&bare(webhook), &parts, choice))
            .collect();
        for new in &objects {
            for stored in objects.iter().map(Some).chain([None]) {
                comparison
                    .check(webhook, &review(webhook, new, stored))
                    .unwrap_or_else(|error| panic!("{error}"));
            }
        }
        comparison.assert_meant_something(&[webhook]);
    }
}
