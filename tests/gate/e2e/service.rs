//! The registrations as they are shipped, with the gate behind a Service.

use std::net::Ipv4Addr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use berth_devhub::Options;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::e2e::sentences::{VALIDATORS, cannot_accept};
use berth_testkit::balancer::Balancer;
use berth_testkit::cluster::{Cluster, fresh, wait_until_in_force};
use berth_testkit::guarded::{
    Guarded, RunningGate, gates_kubeconfig, install, may_join, registrations_with,
};
use berth_testkit::objects::{SET_LABEL, accepted, cluster};
use berth_testkit::writes::By;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_is_called_by_its_services_name() {
    let why = "a real hub asks its network where a Service is, and there is none";
    if !Cluster::shared().await.only_devhub(why) {
        return;
    }
    let (namespace, name) = (
        "open-cluster-management-hub",
        "cluster-manager-registration-webhook",
    );
    let balancer = Balancer::start().await;
    let service = (namespace.to_owned(), name.to_owned(), 9443);
    let options = Options {
        services: [(service, (Ipv4Addr::LOCALHOST, balancer.port).into())].into(),
        ..Options::default()
    };
    let hub = Cluster::start_devhub(options).await;
    install(&hub).await;
    let now = Timestamp::now();
    let authority = Authority::new("gate", HOUR, now).unwrap();
    let certs = TempDir::new().unwrap();
    let dns_name = format!("{name}.{namespace}.svc");
    let leaf = authority.leaf(&[&dns_name], &[], HOUR, now).unwrap();
    leaf.write_folder(certs.path()).unwrap();
    let gate = RunningGate::run(&gates_kubeconfig(&hub).await, certs, &[]);
    balancer.add(&gate);
    let registrations = registrations_with(|client_config| {
        client_config["caBundle"] = STANDARD.encode(authority.certificate_pem()).into();
    });
    hub.apply(&registrations).await;
    wait_until_in_force(&hub).await;

    let hub = Guarded {
        cluster: &hub,
        gate,
    };
    let (name, user) = (fresh("c"), fresh("dev"));
    let dev = hub.developer(&user, &[may_join("default")]).await;
    let written = dev.by(By::Kube).create(&accepted(&name)).await;
    let denial = cannot_accept(&name, &user);
    written.denied(VALIDATORS, 403, "Forbidden", &[&denial]);
    let stored = dev.by(By::Kube).create(&cluster(&name)).await.ok();
    assert_eq!(stored["metadata"]["labels"][SET_LABEL], "default");
}
