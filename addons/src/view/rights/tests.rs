//! Which permissions stay, and which tokens a change concerns.

use berth_addons_core::tokens;
use serde_json::{Value, json};

use super::*;
use crate::view::tests::{apply, view};

const GROUP: &str = "addon.open-cluster-management.io";

/// The add-on `a` from a template, on `c1`, with the RoleBinding that the template asks for.
fn with_template() -> View {
    let mut view = view();
    let template = json!({"group": GROUP, "resource": "addontemplates", "name": "t"});
    let add_on = json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "a", "uid": "u"}, "spec": {"defaultConfigs": [template]},
    });
    apply(&mut view, Kind::AddOn, ("", "a"), add_on);
    let current = json!({"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "r"}});
    let registration = json!([{"type": "KubeClient", "kubeClient": {"hubPermissions": [current]}}]);
    let template = json!({"metadata": {"name": "t"}, "spec": {"addonName": "a", "registration": registration}});
    apply(&mut view, Kind::Template, ("", "t"), template);
    let hash = view.configs.template("t").unwrap().hash.clone();
    let reference = json!({
        "group": GROUP, "resource": "addontemplates", "desiredConfig": {"name": "t", "specHash": hash},
    });
    let user = "system:open-cluster-management:cluster:c1:addon:a:agent:a-agent";
    let groups = [
        "system:open-cluster-management:cluster:c1:addon:a",
        "system:open-cluster-management:addon:a",
    ];
    let registered =
        json!({"type": "kubeClient", "kubeClient": {"subject": {"user": user, "groups": groups}}});
    let on = json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "a", "namespace": "c1", "uid": "m"}, "spec": {},
        "status": {"configReferences": [reference], "registrations": [registered]},
    });
    apply(&mut view, Kind::OnCluster, ("c1", "a"), on);
    view
}

fn state(view: &View) -> deploy::Permissions<'_> {
    let at = place("c1", "a");
    view.permission_state(&at, view.on(&at).unwrap())
}

fn cluster(is_accepted: bool, is_deleting: bool) -> Value {
    let deleted = is_deleting.then_some("2026-01-01T00:00:00Z");
    json!({
        "metadata": {"name": "c1", "deletionTimestamp": deleted}, "spec": {"hubAcceptsClient": is_accepted},
    })
}

#[test]
fn the_permissions_of_a_cluster_stay_while_it_is_being_deleted_unless_it_is_denied() {
    let mut view = with_template();
    apply(&mut view, Kind::Cluster, ("", "c1"), cluster(true, false));
    let (found, _) = view.decide_permissions("a").unwrap();
    let [wanted] = &found.wanted[..] else {
        panic!("{found:?}")
    };
    let mut binding = json!(wanted);
    binding["metadata"]["uid"] = json!("b");
    let name = wanted.metadata.name.clone().unwrap();
    apply(&mut view, Kind::Binding, ("c1", &name), binding);
    for (is_accepted, is_deleting, is_kept) in [
        (true, false, true),
        (true, true, true),
        (false, false, false),
        (false, true, false),
    ] {
        let cluster = cluster(is_accepted, is_deleting);
        apply(&mut view, Kind::Cluster, ("", "c1"), cluster);
        let (found, _) = view.decide_permissions("a").unwrap();
        let sentence = format!("accepted {is_accepted}, deleting {is_deleting}");
        assert_eq!(found.unwanted.is_empty(), is_kept, "{sentence}");
        assert_eq!(state(&view), deploy::Permissions::Applied, "{sentence}");
    }
    view.remove(Kind::Binding, &place("c1", &name));
    assert_eq!(state(&view), deploy::Permissions::Pending(NOT_ACCEPTED));
}

#[test]
fn tokens_are_looked_at_where_they_are_used_or_were_made() {
    let is_woken = |keys: Vec<Key>| keys.contains(&Key::Tokens(place("c1", "a")));
    let registered =
        |driver: &str| json!([{"type": "kubeClient", "kubeClient": {"driver": driver}}]);
    let on = |driver: &str| {
        json!({
            "metadata": {"name": "a", "namespace": "c1", "uid": "m"}, "spec": {},
            "status": {"registrations": registered(driver)},
        })
    };
    let mut view = view();
    let changed = |view: &mut View, kind: Kind, at: (&str, &str), object: Value| {
        let keys = apply(view, kind, at, object);
        is_woken(view.with_rights(kind, keys))
    };
    let at = ("c1", "a");
    assert!(!changed(&mut view, Kind::OnCluster, at, on("csr")));
    assert!(!changed(
        &mut view,
        Kind::Cluster,
        ("", "c1"),
        cluster(true, false)
    ));
    assert!(changed(&mut view, Kind::OnCluster, at, on("token")));
    assert!(changed(
        &mut view,
        Kind::Cluster,
        ("", "c1"),
        cluster(false, false)
    ));
    let kind = tokens::Kind::Role;
    let role = kind.object("a", "c1");
    let of_role = ("c1", "a-token-role");
    assert!(changed(&mut view, Kind::Token(kind), of_role, role.clone()));
    assert!(changed(&mut view, Kind::OnCluster, at, on("csr")));
    let gone = view.remove(Kind::OnCluster, &place("c1", "a"));
    assert!(is_woken(view.with_rights(Kind::OnCluster, gone)));
    assert!(is_woken(view.all()));
    assert!(is_woken(
        view.remove(Kind::Token(kind), &place("c1", "a-token-role"))
    ));
    assert!(!is_woken(view.all()));
    let mut foreign = role;
    foreign["metadata"]["labels"] = json!({});
    assert!(!changed(&mut view, Kind::Token(kind), of_role, foreign));
}
