//! Requests that are approved, and those that are not. Numbers are those of OCM's scenarios.

use berth_api::addon::AddOnTemplateSpec;
use berth_certs::client::{ClientKey, Wanted};
use serde_json::json;

use super::{Facts, Request, Verdict, judge};

const USER: &str = "system:open-cluster-management:cluster:c1:addon:x:agent:x-agent";
const GROUP: &str = "system:open-cluster-management:cluster:c1:addon:x";
const ALL: &str = "system:open-cluster-management:addon:x";
const DNS_NAME: &str = "x.addon.open-cluster-management.io";
const API_SERVER: &str = "kubernetes.io/kube-apiserver-client";
const AGENT: &str = "system:open-cluster-management:c1:agent";

fn template() -> AddOnTemplateSpec {
    let custom = |name: &str, subject| json!({"type": "CustomSigner", "customSigner": {"signerName": name, "signingCA": {"name": "ca"}, "subject": subject}});
    serde_json::from_value(json!({"registration": [
        {"type": "KubeClient"},
        custom("example.com/s", json!({"user": "u", "groups": ["g", "h"], "organizationUnit": ["o"]})),
        custom("example.com/default", json!(null)),
        custom("example.com/nobody", json!({"groups": ["g"]})),
    ]}))
    .unwrap()
}

fn good() -> Wanted<'static> {
    Wanted {
        common_name: USER,
        organizations: &[GROUP, ALL],
        units: &[],
        dns_names: &[DNS_NAME],
    }
}

fn pem(wanted: &Wanted<'_>) -> String {
    ClientKey::generate().unwrap().request(wanted).unwrap()
}

