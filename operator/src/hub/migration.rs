//! Writes objects anew that are stored in a version that the hub is to lose.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use berth_api::plan::Target;
use berth_operator_core::Failure;
use berth_operator_core::hub::{Migration, migrations};
use berth_operator_core::names::CREATED_BY;
use berth_operator_core::objects::{Id, Kind, Stored};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Item, RawObject, Refusal, Writer, now};
use futures::stream::{StreamExt, iter};
use serde_json::Value;

use super::world::{Key, Operator};

/// How long a definition has had the version before objects are written in it: until then an API server may not know it, and store in another.
const UNTIL_KNOWN: Duration = Duration::from_secs(10);

/// Upper bound on the objects that are written at the same time.
const AT_ONCE: usize = 8;

/// How often a write is tried that another client comes before.
const TRIES: usize = 3;

/// The wait after an object was refused: that does not pass by itself, and to try means to write all objects again.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// Definitions whose objects are to be written anew.
#[derive(Default)]
pub(super) struct Pending {
    /// By definition: its generation, and since when it is so.
    since: BTreeMap<Id, (i64, Instant)>,
    /// What kept their objects from it the last time.
    pub(super) failures: Vec<Failure>,
}

/// What came of it.
pub(super) enum Progress {
    /// There is nothing to write anew.
    Nothing,
    /// Not yet.
    Wait(Duration),
    Done,
    /// Try again after this time, or soon.
    Failed(Option<Duration>),
}

/// Why objects are not written anew.
struct Stopped {
    why: String,
    /// It passes by itself, and is not reported.
    passes: bool,
    /// The operator lacks a permission.
    is_forbidden: bool,
    wait: Option<Duration>,
}

// === impl Pending ===

impl Pending {
    /// What may be written now, and how long to wait for the first of the rest.
    fn ready(&mut self, due: Vec<Migration>, now: Instant) -> (Vec<Migration>, Option<Duration>) {
        let ids: Vec<_> = due.iter().map(|it| it.definition.clone()).collect();
        self.since.retain(|id, _| ids.contains(id));
        let mut first = None;
        let ready = due.into_iter().filter(|it| {
            let left = self.left(&it.definition, it.generation, now);
            if !left.is_zero() {
                first = first.into_iter().chain([left]).min();
            }
            left.is_zero()
        });
        (ready.collect(), first)
    }

    /// How long to wait for a definition of this generation.
    fn left(&mut self, definition: &Id, generation: i64, now: Instant) -> Duration {
        let seen = self.since.entry(definition.clone());
        let seen = seen.or_insert((generation, now));
        if seen.0 != generation {
            *seen = (generation, now);
        }
        UNTIL_KNOWN.saturating_sub(now.duration_since(seen.1))
    }
}

// === impl Stopped ===

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self {
            passes: refusal.code == 409,
            is_forbidden: refusal.code == 403,
            wait: match refusal.code == 409 || ends_all(&refusal) {
                true => refusal.retry_after,
                false => Some(AFTER_REFUSAL),
            },
            why: refusal.message,
        }
    }
}

/// Returns whether the API server would not write other objects either.
fn ends_all(refusal: &Refusal) -> bool {
    matches!(refusal.code, 0 | 429 | 500..)
}

/// Writes anew what is due for a ClusterManager on this cluster.
pub(super) async fn run(on: &Handle<Operator>, name: &str) -> Next {
    let due = {
        let world = on.world();
        match world.is_ready() && !world.is_hosted(name) {
            true => world.facts(name, 0, &[]).map(|it| migrations(&it)),
            false => None,
        }
    };
    let due = due.unwrap_or_default();
    let remedy = "apply manifests/operator again";
    match migrate(on, on.writer(0), name, due, remedy).await {
        // The definition changes, and wakes who decides about it.
        Progress::Nothing | Progress::Done => Next::SETTLED,
        Progress::Wait(wait) => Next::again(Some(now().instant + wait)),
        Progress::Failed(wait) => {
            on.change(|_, wakes| wakes.wake(Key::Here(name.to_owned())));
            Next::Failed { wait }
        }
    }
}

/// Writes anew what is due for a ClusterManager. `writer`: of its hub. `remedy`: what gives the operator its permissions there.
pub(super) async fn migrate(
    on: &Handle<Operator>,
    writer: &Writer,
    name: &str,
    due: Vec<Migration>,
    remedy: &str,
) -> Progress {
    if due.is_empty() {
        on.world().pending.remove(name);
        return Progress::Nothing;
    }
    let (ready, first) = {
        let mut world = on.world();
        let pending = world.pending.entry(name.to_owned()).or_default();
        pending.ready(due, now().instant)
    };
    let mut failures = Vec::new();
    let mut progress = first.map_or(Progress::Done, Progress::Wait);
    for migration in &ready {
        let definition = migration.definition.shown();
        let Err(stopped) = anew(writer, migration).await else {
            tracing::info!(definition, "all objects are written anew");
            continue;
        };
        let why = match stopped.is_forbidden {
            true => format!("{}: {remedy}", stopped.why),
            false => stopped.why,
        };
        tracing::warn!(definition, error = why, "objects are not written anew");
        progress = Progress::Failed(stopped.wait);
        if !stopped.passes {
            failures.push(Failure {
                kind: Kind::Definition,
                message: format!("{definition}: {why}"),
            });
        }
    }
    if let Some(pending) = on.world().pending.get_mut(name) {
        pending.failures = failures;
    }
    progress
}

