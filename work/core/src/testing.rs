//! What tests share: a model of an API server that holds one object, and short forms.

#![allow(clippy::unwrap_used, reason = "tests")]

mod fields;
mod server;

use berth_api::work::{Manifest, UpdateStrategy};
use serde_json::Value;

pub use server::Server;

use crate::{ApplyOutcome, Applying, Mapped, Owner, Settled, Step, prescribed};

/// An owner that holds its objects.
pub fn owner(name: &str) -> Owner {
    Owner {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        holding: crate::Holding::Owned,
    }
}

/// A manifest on the cluster. The resource is the kind in lower case with an s.
pub fn mapped(manifest: &Value) -> Mapped {
    let manifest = Manifest::new(manifest).unwrap();
    let prescribed = prescribed(0, &manifest).unwrap();
    let resource = format!("{}s", prescribed.kind.to_lowercase());
    let namespaced = !prescribed.namespace.is_empty();
    prescribed.mapped(&resource, namespaced).unwrap()
}

/// A strategy, from its JSON.
pub fn strategy(json: Value) -> Option<UpdateStrategy> {
    serde_json::from_value(json).unwrap()
}

/// Drives a machine to its end. Returns the outcome and the requests, by name.
pub fn drive(machine: &mut Applying, server: &mut Server) -> (ApplyOutcome, Vec<&'static str>) {
    let mut requests = Vec::new();
    let mut response = None;
    loop {
        let step = machine.next(response);
        requests.push(match &step {
            Step::Get => "get",
            Step::Create(_) => "create",
            Step::Replace(_) => "update",
            Step::Try(_) => "try",
            Step::Apply { .. } => "apply",
            Step::Merge(_) => "patch",
            Step::Delete { .. } => "delete",
            Step::Done(_) => "",
        });
        if let Step::Done(outcome) = step {
            requests.pop();
            return (outcome, requests);
        }
        assert!(requests.len() < 32, "{requests:?}");
        response = Some(server.answer(step));
    }
}

/// Applies a manifest for an owner.
pub fn apply(
    server: &mut Server,
    manifest: &Value,
    how: Value,
    owner: Owner,
    settled: Settled,
) -> (ApplyOutcome, Vec<&'static str>) {
    let strategy = strategy(how);
    let mut machine =
        Applying::new(mapped(manifest), strategy.as_ref(), owner, settled, None).unwrap();
    drive(&mut machine, server)
}

/// The settled state of an outcome that must be applied.
pub fn settled(outcome: ApplyOutcome) -> Settled {
    match outcome {
        ApplyOutcome::Applied(done) => done.settled,
        other => panic!("{other:?}"),
    }
}
