//! The expressions of `docs/gitops.md` tell an object that is done from one that is not, as Flux evaluates them.

use std::fs;

use berth_cel::{BUDGET, Environment, Expression, Host};
use serde_json::{Value, json};

use crate::manifests::files::{documents, in_repository};

const FLUX: Environment = Environment {
    variables: &["apiVersion", "kind", "metadata", "spec", "status"],
    functions: &[],
};

/// The fields of an object, as variables.
struct Fields(Vec<(String, berth_cel::Value)>);

impl Host for Fields {
    fn variable(&self, name: &str) -> Option<&berth_cel::Value> {
        let named = self.0.iter().find(|(field, _)| field == name);
        named.map(|(_, value)| value)
    }

    fn call(&self, function: &str, _: &[berth_cel::Value]) -> Result<berth_cel::Value, String> {
        Err(format!("the host has no function {function}"))
    }
}

/// The checks of the page.
fn checks() -> Vec<Value> {
    let page = fs::read_to_string(in_repository("docs/gitops.md")).unwrap();
    let (_, rest) = page.split_once("```yaml\nhealthCheckExprs:").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    documents("docs/gitops.md", &format!("healthCheckExprs:{block}")).remove(0)["healthCheckExprs"]
        .as_array()
        .unwrap()
        .clone()
}

/// In Flux's order. Without an expression that holds, an object is in progress.
fn judged(check: &Value, object: &Value) -> &'static str {
    let fields = object.as_object().unwrap().iter();
    let host = Fields(
        fields
            .map(|(name, value)| (name.clone(), berth_cel::Value::from(value)))
            .collect(),
    );
    for state in ["inProgress", "failed", "current"] {
        let Some(text) = check[state].as_str() else {
            continue;
        };
        let expression = Expression::new(text, FLUX).unwrap_or_else(|it| panic!("{text}: {it:?}"));
        let value = expression.evaluate(&host, &mut BUDGET.clone());
        match value.unwrap_or_else(|it| panic!("{text}: {object}: {it:?}")) {
            berth_cel::Value::Bool(true) => return state,
            berth_cel::Value::Bool(false) => {}
            other => panic!("{text}: {other:?} is no boolean"),
        }
    }
    "inProgress"
}

/// Conditions as `Type=Status` or `Type=Status:Reason`, at generation 2, which is the object's.
fn object(conditions: &str) -> Value {
    let conditions = conditions.split_whitespace().map(|it| {
        let (name, state) = it.split_once('=').unwrap();
        let (status, reason) = state.split_once(':').unwrap_or((state, "Any"));
        json!({"type": name, "status": status, "reason": reason, "message": "", "observedGeneration": 2})
    });
    json!({
        "metadata": {"name": "a", "generation": 2},
        "spec": {},
        "status": {"conditions": conditions.collect::<Vec<_>>()},
    })
}

