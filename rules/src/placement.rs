//! Placement: refused if its scheduler would call it misconfigured; doubtful parts get a warning.
//!
//! OCM has no such webhook. Its controller reports a mistake in a condition, and removes all decisions of the placement: workloads leave
//! their clusters because of a typing error. A negative `numberOfClusters` ends its process, and a name that does not fit a label
//! leaves the placement without decisions and status.
//!
//! What is a mistake is decided where placements are scheduled ([`berth_placement_core::mistakes`]). No rule needs an answer of the hub.

use std::collections::HashMap;

use berth_api::names::label_value;
use berth_api::placement::PlacementSpec;
use berth_placement_core::{Misconfiguration, doubts, mistakes};
use jiff::Timestamp;

use crate::display::{Plain, Quoted, cut_bytes};
use crate::findings::Faults;
use crate::object::Placement;
use crate::sentences::faults::LONGEST_SET_NAME;
use crate::{Answers, Case, Change, Decision, Operation, Reason, Rules, Settings, sentences};

/// The maximum length of a message about one field, in bytes.
const LONGEST_MESSAGE: usize = 1_024;

/// The maximum number of warnings. The others are counted.
const MOST_WARNINGS: usize = 10;

/// The rules of Placements.
#[derive(Debug)]
pub struct ValidatePlacement;

/// A finding in a spec.
#[derive(Debug)]
struct Finding {
    reason: Reason,
    field: String,
    message: String,
}

/// Findings in a stored spec, by [`Finding::key`], with their number.
struct Stored(HashMap<String, usize>);

// === impl ValidatePlacement ===

impl Rules for ValidatePlacement {
    type Object<'a> = Placement<'a>;
    /// Warnings.
    type Seen = Vec<String>;

    /// No questions.
    fn examine(change: &Change<'_, Placement<'_>>, _: &Settings, _: Timestamp) -> Case<Self> {
        let (faults, warnings) = examined(change);
        Case::new(faults, warnings, |_| Vec::new())
    }

    fn decide(
        warnings: Vec<String>,
        _: &Change<'_, Placement<'_>>,
        _: &Settings,
        _: Answers<'_>,
    ) -> Decision {
        Decision {
            warnings,
            ..Decision::allowed()
        }
    }
}

/// Returns the faults and the warnings that the change introduces.
fn examined(change: &Change<'_, Placement<'_>>) -> (Faults, Vec<String>) {
    let mut faults = Faults::default();
    if change.operation() == Operation::Create && change.name.len() > LONGEST_SET_NAME {
        faults.add(Reason::PlacementName, || {
            sentences::faults::placement_name(change.name)
        });
    }
    if let Some(old) = &change.old
        && (old.metadata.deletion_timestamp.is_some() || change.new.has_spec_of(old))
    {
        return (faults, Vec::new());
    }
    let old = change.old.as_ref().map(Placement::read);
    let new = match change.new.read() {
        Ok(new) => new,
        Err(error) => {
            // A stored spec that nobody can read may stay.
            if !matches!(old, Some(Err(_))) {
                faults.add(Reason::PlacementField, || error);
            }
            return (faults, Vec::new());
        }
    };
    let old = old.and_then(Result::ok);
    for too_many in new.too_many(old.as_ref()) {
        faults.add(Reason::ListTooLong, || {
            sentences::faults::too_many(&too_many.what, too_many.number, too_many.most)
        });
    }
    if !new.is_whole() {
        return (faults, Vec::new());
    }
    let stored = old.map(|old| old.spec);
    for Finding {
        reason,
        field,
        message,
    } in introduced(&new.spec, stored.as_ref(), faults_of)
    {
        faults.add(reason, || format!("{field}: {message}"));
    }
    if !faults.is_empty() {
        return (faults, Vec::new());
    }
    let doubtful = introduced(&new.spec, stored.as_ref(), doubts_of);
    (faults, warnings(doubtful))
}

