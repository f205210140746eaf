//! What is due for an add-on as a whole: the lists in its status, which clusters get their configs now, and how far each placement is.
//!
//! # Guarantees
//! - Configs are read from statuses only, so that all clusters of a step get the same content.
//! - A cluster in several placements belongs to the last of them in the list. While a later one is in doubt, or has just gone, the configs
//!   of the cluster stay as they are; so do those of a cluster that no placement lists while any is in doubt.
//! - New configs begin a new progress: the condition Progressing gets the time of the write, so that a deadline counts from there. With OCM
//!   it counts from the last change of the condition's status, which may be long ago.
//! - A mistake in a rollout strategy stops the rollout of its placement only. With OCM it stops the add-on.

mod report;
mod state;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_api::Now;
use berth_api::addon::PlacementStrategy;
use berth_api::conditions::{FALSE, TRUE, addon, with_condition};
use berth_api::plan::Write;
use berth_api::rollout::{RolloutStrategy, RolloutType};
use berth_rollout::{RolloutGroup, RolloutRules, RolloutState, RolloutStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use crate::cluster::progressing;
use crate::condition::condition;
use crate::config::{Configs, Desired, desired, references, shared};
use crate::facts::{AddOn, OnCluster, Placed, PlacedState, Work};
use crate::progressing::progress;
use crate::progressions::lists;
use crate::writes::{self, ADD_ON};

use report::Counts;

/// Upper bound on the writes of one decision.
pub const WRITES_AT_ONCE: usize = 256;

/// What the rollout of an add-on depends on.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The add-on.
    pub add_on: &'a AddOn,
    /// Its placements, as many as it names, in this order.
    pub placed: &'a [Placed],
    /// Its ManagedClusterAddOns, by cluster.
    pub clusters: &'a BTreeMap<String, OnCluster>,
    /// The ManifestWorks of the ManagedClusterAddOn of a cluster.
    pub works: &'a dyn Fn(&str) -> Vec<&'a Work>,
    /// The configs that this manager watches.
    pub configs: &'a Configs,
    /// How long a missing Placement may still have clusters.
    pub grace: Duration,
}

/// What is due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// At most [`WRITES_AT_ONCE`].
    pub writes: Vec<Write>,
    /// The number of writes that are due.
    pub due: usize,
    /// When to decide again, even without a change.
    pub next: Option<Timestamp>,
}

/// A ManagedClusterAddOn, and what it is to have.
struct Member<'a> {
    on: &'a OnCluster,
    desired: Cow<'a, [Desired]>,
    state: RolloutState,
    /// Its placement may not be the last one: its configs stay.
    is_held: bool,
}

/// The members of a placement, by cluster.
type Members<'a> = BTreeMap<&'a str, Member<'a>>;

/// Decides what is due.
#[must_use]
pub fn decide(facts: &Facts<'_>, now: Now) -> Decision {
    let add_on = facts.add_on;
    if !add_on.is_ours() {
        return Decision::default();
    }
    let configs = Some(facts.configs).filter(|_| add_on.has_template());
    let mut status = lists(add_on, configs);
    if status != add_on.status {
        return of_status(add_on, &status);
    }
    let shared = shared_by(facts);
    let (members, unplaced) = members(facts, &shared, configs);
    let mut due = Due {
        facts,
        now,
        writes: Vec::new(),
    };
    for (cluster, member) in &unplaced {
        due.configure(cluster, member, !member.is_held);
    }
    let mut next = end_of_grace(facts, now.wall);
    let mut counts = Vec::new();
    for ((strategy, placed), members) in add_on.placements.iter().zip(facts.placed).zip(&members) {
        let rules = rules(strategy, placed);
        let states: BTreeMap<_, _> = (members.iter())
            .map(|(cluster, member)| (*cluster, member.state))
            .collect();
        let groups = groups(placed, members);
        let step = (rules.as_ref().ok())
            .map(|rules| berth_rollout::rollout(rules, &groups, &states, now.wall));
        let start: BTreeSet<_> = step
            .iter()
            .flat_map(|it| &it.clusters)
            .filter(|it| it.status == RolloutStatus::ToApply)
            .map(|it| it.name)
            .collect();
        for (cluster, member) in members {
            due.configure(cluster, member, start.contains(cluster) && !member.is_held);
        }
        let later = step.as_ref().and_then(|it| it.next);
        next = [next, later].into_iter().flatten().min();
        counts.push(rules.map(|_| Counts::new(placed, &states, step.as_ref())));
    }
    let mut writes = due.writes;
    if writes.is_empty() {
        let progressions = status.install_progressions.iter_mut();
        for ((progression, counts), placed) in progressions.zip(counts).zip(facts.placed) {
            report::write(progression, placed, counts, now);
        }
        return Decision {
            next,
            ..if status == add_on.status {
                Decision::default()
            } else {
                of_status(add_on, &status)
            }
        };
    }
    let due = writes.len();
    writes.truncate(WRITES_AT_ONCE);
    Decision { writes, due, next }
}

/// When a missing Placement has no clusters any more.
fn end_of_grace(facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    let left = facts.placed.iter().filter_map(|it| match it.state {
        PlacedState::Missing(since) => facts.grace.checked_sub(since),
        PlacedState::Settled | PlacedState::InDoubt => None,
    });
    let left = left.filter(|it| !it.is_zero()).min()?;
    now.checked_add(left).ok()
}

