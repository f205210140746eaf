//! Requests that are not an agent's, and the limits of those that are.

use proptest::prelude::*;

use super::der::{
    BMP, CN, O, OU, PRINTABLE, UTF8, alternative_names, attribute, element, extension_request,
    name, pem, signed, subject,
};
use super::*;

/// Asserts that a request is left to an admin, as a renewal by a user who may renew and as a first request.
#[track_caller]
fn assert_left(sentence: &str, request: &CertificateRequest, reason: &str, words: &str) {
    for request in [
        request.clone(),
        CertificateRequest {
            username: BOOTSTRAP.to_owned(),
            ..request.clone()
        },
    ] {
        let (why, note) = left(decide(
            &config(true),
            &request,
            Some(&cluster(&[])),
            None,
            Some(true),
        ));
        assert_eq!(why, reason, "{sentence}: {note}");
        assert!(note.contains(words), "{sentence}: {note}");
        assert!(
            note.starts_with("CertificateSigningRequest \"c1-x7k2p\" of user \"system:"),
            "{note}"
        );
        assert!(!is_from_listed_user(&config(true), &request), "{sentence}");
    }
}

#[test]
fn subjects_of_agents_are_taken_and_all_others_are_not() {
    for (sentence, der) in [
        (
            "without the common group, as old agents",
            subject(&[GROUP], AGENT),
        ),
        ("the groups in any order", subject(&[ALL, GROUP], AGENT)),
        ("a group twice", subject(&[GROUP, GROUP], AGENT)),
        (
            "as UTF-8",
            name(&[(O, UTF8, GROUP.as_bytes()), (CN, UTF8, AGENT.as_bytes())]),
        ),
        ("both groups in one set, as Go writes them", {
            let groups = [
                attribute(O, PRINTABLE, GROUP.as_bytes()),
                attribute(O, PRINTABLE, ALL.as_bytes()),
            ];
            let name = attribute(CN, PRINTABLE, AGENT.as_bytes());
            element(
                0x30,
                &[element(0x31, &groups.concat()), element(0x31, &name)].concat(),
            )
        }),
    ] {
        let request = renewal(pem(&signed(&der, &[])));
        let decision = decide(&config(false), &request, None, None, Some(true));
        assert!(
            matches!(decision, Decision::Approve(_)),
            "{sentence}: {decision:?}"
        );
    }

    let (orgs, cn, plain) = (
        "the organizations are [",
        "the common name is ",
        "the subject must be one common name",
    );
    for (sentence, der, words) in [
        ("no organization", subject(&[], AGENT), orgs),
        ("the common group alone", subject(&[ALL], AGENT), orgs),
        (
            "another organization",
            subject(&["test"], AGENT),
            "are [\"test\"]; an agent's are system:open-cluster-management:c1 and",
        ),
        (
            "an organization more",
            subject(&[GROUP, ALL, "system:masters"], AGENT),
            orgs,
        ),
        (
            "an empty organization more",
            subject(&[GROUP, ""], AGENT),
            orgs,
        ),
        (
            "another cluster's organization",
            subject(&["system:open-cluster-management:c2"], AGENT),
            orgs,
        ),
        (
            "an organization that begins as ours",
            subject(&["system:open-cluster-management:c10"], AGENT),
            orgs,
        ),
        (
            "an organization and a name that begin as ours",
            subject(
                &["system:open-cluster-management:c1-x"],
                "system:open-cluster-management:c1-x:a1",
            ),
            orgs,
        ),
        (
            "a name that begins as ours",
            subject(&[GROUP], "system:open-cluster-management:c1-x:a1"),
            cn,
        ),
        (
            "another cluster's name",
            subject(&[GROUP], "system:open-cluster-management:c2:a1"),
            "is \"system:open-cluster-management:c2:a1\"; an agent's is system:open-cluster-management:c1:AGENT",
        ),
        (
            "a name without an agent",
            subject(&[GROUP], "system:open-cluster-management:c1"),
            cn,
        ),
        (
            "a name with an empty agent",
            subject(&[GROUP], "system:open-cluster-management:c1:"),
            cn,
        ),
        (
            "a name with too many colons",
            subject(&[GROUP], "system:open-cluster-management:c1:a1:b"),
            cn,
        ),
        (
            "a name that breaks a line",
            name(&[
                (O, UTF8, GROUP.as_bytes()),
                (CN, UTF8, b"system:open-cluster-management:c1:a1\nx"),
            ]),
            "is \"system:open-cluster-management:c1:a1\\nx\"",
        ),
        (
            "a name without a cluster",
            subject(&[GROUP], "system:open-cluster-management::a1"),
            cn,
        ),
        ("some name", subject(&[GROUP], "admin"), cn),
        ("no name", name(&[(O, UTF8, GROUP.as_bytes())]), plain),
        (
            "two names, ours last",
            name(&[
                (O, UTF8, GROUP.as_bytes()),
                (CN, UTF8, b"admin"),
                (CN, UTF8, AGENT.as_bytes()),
            ]),
            plain,
        ),
        (
            "something else in it",
            name(&[
                (OU, UTF8, b"x"),
                (O, UTF8, GROUP.as_bytes()),
                (CN, UTF8, AGENT.as_bytes()),
            ]),
            plain,
        ),
        (
            "an organization more in an encoding that only some read",
            name(&[
                (O, UTF8, GROUP.as_bytes()),
                (O, BMP, &[0, b'x']),
                (CN, UTF8, AGENT.as_bytes()),
            ]),
            plain,
        ),
        (
            "an organization more behind what only some pass over",
            element(
                0x30,
                &[
                    element(0x31, &attribute(O, UTF8, GROUP.as_bytes())),
                    element(0x31, &attribute(CN, UTF8, AGENT.as_bytes())),
                    element(0x31, &[]),
                    element(0x31, &attribute(O, UTF8, b"system:masters")),
                ]
                .concat(),
            ),
            plain,
        ),
        (
            "an organization more in a set that only some read whole",
            element(
                0x30,
                &[
                    element(
                        0x31,
                        &[
                            attribute(O, UTF8, GROUP.as_bytes()),
                            element(0x30, &[0x06, 0]),
                            attribute(O, UTF8, b"system:masters"),
                        ]
                        .concat(),
                    ),
                    element(0x31, &attribute(CN, UTF8, AGENT.as_bytes())),
                ]
                .concat(),
            ),
            plain,
        ),
    ] {
        let request = renewal(pem(&signed(&der, &[])));
        assert_left(sentence, &request, reasons::INVALID_SUBJECT, words);
    }
}

