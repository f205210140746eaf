//! What the watches of works, AppliedManifestWorks, CustomResourceDefinitions, roles and bindings report.

use std::rc::Rc;
use std::sync::Arc;

use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_work_agent_core::{Change, Definition, RbacKind, View, Wakes};
use serde::Deserialize;
use serde_json::Value;

use super::Agent;
use crate::World;
use crate::grants;
use crate::things::{GROUP, Kind, has_value};

impl Agent {
    /// All changes of works are reported.
    pub(crate) fn reports_works(&mut self, world: &World) {
        while self.works < world.works.log.len() {
            self.report_work(world);
        }
    }

    /// All changes of AppliedManifestWorks are reported.
    pub(crate) fn reports_applied(&mut self, world: &World) {
        while self.applied < world.applied.log.len() {
            self.report_applied(world);
        }
    }

    pub(super) fn report_work(&mut self, world: &World) {
        let (name, work) = &world.works.log[self.works];
        self.works += 1;
        if self.has_response(true, name, self.works) {
            return;
        }
        self.say(|| format!("a report of the work {name}"));
        self.change(|view, wakes| work_is(view, name, work.as_ref(), wakes));
    }

    /// Returns true if a response had this state of a ManifestWork or an AppliedManifestWork already, or a later one.
    fn has_response(&self, is_work: bool, name: &str, at: usize) -> bool {
        if self.responses.is_empty() {
            return false;
        }
        let seen = self.responses.get(&(is_work, name.to_owned()));
        seen.is_some_and(|it| at <= *it)
    }

    pub(super) fn report_applied(&mut self, world: &World) {
        let (name, applied) = &world.applied.log[self.applied];
        self.applied += 1;
        if self.has_response(false, name, self.applied) {
            return;
        }
        self.say(|| format!("a report of the AppliedManifestWork {name}"));
        self.change(|view, wakes| applied_is(view, name, applied.as_ref(), wakes));
    }

    pub(super) fn report_definition(&mut self, world: &World) {
        let (name, definition) = &world.cluster.log(Kind::Definition)[self.definitions];
        self.definitions += 1;
        self.say(|| "a report of the definition".to_owned());
        let definition = definition.as_ref().map(|it| Definition {
            group: GROUP.into(),
            is_served: !it.value["status"].is_null(),
            generation: i64::from(has_value(name, &it.value, 1)),
        });
        self.change(|view, wakes| view.definition_changed(name, definition, wakes));
    }

    /// Watches roles and bindings while a work has an executor.
    pub(super) fn watch_permissions(&mut self) {
        match self.view.permissions_needed() {
            Some(Change::Watch) => {
                self.permissions = RbacKind::ALL.map(|kind| (kind, None)).into();
            }
            Some(Change::Unwatch) => self.permissions.clear(),
            None => {}
        }
    }

    /// Returns true if a role or a binding is to be reported.
    pub(super) fn lacks_permissions(&self, world: &World) -> bool {
        let end = world.grants.log.len();
        let mut all = self.permissions.iter();
        all.any(|(_, at)| at.is_none_or(|at| at < end))
    }

    /// A kind of RBAC is listed, or the next change is reported.
    pub(super) fn report_permissions(&mut self, world: &World) {
        let (end, now) = (world.grants.log.len(), self.instant());
        let behind = |it: &&mut (RbacKind, Option<usize>)| it.1.is_none_or(|at| at < end);
        let Some((kind, at)) = self.permissions.iter_mut().find(behind) else {
            return;
        };
        let kind = *kind;
        let Some(from) = at.replace(end) else {
            let present = world.grants.present(kind);
            self.say(|| format!("a list of {kind:?}"));
            return self.change(|view, wakes| {
                if let Some(rbac) = present {
                    view.permission_seen(kind, grants::name(), rbac, now, wakes);
                }
                view.permissions_listed(kind, now, wakes);
            });
        };
        for (_, rbac) in world.grants.log[from..].iter().filter(|it| it.0 == kind) {
            self.say(|| format!("a report of {kind:?}"));
            self.change(|view, wakes| match rbac.clone() {
                Some(rbac) => view.permission_seen(kind, grants::name(), rbac, now, wakes),
                None => view.permission_gone(kind, &grants::name(), now, wakes),
            });
        }
    }
}

pub(super) fn work_is(view: &mut View, name: &str, work: Option<&Rc<Value>>, wakes: &mut Wakes) {
    match work {
        None => view.work_gone(name, wakes),
        Some(work) => {
            let version = work["metadata"]["resourceVersion"].as_str().unwrap();
            let version = version.parse().ok();
            let work = ManifestWork::deserialize(&**work).unwrap();
            view.work_changed(name, version, Arc::new(work), wakes);
        }
    }
}

pub(super) fn applied_is(
    view: &mut View,
    name: &str,
    applied: Option<&Rc<Value>>,
    wakes: &mut Wakes,
) {
    match applied {
        None => view.applied_gone(name, wakes),
        Some(applied) => {
            let applied = AppliedManifestWork::deserialize(&**applied).unwrap();
            view.applied_changed(name, Arc::new(applied), wakes);
        }
    }
}
