#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::OnceLock;

use berth_work_core::Holding;
use serde_json::json;

use super::*;

/// A ManifestWork with ConfigMaps of these names, and this config for all of them.
fn entries(work: &str, names: &[String], mut config: Value) -> Vec<Arc<Entry>> {
    config["resourceIdentifier"] =
        json!({"group": "", "resource": "configmaps", "namespace": "n", "name": "*"});
    let mut source = ManifestWork::default();
    source.metadata.name = Some(work.to_owned());
    source.spec.manifest_configs = serde_json::from_value(json!([config])).unwrap();
    let manifests = names.iter().map(|it| Manifest::new(&map(it)).unwrap());
    source.spec.workload.manifests = manifests.collect();
    let source = Arc::new(source);
    let served = Arc::new(Served {
        kind: "ConfigMap".to_owned(),
        resource: GroupVersionResource::new("", "v1", "configmaps"),
        is_namespaced: true,
    });
    let owner = Arc::new(Owner {
        name: "o".to_owned(),
        uid: "u".to_owned(),
        holding: Holding::Owned,
    });
    let entry = |(at, manifest)| {
        let mapped = prescribed(at, manifest).unwrap();
        let mapped = mapped.mapped("configmaps", true).unwrap();
        let kind = (0, Arc::clone(&served));
        Arc::new(Entry::new(
            (&Arc::from(work), &source),
            &Configs::new(&source.spec.manifest_configs),
            &mapped,
            kind,
            Arc::clone(&owner),
        ))
    };
    let manifests = source.spec.workload.manifests.iter().enumerate();
    manifests.map(entry).collect()
}

fn map(name: &str) -> Value {
    let metadata = json!({"namespace": "n", "name": name, "resourceVersion": "1", "uid": "1"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}})
}

/// A clock that stands.
fn standing() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Works that read objects.
struct Reader {
    prescriptions: Prescriptions,
    evaluator: Evaluator,
}

impl Reader {
    fn new(entries: &[Arc<Entry>]) -> Self {
        let prescriptions = Prescriptions::default();
        entries.iter().for_each(|it| prescriptions.add(it));
        Self {
            prescriptions,
            evaluator: Evaluator {
                clock: standing,
                ..Evaluator::new(FeedbackSettings::default(), Instant::now)
            },
        }
    }

    /// Reads a ConfigMap. Returns the works that it was judged for.
    fn read(&self, name: &str, may: Option<&Entry>) -> Vec<String> {
        let json = map(name).to_string();
        let item = ObjectItem {
            namespace: "n",
            name,
            uid: "1",
            version: "1",
            json: &json,
        };
        match self.prescriptions.read(0, &item, &self.evaluator, may) {
            Ok(Some(it)) => it.judged.iter().map(|it| it.work.to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }
}

fn jq(count: usize) -> Value {
    let all: Vec<_> = (0..count).map(|it| format!(".data.f{it}")).collect();
    let ignored = json!([{"condition": "OnSpokePresent", "jqPathExpressions": all}]);
    json!({"updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"ignoreFields": ignored}}})
}

#[test]
fn an_object_that_changes_again_and_again_is_cut_once() {
    let entries = entries("w", &["a".to_owned()], jq(45));
    let reader = Reader::new(&entries);
    for _ in 0..200 {
        assert_eq!(reader.read("a", None), ["w"]);
    }
    // One cut of 2.7 million steps: far from the bound of the work.
    assert_eq!(reader.evaluator.waits("w"), None);
    assert!(!entries[0].costs(&reader.evaluator));
}

/// Each of the objects is within its own bounds.
#[test]
fn a_work_has_a_budget_over_all_its_objects() {
    let names: Vec<_> = (0..50).map(|it| format!("a{it}")).collect();
    let costly = entries("costly", &names, jq(45));
    let good = entries("good", &names, json!({}));
    let reader = Reader::new(&[&costly[..], &good].concat());
    let judged: Vec<_> = names.iter().map(|it| reader.read(it, None)).collect();
    let both = judged.iter().filter(|it| it.len() == 2).count();
    // Three fit into the burst, and the next one exceeds it.
    assert_eq!(both, 4);
    assert!(judged.iter().all(|it| it.contains(&"good".to_owned())));
    assert!(reader.evaluator.waits("costly").is_some());
    // What was admitted before it was read is judged.
    let last = costly.last();
    assert_eq!(reader.read("a49", last.map(|it| &**it)), ["costly", "good"]);
    // What is kept costs nothing.
    assert_eq!(reader.read("a49", None), ["costly", "good"]);
}

#[test]
fn feedback_and_conditions_of_all_objects_count() {
    let slow = "[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, [1,2,3,4,5,6,7,8].all(c, [1,2,3,4,5,6,7,8].all(d, \
                [1,2,3,4,5,6,7,8].all(e, [1,2,3,4,5,6,7,8].all(f, object.data.a == '1'))))))";
    let rule = |it| json!({"type": "CEL", "condition": format!("C{it}"), "celExpressions": [slow]});
    let rules: Vec<_> = (0..5).map(rule).collect();
    let names = ["a".to_owned()];
    let reader = Reader::new(&entries("w", &names, json!({"conditionRules": rules})));
    let judged = (0..20).filter(|_| !reader.read("a", None).is_empty());
    assert_eq!(judged.count(), 2);
}

#[test]
fn objects_that_differ_are_kept_up_to_a_sum() {
    let sum = Arc::default();
    let json = " ".repeat(KEPT);
    let too_large = " ".repeat(KEPT + 1);
    assert!(Kept::new(&too_large, &sum).is_none(), "too large");
    let mut kept: Vec<_> = (0..ALL_KEPT / KEPT)
        .map(|_| Kept::new(&json, &sum))
        .collect();
    assert!(kept.iter().all(Option::is_some));
    assert!(Kept::new(&json, &sum).is_none(), "there is no room");
    kept.pop();
    assert!(Kept::new(&json, &sum).is_some(), "one was repaired");
    drop(kept);
    assert_eq!(sum.load(Relaxed), 0);
}
