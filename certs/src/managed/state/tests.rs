use std::net::IpAddr;
use std::time::Duration;

use super::*;
use crate::managed::policy::after;
use crate::managed::{Facts, Policy, Published, Step, make};

const HOUR: Duration = Duration::from_secs(3600);

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// With everything in it.
fn full() -> State {
    let policy = Policy {
        dns_names: vec!["gate.hub.svc".to_owned()],
        ip_addresses: vec![[10, 0, 0, 1].into()],
        ca_validity: 100 * HOUR,
        leaf_validity: 10 * HOUR,
        settle: HOUR,
    };
    let mut stored = Reading::default();
    let published = Published::default();
    for (i, step) in [
        Step::Begin,
        Step::Introduce,
        Step::Switch,
        Step::Introduce,
        Step::Switch,
        Step::Introduce,
        Step::Published,
    ]
    .into_iter()
    .enumerate()
    {
        let facts = Facts {
            now: after(now(), u32::try_from(i).unwrap() * HOUR / 10),
            stored: &stored,
            published: Some(&published),
            remembered: None,
            served: None,
            policy: &policy,
        };
        stored.state = Some(make(step, &facts).unwrap());
    }
    stored.state.unwrap()
}

fn read(content: &Content) -> Reading {
    Reading::of("Secret hub/certs", content, after(now(), HOUR))
}

#[test]
fn a_written_state_is_read_again() {
    let state = full();
    let content = state.content();
    let reading = read(&content);
    assert_eq!(reading.problems, []);
    let again = reading.state.unwrap();
    assert_eq!(again.content(), content);
    assert_eq!(again.old, state.old);
    assert_eq!(again.published_since, state.published_since);
    assert_eq!(again.roots(), state.roots());
    assert_eq!(again.roots().len(), 4);
    assert_eq!(
        again.leaf.unwrap().pair.ip_addresses,
        [IpAddr::from([10, 0, 0, 1])]
    );
    assert_eq!(Root::all_in(state.bundle().as_bytes()), state.roots());
}

#[test]
fn invalid_parts_are_named_and_the_rest_is_read() {
    let whole = full().content();
    let other = full().content();
    let with = |key: &str, value: &[u8]| {
        let mut content = whole.clone();
        content.data.insert(key.to_owned(), value.to_vec());
        content
    };
    let cut = |key: &str| with(key, &whole.data[key][..whole.data[key].len() / 2]);
    let without = |key: &str| {
        let mut content = whole.clone();
        content.data.remove(key);
        content
    };
    let annotated = |key: &str, value: &str| {
        let mut content = whole.clone();
        content.annotations.insert(key.to_owned(), value.to_owned());
        content
    };
    let mut another_pair = with("tls.crt", &other.data["tls.crt"]);
    another_pair
        .data
        .insert("tls.key".to_owned(), other.data["tls.key"].clone());
    let half_of_old = &whole.data["old-ca.crt"][..whole.data["old-ca.crt"].len() - 40];
    // (sentence, content, part of the one problem, authority, leaf, next, old)
    let table = [
        (
            "nothing at all",
            Content::default(),
            "ca.crt: the file holds no PEM certificate",
            None,
        ),
        (
            "an authority cut",
            cut("ca.crt"),
            "ca.crt: a PEM block begins and does not end",
            None,
        ),
        (
            "an authority's key cut",
            cut("ca.key"),
            "ca.key: a PEM block begins and does not end",
            None,
        ),
        (
            "an authority's key lost",
            without("ca.key"),
            "ca.key: the file holds no PEM private key",
            None,
        ),
        (
            "another authority's key",
            with("ca.key", &other.data["ca.key"]),
            "ca.key: the private key does not match",
            None,
        ),
        (
            "a leaf cut",
            cut("tls.crt"),
            "tls.crt: a PEM block begins",
            Some((false, true, 2)),
        ),
        (
            "a leaf's key lost",
            without("tls.key"),
            "tls.key: the file holds no PEM private key",
            Some((false, true, 2)),
        ),
        (
            "another leaf's key",
            with("tls.key", &other.data["tls.key"]),
            "tls.key: the private key does not match",
            Some((false, true, 2)),
        ),
        (
            "another authority's pair",
            another_pair,
            "tls.crt: the certificate was not issued by the authority of Secret hub/certs, ca.crt",
            Some((false, true, 2)),
        ),
        (
            "a successor cut",
            cut("next-ca.crt"),
            "next-ca.crt: a PEM block begins",
            Some((true, false, 2)),
        ),
        (
            "a successor's key lost",
            without("next-ca.key"),
            "next-ca.key: the file holds no PEM private key",
            Some((true, false, 2)),
        ),
        (
            "an old authority cut",
            with("old-ca.crt", half_of_old),
            "old-ca.crt: the content was changed",
            Some((true, true, 1)),
        ),
        (
            "no old authority",
            with("old-ca.crt", b"?"),
            "old-ca.crt: the content was changed",
            Some((true, true, 0)),
        ),
        (
            "a time that is none",
            annotated(PUBLISHED_SINCE, "today"),
            "published-since: the value is not a time",
            Some((true, true, 2)),
        ),
        (
            "old times that are none",
            annotated(OLD_UNTIL, "today"),
            "old-until: the number of times differs",
            Some((true, true, 2)),
        ),
    ];
    for (sentence, content, says, rest) in table {
        let reading = read(&content);
        let problem = reading.problems.first().expect(sentence).to_string();
        assert!(
            problem.starts_with("Secret hub/certs, ") && problem.contains(says),
            "{sentence}: {problem}"
        );
        let found = reading
            .state
            .map(|it| (it.leaf.is_some(), it.next.is_some(), it.old.len()));
        assert_eq!(found, rest, "{sentence}");
    }
}

#[test]
fn times_that_are_lost_are_as_late_as_can_be() {
    let state = full();
    let mut content = state.content();
    content.annotations.remove(OLD_UNTIL);
    let old = read(&content).state.unwrap().old;
    assert!(old.iter().all(|it| it.until == it.root.not_after()));
}

#[test]
fn an_expired_leaf_is_not_an_error_of_the_secret() {
    let state = full();
    let later = after(now(), 20 * HOUR);
    let reading = Reading::of("s", &state.content(), later);
    assert_eq!(reading.problems, []);
    assert!(reading.state.unwrap().leaf.is_none());
    let earlier = super::super::policy::before(now(), 20 * HOUR);
    let reading = Reading::of("s", &state.content(), earlier);
    assert_eq!(reading.problems, []);
    assert!(
        reading.state.unwrap().leaf.is_some(),
        "a clock that is late"
    );
}

#[test]
fn no_key_is_ever_shown() {
    let state = full();
    let content = state.content();
    let reading = read(&content);
    let shown = format!("{state:?} {content:?} {reading:?}");
    assert!(!shown.contains("PRIVATE"), "{shown}");
    for key in ["tls.key", "ca.key", "next-ca.key"] {
        let text = std::str::from_utf8(&content.data[key]).unwrap();
        let secret = text.lines().nth(1).unwrap();
        assert!(!shown.contains(secret), "{key}");
    }
}

#[test]
fn a_bundle_of_any_number_of_others_is_taken_in_within_bounds() {
    let mut state = full();
    let others: Vec<_> = (0..40)
        .map(|i| Root::of(&Authority::new(&format!("a{i}"), HOUR, now()).unwrap()).unwrap())
        .collect();
    state.adopt(&others, after(now(), HOUR), now());
    assert_eq!(state.old.len(), MOST_OLD);
    assert_eq!(read(&state.content()).state.unwrap().old.len(), MOST_OLD);
}
