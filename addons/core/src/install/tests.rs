use serde_json::json;

use super::*;
use crate::facts::{PlacedState, selection};

const GRACE: Grace = Grace {
    left: Duration::from_secs(10),
    missing: Duration::from_secs(60),
};

fn add_on(type_: &str, life_cycle: Option<&str>) -> AddOn {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "a", "uid": "u", "annotations": {labels::ADDON_LIFECYCLE: life_cycle.unwrap_or("addon-manager")}},
        "spec": {"installStrategy": {"type": type_, "placements": [{"namespace": "n", "name": "p"}]}},
    });
    AddOn::read(&object.to_string()).unwrap()
}

/// A ManagedClusterAddOn with this mark.
fn marked(mark: &str) -> OnCluster {
    OnCluster {
        annotations: [(labels::ADDON_INSTALLED_FOR.to_owned(), mark.to_owned())].into(),
        ..OnCluster::default()
    }
}

fn ours() -> OnCluster {
    marked("u/c1")
}

fn shown(install: Install) -> String {
    match install {
        Install::Nothing(None) => "nothing".to_owned(),
        Install::Nothing(Some(wait)) => format!("wait {}", wait.as_secs()),
        Install::Create(_) => "create".to_owned(),
        Install::Delete(why) if why.contains("does not exist") => "delete: missing".to_owned(),
        Install::Delete(_) => "delete: not selected".to_owned(),
    }
}

fn decided(
    add_on: &AddOn,
    selection: Selection,
    since: u64,
    existing: Option<&OnCluster>,
) -> String {
    let annotations = BTreeMap::new();
    let facts = Facts {
        add_on,
        cluster: "c1",
        annotations: Some(&annotations),
        selection,
        since: Duration::from_secs(since),
        existing,
    };
    shown(install(&facts, GRACE))
}

#[test]
fn a_selected_cluster_gets_the_add_on_and_another_loses_it_after_the_grace() {
    use Selection::{InDoubt, Missing, NotSelected, Selected};
    let placed = add_on("Placements", None);
    for (sentence, selection, since, existing, expected) in [
        ("selected", Selected, 0, None, "create"),
        (
            "selected, and there",
            Selected,
            999,
            Some(ours()),
            "nothing",
        ),
        ("not selected", NotSelected, 999, None, "nothing"),
        ("left just now", NotSelected, 0, Some(ours()), "wait 10"),
        ("left", NotSelected, 9, Some(ours()), "wait 1"),
        (
            "left for the whole grace",
            NotSelected,
            10,
            Some(ours()),
            "delete: not selected",
        ),
        (
            "the Placement is gone",
            Missing,
            10,
            Some(ours()),
            "wait 50",
        ),
        (
            "the Placement stays gone",
            Missing,
            60,
            Some(ours()),
            "delete: missing",
        ),
        (
            "in doubt for ever",
            InDoubt,
            999_999,
            Some(ours()),
            "nothing",
        ),
        ("in doubt, not there", InDoubt, 999_999, None, "nothing"),
        ("missing, not there", Missing, 999, None, "nothing"),
    ] {
        let found = decided(&placed, selection, since, existing.as_ref());
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn only_what_the_hub_made_for_this_add_on_and_cluster_is_deleted() {
    let placed = add_on("Placements", None);
    let deleting = OnCluster {
        is_deleting: true,
        ..ours()
    };
    for (sentence, existing, expected) in [
        ("made here", ours(), "delete: not selected"),
        ("made by hand", OnCluster::default(), "nothing"),
        ("copied from another cluster", marked("u/c2"), "nothing"),
        ("restored on another hub", marked("v/c1"), "nothing"),
        ("an empty mark", marked(""), "nothing"),
        ("on its way already", deleting, "nothing"),
    ] {
        let found = decided(&placed, Selection::NotSelected, 999, Some(&existing));
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn nothing_is_made_or_deleted_for_an_add_on_that_is_not_ours_or_has_no_placements() {
    let deleting = AddOn {
        is_deleting: true,
        ..add_on("Placements", None)
    };
    for (sentence, add_on) in [
        ("Manual", add_on("Manual", None)),
        ("a type of a newer version", add_on("Later", None)),
        ("self", add_on("Placements", Some("self"))),
        ("empty", add_on("Placements", Some(""))),
        ("being deleted", deleting),
    ] {
        for (selection, existing) in [
            (Selection::Selected, None),
            (Selection::NotSelected, Some(ours())),
            (Selection::Missing, Some(ours())),
        ] {
            let found = decided(&add_on, selection, 999, existing.as_ref());
            assert_eq!(found, "nothing", "{sentence}");
        }
    }
}

#[test]
fn a_new_one_has_the_annotations_of_its_cluster_and_the_mark() {
    let hosting = (labels::ADDON_HOSTING_CLUSTER.to_owned(), "h".to_owned());
    let annotations = BTreeMap::from([hosting.clone()]);
    let add_on = add_on("Placements", None);
    let facts = |annotations| Facts {
        add_on: &add_on,
        cluster: "c1",
        annotations,
        selection: Selection::Selected,
        since: Duration::ZERO,
        existing: None,
    };
    let mark = (labels::ADDON_INSTALLED_FOR.to_owned(), "u/c1".to_owned());
    let expected = Install::Create([hosting, mark].into());
    assert_eq!(install(&facts(Some(&annotations)), GRACE), expected);
    // Without its cluster it has no namespace.
    assert_eq!(install(&facts(None), GRACE), Install::Nothing(None));
}

/// A cluster that moves between PlacementDecisions, a Placement that is created again, an object that cannot be read.
#[test]
fn a_cluster_counts_as_not_selected_only_if_every_placement_is_known() {
    let settled = |clusters: &[&str]| (clusters.contains(&"c1"), PlacedState::Settled);
    let doubt = |clusters: &[&str]| (clusters.contains(&"c1"), PlacedState::InDoubt);
    let missing = || (false, PlacedState::Missing(Duration::ZERO));
    for (sentence, all, expected) in [
        ("listed", vec![settled(&["c1"])], Selection::Selected),
        (
            "listed by the second",
            vec![settled(&[]), settled(&["c1"])],
            Selection::Selected,
        ),
        (
            "listed while in doubt",
            vec![doubt(&["c1"])],
            Selection::Selected,
        ),
        (
            "listed, another is missing",
            vec![missing(), settled(&["c1"])],
            Selection::Selected,
        ),
        ("not listed", vec![settled(&["c2"])], Selection::NotSelected),
        ("no placement at all", vec![], Selection::NotSelected),
        (
            "not listed while in doubt",
            vec![settled(&[]), doubt(&["c2"])],
            Selection::InDoubt,
        ),
        (
            "missing",
            vec![settled(&["c2"]), missing()],
            Selection::Missing,
        ),
        (
            "doubt wins over missing",
            vec![missing(), doubt(&[])],
            Selection::InDoubt,
        ),
    ] {
        assert_eq!(selection(all.into_iter()), expected, "{sentence}");
    }
}
