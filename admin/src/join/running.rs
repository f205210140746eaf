//! Whether the agent runs.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::objects::DEPLOYMENT;
use crate::hub::{Filter, HubConnection};

/// Returns why the agent of `manifests/agent` does not run. None: it runs, it is not installed, or that cannot be read.
pub(crate) async fn why_agent_does_not_run(
    cluster: &HubConnection,
    namespace: &str,
) -> Option<String> {
    let within = Some(namespace);
    let deployment = cluster.get_value::<Deployment>(within, DEPLOYMENT);
    let Ok(Some(deployment)) = deployment.await else {
        return None;
    };
    if deployment["status"]["availableReplicas"].as_u64() > Some(0) {
        return None;
    }
    let pods = Filter::labels(format!("app={DEPLOYMENT}"));
    // As values: the decoders of a Pod would be most of a megabyte of the executable.
    let pods = cluster.list_values::<Pod>(within, &pods).await;
    let pods = pods.unwrap_or_default();
    let why = pods.iter().find_map(why_not_running);
    Some(why.unwrap_or_else(|| format!("Deployment {namespace}/{DEPLOYMENT} is not available yet")))
}

/// Returns why a pod does not run, if it says so.
pub(crate) fn why_not_running(pod: &Value) -> Option<String> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
    let scheduled = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut unscheduled =
        scheduled.filter(|it| it["type"] == "PodScheduled" && it["status"] == "False");
    let said = match waiting["reason"].as_str() {
        Some(reason) => (reason, &waiting["message"]),
        None => {
            let condition = unscheduled.next()?;
            (condition["reason"].as_str()?, &condition["message"])
        }
    };
    let (reason, message) = said;
    Some(match message.as_str() {
        Some(message) => format!("pod {name}: {reason}: {message}"),
        None => format!("pod {name}: {reason}"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_says_why_it_does_not_run() {
        let pod = |status: Value| json!({"metadata": {"name": "a"}, "status": status});
        let waiting = json!({"reason": "ErrImagePull", "message": "not found"});
        let waiting = json!({"containerStatuses": [{"state": {"waiting": waiting}}]});
        let words = why_not_running(&pod(waiting));
        assert_eq!(words.as_deref(), Some("pod a: ErrImagePull: not found"));
        let unscheduled =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
        let words = why_not_running(&pod(json!({"conditions": [unscheduled]})));
        assert_eq!(words.as_deref(), Some("pod a: Unschedulable"));
        assert_eq!(why_not_running(&pod(json!({}))), None);
    }
}
