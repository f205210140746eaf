use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use berth_review::{FilesAnswerer, Gate, HubFiles};
use berth_rules::FeatureGates;
use serde_json::Value;
use tokio::time::Instant;

use super::*;

fn user(name: &str, groups: &[&str]) -> User {
    User {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
    }
}

fn made(mix: &str, names: usize, users: &[User]) -> Script {
    script(&Ingredients {
        mix: &mix.parse().unwrap(),
        names,
        users,
        sets: &["set-a".to_owned(), "set-b".to_owned()],
        expect: &|_| Expect::Any,
        now: "2026-11-21T01:09:16Z".parse().unwrap(),
    })
}

const ALL: &str = "update=70,create=10,accept=5,move=10,bind=5";

fn recorded(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reviews");
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The paths of all fields; of what lies in a free map, and in lists, only that it is there.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let free = ["fieldsV1", "labels", "annotations", "extra"];
    match value {
        Value::Object(map) if !free.iter().any(|name| path.ends_with(name)) => {
            for (name, value) in map {
                fields(value, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                fields(item, &format!("{path}[]"), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn a_made_review_has_the_fields_of_a_recorded_one() {
    let rows = [
        ("update", 0, "update-unrelated-bob.mutate.json"),
        ("update", 1, "update-unrelated-bob.validate.json"),
        ("create", 0, "create-accepted-carol.mutate.json"),
        ("create", 1, "create-accepted-carol.validate.json"),
        ("accept", 0, "accept-alice-denied.mutate.json"),
        ("accept", 1, "accept-alice-denied.validate.json"),
        (
            "move",
            1,
            "relabel-set-a-to-set-b-alice-denied.validate.json",
        ),
        ("bind", 0, "bind-set-a-alice.validate.json"),
    ];
    for (kind, index, file) in rows {
        let script = made(&format!("{kind}=1"), 1, &[user("carol", &["team-carol"])]);
        let review: Value = serde_json::from_slice(&script.reviews[index].body).unwrap();
        let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
        fields(&review, "", &mut ours);
        fields(&recorded(file), "", &mut theirs);
        assert_eq!(ours, theirs, "{kind} as in {file}");
    }
}

#[test]
fn a_round_of_writes_comes_for_every_name_and_the_uid_is_written_over_in_place() {
    let users = [user("alice", &[]), user("bob", &["a", "b"])];
    let script = made(ALL, 3, &users);
    assert_eq!(
        script.labels,
        ["update", "create", "accept", "move", "bind"]
    );
    assert_eq!(script.reviews.len(), 3 * (4 * 2 + 1));
    // A round is 20 writes, one of which is a binding and so a single review.
    assert_eq!(script.order.len(), 3 * (19 * 2 + 1));
    let mut uids = BTreeSet::new();
    for number in 0..script.order.len() as u64 {
        let (_, review) = script.review(number);
        let Uid::FreshAt(at) = review.uid else {
            panic!("{:?}", review.uid)
        };
        let mut body = review.body.clone();
        let uid = fresh_uid();
        body[at..at + 36].copy_from_slice(&uid);
        let sent: Value = serde_json::from_slice(&body).unwrap();
        let uid = String::from_utf8(uid.to_vec()).unwrap();
        assert_eq!(sent["request"]["uid"], uid);
        assert!(uids.insert(uid), "no uid comes twice");
    }
    let who: BTreeSet<_> = script
        .reviews
        .iter()
        .map(|review| {
            let review: Value = serde_json::from_slice(&review.body).unwrap();
            review["request"]["userInfo"]["username"].to_string()
        })
        .collect();
    assert_eq!(who.len(), 2, "users take turns");
}

/// The gate's verdicts with the sample hub, by kind in the order of the reviews.
#[tokio::test]
async fn the_gate_answers_what_the_permissions_say() {
    let hub = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hub");
    let files = HubFiles::read(&[hub]).unwrap();
    let gate = Gate::new(Arc::new(FilesAnswerer::new(files)), FeatureGates::default());
    let masters = user("kubernetes-admin", &["system:masters"]);
    let (carol, alice, bob) = (
        user("carol", &["team-carol"]),
        user("alice", &["team-alice"]),
        user("bob", &[]),
    );
    // update, create, accept and move (mutate and validate each); bind of set-a, and of set-b.
    let rows = [
        ("masters may do everything", masters, [true; 10]),
        ("carol is the sample hub's admin", carol, [true; 10]),
        (
            "alice may join default and set-a, and bind set-a",
            alice,
            [
                true, true, true, true, true, false, true, false, true, false,
            ],
        ),
        (
            "bob may do nothing that is guarded",
            bob,
            [
                true, true, true, false, true, false, true, false, false, false,
            ],
        ),
    ];
    for (case, user, allowed) in rows {
        let script = made(ALL, 2, &[user]);
        let mut found = Vec::new();
        let (first, second) = script.reviews.split_at(9);
        for review in first.iter().chain(&second[8..]) {
            let webhook = berth_webhooks::webhook_at(review.path).unwrap();
            let deadline = Instant::now() + Duration::from_secs(10);
            let now = Timestamp::now();
            let verdict = gate.examine(webhook, &review.body, now, deadline).await;
            assert!(
                [200, 403].contains(&verdict.code()),
                "{}",
                verdict.message()
            );
            let answer: Value = serde_json::from_slice(&verdict.to_json()).unwrap();
            assert_eq!(answer["response"]["uid"], NO_UID, "{case}");
            found.push(verdict.is_allowed());
        }
        assert_eq!(found, allowed, "{case}");
    }
}
