use super::*;
use crate::issue::Authority;
use crate::managed::policy::before;
use crate::managed::state::{Content, Old, Shape};
use crate::managed::{Bundle, Root, make};

const HOUR: Duration = Duration::from_secs(3600);

fn policy() -> Policy {
    Policy {
        dns_names: vec!["gate.hub.svc".to_owned()],
        ip_addresses: vec![],
        ca_validity: 100 * HOUR,
        leaf_validity: 10 * HOUR,
        settle: HOUR,
    }
}

/// The Secret of the manifest.
fn empty() -> Reading {
    Reading::of("the Secret", &Content::default(), now())
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn reading(state: &State) -> Reading {
    Reading::of("the Secret", &state.content(), now())
}

fn everywhere(state: &State) -> Published {
    [Bundle::new(state.bundle().as_bytes())]
        .into_iter()
        .collect()
}

/// The state after a first start at `at`.
fn begun(at: Timestamp) -> State {
    let facts = Facts {
        now: at,
        stored: &empty(),
        published: Some(&Published::default()),
        remembered: None,
        served: None,
        policy: &policy(),
    };
    make(Step::Begin, &facts).unwrap()
}

/// The state after this step, at `at`.
fn stepped(step: Step, state: &State, at: Timestamp) -> State {
    let stored = Reading {
        state: Some(state.clone()),
        shape: Shape::Filled,
        ..Reading::default()
    };
    let facts = Facts {
        now: at,
        stored: &stored,
        published: None,
        remembered: None,
        served: None,
        policy: &policy(),
    };
    make(step, &facts).unwrap()
}

fn ago(hours: u32) -> Timestamp {
    before(now(), hours * HOUR)
}

struct Row<'a> {
    sentence: &'static str,
    stored: Reading,
    published: Option<Published>,
    remembered: Option<&'a State>,
    decision: Decision,
}

