//! Carries out what is due on the managed cluster of an agent that runs on this one.

use std::time::Duration;

use berth_api::plan::Target;
use berth_hub::{Call, CallError, object_path, optional, query_value};
use berth_operator_core::cluster::{
    AppliedWork, AppliedWorks, KINDS_THERE, MANAGED_SECRET, Managed, Outcome, RECONCILER,
    TOKEN_FILE, Task, There, is_shared,
};
use berth_operator_core::names::{CREATED_BY_KLUSTERLET, NAMESPACE_OF};
use berth_operator_core::objects::{Id, Kind};
use berth_operator_core::{Account, Failure, Unprepared};
use berth_reconcile::{Handle, Item, World, WriteOutcome, Writer, now};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::timeout;

use super::works::{WorkObject, resource_of_works};
use crate::elsewhere::{self, Elsewhere, stored};
use crate::reach::{Called, Kept, Reached, reach};
use crate::settle::{failure, id};

const CALLED: Called = Called {
    what: "the managed cluster",
    there: "apply manifests/operator/klusterlet/role.yaml there",
    here: "apply manifests/operator/klusterlet/role.yaml again",
};

/// Upper bound on the steps of a task: each of the parts is taken over, then written.
const MOST_STEPS: usize = 24;

/// Upper bound on the AppliedManifestWorks of a cluster.
const MOST_WORKS: usize = 50_000;

/// The longest time for all of a task. It goes on where it was.
const LONGEST: Duration = Duration::from_secs(120);

/// Upper bound on the AppliedManifestWorks that are read at the same time.
const READS_AT_ONCE: usize = 16;

const WORKS: &str = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";

/// What was found, and when to look again at the latest.
pub(super) type Looked = (Managed, Option<Timestamp>);

/// Looks whether the managed cluster can be reached, and carries out the task.
pub(super) async fn carry_out<W: World>(on: &Handle<W>, task: Task, there: There) -> Looked {
    let is_here = there.is_here;
    let late = || Managed {
        task,
        ready: Err(Unprepared {
            is_away: false,
            why: format!("it takes more than {} seconds", LONGEST.as_secs()),
        }),
        outcome: Outcome::Nothing,
        is_here,
    };
    let done = timeout(LONGEST, try_carry_out(on, task, there)).await;
    done.unwrap_or_else(|_| (late(), None))
}

async fn try_carry_out<W: World>(on: &Handle<W>, task: Task, mut there: There) -> Looked {
    let secret = id(Kind::Secret, there.name(), MANAGED_SECRET);
    let reached = match reach(on, &secret, &CALLED, WORKS).await {
        Ok(reached) => reached,
        Err(unprepared) => {
            let managed = Managed {
                task,
                ready: Err(unprepared),
                outcome: Outcome::Nothing,
                is_here: there.is_here,
            };
            return (managed, None);
        }
    };
    there.is_here = is_here(on, &reached.cluster).await;
    let mut until = None;
    let outcome = match task {
        Task::Prepare => Outcome::Nothing,
        Task::Install => match install(on, &reached, &there).await {
            Ok(renew_at) => {
                until = Some(renew_at);
                Outcome::Done
            }
            // What passes by itself.
            Err(failures) if failures.is_empty() => Outcome::Nothing,
            Err(failures) => Outcome::Failed(failures),
        },
        Task::Clean => match clean(&reached.cluster, &there).await {
            Ok(outcome) => outcome,
            Err(why) => Outcome::Failed(vec![reached.failure(Kind::ClusterRole, &why)]),
        },
    };
    let created = &reached.created;
    let ready = format!(
        "Klusterlet is ready to apply, the external managed kubeconfig secret was created at: {created}"
    );
    let managed = Managed {
        task,
        ready: Ok(ready),
        outcome,
        is_here: there.is_here,
    };
    (managed, until)
}

/// Returns whether the managed cluster is this one: both have the same namespace kube-system. If in doubt, it is: then nothing here is taken
/// for what nobody wants.
async fn is_here<W: World>(on: &Handle<W>, elsewhere: &Elsewhere) -> bool {
    let uid = async |writer: &Writer| {
        let path = object_path(("", "v1", "namespaces"), "", "kube-system");
        let answer = writer.send(Call::get(path)).await.ok()?;
        let namespace: Value = answer.json().ok()?;
        namespace["metadata"]["uid"].as_str().map(str::to_owned)
    };
    let (here, there) = (uid(on.writer(0)).await, uid(elsewhere.writer()).await);
    here.is_none() || there.is_none() || here == there
}

/// The kinds of what is on a managed cluster, in all namespaces.
fn kinds() -> impl Iterator<Item = (Kind, &'static str)> {
    KINDS_THERE.into_iter().map(|kind| (kind, ""))
}

