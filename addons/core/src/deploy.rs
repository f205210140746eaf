//! What is due for an add-on from a template on one cluster: its registration, its works, its hooks, and what they report.
//!
//! One step at a time: the next one is decided with the result.
//!
//! # Guarantees
//! - A cluster whose turn in a rollout has not come keeps what it has: the add-on is made of a template and a config only while their hashes
//!   are those that the ManagedClusterAddOn names. With OCM an edited template reaches clusters that wait, too.
//! - Hooks run before the ManagedClusterAddOn goes, also when its ClusterManagementAddOn is gone already.
//! - Finalizers come before what needs them, and go when nobody could run the hooks: the cluster that would is gone.
//! - What is on a cluster that hosts the agent goes when the add-on goes, or another cluster hosts the agent.

mod ending;
mod made;
mod part;
mod registration;
mod report;
mod source;

use berth_api::conditions::{TRUE, addon, condition_of, with_condition};
use berth_api::plan::Write;
use berth_api::{ManifestWork, Now};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use crate::facts::{Cluster, OnCluster, Work};
use crate::works;
use crate::works::hooks::{HOSTING_MANIFESTS_FINALIZER, with_finalizer};
use crate::works::writes::Owner;
use crate::writes::{self, ON_CLUSTER};

pub use made::{Made, Objects};
pub use part::{Hosting, Part};
pub use registration::{NO_SUBJECT, NOT_BOUND, NOT_PERMITTED, Permissions};
pub use source::{Source, source};

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
    /// Which cluster hosts the agent.
    pub hosting: Hosting<'a>,
    /// The ManagedClusterAddOn.
    pub on: &'a OnCluster,
    /// What the add-on is made of.
    pub source: &'a Source<'a>,
    /// What [`Made::of`] returned for the source; `None` if that is not known.
    pub made: Option<Result<&'a Made, &'a str>>,
    /// The stored works of the add-on, those on a cluster that hosts its agent included.
    pub works: &'a [&'a Work],
    /// The parts whose stored works are known to be as they should be.
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

/// Decides what is next.
#[must_use]
pub fn next(facts: &Facts<'_>, now: Now) -> Next {
    let is_ending = facts.on.is_deleting || facts.managed.is_some_and(|it| it.is_deleting);
    match facts.managed {
        Some(_) if is_ending => ending::next(facts, now),
        None if facts.on.is_deleting => ending::next(facts, now),
        Some(managed) if !matches!(facts.source, Source::Held) => running(facts, managed, now),
        _ => facts.nothing(),
    }
}

/// Decides what is next for an add-on that is to be on its cluster.
fn running(facts: &Facts<'_>, managed: &Cluster, now: Now) -> Next {
    let Some(made) = facts.made else {
        return Next::Make(None);
    };
    if let Some(template) = facts.source.template()
        && let Some(write) = registration::write(facts, template, made.ok(), now)
    {
        return Next::Write(write.into());
    }
    if let Some(next) = strays(facts) {
        return next;
    }
    // Of hooks that are not known the finalizers stay.
    if let Ok(made) = made
        && let Some(next) = finalizers(facts, made)
    {
        return next;
    }
    let configured = condition_of(&facts.on.conditions, addon::CONFIGURED);
    if configured.is_none_or(|it| it.status != TRUE) {
        return facts.nothing();
    }
    let made = match made {
        Ok(made) => made,
        Err(why) => {
            let failed = report::failed(Part::Deploy, &format!("{NOT_MADE}{why}"), now);
            return Next::Report(facts.conditions_with([failed]), None);
        }
    };
    for part in [Part::Deploy, Part::HostedDeploy] {
        let has_cluster = part.namespace(facts.cluster, facts.hosting).is_some();
        if has_cluster && !facts.done.contains(&part) {
            return facts.made_works(part, Vec::new(), now);
        }
    }
    Next::Report(report::deployed(facts, managed, made, now), None)
}

