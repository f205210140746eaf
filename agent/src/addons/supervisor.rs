//! Starts and ends what add-ons need, keeps the record of their Secrets, and deletes those that are no longer wanted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use berth_agent_core::addons::Place;
use berth_agent_core::addons::records::{self, Record};
use berth_agent_core::addons::wanted::Registration;
use berth_agent_core::held::SecretData;
use berth_hub::{Backoff, CallError, HubApi};
use berth_lease::Term;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::kept::Keeper;
use super::world::Wanted;
use super::{AddonWork, lease};
use crate::Clusters;
use crate::failed::PAUSES;
use crate::registration::Connection;
use crate::settings::Settings;
use crate::store::{Secrets, Store, Stored, pending_name};

/// Starts and ends the tasks of add-ons.
pub(super) struct Supervisor<'a> {
    clusters: &'a Clusters,
    term: Option<Term>,
    hub: HubApi,
    /// The agent's user name on the hub.
    user: Arc<str>,
    kubeconfig: Arc<str>,
    work: Arc<AddonWork>,
    /// The Secret with the record, and the namespace that it is in.
    record_name: String,
    record_secrets: Secrets,
    /// The record as it is stored. `None`: not known.
    record: Option<(Option<Stored>, Vec<Record>)>,
    tasks: JoinSet<()>,
    running: HashMap<Task, AbortHandle>,
    backoff: Backoff,
}

/// What runs for an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Task {
    Registration(Box<Registration>),
    /// The Lease of the add-on of this name.
    Lease(String, Place),
}

// === impl Supervisor ===

