use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{Server, owner};

fn recorded(uid: &str) -> AppliedManifestResourceMeta {
    AppliedManifestResourceMeta {
        name: "a".to_owned(),
        namespace: "n".to_owned(),
        resource: "configmaps".to_owned(),
        version: "v1".to_owned(),
        uid: uid.to_owned(),
        ..AppliedManifestResourceMeta::default()
    }
}

fn live(owners: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "n", "name": "a", "ownerReferences": owners}})
}

fn drive(
    server: &mut Server,
    recorded: &AppliedManifestResourceMeta,
) -> (Removal, Vec<&'static str>) {
    let mut machine = Removing::new(recorded, "uid-w");
    let mut requests = Vec::new();
    let mut response = None;
    loop {
        let step = machine.next(response);
        match &step {
            Step::Done(_) => {}
            Step::Get => requests.push("get"),
            Step::Merge(_) => requests.push("patch"),
            Step::Replace(_) => requests.push("update"),
            Step::Delete { .. } => requests.push("delete"),
            Step::Create(_) | Step::Try(_) | Step::Apply { .. } => requests.push("write"),
        }
        if let Step::Done(removal) = step {
            return (removal, requests);
        }
        response = Some(server.answer(step));
    }
}

#[test]
fn only_our_object_is_deleted() {
    let ours = owner("w").reference();
    let other = owner("other").reference();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"});
    for (sentence, owners, uid, requests, removal, stays) in [
        (
            "ours",
            vec![ours.clone()],
            "object-1",
            &["get", "delete"][..],
            Removal::Pending(Box::default()),
            false,
        ),
        (
            "an owner of another kind",
            vec![pod, ours.clone()],
            "object-1",
            &["get", "delete"],
            Removal::Pending(Box::default()),
            false,
        ),
        (
            "another uid",
            vec![ours.clone()],
            "object-0",
            &["get"],
            Removal::Gone,
            true,
        ),
        (
            "no uid",
            vec![ours.clone()],
            "",
            &["get"],
            Removal::Gone,
            true,
        ),
        (
            "not ours",
            vec![],
            "object-1",
            &["get"],
            Removal::Gone,
            true,
        ),
        (
            "of another work",
            vec![other.clone()],
            "object-1",
            &["get"],
            Removal::Gone,
            true,
        ),
        (
            "shared",
            vec![ours, other],
            "object-1",
            &["get", "patch"],
            Removal::Gone,
            true,
        ),
    ] {
        let mut server = Server::with(&live(&owners), "work-agent");
        assert_eq!(
            drive(&mut server, &recorded(uid)),
            (removal, requests.to_vec()),
            "{sentence}"
        );
        assert_eq!(server.live().is_some(), stays, "{sentence}");
        assert!(
            !server.owner_names().contains(&"w".to_owned()) || uid != "object-1",
            "{sentence}"
        );
    }
    assert_eq!(
        drive(&mut Server::empty(), &recorded("u")),
        (Removal::Gone, vec!["get"])
    );
}

#[test]
fn an_object_that_is_being_deleted_is_waited_for() {
    let mut object = live(&[owner("w").reference()]);
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for finalizers in [&[][..], &["example.com/a".to_owned(), "b".to_owned()]] {
        object["metadata"]["finalizers"] = json!(finalizers);
        let mut server = Server::with(&object, "work-agent");
        assert_eq!(
            drive(&mut server, &recorded("object-1")),
            (Removal::Pending(finalizers.into()), vec!["get"])
        );
    }
}

#[test]
fn an_owner_that_comes_before_the_deletion_protects_the_object() {
    let mut server = Server::with(&live(&[owner("w").reference()]), "work-agent");
    let recorded = recorded("object-1");
    let mut machine = Removing::new(&recorded, "uid-w");
    assert_eq!(machine.next(None), Step::Get);
    let delete = machine.next(Some(server.answer(Step::<()>::Get)));
    assert!(matches!(delete, Step::Delete { .. }));
    server.edit("work-agent", |live| {
        let owners = live["metadata"]["ownerReferences"].as_array_mut().unwrap();
        owners.push(owner("late").reference());
    });
    let mut step = machine.next(Some(server.answer(delete)));
    while !matches!(step, Step::Done(_)) {
        step = machine.next(Some(server.answer(step)));
    }
    assert_eq!(step, Step::Done(Removal::Gone));
    assert_eq!(server.owner_names(), ["late"]);
}

proptest! {
    #[test]
    fn nothing_of_others_is_deleted(
        names in prop::collection::vec(prop_oneof![Just("w"), Just("one"), Just("two")], 0..4),
        uid in prop_oneof![Just("object-1"), Just("object-2"), Just("")],
        refuse_patch: bool,
    ) {
        let owners: Vec<Value> = names.iter().map(|name| owner(name).reference()).collect();
        let mut server = Server::with(&live(&owners), "work-agent");
        server.refuse_patch = refuse_patch;
        let (removal, _) = drive(&mut server, &recorded(uid));
        let protected = names.iter().any(|name| *name != "w") || !names.contains(&"w") || uid != "object-1";
        prop_assert_eq!(server.live().is_some(), protected);
        prop_assert_eq!(removal == Removal::Gone, protected);
    }
}

#[test]
fn a_refused_deletion_says_so() {
    let recorded = recorded("object-1");
    let mut server = Server::with(&live(&[owner("w").reference()]), "work-agent");
    let mut machine = Removing::new(&recorded, "uid-w");
    let read = machine.next(None);
    let delete = machine.next(Some(server.answer(read)));
    assert!(matches!(delete, Step::Delete { .. }));
    let refusal = crate::Refusal {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: "a webhook keeps it".to_owned(),
        ..crate::Refusal::default()
    };
    let Step::Done(Removal::Failed(failure)) = machine.next(Some(Response::Refused(refusal)))
    else {
        panic!("not refused");
    };
    assert_eq!(failure.message, "it was not deleted: a webhook keeps it");
}
