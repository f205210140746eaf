//! What is due for an add-on from a template on one cluster: its registration, its works, its hooks, and what they report.
//!
//! One step at a time: the next one is decided with the result.
//!
//! # Guarantees
//! - A cluster whose turn in a rollout has not come keeps what it has: the add-on is made of a template and a config only while their hashes
//!   are those that the ManagedClusterAddOn names. With OCM an edited template reaches clusters that wait, too.
//! - Hooks run before the ManagedClusterAddOn goes, also when its ClusterManagementAddOn is gone already.
//! - Finalizers come before what needs them, and go when nobody could run the hooks: the ManagedCluster is gone.

mod registration;
mod source;

use berth_api::conditions::{FALSE, TRUE, addon, condition_of, manifest_work, with_condition};
use berth_api::plan::Write;
use berth_api::text::shorten;
use berth_api::{ManifestWork, Now};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use crate::facts::{Cluster, OnCluster, Work};
use crate::health::{self, Workloads};
use crate::template::{self, Rendered, Rendering};
use crate::works::hooks::{self, Hooks, PRE_DELETE_FINALIZER, Step, with_finalizer};
use crate::works::parts::{Parts, divide};
use crate::works::writes::Owner;
use crate::works::{self, Place};
use crate::writes::{self, ON_CLUSTER};

pub use registration::Permissions;
pub use source::{Source, source};

/// Upper bound on the bytes of a reason in a message.
const LONGEST: usize = 2048;

/// The beginning of the message of an add-on that cannot be made.
const NOT_MADE: &str = "failed to get manifest from agent interface: ";

/// The beginning of the message of works that cannot be written.
const NOT_WRITTEN: &str = "failed to apply manifestWork: ";

/// What is due for an add-on depends on this.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The name of the add-on.
    pub addon: &'a str,
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The ManagedCluster; `None` if it does not exist.
    pub managed: Option<&'a Cluster>,
    /// The ManagedClusterAddOn.
    pub on: &'a OnCluster,
    /// What the add-on is made of.
    pub source: &'a Source<'a>,
    /// What [`Made::of`] returned for the source; `None` if that is not known.
    pub made: Option<Result<&'a Made, &'a str>>,
    /// The stored works of the add-on.
    pub works: &'a [&'a Work],
    /// The stored works are known to be as they should be, of these parts.
    pub done: &'a [Part],
    /// Why the works could not be written.
    pub fault: Option<&'a str>,
    /// Whether the agents of the cluster have the permissions of the template.
    pub permissions: Permissions<'a>,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Make the add-on of its source, then decide again; with a part: also write its works.
    Make(Option<Part>),
    /// Write this, then decide again.
    Write(Box<Write>),
    /// The conditions should be these. Decide again at this time, if one is given.
    Report(Vec<Condition>, Option<Timestamp>),
}

/// A part of an add-on, with works of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What is deployed.
    Deploy,
    /// What runs before the add-on is deleted.
    Hooks,
}

/// What a template makes on a cluster, reduced to what is asked with each report of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The namespace of the add-on's agent.
    pub namespace: String,
    workloads: Workloads,
    hooks: Hooks,
}

/// The objects of an add-on on a cluster.
#[derive(Clone, Debug)]
pub struct Objects(Parts);

