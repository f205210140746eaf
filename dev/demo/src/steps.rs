//! The steps of the story.

use serde_json::{Value, json};

use crate::act::{Act, GREETING};
use crate::managed::Happening;
use crate::see;
use crate::users::{ADMIN, AGENT, DEVELOPER, ROOT, SET_ADMIN};

/// One command of a user, and its expected result.
pub(super) struct Step {
    /// One or two sentences, printed before the command.
    pub(super) story: &'static str,
    /// What happens before the command.
    pub(super) before: Option<Happening>,
    /// The context of the command.
    pub(super) who: &'static str,
    pub(super) act: Act,
    /// The hub is expected to refuse it.
    pub(super) refused: bool,
    /// A field of the result to print, as a JSON pointer.
    pub(super) shows: Option<&'static str>,
}

const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
const C1: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
const C2: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c2";

fn accepts(accepts: bool) -> Value {
    json!({"spec": {"hubAcceptsClient": accepts}})
}

fn accepts_with_short_lease() -> Value {
    json!({"spec": {"hubAcceptsClient": true, "leaseDurationSeconds": 1}})
}

/// How the hub sees c2.
const fn c2_is(see: fn(&[Value]) -> Option<Vec<String>>) -> Act {
    Act::Look {
        command: "get managedcluster c2 -o jsonpath='{.status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].message} [{.spec.taints[*].key}]{\"\\n\"}'",
        paths: &[C2],
        see,
    }
}

/// The clusters that the placement selects.
const fn selects(see: fn(&[Value]) -> Option<Vec<String>>) -> Act {
    Act::Look {
        command: "get placementdecisions -n team-a -l cluster.open-cluster-management.io/placement=app -o jsonpath='{.items[*].status.decisions[*].clusterName}{\"\\n\"}'",
        paths: &[
            "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/team-a/placementdecisions?labelSelector=cluster.open-cluster-management.io/placement=app",
        ],
        see,
    }
}

/// The text in the ConfigMap of a managed cluster.
const GREETS: Act = Act::Look {
    command: "get configmap greeting -n default -o jsonpath='{.data.text}{\"\\n\"}'",
    paths: &[GREETING],
    see: see::greets,
};

fn by_hand() -> Value {
    json!({"data": {"text": "changed by hand"}})
}

