//! `docs/denials.md`: every message with which the gate can refuse or warn. The gate makes the messages, from a write that
//! causes each; the test fails if a reason has no entry here.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use berth_review::{
    Answerer, FilesAnswerer, Finding, Gate, HubFiles, RefusalKind, Requester, Webhook,
};
use berth_rules::Question;
use berth_rules::{FeatureGates, Reason};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::time::Instant;

const NOW: &str = "2026-11-21T12:00:00Z";

const INTRODUCTION: &str = "\
<!-- Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated -->
# What the gate says

Every message that a write can be answered with: what it means, and what to grant or to change. `kubectl` prints it behind
`admission webhook \"...\" denied the request:`. A denial names everything that is missing, one line each, and each line
says how to check it. Names are examples.

| code | reason | means |
|---|---|---|
| 400 | `BadRequest` | The object is invalid, whichever user writes it. |
| 403 | `Forbidden` | The object is fine; a permission is missing, or the state of the hub forbids it now. |
| 413 | `RequestEntityTooLarge` | The review is larger than any API server's. |
| 429 | `TooManyRequests` | The gate is busy. No denial: try again. |
| 500 | `InternalError` | The gate could not find out what it must know. No denial: try again. |

Only what a change introduces is checked: an object that was stored with a fault stays writable.
";

/// A write that gets a message, and what there is to know about it.
struct Entry {
    reason: &'static str,
    title: &'static str,
    webhook: Webhook,
    old: Option<Value>,
    new: Value,
    why: &'static str,
    remedy: &'static str,
}

/// What there is on the hub of the examples. Nobody holds any permission there.
const HUB: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: leaving}, status: {phase: Terminating}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: c8}, spec: {hubAcceptsClient: true}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, metadata: {name: prod, namespace: team}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: admin}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admins}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: admin}]
";

fn cluster(name: &str, labels: Value, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": { "name": name, "labels": labels },
        "spec": spec,
    })
}

fn set(name: &str, selector: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": { "name": name },
        "spec": { "clusterSelector": selector },
    })
}

fn binding(namespace: &str, name: &str, set: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "clusterSet": set },
    })
}

fn placement(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": { "name": name, "namespace": "team" },
        "spec": spec,
    })
}

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "app" } })
}

fn work(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": { "name": name, "namespace": "c8" },
        "spec": spec,
    })
}

fn replica_set(spec: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": { "name": "web", "namespace": "team" },
        "spec": spec,
    })
}

/// A spec with this field, and the manifest of a ConfigMap.
fn one_manifest(field: &str, value: Value) -> Value {
    json!({ "workload": { "manifests": [config_map("web")] }, field: value })
}

fn executor() -> Value {
    json!({ "subject": { "type": "ServiceAccount", "serviceAccount": { "namespace": "app", "name": "deployer" } } })
}

fn entries() -> Vec<Entry> {
    let mut entries = entries_of_clusters();
    entries.extend(entries_of_works());
    entries.extend(entries_of_addons());
    entries
}

