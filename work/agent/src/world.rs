//! The view of the agent in the engine, and what changes of it are told of.

use std::sync::{Arc, Mutex};

use berth_api::plan::Event;
use berth_api::text::shorten;
use berth_api::work::AppliedManifestWork;
use berth_reconcile::{Handle, now};
use berth_work_agent_core::{Entry, LONGEST, Notice, Ready, View, Wakes, manager, words};

use super::connection::Connection;
use super::metrics::Metrics;
use super::regarding::{of_applied, of_work};
use super::settings::Settings;
use super::{HUB, MANAGED};

/// What the engine keeps of the agent.
pub(crate) struct Agent {
    pub(crate) view: View,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Metrics,
    /// Held while works are mapped for the first time; true afterwards.
    pub(crate) preparing: Arc<tokio::sync::Mutex<bool>>,
    /// Held while rows are added and removed.
    pub(crate) table: Arc<Mutex<()>>,
}

/// Changes the view, wakes the keys that the change concerns, and tells what is to be told.
pub(crate) fn change<T>(on: &Handle<Agent>, change: impl FnOnce(&mut View, &mut Wakes) -> T) -> T {
    let (changed, notices) = on.change(|agent, wake| {
        let mut wakes = Wakes::default();
        let changed = change(&mut agent.view, &mut wakes);
        wake.extend(wakes.0);
        (changed, agent.say())
    });
    for notice in notices {
        tell(on, &notice);
    }
    changed
}

/// Sends the Events of a notice.
fn tell(on: &Handle<Agent>, notice: &Notice) {
    match notice {
        Notice::TwoAgents(applied) => tell_of_rival(on, applied),
        Notice::NotApplied {
            entry,
            ready,
            error,
            ..
        } => tell_of_failure(on, entry, ready, error),
        _ => {}
    }
}

/// Reports a failure by Events about the ManifestWork, on the hub, and about the AppliedManifestWork, on the cluster.
fn tell_of_failure(on: &Handle<Agent>, entry: &Entry, ready: &Ready, failure: &str) {
    let (kind, object) = (&entry.served.kind, &entry.object);
    let (namespace, name) = (object.namespace(), object.name());
    let event = |of: Option<String>| Event {
        warning: true,
        reason: "ManifestNotApplied",
        note: format!("{kind} {namespace}/{name}: {failure}"),
        namespace: of,
    };
    let of_hub = ready.work.metadata.namespace.clone();
    on.tell(HUB, &event(of_hub), &of_work(&ready.work));
    on.tell(MANAGED, &event(None), &of_applied(&ready.applied));
}

/// Says by an Event that another agent changes an AppliedManifestWork.
fn tell_of_rival(on: &Handle<Agent>, applied: &AppliedManifestWork) {
    let note = format!(
        "{} (last written by field manager {}, hub hash {})",
        words(&on.world().view.identity.agent_id),
        manager(applied),
        applied.spec.hub_hash
    );
    let event = Event {
        warning: true,
        reason: "TwoAgents",
        note,
        namespace: None,
    };
    on.tell(MANAGED, &event, &of_applied(applied));
}

// === impl Agent ===

impl Agent {
    pub(crate) fn new(settings: Arc<Settings>, connection: Connection, metrics: Metrics) -> Self {
        let clock = || now().instant;
        Self {
            view: View::new(settings.core(), connection.identity, clock, fastrand::f64),
            settings,
            metrics,
            preparing: Arc::default(),
            table: Arc::default(),
        }
    }

    /// Logs and counts what the last change is to be told of. Returns the notices that are also told by Events.
    pub(crate) fn say(&mut self) -> Vec<Notice> {
        let notices = std::mem::take(&mut self.view.notices);
        notices.iter().for_each(|it| self.log(it));
        notices
    }

    fn log(&self, notice: &Notice) {
        match notice {
            Notice::Repaired => self.metrics.repaired(),
            Notice::Fought { entry, fields } => {
                self.metrics.fought();
                tracing::warn!(
                    work = &*entry.work,
                    kind = entry.served.kind,
                    namespace = entry.object.namespace(),
                    name = entry.object.name(),
                    fields,
                    "another client changes what the ManifestWork prescribes; repaired again, and less often from now on"
                );
            }
            Notice::NotApplied {
                entry,
                error,
                left_out: Some(left_out),
                ..
            } => tracing::warn!(
                work = &*entry.work,
                kind = entry.served.kind,
                namespace = entry.object.namespace(),
                name = entry.object.name(),
                error = %shorten(error, LONGEST),
                left_out,
                "a manifest was not applied"
            ),
            Notice::NotApplied { left_out: None, .. } => {}
            Notice::Refused {
                work,
                why,
                left_out,
            } => tracing::warn!(work = &**work, left_out, "{why}"),
            Notice::ObjectsPolled { resource, error } => {
                let seconds = self.settings.poll_interval.as_secs();
                tracing::warn!(resource, %error, seconds, "objects cannot be watched, and are read at intervals; if a permission is missing, grant list and watch");
            }
            Notice::PermissionsPolled { kind, error } => tracing::warn!(
                ?kind, %error,
                "roles and bindings cannot be watched, and permissions of executors are asked for every five minutes; if a permission is missing, grant list and watch"
            ),
            Notice::TwoAgents(applied) => {
                self.metrics.fought();
                let identity = &self.view.identity;
                tracing::warn!(
                    name = applied.metadata.name.as_deref().unwrap_or_default(),
                    agent = identity.agent_id,
                    cluster = identity.cluster,
                    hub_hash = identity.hub_hash,
                    other_hub_hash = applied.spec.hub_hash,
                    work = applied.spec.manifest_work_name,
                    manager = manager(applied),
                    "another agent with the same agent ID changes an AppliedManifestWork of this one again and again: give each agent of a cluster its own \
                     --agent-id; this agent writes less and less often, and deletes nothing of the other one"
                );
            }
        }
    }
}
