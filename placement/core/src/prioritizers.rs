//! The prioritizers of a placement and their weights.
//!
//! In the mode Additive, Balance and Steady have the weight 1 unless a configuration says otherwise; in the mode Exact only what is
//! configured counts. Of several configurations of one built-in prioritizer, the last counts; scores of add-ons all count.

use std::collections::HashMap;
use std::fmt;

use berth_api::placement::{PrioritizerMode, PrioritizerPolicy, ScoreCoordinate, ScoreType};

use crate::facts::Resource;
use crate::misconfigured::Misconfiguration;

/// What gives clusters scores between -100 and 100.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prioritizer {
    /// Prefers clusters with few decisions of other placements.
    Balance,
    /// Prefers clusters that are selected already.
    Steady,
    /// Prefers clusters with a large allocatable amount.
    Allocatable(Resource),
    /// Prefers clusters with a high score of an add-on.
    AddOn {
        /// The name of the AddOnPlacementScore.
        resource: String,
        /// The name of the score in it.
        score: String,
    },
}

/// What the scores of a prioritizer are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreSource<'a> {
    /// The PlacementDecisions of other placements.
    OtherDecisions,
    /// The PlacementDecisions of the placement itself.
    OwnDecisions,
    /// An allocatable amount of the cluster.
    Allocatable(Resource),
    /// The AddOnPlacementScore with this name in the cluster's namespace.
    AddOn(&'a str),
}

/// Prioritizers with their weights, which are not zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights(Vec<(Prioritizer, i32)>);

/// A configured weight, before the names are checked.
struct Entry<'a> {
    /// The index of the configuration; `None` for a default.
    configuration: Option<usize>,
    /// A later configuration of the same built-in prioritizer replaces an earlier one.
    built_in: Option<&'a str>,
    coordinate: Option<&'a ScoreCoordinate>,
    weight: i32,
}

// === impl Prioritizer ===

impl Prioritizer {
    /// What its scores are made of. A change elsewhere leaves them as they are.
    #[must_use]
    pub fn reads(&self) -> ScoreSource<'_> {
        match self {
            Self::Balance => ScoreSource::OtherDecisions,
            Self::Steady => ScoreSource::OwnDecisions,
            Self::Allocatable(resource) => ScoreSource::Allocatable(*resource),
            Self::AddOn { resource, .. } => ScoreSource::AddOn(resource),
        }
    }

    /// Returns whether the score of a cluster depends on which other clusters pass the filters. Then a change of one cluster changes the
    /// scores of others.
    pub(crate) fn is_relative(&self) -> bool {
        match self {
            // Between the least and the largest amount of them.
            Self::Allocatable(_) => true,
            Self::Balance | Self::Steady | Self::AddOn { .. } => false,
        }
    }
}

/// OCM's name.
impl fmt::Display for Prioritizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balance => f.write_str("Balance"),
            Self::Steady => f.write_str("Steady"),
            Self::Allocatable(Resource::Cpu) => f.write_str("ResourceAllocatableCPU"),
            Self::Allocatable(Resource::Memory) => f.write_str("ResourceAllocatableMemory"),
            Self::AddOn { resource, score } => write!(f, "AddOn/{resource}/{score}"),
        }
    }
}

fn built_in(name: &str) -> Option<Prioritizer> {
    Some(match name {
        "Balance" => Prioritizer::Balance,
        "Steady" => Prioritizer::Steady,
        "ResourceAllocatableCPU" => Prioritizer::Allocatable(Resource::Cpu),
        "ResourceAllocatableMemory" => Prioritizer::Allocatable(Resource::Memory),
        _ => return None,
    })
}

// === impl Weights ===

impl Weights {
    /// Checks the policy, and reports its mistakes. A configuration that a later one replaces, or whose weight is zero, is not checked.
    pub(crate) fn new(policy: &PrioritizerPolicy, mistakes: &mut Vec<Misconfiguration>) -> Self {
        let defaults: &[&str] = match &policy.mode {
            PrioritizerMode::Additive => &["Balance", "Steady"],
            PrioritizerMode::Exact => &[],
            PrioritizerMode::Other(mode) if mode.is_empty() => &["Balance", "Steady"],
            PrioritizerMode::Other(mode) => {
                mistakes.push(Misconfiguration::Mode(mode.clone()));
                &[]
            }
        };
        let default = |name: &&'static str| Entry {
            configuration: None,
            built_in: Some(name),
            coordinate: None,
            weight: 1,
        };
        let mut entries: Vec<Entry<'_>> = defaults.iter().map(default).collect();
        let mut by_name: HashMap<&str, usize> = (defaults.iter().copied()).zip(0..).collect();
        for (configuration, it) in policy.configurations.iter().enumerate() {
            let Some(coordinate) = &it.score_coordinate else {
                mistakes.push(Misconfiguration::NoCoordinate { configuration });
                continue;
            };
            let entry = Entry {
                configuration: Some(configuration),
                built_in: replaceable(coordinate),
                coordinate: Some(coordinate),
                weight: it.weight.unwrap_or(1),
            };
            let same = entry.built_in.and_then(|name| by_name.get(name).copied());
            match same {
                Some(position) => entries[position] = entry,
                None => {
                    by_name.extend(entry.built_in.map(|name| (name, entries.len())));
                    entries.push(entry);
                }
            }
        }
        let counting = entries.iter().filter(|entry| entry.weight != 0);
        let weights = counting.filter_map(|entry| match entry.prioritizer() {
            Ok(prioritizer) => Some((prioritizer, entry.weight)),
            Err(mistake) => {
                mistakes.push(mistake);
                None
            }
        });
        Self(weights.collect())
    }

    /// Returns whether clusters that are selected already are preferred less than others.
    pub(crate) fn is_restless(&self) -> bool {
        let steady = self.iter().filter(|(it, _)| **it == Prioritizer::Steady);
        steady.map(|(_, weight)| i64::from(weight)).sum::<i64>() < 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Prioritizer, i32)> {
        self.0
            .iter()
            .map(|(prioritizer, weight)| (prioritizer, *weight))
    }
}

/// The name of a built-in prioritizer. OCM takes one that has an `addOn`, too, for another one than that without.
fn replaceable(coordinate: &ScoreCoordinate) -> Option<&str> {
    let is_plain = is_built_in(&coordinate.r#type) && coordinate.add_on.is_none();
    is_plain.then_some(coordinate.built_in.as_str())
}

/// An empty type is the type BuiltIn, as the API says.
fn is_built_in(type_: &ScoreType) -> bool {
    match type_ {
        ScoreType::BuiltIn => true,
        ScoreType::AddOn => false,
        ScoreType::Other(other) => other.is_empty(),
    }
}

// === impl Entry ===

impl Entry<'_> {
    fn prioritizer(&self) -> Result<Prioritizer, Misconfiguration> {
        let configuration = self.configuration.unwrap_or_default();
        match self.coordinate {
            Some(it) if !is_built_in(&it.r#type) => match &it.add_on {
                Some(add_on) => Ok(Prioritizer::AddOn {
                    resource: add_on.resource_name.clone(),
                    score: add_on.score_name.clone(),
                }),
                None => Err(Misconfiguration::NoAddOn { configuration }),
            },
            it => {
                let name = it.map_or(self.built_in, |it| Some(it.built_in.as_str()));
                let name = name.unwrap_or_default();
                built_in(name).ok_or_else(|| Misconfiguration::UnknownPrioritizer {
                    configuration,
                    name: name.to_owned(),
                })
            }
        }
    }
}