/// Writes all objects of a definition anew, then has it say so. Their names are in memory at once; the controller has all of the objects.
async fn anew(writer: &Writer, migration: &Migration) -> Result<(), Stopped> {
    let target = |namespace: &str, name: &str| Target {
        resource: migration.objects.clone(),
        namespace: Some(namespace.to_owned()).filter(|it| !it.is_empty()),
        name: name.to_owned(),
    };
    let mut objects = Vec::new();
    let all = target("", "");
    let mut look = |item: &Item<'_>| {
        objects.push(target(&item.meta.namespace, &item.meta.name));
        Ok(())
    };
    if !writer.each_metadata(&all, &mut look).await? {
        // Not none: an API server that has not seen the definition yet.
        return Err(Stopped {
            why: format!("version {} is not served yet", migration.objects.version),
            passes: true,
            is_forbidden: false,
            wait: None,
        });
    }
    let writes = iter(objects).map(|target| async move {
        let stored = store_anew(writer, migration, &target).await;
        stored.map_err(|refusal| (target, refusal))
    });
    let mut writes = writes.buffer_unordered(AT_ONCE);
    let mut refused = Vec::new();
    while let Some(written) = writes.next().await {
        let Err((target, refusal)) = written else {
            continue;
        };
        let ends = ends_all(&refusal);
        refused.push((target, refusal));
        if ends {
            break;
        }
    }
    let more = refused.len().saturating_sub(1);
    if let Some((target, refusal)) = refused.into_iter().next() {
        let name = match &target.namespace {
            Some(namespace) => format!("{namespace}/{}", target.name),
            None => target.name,
        };
        let more = match more {
            0 => String::new(),
            more => format!("; and {more} more objects"),
        };
        let why = format!("{name}: {}{more}", refusal.message);
        return Err(Stopped {
            why,
            passes: false,
            ..Stopped::from(refusal)
        });
    }
    done(writer, migration.clone()).await
}

/// Writes an object anew. One that is gone needs nothing.
async fn store_anew(
    writer: &Writer,
    migration: &Migration,
    target: &Target,
) -> Result<(), Refusal> {
    let mut tries = 0;
    loop {
        tries += 1;
        let object = match migration.needs_content() {
            true => match writer.read(target).await {
                Err(refusal) if refusal.is_absent => return Ok(()),
                read => content(&read?.0)?,
            },
            false => Value::Null,
        };
        let written = writer.write(&migration.anew(target, &object)).await;
        match written.map_err(|(_, refusal)| refusal) {
            Err(refusal) if refusal.is_absent => return Ok(()),
            Err(refusal) if refusal.code == 409 && tries < TRIES => {}
            written => return written.map(drop),
        }
    }
}

fn content(object: &RawObject) -> Result<Value, Refusal> {
    let parsed = object.item().parse();
    parsed.map_err(|error| Refusal::unreadable(&error.to_string()))
}

/// Has a definition say that nothing is stored in its former versions. It may have changed since, in what does not matter.
async fn done(writer: &Writer, mut migration: Migration) -> Result<(), Stopped> {
    let mut tries = 0;
    loop {
        tries += 1;
        let written = writer.write(&migration.done()).await;
        match written.map_err(|(_, refusal)| refusal) {
            Err(refusal) if refusal.code == 409 && tries < TRIES => {
                let (definition, _) = writer.read(&migration.done().target).await?;
                let stored = Stored::read(definition.item().json, CREATED_BY);
                let again = stored.ok().and_then(|it| migration.again(&it));
                migration = again.ok_or(Stopped::from(refusal))?;
            }
            written => return written.map(drop).map_err(Stopped::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settle::id;

    #[test]
    fn each_definition_waits_since_its_last_generation() {
        let mut pending = Pending::default();
        let begin = Instant::now();
        for (name, generation, after, left) in [
            ("a", 1, 0, 10),
            ("a", 1, 4, 6),
            ("b", 1, 4, 10),
            ("a", 1, 10, 0),
            ("b", 1, 10, 4),
            // It has changed.
            ("a", 2, 11, 10),
            ("a", 2, 30, 0),
        ] {
            let definition = id(Kind::Definition, "", name);
            let now = begin + Duration::from_secs(after);
            let is = pending.left(&definition, generation, now);
            assert_eq!(is, Duration::from_secs(left), "{name} {generation} {after}");
        }
    }

    #[test]
    fn what_passes_by_itself_is_not_reported_and_comes_again_soon() {
        let stopped = |code| {
            let Stopped {
                passes,
                is_forbidden,
                wait,
                ..
            } = Refusal {
                code,
                retry_after: Some(Duration::from_secs(3)),
                ..Refusal::unreadable("no")
            }
            .into();
            (passes, is_forbidden, wait.map(|it| it.as_secs()))
        };
        for (code, is) in [
            (409, (true, false, Some(3))),
            (429, (false, false, Some(3))),
            (503, (false, false, Some(3))),
            (403, (false, true, Some(60))),
            (422, (false, false, Some(60))),
        ] {
            assert_eq!(stopped(code), is, "{code}");
        }
    }
}
