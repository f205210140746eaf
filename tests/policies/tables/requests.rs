//! CertificateSigningRequests of agents and for add-ons.

use berth_api::{agents, labels};
use berth_testkit::csr::{Csr, user_of};
use serde_json::{Value, json};

use super::Row;
use crate::users::User;
use crate::write::Verb;

/// A CSR with a label, that anyone may file.
pub fn labelled(cluster: Option<&str>) -> Value {
    static BODY: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| Csr::new("c1", "agent").body);
    let mut body = BODY.clone();
    body["metadata"] = match cluster {
        Some(cluster) => json!({ "labels": { labels::CLUSTER_NAME: cluster } }),
        None => json!({ "labels": { "a": "b" } }),
    };
    // Any requester may ask for a certificate of a signer that Kubernetes does not know.
    body["spec"]["signerName"] = "tests.berth/proof".into();
    body["spec"]
        .as_object_mut()
        .unwrap()
        .remove("expirationSeconds");
    body
}

fn for_addon(mut request: Value) -> Value {
    request["metadata"]["labels"][labels::ADDON_NAME] = "proxy".into();
    request
}

/// An agent of this name.
pub fn agent(name: &str) -> User {
    User::new(&[]).called(name).in_group(agents::ALL)
}

pub fn rows() -> Vec<Row> {
    let c1 = || agent(&user_of("c1", "agent"));
    let admin = || User::new(&[]).called("admin");
    let of = |cluster: &str| labelled(Some(cluster));
    let cases = [
        ("their own", c1(), None, of("c1"), "allow"),
        ("no label", c1(), None, labelled(None), "allow"),
        ("another cluster's", c1(), None, of("c2"), "403"),
        ("an empty label", c1(), None, of(""), "403"),
        (
            "a cluster whose name begins alike",
            c1(),
            None,
            of("c10"),
            "403",
        ),
        (
            "an agent without a name",
            agent("system:open-cluster-management:c1:"),
            None,
            of("c1"),
            "403",
        ),
        (
            "a name of more parts",
            agent("system:open-cluster-management:c1:agent:x"),
            None,
            of("c1"),
            "403",
        ),
        (
            "a name without a cluster",
            agent("system:open-cluster-management::agent"),
            None,
            of(""),
            "403",
        ),
        (
            "a name that is no agent's",
            agent("robot"),
            None,
            of("c1"),
            "403",
        ),
        (
            "which needs no label",
            agent("robot"),
            None,
            labelled(None),
            "allow",
        ),
        ("everybody else", User::new(&[]), None, of("c1"), "allow"),
        (
            "an agent's name outside of the group",
            User::new(&[]).called(&user_of("c1", "agent")),
            None,
            of("c2"),
            "allow",
        ),
        (
            "a label that comes later",
            c1(),
            Some(labelled(None)),
            of("c2"),
            "403",
        ),
        (
            "their own label that comes later",
            c1(),
            Some(labelled(None)),
            of("c1"),
            "allow",
        ),
        ("another label", c1(), Some(of("c2")), of("c3"), "403"),
        (
            "a stored label stays",
            c1(),
            Some(of("c2")),
            with_note(of("c2")),
            "allow",
        ),
        (
            "a stored label goes",
            c1(),
            Some(of("c2")),
            labelled(None),
            "allow",
        ),
        (
            "an add-on's of their cluster",
            c1(),
            None,
            for_addon(of("c1")),
            "allow",
        ),
        (
            "an add-on's of another cluster",
            c1(),
            None,
            for_addon(of("c2")),
            "403",
        ),
        (
            "an add-on's of no cluster",
            c1(),
            None,
            for_addon(labelled(None)),
            "403",
        ),
        (
            "an add-on's by an admin",
            admin(),
            None,
            for_addon(of("c1")),
            "403",
        ),
        (
            "an add-on's of no cluster by an admin",
            admin(),
            None,
            for_addon(labelled(None)),
            "403",
        ),
        (
            "an add-on's by the user name of an agent outside of the group",
            User::new(&[]).called(&user_of("c1", "agent")),
            None,
            for_addon(of("c1")),
            "allow",
        ),
        (
            "an add-on's that is there stays",
            admin(),
            Some(for_addon(of("c1"))),
            with_note(for_addon(of("c1"))),
            "allow",
        ),
        (
            "an add-on's label that comes later",
            admin(),
            Some(of("c1")),
            for_addon(of("c1")),
            "403",
        ),
        (
            "an add-on's that becomes another cluster's",
            admin(),
            Some(for_addon(of("c1"))),
            for_addon(of("c2")),
            "403",
        ),
        (
            "an add-on's label that goes",
            admin(),
            Some(for_addon(of("c1"))),
            of("c1"),
            "allow",
        ),
    ];
    let row = |(sentence, user, old, new, expected): (_, _, Option<Value>, _, _)| Row {
        sentence: format!("requests: {sentence}"),
        user,
        verb: if old.is_some() {
            Verb::Replace
        } else {
            Verb::Create
        },
        old,
        new,
        expected,
    };
    cases.map(row).into()
}

fn with_note(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({ "x": "y" });
    object
}