/// Returns when the credentials of the agent are to be renewed.
async fn install<W: World>(
    on: &Handle<W>,
    reached: &Reached,
    there: &There,
) -> Result<Timestamp, Vec<Failure>> {
    let elsewhere = &reached.cluster;
    let label = (CREATED_BY_KLUSTERLET, there.name());
    let mut failures = Vec::new();
    for _ in 0..MOST_STEPS {
        let stored = stored(elsewhere.writer(), kinds(), label, there.ids()).await;
        let stored = stored.map_err(|error| vec![reached.refused(Kind::ClusterRole, &error)])?;
        // What cannot be written holds up the credentials of no agent that has its account.
        let mut writes = match failures.is_empty() {
            true => there.due(&stored).map_err(|it| vec![it])?,
            false => Vec::new(),
        };
        let mut renew_at = None;
        if writes.is_empty()
            && let Some(account) = stored.get(&there.account())
        {
            let kept = keep_credentials(on, reached, there, &account.uid).await?;
            renew_at = Some(kept);
            writes = there.unwanted(&stored, now());
        }
        match renew_at {
            _ if !failures.is_empty() => return Err(failures),
            Some(renew_at) if writes.is_empty() => return Ok(renew_at),
            None if writes.is_empty() => return Err(Vec::new()),
            _ => {}
        }
        match elsewhere::carry_out(elsewhere.writer(), &writes).await {
            Ok(()) => {}
            Err(failed) if failed.is_empty() => return Err(failed),
            Err(failed) => failures = failed,
        }
    }
    Err(vec![Failure {
        kind: Kind::ClusterRole,
        message: "the managed cluster: another client changes what is written".to_owned(),
    }])
}

/// Makes the Secret with the credentials of the agent, unless it is good. Returns when another one is due.
async fn keep_credentials<W: World>(
    on: &Handle<W>,
    reached: &Reached,
    there: &There,
    uid: &str,
) -> Result<Timestamp, Vec<Failure>> {
    let Id {
        namespace, name, ..
    } = there.account();
    let account = Account {
        namespace,
        name,
        uid: uid.to_owned(),
        token_file: TOKEN_FILE,
    };
    let kept = Kept {
        id: &there.secret(),
        labels: there.labels(),
        reconciler: RECONCILER,
        failing: Kind::Deployment,
    };
    let (renew_at, write) = reached.token(on, &account, kept).await?;
    match on.carry_out(write.into_iter().collect()).await {
        WriteOutcome::Failed(failures) => {
            let failures = failures.into_iter();
            let failures = failures.filter_map(|(it, _)| failure(&it));
            Err(failures.collect())
        }
        _ => Ok(renew_at),
    }
}

async fn clean(elsewhere: &Elsewhere, there: &There) -> Result<Outcome, String> {
    let said = |error: CallError| error.to_string();
    let label = (CREATED_BY_KLUSTERLET, there.name());
    let has_others = has_others(elsewhere, there).await.map_err(said)?;
    // Read when it is their turn, and again once they were written.
    let mut works = None;
    for _ in 0..MOST_STEPS {
        let shared = there.ids().filter(is_shared);
        let stored = stored(elsewhere.writer(), kinds(), label, shared).await;
        let stored = stored.map_err(said)?;
        let (writes, waits_for) = there.clean(&stored, works.as_ref(), has_others, now());
        if writes.is_empty() && works.is_none() {
            works = Some(self::works(elsewhere, there).await?);
            continue;
        }
        if writes.is_empty() {
            return Ok(waits_for.map_or(Outcome::Done, Outcome::WaitsFor));
        }
        match elsewhere::carry_out(elsewhere.writer(), &writes).await {
            Ok(()) => {}
            Err(failures) if failures.is_empty() => break,
            Err(failures) => return Ok(Outcome::Failed(failures)),
        }
        if writes
            .iter()
            .any(|it| it.target.resource == resource_of_works())
        {
            works = None;
        }
    }
    Ok(Outcome::WaitsFor("the end of what is deleted".to_owned()))
}

/// Returns whether other Klusterlets have agents of that cluster.
async fn has_others(elsewhere: &Elsewhere, there: &There) -> Result<bool, CallError> {
    let call = Call::get(format!(
        "/api/v1/namespaces?labelSelector={}",
        query_value(NAMESPACE_OF)
    ));
    let list: Value = elsewhere.writer().send(call).await?.json()?;
    let mut items = list["items"].as_array().into_iter().flatten();
    Ok(items.any(|it| it["metadata"]["labels"][NAMESPACE_OF] != *there.name()))
}

/// The AppliedManifestWorks of that cluster with the finalizer of this agent. They may be large, so each is read by itself.
async fn works(elsewhere: &Elsewhere, there: &There) -> Result<AppliedWorks, String> {
    let target = |name: &str| Target {
        resource: resource_of_works(),
        namespace: None,
        name: name.to_owned(),
    };
    let mut names: Vec<String> = Vec::new();
    let mut look = |item: &Item<'_>| {
        if names.len() == MOST_WORKS {
            let why = format!("there are more than {MOST_WORKS}");
            return Err(serde::de::Error::custom(why));
        }
        names.push(item.meta.name.clone());
        Ok(())
    };
    let all = target("");
    let listed = elsewhere.writer().each_metadata(&all, &mut look);
    listed.await.map_err(|refusal| refusal.message)?;
    let reads = names.into_iter().map(|name| async move {
        let path = object_path(
            (
                "work.open-cluster-management.io",
                "v1",
                "appliedmanifestworks",
            ),
            "",
            &name,
        );
        let answer = optional(elsewhere.writer().send(Call::get(path)).await)?;
        let work: Option<WorkObject> = answer.map(|it| it.json()).transpose()?;
        Ok::<_, CallError>(work.map(|it| (name, AppliedWork::from(it))))
    });
    let reads = stream::iter(reads).buffer_unordered(READS_AT_ONCE);
    let uid = there.uid();
    let own = reads.try_filter_map(|it| async move { Ok(it.filter(|(_, it)| it.agent == uid)) });
    own.try_collect()
        .await
        .map_err(|error: CallError| error.to_string())
}