/// Works on a cluster that does not host the agent any more go.
fn strays(facts: &Facts<'_>) -> Option<Next> {
    let mut hosted = Part::ALL.into_iter().filter(|it| it.is_hosted());
    hosted.find_map(|part| {
        let namespace = part.namespace(facts.cluster, facts.hosting);
        let is_stray = |it: &&ManifestWork| {
            it.metadata.namespace.as_deref() != namespace
                && it.metadata.deletion_timestamp.is_none()
        };
        let work = facts.named(part).find(is_stray)?;
        Some(facts.delete(work, "its cluster does not host the agent of the add-on"))
    })
}

/// The finalizers that are missing, or of no use.
fn finalizers(facts: &Facts<'_>, made: &Made) -> Option<Next> {
    let wanted = Part::ALL.into_iter().filter_map(|part| {
        let has_cluster = part.namespace(facts.cluster, facts.hosting).is_some();
        let has_hooks = made.hooks(part).is_some_and(|it| !it.is_empty());
        Some((part.finalizer()?, has_cluster && has_hooks))
    });
    let is_hosted = matches!(facts.hosting, Hosting::By(_));
    let all = wanted.chain([(HOSTING_MANIFESTS_FINALIZER, is_hosted)]);
    let mut changes = all.filter(|(finalizer, is_wanted)| facts.has(finalizer) != *is_wanted);
    let (finalizer, is_wanted) = changes.next()?;
    Some(facts.finalizer(finalizer, is_wanted))
}

// === impl Facts ===

impl<'a> Facts<'a> {
    /// The works of a part, by their names, in any namespace.
    fn named(&self, part: Part) -> impl Iterator<Item = &'a ManifestWork> {
        let place = part.place(self.cluster);
        let works = self.works.iter().map(|it| &*it.reported);
        works.filter(move |work| {
            let name = work.metadata.name.as_deref().unwrap_or_default();
            place.has(self.addon, name)
        })
    }

    /// The works of a part.
    fn reported(&self, part: Part) -> impl Iterator<Item = &'a ManifestWork> {
        let namespace = part.namespace(self.cluster, self.hosting);
        let is_there = move |work: &&ManifestWork| {
            namespace.is_some() && work.metadata.namespace.as_deref() == namespace
        };
        self.named(part).filter(is_there)
    }

    /// Nothing is due, and the conditions stay.
    fn nothing(&self) -> Next {
        Next::Report(self.on.conditions.clone(), None)
    }

    fn has(&self, finalizer: &str) -> bool {
        self.on.finalizers.iter().any(|it| it == finalizer)
    }

    fn finalizer(&self, finalizer: &str, is_wanted: bool) -> Next {
        let Some(finalizers) = with_finalizer(&self.on.finalizers, finalizer, is_wanted) else {
            return self.nothing();
        };
        let body = json!({"metadata": {"finalizers": finalizers}});
        let at = (self.addon, self.cluster);
        Next::Write(writes::patch_on_cluster(ON_CLUSTER, at, self.on, None, body).into())
    }

    fn delete(&self, work: &ManifestWork, why: &'static str) -> Next {
        let owner = Owner {
            namespace: work.metadata.namespace.as_deref().unwrap_or_default(),
            addon: None,
            reconciler: ON_CLUSTER,
        };
        match works::writes::delete(work, &owner, why) {
            Some(write) => Next::Write(write.into()),
            None => self.nothing(),
        }
    }

    /// Makes the works of a part, or reports these conditions if they are made.
    fn made_works(&self, part: Part, mut conditions: Vec<Condition>, now: Now) -> Next {
        match self.fault {
            _ if self.done.contains(&part) => {}
            None => return Next::Make(Some(part)),
            Some(fault) => {
                conditions.push(report::failed(part, &format!("{NOT_WRITTEN}{fault}"), now));
            }
        }
        Next::Report(self.conditions_with(conditions), None)
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

#[cfg(test)]
mod tests;
