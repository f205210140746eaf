//! Objects are stored in a version that the hub is to lose.

use berth_api::plan::Target;

use super::*;

const SETS: &str = "managedclustersets.cluster.open-cluster-management.io";

/// A hub of a former OCM: its sets may be stored in v1beta1.
fn former() -> Play {
    let mut play = Play::installed(json!({}));
    let id = sets();
    let definition = play.store.get_mut(&id).unwrap();
    let today = definition["spec"]["versions"][0].clone();
    let mut before = today.clone();
    before["name"] = json!("v1beta1");
    before["storage"] = json!(false);
    definition["spec"]["versions"] = json!([before, today]);
    definition["status"]["storedVersions"] = json!(["v1beta1", "v1beta2"]);
    // Of OCM's operator.
    definition["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    play
}

fn sets() -> Id {
    Id {
        kind: Kind::Definition,
        namespace: String::new(),
        name: SETS.to_owned(),
    }
}

fn versions(play: &Play) -> Vec<(&str, bool)> {
    let definition = play.stored(Kind::Definition, SETS).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap().iter();
    let versions = versions.map(|it| {
        let name = it["name"].as_str().unwrap();
        (name, it["storage"] == true)
    });
    versions.collect()
}

const SUCCEEDED: &str = "MigrationSucceeded";

#[test]
fn a_version_stays_until_nothing_is_stored_in_it() {
    let mut play = former();
    assert_eq!(migrations("cluster-manager", &play.known()), []);
    play.settle();
    assert_eq!(versions(&play), [("v1beta2", true), ("v1beta1", false)]);
    assert_eq!(
        play.condition(SUCCEEDED),
        (
            "False".to_owned(),
            "StorageVersionMigrationProcessing".to_owned(),
            format!(
                "the objects of {SETS} are written anew in version v1beta2, and until then it keeps v1beta1"
            )
        )
    );
    let [migration] = &migrations("cluster-manager", &play.known())[..] else {
        panic!();
    };
    play.unmigrated = vec![Failure {
        kind: Kind::Definition,
        message: "no".to_owned(),
    }];
    play.settle();
    assert_eq!(
        play.said(SUCCEEDED),
        pair("False", "StorageVersionMigrationFailed")
    );
    assert!(play.condition(SUCCEEDED).2.starts_with("no; "));
    // Not for a ClusterManager whose definitions these are not.
    assert_eq!(migrations("other", &play.known()), []);

    play.unmigrated.clear();
    play.carry_out(migration.done());
    assert_eq!(migrations("cluster-manager", &play.known()), []);
    play.settle();
    assert_eq!(versions(&play), [("v1beta2", true)]);
    assert_eq!(
        play.said(SUCCEEDED),
        pair("True", "StorageVersionMigrationSucceed")
    );
}

#[test]
fn a_hub_without_former_versions_says_nothing_of_them() {
    let play = Play::installed(json!({}));
    assert_eq!(play.said(SUCCEEDED), pair("", ""));
}

#[test]
fn an_object_is_written_anew_with_the_one_value_that_was_renamed() {
    let mut play = former();
    play.settle();
    let [migration] = &migrations("cluster-manager", &play.known())[..] else {
        panic!();
    };
    let target = Target {
        resource: migration.objects.clone(),
        namespace: None,
        name: "a".to_owned(),
    };
    for (object, body) in [
        (json!({}), json!({})),
        (
            json!({"spec": {"clusterSelector": {"selectorType": "LabelSelector"}}}),
            json!({}),
        ),
        (
            json!({"spec": {"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}}}),
            json!({"spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        ),
    ] {
        let write = migration.anew(&target, &object);
        assert_eq!(write.target, target);
        assert_eq!(
            write.action,
            Action::Patch {
                subresource: None,
                body
            }
        );
    }
}
