//! ManifestWorks and ManifestWorkReplicaSets: those that cannot be carried out are refused, and an executor needs permission.

use serde_json::{Value, json};

use crate::e2e::sentences::{
    REPLICA_SET_VALIDATORS, WORK_VALIDATORS, cannot_execute_as, cannot_execute_as_everywhere,
};
use berth_testkit::by_each_client;
use berth_testkit::cluster::{Person, fresh, kubectl_is_there, rule};
use berth_testkit::guarded::{Guarded, may_execute_as};
use berth_testkit::objects::{WORK_GROUP, replica_set, work};
use berth_testkit::writes::By;

by_each_client![
    a_work_that_cannot_be_applied_is_refused,
    an_executor_needs_the_permission_to_execute_as_it,
    the_executor_of_a_replica_set_needs_it_in_all_namespaces,
    a_replica_set_that_cannot_be_rolled_out_is_refused,
    a_work_of_half_a_megabyte_is_decided,
    a_stored_work_stays_writable,
    what_has_no_effect_gets_a_warning,
];

/// A user who may write ManifestWorks and ManifestWorkReplicaSets.
async fn dev(name: &str) -> Person {
    let hub = Guarded::shared().await;
    let resources = ["manifestworks", "manifestworkreplicasets"];
    let rights = rule(
        &["create", "get", "update", "patch", "delete"],
        WORK_GROUP,
        &resources,
        &[],
    );
    hub.developer(name, &[rights]).await
}

fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" } })
}

fn manifests(manifests: &[Value]) -> Value {
    json!({ "workload": { "manifests": manifests } })
}

/// A spec with a ConfigMap, and the service account `apps/deployer` as executor.
fn executed() -> Value {
    let mut spec = manifests(&[config_map("cm1")]);
    spec["executor"] = json!({ "subject": {
        "type": "ServiceAccount", "serviceAccount": { "namespace": "apps", "name": "deployer" },
    } });
    spec
}

/// As in OCM's test.
async fn a_work_that_cannot_be_applied_is_refused(by: By) {
    let dev = dev(&fresh("dev")).await;
    let dev = dev.by(by);
    let mut unnamed = config_map("a");
    unnamed["metadata"] = json!({ "namespace": "default" });
    let secrets = (0..5).map(|index| {
        let data = "x".repeat(100 * 1024);
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": format!("s{index}") }, "stringData": { "a": data },
        })
    });
    let secrets: Vec<_> = secrets.collect();
    for (manifests_of_it, fault) in [
        (vec![], "manifests should not be empty"),
        (
            vec![unnamed.clone()],
            "name must be set in manifest: spec.workload.manifests[0]",
        ),
        (
            vec![config_map("cm1"), config_map("cm1")],
            "duplicate manifest for resource default/cm1 with resource type v1.ConfigMap",
        ),
        (
            secrets,
            "the size of manifests is 512430 bytes which exceeds the 512000 limit",
        ),
    ] {
        let name = fresh("w");
        let faulty = work(&name, manifests(&manifests_of_it));
        let written = dev.create(&faulty).await;
        written.denied(WORK_VALIDATORS, 400, "BadRequest", &[fault]);
        let sound = work(&name, manifests(&[config_map("cm1")]));
        dev.create(&sound).await.ok();
        let written = dev.replace(&faulty).await;
        written.denied(WORK_VALIDATORS, 400, "BadRequest", &[fault]);
    }
    let long = format!("{:-<188}0", fresh("w"));
    let written = dev
        .create(&work(&long, manifests(&[config_map("cm1")])))
        .await;
    let fault = format!(
        "metadata.name: Invalid value: \"{long}\": must be no more than 188 characters, to fit the name of the agent's \
         AppliedManifestWork"
    );
    written.denied(WORK_VALIDATORS, 400, "BadRequest", &[&fault]);
}