#[test]
fn the_next_step_follows_from_the_facts() {
    let fresh = begun(ago(1));
    let foreign = Authority::new("another's", 1000 * HOUR, ago(1)).unwrap();
    let foreign = Bundle::new(foreign.certificate_pem().as_bytes());
    let nothing = || Some([Bundle::default()].into_iter().collect::<Published>());
    let published = |state: &State| Some(everywhere(state));

    let old_leaf = begun(ago(8));
    let introduced = stepped(Step::Introduce, &fresh, now());
    let noted = |hours| {
        let mut state = introduced.clone();
        state.published_since = Some(ago(hours));
        state
    };
    // At the end of the authority, with a leaf that expires at the same time.
    let mut ending = begun(ago(100));
    ending = stepped(Step::Leaf, &ending, before(now(), HOUR / 2));
    let mut last = stepped(Step::Introduce, &ending, before(now(), HOUR / 4));
    assert!(last.leaf.is_some());
    let over = begun(ago(101));
    let over_introduced = stepped(Step::Introduce, &over, ago(1));
    let mut waiting = fresh.clone();
    waiting.leaf = None;
    waiting.old = vec![Old {
        root: foreign.roots()[0].clone(),
        until: after(now(), 5 * HOUR),
    }];
    let waited = |hours| {
        let mut state = waiting.clone();
        state.published_since = Some(ago(hours));
        state
    };
    let mut spent = fresh.clone();
    spent.old = waiting.old.clone();
    spent.old[0].until = ago(1);
    let mut renamed = policy();
    renamed.dns_names.push("gate.example.com".to_owned());
    let spoilt = |key: &str| {
        let mut content = fresh.content();
        content.data.insert(key.to_owned(), b"?".to_vec());
        Reading::of("the Secret", &content, now())
    };
    let misshapen = Reading {
        shape: Shape::Misshapen,
        ..reading(&fresh)
    };
    let rest = |at: Timestamp| Decision::Rest(at);
    let leaf_due = |state: &State| policy().leaf_due(&state.leaf.as_ref().unwrap().pair, now());

    let row = |sentence, stored, published, remembered, decision| Row {
        sentence,
        stored,
        published,
        remembered,
        decision,
    };
    let table = [
        row(
            "an empty Secret and registrations without bundles: all at once",
            empty(),
            nothing(),
            None,
            Decision::Do(Step::Begin),
        ),
        row(
            "an empty Secret and registrations unseen: they are looked at first",
            empty(),
            None,
            None,
            Decision::Look,
        ),
        row(
            "an empty Secret and a registration that may come back: nothing is served yet, so all at once",
            empty(),
            nothing().map(|it| it.incomplete(true)),
            None,
            Decision::Do(Step::Begin),
        ),
        row(
            "a new authority is not everywhere while a registration may come back",
            reading(&introduced),
            published(&introduced).map(|it| it.incomplete(true)),
            None,
            rest(leaf_due(&introduced)),
        ),
        row(
            "nor any more, if one has gone since",
            reading(&noted(0)),
            published(&introduced).map(|it| it.incomplete(true)),
            None,
            Decision::Do(Step::NotPublished),
        ),
        row(
            "a lost Secret is an admin's to put back",
            Reading::default(),
            published(&fresh),
            Some(&fresh),
            Decision::Blocked,
        ),
        row(
            "one that is put back is filled with what is remembered; registrations need not be seen for that",
            empty(),
            None,
            Some(&fresh),
            Decision::Do(Step::PutBack),
        ),
        row(
            "what has expired is not put back",
            empty(),
            published(&over),
            Some(&over),
            Decision::Do(Step::Begin),
        ),
        row(
            "an emptied Secret is put back",
            Reading::of("s", &Content::default(), now()),
            published(&fresh),
            Some(&fresh),
            Decision::Do(Step::PutBack),
        ),
        row(
            "an emptied Secret that nobody remembers is begun anew",
            Reading::of("s", &Content::default(), now()),
            published(&fresh),
            None,
            Decision::Do(Step::Begin),
        ),
        row(
            "an invalid leaf is restored from memory",
            spoilt("tls.key"),
            published(&fresh),
            Some(&fresh),
            Decision::Do(Step::PutBack),
        ),
        row(
            "an invalid leaf without a remembered state is removed first",
            spoilt("tls.key"),
            published(&fresh),
            None,
            Decision::Do(Step::Rewrite),
        ),
        row(
            "an invalid authority without a remembered state is replaced",
            spoilt("ca.key"),
            published(&fresh),
            None,
            Decision::Do(Step::Begin),
        ),
        row(
            "a Secret of another type is an admin's to put back",
            misshapen,
            published(&fresh),
            Some(&fresh),
            Decision::Blocked,
        ),
        row(
            "what is young rests until its leaf is due",
            reading(&fresh),
            published(&fresh),
            None,
            rest(leaf_due(&fresh)),
        ),
        row(
            "it rests, too, where registrations are unseen",
            reading(&fresh),
            None,
            None,
            rest(leaf_due(&fresh)),
        ),
        row(
            "it rests, too, where nothing is published yet",
            reading(&fresh),
            nothing(),
            None,
            rest(leaf_due(&fresh)),
        ),
        row(
            "a leaf with a fifth left is renewed",
            reading(&old_leaf),
            published(&old_leaf),
            None,
            Decision::Do(Step::Leaf),
        ),
        row(
            "an authority that cannot issue a whole leaf is succeeded",
            reading(&ending),
            published(&ending),
            None,
            Decision::Do(Step::Introduce),
        ),
        row(
            "its successor is in all registrations: that is noted",
            reading(&introduced),
            published(&introduced),
            None,
            Decision::Do(Step::Published),
        ),
        row(
            "its successor is not in all registrations: nothing is done",
            reading(&introduced),
            published(&fresh),
            None,
            rest(leaf_due(&fresh)),
        ),
        row(
            "it was in all registrations and is not: that is noted",
            reading(&noted(2)),
            published(&fresh),
            None,
            Decision::Do(Step::NotPublished),
        ),
        row(
            "a time to come is not believed",
            reading(&stepped(
                Step::Published,
                &introduced,
                after(now(), 2 * HOUR),
            )),
            published(&introduced),
            None,
            Decision::Do(Step::NotPublished),
        ),
        row(
            "it has not settled: that is waited for",
            reading(&noted(0)),
            published(&introduced),
            None,
            rest(after(now(), HOUR)),
        ),
        row(
            "it has settled: it takes over",
            reading(&noted(1)),
            published(&introduced),
            None,
            Decision::Do(Step::Switch),
        ),
        row(
            "it takes over, too, where registrations are unseen by then",
            reading(&noted(1)),
            None,
            None,
            Decision::Do(Step::Switch),
        ),
        row(
            "at the last moment it takes over in any case",
            {
                last.published_since = None;
                reading(&last)
            },
            published(&ending),
            None,
            Decision::Do(Step::Switch),
        ),
        row(
            "the authority has expired: its successor takes over",
            reading(&over_introduced),
            published(&over),
            None,
            Decision::Do(Step::Switch),
        ),
        row(
            "the authority has expired, and there is no successor",
            reading(&over),
            published(&over),
            None,
            Decision::Do(Step::Begin),
        ),
        row(
            "the authority has expired, and registrations are unseen",
            reading(&over),
            None,
            None,
            Decision::Look,
        ),
        row(
            "beside another's, the first authority has to be published",
            reading(&waiting),
            Some([foreign.clone()].into_iter().collect()),
            None,
            rest(after(now(), ASK_AGAIN)),
        ),
        row(
            "beside another's, the first authority is published",
            reading(&waiting),
            published(&waiting),
            None,
            Decision::Do(Step::Published),
        ),
        row(
            "beside another's, the first authority has to settle",
            reading(&waited(0)),
            published(&waiting),
            None,
            rest(after(now(), ASK_AGAIN)),
        ),
        row(
            "beside another's, the first authority has settled",
            reading(&waited(1)),
            published(&waiting),
            None,
            Decision::Do(Step::Leaf),
        ),
        row(
            "an old authority without valid leaves is forgotten",
            reading(&spent),
            published(&spent),
            None,
            Decision::Do(Step::Forget),
        ),
    ];
    let policy = policy();
    for row in table {
        let facts = Facts {
            now: now(),
            stored: &row.stored,
            published: row.published.as_ref(),
            remembered: row.remembered,
            served: Some(true),
            policy: &policy,
        };
        assert_eq!(
            decide(&facts),
            row.decision,
            "{}: {:?}",
            row.sentence,
            row.stored.problems
        );
    }

    let stored = reading(&fresh);
    let published = everywhere(&fresh);
    let with = |policy: &Policy| {
        decide(&Facts {
            now: now(),
            stored: &stored,
            published: Some(&published),
            remembered: None,
            served: None,
            policy,
        })
    };
    assert_eq!(with(&renamed), Decision::Do(Step::Leaf), "another name");
    let shorter = Policy {
        leaf_validity: HOUR,
        ..policy.clone()
    };
    assert_eq!(
        with(&shorter),
        Decision::Do(Step::Leaf),
        "much shorter leaves"
    );
    let shorter = Policy {
        leaf_validity: 9 * HOUR,
        ..policy.clone()
    };
    assert!(
        matches!(with(&shorter), Decision::Rest(_)),
        "a little shorter leaves"
    );
    let longer = Policy {
        leaf_validity: 48 * HOUR,
        ..policy.clone()
    };
    assert_eq!(
        with(&longer),
        Decision::Do(Step::Leaf),
        "much longer leaves"
    );
    let shorter = Policy {
        ca_validity: 30 * HOUR,
        ..policy.clone()
    };
    assert_eq!(
        with(&shorter),
        Decision::Do(Step::Introduce),
        "a much shorter authority"
    );
}

