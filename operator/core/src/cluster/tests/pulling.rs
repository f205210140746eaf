//! The credentials of the registry.

use super::*;
use crate::pull::PullSecret;

fn source(version: &str) -> Option<PullSecret> {
    let secret = json!({
        "metadata": {"namespace": "open-cluster-management", "uid": "u", "resourceVersion": version},
        "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="},
    });
    Some(PullSecret::read(&secret.to_string()).unwrap())
}

/// The namespaces with a copy.
fn copies(play: &Play) -> Vec<&str> {
    let secrets = play.store.keys().filter(|it| it.kind == Kind::Secret);
    secrets.map(|it| &*it.namespace).collect()
}

/// An agent that runs, and another namespace of add-ons.
fn pulling() -> Play {
    let mut play = Play::new(json!({}));
    play.settings.pull = source("1");
    play.addon_spaces = BTreeSet::from(["monitoring".to_owned()]);
    play.settle();
    play.roll_out();
    play.settle();
    play
}

#[test]
fn pods_and_add_ons_get_the_credentials_of_the_registry() {
    let mut play = pulling();
    let everywhere = [
        "monitoring",
        "open-cluster-management-agent",
        "open-cluster-management-agent-addon",
    ];
    assert_eq!(copies(&play), everywhere);
    let deployment = play
        .stored(Kind::Deployment, "klusterlet-registration-agent")
        .unwrap();
    let secrets = &deployment["spec"]["template"]["spec"]["imagePullSecrets"];
    assert_eq!(
        *secrets,
        json!([{"name": "open-cluster-management-image-pull-credentials"}])
    );
    // Only the one of the agent is of this Klusterlet.
    let labelled = play.store.iter().filter(|(id, it)| {
        id.kind == Kind::Secret && !it["metadata"]["labels"][CREATED_BY_KLUSTERLET].is_null()
    });
    assert_eq!(labelled.count(), 1);

    play.settings.pull = source("2");
    let steps = play.settle();
    assert_eq!(steps.concat().len(), 3, "{steps:?}");
    play.settings.pull = None;
    play.settle();
    play.roll_out();
    play.settle();
    assert!(copies(&play).is_empty(), "{:?}", copies(&play));
}

#[test]
fn the_last_klusterlet_takes_the_credentials_along() {
    for (has_others, left) in [
        // With its namespace.
        (false, &["open-cluster-management-agent-addon"][..]),
        (
            true,
            &["monitoring", "open-cluster-management-agent-addon"][..],
        ),
    ] {
        let mut play = pulling();
        play.has_others = has_others;
        play.works = Some(BTreeMap::new());
        play.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        play.settle();
        assert_eq!(copies(&play), left);
    }
}
