//! The agent as a [`World`]: what watches report goes into the view, and each key has its reconciler.

use berth_api::Now;
use berth_api::groups;
use berth_api::plan::{Plan, Write};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World, now};
use berth_work_agent_core::{Key, Sight, View, Wakes, eviction, lifecycle};
use berth_work_core::grants::RbacName;

use super::facts::{Fact, Kind};
use super::world::Agent;
use super::{HUB, MANAGED, pass, removal, status, table};

impl Agent {
    /// Changes the view, and wakes the keys that the change concerns.
    fn note(&mut self, wake: &mut Wake<Self>, change: impl FnOnce(&mut View, &mut Wakes)) {
        let mut wakes = Wakes::default();
        change(&mut self.view, &mut wakes);
        wake.extend(wakes.0);
        self.say();
    }
}

impl World for Agent {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[
        Lane::new("work", 10),
        Lane::new("work-status", 10),
        Lane::new("applied-work", 10),
        Lane::new("work-table", 1),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Work(_) => 0,
            Key::Status(_) => 1,
            Key::Applied(_) => 2,
            Key::Table => 3,
        }
    }

    fn apply(
        &mut self,
        kind: Kind,
        object: &Meta,
        fact: Fact,
        report: Report,
        wake: &mut Wake<Self>,
    ) {
        let (namespace, name) = (&*object.namespace, &*object.name);
        self.note(wake, |view, wakes| match (kind, fact) {
            (Kind::Works, Fact::Work(work)) => {
                view.work_changed(name, object.version(), work, wakes);
            }
            (Kind::Applied, Fact::Applied(applied)) => view.applied_changed(name, applied, wakes),
            (Kind::Definitions, Fact::Definition(definition)) => {
                view.definition_changed(name, Some(definition), wakes);
            }
            (Kind::Permissions(kind), Fact::Permissions(rbac)) => {
                let name = rbac_name(namespace, name);
                view.permission_seen(kind, name, rbac, report.now.instant, wakes);
            }
            (Kind::Objects(row), Fact::Object(arrived)) => {
                view.row_sees(row, (namespace, name), Some(arrived), wakes);
            }
            _ => {}
        });
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wake: &mut Wake<Self>) {
        self.note(wake, |view, wakes| match kind {
            Kind::Works => view.work_gone(name, wakes),
            Kind::Applied => view.applied_gone(name, wakes),
            Kind::Definitions => view.definition_changed(name, None, wakes),
            Kind::Permissions(kind) => {
                let name = rbac_name(namespace, name);
                view.permission_gone(kind, &name, now().instant, wakes);
            }
            Kind::Objects(row) => view.row_sees(row, (namespace, name), None, wakes),
        });
    }

    fn all(&self) -> Vec<Key> {
        self.view.keys()
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        match key {
            Key::Work(name) => lifecycle::plan(&self.view, name, now.instant),
            Key::Status(name) => berth_work_agent_core::status::plan(&self.view, name, now),
            Key::Applied(name) => eviction::plan(&self.view, name, now),
            Key::Table => Plan::default(),
        }
    }

    fn server(write: &Write) -> usize {
        if write.target.resource.resource == groups::MANIFEST_WORKS {
            HUB
        } else {
            MANAGED
        }
    }

    fn listed_at(&mut self, kind: Kind, version: u64) {
        if kind == Kind::Works {
            self.view.hub_listed_at(version);
        }
    }

    fn went_back(&mut self, kind: Kind, from: u64, to: u64) {
        if kind == Kind::Works {
            self.view.hub_went_back(from, to);
        }
    }

    fn listed(&mut self, kind: Kind, now: Now, wake: &mut Wake<Self>) {
        self.note(wake, |view, wakes| match kind {
            Kind::Objects(row) => view.row_listed(row, wakes),
            Kind::Works => view.works_listed(wakes),
            Kind::Permissions(kind) => view.permissions_listed(kind, now.instant, wakes),
            Kind::Applied => view.applied_listed(),
            Kind::Definitions => {}
        });
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, now: Now, wake: &mut Wake<Self>) {
        let (code, words) = (error.code, error.to_string());
        self.note(wake, |view, wakes| match kind {
            Kind::Objects(row) => view.row_lost(row, code, &words, wakes),
            Kind::Permissions(kind) => {
                view.permissions_lost(kind, code, &words, now.instant, wakes);
            }
            Kind::Works | Kind::Applied | Kind::Definitions => {}
        });
    }

    fn regained_sight(&mut self, kind: Kind, _: Now, wake: &mut Wake<Self>) {
        let is_polled = match kind {
            Kind::Objects(row) => self.view.rows.sight(row) == Some(&Sight::Polled),
            Kind::Permissions(kind) => self.view.permissions.is_polled(kind),
            Kind::Works | Kind::Applied | Kind::Definitions => false,
        };
        // Its list ends the polling.
        if is_polled {
            wake.list_anew(kind);
        }
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Work(name) => pass::reconcile(on, name).await,
            Key::Status(name) => status::reconcile(on, name).await,
            Key::Applied(name) => removal::reconcile(on, name).await,
            Key::Table => {
                table::update(on);
                Next::SETTLED
            }
        }
    }
}

fn rbac_name(namespace: &str, name: &str) -> RbacName {
    RbacName {
        namespace: namespace.into(),
        name: name.into(),
    }
}