/// Writes the status of the add-on.
fn of_status(add_on: &AddOn, status: &berth_api::addon::ClusterManagementAddOnStatus) -> Decision {
    // Both lists always, so that an empty one replaces what is stored.
    let body = json!({
        "defaultConfigReferences": status.default_config_references,
        "installProgressions": status.install_progressions,
    });
    Decision {
        writes: vec![writes::patch_status(add_on, body)],
        due: 1,
        next: None,
    }
}

/// The configs of clusters that name none: of each placement, and of no placement.
struct Shared {
    placed: Vec<Vec<Desired>>,
    unplaced: Vec<Desired>,
}

fn shared_by(facts: &Facts<'_>) -> Shared {
    let status = &facts.add_on.status;
    let defaults = &status.default_config_references;
    let placed = facts.placed.iter().enumerate().map(|(index, _)| {
        let progression = status.install_progressions.get(index);
        shared(
            defaults,
            progression.map_or(&[][..], |it| &it.config_references),
        )
    });
    Shared {
        placed: placed.collect(),
        unplaced: shared(defaults, &[]),
    }
}

/// The ManagedClusterAddOns of each placement, and those without one.
fn members<'m, 'a: 'm>(
    facts: &Facts<'a>,
    shared: &'m Shared,
    configs: Option<&Configs>,
) -> (Vec<Members<'m>>, Members<'m>) {
    let mut all: Vec<Members<'m>> = facts.placed.iter().map(|_| BTreeMap::new()).collect();
    let mut unplaced = BTreeMap::new();
    let listed: Vec<_> = facts.placed.iter().map(Placed::clusters).collect();
    for (cluster, on) in facts.clusters.iter().filter(|(_, on)| !on.is_deleting) {
        let last = listed.iter().rposition(|it| it.contains(&**cluster));
        let mut later = facts.placed.iter().skip(last.map_or(0, |it| it + 1));
        let is_in_doubt = later.any(|it| it.may_select(facts.grace));
        let of_placement = last.and_then(|it| shared.placed.get(it));
        let desired = desired(of_placement.unwrap_or(&shared.unplaced), on, configs);
        let member = Member {
            on,
            state: state::state(on, &desired),
            desired,
            is_held: is_in_doubt && (last.is_none() || !on.references.is_empty()),
        };
        let of = last.and_then(|it| all.get_mut(it)).unwrap_or(&mut unplaced);
        of.insert(&**cluster, member);
    }
    (all, unplaced)
}

/// The rollout strategy of a placement. Without a limit, a Progressive rollout changes as many clusters at once as a decision group has.
fn rules(
    strategy: &PlacementStrategy,
    placed: &Placed,
) -> Result<RolloutRules, berth_rollout::RolloutError> {
    let strategy = &strategy.rollout_strategy;
    let mut limited: RolloutStrategy = strategy.clone();
    if strategy.r#type == RolloutType::Progressive {
        let settings = limited.progressive.get_or_insert_default();
        let per_group = || placed.clusters_per_group.clone();
        settings.max_concurrency = settings.max_concurrency.take().or_else(per_group);
    }
    RolloutRules::new(&limited)
}

/// The decision groups of a placement, with those clusters that have the add-on and belong to the placement.
fn groups<'a>(placed: &'a Placed, members: &Members<'_>) -> Vec<RolloutGroup<&'a str>> {
    let groups = placed.groups.iter().map(|group| {
        let clusters = group.clusters.iter().map(String::as_str);
        RolloutGroup {
            index: group.index,
            name: group.name.clone(),
            clusters: clusters.filter(|it| members.contains_key(it)).collect(),
        }
    });
    groups.collect()
}

/// The writes that are due.
struct Due<'d, 'a> {
    facts: &'d Facts<'a>,
    now: Now,
    writes: Vec<Write>,
}

impl Due<'_, '_> {
    /// Gives a cluster its configs if it is its turn, or says that it waits.
    fn configure(&mut self, cluster: &str, member: &Member<'_>, is_its_turn: bool) {
        let on = member.on;
        let is_configured = member.state.status != RolloutStatus::ToApply;
        if !is_configured && member.is_held {
            return;
        }
        let begins = !is_configured && is_its_turn;
        let configured = configured(is_configured || is_its_turn, self.now);
        let status = if begins {
            let mut next = on.clone();
            next.references = references(&member.desired, &on.references);
            let works = (self.facts.works)(cluster);
            let progress = progressing(&progress(&next, works.into_iter()), self.now);
            next.conditions.retain(|it| it.type_ != progress.type_);
            next.conditions.push(progress);
            let conditions = with_condition(&next.conditions, configured);
            let conditions = conditions.unwrap_or(next.conditions);
            json!({"configReferences": next.references, "conditions": conditions})
        } else if let Some(conditions) = with_condition(&on.conditions, configured) {
            json!({"conditions": conditions})
        } else {
            return;
        };
        let at = (&*self.facts.add_on.name, cluster);
        let body = json!({"status": status});
        let write = writes::patch_on_cluster(ADD_ON, at, on, Some("status"), body);
        self.writes.push(write);
    }
}

fn configured(is_configured: bool, now: Now) -> Condition {
    let (result, message) = if is_configured {
        let result = (TRUE, addon::CONFIGURATIONS_CONFIGURED);
        (result, "Configurations configured")
    } else {
        let message = "Configurations updated and not configured yet";
        ((FALSE, addon::CONFIGURATIONS_NOT_CONFIGURED), message)
    };
    condition(addon::CONFIGURED, result, message, now)
}

#[cfg(test)]
mod tests;
