//! The steps of the story.

use serde_json::{Value, json};

use crate::act::{Act, BINDING_FILE, CLUSTER_FILE};
use crate::users::{ADMIN, AGENT, DEVELOPER, ROOT, SET_ADMIN};

/// One command of a user, and its expected result.
pub(super) struct Step {
    /// One or two sentences, printed before the command.
    pub(super) story: &'static str,
    /// The user.
    pub(super) who: &'static str,
    pub(super) act: Act,
    /// The hub is expected to refuse it.
    pub(super) refused: bool,
    /// A field of the result to print, as a JSON pointer.
    pub(super) shows: Option<&'static str>,
}

const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
pub(super) const CLUSTER_PATH: &str =
    "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";

fn accepts(accepts: bool) -> Value {
    json!({"spec": {"hubAcceptsClient": accepts}})
}

fn taint() -> Value {
    json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoSelect"}]}})
}

pub(super) fn steps() -> Vec<Step> {
    let done = |story, who, act, shows| Step {
        story,
        who,
        act,
        refused: false,
        shows,
    };
    let refused = |story, who, act| Step {
        story,
        who,
        act,
        refused: true,
        shows: None,
    };
    vec![
        done(
            "A cluster asks to join. Any user may ask: nothing happens until an admin accepts the cluster.",
            DEVELOPER,
            Act::Create(CLUSTER_FILE),
            None,
        ),
        refused(
            "RBAC allows dev to update the ManagedCluster and its spec, but not to accept the cluster.",
            DEVELOPER,
            Act::Patch(accepts(true)),
        ),
        done(
            "ada may accept clusters. She may also join the default set, so the gate adds the cluster to it.",
            ADMIN,
            Act::Patch(accepts(true)),
            Some("/metadata/labels"),
        ),
        done(
            "The controller creates what c1 needs: a namespace, permissions for its agent there, and a lease to renew.",
            ROOT,
            Act::Look {
                command: "get rolebindings,leases -n c1 -o name",
                paths: &[
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/c1/rolebindings",
                    "/apis/coordination.k8s.io/v1/namespaces/c1/leases",
                ],
                see: given,
            },
            None,
        ),
        done(
            "With these permissions, its agent reports that the cluster is available. The controller removes the taint `unreachable`.",
            AGENT,
            Act::Report,
            Some("/spec/taints"),
        ),
        done(
            "ada taints the cluster for maintenance. The gate adds the time.",
            ADMIN,
            Act::Patch(taint()),
            Some("/spec/taints"),
        ),
        refused(
            "The set of a cluster decides which users can use the cluster. dev may not change it.",
            DEVELOPER,
            Act::Label(SET_LABEL, "prod"),
        ),
        done(
            "sam may move the cluster from default to prod.",
            SET_ADMIN,
            Act::Label(SET_LABEL, "prod"),
            Some("/metadata/labels"),
        ),
        refused(
            "dev owns the namespace team-a, and wants to use the clusters of prod there.",
            DEVELOPER,
            Act::Create(BINDING_FILE),
        ),
        done(
            "sam may bind the set prod to it.",
            SET_ADMIN,
            Act::Create(BINDING_FILE),
            None,
        ),
        refused(
            "In the cluster's own namespace, the agent would control the binding. The gate refuses it, even for ada.",
            ADMIN,
            Act::CreateAs("s/team-a/c1/", BINDING_FILE, |text| {
                text.replace("team-a", "c1")
            }),
        ),
        done(
            "The agent stops renewing its lease. After five times the lease's duration, c1 is Unknown and tainted: it gets no new work.",
            ADMIN,
            Act::Look {
                command: "get managedcluster c1 -o jsonpath='{.status.conditions[?(@.status==\"Unknown\")].message}{\"\\n\"}{.spec.taints[*].key}{\"\\n\"}'",
                paths: &[CLUSTER_PATH],
                see: silence,
            },
            None,
        ),
        done(
            "ada denies c1. The controller removes the permissions of its agent.",
            ADMIN,
            Act::Patch(accepts(false)),
            None,
        ),
        done(
            "The condition of the ManagedCluster reports that. The agent can still read this object, but nothing else.",
            AGENT,
            Act::Look {
                command: ACCEPTANCE,
                paths: &[CLUSTER_PATH],
                see: |objects| acceptance(objects, "False"),
            },
            None,
        ),
        refused(
            "For example, it cannot read its lease.",
            AGENT,
            Act::List(
                "get leases -n c1",
                "/apis/coordination.k8s.io/v1/namespaces/c1/leases",
            ),
        ),
        done(
            "ada accepts c1 again, and its agent gets its permissions back.",
            ADMIN,
            Act::Patch(accepts(true)),
            None,
        ),
        done(
            "The agent can read that in the condition.",
            AGENT,
            Act::Look {
                command: ACCEPTANCE,
                paths: &[CLUSTER_PATH],
                see: |objects| acceptance(objects, "True"),
            },
            None,
        ),
        done(
            "Another cluster is created, accepted from the start.",
            ADMIN,
            Act::CreateAs("s/c1/c2/; s/false/true/", CLUSTER_FILE, |text| {
                text.replace("c1", "c2").replace("false", "true")
            }),
            None,
        ),
        done(
            "It gets its ClusterRole, among other objects.",
            ROOT,
            Act::Look {
                command: ROLES,
                paths: &[ROLES_PATH],
                see: |objects| Some(names(objects)).filter(|lines| !lines.is_empty()),
            },
            None,
        ),
        done("Then it is deleted.", ADMIN, Act::Delete("c2"), None),
        done(
            "The controller has deleted its ClusterRole and bindings. (Its namespace stays: an admin decides about its content.)",
            ROOT,
            Act::Look {
                command: ROLES,
                paths: &[ROLES_PATH],
                see: |objects| {
                    // With -o name, kubectl prints nothing for an empty list.
                    names(objects).is_empty().then(Vec::new)
                },
            },
            None,
        ),
    ]
}

const ACCEPTANCE: &str = "get managedcluster c1 -o jsonpath='{.status.conditions[?(@.type==\"HubAcceptedManagedCluster\")].message}{\"\\n\"}'";
const ROLES: &str = "get clusterroles -l open-cluster-management.io/cluster-name=c2 -o name";
const ROLES_PATH: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=open-cluster-management.io/cluster-name=c2";

/// The names of the objects in an accepted cluster's namespace, when all three exist.
fn given(lists: &[Value]) -> Option<Vec<String>> {
    let names = names(lists);
    (names.len() == 3).then_some(names)
}

/// The message of the Unknown condition and the taints, when both exist.
fn silence(objects: &[Value]) -> Option<Vec<String>> {
    let [cluster] = objects else { return None };
    let conditions = cluster["status"]["conditions"].as_array()?;
    let unknown = conditions
        .iter()
        .find(|condition| condition["status"] == "Unknown")?;
    let taints = cluster["spec"]["taints"].as_array()?.iter();
    let taints: Vec<&str> = taints.filter_map(|taint| taint["key"].as_str()).collect();
    // The taint follows the condition.
    (taints.len() > 1).then(|| {
        let message = unknown["message"].as_str().unwrap_or_default();
        vec![message.to_owned(), taints.join(" ")]
    })
}

fn acceptance(objects: &[Value], status: &str) -> Option<Vec<String>> {
    let [cluster] = objects else { return None };
    let conditions = cluster["status"]["conditions"].as_array()?;
    let accepted = conditions.iter().find(|condition| {
        condition["type"] == "HubAcceptedManagedCluster" && condition["status"] == status
    })?;
    Some(vec![accepted["message"].as_str()?.to_owned()])
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
