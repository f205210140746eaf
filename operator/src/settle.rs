//! Carries out what is decided for an object, and tells the decider what failed.

use berth_api::Now;
use berth_api::plan::{Target, Write, WriteFailure};
use berth_hub::Call;
use berth_operator_core::objects::{Id, Kind};
use berth_operator_core::{Decision, Failure};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, RawObject, World, WriteOutcome, failed, never_settled, now};

/// Upper bound on the steps of a reconcile: each of the parts is taken over, then written.
const MOST_STEPS: usize = 32;

/// The last steps of a reconcile: what did not settle until then is reported.
const REPORTING: usize = 4;

/// A world that installs what an object asks for.
pub(crate) trait Installs: World {
    /// What is due for the object of this name, given the writes that failed before.
    fn due(&mut self, name: &str, failures: &[Failure], now: Now) -> Decision;

    /// The objects that it asks for, and that no watch shows: they may exist without the label.
    fn unknown(&mut self, name: &str) -> Vec<Id>;

    /// The row that watches objects of this kind, by their label.
    fn row(kind: Kind) -> Self::Kind;
}

/// Decides and writes until nothing is due.
pub(crate) async fn settle<W: Installs>(on: &Handle<W>, name: &str) -> Next {
    if let Err(failed) = look_up(on, name).await {
        return failed;
    }
    let mut failures = Vec::new();
    let mut restless = Vec::new();
    for step in 0..MOST_STEPS {
        let decision = {
            let reported: Vec<_> = failures
                .iter()
                .filter_map(|(failed, _)| failure(failed))
                .chain(restless.iter().cloned())
                .collect();
            on.world().due(name, &reported, now())
        };
        if step == MOST_STEPS - REPORTING && decision.is_of_objects {
            // Another client, or a webhook of one, undoes what is written.
            restless = decision.writes.iter().map(undone).collect();
            continue;
        }
        let again = decision.again.map(|it| now().instant + it);
        match on.carry_out(decision.writes).await {
            WriteOutcome::Nothing if !restless.is_empty() => return never_settled(&name),
            WriteOutcome::Nothing if failures.is_empty() => return Next::again(again),
            WriteOutcome::Nothing => return failed(&failures),
            WriteOutcome::Written => {}
            WriteOutcome::Failed(refused) if decision.is_of_objects && failures.is_empty() => {
                failures = refused;
            }
            WriteOutcome::Failed(refused) => return failed(&refused),
        }
    }
    never_settled(&name)
}

/// Reads the objects that no watch shows. What exists without the label is known then, and is taken over as it is.
async fn look_up<W: Installs>(on: &Handle<W>, name: &str) -> Result<(), Next> {
    let unknown = on.world().unknown(name);
    for id in unknown {
        let row = W::row(id.kind);
        let since = on.moment(row);
        let call = Call::get(id.path());
        match on.writer(0).send(call).await {
            Ok(answer) => match RawObject::read(answer.body) {
                Ok(object) => on.observed_beside(row, &object),
                Err(error) => {
                    tracing::warn!(object = id.shown(), %error, "an object cannot be read")
                }
            },
            Err(error) if error.is_absent() => on.gone(since, &id.namespace, &id.name),
            Err(error) => {
                tracing::warn!(object = id.shown(), %error, "an object cannot be read");
                return Err(Next::Failed { wait: None });
            }
        }
    }
    Ok(())
}

/// A write that does not last, as the object reports it.
fn undone(write: &Write) -> Failure {
    let (kind, object) = named(&write.target);
    let message = format!("{object}: another client changes what is written");
    Failure { kind, message }
}

/// A failure, as the object reports it. What passes by itself is not reported.
pub(crate) fn failure(failure: &WriteFailure) -> Option<Failure> {
    if failure.code == 409 {
        return None;
    }
    let (kind, object) = named(&failure.target);
    let message = format!("{object}: {}", failure.message);
    Some(Failure { kind, message })
}

/// The kind and the name of an object in messages. Others than those that are installed, such as AppliedManifestWorks, count as what is in
/// the cluster.
fn named(target: &Target) -> (Kind, String) {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    match kind_of(target) {
        Some(kind) => (kind, id(kind, namespace, &target.name).shown()),
        None => {
            let resource = &target.resource.resource;
            (Kind::ClusterRole, format!("{resource} {}", target.name))
        }
    }
}

/// The kind of what is written; `None` for other objects than operators install.
pub(crate) fn kind_of(target: &Target) -> Option<Kind> {
    let mut kinds = Kind::ALL.into_iter();
    kinds.find(|it| it.resource() == target.resource)
}

pub(crate) fn id(kind: Kind, namespace: &str, name: &str) -> Id {
    Id {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}
