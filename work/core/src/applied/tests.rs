use super::*;

fn meta(group: &str, resource: &str, name: &str) -> AppliedManifestResourceMeta {
    AppliedManifestResourceMeta {
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        namespace: "n".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
    }
}

fn names(objects: &[&AppliedManifestResourceMeta]) -> Vec<String> {
    objects.iter().map(|object| object.name.clone()).collect()
}

#[test]
fn recorded_objects_that_no_manifest_lists_are_stale() {
    let recorded = [
        meta("", "configmaps", "a"),
        meta("apps", "deployments", "b"),
        meta("", "secrets", "c"),
    ];
    let listed = |object: &AppliedManifestResourceMeta| Listed::Object(object.clone());
    let unmapped = |group: &str, name: &str| Listed::Unmapped {
        group: group.to_owned(),
        namespace: "n".to_owned(),
        name: name.to_owned(),
    };
    let mut newer = recorded[1].clone();
    newer.version = "v2".to_owned();
    for (sentence, manifests, remove, held) in [
        (
            "all are listed",
            recorded.iter().map(listed).collect(),
            &[][..],
            &[][..],
        ),
        (
            "one is not",
            vec![listed(&recorded[0]), listed(&recorded[1])],
            &["c"],
            &[],
        ),
        (
            "another version is the same object",
            vec![listed(&recorded[0]), listed(&newer), listed(&recorded[2])],
            &[],
            &[],
        ),
        ("no manifest is left", vec![], &["a", "b", "c"], &[]),
        (
            "a kind is unknown: what it names is held",
            vec![unmapped("apps", "b")],
            &["a", "c"],
            &["b"],
        ),
        (
            "of another group",
            vec![unmapped("example.com", "b")],
            &["a", "b", "c"],
            &[],
        ),
        (
            "a manifest that names nothing holds all",
            vec![Listed::Unknown, listed(&recorded[0])],
            &[],
            &["b", "c"],
        ),
    ] {
        let stale = stale(&recorded, &manifests);
        assert_eq!(names(&stale.remove), remove, "{sentence}");
        assert_eq!(names(&stale.held), held, "{sentence}");
    }
}

#[test]
fn records_are_sorted_and_unique() {
    let mut old = meta("", "configmaps", "a");
    old.uid = "old".to_owned();
    let all = recorded(
        [
            meta("apps", "deployments", "b"),
            meta("", "configmaps", "a"),
        ],
        [old, meta("", "secrets", "c")],
    );
    let shown: Vec<_> = all
        .iter()
        .map(|it| (it.name.as_str(), it.uid.as_str()))
        .collect();
    assert_eq!(shown, [("a", "uid-a"), ("c", "uid-c"), ("b", "uid-b")]);
}
