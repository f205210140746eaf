//! The validating path of ManagedClusters: content, acceptance and set.

use std::collections::{BTreeMap, HashSet};

use berth_api::names;
use berth_api::reserved::Reservation;
use jiff::Timestamp;

use super::size::too_large;
use super::{
    is_being_deleted, lists_too_long, old_set, takes_acceptance_back, turns_acceptance_on,
};
use crate::answers::Known;
use crate::findings::{Faults, Findings};
use crate::object::{ClientConfig, Cluster, List, Taint};
use crate::{
    Answers, Case, Change, Decision, FeatureGates, Operation, Permission, Question, Reason, Rules,
    Settings, ca_bundle, sentences, url,
};

/// The maximum lease duration in seconds: one day. The hub waits five lease durations for a silent cluster.
pub const LONGEST_LEASE: i64 = 86_400;

/// The rules for ManagedClusters in the form that will be stored.
#[derive(Debug)]
pub struct ValidateCluster;

// === impl ValidateCluster ===

impl Rules for ValidateCluster {
    type Object<'a> = Cluster<'a>;
    type Seen = Acceptance;

    fn examine(change: &Change<'_, Cluster<'_>>, settings: &Settings, _: Timestamp) -> Case<Self> {
        let acceptance = acceptance(change, settings.gates);
        Case::new(faults(change), acceptance, |acceptance: &Acceptance| {
            questions(*acceptance, change, settings)
        })
    }

    fn decide(
        acceptance: Acceptance,
        change: &Change<'_, Cluster<'_>>,
        settings: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        let namespace = answers.namespace(&namespace(change));
        if let Some(reservation) = reservation(change, acceptance, settings) {
            let refused = sentences::reserved_name(change.name, reservation);
            match namespace {
                _ if reservation.is_exact() => {
                    return Decision::from_findings(Vec::new(), vec![refused], Vec::new());
                }
                Ok(namespace) if namespace.of_cluster => {}
                Ok(_) => findings.deny(refused),
                Err(why) => findings.leave_open(sentences::reserved_name_unknown(
                    change.name,
                    reservation,
                    why,
                )),
            }
        }
        let may_accept = if acceptance != Acceptance::Unguarded {
            findings.require(Permission::accept(change.name), || {
                sentences::accept(change.user, change.name)
            })
        } else {
            is_denied_now(change)
                && findings.require(Permission::accept(change.name), || {
                    sentences::deny_now(change.user, change.name)
                })
        };
        if may_accept && acceptance == Acceptance::TurnedOn {
            match namespace {
                Ok(namespace) if namespace.terminating => {
                    findings.deny(sentences::namespace_terminating(change.name));
                }
                Ok(_) => {}
                Err(why) => findings.leave_open(sentences::fact_unknown(
                    "the hub is terminating namespace",
                    change.name,
                    why,
                )),
            }
            findings.refuse_if(
                &bindings_in(change),
                "ManagedClusterSetBindings exist in namespace",
                |bindings| sentences::bindings_held(change.name, bindings),
            );
        }
        let (old, new) = sets(change);
        let mut may_join = false;
        if old != new {
            for set in [old, new].into_iter().filter(|set| !set.is_empty()) {
                // If the cluster has a new set, it is the last one.
                may_join =
                    findings.require(Permission::join(set), || sentences::join(change.user, set));
            }
        }
        let mut warnings = warnings(change, answers, may_join);
        warnings.extend(kept_warning(change, settings));
        Decision {
            warnings,
            ..findings.decision()
        }
    }
}