#[test]
fn each_state_of_each_kind_is_told_apart() {
    let checks = checks();
    let rows = [
        ("ManagedCluster", "", "inProgress"),
        (
            "ManagedCluster",
            "HubAcceptedManagedCluster=True ManagedClusterJoined=True",
            "inProgress",
        ),
        (
            "ManagedCluster",
            "HubAcceptedManagedCluster=True ManagedClusterJoined=True ManagedClusterConditionAvailable=Unknown",
            "inProgress",
        ),
        (
            "ManagedCluster",
            "HubAcceptedManagedCluster=True ManagedClusterJoined=True ManagedClusterConditionAvailable=True",
            "current",
        ),
        (
            "ManagedCluster",
            "HubAcceptedManagedCluster=False:Error",
            "failed",
        ),
        ("ManagedClusterSet", "", "inProgress"),
        (
            "ManagedClusterSet",
            "ClusterSetEmpty=True:NoClusterMatched",
            "current",
        ),
        (
            "ManagedClusterSet",
            "ClusterSetEmpty=False:ClustersSelected",
            "current",
        ),
        (
            "ManagedClusterSet",
            "ClusterSetEmpty=Unknown:InvalidClusterSelector",
            "failed",
        ),
        ("ManagedClusterSetBinding", "Bound=True", "current"),
        (
            "ManagedClusterSetBinding",
            "Bound=False:ClusterSetNotFound",
            "inProgress",
        ),
        (
            "ManagedClusterSetBinding",
            "Bound=False:NamespaceBelongsToCluster",
            "failed",
        ),
        (
            "Placement",
            "PlacementSatisfied=True PlacementMisconfigured=False",
            "current",
        ),
        (
            "Placement",
            "PlacementSatisfied=False PlacementMisconfigured=False",
            "inProgress",
        ),
        (
            "Placement",
            "PlacementSatisfied=False PlacementMisconfigured=True",
            "failed",
        ),
        ("ManifestWork", "", "inProgress"),
        ("ManifestWork", "Applied=True", "inProgress"),
        ("ManifestWork", "Applied=True Available=True", "current"),
        ("ManifestWork", "Applied=True Available=False", "inProgress"),
        (
            "ManifestWork",
            "Applied=True Available=True Progressing=True",
            "inProgress",
        ),
        (
            "ManifestWork",
            "Applied=True Available=True Progressing=False Degraded=False",
            "current",
        ),
        (
            "ManifestWork",
            "Applied=True Available=True Progressing=False Degraded=True",
            "failed",
        ),
        ("ManifestWork", "Applied=False Available=True", "failed"),
        (
            "ManifestWorkReplicaSet",
            "PlacementRolledOut=False ManifestworkApplied=True",
            "inProgress",
        ),
        (
            "ManifestWorkReplicaSet",
            "PlacementRolledOut=True ManifestworkApplied=True",
            "current",
        ),
        (
            "ManifestWorkReplicaSet",
            "ManifestworkApplied=False:Processing",
            "inProgress",
        ),
        (
            "ManifestWorkReplicaSet",
            "ManifestworkApplied=False:NotAsExpected",
            "failed",
        ),
        ("ManagedClusterAddOn", "Available=True", "current"),
        ("ManagedClusterAddOn", "Available=Unknown", "inProgress"),
        (
            "ManagedClusterAddOn",
            "Available=True Progressing=True",
            "inProgress",
        ),
        (
            "ManagedClusterAddOn",
            "Available=True Degraded=True",
            "failed",
        ),
    ];
    for check in &checks {
        let kind = check["kind"].as_str().unwrap();
        let states: Vec<_> = rows.iter().filter(|(of, ..)| *of == kind).collect();
        assert!(!states.is_empty(), "no row of {kind}");
        for (_, conditions, expected) in states {
            assert_eq!(
                judged(check, &object(conditions)),
                *expected,
                "{kind}: {conditions}"
            );
        }
    }
    assert_eq!(checks.len(), 7);
}

#[test]
fn what_an_earlier_generation_reported_is_in_progress() {
    let checks = checks();
    let check = checks
        .iter()
        .find(|it| it["kind"] == "ManifestWork")
        .unwrap();
    for conditions in [
        "Applied=True Available=True",
        "Applied=False Available=True",
    ] {
        let mut changed = object(conditions);
        changed["metadata"]["generation"] = json!(3);
        assert_eq!(judged(check, &changed), "inProgress", "{conditions}");
    }
}

/// Each condition that the page names is one of ours.
#[test]
fn the_conditions_are_those_of_the_api() {
    use berth_api::conditions;
    let known = [
        conditions::cluster::HUB_ACCEPTED,
        conditions::cluster::JOINED,
        conditions::cluster::AVAILABLE,
        conditions::cluster_set::EMPTY,
        conditions::cluster_set_binding::BOUND,
        conditions::placement::SATISFIED,
        conditions::placement::MISCONFIGURED,
        conditions::manifest_work::APPLIED,
        conditions::manifest_work::AVAILABLE,
        conditions::manifest_work::PROGRESSING,
        conditions::manifest_work::DEGRADED,
        conditions::manifest_work_replica_set::PLACEMENT_ROLLED_OUT,
        conditions::manifest_work_replica_set::MANIFESTWORK_APPLIED,
    ];
    let texts = checks().into_iter().flat_map(|check| {
        let fields = check.as_object().unwrap().values();
        let texts = fields.filter_map(|it| it.as_str().map(str::to_owned));
        texts.collect::<Vec<_>>()
    });
    let all = texts.collect::<Vec<_>>().join("\n");
    for name in known {
        assert!(
            all.contains(&format!("'{name}'")),
            "the page leaves {name} out"
        );
    }
    for part in all.split("c.type == '").skip(1) {
        let name = part.split('\'').next().unwrap();
        assert!(known.contains(&name), "{name} is no condition");
    }
}