pub(super) fn steps() -> Vec<Step> {
    let done = |story, who, act, shows| Step {
        story,
        before: None,
        who,
        act,
        refused: false,
        shows,
    };
    let refused = |story, who, act| Step {
        story,
        before: None,
        who,
        act,
        refused: true,
        shows: None,
    };
    let after = |happening, story, who, act| Step {
        story,
        before: Some(happening),
        who,
        act,
        refused: false,
        shows: None,
    };
    vec![
        done(
            "The agent of c1 asks the hub to join, with bootstrap credentials. An Event on c1 says what it waits for.",
            "c1",
            Act::Look {
                command: "get events -n open-cluster-management-agent -o jsonpath='{range .items[*]}{.reason}: {.message}{\"\\n\"}{end}'",
                paths: &["/api/v1/namespaces/open-cluster-management-agent/events"],
                see: see::events,
            },
            None,
        ),
        refused(
            "RBAC allows dev to update the ManagedCluster and its spec, but not to accept the cluster.",
            DEVELOPER,
            Act::Patch("c1", accepts(true)),
        ),
        done(
            "ada may accept clusters. She may also join the default set, so the gate adds the cluster to it.",
            ADMIN,
            Act::Patch("c1", accepts(true)),
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
                    C1,
                ],
                see: see::given,
            },
            None,
        ),
        done(
            "ada approves the request of the agent for a certificate. (`berth accept c1` accepts and approves at once.)",
            ADMIN,
            Act::Approve("c1"),
            None,
        ),
        done(
            "With its certificate the agent reports c1: it has joined, it is available, and these are its ClusterClaims.",
            ADMIN,
            Act::Look {
                command: "get managedcluster c1 -o jsonpath='{range .status.conditions[?(@.reason==\"ManagedClusterJoined\")]}{.message}{\"\\n\"}{end}{range .status.conditions[?(@.reason==\"ManagedClusterAvailable\")]}{.message}{\"\\n\"}{end}{range .status.clusterClaims[*]}{.name}: {.value}{\"\\n\"}{end}'",
                paths: &[C1],
                see: see::joined,
            },
            None,
        ),
        done(
            "The hub signed this certificate for 80 seconds only. So the agent asked for the next one early, and the controller approved that.",
            ADMIN,
            Act::Look {
                command: "get managedcluster c1 -o jsonpath='{.status.conditions[?(@.type==\"ClusterCertificateRotated\")].message}{\"\\n\"}'",
                paths: &[C1],
                see: see::rotated,
            },
            None,
        ),
        done(
            "ada taints the cluster for maintenance. Other taints of the cluster would stay.",
            ADMIN,
            Act::Berth("taint c1 maintenance:NoSelect"),
            None,
        ),
        done(
            "The gate has added the time.",
            ADMIN,
            Act::Look {
                command: "get managedcluster c1 -o jsonpath='{.spec.taints}{\"\\n\"}'",
                paths: &[C1],
                see: see::taints,
            },
            None,
        ),
        refused(
            "The set of a cluster decides which users can use the cluster. dev may not change it.",
            DEVELOPER,
            Act::Label("c1", SET_LABEL, "prod"),
        ),
        done(
            "sam may move the cluster from default to prod.",
            SET_ADMIN,
            Act::Label("c1", SET_LABEL, "prod"),
            Some("/metadata/labels"),
        ),
        refused(
            "dev owns the namespace team-a, and wants to use the clusters of prod there.",
            DEVELOPER,
            Act::Bind,
        ),
        done(
            "sam may bind the set prod to it.",
            SET_ADMIN,
            Act::Bind,
            None,
        ),
        refused(
            "In the cluster's own namespace, the agent would control the binding. The gate refuses it, even for ada.",
            ADMIN,
            Act::BindAs("s/team-a/c1/", |text| text.replace("team-a", "c1")),
        ),
        done(
            "c2 asks to join, too. ada accepts it with a lease of one second, so that the demo does not wait long. The default is 60.",
            ADMIN,
            Act::Patch("c2", accepts_with_short_lease()),
            None,
        ),
        done(
            "ada approves the request of its agent.",
            ADMIN,
            Act::Approve("c2"),
            None,
        ),
        done(
            "c2 is available, and has no taints.",
            ADMIN,
            c2_is(see::is_available),
            None,
        ),
        done(
            "sam moves c2 to prod, too.",
            SET_ADMIN,
            Act::Label("c2", SET_LABEL, "prod"),
            None,
        ),
        done(
            "dev places something on one cluster of prod.",
            DEVELOPER,
            Act::Place,
            None,
        ),
        done(
            "The placement controller selects c2, because c1 is tainted.",
            DEVELOPER,
            selects(see::selects_c2),
            None,
        ),
        done(
            "dev hands out a ConfigMap to the clusters that the placement selects.",
            DEVELOPER,
            Act::HandOut,
            None,
        ),
        done("The agent of c2 creates it there.", "c2", GREETS, None),
        done(
            "The admin of c2 changes it by hand.",
            "c2",
            Act::PatchGreeting(by_hand()),
            None,
        ),
        done("The agent puts it back at once.", "c2", GREETS, None),
        done(
            "The maintenance of c1 ends. The placement stays on c2.",
            ADMIN,
            Act::Berth("taint c1 maintenance-"),
            None,
        ),
        after(
            Happening::AgentStops("c2"),
            "The agent of c2 stops. After five times the lease's duration, c2 is Unknown and tainted.",
            ADMIN,
            c2_is(see::is_unknown),
        ),
        done(
            "So the placement selects c1.",
            DEVELOPER,
            selects(see::selects_c1),
            None,
        ),
        done("And its agent creates the ConfigMap.", "c1", GREETS, None),
        done(
            "Berth says why each cluster is selected, or not.",
            ADMIN,
            Act::Berth("placement explain app -n team-a"),
            None,
        ),
        after(
            Happening::AgentStarts("c2"),
            "The agent starts again. It still has its certificate, in a Secret on c2, so no new approval is needed. c2 is available again.",
            ADMIN,
            c2_is(see::is_available),
        ),
        done(
            "It removes what c2 should not have any more.",
            "c2",
            Act::Look {
                command: "get configmaps -n default --field-selector=metadata.name=greeting -o name",
                paths: &[
                    "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dgreeting",
                ],
                see: see::nothing,
            },
            None,
        ),
        done(
            "ada makes an add-on of a manifest. Its agents get a user on the hub.",
            ADMIN,
            Act::Berth("addon create hello --filename hello.yaml --hub-registration"),
            None,
        ),
        done(
            "She installs it on c1. With a placement, the hub would choose the clusters.",
            ADMIN,
            Act::Berth("addon enable hello --clusters c1"),
            None,
        ),
        done(
            "The hub has rendered the manifest for c1.",
            "c1",
            Act::Look {
                command: "get configmap hello -n open-cluster-management-agent-addon -o jsonpath='{.data.cluster}{\"\\n\"}'",
                paths: &["/api/v1/namespaces/open-cluster-management-agent-addon/configmaps/hello"],
                see: see::says_its_cluster,
            },
            None,
        ),
        done(
            "The agent of c1 has asked for a certificate of the add-on, and the hub has approved it. This Secret is for the add-on's agent.",
            "c1",
            Act::Look {
                command: "get secret hello-hub-kubeconfig -n open-cluster-management-agent-addon -o go-template='{{range $key, $_ := .data}}{{println $key}}{{end}}'",
                paths: &[
                    "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-hub-kubeconfig",
                ],
                see: see::has_kubeconfig,
            },
            None,
        ),
        done(
            "The add-on is available.",
            ADMIN,
            Act::Look {
                command: "get managedclusteraddon hello -n c1 -o jsonpath='{.status.conditions[?(@.type==\"Available\")].message}{\"\\n\"}'",
                paths: &[
                    "/apis/addon.open-cluster-management.io/v1beta1/namespaces/c1/managedclusteraddons/hello",
                ],
                see: see::works,
            },
            None,
        ),
        done(
            "ada removes it from c1.",
            ADMIN,
            Act::Berth("addon disable hello --clusters c1"),
            None,
        ),
        done(
            "Nothing of it stays there.",
            "c1",
            Act::Look {
                command: "get configmaps -n open-cluster-management-agent-addon --field-selector=metadata.name=hello -o name",
                paths: &[
                    "/api/v1/namespaces/open-cluster-management-agent-addon/configmaps?fieldSelector=metadata.name%3Dhello",
                ],
                see: see::nothing,
            },
            None,
        ),
        done(
            "ada denies c1. The controller removes the permissions of its agent.",
            ADMIN,
            Act::Patch("c1", accepts(false)),
            None,
        ),
        done(
            "The agent of c1 says so in its readiness. It stays ready, since it waits for an admin.",
            AGENT,
            Act::AskAgent("c1", "the hub does not accept ManagedCluster c1"),
            None,
        ),
        refused(
            "The agent can still read its ManagedCluster, but nothing else. For example, it cannot read its lease.",
            AGENT,
            Act::Forbidden(
                "get leases -n c1",
                "/apis/coordination.k8s.io/v1/namespaces/c1/leases",
            ),
        ),
        done(
            "ada accepts c1 again, and its agent gets its permissions back.",
            ADMIN,
            Act::Patch("c1", accepts(true)),
            None,
        ),
        done(
            "The agent works again.",
            AGENT,
            Act::AskAgent("c1", "ok: managed"),
            None,
        ),
        done("c2 leaves: ada deletes it.", ADMIN, Act::Delete("c2"), None),
        done(
            "Its agent says so, and does not create it again.",
            AGENT,
            Act::AskAgent("c2", "ManagedCluster c2 does not exist"),
            None,
        ),
        done(
            "The controller has deleted its ClusterRole and bindings. (Its namespace stays: an admin decides about its content.)",
            ROOT,
            Act::Look {
                command: "get clusterroles -l open-cluster-management.io/cluster-name=c2 -o name",
                paths: &[
                    "/apis/rbac.authorization.k8s.io/v1/clusterroles?labelSelector=open-cluster-management.io/cluster-name=c2",
                ],
                see: see::nothing,
            },
            None,
        ),
    ]
}