/// Decides what is next.
#[must_use]
pub fn next(facts: &Facts<'_>, now: Now) -> Next {
    let on = facts.on;
    let has_finalizer = (on.finalizers.iter()).any(|it| it == PRE_DELETE_FINALIZER);
    let Some(managed) = facts.managed else {
        return match on.is_deleting && has_finalizer {
            true => facts.finalizer(false),
            false => facts.nothing(),
        };
    };
    let is_ending = on.is_deleting || managed.is_deleting;
    if matches!(facts.source, Source::Held) || (is_ending && !has_finalizer) {
        return facts.nothing();
    }
    let Some(made) = facts.made else {
        return Next::Make(None);
    };
    if !is_ending
        && let Some(template) = facts.source.template()
        && let Some(write) = registration::write(facts, template, made.ok(), now)
    {
        return Next::Write(write.into());
    }
    let step = hooks::decide(
        &hooks::Facts {
            hooks: made.ok().map(|it| &it.hooks),
            is_deleting: is_ending,
            has_finalizer,
            work: facts.reported(Place::Hook).next(),
            now: now.wall,
        },
        on.generation,
    );
    match (step, is_ending) {
        (Step::AddFinalizer, _) => facts.finalizer(true),
        (Step::RemoveFinalizer, _) => facts.finalizer(false),
        (Step::Nothing, true) => facts.nothing(),
        (Step::Run(condition), _) => facts.made_works(Part::Hooks, vec![*condition], now),
        (Step::TryAgain(_), _) => facts.try_again(),
        (Step::Wait(condition, again), _) => {
            Next::Report(facts.conditions_with([*condition]), again)
        }
        (Step::Complete(condition), _) => match with_condition(&on.conditions, *condition) {
            Some(conditions) => Next::Report(conditions, None),
            None => facts.finalizer(false),
        },
        (Step::Nothing, false) => facts.deployed(managed, made, now),
    }
}

// === impl Made ===

impl Made {
    /// Makes an add-on of its source: its objects, and what is kept of them.
    ///
    /// # Errors
    /// The template cannot be rendered; the text is for users.
    pub fn of(request: &template::Request<'_>) -> Result<(Self, Objects), String> {
        let Rendering {
            objects, namespace, ..
        } = template::render(request).map_err(|it| it.to_string())?;
        let parts = divide(objects, false)?;
        let made = Self {
            namespace,
            workloads: Workloads::of(&parts.deploy),
            hooks: Hooks::of(&parts.hooks),
        };
        Ok((made, Objects(parts)))
    }
}

// === impl Objects ===

impl Objects {
    /// The objects of a part.
    #[must_use]
    pub fn of(&self, part: Part) -> &[Rendered] {
        match part {
            Part::Deploy => &self.0.deploy,
            Part::Hooks => &self.0.hooks,
        }
    }
}

// === impl Part ===

impl Part {
    /// Which works have its objects.
    #[must_use]
    pub fn place(self) -> Place<'static> {
        match self {
            Self::Deploy => Place::Deploy,
            Self::Hooks => Place::Hook,
        }
    }
}

// === impl Facts ===

