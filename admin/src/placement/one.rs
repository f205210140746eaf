//! Everything that a placement makes of one cluster, as text.

use std::io::{self, Write};

use berth_placement_core::explain::{ClusterResult, ExplainedCluster};
use berth_placement_core::{Explanation, Inventory};

use super::text::bind_hint;
use crate::print::{Style, plain};

/// A cluster, and what the placement makes of it.
pub(super) struct One<'a> {
    pub(super) explanation: &'a Explanation,
    pub(super) inventory: &'a Inventory,
    pub(super) cluster: &'a ExplainedCluster,
    /// The sets that the cluster belongs to.
    pub(super) sets: Vec<&'a str>,
}

// === impl One ===

impl<'a> One<'a> {
    /// Returns None if the cluster does not exist.
    pub(super) fn new(
        explanation: &'a Explanation,
        inventory: &'a Inventory,
        name: &str,
    ) -> Option<Self> {
        let labels = &inventory.snapshot.clusters.get(name)?.labels;
        let sets = inventory.snapshot.sets.iter();
        let sets = sets.filter(|(_, members)| {
            let members = members.as_ref();
            members.is_ok_and(|members| members.matches(labels))
        });
        Some(Self {
            explanation,
            inventory,
            cluster: explanation.cluster(name)?,
            sets: sets.map(|(name, _)| name.as_str()).collect(),
        })
    }

    pub(super) fn write(
        &self,
        out: &mut impl Write,
        controller: Option<&str>,
        style: Style,
    ) -> io::Result<()> {
        let (explanation, cluster) = (self.explanation, self.cluster);
        let (name, words) = (plain(&cluster.name), cluster.result.words());
        let result = match cluster.result.is_selected() {
            true => style.green(words),
            false => style.red("not selected"),
        };
        let detail = match cluster.result.is_selected() {
            true => String::new(),
            false => format!(": {words}"),
        };
        writeln!(
            out,
            "Cluster {name} is {result} by Placement {} in namespace {}{detail}\n",
            plain(&explanation.name),
            plain(&explanation.namespace),
        )?;
        let mut field =
            |name: &str, value: &str| writeln!(out, "{:<12} {}", format!("{name}:"), plain(value));
        for line in self.why() {
            field("Why", &line)?;
        }
        field("Sets", &self.sets())?;
        if let (Some(rank), Some(score)) = (cluster.rank, cluster.score) {
            let cut = match explanation.cut() {
                Some(cut) => format!(", cut after {cut}"),
                None => String::new(),
            };
            let feasible = explanation.counts.feasible;
            field("Rank", &format!("{rank} of {feasible}{cut}"))?;
            field("Score", &format!("{score}{}", self.parts()))?;
        }
        if let Some(group) = &cluster.group {
            let name = match group.name.as_str() {
                "" => "(no name)",
                name => name,
            };
            field("Group", &format!("{} {name}", group.index))?;
        }
        for (index, taint) in self.taints().iter().enumerate() {
            field(if index == 0 { "Taints" } else { "" }, taint)?;
        }
        let is_paused = explanation.stored.is_paused;
        let listed = match (&cluster.decision, cluster.result.is_selected()) {
            (Some(name), true) => name.clone(),
            (Some(name), false) if is_paused => format!("{name} lists it"),
            (Some(name), false) => format!("{name} still lists it; the controller is to remove it"),
            (None, true) if !is_paused => "no PlacementDecision lists it yet".to_owned(),
            (None, _) => "no PlacementDecision lists it".to_owned(),
        };
        field("Decision", &listed)?;
        let differs = cluster.decision.is_some() != cluster.result.is_selected();
        if is_paused {
            field(
                "Note",
                "the placement is paused by its annotation experimental-scheduling-disable=true: its PlacementDecisions count as they are",
            )?;
        } else if let Some(controller) = controller.filter(|_| differs) {
            field("Note", controller)?;
        }
        if let Some(hint) = self.hint() {
            field("Hint", &hint)?;
        }
        for warning in &explanation.warnings {
            field("Warning", warning)?;
        }
        Ok(())
    }

    /// The reason: a line for each predicate that does not match, else one line.
    fn why(&self) -> Vec<String> {
        let cluster = self.cluster;
        match cluster.result {
            ClusterResult::NotInSets => vec![self.not_a_member()],
            ClusterResult::Unmatched => cluster
                .reason
                .split("; predicate ")
                .enumerate()
                .map(|(index, line)| match index {
                    0 => line.to_owned(),
                    _ => format!("predicate {line}"),
                })
                .collect(),
            ClusterResult::Undecided | ClusterResult::Kept => {
                let fault = self.explanation.fault.as_deref().unwrap_or_default();
                vec![format!("{}: {fault}", cluster.reason)]
            }
            ClusterResult::Selected => vec!["it passes all steps".to_owned()],
            _ => vec![cluster.reason.clone()],
        }
    }

    fn not_a_member(&self) -> String {
        let sets = &self.explanation.sets;
        let list = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let mut words = format!(
            "it is not a member of any set that the placement selects from ({}); sets of the cluster: {}; sets bound to namespace {}: {}",
            list(&sets.eligible),
            self.sets(),
            self.explanation.namespace,
            list(&sets.bound),
        );
        if !sets.named.is_empty() {
            words.push_str(&format!(
                "; sets in spec.clusterSets: {}",
                list(&sets.named)
            ));
        }
        words
    }

    fn sets(&self) -> String {
        match self.sets[..] {
            [] => "none".to_owned(),
            ref names => names.join(", "),
        }
    }

    fn parts(&self) -> String {
        let parts = self.cluster.scores.iter().map(|part| {
            let score = part.score.map_or("unknown".to_owned(), |it| it.to_string());
            match part.weight {
                1 => format!("{} {score}", part.prioritizer),
                weight => format!("{} {score} x {weight}", part.prioritizer),
            }
        });
        let parts: Vec<_> = parts.collect();
        match parts[..] {
            [] => String::new(),
            ref parts => format!(" = {}", parts.join(" + ")),
        }
    }

    fn taints(&self) -> Vec<String> {
        let cluster = self.inventory.snapshot.clusters.get(&self.cluster.name);
        let taints = cluster.into_iter().flat_map(|it| &it.taints);
        let taints = taints.map(|taint| {
            let value = match taint.value.as_str() {
                "" => String::new(),
                value => format!("={value}"),
            };
            let added = taint.time_added.as_ref();
            let added = added.map_or(String::new(), |it| format!(", added {}", it.0));
            format!("{}{value}:{}{added}", taint.key, taint.effect.as_str())
        });
        taints.collect()
    }

    fn hint(&self) -> Option<String> {
        if self.cluster.result != ClusterResult::NotInSets {
            return None;
        }
        let sets = &self.explanation.sets;
        if sets.eligible.is_empty() {
            return bind_hint(self.explanation, self.inventory, &self.sets);
        }
        Some(format!(
            "to add the cluster to a set: berth clusterset set {} --clusters {}",
            sets.eligible[0], self.cluster.name
        ))
    }
}