fn entries_of_works() -> Vec<Entry> {
    let validate = Webhook::ValidateWork;
    vec![
        Entry {
            reason: Reason::ExecuteAs.as_str(),
            title: "The permission to execute as an executor is missing",
            webhook: validate,
            old: None,
            new: work("web", one_manifest("executor", executor())),
            why: "The agent writes the objects if the executor, a service account on the managed cluster, has the permission to. So who \
                  sets the executor uses its permissions. The gate asks when a ManifestWork with an executor is created, when the \
                  executor changes, and when manifests, manifestConfigs or deleteOption change under it. OCM does not ask for the last \
                  ones, and refuses with code 400. With the feature gate NilExecutorValidating, a ManifestWork without an executor needs \
                  the permission for `system:serviceaccount::klusterlet-work-sa`.",
            remedy: "Grant `execute-as` on `manifestworks` in API group `work.open-cluster-management.io`, for the executor by \
                     `resourceNames` (`system:serviceaccount:NAMESPACE:NAME`), by a RoleBinding in the namespace of the cluster or by a \
                     ClusterRoleBinding for all clusters.",
        },
        Entry {
            reason: Reason::ExecuteAs.as_str(),
            title: "The permission to execute as the executor of a ManifestWorkReplicaSet is missing",
            webhook: Webhook::ValidateReplicaSet,
            old: None,
            new: replica_set(json!({
                "manifestWorkTemplate": one_manifest("executor", executor()),
                "placementRefs": [{ "name": "web" }],
            })),
            why: "The controller that creates the ManifestWorks may execute as any executor. So the writer of the ManifestWorkReplicaSet \
                  needs the permission, and for all namespaces, as a placement can select any cluster. OCM does not ask.",
            remedy: "Grant `execute-as` on `manifestworks` in API group `work.open-cluster-management.io` by a ClusterRoleBinding.",
        },
        Entry {
            reason: Reason::NoManifests.as_str(),
            title: "The ManifestWork has no manifests",
            webhook: validate,
            old: None,
            new: work("web", json!({ "workload": { "manifests": [] } })),
            why: "There is nothing to apply. In a ManifestWorkReplicaSet the message is `Workload manifests should not be empty`.",
            remedy: "Add manifests. To remove all objects, delete the ManifestWork.",
        },
        Entry {
            reason: Reason::ManifestsSize.as_str(),
            title: "The manifests are too large",
            webhook: validate,
            old: None,
            new: {
                let mut large = config_map("web");
                large["data"] = json!({ "page": "x".repeat(500 * 1024) });
                work("web", json!({ "workload": { "manifests": [large] } }))
            },
            why: "The API server stores at most 1.5 MB in one object, with its status. The size is that of all manifests as JSON. The \
                  limit is OCM's; `--manifestLimit` sets another one. A stored ManifestWork may keep its size, and shrink.",
            remedy: "Split the ManifestWork.",
        },
        Entry {
            reason: Reason::Manifest.as_str(),
            title: "A manifest is not an object with a name",
            webhook: validate,
            old: None,
            new: work(
                "web",
                json!({ "workload": { "manifests": [
                    { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "web-" } },
                    { "metadata": { "name": "web" } },
                ]}}),
            ),
            why: "The agent finds the object of a manifest by its apiVersion, kind, namespace and name.",
            remedy: "Give each manifest these fields, and no generateName.",
        },
        Entry {
            reason: Reason::DuplicateManifest.as_str(),
            title: "Two manifests are the same object",
            webhook: validate,
            old: None,
            new: work(
                "web",
                json!({ "workload": { "manifests": [config_map("web"), config_map("web")] } }),
            ),
            why: "The agent would apply one after the other, again and again.",
            remedy: "Keep one of them.",
        },
        Entry {
            reason: Reason::ManifestConfig.as_str(),
            title: "The name of a value or of a condition is taken",
            webhook: validate,
            old: None,
            new: work(
                "web",
                one_manifest(
                    "manifestConfigs",
                    json!([{
                        "resourceIdentifier": { "resource": "configmaps", "namespace": "app", "name": "web" },
                        "feedbackRules": [
                            { "type": "JSONPaths", "jsonPaths": [{ "name": "version", "path": ".data.version" }] },
                            { "type": "JSONPaths", "jsonPaths": [{ "name": "version", "path": ".data.page" }] },
                        ],
                        "conditionRules": [{ "condition": "Available", "type": "CEL", "celExpressions": ["true"] }],
                    }]),
                ),
            ),
            why: "With two values of one name, the API server refuses the whole status. Two writers of one condition would never agree.",
            remedy: "Use other names.",
        },
        Entry {
            reason: Reason::Executor.as_str(),
            title: "The executor is not a service account",
            webhook: validate,
            old: None,
            new: work("web", one_manifest("executor", json!({}))),
            why: "An executor without a service account is not the same as none: the agent applies nothing.",
            remedy: "Name the service account in `executor.subject.serviceAccount`, or leave the executor out.",
        },
        Entry {
            reason: Reason::WorkName.as_str(),
            title: "The name of the ManifestWork is too long",
            webhook: validate,
            old: None,
            new: work(
                &"web-".repeat(48),
                one_manifest("deleteOption", json!(null)),
            ),
            why: "The agent's AppliedManifestWork is named by the hub's hash, a hyphen and this name. With a longer name, the \
                  ManifestWork is never applied. For a ManifestWorkReplicaSet, its namespace, a dot and its name become a label of at \
                  most 63 characters. Checked on CREATE.",
            remedy: "Use a shorter name.",
        },
        Entry {
            reason: Reason::PlacementRef.as_str(),
            title: "The placements of a ManifestWorkReplicaSet are missing, invalid or named twice",
            webhook: Webhook::ValidateReplicaSet,
            old: None,
            new: replica_set(json!({
                "manifestWorkTemplate": one_manifest("deleteOption", json!(null)),
                "placementRefs": [{ "name": "web" }, { "name": "web" }],
            })),
            why: "A placement that is named twice has two rollout strategies. A name with other characters than those of a Placement names none.",
            remedy: "Name each placement once, as it is named.",
        },
        Entry {
            reason: Reason::RolloutStrategy.as_str(),
            title: "A rollout strategy is invalid",
            webhook: Webhook::ValidateReplicaSet,
            old: None,
            new: replica_set(json!({
                "manifestWorkTemplate": one_manifest("deleteOption", json!(null)),
                "placementRefs": [{ "name": "web", "rolloutStrategy": {
                    "type": "Progressive", "progressive": { "minSuccessTime": "five minutes" },
                }}],
            })),
            why: "The controller could not roll anything out.",
            remedy: "Correct the field. Durations are such as `90s` or `1h30m`.",
        },
        Entry {
            reason: Reason::WorkField.as_str(),
            title: "A field of the ManifestWork cannot be read",
            webhook: validate,
            old: None,
            new: work("web", one_manifest("manifestConfigs", json!("all"))),
            why: "A field has another type than in the API, or a string is longer than 64 KiB.",
            remedy: "Correct the field.",
        },
    ]
}

fn of_addon(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": kind,
        "metadata": { "name": name, "namespace": "team" },
        "spec": spec,
    })
}

