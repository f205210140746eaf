//! Parts of a valid spec that have no effect, or that no cluster can match. They are no mistakes: the placement is scheduled.

use std::fmt;

use berth_api::names::{is_dns1123_subdomain, label_value};
use berth_api::placement::{PlacementSpec, SortBy, TolerationOperator};
use berth_api::text::cut;
use berth_cel::{Expression, Value};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::cel::ENVIRONMENT;
use crate::predicates::Selectors;
use crate::rules::Gates;

/// Upper bound on the characters of a value in a message.
const SHOWN: usize = 100;

/// Upper bound on the steps that CEL expressions take to find out which of them are never true. Later ones are not examined.
const MOST_STEPS: u64 = 20_000;

/// The default of `spec.scoreRateLimit`.
const SCORE_RATE_LIMIT: &str = "1m";

/// A part of a spec that is probably not what the user meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The path of the field.
    pub field: String,
    /// What is doubtful about it.
    pub message: String,
}

/// Returns what is doubtful about a spec for a controller with these gates. Selectors and expressions with a mistake are left out.
#[must_use]
pub fn doubts(spec: &PlacementSpec, gates: Gates) -> Vec<Doubt> {
    let mut doubts = Doubts::default();
    doubts.sets(spec);
    doubts.predicates(spec);
    doubts.tolerations(spec);
    doubts.weights(spec);
    if spec.number_of_clusters == Some(0) {
        doubts.add("spec.numberOfClusters", "0 selects no cluster");
    }
    doubts.groups(spec);
    if !gates.spread && !spec.spread_policy.spread_constraints.is_empty() {
        doubts.add("spec.spreadPolicy", ignored("PlacementSpreadPolicy"));
    }
    if !gates.sort_by && spec.sort_by == Some(SortBy::Score) {
        doubts.add("spec.sortBy", ignored("PlacementSortBy"));
    }
    if !gates.scores && !matches!(&*spec.score_rate_limit, "" | SCORE_RATE_LIMIT) {
        doubts.add("spec.scoreRateLimit", ignored("PlacementScores"));
    }
    doubts.0
}

/// OCM's controller does not read the field, and ours does so only with a gate ([`Gates`]), which is off by default.
fn ignored(gate: &str) -> String {
    format!("has no effect unless the placement controller runs with --feature-gates={gate}=true")
}

#[derive(Default)]
struct Doubts(Vec<Doubt>);

// === impl Doubts ===

impl Doubts {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Doubt {
            field: field.into(),
            message: message.into(),
        });
    }

    fn sets(&mut self, spec: &PlacementSpec) {
        for (index, set) in spec.cluster_sets.iter().enumerate() {
            if !is_dns1123_subdomain(set) || !label_value(set).is_empty() {
                let message = format!("{} cannot be the name of a ManagedClusterSet", Shown(set));
                self.add(format!("spec.clusterSets[{index}]"), message);
            }
        }
    }

    fn predicates(&mut self, spec: &PlacementSpec) {
        let mut budget = MOST_STEPS;
        for (index, predicate) in spec.predicates.iter().enumerate() {
            let selector = &predicate.required_cluster_selector;
            let path = format!("spec.predicates[{index}].requiredClusterSelector");
            let selectors = Selectors::new(
                &selector.label_selector,
                &selector.claim_selector,
                |_, _| {},
            );
            self.selectors(&path, "the predicate matches no cluster", selectors);
            let expressions = selector.cel_selector.cel_expressions.iter().enumerate();
            for (index, text) in expressions {
                if let Some(what) = never_true(text, &mut budget) {
                    let field = format!("{path}.celSelector.celExpressions[{index}]");
                    let message = format!("{what}, so the predicate matches no cluster");
                    self.add(field, message);
                }
            }
        }
    }

    fn groups(&mut self, spec: &PlacementSpec) {
        let strategy = &spec.decision_strategy.group_strategy;
        let path = "spec.decisionStrategy.groupStrategy";
        if let Some(IntOrString::Int(size @ ..0)) = strategy.clusters_per_decision_group {
            let message = format!("{size} means that all clusters are in one group");
            self.add(format!("{path}.clustersPerDecisionGroup"), message);
        }
        for (index, group) in strategy.decision_groups.iter().enumerate() {
            let selector = &group.group_cluster_selector;
            let selectors = Selectors::new(
                &selector.label_selector,
                &selector.claim_selector,
                |_, _| {},
            );
            let path = format!("{path}.decisionGroups[{index}].groupClusterSelector");
            self.selectors(&path, "no cluster is in the group", selectors);
        }
    }

    fn selectors(&mut self, path: &str, effect: &str, selectors: Option<Selectors>) {
        let Some(selectors) = selectors else {
            return;
        };
        for (part, key) in selectors.contradictions() {
            let field = format!("{path}.{}", part.field());
            let key = Shown(key);
            let message = format!("the requirements on {key} exclude each other, so {effect}");
            self.add(field, message);
        }
    }

    fn tolerations(&mut self, spec: &PlacementSpec) {
        for (index, toleration) in spec.tolerations.iter().enumerate() {
            if let TolerationOperator::Other(operator) = &toleration.operator
                && !operator.is_empty()
            {
                let message = format!(
                    "{} is neither Equal nor Exists, so nothing is tolerated",
                    Shown(operator)
                );
                self.add(format!("spec.tolerations[{index}].operator"), message);
            }
        }
    }

    fn weights(&mut self, spec: &PlacementSpec) {
        let policy = &spec.prioritizer_policy;
        if policy.configurations.is_empty() {
            return;
        }
        let mut mistakes = Vec::new();
        let weights = crate::prioritizers::Weights::new(policy, &mut mistakes);
        if mistakes.is_empty() && weights.iter().next().is_none() {
            self.add(
                "spec.prioritizerPolicy.configurations",
                "every weight is 0, so clusters are selected by name",
            );
        }
        if mistakes.is_empty() && weights.is_restless() && spec.number_of_clusters.is_some() {
            self.add(
                "spec.prioritizerPolicy.configurations",
                "the weight of Steady is negative, so each evaluation may replace selected clusters by others",
            );
        }
    }
}

/// Returns why an expression is true on no cluster, if that is known without one.
fn never_true(text: &str, budget: &mut u64) -> Option<String> {
    if *budget == 0 {
        return None;
    }
    let value = Expression::new(text, ENVIRONMENT).ok()?.constant(budget)?;
    match value {
        Ok(Value::Bool(true)) => None,
        Ok(Value::Bool(false)) => Some("the expression is always false".to_owned()),
        Ok(other) => Some(format!(
            "the value of the expression is always a {}, not a bool",
            other.type_name()
        )),
        Err(failure) => Some(format!("the expression always fails ({failure})")),
    }
}

/// A text in quotes, cut.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(cut(self.0, SHOWN).0, f)
    }
}

// === impl Doubt ===

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_examined_within_a_budget_of_all_of_them() {
        let list = vec!["1"; 150].join(",");
        // Each takes about 1,500 steps.
        let never = format!("[{list}].all(x, x > 1 || x < 2) && false");
        let selector = json!({"celSelector": {"celExpressions": vec![never; 100]}});
        let predicates = json!([{"requiredClusterSelector": selector}]);
        let spec = serde_json::from_value(json!({"predicates": predicates})).expect("a spec");
        let found = doubts(&spec, Gates::default());
        assert!((5..20).contains(&found.len()), "{} doubts", found.len());
        let last = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[4]: the expression is always false, so the predicate matches no cluster";
        assert_eq!(found[4].to_string(), last);
    }
}
