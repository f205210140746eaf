//! What the commands of the story show: each function returns the lines that kubectl prints for these objects, once they are in the
//! expected state.

use serde_json::Value;

/// What the agent waits for.
pub(super) fn events(lists: &[Value]) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = lists.first()?["items"].as_array()?.iter();
    let lines = events.map(|it| format!("{}: {}", text(&it["reason"]), text(&it["message"])));
    Some(lines.collect()).filter(|lines: &Vec<_>| !lines.is_empty())
}

/// The names of the objects in an accepted cluster's namespace, when its condition reports that it has everything.
pub(super) fn given(objects: &[Value]) -> Option<Vec<String>> {
    let (cluster, lists) = objects.split_last()?;
    message(cluster, "HubAcceptedManagedCluster", "True")?;
    Some(names(lists)).filter(|names| names.len() == 3)
}

/// No object is left: with `-o name`, kubectl prints nothing for an empty list.
pub(super) fn nothing(lists: &[Value]) -> Option<Vec<String>> {
    Some(names(lists)).filter(Vec::is_empty)
}

/// The cluster has joined, is available, and reports its claims.
pub(super) fn joined(objects: &[Value]) -> Option<Vec<String>> {
    let cluster = objects.first()?;
    let mut lines = vec![
        message(cluster, "ManagedClusterJoined", "True")?,
        message(cluster, AVAILABLE, "True")?,
    ];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let claims = cluster["status"]["clusterClaims"].as_array()?.iter();
    lines.extend(claims.map(|it| format!("{}: {}", text(&it["name"]), text(&it["value"]))));
    Some(lines)
}

pub(super) fn rotated(objects: &[Value]) -> Option<Vec<String>> {
    message(objects.first()?, "ClusterCertificateRotated", "True").map(|line| vec![line])
}

/// The cluster is available, and the controller has removed the taint.
pub(super) fn is_available(objects: &[Value]) -> Option<Vec<String>> {
    availability(objects.first()?, "True", |taints| taints.is_empty())
}

/// The taints of the cluster.
pub(super) fn taints(objects: &[Value]) -> Option<Vec<String>> {
    let taints = &objects.first()?["spec"]["taints"];
    taints.is_array().then(|| vec![taints.to_string()])
}

/// The cluster is silent, and the controller has added the taint: it follows the condition.
pub(super) fn is_unknown(objects: &[Value]) -> Option<Vec<String>> {
    availability(objects.first()?, "Unknown", |taints| !taints.is_empty())
}

/// The placement selects c1.
pub(super) fn selects_c1(lists: &[Value]) -> Option<Vec<String>> {
    selected(lists, "c1")
}

/// The placement selects c2.
pub(super) fn selects_c2(lists: &[Value]) -> Option<Vec<String>> {
    selected(lists, "c2")
}

/// The ConfigMap is as the hub prescribes it.
pub(super) fn greets(objects: &[Value]) -> Option<Vec<String>> {
    let text = objects.first()?["data"]["text"].as_str()?;
    (text == "hello").then(|| vec![text.to_owned()])
}

/// The add-on is rendered for its cluster.
pub(super) fn says_its_cluster(objects: &[Value]) -> Option<Vec<String>> {
    let cluster = objects.first()?["data"]["cluster"].as_str()?;
    Some(vec![cluster.to_owned()])
}

/// The agent of the add-on can talk to the hub.
pub(super) fn has_kubeconfig(objects: &[Value]) -> Option<Vec<String>> {
    let data = objects.first()?["data"].as_object()?;
    let keys: Vec<_> = data.keys().cloned().collect();
    let is_whole = keys.iter().any(|it| it == "tls.crt");
    is_whole.then_some(keys)
}

/// The add-on works.
pub(super) fn works(objects: &[Value]) -> Option<Vec<String>> {
    message(objects.first()?, "Available", "True").map(|line| vec![line])
}

fn selected(lists: &[Value], cluster: &str) -> Option<Vec<String>> {
    let decisions = lists.first()?["items"].as_array()?.iter();
    let listed =
        decisions.flat_map(|it| it["status"]["decisions"].as_array().into_iter().flatten());
    let listed: Vec<_> = listed.filter_map(|it| it["clusterName"].as_str()).collect();
    (listed == [cluster]).then(|| vec![cluster.to_owned()])
}

const AVAILABLE: &str = "ManagedClusterConditionAvailable";

fn availability(
    cluster: &Value,
    status: &str,
    expected: fn(&[&str]) -> bool,
) -> Option<Vec<String>> {
    let message = message(cluster, AVAILABLE, status)?;
    let taints = cluster["spec"]["taints"].as_array().into_iter().flatten();
    let taints: Vec<&str> = taints.filter_map(|it| it["key"].as_str()).collect();
    expected(&taints).then(|| vec![format!("{message} [{}]", taints.join(" "))])
}

/// The message of this condition, if it has this status.
fn message(cluster: &Value, r#type: &str, status: &str) -> Option<String> {
    let conditions = cluster["status"]["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|it| it["type"] == r#type && it["status"] == status)?;
    Some(condition["message"].as_str()?.to_owned())
}

/// The lines that `kubectl get -o name` prints for these lists.
fn names(lists: &[Value]) -> Vec<String> {
    let mut names = Vec::new();
    for list in lists {
        let kind = list["kind"].as_str().unwrap_or_default();
        let kind = kind.trim_end_matches("List").to_lowercase();
        let group = list["apiVersion"].as_str().unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        for item in list["items"].as_array().into_iter().flatten() {
            let name = item["metadata"]["name"].as_str().unwrap_or_default();
            names.push(format!("{kind}.{group}/{name}"));
        }
    }
    names
}