/// Returns the questions, in the order of the denials. An object with an exact reserved name raises no question.
fn questions(
    acceptance: Acceptance,
    change: &Change<'_, Cluster<'_>>,
    settings: &Settings,
) -> Vec<Question> {
    let mut questions = Vec::new();
    let reservation = reservation(change, acceptance, settings);
    if reservation.is_some_and(|reservation| reservation.is_exact()) {
        return questions;
    }
    if acceptance == Acceptance::TurnedOn || reservation.is_some() {
        questions.push(namespace(change));
    }
    if acceptance != Acceptance::Unguarded || is_denied_now(change) {
        questions.push(accept(change));
    }
    if acceptance == Acceptance::TurnedOn {
        questions.push(bindings_in(change));
    }
    let (old, new) = sets(change);
    if old != new {
        questions.extend(
            [old, new]
                .into_iter()
                .filter(|set| !set.is_empty())
                .map(join),
        );
        questions.extend(set_exists(new));
    }
    questions
}

/// The effect of a change on the acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// No effect that needs a permission.
    Unguarded,
    TurnedOn,
    TurnedOff,
}

fn acceptance(change: &Change<'_, Cluster<'_>>, gates: FeatureGates) -> Acceptance {
    if turns_acceptance_on(change) {
        Acceptance::TurnedOn
    } else if takes_acceptance_back(change) && !gates.unguarded_denial {
        Acceptance::TurnedOff
    } else {
        Acceptance::Unguarded
    }
}

/// Returns the reason why the cluster cannot have its name, if the change creates or accepts the cluster.
fn reservation<'s>(
    change: &Change<'_, Cluster<'_>>,
    acceptance: Acceptance,
    settings: &'s Settings,
) -> Option<Reservation<'s>> {
    let introduced = change.operation() == Operation::Create || acceptance == Acceptance::TurnedOn;
    introduced
        .then(|| settings.reservation(change.name))
        .flatten()
}

/// Warns about a cluster that was accepted before its name was reserved. Such a cluster can still be updated.
fn kept_warning(change: &Change<'_, Cluster<'_>>, settings: &Settings) -> Option<String> {
    let old = change.old.as_ref()?;
    let stays = old.spec.hub_accepts_client
        && change.new.spec.hub_accepts_client
        && !is_being_deleted(change);
    let reservation = settings.reservation(change.name)?;
    (stays && reservation.is_exact())
        .then(|| sentences::warnings::reserved_name_kept(change.name, reservation))
}

/// Returns true if the change adds [`labels::DENY_NOW`] or changes its value. Every requester may remove it: a denial that
/// has begun goes on.
fn is_denied_now(change: &Change<'_, Cluster<'_>>) -> bool {
    let new = change.new.metadata.annotations.deny_now.as_ref();
    let old = change.old.as_ref();
    new.is_some() && new != old.and_then(|old| old.metadata.annotations.deny_now.as_ref())
}

fn sets<'c>(change: &'c Change<'_, Cluster<'_>>) -> (&'c str, &'c str) {
    (old_set(change), change.new.metadata.labels.set())
}

fn namespace(change: &Change<'_, Cluster<'_>>) -> Question {
    Question::Namespace {
        name: change.name.to_owned(),
    }
}

fn accept(change: &Change<'_, Cluster<'_>>) -> Question {
    Question::Permission(Permission::accept(change.name))
}

fn bindings_in(change: &Change<'_, Cluster<'_>>) -> Question {
    Question::BindingsIn {
        namespace: change.name.to_owned(),
    }
}

fn join(set: &str) -> Question {
    Question::Permission(Permission::join(set))
}

/// Returns the question for a name that a set can have. For other names, the answer is known.
fn set_exists(set: &str) -> Option<Question> {
    names::is_dns1123_subdomain(set).then(|| Question::SetExists {
        name: set.to_owned(),
    })
}

