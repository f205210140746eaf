//! What is decided about good requests; [`requests`] has the others.

mod der;
mod reading;
mod requests;

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde_json::{Value, json};

use self::der::{pem, signed, subject};
use super::*;
use crate::config::Gates;
use crate::facts::Standing;

const GROUP: &str = "system:open-cluster-management:c1";
const AGENT: &str = "system:open-cluster-management:c1:a1";
const ALL: &str = "system:open-cluster-management:managed-clusters";
const BOOTSTRAP: &str = "system:serviceaccount:ocm:bootstrap";

fn good_pem() -> Vec<u8> {
    pem(&signed(&subject(&[GROUP, ALL], AGENT), &[]))
}

/// From an agent of `c1` that renews its certificate.
fn renewal(pem: Vec<u8>) -> CertificateRequest {
    let read = CertificateRequest::read(CertificateSigningRequest {
        metadata: ObjectMeta {
            name: Some("c1-x7k2p".to_owned()),
            uid: Some("u1".to_owned()),
            resource_version: Some("7".to_owned()),
            labels: Some(
                [
                    (berth_api::labels::CLUSTER_NAME.to_owned(), "c1".to_owned()),
                    ("team".to_owned(), "blue".to_owned()),
                ]
                .into(),
            ),
            generate_name: Some("c1-".to_owned()),
            annotations: Some([("note".to_owned(), "kept".to_owned())].into()),
            managed_fields: Some(Vec::new()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(pem),
            signer_name: SIGNER.to_owned(),
            usages: Some(
                ["digital signature", "key encipherment", "client auth"]
                    .map(str::to_owned)
                    .into(),
            ),
            username: Some(AGENT.to_owned()),
            uid: Some("user-uid".to_owned()),
            groups: Some(vec![GROUP.to_owned(), ALL.to_owned()]),
            extra: Some([("scopes".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into()),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    });
    let (request, standing) = read.unwrap();
    assert_eq!(standing, Standing::Pending);
    request
}

fn bootstrap() -> CertificateRequest {
    CertificateRequest {
        username: BOOTSTRAP.to_owned(),
        ..renewal(good_pem())
    }
}

/// Decides, and asserts that the request as the controller keeps it leads to the same decision.
#[track_caller]
fn decide(
    config: &Config,
    request: &CertificateRequest,
    cluster: Option<&Cluster>,
    obstacle: Option<&Obstacle>,
    may_renew: Option<bool>,
) -> Decision {
    let decision = super::decide(config, request, cluster, obstacle, may_renew);
    let kept = CheckedRequest::new(request.clone());
    let of_kept = kept.map_or(Decision::Ignore, |kept| {
        assert!(kept.request().request.is_empty() && kept.request().usages.is_empty());
        kept.decide(config, cluster, obstacle, may_renew)
    });
    assert_eq!(of_kept, decision);
    decision
}

fn config(auto_approval: bool) -> Config {
    Config {
        gates: Gates {
            auto_approval,
            ..Gates::default()
        },
        auto_approved_users: [BOOTSTRAP.to_owned()].into(),
        ..Config::default()
    }
}

fn cluster(conditions: &[(&str, &str)]) -> Cluster {
    Cluster {
        accepted: true,
        conditions: conditions
            .iter()
            .map(|(type_, status)| Condition {
                type_: (*type_).to_owned(),
                status: (*status).to_owned(),
                reason: "Test".to_owned(),
                message: String::new(),
                observed_generation: None,
                last_transition_time: Time("2026-01-01T00:00:00Z".parse().unwrap()),
            })
            .collect(),
        ..Cluster::default()
    }
}

/// The reason and the note of a request that is left to an admin.
#[track_caller]
fn left(decision: Decision) -> (&'static str, String) {
    let event = decision.event();
    let Decision::Leave { reason, note } = decision else {
        panic!("not left: {decision:?}");
    };
    assert!(note.len() <= 1024, "an event takes no more: {note}");
    assert!(!note.contains(char::is_control), "{note:?}");
    assert_eq!(event.unwrap().note, note);
    (reason, note)
}

#[track_caller]
fn approved(decision: Decision) -> Write {
    match decision {
        Decision::Approve(write) => *write,
        other => panic!("not approved: {other:?}"),
    }
}

#[test]
fn an_agent_renews_if_the_hub_lets_it() {
    let request = renewal(good_pem());
    // Neither gate nor cluster matters.
    let Decision::Ask(review) = decide(&config(false), &request, None, None, None) else {
        panic!("the hub is to be asked");
    };
    assert_eq!(
        serde_json::to_value(review).unwrap(),
        json!({
            "user": AGENT,
            "uid": "user-uid",
            "groups": [GROUP, ALL],
            "extra": {"scopes": ["a", "b"]},
            "resourceAttributes": {
                "group": "register.open-cluster-management.io",
                "resource": "managedclusters",
                "subresource": "clientcertificates",
                "verb": "renew",
            },
        })
    );

    let write = approved(decide(&config(false), &request, None, None, Some(true)));
    assert_eq!(write.target.name, "c1-x7k2p");
    assert_eq!(write.events[0].reason, "ManagedClusterCSRAutoApproved");
    assert_eq!(
        write.events[0].note,
        "managed cluster csr \"c1-x7k2p\" is auto approved by hub csr controller"
    );
    let Action::Replace { subresource, body } = write.action else {
        panic!("approval is replaced");
    };
    assert_eq!(subresource, Some("approval"));
    assert_eq!(
        body,
        json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": "c1-x7k2p",
                "generateName": "c1-",
                "uid": "u1",
                "resourceVersion": "7",
                "labels": {"open-cluster-management.io/cluster-name": "c1", "team": "blue"},
                "annotations": {"note": "kept"},
            },
            "status": {"conditions": [{
                "type": "Approved",
                "status": "True",
                "reason": "AutoApprovedByHubCSRApprovingController",
                "message": "Auto approving Managed cluster agent certificate after SubjectAccessReview.",
            }]},
        })
    );
}

#[test]
fn no_request_is_approved_for_a_cluster_that_cannot_be_read_wholly() {
    let strange = json!({
        "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{"type": "A", "lastTransitionTime": "9999-12-31T23:59:59Z"}]},
    });
    let cluster = Cluster::read(&strange);
    let request = renewal(good_pem());
    for may_renew in [None, Some(true)] {
        let (reason, note) = left(decide(
            &config(true),
            &request,
            Some(&cluster),
            None,
            may_renew,
        ));
        assert_eq!(reason, reasons::CLUSTER_UNREADABLE);
        assert!(
            note.contains("status.conditions[0].lastTransitionTime"),
            "{note}"
        );
    }
}

#[test]
fn an_agent_that_was_just_turned_out_does_not_renew() {
    let denied = Cluster::default();
    for may_renew in [None, Some(true)] {
        let decision = decide(
            &config(false),
            &renewal(good_pem()),
            Some(&denied),
            None,
            may_renew,
        );
        let (reason, note) = left(decision);
        assert_eq!(reason, reasons::RENEWAL_FORBIDDEN);
        assert!(
            note.contains("is not accepted (spec.hubAcceptsClient)"),
            "{note}"
        );
    }
}

#[test]
fn an_agent_that_may_not_renew_is_told_why() {
    let denied = Cluster::default();
    let accepted = cluster(&[]);
    for (sentence, cluster, words) in [
        ("no cluster", None, "the ManagedCluster does not exist"),
        (
            "turned out",
            Some(&denied),
            "is not accepted (spec.hubAcceptsClient)",
        ),
        (
            "its RBAC is missing",
            Some(&accepted),
            "ClusterRoleBinding \"open-cluster-management:managedcluster:c1\"",
        ),
    ] {
        // Unlike in OCM, it does not count as a first request then.
        let mut config = config(true);
        config.auto_approved_users.insert(AGENT.to_owned());
        let decision = decide(&config, &renewal(good_pem()), cluster, None, Some(false));
        assert!(decision.event().unwrap().warning, "{sentence}");
        let (reason, note) = left(decision);
        assert_eq!(reason, reasons::RENEWAL_FORBIDDEN, "{sentence}");
        assert!(
            note.contains("needs verb \"renew\"") && note.contains(words),
            "{sentence}: {note}"
        );
    }
}

#[test]
fn a_listed_user_gets_a_first_certificate_of_a_cluster_that_nobody_uses() {
    use conditions::cluster::{AVAILABLE, JOINED};
    let mut again = config(true);
    again.gates.auto_rebootstrap = true;
    let joined = Some(reasons::CLUSTER_JOINED);
    let in_use = Some(reasons::CLUSTER_IN_USE);
    // conditions, then: why it is left to an admin, without the gate for clusters that have joined, and with it
    for (sentence, conditions, without, with) in [
        ("a new cluster", &[][..], None, None),
        ("one that has not joined", &[(JOINED, "False")], None, None),
        (
            "one that has not joined, whatever else",
            &[(AVAILABLE, "True")],
            None,
            None,
        ),
        (
            "one whose agent is silent",
            &[(JOINED, "True"), (AVAILABLE, "Unknown")],
            joined,
            None,
        ),
        (
            "one that works",
            &[(JOINED, "True"), (AVAILABLE, "True")],
            joined,
            in_use,
        ),
        (
            "one that is heard of",
            &[(JOINED, "True"), (AVAILABLE, "False")],
            joined,
            in_use,
        ),
        (
            "one that has just joined",
            &[(JOINED, "True")],
            joined,
            in_use,
        ),
    ] {
        let cluster = cluster(conditions);
        for (config, expected) in [(&config(true), without), (&again, with)] {
            // The hub's answer about renewals is not asked for.
            let decision = decide(config, &bootstrap(), Some(&cluster), None, None);
            let Some(expected) = expected else {
                let write = approved(decision);
                let event = &write.events[0];
                assert_eq!(event.reason, "ManagedClusterAutoApproved", "{sentence}");
                assert_eq!(event.note, "managed cluster \"c1\" is auto approved.");
                continue;
            };
            assert!(decision.event().unwrap().warning, "{sentence}");
            let (reason, note) = left(decision);
            assert_eq!(reason, expected, "{sentence}");
            assert!(note.contains("the cluster has joined already"), "{note}");
            assert!(
                note.contains("`kubectl certificate approve c1-x7k2p`"),
                "{note}"
            );
        }
    }
    let waiting = Cluster::default();
    let decision = decide(&again, &bootstrap(), Some(&waiting), None, None);
    assert_eq!(decision, Decision::Wait, "acceptance comes first");
    for cluster in [cluster(&[]), waiting] {
        let obstacle = Obstacle {
            reason: reasons::OTHER_SET,
            words: "it is elsewhere".to_owned(),
        };
        let decision = decide(&again, &bootstrap(), Some(&cluster), Some(&obstacle), None);
        assert!(decision.event().unwrap().warning);
        let (reason, note) = left(decision);
        assert_eq!(reason, reasons::OTHER_SET);
        assert!(note.ends_with("c1-x7k2p`: it is elsewhere"), "{note}");
    }
    let deleting = Cluster {
        deleting: true,
        ..cluster(&[])
    };
    let (reason, note) = left(decide(
        &config(true),
        &bootstrap(),
        Some(&deleting),
        None,
        None,
    ));
    assert_eq!(reason, reasons::CLUSTER_DELETING);
    assert!(
        note.ends_with("the ManagedCluster is being deleted"),
        "{note}"
    );
}

#[test]
fn a_request_that_came_before_its_cluster_waits_in_silence() {
    let decision = decide(&config(true), &bootstrap(), None, None, None);
    assert_eq!(decision, Decision::Wait);
    assert_eq!(decision.event(), None);
    assert!(is_from_listed_user(&config(true), &bootstrap()));
    assert!(!is_from_listed_user(&config(false), &bootstrap()));
    assert!(!is_from_listed_user(&config(true), &renewal(good_pem())));
}

#[test]
fn all_other_first_requests_wait_for_a_person_and_say_so() {
    let other = CertificateRequest {
        username: "jane".to_owned(),
        ..bootstrap()
    };
    for (sentence, auto_approval, request, reason, words) in [
        (
            "gate off",
            false,
            &bootstrap(),
            reasons::AUTO_APPROVAL_OFF,
            "of user \"system:serviceaccount:ocm:bootstrap\" for ManagedCluster \"c1\" waits for `kubectl certificate \
             approve c1-x7k2p`: feature gate ManagedClusterAutoApproval is off",
        ),
        (
            "not listed",
            true,
            &other,
            reasons::USER_NOT_LISTED,
            "of user \"jane\" for ManagedCluster \"c1\" waits for `kubectl certificate approve c1-x7k2p`: the user is \
             not listed in --auto-approved-csr-users",
        ),
    ] {
        for cluster in [None, Some(&cluster(&[]))] {
            let decision = decide(&config(auto_approval), request, cluster, None, None);
            assert!(!decision.event().unwrap().warning, "{sentence}");
            let (why, note) = left(decision);
            assert_eq!(why, reason, "{sentence}");
            assert!(note.ends_with(words), "{sentence}: {note}");
        }
    }
}

#[test]
fn nobody_else_s_name_becomes_part_of_a_command() {
    for name in ["a b", "$(id)", "x;y", "--all", "a`b", "a\nb", "a\u{202e}b"] {
        let request = CertificateRequest {
            name: name.to_owned(),
            ..bootstrap()
        };
        let (_, note) = left(decide(&config(false), &request, None, None, None));
        assert!(note.contains("waits for an admin's approval"), "{note}");
        assert!(!note.contains("kubectl"), "{note}");
    }
}

#[test]
fn notes_are_no_longer_than_an_event_takes() {
    for char in ["\u{10ffff}\n", "\u{1f980}", "x", "\u{e4}"] {
        let long = char.repeat(5000);
        let request = CertificateRequest {
            name: long.clone(),
            username: long.clone(),
            ..bootstrap()
        };
        left(decide(&config(false), &request, None, None, None));
        let odd_cluster = CertificateRequest {
            cluster: long.clone(),
            ..request.clone()
        };
        left(decide(&config(true), &odd_cluster, None, None, None));
        let cut: String = long.chars().take(200).collect();
        for subject in [
            subject(&[&cut, &cut, &cut, &cut], AGENT),
            subject(&[GROUP], &cut),
        ] {
            let request = CertificateRequest {
                request: pem(&signed(&subject, &[])),
                ..request.clone()
            };
            left(decide(&config(false), &request, None, None, None));
        }
        let in_use = cluster(&[(conditions::cluster::JOINED, "True")]);
        let request = CertificateRequest {
            name: "x".repeat(LONGEST_NAME),
            ..bootstrap()
        };
        left(decide(&config(true), &request, Some(&in_use), None, None));
    }
}

#[test]
fn requests_to_other_signers_are_none_of_ours() {
    for signer in [
        "",
        "invalidsigner",
        "kubernetes.io/kube-apiserver-client-kubelet",
        "open-cluster-management.io/grpc",
    ] {
        let request = CertificateRequest {
            signer: signer.to_owned(),
            ..bootstrap()
        };
        let decision = decide(&config(true), &request, None, None, Some(true));
        assert_eq!(decision, Decision::Ignore, "{signer}");
        assert!(!is_from_listed_user(&config(true), &request));
    }
}

#[test]
fn conditions_of_others_stay() {
    let request = CertificateRequest {
        conditions: vec![CertificateSigningRequestCondition {
            type_: "Seen".to_owned(),
            status: "True".to_owned(),
            ..CertificateSigningRequestCondition::default()
        }],
        ..renewal(good_pem())
    };
    let write = approved(decide(&config(false), &request, None, None, Some(true)));
    let Action::Replace { body, .. } = write.action else {
        panic!("approval is replaced");
    };
    let types: Vec<&Value> = body["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(types, ["Seen", "Approved"]);
    // After the write nothing is due: an approved request is not pending.
    let mut object: CertificateSigningRequest = serde_json::from_value(body).unwrap();
    object.spec.signer_name = SIGNER.to_owned();
    object.metadata.labels = Some(BTreeMap::from([(
        berth_api::labels::CLUSTER_NAME.to_owned(),
        "c1".to_owned(),
    )]));
    let (_, standing) = CertificateRequest::read(object).unwrap();
    assert_eq!(standing, Standing::Approved);
}
