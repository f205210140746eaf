//! Each situation, and hubs that do anything.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The moment of the tables.
const NOW: i64 = 1_000_000;

const TIMEOUT: Duration = Duration::from_secs(600);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

/// One that was asked just now.
fn seen(sight: Sight) -> Candidate {
    Candidate {
        sight,
        looked: Some(at(NOW)),
        has_certificate: false,
        left: None,
    }
}

fn unseen() -> Candidate {
    Candidate {
        looked: None,
        ..seen(Sight::Unknown)
    }
}

/// One that the agent left this many seconds ago, so many times, with a certificate.
fn left(sight: Sight, ago: i64, times: u32) -> Candidate {
    Candidate {
        has_certificate: true,
        left: Some(Left {
            at: at(NOW - ago),
            times,
        }),
        ..seen(sight)
    }
}

fn waiting(ago: i64) -> Contact {
    Contact::Waiting(at(NOW - ago))
}

fn away() -> Sight {
    Sight::Unusable("away".to_owned())
}

fn chosen(current: Option<usize>, contact: Contact, hubs: &[Candidate]) -> Choice {
    let facts = Facts {
        current,
        contact,
        hubs,
        timeout: TIMEOUT,
        spread: 0.0,
    };
    choose(&facts, at(NOW))
}

#[test]
fn the_first_hub_is_the_first_that_can_be_used() {
    for (hubs, expected) in [
        (vec![unseen(), unseen()], Choice::Look(vec![0, 1])),
        (
            vec![seen(Sight::Open), seen(Sight::Accepted)],
            Choice::Go(0),
        ),
        (vec![seen(away()), seen(Sight::Open)], Choice::Go(1)),
        (vec![seen(Sight::Denied), seen(Sight::Open)], Choice::Go(1)),
        (vec![seen(away()), unseen()], Choice::Look(vec![1])),
        (vec![seen(away()), seen(Sight::Denied)], Choice::Stay),
    ] {
        assert_eq!(chosen(None, waiting(0), &hubs), expected, "{hubs:?}");
    }
}

#[test]
fn a_hub_is_left_when_it_denies_the_cluster_or_is_lost_for_long() {
    let (open, accepted) = (|| seen(Sight::Open), || seen(Sight::Accepted));
    let lost = |ago: i64| Contact::Lost(at(NOW - ago));
    for (contact, hubs, expected) in [
        (Contact::Denied, vec![open(), open()], Choice::Go(1)),
        (
            Contact::Denied,
            vec![open(), unseen()],
            Choice::Look(vec![1]),
        ),
        // Nobody else can be used: it is asked again.
        (Contact::Denied, vec![open(), seen(away())], Choice::Stay),
        (lost(599), vec![open(), open()], Choice::Stay),
        (lost(600), vec![open(), open()], Choice::Go(1)),
        (
            lost(600),
            vec![open(), seen(Sight::Denied), accepted()],
            Choice::Go(2),
        ),
        // A clock that was set back.
        (lost(-60), vec![open(), open()], Choice::Stay),
    ] {
        assert_eq!(
            chosen(Some(0), contact, &hubs),
            expected,
            "{contact:?} {hubs:?}"
        );
    }
}

#[test]
fn a_hub_where_the_cluster_waits_is_left_only_for_one_that_knows_it() {
    let hubs = [seen(Sight::Open), seen(Sight::Accepted)];
    assert_eq!(chosen(Some(0), waiting(600), &hubs), Choice::Stay);
    let hubs = [seen(Sight::Open), left(Sight::Accepted, 60, 1)];
    assert_eq!(chosen(Some(0), waiting(600), &hubs), Choice::Go(1));
    // The agent has just come.
    assert_eq!(chosen(Some(0), waiting(599), &hubs), Choice::Stay);
    let hubs = [seen(Sight::Open), left(Sight::Open, 60, 1)];
    assert_eq!(chosen(Some(0), waiting(600), &hubs), Choice::Stay);
}

#[test]
fn a_preferred_hub_that_is_back_is_preferred_again() {
    for (hubs, expected) in [
        // It is left alone for the timeout, and twice as long after each time.
        (
            vec![left(Sight::Accepted, 1200, 1), seen(away())],
            Choice::Go(0),
        ),
        (
            vec![left(Sight::Accepted, 1199, 1), seen(away())],
            Choice::Stay,
        ),
        (
            vec![left(Sight::Accepted, 2399, 2), seen(away())],
            Choice::Stay,
        ),
        (
            vec![left(Sight::Accepted, 86_400, 40), seen(away())],
            Choice::Go(0),
        ),
        // Registration there might wait for a person.
        (vec![left(Sight::Open, 9999, 1), seen(away())], Choice::Stay),
        (vec![seen(Sight::Accepted), seen(away())], Choice::Stay),
    ] {
        assert_eq!(
            chosen(Some(1), Contact::Managed, &hubs),
            expected,
            "{hubs:?}"
        );
    }
    // One that is less preferred is not.
    let hubs = [seen(away()), left(Sight::Accepted, 9999, 1)];
    let stay = Choice::Stay;
    assert_eq!(chosen(Some(0), Contact::Managed, &hubs), stay);
}

