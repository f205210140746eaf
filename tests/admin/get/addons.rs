//! `berth get addons`.

use berth_testkit::addons::definition;
use berth_testkit::cluster::fresh;
use berth_testkit::{eventually, when};
use serde_json::json;

use crate::house::House;

const GROUP: &str = "/apis/addon.open-cluster-management.io/v1beta1";

#[tokio::test]
async fn add_ons_are_shown_with_what_is_wrong() {
    let house = House::shared().await;
    let cluster = fresh("addons");
    let stage = || house.stage().with("c", &cluster);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}});
    house.cluster.apply(&[namespace, definition()]).await;
    let admin = house.cluster.admin().await;
    let path = format!("{GROUP}/namespaces/{cluster}/managedclusteraddons");
    eventually("the kind to be served", async || {
        when(admin.get(&path).await.unwrap(), |it| it.code == 200)
    })
    .await;
    stage()
        .plays("$ berth get addons -n {c}\nNo add-ons found in namespace \"{c}\".\n")
        .await;
    for (name, status, message) in [
        ("proxy", "True", "leases"),
        ("search", "False", "no such image"),
    ] {
        let addon = json!({
            "apiVersion": "addon.open-cluster-management.io/v1beta1", "kind": "ManagedClusterAddOn",
            "metadata": {"name": name, "namespace": cluster}, "spec": {},
        });
        admin.post(&path, &addon).await.unwrap().ok();
        let condition = json!({
            "type": "Available", "status": status, "reason": "Reported", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let status = json!({"status": {"conditions": [condition], "namespace": "agents"}});
        admin
            .merge(&format!("{path}/{name}/status"), &status)
            .await
            .unwrap()
            .ok();
    }
    let shown = "\
$ berth get addons -n {c}
NAME[..]AVAILABLE   DEGRADED   PROGRESSING   AGE
proxy    True[..]
search   False[..]
$ berth get addon search --cluster {c} -o wide --no-headers
search   False[..]agents[..]no such image
$ berth get mca -n {c} -o name
managedclusteraddon.addon.open-cluster-management.io/proxy
managedclusteraddon.addon.open-cluster-management.io/search
$ berth get addons proxy -n {c} -o tree
<ManagedClusterAddOn>
└── <proxy>
    └── <{c}> Available=True
";
    stage().plays(shown).await;
    for name in ["proxy", "search"] {
        admin.delete(&format!("{path}/{name}")).await.unwrap().ok();
    }
}
