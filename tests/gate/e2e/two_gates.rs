//! Two gates behind one address, as the manifests' Deployment runs them.

use std::net::Ipv4Addr;
use std::time::Duration;

use berth_certs::issue::Authority;
use jiff::Timestamp;
use tempfile::TempDir;

use berth_testkit::balancer::Balancer;
use berth_testkit::cluster::Cluster;
use berth_testkit::guarded::{AS_FROM_AFAR, RunningGate, gates_kubeconfig, install, register};
use berth_testkit::writers::Writers;

const HOUR: Duration = Duration::from_secs(3600);

/// Over HTTP/1.1, on as many connections as there are calls at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_that_share_the_work_stops_and_no_call_fails() {
    let [before, after] = one_of_two_stops(AS_FROM_AFAR).await;
    assert!(before.iter().all(|count| *count > 0), "{before:?}");
    assert!(after[0] > before[0], "{before:?}, {after:?}");
}

/// Over HTTP/2, on one connection, which has to be made anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_one_of_two_that_does_the_work_stops_and_no_call_fails() {
    let [before, after] = one_of_two_stops(Ipv4Addr::LOCALHOST).await;
    assert!(after[0] > before[0], "{before:?}, {after:?}");
}

/// How many reviews each of two had answered before one stopped, first the one that stayed; and how many that one had in the
/// end.
async fn one_of_two_stops(address: Ipv4Addr) -> [Vec<u64>; 2] {
    let cluster = Cluster::private().await;
    install(&cluster).await;
    let now = Timestamp::now();
    let authority = Authority::new("gates", HOUR, now).unwrap();
    let kubeconfig = gates_kubeconfig(&cluster).await;
    let balancer = Balancer::start().await;
    let gate = || {
        let certs = TempDir::new().unwrap();
        let leaf = authority.leaf(&[], &[address.into()], HOUR, now).unwrap();
        leaf.write_folder(certs.path()).unwrap();
        let gate = RunningGate::run(&kubeconfig, certs, &["--shutdown-delay", "2s"]);
        balancer.add(&gate);
        gate
    };
    let (mut gate, mut leaving) = (gate(), gate());
    let url = format!("https://{address}:{}", balancer.port);
    register(&cluster, &url, authority.certificate_pem()).await;

    let mut load = Writers::start(&cluster).await;
    load.go_on(50).await;
    if gate.answered().await > leaving.answered().await {
        std::mem::swap(&mut gate, &mut leaving);
    }
    let before = vec![gate.answered().await, leaving.answered().await];
    leaving.signal("TERM");
    assert_eq!(leaving.ended().await.code(), Some(0));
    load.go_on(50).await;
    load.stop().await;
    [before, vec![gate.answered().await]]
}
