use serde_json::{Value, json};

use super::*;

const KEY: &str = "clusterset.open-cluster-management.io/h";

fn now() -> Now {
    Now {
        instant: std::time::Instant::now(),
        wall: "2026-08-11T12:00:00Z".parse().unwrap(),
    }
}

fn cluster(accepted: &str, deleting: Option<&str>, namespaces: &[&str]) -> Cluster {
    let item = |name: &&str| json!({"clusterSet": "s", "name": name});
    let items: Vec<Value> = namespaces.iter().map(item).collect();
    Cluster::read(&json!({
        "metadata": {"name": "c1", "deletionTimestamp": deleting},
        "status": {
            "conditions": [{"type": "HubAcceptedManagedCluster", "status": accepted, "reason": "", "message": "",
                "lastTransitionTime": "2026-08-11T10:00:00Z"}],
            "managedNamespaces": items,
        },
    }))
}

fn labelled(pairs: &[(&str, &str)]) -> Labelled {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// Each write as `name=value`, created ones with a plus.
fn shown(writes: &[Write]) -> Vec<String> {
    let one = |write: &Write| match &write.action {
        Action::CreateOrPatch { body, patch } => {
            let value = |it: &Value| it["metadata"]["labels"][KEY].as_str().unwrap().to_owned();
            assert_eq!(value(body), value(patch));
            format!("+{}={}", write.target.name, value(body))
        }
        Action::Patch { body, .. } => {
            format!(
                "{}={}",
                write.target.name,
                body["metadata"]["labels"][KEY].as_str().unwrap()
            )
        }
        action => panic!("{action:?}"),
    };
    writes.iter().map(one).collect()
}

#[test]
fn namespaces_are_labelled_as_the_sets_ask() {
    for (sentence, cluster, stored, expected) in [
        (
            "new ones are created",
            cluster("True", None, &["b", "a", "a"]),
            vec![],
            vec!["+a=true", "+b=true"],
        ),
        (
            "labelled ones stay",
            cluster("True", None, &["a"]),
            vec![("a", "true")],
            vec![],
        ),
        (
            "a released one is taken back",
            cluster("True", None, &["a"]),
            vec![("a", "false")],
            vec!["+a=true"],
        ),
        (
            "others are released",
            cluster("True", None, &[]),
            vec![("a", "true"), ("b", "false")],
            vec!["a=false"],
        ),
        (
            "a deleted cluster releases all",
            cluster("True", Some("2026-08-11T12:00:00Z"), &["a"]),
            vec![("a", "true")],
            vec!["a=false"],
        ),
        (
            "a denied cluster keeps all",
            cluster("False", None, &["b"]),
            vec![("a", "true")],
            vec![],
        ),
    ] {
        let writes = writes(&cluster, &labelled(&stored), KEY);
        assert_eq!(shown(&writes), expected, "{sentence}");
    }
}

#[test]
fn items_say_what_became_of_them() {
    let cluster = cluster("True", None, &["a", "b", "c"]);
    let failures = BTreeMap::from([
        ("b".to_owned(), "403".to_owned()),
        ("a".to_owned(), "old".to_owned()),
    ]);
    let items = report(&cluster, &labelled(&[("a", "true")]), &failures, now());
    let shown: Vec<_> = items
        .iter()
        .map(|it| {
            it.conditions
                .first()
                .map(|it| (it.status.as_str(), it.reason.as_str(), it.message.as_str()))
        })
        .collect();
    assert_eq!(
        shown,
        [
            Some((
                "True",
                "NamespaceApplied",
                "Namespace successfully applied and managed"
            )),
            Some((
                "False",
                "NamespaceApplyFailed",
                "Failed to apply namespace: 403"
            )),
            None,
        ]
    );
    let again = Cluster {
        managed_namespaces: items.clone(),
        ..cluster
    };
    assert_eq!(
        report(&again, &labelled(&[("a", "true")]), &failures, now()),
        items
    );
}

#[test]
fn the_label_is_that_of_ocms_agent() {
    let key = label(&[0xab; 32]);
    assert_eq!(
        key,
        format!("clusterset.open-cluster-management.io/{}a", "ab".repeat(31))
    );
    for (url, hashed) in [
        ("https://hub:6443", "https://hub:6443"),
        ("https://hub:6443/", "https://hub:6443/"),
        ("https://hub/a?b#c", "https://hub/a"),
        ("https://hub/a#c?b", "https://hub/a"),
        ("https://hub?b/c", "https://hub?b/c"),
        ("hub", "hub"),
    ] {
        assert_eq!(hashed_part(url), hashed, "{url}");
    }
}
