#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_work_core::Response;
use serde_json::{Value, json};

use super::*;
use crate::objects::Known;
use crate::targets::tests::installs;
use crate::testing;

/// A pass over a work of one ConfigMap, and its parts.
struct Passing {
    view: View,
    pass: Pass,
    entry: Arc<Entry>,
}

impl Passing {
    /// `listed`: the objects that the AppliedManifestWork lists.
    fn new(listed: &Value) -> Self {
        let mut view = testing::view();
        let mut wakes = Wakes::default();
        let name: Arc<str> = "w".into();
        let ignored = json!([{"condition": "OnSpokePresent", "jqPathExpressions": [".data.a"]}]);
        let work = json!({
            "metadata": {"name": "w", "uid": "u", "generation": 1,
                         "finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"]},
            "spec": {
                "workload": {"manifests": [
                    {"apiVersion": "v1", "kind": "ConfigMap",
                     "metadata": {"namespace": "n", "name": "a"}, "data": {"a": "1"}}]},
                "manifestConfigs": [{
                    "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "n", "name": "a"},
                    "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"ignoreFields": ignored}}}],
            },
        });
        let work = Arc::new(serde_json::from_value(work).unwrap());
        view.work_changed("w", Some(1), work, &mut wakes);
        view.works_listed(&mut wakes);
        let applied_name = view.applied_name("w");
        let applied = json!({
            "metadata": {"name": &*applied_name, "uid": "owner", "resourceVersion": "1"},
            "spec": {"manifestWorkName": "w", "hubHash": "hash", "agentID": "agent"},
            "status": {"appliedResources": listed},
        });
        let applied = Arc::new(serde_json::from_value(applied).unwrap());
        view.applied_changed(&applied_name, applied, &mut wakes);
        let ready = view.ready("w").unwrap();
        installs(&mut view, &ready);
        let pass = Pass::new(&view, &name, &ready, Duration::ZERO);
        let entry = view.progress["w"].entries().next().cloned().unwrap();
        Self { view, pass, entry }
    }

    fn next(&mut self, reply: Option<Reply>) -> Next {
        let mut wakes = Wakes::default();
        self.pass
            .next(&mut self.view, reply, Instant::now(), &mut wakes)
    }
}

/// To cut ignored fields may take millions of steps: all other tasks would wait for the view.
#[test]
fn manifests_are_cut_without_the_view() {
    let mut passing = Passing::new(&json!([]));
    let next = passing.next(None);
    let is_due = passing.entry.cuts(&passing.view.evaluator);
    assert!(is_due, "the view was held while the manifest was cut");
    let Next::Ask(_, Ask::Compute(compute)) = next else {
        panic!("{next:?}");
    };
    let computed = Answer::Computed(Box::new(compute.run()));
    assert!(!passing.entry.cuts(&passing.view.evaluator));
    let next = passing.next(Some(Reply::Answer(computed)));
    assert!(matches!(next, Next::Ask(_, Ask::Send(_))), "{next:?}");
    // The object is compared with the manifest without the view, too.
    let found = Response::Found(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"},
        "metadata": {"namespace": "n", "name": "a", "uid": "1", "resourceVersion": "1"},
    }));
    let next = passing.next(Some(Reply::Answer(Answer::Sent(found, None))));
    assert!(matches!(next, Next::Ask(_, Ask::Compute(_))), "{next:?}");
}

/// To take an object for gone would drop its entry, and nothing would delete it later.
#[test]
fn objects_that_are_not_said_to_be_gone_stay_listed() {
    let left = json!({"group": "", "version": "v1", "resource": "configmaps",
                      "namespace": "n", "name": "left", "uid": "2"});
    let mut passing = Passing::new(&json!([left]));
    let mut wakes = Wakes::default();
    let known = Known::Missing;
    let object = passing.entry.object.clone();
    passing.view.sees(&object, known, &mut wakes);
    let mut next = passing.next(None);
    // The object of the manifest cannot be created.
    while let Next::Ask(_, ask) = next {
        let reply = match ask {
            Ask::Compute(it) => Reply::Answer(Answer::Computed(Box::new(it.run()))),
            _ => Reply::Nothing(NoAnswer {
                error: "the API server is busy".to_owned(),
                is_silent: false,
                is_unsent: false,
            }),
        };
        next = passing.next(Some(reply));
    }
    assert!(
        matches!(&next, Next::Remove(all, _) if all.len() == 1),
        "{next:?}"
    );
    // The same list: no write is due.
    let next = passing.next(Some(Reply::Done));
    assert!(matches!(next, Next::End(End::Silent)), "{next:?}");
    let again = passing.view.progress["w"].stale_wait;
    assert!(again.is_some(), "it is tried again");
}
