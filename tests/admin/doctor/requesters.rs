//! Users without rights, and hubs that are absent or do not respond.

use serde_json::Value;

use super::Ward;
use crate::house::House;
use berth_manifests::files;
use berth_testkit::cluster::{Cluster, fresh, rule};

#[tokio::test]
async fn who_may_not_look_is_told_what_is_missing() {
    let house = House::shared().await;
    let nobody = house.cluster.user(&fresh("nobody"), &[]).await;
    let output = house.berth_as(&nobody, "doctor").await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(
        output
            .stderr
            .starts_with("Error: you have none of the permissions that the checks need on the hub at https://127.0.0.1:"),
        "{output:?}"
    );

    // Whoever may read clusters and sets alone gets that far.
    let reader = house.cluster.user(&fresh("reader"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let read = rule(
        &["list"],
        group,
        &["managedclusters", "managedclustersets"],
        &[],
    );
    house.cluster.grant(&reader, &[read]).await;
    let output = house.berth_as(&reader, "doctor").await;
    for line in [
        "UNKNOWN registrations:\n  could not be checked: the mutatingwebhookconfigurations: you need verb \"list\" on \
         mutatingwebhookconfigurations.admissionregistration.k8s.io\n",
        "UNKNOWN dry-run: validatingwebhookconfiguration/managedclustervalidators.admission.cluster.open-cluster-management.io\n  \
         could not be checked: whether Berth refuses a malformed ManagedCluster: you need verb \"create\" on \
         managedclusters.cluster.open-cluster-management.io\n",
        "UNKNOWN controller: lease/registration-controller-lock in open-cluster-management-hub\n",
        "UNKNOWN certificate-requests:\n",
    ] {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("UNKNOWN sets"), "{}", output.stdout);
    let strict = house.berth_as(&reader, "doctor --strict").await;
    assert_eq!(strict.code, 1, "{strict:?}");
}

#[tokio::test]
async fn the_roles_of_the_doctor_are_enough() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    let roles = files::PEOPLE_ROLES.documents();
    let named = |it: &&Value| it["metadata"]["name"] == "open-cluster-management:berth:doctor";
    let rules: Vec<Value> = roles
        .iter()
        .filter(named)
        .flat_map(|role| role["rules"].as_array().unwrap().clone())
        .collect();
    let rules = &rules;
    let doctor = ward.cluster.user(&fresh("doctor"), &[]).await;
    ward.cluster.grant(&doctor, rules).await;
    let output = ward.berth_as(&doctor, "doctor --strict").await;
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");

    // And nothing of it is too much.
    for (index, rule) in rules.iter().enumerate() {
        // Nothing here is called by a Service, and the hub serves no add-ons and no ClusterManagers.
        let needless = [
            "services",
            "endpointslices",
            "managedclusteraddons",
            "clustermanagers",
        ];
        if needless.iter().any(|it| rule["resources"][0] == *it) {
            continue;
        }
        let lacking = ward.cluster.user(&fresh("lacking"), &[]).await;
        let mut others = rules.clone();
        others.remove(index);
        ward.cluster.grant(&lacking, &others).await;
        let output = ward.berth_as(&lacking, "doctor --strict").await;
        assert_eq!(output.code, 1, "without {rule}: {output:?}");
        let group = rule["apiGroups"][0].as_str().unwrap();
        let named = format!("{}.{group}", rule["resources"][0].as_str().unwrap());
        assert!(output.stdout.contains(&named), "without {rule}: {output:?}");
    }
}

#[tokio::test]
async fn what_is_in_order_is_told_to_those_who_ask() {
    let ward = Ward::new().await;
    ward.is_sound().await;
    let output = ward.berth("doctor -v").await;
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout.matches("ok ").count(), 22, "{output:?}");
    assert!(
        output
            .stdout
            .contains("ok dry-run: Berth refuses malformed writes\n"),
        "{output:?}"
    );
    let output = ward.berth("doctor -o yaml").await;
    assert!(
        output.ok().starts_with("checks:\n- id: crds\n"),
        "{output:?}"
    );
}

#[tokio::test]
async fn what_is_no_hub_is_told_so() {
    let cluster = Cluster::private().await;
    if !cluster.only_devhub("a real one is lent, and has been a hub") {
        return;
    }
    let admin = cluster.admin().await;
    let output = admin.berth(&["doctor"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    assert!(
        output
            .stderr
            .starts_with("Error: the API server does not serve managedclusters"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_hub_that_hangs_is_not_waited_for() {
    let house = House::shared().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let person = house.cluster.person_at(&url).await;
    let output = person
        .berth(&["doctor", "--request-timeout", "500ms"])
        .await;
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (
            1,
            format!(
                "Error: the hub at {url} did not answer in 500ms (get /version); --request-timeout sets how long to wait\n"
            )
            .as_str()
        )
    );
}
