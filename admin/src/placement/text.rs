//! An explanation as text: the state of the placement, what each step left, and a table of clusters.

use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_placement_core::explain::{ClusterResult, ExplainedCluster};
use berth_placement_core::{Explanation, Inventory};

use crate::print::{Style, Table, plain};

/// Upper bound on the clusters of each result in the table, without `--all`.
const SHOWN: usize = 20;

/// Upper bound on the names in a line; the others are counted.
const NAMED: usize = 10;

/// An explanation, for display.
pub(super) struct Text<'a> {
    pub(super) explanation: &'a Explanation,
    pub(super) inventory: &'a Inventory,
    /// What the hub says about the controller, if what is stored differs.
    pub(super) controller: Option<&'a str>,
    pub(super) style: Style,
}

/// Which clusters the table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The first of each result.
    Some,
    /// All.
    All,
}

// === impl Text ===

impl Text<'_> {
    pub(super) fn write(&self, out: &mut impl Write, bound: Bound) -> io::Result<()> {
        self.head(out, "", true)?;
        let hidden = self.table(out, bound)?;
        for line in hidden {
            writeln!(out, "{}", plain(&line))?;
        }
        Ok(())
    }

    /// Writes the lines about the placement as a whole. `compares`: also how what is stored differs.
    pub(super) fn head(
        &self,
        out: &mut impl Write,
        suffix: &str,
        compares: bool,
    ) -> io::Result<()> {
        let explanation = self.explanation;
        writeln!(
            out,
            "Placement {} in namespace {}{suffix}\n",
            plain(&explanation.name),
            plain(&explanation.namespace)
        )?;
        for (name, value) in self.state(compares) {
            field(out, name, &value)?;
        }
        Ok(())
    }

    /// The lines about the placement as a whole.
    fn state(&self, compares: bool) -> Vec<(&'static str, String)> {
        let explanation = self.explanation;
        let mut lines = Vec::new();
        for condition in &explanation.conditions {
            let (is_good, name) = match condition.r#type.as_str() {
                "PlacementSatisfied" => (condition.status == "True", "Satisfied"),
                _ => (condition.status == "False", "Misconfigured"),
            };
            let status = match is_good {
                true => self.style.green(&condition.status),
                false => self.style.red(&condition.status),
            };
            let (reason, message) = (&condition.reason, plain(&condition.message));
            lines.push((name, format!("{status} ({reason}): {message}")));
        }
        if let Some(fault) = &explanation.fault {
            // Some faults name it themselves.
            let field = explanation.field.as_ref();
            let field = field.filter(|field| !fault.contains(field.as_str()));
            let field = field.map_or(String::new(), |field| format!("{field}: "));
            lines.push(("Fault", plain(&format!("{field}{fault}"))));
        }
        let refused = explanation.more_faults();
        lines.extend(refused.map(|fault| ("Gate refuses", plain(fault))));
        lines.push(("Sets", plain(&sets(explanation))));
        lines.push(("Clusters", counts(explanation)));
        if explanation.groups.len() > 1 || explanation.groups.iter().any(|it| !it.name.is_empty()) {
            lines.push(("Groups", plain(&groups(explanation))));
        }
        if let Some(next) = explanation.next {
            let words = format!("{next}, when a toleration or a score ends");
            lines.push(("Next change", words));
        }
        let warnings = explanation.warnings.iter();
        lines.extend(warnings.map(|warning| ("Warning", plain(warning))));
        let notes = match compares {
            true => stored(explanation, self.controller),
            false => Vec::new(),
        };
        let notes = notes.into_iter();
        lines.extend(notes.map(|note| ("Note", self.style.yellow(&plain(&note)))));
        if explanation.sets.eligible.is_empty() {
            let hint = bind_hint(explanation, self.inventory, &[]);
            lines.extend(hint.map(|hint| ("Hint", plain(&hint))));
        }
        lines
    }

    /// Writes the table, and returns lines about the clusters that it does not show.
    pub(super) fn table(&self, out: &mut impl Write, bound: Bound) -> io::Result<Vec<String>> {
        let mut table = Table::new(&[
            "CLUSTER", "RESULT", "RANK", "SCORE", "GROUP", "DECISION", "WHY",
        ]);
        let mut shown: BTreeMap<ClusterResult, usize> = BTreeMap::new();
        let mut hidden: BTreeMap<ClusterResult, usize> = BTreeMap::new();
        for cluster in &self.explanation.clusters {
            let number = shown.entry(cluster.result).or_default();
            // Clusters that lose their decision are the news.
            let is_news = cluster.decision.is_some() != cluster.result.is_selected();
            if bound == Bound::All || *number < SHOWN || (is_news && *number < 2 * SHOWN) {
                *number += 1;
                table.row(row(cluster));
            } else {
                *hidden.entry(cluster.result).or_default() += 1;
            }
        }
        writeln!(out)?;
        table.write(out, true, &[])?;
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let counted = hidden.iter();
        let counted = counted.map(|(result, number)| format!("{number} {}", result.words()));
        let counted: Vec<_> = counted.collect();
        Ok(vec![
            String::new(),
            format!(
                "Not shown: {} (--all shows them, --cluster NAME one)",
                counted.join(", ")
            ),
        ])
    }
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{:<15}{value}", format!("{name}:"))
}

