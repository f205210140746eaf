//! The CEL environment of placements.
//!
//! The variable `managedCluster` is the ManagedCluster, and its function `scores(name)` returns the scores of an AddOnPlacementScore in the
//! cluster's namespace. An expression selects the cluster if it is true; an error, and a value of another type, select nothing, as in OCM.

use berth_api::placement::PlacementSpec;
use berth_cel::{
    BUDGET, Environment, EvaluationError, Expression, Function, Host, NO_OVERLOAD, Value,
};

use crate::facts::Scores;
use crate::object::CelObject;

/// The variable that every expression can use.
const VARIABLE: &str = "managedCluster";

/// What expressions of placements can use.
pub(crate) const ENVIRONMENT: Environment = Environment {
    variables: &[VARIABLE],
    functions: &[Function::of_host("scores", true, &[2])],
};

/// The budget of all expressions of a predicate on one cluster, in steps.
pub(crate) const CLUSTER_BUDGET: u64 = 10 * BUDGET;

/// Roughly the steps that all CEL expressions of a placement take at most on a cluster, estimated from their shape
/// ([`Expression::estimated_steps`]). Expressions with a mistake take none.
#[must_use]
pub fn estimated_steps(spec: &PlacementSpec) -> u64 {
    let selectors = spec
        .predicates
        .iter()
        .map(|it| &it.required_cluster_selector.cel_selector);
    let texts = selectors.flat_map(|it| &it.cel_expressions);
    let expressions = texts.filter_map(|text| Expression::new(text, ENVIRONMENT).ok());
    let steps = expressions.map(|it| it.estimated_steps());
    steps.fold(0, u64::saturating_add)
}

/// A cluster, and where its scores are: they are looked up by the name of the cluster and that of the AddOnPlacementScore.
struct ClusterHost<'a, 's> {
    object: &'a CelObject,
    scores: &'a dyn Fn(&str, &str) -> Option<&'s Scores>,
}

/// Evaluates an expression on a cluster, and takes what it costs from the budget.
///
/// # Errors
/// The expression fails, or is too costly.
pub(crate) fn selects<'s>(
    expression: &Expression,
    object: &CelObject,
    scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
    budget: &mut u64,
) -> Result<bool, EvaluationError> {
    expression.holds(&ClusterHost { object, scores }, budget)
}

// === impl ClusterHost ===