fn entries_of_addons() -> Vec<Entry> {
    vec![
        Entry {
            reason: Reason::AddonTemplate.as_str(),
            title: "The AddOnTemplate cannot be rendered",
            webhook: Webhook::ValidateTemplate,
            old: None,
            new: of_addon(
                "AddOnTemplate",
                "web",
                json!({ "addonName": "web", "agentSpec": { "workload": { "manifests": [
                    { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "app" }, "data": { "k": "{{CLUSTER_NAME" } },
                    { "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": "app" } },
                    "no object",
                ] } } }),
            ),
            why: "No cluster could have the add-on. OCM's add-on manager ends when a template has a `{{` without `}}`. `berth addon \
                  render` shows what a template is on a cluster.",
            remedy: "Correct the template.",
        },
        Entry {
            reason: Reason::AddonDeploymentConfig.as_str(),
            title: "The AddOnDeploymentConfig cannot be used",
            webhook: Webhook::ValidateDeploymentConfig,
            old: None,
            new: of_addon(
                "AddOnDeploymentConfig",
                "web",
                json!({ "resourceRequirements": [{ "containerID": "pods:(:a", "resources": {} }], "proxyConfig": { "caBundle": "%" } }),
            ),
            why: "A template could not be rendered with it. The parts of a containerID are regular expressions.",
            remedy: "Correct the field.",
        },
        Entry {
            reason: Reason::AddonConfigs.as_str(),
            title: "The add-on does not support a config of this kind",
            webhook: Webhook::ValidateManagementAddOn,
            old: None,
            new: of_addon(
                "ClusterManagementAddOn",
                "web",
                json!({
                    "supportedConfigs": [{ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs" }],
                    "installStrategy": { "type": "Placements", "placements": [{
                        "namespace": "team", "name": "all",
                        "configs": [{ "group": "example.com", "resource": "settings", "name": "web" }],
                    }] },
                }),
            ),
            why: "The config would have no effect. Where supportedConfigs is empty, this is a warning, because the add-on's manager may \
                  support more. In a ManagedClusterAddOn it is a warning, too.",
            remedy: "Name the kind in `spec.supportedConfigs` (in v1beta1, `spec.defaultConfigs`), or remove the config.",
        },
        Entry {
            reason: Reason::AddonField.as_str(),
            title: "A field of an add-on's object cannot be read",
            webhook: Webhook::ValidateTemplate,
            old: None,
            new: of_addon(
                "AddOnTemplate",
                "web",
                json!({ "addonName": "web", "agentSpec": [] }),
            ),
            why: "A field has another type than in the API.",
            remedy: "Correct the field.",
        },
    ]
}