#[test]
fn a_first_authority_settles_while_another_process_serves() {
    let another = Authority::new("another's", 1000 * HOUR, ago(1)).unwrap();
    let published: Published = [Bundle::new(another.certificate_pem().as_bytes())]
        .into_iter()
        .collect();
    let (nothing, policy) = (empty(), policy());
    let mut facts = Facts {
        now: now(),
        stored: &nothing,
        published: Some(&published),
        remembered: None,
        served: None,
        policy: &policy,
    };
    let begun = make(Step::Begin, &facts).unwrap();
    assert!(begun.leaf.is_none());
    let stored = reading(&begun);
    facts.stored = &stored;
    for (sentence, published, served, decision) in [
        ("nobody has looked", Some(&published), None, Decision::Ask),
        (
            "nobody serves: calls fail until somebody does",
            Some(&published),
            Some(false),
            Decision::Do(Step::Leaf),
        ),
        (
            "somebody serves: it settles, and it is looked again",
            Some(&published),
            Some(true),
            Decision::Rest(after(now(), ASK_AGAIN)),
        ),
        (
            "where registrations are unseen nobody knows whom to ask",
            None,
            None,
            Decision::Rest(after(now(), ASK_AGAIN)),
        ),
    ] {
        facts.published = published;
        facts.served = served;
        assert_eq!(decide(&facts), decision, "{sentence}");
    }
}

