//! Who gets a CSR approved, by tables whose rows are sentences.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::*;

const TOKEN: &str = "system:bootstrap:abcdef";

/// A good first CSR of an agent of `c1`, sent with a bootstrap token.
fn first(agent: &str) -> CertificateRequest {
    CertificateRequest {
        name: format!("c1-{agent}"),
        cluster: "c1".to_owned(),
        signer: SIGNER.to_owned(),
        request: pem("system:open-cluster-management:c1", &requester(agent)),
        usages: vec!["client auth".to_owned()],
        username: TOKEN.to_owned(),
        groups: vec![BOOTSTRAPPERS.to_owned()],
        ..CertificateRequest::default()
    }
}

fn requester(agent: &str) -> String {
    format!("system:open-cluster-management:c1:{agent}")
}

fn pem(organization: &str, common_name: &str) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let subject = &mut params.distinguished_name;
    subject.push(DnType::OrganizationName, organization);
    subject.push(DnType::CommonName, common_name);
    let key = KeyPair::generate().unwrap();
    let request = params.serialize_request(&key).unwrap();
    request.pem().unwrap().into_bytes()
}

fn cluster(conditions: &[(&str, &str)]) -> Cluster {
    let condition = |(type_, status): &(&str, &str)| Condition {
        last_transition_time: Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH),
        message: String::new(),
        observed_generation: None,
        reason: "Test".to_owned(),
        status: (*status).to_owned(),
        type_: (*type_).to_owned(),
    };
    Cluster {
        conditions: conditions.iter().map(condition).collect(),
        ..Cluster::default()
    }
}

const JOINED: (&str, &str) = ("ManagedClusterJoined", "True");
const NEW: &[(&str, &str)] = &[];

fn pending(requests: &[CertificateRequest]) -> Vec<(CertificateRequest, Standing)> {
    requests
        .iter()
        .map(|request| (request.clone(), Standing::Pending))
        .collect()
}

/// The verdict about one pending CSR of a new cluster.
fn alone(request: &CertificateRequest, unchecked: bool) -> Verdict {
    let choice = Choice {
        unchecked,
        ..Choice::default()
    };
    let judgement = judge(
        "c1",
        &cluster(NEW),
        pending(std::slice::from_ref(request)),
        choice,
    );
    assert_eq!(judgement.different, [""; 0]);
    let [judged] = &judgement.requests[..] else {
        panic!("{judgement:?}")
    };
    assert_eq!(
        judgement.settled,
        !matches!(judged.verdict, Verdict::Left(_))
    );
    judged.verdict.clone()
}

#[test]
fn a_csr_that_is_not_truly_the_clusters_is_left_whatever_the_flags() {
    let good = first("a");
    let another = CertificateRequest {
        request: pem(
            "system:open-cluster-management:c2",
            "system:open-cluster-management:c2:a",
        ),
        ..good.clone()
    };
    let mixed = CertificateRequest {
        request: pem("system:open-cluster-management:c1", "admin"),
        ..good.clone()
    };
    let signer = CertificateRequest {
        signer: "kubernetes.io/kubelet-serving".to_owned(),
        ..good.clone()
    };
    let server = CertificateRequest {
        usages: vec!["client auth".to_owned(), "server auth".to_owned()],
        ..good.clone()
    };
    let mut forged = good.clone();
    let at = forged.request.len() - 60;
    forged.request[at] = if forged.request[at] == b'A' {
        b'B'
    } else {
        b'A'
    };
    let garbage = CertificateRequest {
        request: b"hello".to_vec(),
        ..good.clone()
    };
    for (sentence, request, words) in [
        ("another cluster's subject", another, "organizations"),
        ("its group, and another's name", mixed, "common name"),
        ("another signer", signer, "its signer is"),
        ("a server's certificate", server, "usage"),
        ("a signature by another key", forged, "signature"),
        ("no CSR at all", garbage, "PEM block"),
    ] {
        for unchecked in [false, true] {
            let verdict = alone(&request, unchecked);
            let Verdict::Left(why) = &verdict else {
                panic!("{sentence}: {verdict:?}")
            };
            assert!(why.contains(words), "{sentence}: {why}");
        }
    }
}