fn entries_of_clusters() -> Vec<Entry> {
    let plain = || cluster("c1", json!({}), json!({}));
    let accepted = |name: &str| cluster(name, json!({}), json!({ "hubAcceptsClient": true }));
    let mut denied_now = plain();
    denied_now["metadata"]["annotations"] = json!({ berth_api::labels::DENY_NOW: "true" });
    let (mutate, validate) = (Webhook::MutateCluster, Webhook::ValidateCluster);
    vec![
        Entry {
            reason: Reason::NamespaceTerminating.as_str(),
            title: "The cluster's namespace is terminating",
            webhook: validate,
            old: None,
            new: accepted("leaving"),
            why: "An accepted cluster gets a namespace of its name. The one that is there is being deleted, with everything in it.",
            remedy: "Wait until the namespace is gone, then accept again. If it does not go, look for finalizers on what is left in it.",
        },
        Entry {
            reason: Reason::Accept.as_str(),
            title: "The permission to accept is missing",
            webhook: validate,
            old: Some(plain()),
            new: accepted("c1"),
            why: "Accepting a cluster lets its agent in; taking the acceptance back evicts it. Both need the permission (with the \
                  feature gate UnguardedDenial only accepting does, as in OCM).",
            remedy: "Grant `update` (or `create`) on `managedclusters/accept` in API group `register.open-cluster-management.io`, for \
                     this cluster by `resourceNames`, or for all. Or have an admin accept it. `berth can-i accept c1` says whether you \
                     may, and if not, which ClusterRole and ClusterRoleBinding would let you; an admin applies them by `berth can-i \
                     accept c1 --as dev -o yaml | kubectl apply -f -`.",
        },
        Entry {
            reason: Reason::Accept.as_str(),
            title: "The permission to accept is missing for a denial that takes effect at once",
            webhook: validate,
            old: Some(plain()),
            new: denied_now,
            why: "The annotation takes the right to work on ManifestWorks from the agent of a cluster that is not accepted (`berth \
                  deny --now`). To add it, or to give it another value, needs the permission to accept; to take it away does not, \
                  and stops nothing that has begun.",
            remedy: "Grant `update` (or `create`) on `managedclusters/accept` in API group `register.open-cluster-management.io`, or have \
                     an admin deny the cluster.",
        },
        Entry {
            reason: Reason::BindingsHeld.as_str(),
            title: "The cluster's namespace holds bindings",
            webhook: validate,
            old: None,
            new: accepted("team"),
            why: "The namespace of an accepted cluster is where its agent works. A namespace with bound sets is a user's workspace: \
                  accepting a cluster of that name would hand it to the agent.",
            remedy: "Name the cluster otherwise, or delete the bindings from the namespace first.",
        },
        Entry {
            reason: Reason::Join.as_str(),
            title: "The permission to change a set's members is missing",
            webhook: validate,
            old: Some(cluster(
                "c1",
                json!({ "cluster.open-cluster-management.io/clusterset": "staging" }),
                json!({}),
            )),
            new: cluster(
                "c1",
                json!({ "cluster.open-cluster-management.io/clusterset": "prod" }),
                json!({}),
            ),
            why: "A cluster is in the set that its label `cluster.open-cluster-management.io/clusterset` names. A user who changes the \
                  label needs the permission for the old set and for the new one.",
            remedy: "Grant `create` on `managedclustersets/join` in API group `cluster.open-cluster-management.io`, for the sets by \
                     `resourceNames`. A rule on `managedclustersets/*` does not grant it: RBAC knows no such wildcard.",
        },
        Entry {
            reason: Reason::Bind.as_str(),
            title: "The permission to bind a set is missing",
            webhook: Webhook::ValidateBinding,
            old: None,
            new: binding("app", "prod", "prod"),
            why: "Binding a set to a namespace lets everybody who places work there place it on the set's clusters.",
            remedy: "Grant `create` on `managedclustersets/bind` in API group `cluster.open-cluster-management.io`, for the set by \
                     `resourceNames`. It must be a ClusterRoleBinding: sets are cluster-scoped.",
        },
        Entry {
            reason: Reason::ClusterNamespace.as_str(),
            title: "The namespace belongs to an accepted cluster",
            webhook: Webhook::ValidateBinding,
            old: None,
            new: binding("c8", "prod", "prod"),
            why: "The cluster's agent has rights in its namespace. A set that is bound there would be in its reach.",
            remedy: "Bind the set in a namespace of its own.",
        },
        Entry {
            reason: Reason::WidenSet.as_str(),
            title: "The permission to widen a set's selector is missing",
            webhook: Webhook::ValidateClusterSet,
            old: None,
            new: set(
                "edge",
                json!({ "selectorType": "LabelSelector", "labelSelector": { "matchLabels": { "site": "edge" } } }),
            ),
            why: "A set of the type `LabelSelector` has every cluster that its selector selects, also those that were put into other sets. \
                  Making one, or changing its selector so that it may select more, needs the permission to put any cluster into any \
                  set. Narrowing a selector does not, nor do `global` with the selector `{}` and sets of the type \
                  `ExclusiveClusterSetLabel` (feature gate GuardedSelectors).",
            remedy: "Grant `create` on `managedclustersets/join` in API group `cluster.open-cluster-management.io` without \
                     `resourceNames`; `berth can-i join --all --as dev -o yaml | kubectl apply -f -` does so. Or have an admin make the \
                     set.",
        },
        Entry {
            reason: Reason::ReservedName.as_str(),
            title: "The cluster's name is reserved",
            webhook: validate,
            old: None,
            new: cluster("kube-edge", json!({}), json!({})),
            why: "An accepted cluster gets the namespace of its name, and a group and a ClusterRole that are made of it. Names of \
                  namespaces that Kubernetes or the hub lives in, and names whose group or ClusterRole is that of all agents, are \
                  always reserved; names that begin with `kube-` or `openshift-` (`--reserved-prefixes`), unless the namespace bears \
                  the label `open-cluster-management.io/cluster-name` with that name already. Checked when a cluster is made or \
                  accepted.",
            remedy: "Register the cluster under another name.",
        },
        Entry {
            reason: Reason::ForeignRequest.as_str(),
            title: "An agent files a certificate request for another cluster",
            webhook: Webhook::ValidateRequest,
            old: None,
            new: json!({
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {
                    "name": "c2-x7k9p",
                    "labels": { "open-cluster-management.io/cluster-name": "c2" },
                },
            }),
            why: "Agents find the requests of their cluster by this label, and OCM's agents halt while there are ten of them. Only \
                  requests of users in the group `system:open-cluster-management:managed-clusters` come to the gate.",
            remedy: "Label the request with the agent's own cluster, or omit the label.",
        },
        Entry {
            reason: Reason::AddonRequest.as_str(),
            title: "A certificate request for an add-on is not from the cluster's agent",
            webhook: Webhook::ValidateRequest,
            old: None,
            new: json!({
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {
                    "name": "addon-c2-x7k9p",
                    "labels": {
                        "open-cluster-management.io/addon-name": "proxy",
                        "open-cluster-management.io/cluster-name": "c2",
                    },
                },
            }),
            why: "Managers of add-ons approve requests by these labels; OCM's approves those of custom signers from any requester. \
                  Agents file them with the user name `system:open-cluster-management:<cluster>:<agent>`. Only requests with the \
                  label of an add-on, and those of agents, come to the gate.",
            remedy: "Omit the label `open-cluster-management.io/addon-name`.",
        },
        Entry {
            reason: Reason::ClusterName.as_str(),
            title: "The cluster's name is no DNS label",
            webhook: validate,
            old: None,
            new: cluster("a.b", json!({}), json!({})),
            why: "The cluster gets a namespace of its name, and a namespace's name is a DNS label. Checked on CREATE.",
            remedy: "Use at most 63 lower case letters, digits and '-', with a letter or digit at both ends.",
        },
        Entry {
            reason: Reason::ClientConfigUrl.as_str(),
            title: "The URL of a client config is no https URL",
            webhook: validate,
            old: None,
            new: cluster(
                "c1",
                json!({}),
                json!({ "managedClusterClientConfigs": [{ "url": "http://10.0.0.7:6443" }] }),
            ),
            why: "Clients reach the cluster's API server by this URL. It is read as Go reads URLs.",
            remedy: "Write `https://`, a host, and a port if it is not 443.",
        },
        Entry {
            reason: Reason::ClientConfigCaBundle.as_str(),
            title: "The CA bundle of a client config holds no certificate",
            webhook: validate,
            old: None,
            new: cluster(
                "c1",
                json!({}),
                json!({ "managedClusterClientConfigs": [{ "url": "https://10.0.0.7:6443", "caBundle": "aGVsbG8=" }] }),
            ),
            why: "With a bundle that holds no certificate, no client can verify the cluster.",
            remedy: "Put the PEM certificates there, in base64: `base64 -w0 ca.crt`. Or leave the field away.",
        },
        Entry {
            reason: Reason::LeaseDuration.as_str(),
            title: "The lease duration is out of bounds",
            webhook: validate,
            old: None,
            new: cluster("c1", json!({}), json!({ "leaseDurationSeconds": -60 })),
            why: "A cluster is Unknown after five durations of silence. A negative or huge one makes it Unknown for ever, or never.",
            remedy: "Use 0 (which means 60) to 86400 seconds.",
        },
        Entry {
            reason: Reason::Taint.as_str(),
            title: "A taint has no key, or there are two of the same key and effect",
            webhook: validate,
            old: None,
            new: cluster(
                "c1",
                json!({}),
                json!({ "taints": [{ "key": "gpu", "effect": "NoSelect" }, { "key": "gpu", "value": "2", "effect": "NoSelect" }] }),
            ),
            why: "Taints are told apart by key and effect.",
            remedy: "Keep one of them.",
        },
        Entry {
            reason: Reason::TaintTimeAdded.as_str(),
            title: "The time of a taint was set by hand",
            webhook: mutate,
            old: Some(plain()),
            new: cluster(
                "c1",
                json!({}),
                json!({ "taints": [{ "key": "gpu", "effect": "NoSelect", "timeAdded": "2020-01-01T00:00:00Z" }] }),
            ),
            why: "`timeAdded` says since when a taint is there, and tolerations end by it. The gate writes it. The stored time of an \
                  unchanged taint may be echoed or left away.",
            remedy: "Leave `timeAdded` away.",
        },
        Entry {
            reason: Reason::SetName.as_str(),
            title: "The set's name does not fit a label",
            webhook: Webhook::ValidateClusterSet,
            old: None,
            new: set(
                &"long-".repeat(13),
                json!({ "selectorType": "ExclusiveClusterSetLabel" }),
            ),
            why: "Clusters name their set in the value of a label, which has at most 63 characters: nothing could ever join this set.",
            remedy: "Choose a shorter name.",
        },
        Entry {
            reason: Reason::SetSelector.as_str(),
            title: "The set's selector is missing or invalid",
            webhook: Webhook::ValidateClusterSet,
            old: None,
            new: set(
                "prod",
                json!({
                    "selectorType": "LabelSelector",
                    "labelSelector": { "matchExpressions": [{ "key": "env", "operator": "Like", "values": ["prod"] }] },
                }),
            ),
            why: "A set of the type `LabelSelector` has the clusters that its selector selects. Operators are `In`, `NotIn` (with \
                  values), `Exists` and `DoesNotExist` (without).",
            remedy: "Correct the field that the message names. An empty selector, `{}`, selects every cluster.",
        },
        Entry {
            reason: Reason::ListTooLong.as_str(),
            title: "A list is too long",
            webhook: mutate,
            old: None,
            new: cluster(
                "c1",
                json!({}),
                json!({ "taints": (0..1_001).map(|i| json!({ "key": format!("k{i}"), "effect": "NoSelect" })).collect::<Vec<_>>() }),
            ),
            why: "A cluster has at most 1,000 taints and 1,000 client configs, a set's selector at most 1,000 requirements (labels and \
                  expressions) and 10,000 values in all: what anybody may write must not cost the gate its memory. A longer list \
                  that was stored before may stay or shrink, and does not keep anybody from taking the acceptance back, from \
                  deleting the object, or from changing something else.",
            remedy: "Shorten the list that the message names. If it names steps of CEL expressions of a Placement: nest fewer macros, go \
                     through shorter lists, or use `labelSelector` and `claimSelector`.",
        },
        Entry {
            reason: Reason::ClusterSize.as_str(),
            title: "The cluster is too large",
            webhook: mutate,
            old: None,
            new: json!({
                "apiVersion": "cluster.open-cluster-management.io/v1",
                "kind": "ManagedCluster",
                "metadata": { "name": "c1", "annotations": { "example.com/note": "x".repeat(70_000) } },
            }),
            why: "The holder of a bootstrap token may create thousands of ManagedClusters, and the hub's controllers read them all. So the labels, \
                  annotations, finalizers, owner references, taints and client configs of a cluster have at most 64 KiB in all until it \
                  is accepted, and 256 KiB afterwards. A real cluster has a few KiB, also with the annotation of `kubectl apply`. The set \
                  label, the finalizers and the taints that the hub itself adds do not count, and neither does the status. An object that \
                  was stored larger may stay or become smaller, and does not keep anybody from taking the acceptance back or from \
                  deleting it.",
            remedy: "Remove labels, annotations or taints, or shorten the CA bundles.",
        },
        Entry {
            reason: Reason::BindingName.as_str(),
            title: "The binding is not named like its set",
            webhook: Webhook::ValidateBinding,
            old: None,
            new: binding("app", "my-binding", "prod"),
            why: "A binding has the name of the set it binds, so that there is one for each set and namespace, and none can be turned \
                  to another set.",
            remedy: "Set `metadata.name` and `spec.clusterSet` to the same name. To bind another set, create another binding.",
        },
        Entry {
            reason: Reason::Misconfigured.as_str(),
            title: "The placement cannot be scheduled",
            webhook: Webhook::ValidatePlacement,
            old: None,
            new: placement(
                "web",
                json!({
                    "numberOfClusters": -1,
                    "predicates": [{ "requiredClusterSelector": {
                        "labelSelector": { "matchExpressions": [{ "key": "region", "operator": "Like" }] },
                        "celSelector": { "celExpressions": ["cluster.metadata.name == 'c1'"] },
                    }}],
                    "prioritizerPolicy": { "mode": "Most", "configurations": [
                        { "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Spread" } },
                    ]},
                    "tolerations": [{ "value": "gpu" }],
                }),
            ),
            why: "The placement controller would set the condition PlacementMisconfigured. OCM's then removes all decisions of the \
                  placement, and a negative number ends its process.",
            remedy: "Correct the fields. In CEL expressions, the variable is `managedCluster`.",
        },
        Entry {
            reason: Reason::PlacementName.as_str(),
            title: "The placement's name does not fit a label",
            webhook: Webhook::ValidatePlacement,
            old: None,
            new: placement(
                "every-cluster-of-the-engineering-department-in-europe-with-a-gpu",
                json!({}),
            ),
            why: "PlacementDecisions name their placement in a label. Checked on CREATE.",
            remedy: "Use at most 63 characters.",
        },
        Entry {
            reason: Reason::PlacementField.as_str(),
            title: "A field of the placement cannot have its effect",
            webhook: Webhook::ValidatePlacement,
            old: None,
            new: placement(
                "web",
                json!({
                    "decisionStrategy": { "groupStrategy": { "decisionGroups": [{ "groupName": "the first ones" }] } },
                    "prioritizerPolicy": { "configurations": [
                        { "scoreCoordinate": { "type": "AddOn", "addOn": { "resourceName": "usage", "scoreName": "" } } },
                    ]},
                }),
            ),
            why: "The name of a group becomes a label of its PlacementDecisions, and a score is found by two names.",
            remedy: "Correct the fields.",
        },
    ]
}

