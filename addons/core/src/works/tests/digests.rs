//! Which changes of a work its digest shows.

use serde_json::json;

use super::*;
use crate::works::Digest;
use crate::works::writes::Owner;

fn owner() -> Owner<'static> {
    Owner {
        namespace: "c1",
        addon: Some(("x", "u")),
        reconciler: "r",
    }
}

/// A work of two objects, and the same work as it is stored.
fn work() -> (Work, ManifestWork) {
    let objects = [config_map("a", 10), config_map("b", 20)];
    let layout = layout(&Request {
        addon: "x",
        place: Place::Deploy,
        objects: &objects,
        manifest_configs: &[],
        configs: &[],
        existing: &[],
    });
    let [work] = &layout.unwrap().works[..] else {
        panic!("one work is expected");
    };
    let mut stored = stored_work(work);
    stored.metadata.owner_references = Some(vec![
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ManagedClusterAddOn", "name": "x", "uid": "u", "controller": true,
        }))
        .unwrap(),
    ]);
    (work.clone(), stored)
}

#[test]
fn what_is_written_has_the_digest_that_is_stored() {
    let (work, mut stored) = work();
    let expected = Digest::of(&work, &owner()).unwrap();
    assert_eq!(Digest::of_stored(&stored).unwrap(), expected);
    stored.spec.workload.manifests.reverse();
    let labels = stored.metadata.labels.get_or_insert_default();
    labels.insert("a-users".to_owned(), "label".to_owned());
    assert_eq!(
        Digest::of_stored(&stored).unwrap(),
        expected,
        "the order, and labels of others"
    );
}

#[test]
fn each_change_of_what_the_hub_writes_shows() {
    type Change = fn(&mut ManifestWork);
    let changes: [(&str, Change); 6] = [
        ("a manifest is missing", |it| {
            drop(it.spec.workload.manifests.pop())
        }),
        ("a manifest differs", |it| {
            it.spec.workload.manifests[0] = Manifest::new(&json!({"kind": "Other"})).unwrap();
        }),
        ("a config", |it| {
            it.spec.manifest_configs.push(Default::default())
        }),
        ("the deletion", |it| {
            it.spec.delete_option = Some(Default::default())
        }),
        ("the label", |it| drop(it.metadata.labels.take())),
        ("the owner", |it| drop(it.metadata.owner_references.take())),
    ];
    let (work, stored) = work();
    let expected = Digest::of(&work, &owner()).unwrap();
    for (sentence, change) in changes {
        let mut stored = stored.clone();
        change(&mut stored);
        assert_ne!(Digest::of_stored(&stored).unwrap(), expected, "{sentence}");
    }
    assert_eq!(Digest::of_stored(&stored).unwrap(), expected);
}
