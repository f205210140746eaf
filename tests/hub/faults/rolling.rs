//! A rolling restart of three replicas, as a Deployment does it: a new replica starts, and when it is ready an old one is
//! stopped. The balancer learns late of both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_certs::issue::Authority;
use jiff::Timestamp;
use tempfile::TempDir;

use super::{calls, length};
use crate::faults::load::{Load, Manner, Target, trusting};
use crate::faults::replicas::Busy;
use crate::faults::tally::Report;
use berth_testkit::balancer::Balancer;
use berth_testkit::cluster::janitor::{self, Watched};
use berth_testkit::cluster::{Cluster, Private};
use berth_testkit::guarded::{gates_kubeconfig, install};
use berth_testkit::in_process::HOUR;
use berth_testkit::shipped;
use berth_testkit::{Gate, berth, where_to_serve};

const NAME: &str = "gate.example.com";
const REPLICAS: usize = 3;

/// The delay with which the balancer learns of readiness; replicas keep serving for a second longer.
const LATE: Duration = Duration::from_millis(1500);
const DELAY: &str = "2500ms";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gates_are_replaced_one_after_another() {
    replaced("gates replaced one by one", &["webhook-server"], false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hubs_are_replaced_one_after_another() {
    let command = ["hub", "--listen", "127.0.0.1:auto"];
    replaced("hubs replaced one by one", &command, true).await;
}

/// As the manifests run them: gates that read the certificate, and controllers, one of which keeps it and hands over when it
/// stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gates_and_keepers_of_certificates_are_replaced_one_after_another() {
    let report = Report::begin("gates and keepers of certificates replaced");
    let delay = format!("--shutdown-delay={DELAY}");
    let flags = [delay.as_str()];
    let mut busy = Busy::start(&flags, &[]).await;
    busy.load.go_on(100).await;
    let rollouts = length::times(1);
    for _ in 0..rollouts {
        let mut leaving = Vec::new();
        for _ in 0..busy.replicas.gates.len() {
            let new = busy.replicas.world.gate(&flags).await;
            let old = busy.replicas.gates.remove(0);
            busy.replicas.gates.push(new);
            old.signal("TERM");
            busy.go_on(20).await;
            leaving.push(old);
        }
        for _ in 0..busy.replicas.keepers.len() {
            let new = busy.replicas.world.keeper(&[]).await;
            let mut old = busy.replicas.keepers.remove(0);
            busy.replicas.keepers.push(new);
            old.signal("TERM");
            busy.go_on(20).await;
            assert_eq!(old.ended().await.code(), Some(0));
        }
        for mut old in leaving {
            assert_eq!(old.ended().await.code(), Some(0));
        }
    }
    busy.go_on(20).await;
    let (tally, written, _replicas) = busy.stop().await;
    let beside = format!("{rollouts} x {REPLICAS} replicas, {written}");
    report.all_decided(&tally, beside);
}

/// The settings of the replicas.
struct Deployment {
    command: Vec<String>,
    kubeconfig: PathBuf,
    authority: Authority,
    _hub: Private,
}

async fn replaced(what: &'static str, command: &[&str], in_one: bool) {
    let report = Report::begin(what);
    let hub = Cluster::private().await;
    install(&hub).await;
    if in_one {
        shipped::install_hub(&hub).await;
    }
    calls::grant(&hub).await;
    let deployment = Deployment {
        command: command.iter().map(|it| (*it).to_owned()).collect(),
        kubeconfig: gates_kubeconfig(&hub).await,
        authority: Authority::new("gates", 24 * HOUR, Timestamp::now()).unwrap(),
        _hub: hub,
    };
    let balancer = Balancer::start_late(LATE).await;
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        let replica = deployment.replica();
        balancer.add(&replica.0);
        replicas.push(replica);
    }
    balancer.knows(REPLICAS).await;
    let trust = trusting(deployment.authority.certificate_pem());
    let target = Target::new(balancer.port, NAME, &trust);
    let load = Load::start(target, Manner::default());
    load.go_on(100).await;
    let rollouts = length::times(1);
    let mut leaving = Vec::new();
    for _ in 0..rollouts * REPLICAS {
        let new = deployment.replica();
        balancer.add(&new.0);
        let old = replicas.remove(0);
        replicas.push(new);
        // It is ready: the rollout does not wait until the balancer knows.
        old.0.signal("TERM");
        load.go_on(50).await;
        leaving.push(old);
        if leaving.len() == REPLICAS {
            gone(&mut leaving).await;
        }
    }
    gone(&mut leaving).await;
    load.go_on(100).await;
    let tally = load.stop().await;
    report.all_decided(&tally, format!("{rollouts} x {REPLICAS} replicas"));
}

async fn gone(leaving: &mut Vec<(Gate, Watched)>) {
    for mut old in leaving.drain(..) {
        assert_eq!(old.0.ended().await.code(), Some(0));
    }
}

impl Deployment {
    /// Starts a new replica, and waits until it is ready.
    fn replica(&self) -> (Gate, Watched) {
        let certs = TempDir::new().unwrap();
        janitor::remove_at_the_end(certs.path());
        let leaf = self.authority.leaf(&[NAME], &[], HOUR, Timestamp::now());
        leaf.unwrap().write_folder(certs.path()).unwrap();
        let arguments: Vec<_> = self.command.iter().map(String::as_str).collect();
        let mut command = berth(&arguments);
        command
            .args(["--kubeconfig", of(&self.kubeconfig)])
            .args(["--shutdown-delay", DELAY])
            .args(where_to_serve(certs.path()));
        let mut gate = Gate::run(command, certs);
        let watched = Watched::new(&gate.child);
        gate.logged(|line| line["message"] == "ready: questions are answered");
        (gate, watched)
    }
}

fn of(path: &Path) -> &str {
    path.to_str().unwrap()
}
