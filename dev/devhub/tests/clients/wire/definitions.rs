//! CustomResourceDefinitions: what they serve, their names, and their end.

use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_definition_is_served_until_its_objects_are_gone() {
    let desk = Desk::new().await;
    if !desk.cluster.has_background_work() {
        return;
    }
    let stage = desk
        .stage()
        .with("group", &format!("{}.berth.test", desk.namespace));
    stage.plays(r#"
$ kubectl create -f - <<EOF
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.{group}"}, "spec": {"group": "{group}", "names": {"plural": "gadgets", "kind": "Gadget"}, "scope": "Cluster", "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
EOF
customresourcedefinition.apiextensions.k8s.io/gadgets.{group} created
$ kubectl wait --for=condition=Established crd/gadgets.{group} --timeout=30s
...
$ kubectl get crd gadgets.{group} -o jsonpath='{.status.acceptedNames}{.status.storedVersions}{.metadata.generation}'
{"kind":"Gadget","listKind":"GadgetList","plural":"gadgets","singular":"gadget"}["v1"]1
$ kubectl create -f - <<EOF
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gizmos.{group}"}, "spec": {"group": "{group}", "names": {"plural": "gizmos", "kind": "Gadget"}, "scope": "Cluster", "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
EOF
customresourcedefinition.apiextensions.k8s.io/gizmos.{group} created
$ kubectl wait --for=condition=NamesAccepted=False crd/gizmos.{group} --timeout=30s
...
$ kubectl get crd gizmos.{group} -o jsonpath='{.status.acceptedNames}{range .status.conditions[*]} {.type}={.status} {.reason}{end}'
{"kind":"","plural":"gizmos"} NamesAccepted=False ListKindConflict Established=False NotAccepted
$ kubectl get --raw /apis/{group}/v1/gizmos
Error from server (NotFound): the server could not find the requested resource
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "{group}/v1", "kind": "Gadget", "metadata": {"name": "free"}}
EOF
gadget.{group}/free created
$ kubectl create -f - <<EOF
{"apiVersion": "{group}/v1", "kind": "Gadget", "metadata": {"name": "held", "finalizers": ["tests.berth/hold"]}}
EOF
gadget.{group}/held created
$ kubectl delete crd gadgets.{group} --wait=false
customresourcedefinition.apiextensions.k8s.io "gadgets.{group}" deleted[..]
...
$ kubectl wait --for=delete gadgets.{group}/free --timeout=30s
...
$ kubectl wait --for=condition=Terminating crd/gadgets.{group} --timeout=30s
...
$ kubectl get crd gadgets.{group} -o jsonpath={.metadata.finalizers}
["customresourcecleanup.apiextensions.k8s.io"]
$ kubectl create -f - <<EOF
{"apiVersion": "{group}/v1", "kind": "Gadget", "metadata": {"name": "late"}}
EOF
Error from server (Forbidden): error when creating "STDIN": gadgets.{group} "late" is forbidden: create not allowed while custom resource definition is terminating
? 1
$ kubectl patch gadgets.{group} held --type=merge -p '{"metadata":{"finalizers":null}}'
gadget.{group}/held patched
$ kubectl wait --for=delete crd/gadgets.{group} --timeout=60s
...
$ kubectl get --raw /apis/{group}/v1/gadgets
Error from server (NotFound): the server could not find the requested resource
? 1
"#)
    .await;
}

#[tokio::test]
async fn what_is_part_of_the_storage_does_not_change() {
    let desk = Desk::new().await;
    let group = format!("{}.berth.test", desk.namespace);
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("fixed.{group}") },
        "spec": {
            "group": group, "names": { "plural": "fixed", "kind": "Fixed" }, "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    desk.creates(path, &definition, r#"
{"spec": {"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}}]}}
= spec.[..]openAPIV3Schema.properties[spec].type: Required value: must not be empty[..]
"#)
    .await;
    desk.admin.post(path, &definition).await.unwrap().ok();
    let path = format!("{path}/fixed.{group}");
    berth_testkit::eventually("established", async || {
        let now = desk.admin.get(&path).await.unwrap();
        berth_testkit::when(now, |it| {
            it.ok()["status"]["conditions"][1]["status"] == "True"
        })
    })
    .await;
    desk.changes(&path, r#"
{"spec": {"group": "other.berth.test"}}
= spec.group: Invalid value: "other.berth.test": field is immutable
{"spec": {"names": {"kind": "Other"}, "scope": "Cluster"}}
= [spec.scope: Invalid value: "Cluster": field is immutable, spec.names.kind: Invalid value: "Other": field is immutable]
{"spec": {"versions": [{"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
= status.storedVersions[0]: Invalid value: "v1": missing from spec.versions[..]
"#)
    .await;
    desk.admin.delete(&path).await.unwrap().ok();
}
