//! Hubs that are other clusters. Nothing is watched there, nor in the namespaces of their components here: both are looked at from time to time.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use berth_api::plan::Write;
use berth_manifests::HUB_NAMESPACE;
use berth_operator_core::hub::{
    Facts, HUB_KUBECONFIG, Hosting, KINDS_HERE, Migration, RECONCILER, TOKEN_FILE, accounts,
    asked_for, choice, decide, is_complete, is_here, is_hosted, kinds_there, labels_of, migrations,
    report_failures, secret_of, secrets, unreachable, wants_credentials,
};
use berth_operator_core::names::CREATED_BY;
use berth_operator_core::objects::{Id, Kind, Stored};
use berth_operator_core::{Account, Decision, Failure};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, WriteOutcome, now};
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::migration::{Progress, migrate};
use super::world::Operator;
use crate::elsewhere::{carry_out, stored};
use crate::reach::{Called, Kept, Reached, explain, reach};
use crate::seen::Seen;
use crate::settle::id;

/// Upper bound on the steps of a look: each of the parts is taken over, then written.
const MOST_STEPS: usize = 32;

/// The longest time for all of a look. It goes on where it was.
const LONGEST: Duration = Duration::from_secs(120);

/// The shortest wait for a token that is to be renewed; the longest until a hub is looked at that is being installed or removed, and after a look
/// that found trouble, whatever changes.
const SOON: Duration = Duration::from_secs(10);

const CALLED: Called = Called {
    what: "the hub",
    there: "apply manifests/overlays/hosted-hub there",
    here: "apply manifests/overlays/hosting in that namespace",
};

/// How far a hub is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It is as it should be, and its components run.
    Complete,
    /// It is not so yet, or is being removed: what is waited for shows itself at a look only.
    Moving,
    /// It cannot be looked at or written, or its ClusterManager is refused.
    #[default]
    Stuck,
}

/// What was found.
#[derive(Default)]
struct Looked {
    state: State,
    /// When the next token is due.
    renew_at: Option<Timestamp>,
    /// When to look again at the latest.
    again: Option<Duration>,
    /// What is to be written anew there.
    anew: Option<(Reached, Vec<Migration>)>,
}

// === impl State ===

impl State {
    /// The longest time until the next look. At a hub that is as it should be, it is that of OCM's operator.
    fn at_most(self) -> Duration {
        match self {
            Self::Complete => Duration::from_secs(180),
            Self::Moving => SOON,
            Self::Stuck => Duration::from_secs(60),
        }
    }
}

// === impl Operator ===

impl Operator {
    /// Returns whether the hub of a ClusterManager is another cluster, once everything has been seen that decides.
    pub(super) fn is_hosted(&self, name: &str) -> bool {
        let manager = self.managers.get(name);
        self.is_ready() && manager.is_some_and(|it| is_hosted(it, &self.stored))
    }