/// Returns what is found in the new spec, and not in the stored one.
fn introduced(
    new: &PlacementSpec,
    stored: Option<&PlacementSpec>,
    find: fn(&PlacementSpec) -> Vec<Finding>,
) -> Vec<Finding> {
    let mut found = find(new);
    if !found.is_empty()
        && let Some(stored) = stored
    {
        let mut stored = Stored::new(find(stored));
        found.retain(|finding| !stored.takes(finding));
    }
    found
}

/// Mistakes of the spec.
fn faults_of(spec: &PlacementSpec) -> Vec<Finding> {
    let misconfigured = mistakes(spec);
    let misconfigured = misconfigured.iter().flat_map(Misconfiguration::each);
    let mut found: Vec<_> = misconfigured
        .map(|(field, message)| Finding::new(Reason::Misconfigured, field, &message))
        .collect();
    let strategy = &spec.decision_strategy.group_strategy;
    for (index, group) in strategy.decision_groups.iter().enumerate() {
        let name = &group.group_name;
        if let Some(reason) = label_value(name).first() {
            let field =
                format!("spec.decisionStrategy.groupStrategy.decisionGroups[{index}].groupName");
            let message = format!("Invalid value: {}: {reason}", Quoted(name));
            found.push(Finding::new(Reason::PlacementField, field, &message));
        }
    }
    let configurations = &spec.prioritizer_policy.configurations;
    for (index, configuration) in configurations.iter().enumerate() {
        let coordinate = configuration.score_coordinate.as_ref();
        let Some(score) = coordinate.and_then(|it| it.add_on.as_ref()) else {
            continue;
        };
        for (name, value) in [
            ("resourceName", &score.resource_name),
            ("scoreName", &score.score_name),
        ] {
            if value.is_empty() {
                let field = format!(
                    "spec.prioritizerPolicy.configurations[{index}].scoreCoordinate.addOn.{name}"
                );
                found.push(Finding::new(
                    Reason::PlacementField,
                    field,
                    "Required value",
                ));
            }
        }
    }
    found
}

fn doubts_of(spec: &PlacementSpec) -> Vec<Finding> {
    let found = doubts(spec).into_iter();
    // The reason of a warning is not shown.
    let findings = found.map(|it| Finding::new(Reason::PlacementField, it.field, &it.message));
    findings.collect()
}

fn warnings(doubtful: Vec<Finding>) -> Vec<String> {
    let more = doubtful.len().saturating_sub(MOST_WARNINGS);
    let shown = doubtful.into_iter().take(MOST_WARNINGS);
    let shown = shown.map(|it| format!("{}: {}", it.field, it.message));
    let more = (more > 0).then(|| format!("... and {more} more"));
    shown.chain(more).collect()
}

// === impl Finding ===

impl Finding {
    /// The message may quote the requester's text.
    fn new(reason: Reason, field: String, message: &str) -> Self {
        let message = Plain(cut_bytes(message, LONGEST_MESSAGE)).to_string();
        Self {
            reason,
            field,
            message,
        }
    }

    /// The finding without positions in lists: it stays the same when an item before it is added or removed.
    fn key(&self) -> String {
        let mut key = String::with_capacity(self.field.len() + self.message.len());
        let mut in_brackets = false;
        for c in self.field.chars() {
            in_brackets = c == '[' || in_brackets && c.is_ascii_digit();
            if !in_brackets || c == '[' {
                key.push(c);
            }
        }
        key + ": " + &self.message
    }
}

// === impl Stored ===

impl Stored {
    fn new(findings: Vec<Finding>) -> Self {
        let mut counts = HashMap::new();
        for finding in findings {
            *counts.entry(finding.key()).or_default() += 1;
        }
        Self(counts)
    }

    /// Takes the finding out of the stored ones, if it is among them.
    fn takes(&mut self, finding: &Finding) -> bool {
        match self.0.get_mut(&finding.key()) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}
