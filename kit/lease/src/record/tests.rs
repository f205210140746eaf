//! Tables: what was seen, and what is done.

use proptest::prelude::*;

use super::*;

const RENEWED: &str = "2026-01-01T00:00:00.000000Z";
const ACQUIRED: &str = "2025-12-31T23:00:00.000000Z";

fn me() -> Candidate {
    Candidate {
        identity: "me".to_owned(),
        is_of_pod: false,
        acquired: Some(ACQUIRED.to_owned()),
        leading: false,
        lease_duration: Duration::from_secs(15),
    }
}

fn leading() -> Candidate {
    Candidate {
        leading: true,
        ..me()
    }
}

fn held_by(holder: &str, seconds: impl Into<Option<i64>>) -> Record {
    Record {
        holder: holder.to_owned(),
        duration_seconds: seconds.into(),
        acquire_time: Some(ACQUIRED.to_owned()),
        renew_time: Some(RENEWED.to_owned()),
        transitions: Some(3),
    }
}

fn at() -> Version {
    Version::At("7".to_owned())
}

#[derive(Debug, PartialEq, Eq)]
enum Does {
    Look,
    Create,
    Acquire,
    Renew,
    /// Until so many seconds after the record was first seen.
    Wait(u64),
}

#[test]
fn what_was_seen_decides() {
    let never: Option<Record> = None;
    let table = [
        (
            "a Lease that is not there is made",
            never.clone(),
            Version::Absent,
            me(),
            0,
            Does::Create,
        ),
        (
            "what may be there by now is looked at",
            never,
            Version::Unsure,
            me(),
            0,
            Does::Look,
        ),
        (
            "another's is left alone",
            Some(held_by("you", 15)),
            at(),
            me(),
            0,
            Does::Wait(15),
        ),
        (
            "until its time is over",
            Some(held_by("you", 15)),
            at(),
            me(),
            14,
            Does::Wait(15),
        ),
        (
            "and taken then",
            Some(held_by("you", 15)),
            at(),
            me(),
            15,
            Does::Acquire,
        ),
        (
            "OCM's takes longer to expire",
            Some(held_by("ocm", 137)),
            at(),
            me(),
            136,
            Does::Wait(137),
        ),
        (
            "as long as it says",
            Some(held_by("ocm", 137)),
            at(),
            me(),
            137,
            Does::Acquire,
        ),
        (
            "a short one may be short",
            Some(held_by("you", 1)),
            at(),
            me(),
            1,
            Does::Acquire,
        ),
        (
            "a released one is taken at once",
            Some(held_by("", 1)),
            at(),
            me(),
            0,
            Does::Acquire,
        ),
        (
            "whatever its duration",
            Some(held_by("", 137)),
            at(),
            me(),
            0,
            Does::Acquire,
        ),
        (
            "an empty spec is nobody's",
            Some(Record::default()),
            at(),
            me(),
            0,
            Does::Acquire,
        ),
        (
            "no duration: ours",
            Some(held_by("you", None)),
            at(),
            me(),
            14,
            Does::Wait(15),
        ),
        (
            "a duration of zero: ours",
            Some(held_by("you", 0)),
            at(),
            me(),
            14,
            Does::Wait(15),
        ),
        (
            "a negative one: ours",
            Some(held_by("you", -5)),
            at(),
            me(),
            14,
            Does::Wait(15),
        ),
        (
            "the least there is: ours",
            Some(held_by("you", i64::MIN)),
            at(),
            me(),
            15,
            Does::Acquire,
        ),
        (
            "68 years: an hour",
            Some(held_by("you", i64::from(i32::MAX))),
            at(),
            me(),
            3_599,
            Does::Wait(3_600),
        ),
        (
            "and no longer",
            Some(held_by("you", i64::MAX)),
            at(),
            me(),
            3_600,
            Does::Acquire,
        ),
        (
            "ours is renewed",
            Some(held_by("me", 15)),
            at(),
            leading(),
            1,
            Does::Renew,
        ),
        (
            "even when it has expired: nobody took it",
            Some(held_by("me", 15)),
            at(),
            me(),
            99,
            Does::Renew,
        ),
        (
            "our name from another time may be another process",
            Some(Record {
                acquire_time: Some(RENEWED.to_owned()),
                ..held_by("me", 15)
            }),
            at(),
            me(),
            0,
            Does::Wait(15),
        ),
        (
            "also without a time",
            Some(Record {
                acquire_time: None,
                ..held_by("me", 15)
            }),
            at(),
            me(),
            0,
            Does::Wait(15),
        ),
        (
            "our name before we ever wrote",
            Some(held_by("me", 15)),
            at(),
            Candidate {
                acquired: None,
                ..me()
            },
            0,
            Does::Wait(15),
        ),
        (
            "the name of our pod before we ever wrote",
            Some(held_by("me", 15)),
            at(),
            Candidate {
                acquired: None,
                is_of_pod: true,
                ..me()
            },
            0,
            Does::Acquire,
        ),
        (
            "the name of our pod in a record that is not ours any more",
            Some(Record {
                acquire_time: Some(RENEWED.to_owned()),
                ..held_by("me", 15)
            }),
            at(),
            Candidate {
                is_of_pod: true,
                ..me()
            },
            0,
            Does::Wait(15),
        ),
        (
            "another pod's name",
            Some(held_by("them", 15)),
            at(),
            Candidate {
                acquired: None,
                is_of_pod: true,
                ..me()
            },
            0,
            Does::Wait(15),
        ),
        (
            "the same time in other words is ours",
            Some(Record {
                acquire_time: Some("2025-12-31T23:00:00Z".to_owned()),
                ..held_by("me", 15)
            }),
            at(),
            me(),
            0,
            Does::Renew,
        ),
        (
            "unsure of ours: look",
            Some(held_by("me", 15)),
            Version::Unsure,
            leading(),
            0,
            Does::Look,
        ),
        (
            "unsure of an expired one: look",
            Some(held_by("you", 15)),
            Version::Unsure,
            me(),
            99,
            Does::Look,
        ),
        (
            "ours is gone while we lead: made anew",
            Some(held_by("me", 15)),
            Version::Absent,
            leading(),
            0,
            Does::Create,
        ),
        (
            "ours is gone after we have lost it: who knows",
            Some(held_by("me", 15)),
            Version::Absent,
            me(),
            0,
            Does::Wait(15),
        ),
        (
            "another's is gone: it may not know",
            Some(held_by("ocm", 137)),
            Version::Absent,
            me(),
            136,
            Does::Wait(137),
        ),
        (
            "it has had the time",
            Some(held_by("ocm", 137)),
            Version::Absent,
            me(),
            137,
            Does::Create,
        ),
        (
            "a released one is gone: another may have had it",
            Some(held_by("", 1)),
            Version::Absent,
            me(),
            0,
            Does::Wait(15),
        ),
    ];
    let since = Instant::now();
    for (row, record, version, me, after, does) in table {
        let seen = Observation {
            version,
            record,
            since,
        };
        let action = match decide(Some(&seen), &me, since + Duration::from_secs(after)) {
            Action::Look => Does::Look,
            Action::Create => Does::Create,
            Action::Acquire => Does::Acquire,
            Action::Renew => Does::Renew,
            Action::Wait(until) => Does::Wait(until.duration_since(since).as_secs()),
        };
        assert_eq!(action, does, "{row}");
    }
    assert_eq!(
        decide(None, &me(), since),
        Action::Look,
        "first of all: look"
    );
}