/// Returns the faults that the change introduces. An object that is being deleted has no faults: it must be possible to
/// remove its finalizers.
fn faults(change: &Change<'_, Cluster<'_>>) -> Faults {
    let mut faults = Faults::default();
    if is_being_deleted(change) {
        return faults;
    }
    if change.operation() == Operation::Create {
        let reasons = names::dns1123_label(change.name);
        if !reasons.is_empty() {
            faults.add(Reason::ClusterName, || {
                sentences::faults::cluster_name(&reasons.join(","))
            });
        }
    }
    lists_too_long(change, &mut faults);
    too_large(change, &mut faults);
    let (new, old) = (&change.new.spec, change.old.as_ref().map(|old| &old.spec));
    let (no_configs, no_taints) = (List::default(), List::default());
    client_config_faults(
        &new.managed_cluster_client_configs,
        old.map_or(&no_configs, |old| &old.managed_cluster_client_configs),
        &mut faults,
    );
    if let Some(seconds) = new.lease_duration_seconds
        && !(0..=LONGEST_LEASE).contains(&seconds)
        && old.and_then(|old| old.lease_duration_seconds) != Some(seconds)
    {
        faults.add(Reason::LeaseDuration, || {
            sentences::faults::lease_duration(seconds)
        });
    }
    taint_faults(
        &new.taints,
        old.map_or(&no_taints, |old| &old.taints),
        &mut faults,
    );
    faults
}

fn client_config_faults(
    new: &List<ClientConfig<'_>>,
    old: &List<ClientConfig<'_>>,
    faults: &mut Faults,
) {
    if new.is_unchanged(old) {
        return;
    }
    let urls: HashSet<_> = old.iter().map(|config| &config.url).collect();
    let ca_bundles: HashSet<_> = old.iter().map(|config| &config.ca_bundle).collect();
    for ClientConfig { url, ca_bundle } in new.iter() {
        if !urls.contains(url) && !url::is_https_with_host(url.as_str()) {
            faults.add(Reason::ClientConfigUrl, || {
                sentences::faults::client_config_url(url.as_str())
            });
        }
        if !ca_bundle.is_empty()
            && !ca_bundles.contains(ca_bundle)
            && let Some(defect) = ca_bundle::defect(ca_bundle.as_str())
        {
            faults.add(Reason::ClientConfigCaBundle, || {
                sentences::faults::ca_bundle(url.as_str(), defect)
            });
        }
    }
}

fn taint_faults(new: &List<Taint<'_>>, old: &List<Taint<'_>>, faults: &mut Faults) {
    if new.is_unchanged(old) {
        return;
    }
    let stored = count(old);
    for ((key, effect), times) in count(new) {
        let before = stored.get(&(key, effect)).copied().unwrap_or(0);
        if key.is_empty() && before == 0 {
            faults.add(Reason::Taint, || {
                sentences::faults::TAINT_WITHOUT_KEY.to_owned()
            });
        } else if times > before.max(1) {
            faults.add(Reason::Taint, || {
                sentences::faults::duplicate_taint(key, effect)
            });
        }
    }
}

/// Counts the taints of each key and effect.
fn count<'t>(taints: &'t [Taint<'_>]) -> BTreeMap<(&'t str, &'t str), usize> {
    let mut counts = BTreeMap::new();
    for Taint { key, effect, .. } in taints {
        *counts.entry((key.as_str(), effect.as_str())).or_default() += 1;
    }
    counts
}

/// Returns the warnings for the requester. `may_join` is true if the requester may join the new set: only then does a
/// warning tell whether the set exists.
fn warnings(change: &Change<'_, Cluster<'_>>, answers: Answers<'_>, may_join: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let (old, new) = sets(change);
    if old != new && !new.is_empty() {
        match set_exists(new) {
            None => warnings.push(sentences::warnings::impossible_set(new)),
            Some(question) => {
                if may_join && matches!(answers.to(&question), Known::No) {
                    warnings.push(sentences::warnings::missing_set(change.name, new));
                }
            }
        }
    }
    let retired = change.new.metadata.labels.retired_set.as_ref();
    let stored = change
        .old
        .as_ref()
        .and_then(|old| old.metadata.labels.retired_set.as_ref());
    if retired.is_some() && retired != stored {
        warnings.push(sentences::warnings::retired_label());
    }
    warnings
}