fn row(cluster: &ExplainedCluster) -> Vec<String> {
    let number = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let group = cluster.group.as_ref().map(|it| match it.name.as_str() {
        "" => it.index.to_string(),
        name => format!("{} {name}", it.index),
    });
    vec![
        cluster.name.clone(),
        cluster.result.words().to_owned(),
        number(cluster.rank.map(|it| it.to_string())),
        number(cluster.score.map(|it| it.to_string())),
        number(group),
        number(cluster.decision.clone()),
        cluster.reason.clone(),
    ]
}

fn sets(explanation: &Explanation) -> String {
    let sets = &explanation.sets;
    let mut words = match &sets.eligible[..] {
        [] => "selects from none".to_owned(),
        names => format!("selects from {}", first(names)),
    };
    if sets.bound != sets.eligible {
        words.push_str(&format!("; bound to the namespace: {}", first(&sets.bound)));
    }
    let unbound: Vec<String> = (sets.named.iter())
        .filter(|name| !sets.bound.contains(name))
        .cloned()
        .collect();
    if !unbound.is_empty() {
        words.push_str(&format!(
            "; named in spec.clusterSets, and not bound: {}",
            first(&unbound)
        ));
    }
    if !sets.missing.is_empty() {
        words.push_str(&format!(
            "; bound, and do not exist: {}",
            first(&sets.missing)
        ));
    }
    words
}

fn counts(explanation: &Explanation) -> String {
    let counts = &explanation.counts;
    let mut words = format!("{} of {} are in the sets", counts.candidates, counts.hub);
    if explanation.fault.is_some() {
        words.push_str(&format!("; not evaluated; {} kept", counts.selected));
        return words;
    }
    words.push_str(&format!(
        "; match no predicate: {}; taint not tolerated: {}; ranked: {}; selected: {}",
        counts.unmatched, counts.tainted, counts.feasible, counts.selected
    ));
    match counts.wanted {
        Some(wanted) => words.push_str(&format!(" of {wanted} wanted")),
        None => words.push_str(" (all are wanted)"),
    }
    words
}

fn groups(explanation: &Explanation) -> String {
    let groups = explanation.groups.iter().take(NAMED).map(|group| {
        let name = match group.name.as_str() {
            "" => "(no name)",
            name => name,
        };
        format!("{} {name}: {}", group.index, group.clusters)
    });
    let groups: Vec<_> = groups.collect();
    let more = match explanation.groups.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", groups.join(", "))
}

/// How what is stored differs from what is computed, and why.
fn stored(explanation: &Explanation, controller: Option<&str>) -> Vec<String> {
    let stored = &explanation.stored;
    let mut notes = Vec::new();
    if stored.is_deleting {
        notes.push("the placement is being deleted, and its decisions with it".to_owned());
    }
    if stored.is_paused {
        notes.push(
            "the placement is paused: the controller leaves it alone, and its PlacementDecisions count as they are, while the annotation \
             cluster.open-cluster-management.io/experimental-scheduling-disable is \"true\""
                .to_owned(),
        );
    }
    if !stored.differs() {
        return notes;
    }
    if stored.is_unreported() {
        notes.push("no controller has written conditions yet".to_owned());
    } else {
        for condition in &stored.conditions {
            let status = condition.status.as_deref().unwrap_or("absent");
            let reason = condition.reason.as_deref().unwrap_or_default();
            let message = condition.message.as_deref().unwrap_or_default();
            notes.push(format!(
                "the stored condition {} is {status} ({reason}): {message}",
                condition.r#type
            ));
        }
    }
    if !stored.to_add.is_empty() {
        let names = first(&stored.to_add);
        let yet = if stored.is_paused { "" } else { " yet" };
        notes.push(format!("no PlacementDecision lists these{yet}: {names}"));
    }
    if !stored.to_remove.is_empty() {
        let names = first(&stored.to_remove);
        let words = match stored.is_paused {
            true => "PlacementDecisions list these, which would not be selected",
            false => "PlacementDecisions still list these",
        };
        notes.push(format!("{words}: {names}"));
    }
    notes.extend(controller.map(str::to_owned));
    notes
}

/// The command that binds a set to the namespace, if none that the placement can select from is bound.
pub(crate) fn bind_hint(
    explanation: &Explanation,
    inventory: &Inventory,
    preferred: &[&str],
) -> Option<String> {
    let sets = &explanation.sets;
    let namespace = &explanation.namespace;
    let named = sets.named.iter().map(String::as_str);
    let existing = inventory.snapshot.sets.keys().map(String::as_str);
    let mut candidates = match sets.named[..] {
        [] => existing.collect::<Vec<_>>(),
        _ => named
            .filter(|name| inventory.snapshot.sets.contains_key(*name))
            .collect(),
    };
    candidates.sort_by_key(|name| !preferred.contains(name));
    match candidates[..] {
        [] if sets.named.is_empty() => {
            Some("the hub has no ManagedClusterSet: berth create clusterset NAME".to_owned())
        }
        [] => Some(format!(
            "the sets of spec.clusterSets do not exist: berth create clusterset {}",
            sets.named[0]
        )),
        [only] => Some(format!(
            "to bind the set: berth clusterset bind {only} --namespace {namespace}"
        )),
        [one, ..] => {
            let names: Vec<_> = candidates.iter().map(|it| (*it).to_owned()).collect();
            Some(format!(
                "to bind a set ({}): berth clusterset bind {one} --namespace {namespace}",
                first(&names)
            ))
        }
    }
}

/// The first names, and the number of the others.
pub(super) fn first(names: &[String]) -> String {
    match names.split_at_checked(NAMED) {
        None => match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        },
        Some((first, [])) => first.join(", "),
        Some((first, more)) => format!("{} and {} more", first.join(", "), more.len()),
    }
}
