//! Writes objects anew that are stored in a version that the hub is to lose.

use std::time::{Duration, Instant};

use berth_api::plan::Target;
use berth_operator_core::Failure;
use berth_operator_core::hub::{Migration, migrations};
use berth_operator_core::objects::Kind;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Refusal, Writer, now};
use futures::stream::{StreamExt, TryStreamExt, iter};
use serde_json::Value;

use super::world::{Key, Operator};

/// How long definitions have had the version before objects are written in it: until then an API server may not know it, and store in another.
const UNTIL_KNOWN: Duration = Duration::from_secs(10);

/// Upper bound on the objects that are written at the same time.
const AT_ONCE: usize = 8;

/// Objects that are to be written anew.
pub(super) struct Pending {
    since: Instant,
    /// What kept them from it the last time.
    pub(super) failures: Vec<Failure>,
}

/// What came of it.
pub(super) enum Progress {
    /// There is nothing to write anew.
    Nothing,
    /// Not yet.
    Wait(Duration),
    Done,
    Failed,
}

impl Operator {
    /// How long to wait until objects are written anew.
    fn wait(&mut self, name: &str, now: Instant) -> Duration {
        let pending = self.pending.entry(name.to_owned());
        let pending = pending.or_insert(Pending {
            since: now,
            failures: Vec::new(),
        });
        UNTIL_KNOWN.saturating_sub(now.duration_since(pending.since))
    }
}

/// Writes anew what is due for a ClusterManager on this cluster.
pub(super) async fn run(on: &Handle<Operator>, name: &str) -> Next {
    let due = {
        let world = on.world();
        match world.is_ready() && !world.is_hosted(name) {
            true => migrations(name, &world.stored),
            false => return Next::SETTLED,
        }
    };
    match migrate(on, on.writer(0), name, due).await {
        // The definition changes, and wakes who decides about it.
        Progress::Nothing | Progress::Done => Next::SETTLED,
        Progress::Wait(wait) => Next::again(Some(now().instant + wait)),
        Progress::Failed => {
            on.change(|_, wakes| wakes.wake(Key::Here(name.to_owned())));
            Next::Failed { wait: None }
        }
    }
}

/// Writes anew what is due for a ClusterManager. `writer`: of its hub.
pub(super) async fn migrate(
    on: &Handle<Operator>,
    writer: &Writer,
    name: &str,
    due: Vec<Migration>,
) -> Progress {
    if due.is_empty() {
        on.world().pending.remove(name);
        return Progress::Nothing;
    }
    let wait = on.world().wait(name, now().instant);
    if !wait.is_zero() {
        return Progress::Wait(wait);
    }
    let mut failures = Vec::new();
    for migration in &due {
        if let Err(refusal) = anew(writer, migration).await {
            failures.push(Failure {
                kind: Kind::Definition,
                message: format!("{}: {}", migration.definition.shown(), refusal.message),
            });
        } else {
            let definition = migration.definition.shown();
            tracing::info!(definition, "all objects are written anew");
        }
    }
    let is_done = failures.is_empty();
    if let Some(pending) = on.world().pending.get_mut(name) {
        pending.failures = failures;
    }
    match is_done {
        true => Progress::Done,
        false => Progress::Failed,
    }
}

/// Writes all objects of a definition anew, then has it say so. Their names are in memory at once; the controller has all of the objects.
async fn anew(writer: &Writer, migration: &Migration) -> Result<(), Refusal> {
    let target = |namespace: &str, name: &str| Target {
        resource: migration.objects.clone(),
        namespace: Some(namespace.to_owned()).filter(|it| !it.is_empty()),
        name: name.to_owned(),
    };
    let mut objects = Vec::new();
    let all = target("", "");
    (writer.each_metadata(&all, &mut |item| {
        objects.push(target(&item.meta.namespace, &item.meta.name));
        Ok(())
    }))
    .await?;
    let writes = iter(objects).map(|target| async move {
        match store_anew(writer, migration, &target).await {
            // Gone since.
            Err(refusal) if refusal.is_absent => Ok(()),
            stored => stored,
        }
    });
    writes.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let written = writer.write(&migration.done()).await;
    written.map(drop).map_err(|(_, refusal)| refusal)
}

async fn store_anew(
    writer: &Writer,
    migration: &Migration,
    target: &Target,
) -> Result<(), Refusal> {
    let (object, _) = writer.read(target).await?;
    let object: Value =
        (object.item().parse()).map_err(|error| Refusal::unreadable(&error.to_string()))?;
    let write = migration.anew(target, &object);
    let written = writer.write(&write).await;
    written.map(drop).map_err(|(_, refusal)| refusal)
}
