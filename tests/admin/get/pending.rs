//! `berth get pending` and `berth get csr`.

use berth_testkit::cluster::{fresh, rule};
use berth_testkit::csr::Csr;

use crate::accept::bootstrap;
use crate::house::House;

#[tokio::test]
async fn what_waits_for_a_person_is_shown_until_it_is_accepted() {
    let house = House::shared().await;
    let cluster = fresh("waiting");
    house.managed_cluster(&cluster, &[]).await;
    let sender = bootstrap(&house).await;
    let csr = Csr::new(&cluster, "agent1").sent_by(&sender).await;
    let stage = || {
        let stage = house.stage().with("c", &cluster).with("csr", &csr.name);
        stage.with("sender", &sender.user)
    };
    let of_cluster = "-l open-cluster-management.io/cluster-name={c} --no-headers";
    let before = format!(
        "\
$ berth get pending {{c}}
NAME[..]REQUESTERS[..]AGE
{{c}}   {{sender}}[..]
$ berth get csr --pending {of_cluster} -o custom-columns=A:.metadata.name
{{csr}}
$ berth get csr {{csr}} -o wide
NAME[..]CLUSTER[..]REQUESTER[..]STATE[..]AGE[..]SIGNER[..]GROUPS
{{csr}}   {{c}}   {{sender}}   Pending[..]kubernetes.io/kube-apiserver-client[..]
$ berth get pending -w
Error: --watch does not work with pending: use 'berth get clusters -w' or 'berth get csr -w'
? 1
"
    );
    stage().plays(&before).await;
    house.berth(&format!("accept {cluster}")).await.ok();
    let after = format!(
        "\
$ berth get pending {{c}} -o name
$ berth get csr --pending {of_cluster}
No CSR of a cluster waits for a decision.
$ berth get csr {{csr}} --no-headers
{{csr}}   {{c}}   {{sender}}   Approved[..]
"
    );
    stage().plays(&after).await;

    // Without the right to read CSRs, clusters are shown still.
    let one = fresh("one");
    house.managed_cluster(&one, &[]).await;
    let reader = house.cluster.user(&fresh("reader"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let rules = [rule(&["get", "list"], group, &["managedclusters"], &[])];
    house.cluster.grant(&reader, &rules).await;
    let output = house
        .berth_as(&reader, &format!("get pending {one} --no-headers"))
        .await;
    assert!(
        output.ok().starts_with(&format!("{one}   <unreadable>")),
        "{output:?}"
    );
    assert!(
        output.stderr.starts_with("Warning: CSRs cannot be shown: "),
        "{output:?}"
    );
}
