//! The examples in `--help` run in a shell as they are printed.

use serde_json::json;

use crate::house::House;
use crate::shell::shell;
use berth_testkit::cluster::{finish, kubectl_is_there};

#[tokio::test]
async fn the_examples_of_sets_rights_and_maintenance_work() {
    if !kubectl_is_there() {
        return;
    }
    let (house, _berth) = House::placing().await;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}});
    house
        .admin
        .post("/api/v1/namespaces", &namespace)
        .await
        .unwrap()
        .ok();
    house.managed_cluster("cluster1", &[("region", "eu")]).await;
    house.managed_cluster("cluster2", &[]).await;
    house.berth("create clusterset staging").await.ok();
    let label = "cluster.open-cluster-management.io/clusterset";
    house
        .managed_cluster("cluster3", &[(label, "staging")])
        .await;
    for (command, codes) in [
        ("create clusterset", &[0, 0][..]),
        ("clusterset", &[0, 0, 0]),
        ("clusterset set", &[0, 0, 0]),
        ("clusterset bind", &[0, 0]),
        ("clusterset unbind", &[0]),
        // Nobody has granted dev anything, before the last.
        ("can-i", &[0, 1, 0, 0]),
        ("label", &[0, 0, 0, 0]),
        ("taint", &[0, 0, 0, 0]),
        ("cordon", &[0, 0, 0, 0]),
        ("drain", &[0, 0, 0, 0]),
        ("uncordon", &[0, 0]),
        // Clusters are in it, until it is deleted all the same.
        ("delete clusterset", &[1, 0]),
    ] {
        let help = house.berth(&format!("{command} --help")).await;
        let (_, examples) = help.ok().split_once("\nExample").unwrap();
        let examples = examples
            .lines()
            .filter_map(|line| line.strip_prefix("  berth "));
        let mut played = Vec::new();
        for example in examples {
            let line = shell(&house.admin, &[], &format!("berth {example}"));
            let output = finish(line, "").await;
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(
                !said.contains("No clusters found"),
                "berth {example}: {said}"
            );
            played.push(output.code);
        }
        assert_eq!(played, codes, "berth {command}");
    }
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        let path = format!("{}/{cluster}", crate::house::CLUSTERS);
        house.admin.delete(&path).await.unwrap().ok();
    }
    house
        .berth("delete clusterset prod staging gpu --force")
        .await
        .ok();
}