#[test]
fn a_managed_cluster_says_how_its_hub_decided() {
    let cluster = |accepts: bool, status: Option<&str>| {
        let condition = |status| json!([{"type": "HubAcceptedManagedCluster", "status": status}]);
        Cluster::read(&json!({
            "metadata": {"name": "c1"},
            "spec": {"hubAcceptsClient": accepts},
            "status": {"conditions": status.map(condition)},
        }))
    };
    for (cluster, expected) in [
        (None, Sight::Open),
        (Some(cluster(false, None)), Sight::Open),
        (Some(cluster(true, None)), Sight::Accepted),
        (Some(cluster(true, Some("False"))), Sight::Accepted),
        (Some(cluster(false, Some("False"))), Sight::Denied),
        // The hub is about to say so.
        (Some(cluster(false, Some("True"))), Sight::Denied),
    ] {
        assert_eq!(Sight::of(cluster.as_ref()), expected, "{cluster:?}");
    }
}

#[test]
fn a_hub_is_lost_while_nothing_gets_on_there() {
    let away = || HubStanding::Away("refused".to_owned());
    let lost = Contact::Lost(at(NOW));
    for (history, expected) in [
        (vec![(HubStanding::Unknown, None)], waiting(0)),
        (vec![(HubStanding::Unknown, Some("CSRPending"))], waiting(0)),
        (vec![(HubStanding::Unknown, Some("HubAway"))], lost),
        (vec![(HubStanding::NotAccepted, None)], waiting(0)),
        (
            vec![
                (HubStanding::Managed, None),
                (HubStanding::NotAccepted, None),
            ],
            Contact::Lost(at(NOW + 1)),
        ),
        (
            vec![
                (HubStanding::Managed, None),
                (HubStanding::Denied, None),
                (HubStanding::Denied, None),
            ],
            Contact::Denied,
        ),
        // A connection that begins proves nothing.
        (
            vec![(away(), None), (HubStanding::Unknown, None), (away(), None)],
            lost,
        ),
        (
            vec![
                (away(), None),
                (HubStanding::Unknown, Some("CSRPending")),
                (away(), None),
            ],
            Contact::Lost(at(NOW + 2)),
        ),
        (
            vec![(away(), None), (HubStanding::ClockOff, None)],
            Contact::Managed,
        ),
    ] {
        let mut touch = Touch::default();
        let mut seen = waiting(0);
        for (seconds, (hub, waits_for)) in history.iter().enumerate() {
            let now = at(NOW + i64::try_from(seconds).unwrap());
            seen = touch.see(hub, *waits_for, now);
        }
        assert_eq!(seen, expected, "{history:?}");
    }
}

fn sights() -> impl Strategy<Value = Sight> {
    prop_oneof![
        Just(Sight::Unknown),
        Just(away()),
        Just(Sight::Denied),
        Just(Sight::Open),
        Just(Sight::Accepted),
    ]
}

fn contacts() -> impl Strategy<Value = Contact> {
    prop_oneof![
        Just(Contact::Managed),
        (-2000_i64..2000).prop_map(waiting),
        Just(Contact::Denied),
        (-2000_i64..2000).prop_map(|ago| Contact::Lost(at(NOW - ago))),
    ]
}

fn candidates() -> impl Strategy<Value = Candidate> {
    let left = prop::option::of((-2000_i64..100_000, 0_u32..40));
    let looked = prop::option::of(-1000_i64..1000);
    (sights(), looked, any::<bool>(), left).prop_map(|(sight, looked, has_certificate, left)| {
        Candidate {
            sight,
            looked: looked.map(|ago| at(NOW - ago)),
            has_certificate,
            left: left.map(|(ago, times)| Left {
                at: at(NOW - ago),
                times,
            }),
        }
    })
}

proptest! {
    #[test]
    fn no_choice_is_worse_than_staying(
        hubs in prop::collection::vec(candidates(), 1..5),
        current in prop::option::of(0_usize..5),
        contact in contacts(),
        spread in 0.0..=1.0_f64,
    ) {
        let current = current.map(|it| it % hubs.len());
        let facts = Facts { current, contact, hubs: &hubs, timeout: TIMEOUT, spread };
        match choose(&facts, at(NOW)) {
            Choice::Go(to) => {
                prop_assert_ne!(Some(to), current);
                let hub = &hubs[to];
                let is_safe = hub.sight == Sight::Accepted && hub.has_certificate;
                let needs_another = current.is_none()
                    || matches!(contact, Contact::Denied | Contact::Lost(_));
                prop_assert!(is_safe || needs_another);
                prop_assert!(matches!(hub.sight, Sight::Accepted | Sight::Open));
                let looked = hub.looked.unwrap();
                prop_assert!(looked <= at(NOW));
                prop_assert!(at(NOW).duration_since(looked).as_secs() < 450);
            }
            Choice::Look(asked) => {
                prop_assert!(!asked.is_empty());
                // After it has looked, it looks no more: this is no circle.
                let mut hubs = hubs.clone();
                for at_ in asked {
                    prop_assert_ne!(Some(at_), current);
                    hubs[at_].looked = Some(at(NOW));
                }
                let facts = Facts { hubs: &hubs, ..facts };
                prop_assert!(!matches!(choose(&facts, at(NOW)), Choice::Look(_)));
            }
            Choice::Stay => {
                let lost_for_long = matches!(
                    contact,
                    Contact::Denied | Contact::Lost(_)
                ) && !matches!(contact, Contact::Lost(since) if since > at(NOW - 720));
                let is_usable = |(at_, hub): (usize, &Candidate)| {
                    Some(at_) != current && matches!(hub.sight, Sight::Open | Sight::Accepted)
                };
                let may_go = hubs.iter().enumerate().any(is_usable);
                prop_assert!(!(may_go && (current.is_none() || lost_for_long)));
            }
        }
    }
}