/// The review of an entry's write, by a user without permissions.
fn review(entry: &Entry) -> Value {
    let metadata = &entry.new["metadata"];
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "resource": {
                "group": entry.webhook.group(),
                "version": entry.webhook.version(),
                "resource": entry.webhook.resource(),
            },
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "operation": if entry.old.is_some() { "UPDATE" } else { "CREATE" },
            // What the state of the hub forbids is forbidden to everybody.
            "userInfo": if entry.webhook == Webhook::ValidateRequest {
                json!({
                    "username": "system:open-cluster-management:c1:agent",
                    "groups": ["system:open-cluster-management:managed-clusters"],
                })
            } else {
                json!({ "username": if holds_permissions(entry) { "admin" } else { "dev" } })
            },
            "object": entry.new,
            "oldObject": entry.old,
        },
    })
}

fn holds_permissions(entry: &Entry) -> bool {
    [
        Reason::NamespaceTerminating,
        Reason::BindingsHeld,
        Reason::ClusterNamespace,
    ]
    .iter()
    .any(|reason| reason.as_str() == entry.reason)
}

async fn message(
    gate: &Gate,
    webhook: Webhook,
    review: &Value,
) -> (u16, &'static str, String, Vec<String>) {
    let body = review.to_string().into_bytes();
    let deadline = Instant::now() + Duration::from_secs(10);
    let verdict = gate
        .examine(webhook, &body, NOW.parse().unwrap(), deadline)
        .await;
    let warnings = verdict
        .result
        .as_ref()
        .map(|decision| decision.warnings.clone())
        .unwrap_or_default();
    (
        verdict.code(),
        verdict.reason(),
        verdict.message(),
        warnings,
    )
}

