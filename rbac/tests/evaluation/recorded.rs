//! The RBAC objects of the recorded admission reviews, and the questions that these reviews raise.

use crate::support::{answer, policy};

#[test]
fn the_recorded_users_may_do_what_was_recorded() {
    let yaml = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../examples/hub/rbac.yaml"
    ))
    .unwrap();
    let policy = policy(&yaml);

    let join = "create cluster.open-cluster-management.io managedclustersets/join";
    let bind = "create cluster.open-cluster-management.io managedclustersets/bind";
    let update_accept = "update register.open-cluster-management.io managedclusters/accept";
    let create_accept = "create register.open-cluster-management.io managedclusters/accept";

    let alice = r#"ClusterRoleBinding "alice-join-default-and-set-a" -> ClusterRole "join-default-and-set-a" for user "alice""#;
    let carol = r#"ClusterRoleBinding "team-carol-hub-admin" -> ClusterRole "hub-admin" for group "team-carol""#;
    let dave = r#"ClusterRoleBinding "dave-accept-as-documented" -> ClusterRole "accept-as-documented" for user "dave""#;
    let pipeline = r#"ClusterRoleBinding "pipeline" -> ClusterRole "pipeline" for service account "ci/pipeline""#;
    let writer = r#"ClusterRoleBinding "managedcluster-writers" -> ClusterRole "managedcluster-writer" for group "system:authenticated""#;

    let rows = [
        ("alice joins set-a", "alice", join, "set-a", alice),
        (
            "alice joins the default set",
            "alice",
            join,
            "default",
            alice,
        ),
        ("alice does not join set-b", "alice", join, "set-b", "no"),
        ("alice binds set-a", "alice", bind, "set-a", alice),
        (
            "alice does not bind the default set",
            "alice",
            bind,
            "default",
            "no",
        ),
        ("alice accepts nothing", "alice", update_accept, "c1", "no"),
        (
            "alice accepts nothing by the other verb",
            "alice",
            create_accept,
            "c1",
            "no",
        ),
        ("bob joins nothing", "bob", join, "default", "no"),
        ("bob binds nothing", "bob", bind, "set-a", "no"),
        ("bob accepts nothing", "bob", update_accept, "c1", "no"),
        (
            "bob writes clusters, as everybody",
            "bob",
            "create cluster.open-cluster-management.io managedclusters",
            "",
            writer,
        ),
        (
            "carol's team accepts every cluster by update",
            "carol",
            update_accept,
            "c1",
            carol,
        ),
        (
            "carol's team does not by create",
            "carol",
            create_accept,
            "c1",
            "no",
        ),
        (
            "carol's team joins every set",
            "carol",
            join,
            "set-b",
            carol,
        ),
        (
            "carol's team binds every set",
            "carol",
            bind,
            "set-b",
            carol,
        ),
        (
            "dave accepts dave-1 by create",
            "dave",
            create_accept,
            "dave-1",
            dave,
        ),
        (
            "dave does not accept dave-1 by update",
            "dave",
            update_accept,
            "dave-1",
            "no",
        ),
        (
            "dave accepts no other cluster",
            "dave",
            create_accept,
            "dave-2",
            "no",
        ),
        (
            "dave accepts no cluster without a name",
            "dave",
            create_accept,
            "",
            "no",
        ),
        ("dave joins every set", "dave", join, "set-b", dave),
        ("dave binds nothing", "dave", bind, "set-b", "no"),
        (
            "the pipeline accepts edge-1",
            "pipeline",
            update_accept,
            "edge-1",
            pipeline,
        ),
        (
            "the pipeline accepts edge-2",
            "pipeline",
            update_accept,
            "edge-2",
            pipeline,
        ),
        (
            "the pipeline accepts no other cluster",
            "pipeline",
            update_accept,
            "edge-3",
            "no",
        ),
        (
            "the pipeline does not accept by create",
            "pipeline",
            create_accept,
            "edge-1",
            "no",
        ),
        (
            "managedclustersets/* does not grant join",
            "pipeline",
            join,
            "set-a",
            "no",
        ),
        (
            "managedclustersets/* does not grant bind",
            "pipeline",
            bind,
            "set-a",
            "no",
        ),
    ];
    for (sentence, who, what, name, expected) in rows {
        let team = format!("team-{who}");
        let (user, groups) = match who {
            "pipeline" => {
                let own = vec![
                    "system:serviceaccounts",
                    "system:serviceaccounts:ci",
                    "system:authenticated",
                ];
                ("system:serviceaccount:ci:pipeline", own)
            }
            person => (person, vec![team.as_str(), "system:authenticated"]),
        };
        let line = format!("{what} {name}");
        assert_eq!(
            answer(&policy, user, &groups, line.trim_end()),
            expected,
            "{sentence}"
        );
    }
}