#[test]
fn only_a_change_of_the_record_begins_its_time_anew() {
    let start = Instant::now();
    let later = start + Duration::from_secs(5);
    let seen = |record: &Record, version: &str| Some((record.clone(), version.to_owned()));
    let record = held_by("you", 15);
    let first = Observation::after(None, seen(&record, "1"), start);
    assert_eq!(first.since, start);
    let table = [
        ("the same", seen(&record, "1"), start),
        ("with a label", seen(&record, "2"), start),
        (
            "renewed",
            seen(
                &Record {
                    renew_time: Some("2026-01-01T00:00:02.000000Z".to_owned()),
                    ..record.clone()
                },
                "2",
            ),
            later,
        ),
        (
            "renewed by a clock that went back",
            seen(
                &Record {
                    renew_time: Some("1999-01-01T00:00:02.000000Z".to_owned()),
                    ..record.clone()
                },
                "2",
            ),
            later,
        ),
        ("of another", seen(&held_by("other", 15), "2"), later),
        (
            "of another duration",
            seen(&held_by("you", 137), "2"),
            later,
        ),
        ("gone", None, later),
    ];
    for (row, answer, since) in table {
        assert_eq!(
            Observation::after(Some(first.clone()), answer, later).since,
            since,
            "{row}"
        );
    }
    let gone = Observation::after(Some(first.clone()), None, later);
    assert_eq!(
        gone.record,
        Some(record.clone()),
        "what it was is remembered"
    );
    let still = Observation::after(Some(gone.clone()), None, later + Duration::from_secs(1));
    assert_eq!(still, gone, "gone is gone");
    let unsure = Observation {
        version: Version::Unsure,
        ..gone
    };
    let again = later + Duration::from_secs(2);
    assert_eq!(
        Observation::after(Some(unsure), None, again).since,
        again,
        "it may have been there meanwhile"
    );
}