/// A hub that is away.
#[derive(Debug)]
struct Away;

impl Answerer for Away {
    fn answer<'a>(&'a self, _: &'a Requester, _: &'a Question) -> BoxFuture<'a, Finding> {
        let why = "the hub cannot be reached (create subjectaccessreviews): Connection refused (os error 111)";
        ready(Finding::unknown(why)).boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        ready(Err("away".to_owned())).boxed()
    }
}

/// The page.
pub(crate) async fn page() -> String {
    let mut hub = HubFiles::default();
    hub.add("the examples' hub", HUB).unwrap();
    let gate = Gate::new(Arc::new(FilesAnswerer::new(hub)), FeatureGates::default());
    let mut page = INTRODUCTION.to_owned();
    let mut told = Vec::new();
    for code in [403, 400] {
        let title = if code == 403 {
            "Denied: 403 Forbidden"
        } else {
            "Malformed: 400 BadRequest"
        };
        write!(page, "\n## {title}\n").unwrap();
        for entry in entries() {
            let (answered, reason, message, _) =
                message(&gate, entry.webhook, &review(&entry)).await;
            assert_eq!(reason, entry.reason, "{message}");
            if answered == code {
                told.push(entry.reason);
                let Entry {
                    title, why, remedy, ..
                } = entry;
                write!(
                    page,
                    "\n### {title}\n\n```\n{message}\n```\n\n{why}\n\n**What to do:** {remedy}\n"
                )
                .unwrap();
                write!(
                    page,
                    "\n(`reason` in logs, metrics and audit annotations: `{reason}`)\n"
                )
                .unwrap();
            }
        }
    }
    for reason in Reason::ALL {
        assert!(
            told.contains(&reason.as_str()),
            "{reason:?} is not documented"
        );
    }
    undecided(&mut page).await;
    warnings(&mut page, &gate).await;
    page
}