#[test]
fn senders_are_those_that_clusters_register_as() {
    let account = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
    let accounts = "system:serviceaccounts:open-cluster-management";
    for (sentence, user, group, words) in [
        ("a bootstrap token", TOKEN, BOOTSTRAPPERS, ""),
        ("the account of registration", account, accounts, ""),
        (
            "a node's bootstrap token",
            TOKEN,
            "system:bootstrappers:kubeadm:default-node-token",
            "not in the group",
        ),
        (
            "a token, and an account's group",
            TOKEN,
            accounts,
            "not in the group",
        ),
        (
            "an account without its group",
            account,
            BOOTSTRAPPERS,
            "not in the group",
        ),
        (
            "another account whose name begins the same",
            "system:serviceaccount:open-cluster-management:agent-registration-bootstrap-2",
            accounts,
            "is not a user that clusters register as",
        ),
        (
            "a person",
            "dev",
            BOOTSTRAPPERS,
            "its sender \"dev\" is not a user",
        ),
        (
            "another cluster's agent",
            "system:open-cluster-management:c2:a",
            accounts,
            "is not a user",
        ),
    ] {
        let request = CertificateRequest {
            username: user.to_owned(),
            groups: vec!["system:authenticated".to_owned(), group.to_owned()],
            ..first("a")
        };
        match alone(&request, false) {
            Verdict::Approve => assert_eq!(words, "", "{sentence}"),
            Verdict::Left(why) => {
                assert!(
                    !words.is_empty() && why.contains(words),
                    "{sentence}: {why}"
                );
                assert!(
                    why.ends_with("--skip-approve-check approves it anyway"),
                    "{why}"
                );
            }
            other => panic!("{sentence}: {other:?}"),
        }
        assert_eq!(alone(&request, true), Verdict::Approve, "{sentence}");
    }
}

#[test]
fn a_renewal_is_the_hubs_to_approve() {
    let renewal = CertificateRequest {
        username: requester("a"),
        ..first("a")
    };
    assert_eq!(alone(&renewal, false), Verdict::Renewal);
    assert_eq!(alone(&renewal, true), Verdict::Renewal);
}

/// What becomes of each CSR: approved now, of different requesters, or left.
fn all(
    conditions: &[(&str, &str)],
    requests: &[(&str, Standing)],
    requesters: &[&str],
    unchecked: bool,
) -> String {
    let requests = requests
        .iter()
        .map(|(agent, standing)| (first(agent), *standing))
        .collect();
    let requesters: Vec<String> = requesters.iter().map(|agent| requester(agent)).collect();
    let choice = Choice {
        requesters: &requesters,
        unchecked,
        ..Choice::default()
    };
    let judgement = judge("c1", &cluster(conditions), requests, choice);
    let mut told: Vec<String> = judgement
        .requests
        .iter()
        .map(|judged| {
            let word = match &judged.verdict {
                Verdict::Approve => "approve",
                Verdict::Approved => "approved",
                Verdict::Denied => "denied",
                Verdict::Renewal => "renewal",
                Verdict::Left(why) if why.contains("approve list") => "unlisted",
                Verdict::Left(why) if why.contains("has already joined") => "in use",
                Verdict::Left(_) => "left",
            };
            format!("{} {word}", judged.request.name)
        })
        .collect();
    if !judgement.different.is_empty() {
        told.push(format!("different {}", judgement.different.len()));
    }
    if judgement.settled {
        told.push("settled".to_owned());
    }
    told.join(", ")
}

#[test]
fn it_must_be_plain_which_requester_is_meant() {
    use Standing::{Approved, Pending, Refused};
    let available = ("ManagedClusterConditionAvailable", "True");
    let unknown = ("ManagedClusterConditionAvailable", "Unknown");
    type Row<'a> = (
        &'a str,
        &'a [(&'a str, &'a str)],
        &'a [(&'a str, Standing)],
        &'a [&'a str],
        bool,
        &'a str,
    );
    let rows: [Row<'_>; 15] = [
        ("no CSR", NEW, &[], &[], false, ""),
        ("no CSR any more", &[JOINED], &[], &[], false, "settled"),
        (
            "one",
            NEW,
            &[("a", Pending)],
            &[],
            false,
            "c1-a approve, settled",
        ),
        (
            "two of one requester",
            NEW,
            &[("a", Pending), ("a", Pending)],
            &[],
            false,
            "c1-a approve, c1-a approve, settled",
        ),
        (
            "two requesters",
            NEW,
            &[("a", Pending), ("b", Pending)],
            &[],
            false,
            "c1-a left, c1-b left, different 2",
        ),
        (
            "two, and no check",
            NEW,
            &[("a", Pending), ("b", Pending)],
            &[],
            true,
            "c1-a approve, c1-b approve, settled",
        ),
        (
            "two, of which one is listed",
            NEW,
            &[("a", Pending), ("b", Pending)],
            &["b"],
            false,
            "c1-a unlisted, c1-b approve, settled",
        ),
        (
            "two, and both are listed",
            NEW,
            &[("a", Pending), ("b", Pending)],
            &["b", "a"],
            false,
            "c1-a approve, c1-b approve, settled",
        ),
        (
            "one, and another is listed",
            NEW,
            &[("a", Pending)],
            &["b"],
            false,
            "c1-a unlisted",
        ),
        (
            "one, another is listed, and no check",
            NEW,
            &[("a", Pending)],
            &["b"],
            true,
            "c1-a unlisted",
        ),
        (
            "one, and another was approved",
            NEW,
            &[("a", Approved), ("b", Pending)],
            &[],
            false,
            "c1-a approved, c1-b left, different 2, settled",
        ),
        (
            "one, and another was denied",
            NEW,
            &[("a", Refused), ("b", Pending)],
            &[],
            false,
            "c1-a denied, c1-b approve, settled",
        ),
        (
            "two that were approved",
            NEW,
            &[("a", Approved), ("b", Approved)],
            &[],
            false,
            "c1-a approved, c1-b approved, settled",
        ),
        (
            "a cluster whose agent works",
            &[JOINED, available],
            &[("b", Pending)],
            &[],
            false,
            "c1-b in use, settled",
        ),
        (
            "a cluster whose agent is silent",
            &[JOINED, unknown],
            &[("b", Pending)],
            &[],
            false,
            "c1-b approve, settled",
        ),
    ];
    for (sentence, conditions, requests, requesters, unchecked, expected) in rows {
        let told = all(conditions, requests, requesters, unchecked);
        assert_eq!(told, expected, "{sentence}");
    }
    let listed = all(&[JOINED, available], &[("b", Pending)], &["b"], false);
    assert_eq!(listed, "c1-b approve, settled");
    let unchecked = all(&[JOINED, available], &[("b", Pending)], &[], true);
    assert_eq!(unchecked, "c1-b approve, settled");
}