#[test]
fn a_spec_of_nonsense_is_an_empty_record() {
    for spec in [
        json!(null),
        json!("text"),
        json!([1]),
        json!({}),
        json!({"holderIdentity": null, "leaseDurationSeconds": null, "renewTime": null}),
        json!({"holderIdentity": 1, "leaseDurationSeconds": "15", "renewTime": {}, "acquireTime": [], "leaseTransitions": 4_294_967_296_u64}),
        json!({"leaseDurationSeconds": 1.5}),
    ] {
        assert_eq!(Record::read(&spec), Record::default(), "{spec}");
    }
}

#[test]
fn what_is_written_is_what_client_go_writes() {
    let now: Timestamp = "2026-02-03T04:05:06.0000007Z".parse().unwrap();
    let fresh = Candidate {
        acquired: None,
        ..me()
    };
    let first = Record::acquired(None, &fresh, now).write(json!(null));
    let time = "2026-02-03T04:05:06.000000Z";
    let spec = |holder: &str, seconds: u8, acquired: &str, transitions: i32| json!({"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": acquired, "renewTime": time, "leaseTransitions": transitions});
    assert_eq!(first, spec("me", 15, time, 0));
    let after_you = Record::acquired(Some(&held_by("you", 137)), &fresh, now);
    assert_eq!(after_you.write(json!({})), spec("me", 15, time, 4));
    assert_eq!(
        Record::acquired(Some(&held_by("you", 137)), &me(), now).write(json!({})),
        spec("me", 15, ACQUIRED, 4),
        "tried before"
    );
    assert_eq!(
        held_by("me", 1).renewed(&me(), now).write(json!({})),
        spec("me", 15, ACQUIRED, 3)
    );
    assert_eq!(
        held_by("me", 15).released(now).write(json!({})),
        spec("", 1, time, 3)
    );
    let kept =
        after_you.write(json!({"strategy": "OldestEmulationVersion", "holderIdentity": "you"}));
    assert_eq!(kept["strategy"], "OldestEmulationVersion");
    assert_eq!(
        Record::read(&kept),
        after_you,
        "it is read as it was written"
    );
}

#[test]
fn absurd_records_are_put_right() {
    let now = Timestamp::UNIX_EPOCH;
    for (transitions, then) in [
        (None, 1),
        (Some(-7), 1),
        (Some(i32::MIN), 1),
        (Some(i32::MAX), i32::MAX),
    ] {
        let record = Record {
            transitions,
            ..held_by("you", 15)
        };
        assert_eq!(
            Record::acquired(Some(&record), &me(), now).transitions,
            Some(then)
        );
        assert!(record.renewed(&me(), now).transitions.unwrap() >= 0);
        assert!(record.released(now).transitions.unwrap() >= 0);
    }
    let odd = Candidate {
        lease_duration: Duration::from_millis(15_001),
        ..me()
    };
    assert_eq!(
        Record::acquired(None, &odd, now).duration_seconds,
        Some(16),
        "never less than promised"
    );
}

#[test]
fn a_renewal_is_a_change_even_if_the_clock_stands_still() {
    for now in [Timestamp::UNIX_EPOCH, Timestamp::MAX, Timestamp::MIN] {
        let mut record = Record::acquired(None, &me(), now);
        for _ in 0..3 {
            let next = record.renewed(&me(), now);
            assert_ne!(next, record);
            record = next;
        }
    }
}

proptest! {
    /// What was seen less long ago than it says is never taken from another, whatever else is in it.
    #[test]
    fn nothing_is_taken_too_early(
        holder in "[a-z]{1,3}", seconds in proptest::option::of(any::<i64>()), renew in proptest::option::of(".{0,20}"),
        acquire in proptest::option::of(".{0,20}"), transitions in any::<Option<i32>>(), waited in 0_u64..4_000,
        gone in any::<bool>(), leading in any::<bool>(),
    ) {
        let record = Record { holder, duration_seconds: seconds, acquire_time: acquire, renew_time: renew, transitions };
        let me = Candidate { leading, ..me() };
        prop_assume!(!record.is_of(&me));
        let since = Instant::now();
        let seen = Observation { version: if gone { Version::Absent } else { at() }, record: Some(record), since };
        let own = if gone { 15 } else { 0 };
        let patience = seconds.filter(|seconds| *seconds > 0).map_or(15, |seconds| seconds.clamp(1, 3_600).unsigned_abs()).max(own);
        let action = decide(Some(&seen), &me, since + Duration::from_secs(waited));
        if waited < patience {
            prop_assert_eq!(action, Action::Wait(since + Duration::from_secs(patience)));
        } else {
            prop_assert_eq!(action, if gone { Action::Create } else { Action::Acquire });
        }
    }
}
