//! Faults of the rules as policies of the API server.

use serde_json::{Value, json};

use super::{Expected, Ward};
use berth_testkit::cluster::path_of;

const OF_CLUSTERS: &str = "managedclusters.berth.open-cluster-management.io";
const OF_BINDINGS: &str = "managedclustersetbindings.berth.open-cluster-management.io";
const OF_TIMES: &str = "taint-times.managedclusters.berth.open-cluster-management.io";

/// What `berth policies` prints.
async fn printed(ward: &Ward, flags: &str) -> Vec<Value> {
    let output = ward.berth(&format!("policies -o json {flags}")).await;
    assert_eq!(output.code, 0, "{output:?}");
    let mut list: Value = serde_json::from_str(&output.stdout).unwrap();
    serde_json::from_value(list["items"].take()).unwrap()
}

fn find<'v>(objects: &'v [Value], kind: &str, name: &str) -> &'v Value {
    let is_it = |it: &&Value| it["kind"] == kind && it["metadata"]["name"] == name;
    objects.iter().find(is_it).unwrap()
}

async fn remove(ward: &Ward, objects: &[Value]) {
    for object in objects {
        let answer = ward.admin.delete(&path_of(object)).await.unwrap();
        assert!([200, 404].contains(&answer.code), "{answer:?}");
    }
}

/// Policies decide about everything but ManifestWorks.
async fn works_are_unguarded(ward: &Ward) {
    let expected = Expected {
        check: "registrations",
        severity: "warning",
        object: "manifestworkvalidators.admission.work.open-cluster-management.io",
        says: "it does not exist: any user who may write a ManifestWork",
        remedy: "apply the registrations with their CA",
    };
    ward.finds(expected, &["registrations"]).await;
}

#[tokio::test]
async fn policies_are_looked_at_with_webhooks_and_without() {
    let ward = Ward::new().await;
    if !ward.cluster.only_real("devhub has no policies") {
        return;
    }
    let policies = printed(&ward, "").await;
    // What a test that failed has left.
    remove(&ward, &policies).await;
    ward.is_sound().await;

    // 1. A trial run beside the webhooks.
    let audited = printed(&ward, "--action Audit").await;
    ward.cluster.apply(&audited).await;
    ward.is_sound().await;
    // It refuses nothing without them.
    for registration in &ward.registrations {
        ward.admin
            .delete(&path_of(registration))
            .await
            .unwrap()
            .ok();
    }
    let expected = Expected {
        check: "policies",
        severity: "fault",
        object: "",
        says: "printed with --action=Audit, and the webhook managedclustervalidators",
        remedy: "berth policies --kubernetes=1.36 --mode=policies | kubectl apply -f -",
    };
    // They fill in nothing, either.
    ward.finds(expected, &["registrations"]).await;

    // 2. Without webhooks.
    ward.cluster.apply(&policies).await;
    works_are_unguarded(&ward).await;
    let output = ward.berth("doctor -v").await;
    let note = "NOTE policies:\n  policies decide, without a webhook; they were printed with --kubernetes=1.36 --mode=policies";
    assert!(output.ok().contains(note), "{output:?}");

    // 3. One that is not there.
    let policy = find(&policies, "ValidatingAdmissionPolicy", OF_CLUSTERS);
    ward.admin.delete(&path_of(policy)).await.unwrap().ok();
    let expected = Expected {
        check: "policies",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "it does not exist: any user who may write a ManagedCluster may accept it",
        remedy: "berth policies --kubernetes=1.36 --mode=policies | kubectl apply -f -",
    };
    ward.finds(expected, &["registrations"]).await;
    ward.cluster.apply(&policies).await;
    works_are_unguarded(&ward).await;

    // 4. One without a binding.
    let binding = find(&policies, "MutatingAdmissionPolicyBinding", OF_TIMES);
    ward.admin.delete(&path_of(binding)).await.unwrap().ok();
    let expected = Expected {
        check: "policies",
        severity: "fault",
        object: OF_TIMES,
        says: "it has no binding, so it has no effect: taints do not get their times",
        remedy: "berth policies",
    };
    ward.finds(expected, &["registrations"]).await;
    ward.cluster.apply(&policies).await;
    works_are_unguarded(&ward).await;

    // 5. One that a user has changed.
    let edited = path_of(policy);
    let before = ward
        .change(&edited, |it| it["spec"]["failurePolicy"] = json!("Ignore"))
        .await;
    let expected = || Expected {
        check: "policies",
        severity: "fault",
        object: OF_CLUSTERS,
        says: "it differs from what this version prints (spec.failurePolicy of the policy differs)",
        remedy: "berth policies",
    };
    ward.finds(expected(), &["registrations"]).await;
    ward.restore(&edited, &before).await;
    works_are_unguarded(&ward).await;

    // 6. One that only records.
    let binding = find(&policies, "ValidatingAdmissionPolicyBinding", OF_BINDINGS);
    let audited = path_of(binding);
    let before = ward
        .change(&audited, |it| {
            it["spec"]["validationActions"] = json!(["Audit"]);
        })
        .await;
    let says = "spec.validationActions of its binding is [\"Audit\"]: it refuses nothing";
    let expected = |severity| Expected {
        check: "policies",
        severity,
        object: OF_BINDINGS,
        says,
        remedy: "berth policies",
    };
    ward.finds(expected("fault"), &["registrations"]).await;

    // 7. Beside the webhooks that is a warning.
    ward.register().await;
    ward.finds(expected("warning"), &[]).await;
    ward.restore(&audited, &before).await;
    ward.is_sound().await;
    remove(&ward, &policies).await;
    ward.is_sound().await;
}