#[test]
fn the_label_names_the_cluster() {
    for (sentence, label, reason, words) in [
        (
            "another cluster's",
            "c2",
            reasons::INVALID_SUBJECT,
            "the organizations are [",
        ),
        (
            "one that ours begins with",
            "c",
            reasons::INVALID_SUBJECT,
            "the organizations are [",
        ),
        (
            "none",
            "",
            reasons::INVALID_CLUSTER_NAME,
            "cannot be a cluster's name",
        ),
        (
            "no name of a cluster",
            "C1.x",
            reasons::INVALID_CLUSTER_NAME,
            "cannot be a cluster's name",
        ),
    ] {
        // If an agent sent it, it would lose the label.
        let request = CertificateRequest {
            cluster: label.to_owned(),
            username: BOOTSTRAP.to_owned(),
            groups: Vec::new(),
            ..renewal(good_pem())
        };
        assert_left(sentence, &request, reason, words);
    }
    // Its group would be the group of all agents.
    let subject = subject(&[ALL], "system:open-cluster-management:managed-clusters:a1");
    let request = CertificateRequest {
        cluster: "managed-clusters".to_owned(),
        username: BOOTSTRAP.to_owned(),
        groups: Vec::new(),
        ..renewal(pem(&signed(&subject, &[])))
    };
    assert_left(
        "named as the common group",
        &request,
        reasons::INVALID_SUBJECT,
        "the organizations are [",
    );
}

#[test]
fn usages_are_those_of_an_agent() {
    let with = |usages: &[&str]| CertificateRequest {
        usages: usages.iter().map(|usage| (*usage).to_owned()).collect(),
        ..renewal(good_pem())
    };
    for usages in [
        &["client auth"][..],
        &["client auth", "digital signature"],
        &["key encipherment", "client auth", "digital signature"],
    ] {
        let decision = decide(&config(false), &with(usages), None, None, Some(true));
        assert!(matches!(decision, Decision::Approve(_)), "{usages:?}");
    }
    for (usages, words) in [
        (&[][..], "does not ask for the usage \"client auth\""),
        (
            &["digital signature", "key encipherment"],
            "does not ask for the usage \"client auth\"",
        ),
        (
            &["client auth", "server auth"],
            "asks for the usage \"server auth\"",
        ),
        (&["client auth", "any"], "asks for the usage \"any\""),
        (
            &["client auth", "Client Auth"],
            "asks for the usage \"Client Auth\"",
        ),
    ] {
        assert_left(
            &format!("{usages:?}"),
            &with(usages),
            reasons::INVALID_USAGES,
            words,
        );
    }
}