impl Host for ClusterHost<'_, '_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        self.object.value().filter(|_| name == VARIABLE)
    }

    /// The scores, as a list of {name, value}. Scores that expired count, as in OCM.
    fn call(&self, function: &str, args: &[Value]) -> Result<Value, String> {
        let ("scores", [cluster @ Value::Map(_), Value::String(resource)]) = (function, args)
        else {
            return Err(NO_OVERLOAD.to_owned());
        };
        let metadata = cluster.field("metadata");
        let metadata = metadata.ok_or("the cluster has no metadata")?;
        let Some(Value::String(name)) = metadata.field("name") else {
            return Err("the cluster has no name".to_owned());
        };
        let scores = (self.scores)(name, resource)
            .ok_or_else(|| format!("no AddOnPlacementScore {resource} in namespace {name}"))?;
        let score = |(name, value): (&String, &i32)| {
            let (name, value) = (Value::from(name.as_str()), Value::Int((*value).into()));
            Value::map([("name", name), ("value", value)])
        };
        Ok(Value::list(scores.values.iter().map(score)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(cluster: &serde_json::Value, text: &str) -> Result<bool, EvaluationError> {
        let expired = Scores {
            values: [("cpu".to_owned(), 1)].into(),
            valid_until: Some(jiff::Timestamp::UNIX_EPOCH),
        };
        let scores =
            |cluster: &str, name: &str| ((cluster, name) == ("c1", "expired")).then_some(&expired);
        let expression = Expression::new(text, ENVIRONMENT).expect("a valid expression");
        selects(&expression, &CelObject::new(cluster), &scores, &mut {
            BUDGET
        })
    }

    #[test]
    fn an_object_without_anything_has_the_fields_that_ocm_writes() {
        let cluster = json!({"metadata": {"name": "c1"}, "kind": "ManagedCluster"});
        for text in [
            "managedCluster.metadata.creationTimestamp == null",
            "!managedCluster.spec.hubAcceptsClient",
            "managedCluster.status.conditions == null",
            "managedCluster.status.version == {}",
            "!has(managedCluster.kind)",
        ] {
            assert_eq!(holds(&cluster, text), Ok(true), "{text}");
        }
    }

    #[test]
    fn empty_optional_fields_are_left_out_as_by_ocm() {
        let cluster = json!({
            "metadata": {"name": "c1", "labels": {}, "annotations": null},
            "spec": {"hubAcceptsClient": false, "taints": [], "leaseDurationSeconds": 0,
                     "managedClusterClientConfigs": [{"url": "", "caBundle": ""}]},
            "status": {"conditions": [], "capacity": {}, "clusterClaims": [{"name": "a", "value": ""}],
                       "version": {"kubernetes": ""}},
        });
        for text in [
            "!has(managedCluster.metadata.labels) && !has(managedCluster.metadata.annotations)",
            "!has(managedCluster.spec.taints) && !has(managedCluster.spec.leaseDurationSeconds)",
            "managedCluster.spec.managedClusterClientConfigs == [{'url': ''}]",
            "managedCluster.spec.hubAcceptsClient == false",
            "managedCluster.status.conditions == []",
            "managedCluster.status.clusterClaims == [{'name': 'a'}]",
            "!has(managedCluster.status.capacity) && managedCluster.status.version == {}",
        ] {
            assert_eq!(holds(&cluster, text), Ok(true), "{text}");
        }
        let sized = holds(&cluster, "size(managedCluster.spec.taints) == 0");
        assert!(matches!(sized, Err(EvaluationError::Error(_))), "{sized:?}");
    }

    #[test]
    fn taints_have_a_time() {
        let cluster = json!({"spec": {"taints": [{"key": "a", "effect": "NoSelect"}]}});
        let text = "managedCluster.spec.taints[0].timeAdded == null";
        assert_eq!(holds(&cluster, text), Ok(true));
    }

    #[test]
    fn quantities_and_times_are_texts_as_ocms_types_write_them() {
        let cluster = json!({
            "metadata": {"name": "c1"},
            "spec": {"taints": [{"key": "a", "effect": "NoSelect", "timeAdded": "2026-01-02T03:04:05.678+01:00"}]},
            "status": {
                "allocatable": {"cpu": "4000m", "memory": "1024Mi", "pods": 110, "gpu": "four"},
                "capacity": {"cpu": "4.5", "memory": "16384256Ki"},
                "conditions": [{"type": "A", "lastTransitionTime": "2026-01-02T03:04:05.999Z"}],
                "managedNamespaces": [{"name": "n", "conditions": [{"lastTransitionTime": "2026-01-02T03:04:05-08:00"}]}],
            },
        });
        for text in [
            "managedCluster.status.allocatable.cpu == '4'",
            "int(managedCluster.status.allocatable.cpu) >= 4",
            "quantity(managedCluster.status.allocatable.cpu).isInteger()",
            "!quantity(managedCluster.status.allocatable.cpu).isLessThan(quantity('4'))",
            "managedCluster.status.allocatable.memory == '1Gi'",
            "managedCluster.status.allocatable.pods == '110'",
            "managedCluster.status.allocatable.gpu == 'four'",
            "managedCluster.status.capacity == {'cpu': '4500m', 'memory': '16384256Ki'}",
            "managedCluster.spec.taints[0].timeAdded == '2026-01-02T02:04:05Z'",
            "managedCluster.status.conditions[0].lastTransitionTime == '2026-01-02T03:04:05Z'",
            "managedCluster.status.managedNamespaces[0].conditions[0].lastTransitionTime == '2026-01-02T11:04:05Z'",
        ] {
            assert_eq!(holds(&cluster, text), Ok(true), "{text}");
        }
    }

    #[test]
    fn scores_are_those_of_the_cluster_even_if_they_expired() {
        let c1 = json!({"metadata": {"name": "c1"}});
        let expired = "managedCluster.scores('expired') == [{'name': 'cpu', 'value': 1}]";
        assert_eq!(holds(&c1, expired), Ok(true));
        let error = |message: &str| Err(EvaluationError::Error(message.to_owned()));
        for (cluster, text, expected) in [
            (
                json!({"metadata": {"name": "c2"}}),
                expired,
                error("no AddOnPlacementScore expired in namespace c2"),
            ),
            (json!({}), expired, error("the cluster has no name")),
            (
                c1.clone(),
                "{}.scores('a') == []",
                error("the cluster has no metadata"),
            ),
            (
                c1,
                "managedCluster.scores(1) == []",
                error("no such overload"),
            ),
        ] {
            assert_eq!(holds(&cluster, text), expected, "{text}");
        }
    }
}
