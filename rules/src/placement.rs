//! Placement: refused if its scheduler would call it misconfigured; doubtful parts get a warning.
//!
//! OCM has no such webhook. Its controller reports a mistake in a condition, and removes all decisions of the placement: workloads leave
//! their clusters because of a typing error. A negative `numberOfClusters` ends its process, and a name that does not fit a label
//! leaves the placement without decisions and status.
//!
//! What is a mistake is decided where placements are scheduled ([`berth_placement_core::mistakes`]). No rule needs an answer of the hub.

use berth_api::names::label_value;
use berth_api::placement::PlacementSpec;
use berth_placement_core::{
    ASSUMED_ITEMS, Gates, Misconfiguration, doubts, estimated_steps, mistakes,
};
use jiff::Timestamp;

use crate::display::Quoted;
use crate::findings::Faults;
use crate::introduced::{Finding, introduced, warnings};
use crate::object::Placement;
use crate::sentences::faults::LONGEST_SET_NAME;
use crate::{Answers, Case, Change, Decision, Operation, Reason, Rules, Settings, sentences};

/// The maximum of the estimated steps of all CEL expressions of a Placement on a cluster: those that one expression may take.
const MOST_STEPS: u64 = 1_000_000;

/// The rules of Placements.
#[derive(Debug)]
pub struct ValidatePlacement;

// === impl ValidatePlacement ===

impl Rules for ValidatePlacement {
    type Object<'a> = Placement<'a>;
    /// Warnings.
    type Seen = Vec<String>;

    /// No questions.
    fn examine(change: &Change<'_, Placement<'_>>, _: &Settings, _: Timestamp) -> Case<Self> {
        // The gate does not know the gates of the controller.
        let (faults, warnings) = examined(change, Gates::default());
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

/// Returns what the gate says about a Placement if nothing of it is stored: all its faults, each with its field, and its warnings. `gates`:
/// those of the placement controller; what has an effect with them gets no warning.
pub fn placement_findings(
    placement: &berth_api::Placement,
    gates: Gates,
) -> (Vec<String>, Vec<String>) {
    let text = serde_json::to_string(placement);
    let new = text.as_ref().map_err(ToString::to_string);
    let new = new.and_then(|text| serde_json::from_str(text).map_err(|error| error.to_string()));
    let new = match new {
        Ok(new) => new,
        Err(why) => return (vec![why], Vec::new()),
    };
    let change = Change {
        name: placement.metadata.name.as_deref().unwrap_or_default(),
        namespace: placement.metadata.namespace.as_deref().unwrap_or_default(),
        user: "",
        new,
        old: None,
    };
    let (faults, warnings) = examined(&change, gates);
    (faults.messages(), warnings)
}

/// Returns the faults and the warnings that the change introduces.
fn examined(change: &Change<'_, Placement<'_>>, gates: Gates) -> (Faults, Vec<String>) {
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
    if let Some(steps) = too_many_steps(&new.spec, stored.as_ref()) {
        faults.add(Reason::ListTooLong, || {
            sentences::faults::too_many_steps(steps, MOST_STEPS, ASSUMED_ITEMS)
        });
    }
    for Finding { reason, text, .. } in introduced(&new.spec, stored.as_ref(), faults_of) {
        faults.add(reason, || text);
    }
    if !faults.is_empty() {
        return (faults, Vec::new());
    }
    let doubtful = introduced(&new.spec, stored.as_ref(), |spec| doubts_of(spec, gates));
    (faults, warnings(doubtful))
}

/// Returns the estimated steps of the CEL expressions on a cluster, if they are too many. A stored spec may keep its steps, and take less.
fn too_many_steps(new: &PlacementSpec, stored: Option<&PlacementSpec>) -> Option<u64> {
    let steps = estimated_steps(new);
    let is_over = steps > MOST_STEPS && stored.is_none_or(|it| steps > estimated_steps(it));
    is_over.then_some(steps)
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

fn doubts_of(spec: &PlacementSpec, gates: Gates) -> Vec<Finding> {
    let found = doubts(spec, gates).into_iter();
    // The reason of a warning is not shown.
    let findings = found.map(|it| Finding::new(Reason::PlacementField, it.field, &it.message));
    findings.collect()
}