#[test]
fn no_alternative_names_of_any_kind() {
    let good = subject(&[GROUP], AGENT);
    let key_usage = element(
        0x30,
        &[&[0x06, 3, 0x55, 0x1d, 0x0f], &*element(4, &[3, 2, 5, 0xa0])].concat(),
    );
    let request = renewal(pem(&signed(&good, &extension_request(&key_usage))));
    let decision = decide(&config(false), &request, None, None, Some(true));
    assert!(
        matches!(decision, Decision::Approve(_)),
        "an extension that the signer does not look at: {decision:?}"
    );

    let dns = element(0x82, b"a.example");
    for (sentence, attributes) in [
        ("a DNS name", alternative_names(&dns)),
        (
            "an IP address",
            alternative_names(&element(0x87, &[127, 0, 0, 1])),
        ),
        (
            "an e-mail address",
            alternative_names(&element(0x81, b"a@example.org")),
        ),
        ("a URI", alternative_names(&element(0x86, b"spiffe://a/b"))),
        (
            "a registered id, which the signer passes over",
            alternative_names(&element(0x88, &[0x2a, 3])),
        ),
        (
            "a kind that there is not",
            alternative_names(&element(0x9e, b"x")),
        ),
        ("no name at all", alternative_names(&[])),
        (
            "in a second list of extensions",
            [extension_request(&key_usage), alternative_names(&dns)].concat(),
        ),
    ] {
        let request = renewal(pem(&signed(&good, &attributes)));
        assert_left(
            sentence,
            &request,
            reasons::ALTERNATIVE_NAMES,
            "asks for subject alternative names",
        );
    }
}

#[test]
fn what_is_not_one_good_request_is_not_read_further() {
    let der = signed(&subject(&[GROUP], AGENT), &[]);
    let good = pem(&der);
    let text = String::from_utf8(good.clone()).unwrap();
    let one = "must be one PEM block CERTIFICATE REQUEST without other text";
    let broken = "cannot be decoded";
    let mut forged = der.clone();
    let at = der.windows(5).position(|at| at == b"c1:a1").unwrap();
    forged[at + 4] = b'2';
    let trailing = [&*der, &[0]].concat();
    for (sentence, bytes, words) in [
        ("nothing", Vec::new(), one),
        ("DER", der.clone(), one),
        (
            "a block of another type",
            text.replace("CERTIFICATE REQUEST", "CERTIFICATE").into(),
            one,
        ),
        (
            "a block of the type of old",
            text.replace("CERTIFICATE", "NEW CERTIFICATE").into(),
            one,
        ),
        ("two blocks", [&*good, &*good].concat(), one),
        ("text before it", [b"hello\n", &*good].concat(), one),
        ("text after it", [&*good, b"hello\n"].concat(), one),
        (
            "headers in it",
            text.replacen("-\n", "-\nProc-Type: 4,ENCRYPTED\n\n", 1)
                .into(),
            one,
        ),
        (
            "another block in it",
            text.replacen("-\n", "-\n-----BEGIN CERTIFICATE REQUEST-----\n", 1)
                .into(),
            one,
        ),
        ("no end", text.replace("-----END", "").into(), one),
        (
            "an empty block",
            b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n".to_vec(),
            broken,
        ),
        ("truncated DER", pem(&der[..der.len() - 5]), broken),
        ("a byte too many", pem(&trailing), "trailing data"),
        ("no DER", pem(b"hello"), broken),
        (
            "another agent's name, not signed",
            pem(&forged),
            "does not verify with its own key",
        ),
        (
            "too large",
            [&*good, &*vec![b'\n'; request::LARGEST]].concat(),
            "has more than",
        ),
        (
            "a megabyte of garbage",
            vec![0xff; 1 << 20],
            "has more than",
        ),
        ("a megabyte of A", vec![b'A'; 1 << 20], "has more than"),
    ] {
        assert_left(sentence, &renewal(bytes), reasons::INVALID_REQUEST, words);
    }
    let windows = text.replace('\n', "\r\n").into_bytes();
    let decision = decide(&config(false), &renewal(windows), None, None, Some(true));
    assert!(matches!(decision, Decision::Approve(_)), "{decision:?}");
}

#[test]
fn no_change_of_one_byte_makes_another_subject_of_a_good_request() {
    let good = good_pem();
    for at in 0..good.len() {
        for flip in [0x01, 0x04, 0x20, 0x80] {
            let mut bytes = good.clone();
            bytes[at] ^= flip;
            match decide(&config(false), &renewal(bytes), None, None, Some(true)) {
                Decision::Leave { .. } => {}
                // Such as a line feed that became another character which base64 passes over: `validate` compared the
                // subject with the cluster of the label and the user.
                Decision::Approve(write) => assert_eq!(write.target.name, "c1-x7k2p"),
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let whole = renewal(bytes.clone());
        prop_assert!(decide(&config(true), &whole, None, None, Some(true)).event().is_some());
        let inside = renewal(pem(&bytes));
        prop_assert!(decide(&config(true), &inside, None, None, Some(true)).event().is_some());
    }

    #[test]
    fn no_name_but_an_agent_s_is_taken(organizations in proptest::collection::vec("[ -~]{0,60}", 0..3), name in "[ -~]{0,60}") {
        let organizations: Vec<&str> = organizations.iter().map(String::as_str).collect();
        let request = bootstrap();
        let request = CertificateRequest { request: pem(&signed(&subject(&organizations, &name), &[])), ..request };
        prop_assert!(!is_from_listed_user(&config(true), &request));
    }
}