async fn undecided(page: &mut String) {
    let away = Gate::new(Arc::new(Away), FeatureGates::default());
    let accept = entries().swap_remove(1);
    let mut review = review(&accept);
    let (code, _, unanswered, _) = message(&away, accept.webhook, &review).await;
    assert_eq!(code, 500);
    review["request"]["object"]["spec"]["leaseDurationSeconds"] = "60".into();
    let (code, _, undecodable, _) = message(&away, accept.webhook, &review).await;
    assert_eq!(code, 400);
    write!(
        page,
        "\n## Not decided: 500 InternalError and 429 TooManyRequests\n\n\
         The gate fails closed: what it must know and cannot find out is not allowed. It says then what was in the way, and that \
         it is not a denial. A client may try again after `details.retryAfterSeconds`.\n\n\
         ```\n{unanswered}\n```\n\n\
         **What to do:** Try again. If it goes on, the message names what is in the way: the hub's API server, the network, or a \
         right that the gate itself lacks (its ClusterRole is in `manifests/`). The gate's log and `/readyz` say more.\n\n\
         Other words for it: `more than N reviews are being decided`, `too many large reviews at once`, `too many reviews arrive \
         at once, and others arrive faster` (429), `other large reviews took too long` and \
         `the review did not arrive in time` (500).\n\n\
         ## Not read: 400 BadRequest and 413 RequestEntityTooLarge\n\n\
         ```\n{undecodable}\n```\n\n\
         The webhook does not serve reviews of this kind, or a field of the object has the wrong type. The message names the field.\n\n\
         **What to do:** Correct the field. If it is not yours, the webhook registration names the wrong path or resource.\n\n\
         Kinds, as `reason` in logs, metrics and audit annotations: {}.\n",
        RefusalKind::ALL.map(|kind| format!("`{}`", kind.as_str())).join(", ")
    )
    .unwrap();
}

