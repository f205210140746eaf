//! Whether a Deployment has rolled out, and what it waits for.

use serde_json::Value;

use crate::join::running::why_not_running;

/// Returns what a Deployment waits for, with the words of its pods; `None` if it has rolled out, as `kubectl rollout status` sees it.
pub(super) fn waits_for(deployment: &Value, pods: &[Value]) -> Option<String> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let status = &deployment["status"];
    let wanted = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
    let (updated, available) = (
        count(&status["updatedReplicas"]),
        count(&status["availableReplicas"]),
    );
    let missing =
        if count(&deployment["metadata"]["generation"]) > count(&status["observedGeneration"]) {
            "the controller of Deployments to see it".to_owned()
        } else if updated < wanted {
            format!("{updated} of {wanted} replicas are created")
        } else if count(&status["replicas"]) > updated {
            "old replicas to end".to_owned()
        } else if available < wanted {
            format!("{available} of {wanted} replicas are available")
        } else {
            return None;
        };
    let failed = || {
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let failed =
            conditions.find(|it| it["type"] == "ReplicaFailure" && it["status"] == "True")?;
        failed["message"].as_str().map(str::to_owned)
    };
    Some(
        match pods.iter().find_map(why_not_running).or_else(failed) {
            Some(why) => format!("{missing}: {why}"),
            None => missing,
        },
    )
}

/// Returns the selector of a Deployment's pods, as a query takes it.
pub(super) fn selector(deployment: &Value) -> String {
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object();
    let labels = labels.into_iter().flatten();
    let pairs: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_says_what_it_waits_for() {
        let deployment = |seen: u64, replicas: u64, updated: u64, available: u64| {
            json!({
                "metadata": {"generation": 2}, "spec": {"replicas": 3},
                "status": {
                    "observedGeneration": seen, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available,
                },
            })
        };
        for (deployment, words) in [
            (
                json!({"metadata": {"generation": 1}, "spec": {"replicas": 3}}),
                Some("the controller of Deployments to see it"),
            ),
            (
                deployment(1, 3, 3, 3),
                Some("the controller of Deployments to see it"),
            ),
            (deployment(2, 3, 1, 3), Some("1 of 3 replicas are created")),
            (deployment(2, 4, 3, 3), Some("old replicas to end")),
            (
                deployment(2, 3, 3, 2),
                Some("2 of 3 replicas are available"),
            ),
            (deployment(2, 3, 3, 3), None),
        ] {
            assert_eq!(waits_for(&deployment, &[]).as_deref(), words);
        }
        let waiting = json!({"reason": "ErrImagePull", "message": "not found"});
        let pod = json!({
            "metadata": {"name": "p"},
            "status": {"containerStatuses": [{"state": {"waiting": waiting}}]},
        });
        assert_eq!(
            waits_for(&deployment(2, 3, 3, 0), &[pod]).as_deref(),
            Some("0 of 3 replicas are available: pod p: ErrImagePull: not found")
        );
        let mut quota = deployment(2, 0, 0, 0);
        quota["status"]["conditions"] =
            json!([{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]);
        assert_eq!(
            waits_for(&quota, &[]).as_deref(),
            Some("0 of 3 replicas are created: exceeded quota")
        );
    }

    #[test]
    fn the_selector_is_one_of_a_query() {
        let deployment = json!({"spec": {"selector": {"matchLabels": {"app": "a", "b": "c"}}}});
        assert_eq!(selector(&deployment), "app=a,b=c");
    }
}