    /// What decides about a ClusterManager whose hub is another cluster.
    fn facts_hosted<'a>(
        &'a self,
        name: &str,
        stored: &'a BTreeMap<Id, Stored>,
        hosting: Hosting<'a>,
        failures: &'a [Failure],
    ) -> Option<Facts<'a>> {
        let facts = self.facts(name, self.known_nodes(), failures)?;
        Some(Facts {
            elder: None,
            stored,
            hosted: Some(hosting),
            ..facts
        })
    }

    /// What is due, given the objects on both clusters.
    fn due_hosted(
        &mut self,
        name: &str,
        stored: &BTreeMap<Id, Stored>,
        hosting: Hosting<'_>,
        failures: &[Failure],
    ) -> Decision {
        let mut renderer = mem::take(&mut self.renderer);
        let facts = self.facts_hosted(name, stored, hosting, failures);
        let decision = facts.map(|it| decide(&it, &mut renderer, now()));
        self.renderer = renderer;
        decision.unwrap_or_default()
    }

    /// What is to be written anew on its hub.
    fn migrations(
        &self,
        name: &str,
        stored: &BTreeMap<Id, Stored>,
        hosting: Hosting<'_>,
    ) -> Vec<Migration> {
        let facts = self.facts_hosted(name, stored, hosting, &[]);
        facts.map(|it| migrations(&it)).unwrap_or_default()
    }

    /// Returns whether its components are to have credentials.
    fn wants_credentials(&self, name: &str, stored: &BTreeMap<Id, Stored>, server: &str) -> bool {
        let facts = self.facts_hosted(name, stored, without_credentials(server), &[]);
        facts.is_some_and(|it| wants_credentials(&it))
    }

    fn is_deleting(&self, name: &str) -> bool {
        let manager = self.managers.get(name);
        manager.is_some_and(|it| it.metadata.deletion_timestamp.is_some())
    }

    /// The names of the objects that it asks for.
    fn asked_hosted(&mut self, name: &str, server: &str) -> Vec<Id> {
        let mut renderer = mem::take(&mut self.renderer);
        let none = BTreeMap::new();
        let facts = self.facts_hosted(name, &none, without_credentials(server), &[]);
        let ids = facts.map(|it| asked_for(&it, &mut renderer));
        self.renderer = renderer;
        ids.unwrap_or_default()
    }

    /// Reports, when not all is known that decides.
    fn reported(
        &self,
        name: &str,
        failures: &[Failure],
        report: impl FnOnce(&Facts<'_>) -> Decision,
    ) -> Decision {
        let none = BTreeMap::new();
        let facts = self.facts_hosted(name, &none, without_credentials(""), failures);
        facts.map(|it| report(&it)).unwrap_or_default()
    }

    /// The labels of what is written for a ClusterManager.
    fn labels(&self, name: &str) -> Map<String, Value> {
        let manager = self.managers.get(name);
        let choice = manager.map(|it| choice(it, 0, &self.settings));
        let labels = choice.map(|it| labels_of(&it, name)).unwrap_or_default();
        let labels = labels.into_iter();
        labels.map(|(label, value)| (label, value.into())).collect()
    }

    /// Notes that a hub was looked at, and returns when to look again; `None` if the ClusterManager is gone.
    fn looked(&mut self, name: &str, state: State) -> Option<Duration> {
        let generation = self.managers.get(name)?.metadata.generation;
        let before = self.hosted.remove(name);
        let (seen, wait) = Seen::after(before, generation, (), state == State::Complete);
        self.hosted.insert(name.to_owned(), seen);
        Some(wait)
    }
}

fn without_credentials(server: &str) -> Hosting<'_> {
    Hosting {
        has_credentials: false,
        server,
    }
}

/// Makes a hub that is another cluster as its ClusterManager says.
pub(super) async fn run(on: &Handle<Operator>, name: &str) -> Next {
    if !on.world().is_hosted(name) {
        return Next::SETTLED;
    }
    let mut looked = match timeout(LONGEST, look(on, name)).await {
        Ok(looked) => looked,
        Err(_) => {
            let why = format!(
                "to look at the hub takes more than {} seconds: is it slow, or the way to it?",
                LONGEST.as_secs()
            );
            say(on, name, &why).await
        }
    };
    // It may take longer than a look, and would begin anew.
    if let Some((reached, due)) = looked.anew.take() {
        match migrate(on, reached.cluster.writer(), name, due, CALLED.there).await {
            Progress::Nothing => {}
            Progress::Wait(wait) => looked.again = looked.again.into_iter().chain([wait]).min(),
            Progress::Done => looked.again = Some(Duration::ZERO),
            Progress::Failed(_) => looked.state = State::Stuck,
        }
    }
    let Some(wait) = on.world().looked(name, looked.state) else {
        return Next::SETTLED;
    };
    let left = looked.renew_at.map(|it| it.duration_since(now().wall));
    let left = left.map(|it| Duration::try_from(it).unwrap_or_default().max(SOON));
    let at_most = looked.state.at_most();
    let waits = [Some(at_most), left, looked.again].into_iter().flatten();
    let wait = waits.fold(wait, Duration::min);
    let now = now().instant;
    // What it says of trouble may be new each time, and wakes it.
    let rest = (looked.state != State::Complete).then(|| wait.min(SOON));
    Next::rests(Some(now + wait), rest, now)
}