#[test]
fn an_authority_hands_over_without_a_change_of_the_bundle() {
    let first = begun(ago(1));
    let both = stepped(Step::Introduce, &first, now());
    assert_eq!(
        both.leaf.as_ref().unwrap().pair.digest,
        first.leaf.as_ref().unwrap().pair.digest
    );
    assert_eq!(both.roots().len(), 2);
    let switched = stepped(Step::Switch, &both, now());
    assert_eq!(switched.bundle(), both.bundle());
    assert_eq!(switched.authority.root, both.next.unwrap().root);
    let [Old { root, until }] = &switched.old[..] else {
        panic!("{:?}", switched.old)
    };
    assert_eq!(*root, first.authority.root);
    assert_eq!(*until, first.leaf.unwrap().pair.not_after);
}

#[test]
fn an_authority_stays_until_its_longest_leaf_has_expired() {
    let first = begun(ago(1));
    let longest = first.leaf.as_ref().unwrap().pair.not_after;
    // With a policy of much shorter leaves.
    let stored = reading(&first);
    let short = Policy {
        leaf_validity: HOUR,
        ..policy()
    };
    let facts = Facts {
        now: now(),
        stored: &stored,
        published: None,
        remembered: None,
        served: None,
        policy: &short,
    };
    let second = make(Step::Leaf, &facts).unwrap();
    assert!(second.leaf.as_ref().unwrap().pair.not_after < longest);
    let third = stepped(Step::Introduce, &second, now());
    assert_eq!(stepped(Step::Switch, &third, now()).old[0].until, longest);
}

#[test]
fn published_authorities_are_adopted_after_a_loss() {
    let other = Authority::new("another's", 2 * HOUR, now()).unwrap();
    let expired = Authority::new("expired", HOUR, ago(5)).unwrap();
    let pem = format!("{}{}", other.certificate_pem(), expired.certificate_pem());
    let published: Published = [Bundle::new(pem.as_bytes())].into_iter().collect();
    let (nothing, policy, known) = (empty(), policy(), begun(ago(1)));
    let facts = Facts {
        now: now(),
        stored: &nothing,
        published: Some(&published),
        remembered: Some(&known),
        served: None,
        policy: &policy,
    };
    let other = Root::of(&other).unwrap();
    for (step, has_leaf) in [(Step::Begin, false), (Step::PutBack, true)] {
        let state = make(step, &facts).unwrap();
        let until = other.not_after();
        assert_eq!(
            state.old,
            [Old {
                root: other.clone(),
                until
            }],
            "{step:?}"
        );
        assert_eq!(state.leaf.is_some(), has_leaf, "{step:?}");
    }
}
