use std::time::Duration;

use berth_certs::issue::Authority;

use super::*;
use crate::identity::Identity;
use crate::rotation::Standing;

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
}

pub(crate) fn wanted(agent: &str) -> Asked {
    Asked::of_cluster(&Identity::new("c1", agent).unwrap(), None)
}

/// A certificate with this subject and key, valid for a day from `at(0)`.
pub(crate) fn certificate(asked: &Asked, key: &ClientKey) -> Vec<u8> {
    let authority = Authority::new("hub", 10 * DAY, at(-24)).unwrap();
    let request = crate::request::body("n", asked, key).unwrap();
    let pem = crate::request::tests::pem_of(&request);
    let issued = crate::request::tests::sign(&authority, &pem, DAY, at(0));
    issued.into_bytes()
}

fn secret(pairs: Vec<(&str, Vec<u8>)>) -> SecretData {
    let owned = |(key, value): (&str, Vec<u8>)| (key.to_owned(), value);
    pairs.into_iter().map(owned).collect()
}

#[test]
fn a_secret_is_judged_by_its_certificate_and_key() {
    let (asked, other) = (wanted("a1"), wanted("a2"));
    let (key, other_key) = (
        ClientKey::generate().unwrap(),
        ClientKey::generate().unwrap(),
    );
    let pem = key.to_pem().into_bytes();
    let own = certificate(&asked, &key);
    let authority = Authority::new("hub", 10 * DAY, at(-24)).unwrap();
    let ca = authority.certificate_pem().as_bytes();
    let chain = [&own[..], ca].concat();
    let unusable = Held::Unusable;
    for (sentence, data, hours, expected) in [
        ("empty", vec![], 1, unusable(Fault::Missing)),
        (
            "no certificate",
            vec![(PRIVATE_KEY, pem.clone())],
            1,
            unusable(Fault::Missing),
        ),
        (
            "no key",
            vec![(CERTIFICATE, own.clone())],
            1,
            unusable(Fault::Missing),
        ),
        (
            "half a certificate",
            vec![
                (CERTIFICATE, own[..200].to_vec()),
                (PRIVATE_KEY, pem.clone()),
            ],
            1,
            unusable(Fault::Unreadable),
        ),
        (
            "half a key",
            vec![
                (CERTIFICATE, own.clone()),
                (PRIVATE_KEY, pem[..60].to_vec()),
            ],
            1,
            unusable(Fault::Unreadable),
        ),
        (
            "half a chain",
            vec![
                (CERTIFICATE, chain[..own.len() + ca.len() / 2].to_vec()),
                (PRIVATE_KEY, pem.clone()),
            ],
            1,
            unusable(Fault::Unreadable),
        ),
        (
            "a chain without its first certificate",
            vec![(CERTIFICATE, ca.to_vec()), (PRIVATE_KEY, pem.clone())],
            1,
            unusable(Fault::OtherKey),
        ),
        (
            "a whole chain, due",
            vec![(CERTIFICATE, chain.clone()), (PRIVATE_KEY, pem.clone())],
            20,
            Held::Certificate(Standing::Due),
        ),
        (
            "another's key",
            vec![
                (CERTIFICATE, own.clone()),
                (PRIVATE_KEY, other_key.to_pem().into_bytes()),
            ],
            1,
            unusable(Fault::OtherKey),
        ),
        (
            "another's certificate",
            vec![
                (CERTIFICATE, certificate(&other, &key)),
                (PRIVATE_KEY, pem.clone()),
            ],
            1,
            unusable(Fault::OtherSubject),
        ),
        (
            "too early",
            vec![(CERTIFICATE, own.clone()), (PRIVATE_KEY, pem.clone())],
            -1,
            Held::Certificate(Standing::NotYetValid),
        ),
        (
            "due",
            vec![(CERTIFICATE, own.clone()), (PRIVATE_KEY, pem.clone())],
            20,
            Held::Certificate(Standing::Due),
        ),
        (
            "expired",
            vec![(CERTIFICATE, own.clone()), (PRIVATE_KEY, pem.clone())],
            24,
            Held::Certificate(Standing::Expired),
        ),
    ] {
        let judged = judge(&secret(data), &asked, at(hours));
        assert_eq!(judged.held, expected, "{sentence}");
    }
    let data = secret(vec![(CERTIFICATE, own), (PRIVATE_KEY, pem)]);
    let judged = judge(&data, &asked, at(1));
    assert!(
        matches!(judged.held, Held::Certificate(Standing::Fresh { .. })),
        "{judged:?}"
    );
    assert_eq!(judged.key, Some(key.fingerprint()));
    assert_eq!(judged.not_after, Some(at(24)));
}

#[test]
fn a_written_secret_has_ocms_keys_and_keeps_unknown_ones() {
    let key = ClientKey::generate().unwrap();
    let stored = secret(vec![
        ("other", b"x".to_vec()),
        (KUBECONFIG, b"old".to_vec()),
    ]);
    let data = filled(&stored, &wanted("a1"), "new", Some((b"chain", &key)));
    let keys: Vec<_> = data.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "agent-name",
            "cluster-name",
            "kubeconfig",
            "other",
            "tls.crt",
            "tls.key"
        ]
    );
    assert_eq!(data[KUBECONFIG], b"new");
    assert_eq!(data[CERTIFICATE], b"chain");
    assert_eq!(name(&data, CLUSTER_NAME), Some("c1"));
    assert_eq!(name(&data, AGENT_NAME), Some("a1"));
    assert_eq!(filled(&data, &wanted("a1"), "new", None), data);
}

#[test]
fn an_add_ons_secret_has_no_more_than_ocms() {
    let key = ClientKey::generate().unwrap();
    let mut asked = Asked {
        agent: None,
        addon: Some("x".to_owned()),
        ..wanted("a1")
    };
    let keys = |asked: &Asked| -> Vec<String> {
        let data = filled(&SecretData::new(), asked, "k", Some((b"chain", &key)));
        data.into_keys().collect()
    };
    assert_eq!(
        keys(&asked),
        ["cluster-name", "kubeconfig", "tls.crt", "tls.key"]
    );
    asked.has_kubeconfig = false;
    assert_eq!(keys(&asked), ["cluster-name", "tls.crt", "tls.key"]);
}