async fn look(on: &Handle<Operator>, name: &str) -> Looked {
    let secret = id(Kind::Secret, name, HUB_KUBECONFIG);
    let probe = id(Kind::Definition, "", "").path();
    let reached = match reach(on, &secret, &CALLED, &probe).await {
        Ok(reached) => reached,
        Err(unprepared) => return say(on, name, &unprepared.why).await,
    };
    let mut failures = Vec::new();
    for _ in 0..MOST_STEPS {
        let stored = match everything(on, name, &reached).await {
            Ok(stored) => stored,
            Err(failure) => {
                let decision = on
                    .world()
                    .reported(name, &[failure], |it| report_failures(it, now()));
                return tell(on, decision).await;
            }
        };
        let mut looked = Looked::default();
        let server = &*reached.credentials.server;
        let wants_tokens = on.world().wants_credentials(name, &stored, server);
        // One that failed is reported, and tried again with the next look.
        let kept = match wants_tokens && failures.is_empty() {
            true => keep_tokens(on, name, &reached, &stored).await,
            false => Ok(None),
        };
        let has_credentials = match kept {
            Ok(renew_at) => {
                looked.renew_at = renew_at;
                renew_at.is_some()
            }
            Err(failed) => {
                failures.extend(failed);
                false
            }
        };
        let hosting = Hosting {
            has_credentials,
            server,
        };
        let decision = (on.world()).due_hosted(name, &stored, hosting, &failures);
        looked.again = decision.again;
        if !decision.is_of_objects {
            if let WriteOutcome::Written = on.carry_out(decision.writes).await {
                // The finalizer, or what it says: more may be due.
                continue;
            }
            looked.state = match failures.is_empty() {
                true if is_complete(name, &stored) => State::Complete,
                true if wants_tokens || on.world().is_deleting(name) => State::Moving,
                _ => State::Stuck,
            };
            let hosting = without_credentials(server);
            let due = on.world().migrations(name, &stored, hosting);
            looked.anew = Some((reached, due));
            return looked;
        }
        let (here, there): (Vec<Write>, Vec<Write>) = (decision.writes.into_iter())
            .partition(|it| it.target.namespace.as_deref() == Some(name));
        for (writer, writes) in [(reached.cluster.writer(), there), (on.writer(0), here)] {
            if let Err(failed) = carry_out(writer, &writes).await {
                failures.extend(failed);
            }
        }
    }
    let message = "another client changes what is written".to_owned();
    let failure = reached.failure(Kind::ClusterRole, &message);
    let decision = on
        .world()
        .reported(name, &[failure], |it| report_failures(it, now()));
    tell(on, decision).await
}

/// Has the ClusterManager say why the hub cannot be reached.
async fn say(on: &Handle<Operator>, name: &str, why: &str) -> Looked {
    let decision = on
        .world()
        .reported(name, &[], |it| unreachable(it, why, now()));
    tell(on, decision).await
}

/// Writes what the ClusterManager says.
async fn tell(on: &Handle<Operator>, decision: Decision) -> Looked {
    on.carry_out(decision.writes).await;
    Looked::default()
}

/// The objects of a ClusterManager on both clusters.
async fn everything(
    on: &Handle<Operator>,
    name: &str,
    reached: &Reached,
) -> Result<BTreeMap<Id, Stored>, Failure> {
    let label = (CREATED_BY, name);
    let asked = (on.world()).asked_hosted(name, &reached.credentials.server);
    let names = asked.into_iter().chain(secrets(name));
    let (here, there): (Vec<Id>, Vec<Id>) = names.partition(|id| is_here(id, name));
    let kinds = KINDS_HERE.map(|kind| (kind, name));
    let here = stored(on.writer(0), kinds, label, here);
    let there = stored(reached.cluster.writer(), kinds_there(), label, there);
    let (here, there) = tokio::join!(here, there);
    let mut all = there.map_err(|error| reached.refused(Kind::ClusterRole, &error))?;
    all.extend(here.map_err(|error| {
        let why = explain(&error, CALLED.here);
        Failure {
            kind: Kind::Deployment,
            message: format!("the namespace {name}: {why}"),
        }
    })?);
    Ok(all)
}

/// Makes the Secrets with the tokens of the accounts that there are, unless they are good. Returns when the first one is to be renewed; `None`
/// if there is an account that has none.
async fn keep_tokens(
    on: &Handle<Operator>,
    name: &str,
    reached: &Reached,
    stored: &BTreeMap<Id, Stored>,
) -> Result<Option<Timestamp>, Vec<Failure>> {
    let labels = on.world().labels(name);
    let mut first = Some(Timestamp::MAX);
    for account in accounts() {
        let known = stored.get(&id(Kind::Account, HUB_NAMESPACE, account));
        let Some(known) = known.filter(|it| !it.is_deleting()) else {
            first = None;
            continue;
        };
        let secret = id(Kind::Secret, name, &secret_of(account));
        let kept = Kept {
            id: &secret,
            labels: labels.clone(),
            reconciler: RECONCILER,
            failing: Kind::Secret,
        };
        let account = Account {
            namespace: HUB_NAMESPACE.to_owned(),
            name: account.to_owned(),
            uid: known.uid.clone(),
            token_file: TOKEN_FILE,
        };
        let (renew_at, write) = reached.token(on, &account, kept).await?;
        if let Some(write) = write {
            carry_out(on.writer(0), &[write]).await?;
        }
        first = first.map(|it| it.min(renew_at));
    }
    Ok(first)
}