#[test]
fn one_that_is_not_truly_the_clusters_makes_nothing_ambiguous() {
    let forged = CertificateRequest {
        signer: "example.com/other".to_owned(),
        ..first("b")
    };
    let stranger = CertificateRequest {
        username: "dev".to_owned(),
        ..first("c")
    };
    let choice = Choice::default();
    let requests = pending(&[first("a"), forged, stranger]);
    let judgement = judge("c1", &cluster(NEW), requests, choice);
    assert_eq!(judgement.different, [""; 0]);
    assert!(judgement.settled);
    assert_eq!(judgement.requests[0].verdict, Verdict::Approve);
}

#[test]
fn requesters_are_named_in_order_and_not_without_end() {
    let many: Vec<_> = (10..24).map(|it| first(&format!("a{it}"))).collect();
    let judgement = judge("c1", &cluster(NEW), pending(&many), Choice::default());
    assert_eq!(judgement.different.len(), 11);
    assert_eq!(judgement.different[0], requester("a10"));
    assert_eq!(judgement.different[10], "4 more");
}

#[test]
fn what_bears_another_clusters_label_is_not_looked_at() {
    let other = CertificateRequest {
        cluster: "c2".to_owned(),
        ..first("a")
    };
    let judgement = judge("c1", &cluster(NEW), pending(&[other]), Choice::default());
    assert!(judgement.requests.is_empty());
}

#[test]
fn of_several_keys_those_are_approved_that_are_named() {
    let (one, two) = (first("a1"), first("a1"));
    let key = |request: &CertificateRequest| Fingerprint::of(&request.request).unwrap();
    assert_ne!(key(&one), key(&two));
    let pending = |requests: &[&CertificateRequest], fingerprints: &[Fingerprint]| {
        let requests = requests.iter().map(|&it| (it.clone(), Standing::Pending));
        let choice = Choice {
            fingerprints,
            ..Choice::default()
        };
        judge("c1", &Cluster::default(), requests.collect(), choice)
    };
    let verdicts = |judgement: &Judgement| -> Vec<bool> {
        let approves = |judged: &Judged| judged.verdict == Verdict::Approve;
        judgement.requests.iter().map(approves).collect()
    };
    for (sentence, keys, expected, settled) in [
        ("no key is named", vec![], [true, true], true),
        ("the first", vec![key(&one)], [true, false], true),
        ("the second", vec![key(&two)], [false, true], true),
        ("both", vec![key(&one), key(&two)], [true, true], true),
        ("another", vec![key(&first("a1"))], [false, false], false),
    ] {
        let judgement = pending(&[&one, &two], &keys);
        assert_eq!(verdicts(&judgement), expected, "{sentence}");
        assert_eq!(judgement.settled, settled, "{sentence}");
    }
    // A key says which of several agents is meant, as a requester does.
    let other = first("a2");
    assert_eq!(pending(&[&one, &other], &[]).different.len(), 2);
    let judgement = pending(&[&one, &other], &[key(&other)]);
    assert_eq!(judgement.different, [] as [String; 0]);
    assert_eq!(verdicts(&judgement), [false, true]);
    let why = format!(
        "its key is {}, which --fingerprint does not name",
        key(&one)
    );
    assert_eq!(judgement.requests[0].verdict, Verdict::Left(why));
}