async fn an_executor_needs_the_permission_to_execute_as_it(by: By) {
    let hub = Guarded::shared().await;
    let (user, other) = (fresh("dev"), fresh("dev"));
    let owner = dev(&user).await;
    let new = work(&fresh("w"), executed());
    let denial = cannot_execute_as("apps/deployer", &user);
    let written = owner.by(by).create(&new).await;
    written.denied(WORK_VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster
        .grant_in("default", &owner, &[may_execute_as("apps", "deployer")])
        .await;
    owner.by(by).create(&new).await.ok();
    let patch = json!({ "spec": manifests(&[config_map("cm2")]) });
    owner.by(by).merge(&new, &patch).await.ok();

    let person = dev(&other).await;
    let person = person.by(by);
    let denial = cannot_execute_as("apps/deployer", &other);
    for patch in [
        json!({ "spec": manifests(&[config_map("cm3")]) }),
        json!({ "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } }),
    ] {
        let written = person.merge(&new, &patch).await;
        written.denied(WORK_VALIDATORS, 403, "Forbidden", &[&denial]);
    }
    let account = json!({ "name": "other" });
    let patch = json!({ "spec": { "executor": { "subject": { "serviceAccount": account } } } });
    let denial = cannot_execute_as("apps/other", &other);
    let written = person.merge(&new, &patch).await;
    written.denied(WORK_VALIDATORS, 403, "Forbidden", &[&denial]);
    let patch = json!({ "spec": { "executor": { "subject": null } } });
    let fault = "executor service account can not be nil";
    let written = person.merge(&new, &patch).await;
    written.denied(WORK_VALIDATORS, 400, "BadRequest", &[fault]);
    for patch in [
        json!({ "metadata": { "labels": { "a": "b" } } }),
        json!({ "metadata": { "finalizers": ["tests.berth/hold"] } }),
        json!({ "metadata": { "finalizers": null } }),
    ] {
        person.merge(&new, &patch).await.ok();
    }
}

async fn the_executor_of_a_replica_set_needs_it_in_all_namespaces(by: By) {
    let hub = Guarded::shared().await;
    let user = fresh("dev");
    let dev = dev(&user).await;
    let new = replica_set(&fresh("r"), executed());
    let denial = cannot_execute_as_everywhere("apps/deployer", &user);
    let may = may_execute_as("apps", "deployer");
    hub.cluster
        .grant_in("default", &dev, std::slice::from_ref(&may))
        .await;
    let written = dev.by(by).create(&new).await;
    written.denied(REPLICA_SET_VALIDATORS, 403, "Forbidden", &[&denial]);
    hub.cluster.grant(&dev, &[may]).await;
    dev.by(by).create(&new).await.ok();
}

async fn a_replica_set_that_cannot_be_rolled_out_is_refused(by: By) {
    let dev = dev(&fresh("dev")).await;
    let dev = dev.by(by);
    let new = |template: Value, refs: Value| {
        let mut new = replica_set(&fresh("r"), template);
        new["spec"]["placementRefs"] = refs;
        new
    };
    let sound = manifests(&[config_map("cm1")]);
    let slow = json!({ "type": "Progressive", "progressive": { "minSuccessTime": "soon" } });
    let one = json!([{ "name": "p" }]);
    for (new, fault) in [
        (
            new(manifests(&[]), one.clone()),
            "Workload manifests should not be empty",
        ),
        (
            new(sound.clone(), json!([{ "name": "p" }, { "name": "p" }])),
            "spec.placementRefs[1].name: Duplicate value: \"p\"",
        ),
        (
            new(
                sound.clone(),
                json!([{ "name": "p", "rolloutStrategy": slow }]),
            ),
            "spec.placementRefs[0].rolloutStrategy: minSuccessTime is 'soon', and must be a duration such as 90s or 1h30m",
        ),
    ] {
        let written = dev.create(&new).await;
        written.denied(REPLICA_SET_VALIDATORS, 400, "BadRequest", &[fault]);
    }
    dev.create(&new(sound, one)).await.ok();
}

async fn a_work_of_half_a_megabyte_is_decided(by: By) {
    let dev = dev(&fresh("dev")).await;
    let dev = dev.by(by);
    let many: Vec<_> = (0..3_000)
        .map(|index| {
            let mut manifest = config_map(&format!("cm{index}"));
            manifest["data"] = json!({ "a": "b", "c": "0123456789012345678901234567890123456789" });
            manifest
        })
        .collect();
    let name = fresh("w");
    dev.create(&work(&name, manifests(&many[..2_999])))
        .await
        .ok();
    let size: usize = many.iter().map(|it| it.to_string().len() + 3).sum();
    assert!((450_000..512_000).contains(&size), "{size}");
    dev.replace(&work(&name, manifests(&many))).await.ok();
}

async fn a_stored_work_stays_writable(by: By) {
    let dev = dev(&fresh("dev")).await;
    let dev = dev.by(by);
    let [faulty, leaving] =
        ["faulty", "leaving"].map(|name| work(&format!("{name}.{}", by.name()), json!({})));
    for patch in [
        json!({ "metadata": { "labels": { "a": "b" } } }),
        json!({ "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } }),
    ] {
        dev.merge(&faulty, &patch).await.ok();
    }
    let twice = manifests(&[config_map("cm1"), config_map("cm1")]);
    let written = dev.merge(&faulty, &json!({ "spec": twice })).await;
    let fault = "duplicate manifest for resource default/cm1 with resource type v1.ConfigMap";
    written.denied(WORK_VALIDATORS, 400, "BadRequest", &[fault]);
    dev.delete(&leaving).await.ok();
    let patch = json!({ "metadata": { "finalizers": null } });
    dev.merge(&leaving, &patch).await.ok();
    dev.wait_until_gone(&leaving).await;
}

async fn what_has_no_effect_gets_a_warning(by: By) {
    let dev = dev(&fresh("dev")).await;
    let dev = dev.by(by);
    let mut spec = manifests(&[config_map("cm1")]);
    spec["deleteOption"] = json!({ "propagationPolicy": "SelectivelyOrphan" });
    let new = work(&fresh("w"), spec);
    let (_, warnings) = dev.create(&new).await.ok_with_warnings();
    assert_eq!(
        warnings,
        [
            "spec.deleteOption.propagationPolicy: SelectivelyOrphan without selectivelyOrphans.orphaningRules orphans no object"
        ]
    );
    let patch = json!({ "spec": manifests(&[config_map("cm2")]) });
    let (_, warnings) = dev.merge(&new, &patch).await.ok_with_warnings();
    assert_eq!(warnings, [""; 0]);
}

/// The command that a denial names.
#[tokio::test]
async fn can_i_tells_whether_a_user_may_execute_as_an_executor() {
    if !kubectl_is_there() {
        return;
    }
    let hub = Guarded::shared().await;
    let dev = dev(&fresh("dev")).await;
    let can_i = async |scope: &[&str]| {
        let object =
            "manifestworks.work.open-cluster-management.io/system:serviceaccount:apps:deployer";
        let args = [&["auth", "can-i", "execute-as", object], scope].concat();
        let output = dev.kubectl(&args).await;
        (output.code, output.stdout)
    };
    let (no, yes) = ((1, "no\n".to_owned()), (0, "yes\n".to_owned()));
    assert_eq!(can_i(&["-n", "default"]).await, no);
    let may = may_execute_as("apps", "deployer");
    hub.cluster
        .grant_in("default", &dev, std::slice::from_ref(&may))
        .await;
    assert_eq!(can_i(&["-n", "default"]).await, yes);
    assert_eq!(can_i(&["-A"]).await, no);
    hub.cluster.grant(&dev, &[may]).await;
    assert_eq!(can_i(&["-A"]).await, yes);
}