async fn warnings(page: &mut String, gate: &Gate) {
    let entry = |webhook, labels| Entry {
        reason: "",
        title: "",
        webhook,
        // The mutating webhook warns when a cluster is created.
        old: (webhook != Webhook::MutateCluster).then(|| cluster("c1", json!({}), json!({}))),
        new: cluster("c1", labels, json!({})),
        why: "",
        remedy: "",
    };
    write!(
        page,
        "\n## Warnings\n\nA warning never refuses a write. `kubectl` prints it behind `Warning:`.\n"
    )
    .unwrap();
    for (webhook, labels, user, meaning) in [
        (
            Webhook::MutateCluster,
            json!({}),
            "dev",
            "A cluster without a set is put into the set `default` if its writer may put it there (feature gate \
             DefaultClusterSet). Otherwise it stays in no set. The warning comes when a cluster is created or accepted, and when a \
             change takes its set away. Grant `create` on `managedclustersets/join` for `default`, or have an admin set the \
             label.",
        ),
        (
            Webhook::ValidateCluster,
            json!({ "cluster.open-cluster-management.io/clusterset": "prdo" }),
            "admin",
            "The label may be a slip. Correct it, or create the set.",
        ),
        (
            Webhook::ValidateCluster,
            json!({ "cluster.open-cluster-management.io/clusterset": "Prod_1" }),
            "admin",
            "The label is certainly a slip: sets have DNS names.",
        ),
        (
            Webhook::ValidateCluster,
            json!({ "open-cluster-management.io/clusterset": "prod" }),
            "dev",
            "Old manifests use this key. It has no effect.",
        ),
    ] {
        let mut review = review(&entry(webhook, labels));
        review["request"]["userInfo"]["username"] = user.into();
        let (code, _, _, warnings) = message(gate, webhook, &review).await;
        assert_eq!((code, warnings.len()), (200, 1), "{warnings:?}");
        write!(page, "\n```\n{}\n```\n\n{meaning}\n", warnings[0]).unwrap();
    }
    for (spec, meaning) in [
        (
            json!({ "numberOfClusters": 0 }),
            "The placement is stored, and selects nothing.",
        ),
        (
            json!({ "predicates": [{ "requiredClusterSelector": { "labelSelector": {
                "matchLabels": { "region": "eu" },
                "matchExpressions": [{ "key": "region", "operator": "NotIn", "values": ["eu"] }],
            }}}]}),
            "All requirements of a predicate must hold for one cluster. For alternatives, write several predicates.",
        ),
        (
            json!({ "spreadPolicy": { "spreadConstraints": [{ "topologyKey": "region", "topologyKeyType": "Label" }] } }),
            "The field is in OCM's API, and its controller does not read it.",
        ),
    ] {
        let webhook = Webhook::ValidatePlacement;
        let entry = Entry {
            old: None,
            new: placement("web", spec),
            ..entry(webhook, json!({}))
        };
        let (code, _, _, warnings) = message(gate, webhook, &review(&entry)).await;
        assert_eq!((code, warnings.len()), (200, 1), "{warnings:?}");
        write!(page, "\n```\n{}\n```\n\n{meaning}\n", warnings[0]).unwrap();
    }
    for (spec, meaning) in [
        (
            one_manifest(
                "manifestConfigs",
                json!([{
                    "resourceIdentifier": { "resource": "configmaps", "namespace": "web", "name": "web" },
                    "updateStrategy": { "type": "CreateOnly" },
                }]),
            ),
            "The entry may be a slip. The same warning comes for `orphaningRules`, where `*` is no wildcard.",
        ),
        (
            one_manifest(
                "manifestConfigs",
                json!([{
                    "resourceIdentifier": { "resource": "configmap", "namespace": "app", "name": "web" },
                    "updateStrategy": { "type": "CreateOnly" },
                }]),
            ),
            "An identifier has the plural of the kind, as in a URL of the API server.",
        ),
        (
            one_manifest(
                "deleteOption",
                json!({ "propagationPolicy": "SelectivelyOrphan" }),
            ),
            "Name the objects that stay, or use the policy Orphan, with which all stay.",
        ),
    ] {
        let webhook = Webhook::ValidateWork;
        let entry = Entry {
            old: None,
            new: work("web", spec),
            ..entry(webhook, json!({}))
        };
        let (code, _, _, warnings) = message(gate, webhook, &review(&entry)).await;
        assert_eq!((code, warnings.len()), (200, 1), "{warnings:?}");
        write!(page, "\n```\n{}\n```\n\n{meaning}\n", warnings[0]).unwrap();
    }
    for (webhook, kind, spec, meaning) in [
        (
            Webhook::ValidateTemplate,
            "AddOnTemplate",
            json!({ "addonName": "web", "agentSpec": { "workload": { "manifests": [
                { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "{{ CLUSTER_NAME }}" } },
            ] } } }),
            "The names of variables are taken to the letter, as in OCM. Of names that a config can define the gate does not warn, since \
             it does not know the config.",
        ),
        (
            Webhook::ValidateDeploymentConfig,
            "AddOnDeploymentConfig",
            json!({ "customizedVariables": [{ "name": "CLUSTER_NAME", "value": "c1" }] }),
            "Remove the variable, or rename it.",
        ),
    ] {
        let entry = Entry {
            old: None,
            new: of_addon(kind, "web", spec),
            ..entry(webhook, json!({}))
        };
        let (code, _, _, warnings) = message(gate, webhook, &review(&entry)).await;
        assert_eq!((code, warnings.len()), (200, 1), "{warnings:?}");
        write!(page, "\n```\n{}\n```\n\n{meaning}\n", warnings[0]).unwrap();
    }
    let kept = |seconds: u32| {
        let spec = json!({ "hubAcceptsClient": true, "leaseDurationSeconds": seconds });
        cluster("managed-clusters", json!({}), spec)
    };
    let entry = Entry {
        old: Some(kept(60)),
        new: kept(30),
        ..entry(Webhook::ValidateCluster, json!({}))
    };
    let (code, _, _, warnings) = message(gate, entry.webhook, &review(&entry)).await;
    assert_eq!((code, warnings.len()), (200, 1), "{warnings:?}");
    let meaning = "The cluster was accepted before its name was reserved. It stays writable, and should be registered anew under \
                   another name.";
    write!(page, "\n```\n{}\n```\n\n{meaning}\n", warnings[0]).unwrap();
}