impl<'a> Supervisor<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        clusters: &'a Clusters,
        term: Option<Term>,
        hub: HubApi,
        connection: &Connection,
        work: Arc<AddonWork>,
    ) -> Self {
        let management = clusters.management.clone();
        Self {
            record_name: format!("{}-addons", settings.hub_secret),
            record_secrets: Secrets::new(management, term.clone(), &settings.namespace),
            clusters,
            term,
            hub,
            user: connection.identity.user().into(),
            kubeconfig: connection.kubeconfig.as_str().into(),
            work,
            record: None,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            backoff: Backoff::new(PAUSES.0, PAUSES.1),
        }
    }

    /// Runs until it is dropped. Its tasks end with it.
    pub(super) async fn run(mut self, mut wanted: watch::Receiver<Wanted>) {
        loop {
            let now = wanted.borrow_and_update().clone();
            let mut again = None;
            if now.is_complete {
                self.end_others(&now).await;
                let prepared = self.prepare(&now).await;
                let blocked = match &prepared {
                    Ok(()) => BTreeSet::new(),
                    Err((_, blocked)) => blocked.clone(),
                };
                self.start(&now, &blocked);
                match prepared {
                    Ok(()) => self.backoff.reset(),
                    Err((error, _)) => {
                        warn!(%error, "Secrets of add-ons are not up to date; trying again");
                        again = Some(Instant::now() + self.backoff.pause());
                    }
                }
            }
            let retry = async {
                match again {
                    Some(again) => sleep_until(again).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() {
                    return std::future::pending().await;
                },
                () = retry => {}
                Some(ended) = self.tasks.join_next() => check(ended),
            }
        }
    }

    /// Ends the tasks that are no longer wanted. None of them writes anything afterwards.
    async fn end_others(&mut self, wanted: &Wanted) {
        let is_wanted = |task: &Task| match task {
            Task::Registration(it) => wanted.registrations.contains(&**it),
            Task::Lease(addon, place) => wanted.leases.contains(&(addon.clone(), place.clone())),
        };
        let ended: Vec<_> = self.running.extract_if(|it, _| !is_wanted(it)).collect();
        for (_, task) in ended {
            task.abort();
            while !task.is_finished() {
                let Some(ended) = self.tasks.join_next().await else {
                    break;
                };
                check(ended);
            }
        }
    }

    /// Brings the record up to date, and deletes the Secrets that are no longer wanted.
    ///
    /// # Errors
    /// A call that failed, and the registrations that must not begin before it succeeds.
    async fn prepare(&mut self, wanted: &Wanted) -> Result<(), (CallError, BTreeSet<Record>)> {
        let all = || {
            wanted
                .registrations
                .iter()
                .map(Registration::record)
                .collect()
        };
        let record = match self.read_record().await {
            Ok(record) => record,
            Err(error) => return Err((error, all())),
        };
        let due = records::due(&record, &wanted.registrations, &wanted.deleting);
        let mut before: Vec<_> = due.delete.iter().chain(&due.record).cloned().collect();
        before.sort_unstable();
        if let Err(error) = self.write_record(&record, before.clone()).await {
            return Err((error, all()));
        }
        let replaced = || {
            let is_replaced = |it: &&Registration| {
                let is_in = |old: &Record| old.place == it.place && old.secret == it.secret;
                due.delete.iter().any(is_in)
            };
            let replaced = wanted.registrations.iter().filter(is_replaced);
            replaced.map(Registration::record).collect()
        };
        for old in &due.delete {
            if let Err(error) = self.delete(old).await {
                return Err((error, replaced()));
            }
        }
        let written = self.write_record(&before, due.record.clone()).await;
        written.map_err(|error| (error, replaced()))
    }

    async fn read_record(&mut self) -> Result<Vec<Record>, CallError> {
        if let Some((_, record)) = &self.record {
            return Ok(record.clone());
        }
        let stored = self.record_secrets.read(&self.record_name).await?;
        let text = stored.as_ref().and_then(|it| it.data.get(records::KEY));
        let record = text.map(|it| records::read(it)).unwrap_or_default();
        self.record = Some((stored, record.clone()));
        Ok(record)
    }

    /// Writes the record, if it differs.
    async fn write_record(
        &mut self,
        before: &[Record],
        record: Vec<Record>,
    ) -> Result<(), CallError> {
        if record == before {
            return Ok(());
        }
        // After a failure it is read again.
        let stored = self.record.take().and_then(|(stored, _)| stored);
        let data = SecretData::from([(records::KEY.to_owned(), records::text(&record))]);
        let written = self
            .record_secrets
            .write(&self.record_name, stored.as_ref(), data);
        self.record = Some((Some(written.await?), record));
        Ok(())
    }

    async fn delete(&self, record: &Record) -> Result<(), CallError> {
        let secrets = self.secrets(&record.place);
        secrets.delete(&pending_name(&record.secret)).await?;
        secrets.delete(&record.secret).await?;
        info!(
            addon = record.addon,
            namespace = record.place.namespace,
            secret = record.secret,
            "the Secret of an add-on is deleted: its registration is gone or has changed"
        );
        Ok(())
    }

    /// Starts the tasks that do not run yet.
    fn start(&mut self, wanted: &Wanted, blocked: &BTreeSet<Record>) {
        let registrations = wanted.registrations.iter();
        let registrations = registrations.filter(|it| !blocked.contains(&it.record()));
        let registrations = registrations
            .cloned()
            .map(|it| Task::Registration(Box::new(it)));
        let leases = wanted.leases.iter().cloned();
        let leases = leases.map(|(addon, place)| Task::Lease(addon, place));
        for task in registrations.chain(leases) {
            if !self.running.contains_key(&task) {
                let handle = self.spawn(task.clone());
                self.running.insert(task, handle);
            }
        }
    }

    fn spawn(&mut self, task: Task) -> AbortHandle {
        let work = Arc::clone(&self.work);
        match task {
            Task::Registration(of) => {
                let store = Store::new(self.secrets(&of.place), &of.secret);
                let (hub, user) = (self.hub.clone(), Arc::clone(&self.user));
                let kubeconfig = Arc::clone(&self.kubeconfig);
                self.tasks.spawn(async move {
                    let keeper = Keeper::new(&of, &store, &hub, &user, &kubeconfig, &work);
                    match keeper.run().await {}
                })
            }
            Task::Lease(addon, place) => {
                let api = self.api(&place).clone();
                self.tasks
                    .spawn(async move { match lease::follow(&api, &addon, &place, &work).await {} })
            }
        }
    }

    fn secrets(&self, place: &Place) -> Secrets {
        let api = self.api(place).clone();
        Secrets::new(api, self.term.clone(), &place.namespace)
    }

    fn api(&self, place: &Place) -> &HubApi {
        match place.hosted {
            true => &self.clusters.management,
            false => &self.clusters.managed,
        }
    }
}

/// A panic in a task ends the process. Otherwise tasks end only when they are aborted.
fn check(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
