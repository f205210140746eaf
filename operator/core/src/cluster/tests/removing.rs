use super::*;

const FINALIZER: &str = "cluster.open-cluster-management.io/applied-manifest-work-cleanup";

/// A Klusterlet that is being deleted, and two AppliedManifestWorks, one of another agent.
fn deleted(annotations: Value) -> Play {
    let mut play = Play::installed(json!({}));
    play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    play.object["metadata"]["annotations"] = annotations;
    let work = |agent: &str| AppliedWork {
        uid: format!("of-{agent}"),
        finalizers: vec![FINALIZER.to_owned(), "other".to_owned()],
        agent: agent.to_owned(),
        ..AppliedWork::default()
    };
    play.works = Some(BTreeMap::from([
        ("mine".to_owned(), work("u1")),
        ("theirs".to_owned(), work("u2")),
    ]));
    play
}

#[test]
fn everything_goes_and_what_works_made_stays() {
    let mut play = deleted(Value::Null);
    let steps = play.settle();
    assert_eq!(steps[0], ["end deployments klusterlet-registration-agent"]);
    let bindings: Vec<_> = steps[1]
        .iter()
        .map(|it| it.contains("rolebindings "))
        .collect();
    assert!(!bindings.contains(&false), "{:?}", steps[1]);
    assert_eq!(steps[2], ["patch appliedmanifestworks mine"]);
    let aggregated = "delete clusterroles open-cluster-management:klusterlet-agent-work";
    assert_eq!(steps[3], [aggregated]);
    let last = steps.len() - 1;
    assert_eq!(
        steps[last - 1],
        [
            "delete namespaces open-cluster-management-agent",
            "delete namespaces open-cluster-management-agent-addon"
        ]
    );
    assert_eq!(steps[last], ["patch klusterlets klusterlet"]);
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
    assert!(
        play.store.keys().all(|it| it.kind == Kind::Definition),
        "{:?}",
        play.store.keys()
    );
    assert_eq!(play.count(Kind::Definition), 2);
    let works = play.works.as_ref().unwrap();
    assert_eq!(works["mine"].finalizers, ["other"]);
    assert_eq!(works["theirs"].finalizers, [FINALIZER, "other"]);
    assert_eq!(play.decide(), Decision::default());
}

#[test]
fn what_works_made_goes_if_the_klusterlet_says_so() {
    for (value, is_taken) in [("true", true), ("false", false), ("yes", false)] {
        let mut play =
            deleted(json!({"operator.berth.open-cluster-management.io/delete-works": value}));
        play.settle();
        let works = play.works.as_ref().unwrap();
        assert_eq!(works.contains_key("mine"), !is_taken, "{value}");
        assert!(works.contains_key("theirs"));
        assert_eq!(play.object["metadata"]["finalizers"], json!([]));
    }
}

#[test]
fn nothing_but_the_agent_goes_while_the_works_are_not_known() {
    let mut play = deleted(Value::Null);
    let works = play.works.take();
    play.settle();
    assert_eq!(play.count(Kind::Deployment), 0);
    assert!(play.count(Kind::ClusterRole) > 0);
    let (_, reason, message) = play.condition("Applied");
    assert_eq!(reason, "KlusterletRemoving");
    assert!(
        message.ends_with("waits for the list of AppliedManifestWorks"),
        "{message}"
    );
    play.works = works;
    play.settle();
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
}

#[test]
fn the_namespace_of_add_ons_stays_while_others_use_it() {
    let mut play = deleted(Value::Null);
    play.has_others = true;
    play.settle();
    assert!(play.stored(Kind::Namespace, ADDON_NAMESPACE).is_some());
    assert!(
        play.stored(Kind::Namespace, "open-cluster-management-agent")
            .is_none()
    );
}

#[test]
fn what_stays_is_named() {
    let mut play = deleted(Value::Null);
    for object in play.store.values_mut() {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    play.settle();
    let (_, _, message) = play.condition("Applied");
    let what = "waits for Deployment open-cluster-management-agent/klusterlet-registration-agent";
    assert!(message.ends_with(what), "{message}");
    // Nobody may ever take the finalizers of what is in a namespace.
    play.store.retain(|id, _| id.kind == Kind::Namespace);
    play.settle();
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
}

#[test]
fn an_agent_whose_mode_was_changed_by_mistake_goes_all_the_same() {
    let mut play = deleted(Value::Null);
    play.object["spec"]["deployOption"] = json!({"mode": "Hosted"});
    play.settle();
    assert_eq!(play.object["metadata"]["finalizers"], json!([]));
    assert_eq!(play.count(Kind::Deployment), 0);
}
