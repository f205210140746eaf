//! The story that is played, step by step.

use serde_json::{Value, json};

use crate::act::{Act, BINDING_FILE, CLUSTER_FILE};
use crate::people::{ADMIN, AGENT, DEVELOPER, ROOT, SET_ADMIN};

/// One thing that somebody does.
pub(super) struct Step {
    /// What is going on.
    pub(super) story: &'static str,
    pub(super) who: &'static str,
    pub(super) act: Act,
    pub(super) refused: bool,
    /// A field of the result that is worth a look.
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
            "A cluster asks to be let in. Asking is free: nothing happens until the hub agrees.",
            DEVELOPER,
            Act::Create(CLUSTER_FILE),
            None,
        ),
        refused(
            "RBAC lets dev write the cluster, spec and all. Letting it in is another matter.",
            DEVELOPER,
            Act::Patch(accepts(true)),
        ),
        done(
            "ada may accept clusters. As she may join the default set, too, the gate puts the cluster there.",
            ADMIN,
            Act::Patch(accepts(true)),
            Some("/metadata/labels"),
        ),
        done(
            "Now the hub gives c1 what it needs: a namespace, rights for its agent there, and a lease to renew.",
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
            "With these rights its agent reports that the cluster works. So the hub takes its taint `unreachable` away.",
            AGENT,
            Act::Report,
            Some("/spec/taints"),
        ),
        done(
            "Work on the cluster begins: the gate notes since when it is tainted.",
            ADMIN,
            Act::Patch(taint()),
            Some("/spec/taints"),
        ),
        refused(
            "Whoever puts a cluster into a set decides who gets to use it. dev may not.",
            DEVELOPER,
            Act::Label(SET_LABEL, "prod"),
        ),
        done(
            "sam may: out of default, into prod.",
            SET_ADMIN,
            Act::Label(SET_LABEL, "prod"),
            Some("/metadata/labels"),
        ),
        refused(
            "dev owns the namespace team-a, and would like to use the clusters of prod there.",
            DEVELOPER,
            Act::Create(BINDING_FILE),
        ),
        done(
            "That is for sam to allow.",
            SET_ADMIN,
            Act::Create(BINDING_FILE),
            None,
        ),
        refused(
            "A set bound in the cluster's own namespace would be in the agent's hands. Not even ada can do that.",
            ADMIN,
            Act::CreateAs("s/team-a/c1/", BINDING_FILE, |text| {
                text.replace("team-a", "c1")
            }),
        ),
        done(
            "The agent falls silent. After five times the lease's duration nobody knows how c1 is: no new work goes there.",
            ADMIN,
            Act::Look {
                command: "get managedcluster c1 -o jsonpath='{.status.conditions[?(@.status==\"Unknown\")].message}{\"\\n\"}{.spec.taints[*].key}{\"\\n\"}'",
                paths: &[CLUSTER_PATH],
                see: silence,
            },
            None,
        ),
        done(
            "ada turns c1 out. What its agent could do on the hub is taken back.",
            ADMIN,
            Act::Patch(accepts(false)),
            None,
        ),
        done(
            "The cluster says so, and that is all that its agent can still see.",
            AGENT,
            Act::Look {
                command: ACCEPTANCE,
                paths: &[CLUSTER_PATH],
                see: |objects| acceptance(objects, "False"),
            },
            None,
        ),
        refused(
            "Its lease is out of reach, for example.",
            AGENT,
            Act::List(
                "get leases -n c1",
                "/apis/coordination.k8s.io/v1/namespaces/c1/leases",
            ),
        ),
        done(
            "Let in again, it has everything again.",
            ADMIN,
            Act::Patch(accepts(true)),
            None,
        ),
        done(
            "Its agent finds that out by itself.",
            AGENT,
            Act::Look {
                command: ACCEPTANCE,
                paths: &[CLUSTER_PATH],
                see: |objects| acceptance(objects, "True"),
            },
            None,
        ),
        done(
            "Another cluster comes, accepted from the start,",
            ADMIN,
            Act::CreateAs("s/c1/c2/; s/false/true/", CLUSTER_FILE, |text| {
                text.replace("c1", "c2").replace("false", "true")
            }),
            None,
        ),
        done(
            "has its role among others,",
            ROOT,
            Act::Look {
                command: ROLES,
                paths: &[ROLES_PATH],
                see: |objects| Some(names(objects)).filter(|lines| !lines.is_empty()),
            },
            None,
        ),
        done("and leaves.", ADMIN, Act::Delete("c2"), None),
        done(
            "Nothing of its rights is left. (Its namespace stays: what is in it is the admin's to judge.)",
            ROOT,
            Act::Look {
                command: ROLES,
                paths: &[ROLES_PATH],
                see: |objects| {
                    // kubectl prints nothing then, with -o name.
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

/// What the namespace of an accepted cluster holds, once it is all there.
fn given(lists: &[Value]) -> Option<Vec<String>> {
    let names = names(lists);
    (names.len() == 3).then_some(names)
}

/// What nobody being heard of means, once it is seen.
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

/// As `kubectl get -o name` prints lists.
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