fn usages(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

/// The verdict about a request of c1 for the add-on x, changed by `change`.
fn verdict(pem: &str, change: impl FnOnce(&mut Request<'_>, &mut Facts<'_>)) -> Verdict {
    let (template, usages) = (
        template(),
        usages(&["digital signature", "key encipherment", "client auth"]),
    );
    let mut request = Request {
        name: "addon-c1-x-8fk2p",
        cluster: "c1",
        addon: "x",
        signer: API_SERVER,
        pem: pem.as_bytes(),
        usages: &usages,
        username: AGENT,
    };
    let mut facts = Facts {
        cluster_is_accepted: true,
        template: Some(&template),
    };
    change(&mut request, &mut facts);
    judge(&request, &facts)
}

#[track_caller]
fn assert_left(verdict: Verdict, expected: &str, words: &str) {
    let Verdict::Leave { reason, note } = verdict else {
        panic!("{verdict:?}")
    };
    assert_eq!(reason, expected, "{note}");
    assert!(note.contains(words), "{note}");
}

#[test]
fn a_request_of_the_clusters_agent_for_the_addons_subject_is_approved() {
    let with_authenticated = Wanted {
        organizations: &[ALL, GROUP, "system:authenticated"],
        ..good()
    };
    let without_names = Wanted {
        dns_names: &[],
        ..good()
    };
    for (sentence, wanted) in [
        ("25: groups and user", good()),
        (
            "27: the group of all authenticated users",
            with_authenticated,
        ),
        ("no alternative name", without_names),
    ] {
        assert_eq!(
            verdict(&pem(&wanted), |_, _| {}),
            Verdict::Approve,
            "{sentence}"
        );
    }
}

#[test]
fn another_sender_is_refused() {
    let pem = pem(&good());
    for (sentence, username) in [
        (
            "26: a cluster whose name begins so",
            "system:open-cluster-management:c10:agent",
        ),
        ("another cluster", "system:open-cluster-management:c2:agent"),
        (
            "the prefix without agent",
            "system:open-cluster-management:c1",
        ),
        ("an empty agent", "system:open-cluster-management:c1:"),
        ("the add-on's own agent", USER),
        ("a user", "admin"),
        ("nobody", ""),
    ] {
        let verdict = verdict(&pem, |request, _| request.username = username);
        let Verdict::Leave { reason, .. } = verdict else {
            panic!("{sentence}: {verdict:?}")
        };
        assert_eq!(reason, "ForeignRequester", "{sentence}");
    }
    // The label of another cluster does not help.
    let other = verdict(&pem, |request, _| request.cluster = "c2");
    assert_left(
        other,
        "ForeignRequester",
        "system:open-cluster-management:c2:AGENT",
    );
    let colon = verdict(&pem, |request, _| request.addon = "x:agent:y");
    assert_left(colon, "InvalidLabels", "do not name a cluster");
    let denied = verdict(&pem, |_, facts| facts.cluster_is_accepted = false);
    assert_left(denied, "ClusterNotAccepted", "is not accepted");
}

#[test]
fn another_subject_is_refused() {
    let other = "system:open-cluster-management:cluster:c2:addon:x";
    for (sentence, wanted, words) in [
        (
            "27: a third group",
            Wanted {
                organizations: &[GROUP, ALL, "system:masters"],
                ..good()
            },
            "organizations are not",
        ),
        (
            "one group is missing",
            Wanted {
                organizations: &[ALL],
                ..good()
            },
            "organizations are not",
        ),
        (
            "the group of another cluster",
            Wanted {
                organizations: &[other, ALL],
                ..good()
            },
            "organizations are not",
        ),
        (
            "a group twice",
            Wanted {
                organizations: &[GROUP, GROUP, ALL],
                ..good()
            },
            "organizations are not",
        ),
        (
            "another user",
            Wanted {
                common_name: "system:admin",
                ..good()
            },
            r#"the common name is "system:admin""#,
        ),
        (
            "another add-on",
            Wanted {
                common_name: "system:open-cluster-management:cluster:c1:addon:y:agent:y-agent",
                ..good()
            },
            "the common name is",
        ),
        (
            "a unit",
            Wanted {
                units: &["o"],
                ..good()
            },
            "organizational units are not []",
        ),
    ] {
        let verdict = verdict(&pem(&wanted), |_, _| {});
        let Verdict::Leave { reason, note } = verdict else {
            panic!("{sentence}: {verdict:?}")
        };
        assert_eq!(reason, "InvalidSubject", "{sentence}");
        assert!(note.contains(words), "{sentence}: {note}");
    }
}

#[test]
fn other_names_usages_and_texts_are_refused() {
    let names = Wanted {
        dns_names: &[DNS_NAME, "kubernetes.default.svc"],
        ..good()
    };
    assert_left(
        verdict(&pem(&names), |_, _| {}),
        "AlternativeNames",
        DNS_NAME,
    );
    for (all, words) in [
        (
            &["client auth", "server auth"][..],
            r#"the usage "server auth""#,
        ),
        (&["digital signature"], "does not ask for the usage"),
        (&[], "does not ask for the usage"),
    ] {
        let all = usages(all);
        let (template, pem) = (template(), pem(&good()));
        let request = Request {
            name: "addon-c1-x-8fk2p",
            cluster: "c1",
            addon: "x",
            signer: API_SERVER,
            pem: pem.as_bytes(),
            usages: &all,
            username: AGENT,
        };
        let facts = Facts {
            cluster_is_accepted: true,
            template: Some(&template),
        };
        assert_left(judge(&request, &facts), "InvalidUsages", words);
    }
    let twice = format!("{}{}", pem(&good()), pem(&good()));
    assert_left(
        verdict(&twice, |_, _| {}),
        "InvalidRequest",
        "one PEM block",
    );
    assert_left(verdict("", |_, _| {}), "InvalidRequest", "one PEM block");
    let long = "a".repeat(20_000);
    assert_left(
        verdict(&long, |_, _| {}),
        "InvalidRequest",
        "more than 16384 bytes",
    );
}

#[test]
fn another_signer_signs_the_subjects_of_the_template_only() {
    let own = Wanted {
        common_name: "u",
        organizations: &["h", "g"],
        units: &["o"],
        dns_names: &[DNS_NAME],
    };
    let by = |signer: &'static str, wanted: &Wanted<'_>| {
        verdict(&pem(wanted), |request, _| request.signer = signer)
    };
    assert_eq!(by("example.com/s", &own), Verdict::Approve);
    assert_eq!(by("example.com/default", &good()), Verdict::Approve);
    let nobody = Wanted {
        common_name: "system:open-cluster-management:cluster:c1:addon:x:agent:x",
        organizations: &["g"],
        ..good()
    };
    assert_eq!(by("example.com/nobody", &nobody), Verdict::Approve);
    for (sentence, wanted) in [
        (
            "another user",
            Wanted {
                common_name: "v",
                ..own
            },
        ),
        (
            "a group more",
            Wanted {
                organizations: &["g", "h", "i"],
                ..own
            },
        ),
        (
            "the group of authenticated users",
            Wanted {
                organizations: &["g", "h", "system:authenticated"],
                ..own
            },
        ),
        (
            "another unit",
            Wanted {
                units: &["p"],
                ..own
            },
        ),
        ("the default subject", good()),
    ] {
        let verdict = by("example.com/s", &wanted);
        assert!(
            matches!(
                verdict,
                Verdict::Leave {
                    reason: "InvalidSubject",
                    ..
                }
            ),
            "{sentence}: {verdict:?}"
        );
    }
    let foreign = verdict(&pem(&own), |request, _| {
        request.signer = "example.com/s";
        request.username = "system:open-cluster-management:c10:agent";
    });
    assert_left(foreign, "ForeignRequester", "not an agent of the cluster");
}

#[test]
fn what_is_not_for_a_template_is_ignored() {
    let pem = pem(&good());
    assert_eq!(
        verdict(&pem, |_, facts| facts.template = None),
        Verdict::Ignore
    );
    assert_eq!(
        verdict(&pem, |request, _| request.name = "c1-8fk2p"),
        Verdict::Ignore
    );
    let unknown = verdict(&pem, |request, _| request.signer = "example.com/unknown");
    assert_eq!(unknown, Verdict::Ignore);
    let empty = AddOnTemplateSpec::default();
    let request = Request {
        name: "addon-c1-x-8fk2p",
        cluster: "c1",
        addon: "x",
        signer: API_SERVER,
        pem: pem.as_bytes(),
        usages: &[],
        username: AGENT,
    };
    let facts = Facts {
        cluster_is_accepted: true,
        template: Some(&empty),
    };
    assert_eq!(judge(&request, &facts), Verdict::Ignore);
}