impl<'a> Facts<'a> {
    /// What the works of a place report.
    fn reported(&self, place: Place<'_>) -> impl Iterator<Item = &'a ManifestWork> {
        let is_of = move |work: &&ManifestWork| {
            let name = work.metadata.name.as_deref().unwrap_or_default();
            place.has(self.addon, name)
        };
        let works: Vec<_> = self
            .works
            .iter()
            .map(|it| &*it.reported)
            .filter(is_of)
            .collect();
        works.into_iter()
    }

    /// Nothing is due, and the conditions stay.
    fn nothing(&self) -> Next {
        Next::Report(self.on.conditions.clone(), None)
    }

    fn finalizer(&self, is_wanted: bool) -> Next {
        let stored = &self.on.finalizers;
        let Some(finalizers) = with_finalizer(stored, PRE_DELETE_FINALIZER, is_wanted) else {
            return self.nothing();
        };
        let body = json!({"metadata": {"finalizers": finalizers}});
        let at = (self.addon, self.cluster);
        Next::Write(writes::patch_on_cluster(ON_CLUSTER, at, self.on, None, body).into())
    }

    /// Deletes the work of the hooks, of which one failed.
    fn try_again(&self) -> Next {
        let owner = Owner {
            namespace: self.cluster,
            addon: None,
            reconciler: ON_CLUSTER,
        };
        let why = "a hook of the add-on failed, and is tried again";
        let work = self.reported(Place::Hook).next();
        match work.and_then(|work| works::writes::delete(work, &owner, why)) {
            Some(write) => Next::Write(write.into()),
            None => self.nothing(),
        }
    }

    /// Makes the works of a part, or reports these conditions if they are made.
    fn made_works(&self, part: Part, mut conditions: Vec<Condition>, now: Now) -> Next {
        match self.fault {
            _ if self.done.contains(&part) => {}
            None => return Next::Make(Some(part)),
            Some(fault) => conditions.push(not_applied(
                addon::MANIFEST_WORK_APPLY_FAILED,
                &format!("{NOT_WRITTEN}{fault}"),
                now,
            )),
        }
        Next::Report(self.conditions_with(conditions), None)
    }

    /// Deploys the add-on, and reports how that went.
    fn deployed(&self, managed: &Cluster, made: Result<&Made, &str>, now: Now) -> Next {
        let conditions = &self.on.conditions;
        let configured = condition_of(conditions, addon::CONFIGURED);
        if configured.is_none_or(|it| it.status != TRUE) {
            return self.nothing();
        }
        let made = match made {
            Ok(made) => made,
            Err(why) => {
                let message = format!("{NOT_MADE}{why}");
                let failed = not_applied(addon::MANIFEST_WORK_APPLY_FAILED, &message, now);
                return Next::Report(self.conditions_with([failed]), None);
            }
        };
        if !self.done.contains(&Part::Deploy) {
            return self.made_works(Part::Deploy, Vec::new(), now);
        }
        let works: Vec<_> = self.reported(Place::Deploy).collect();
        let available = health::available(&health::Facts {
            addon: self.addon,
            cluster_available: managed.available.as_deref(),
            workloads: &made.workloads,
            works: &works,
            generation: self.on.generation,
            now: now.wall,
        });
        let applied = applied(&works, now);
        let is_unknown = applied.is_none();
        let mut all = self.conditions_with(applied.into_iter().chain(available));
        if is_unknown {
            // The agent has not reported yet: what an earlier work said does not count any more.
            all.retain(|it| it.type_ != addon::MANIFEST_APPLIED || it.status != FALSE);
        }
        Next::Report(all, None)
    }

    fn conditions_with(&self, new: impl IntoIterator<Item = Condition>) -> Vec<Condition> {
        let mut all = self.on.conditions.clone();
        for condition in new {
            if let Some(changed) = with_condition(&all, condition) {
                all = changed;
            }
        }
        all
    }
}

/// The condition ManifestApplied; `None` while a work has not been reported about.
fn applied(works: &[&ManifestWork], now: Now) -> Option<Condition> {
    let of = |work: &&ManifestWork| {
        let conditions = &work.status.as_ref()?.conditions;
        condition_of(conditions, manifest_work::APPLIED).map(|it| it.status == TRUE)
    };
    let all: Vec<_> = works.iter().map(of).collect();
    if all.contains(&Some(false)) {
        let message = "failed to apply the manifests of addon";
        return Some(not_applied(
            addon::ADDON_MANIFEST_APPLIED_FAILED,
            message,
            now,
        ));
    }
    if all.contains(&None) {
        return None;
    }
    let message = if all.is_empty() {
        "no manifest need to apply"
    } else {
        "manifests of addon are applied successfully"
    };
    Some(condition(
        addon::MANIFEST_APPLIED,
        (TRUE, addon::ADDON_MANIFEST_APPLIED),
        message,
        now,
    ))
}

fn not_applied(reason: &str, message: &str, now: Now) -> Condition {
    condition(addon::MANIFEST_APPLIED, (FALSE, reason), message, now)
}

fn condition(type_: &str, (status, reason): (&str, &str), message: &str, now: Now) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: shorten(message, LONGEST).into_owned(),
        last_transition_time: Time(now.wall),
        observed_generation: None,
    }
}

#[cfg(test)]
mod tests;
