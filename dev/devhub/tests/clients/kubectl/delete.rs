//! `kubectl delete`: who goes, what goes with it, and what holds it back.

use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn objects_are_deleted_by_name_by_label_by_file_and_all() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap a
configmap/a created
$ kubectl create configmap b
configmap/b created
$ kubectl create configmap c
configmap/c created
$ kubectl create configmap d
configmap/d created
$ kubectl label configmap b c x=y
configmap/b labeled
configmap/c labeled
$ kubectl delete configmap a
configmap "a" deleted[..]
$ kubectl delete configmap a
Error from server (NotFound): configmaps "a" not found
? 1
$ kubectl delete configmap a --ignore-not-found
$ kubectl delete configmap -l x=y
configmap "b" deleted[..]
configmap "c" deleted[..]
$ kubectl delete configmap -l x=y
No resources found
$ kubectl delete -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}
EOF
configmap "d" deleted[..]
$ kubectl create secret generic one
secret/one created
$ kubectl create secret generic two
secret/two created
$ kubectl delete secrets --all -o name
secret/one
secret/two
$ kubectl create secret generic one
secret/one created
$ kubectl create configmap one
configmap/one created
$ kubectl delete configmap/one secret/one secret/nope
configmap "one" deleted[..]
secret "one" deleted[..]
Error from server (NotFound): secrets "nope" not found
? 1
$ kubectl delete secret
error: resource(s) were provided, but no name was specified
? 1
$ kubectl delete nonsense x
error: the server doesn't have a resource type "nonsense"
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl delete widgets --all --wait=false
widget.clients.berth.test "w" deleted[..]
$ kubectl get widgets
No resources found in {ns} namespace.
$ kubectl create configmap now
configmap/now created
$ kubectl delete configmap now --now
configmap "now" deleted[..]
$ kubectl create configmap force
configmap/force created
$ kubectl delete configmap force --force --grace-period=0
configmap "force" force deleted[..]
Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.
"#)
    .await;
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create configmap held
configmap/held created
$ kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":["tests.berth/hold","tests.berth/more"]}}'
configmap/held patched
$ kubectl delete configmap held --wait=false
configmap "held" deleted[..]
$ kubectl get configmap held -o jsonpath='{.metadata.deletionTimestamp} {.metadata.deletionGracePeriodSeconds} {.metadata.finalizers}'
[..] 0 ["tests.berth/hold","tests.berth/more"]
$ kubectl delete configmap held --timeout=1s
configmap "held" deleted[..]
error: timed out waiting for the condition on configmaps/held
? 1
$ kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":["tests.berth/hold","tests.berth/new"]}}'
The ConfigMap "held" is invalid: [..]
? 1
$ kubectl patch configmap held --type=merge -p '{"data":{"still":"writable"}}'
configmap/held patched
$ kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":["tests.berth/hold"]}}'
configmap/held patched
$ kubectl get configmap held -o name
configmap/held
$ kubectl patch configmap held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
configmap/held patched
$ kubectl get configmap held -o name
Error from server (NotFound): configmaps "held" not found
? 1
"#)
    .await;
}

#[tokio::test]
async fn what_belongs_to_a_deleted_object_goes_with_it_or_stays_as_asked() {
    let desk = Desk::new().await;
    if !desk.cluster.has_background_work() {
        return;
    }
    for cascade in ["background", "foreground", "orphan"] {
        let owner = desk.configmap(cascade).await;
        let uid = owner["metadata"]["uid"].as_str().unwrap();
        let stage = || desk.stage().with("uid", uid).with("cascade", cascade);
        stage().plays(r#"
$ kubectl create -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-{cascade}", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "{cascade}", "uid": "{uid}", "blockOwnerDeletion": true}]}}
EOF
configmap/of-{cascade} created
$ kubectl delete configmap {cascade} --cascade={cascade}
configmap "{cascade}" deleted[..]
$ kubectl get configmap {cascade}
Error from server (NotFound): configmaps "{cascade}" not found
? 1
"#)
        .await;
        if cascade == "orphan" {
            stage()
                .plays(
                    r#"
$ kubectl get configmap of-orphan -o jsonpath='{.metadata.name}{.metadata.ownerReferences}'
of-orphan
"#,
                )
                .await;
        } else {
            stage()
                .plays(
                    r#"
$ kubectl wait --for=delete configmap/of-{cascade} --timeout=60s
...
$ kubectl get configmap of-{cascade}
Error from server (NotFound): configmaps "of-{cascade}" not found
? 1
"#,
                )
                .await;
        }
    }
}

#[tokio::test]
async fn a_deleted_namespace_takes_all_with_it() {
    let desk = Desk::new().await;
    if !desk.cluster.has_background_work() {
        return;
    }
    desk.plays(r#"
$ kubectl create namespace {ns}-x
namespace/{ns}-x created
$ kubectl create configmap held -n {ns}-x
configmap/held created
$ kubectl patch configmap held -n {ns}-x --type=merge -p '{"metadata":{"finalizers":["tests.berth/hold"]}}'
configmap/held patched
$ kubectl delete namespace {ns}-x --wait=false
namespace "{ns}-x" deleted[..]
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
$ kubectl wait --for=jsonpath={.status.phase}=Terminating namespace/{ns}-x --timeout=20s
namespace/{ns}-x condition met
$ kubectl create configmap late -n {ns}-x
error: failed to create configmap: configmaps "late" is forbidden: unable to create new content in namespace {ns}-x because it is being terminated
? 1
$ kubectl wait --for=condition=NamespaceFinalizersRemaining namespace/{ns}-x --timeout=60s
namespace/{ns}-x condition met
$ kubectl get namespace {ns}-x -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'
NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered
NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed
NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization
NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances
NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: tests.berth/hold in 1 resource instances
$ kubectl patch configmap held -n {ns}-x --type=merge -p '{"metadata":{"finalizers":null}}'
configmap/held patched
$ kubectl wait --for=delete namespace/{ns}-x --timeout=60s
...
$ kubectl get namespace {ns}-x
Error from server (NotFound): namespaces "{ns}-x" not found
? 1
$ kubectl delete namespace default
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted
? 1
$ kubectl delete namespace kube-system --wait=false
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
Error from server (Forbidden): namespaces "kube-system" is forbidden: this namespace may not be deleted
? 1
"#)
    .await;
}
