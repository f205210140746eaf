//! Bootstrap kubeconfigs of no use: the agent says so, and goes on as soon as there is another.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use berth_testkit::cluster::{Cluster, Credentials, rule};

use super::world::World;
use crate::faults::line::{Line, State};

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_the_hub_refuses_are_waited_for() {
    let world = World::new().await;
    let expired = Credentials::Token("expired".to_owned());
    let expired = world.hub.cluster.person("nobody", &expired).await;
    world.write_bootstrap(&expired, |text| text);
    let mut agent = world.agent(&[]);
    let refused = agent.waits("BootstrapCredentialsRefused");
    let words = "the API server does not accept these credentials";
    assert!(refused.contains(words), "{refused}");

    // It may see ManagedClusters and create them, and must not ask for certificates.
    let group = "cluster.open-cluster-management.io";
    let clusters = rule(&["get", "create"], group, &["managedclusters"], &[]);
    let user = world.hub.cluster.user("without-csrs", &[]).await;
    world.hub.cluster.grant(&user, &[clusters]).await;
    world.write_bootstrap(&user, |text| text);
    world.reported("created", |_| true).await;
    let refused = agent.waits("RequestRefused");
    let words = "cannot list resource \"certificatesigningrequests\"";
    assert!(refused.contains(words), "{refused}");

    let user = world.bootstrap_user(true).await;
    world.write_bootstrap(&user, |text| text);
    world.pending().await;
    assert_eq!(world.csrs().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_waited_for() {
    let world = World::new().await;
    let set = |mode| std::fs::set_permissions(&world.bootstrap, Permissions::from_mode(mode));
    set(0).unwrap();
    let good = std::fs::read(&world.bootstrap);
    let words = match &good {
        // The tests run as root, who may read everything, but not a folder as a file.
        Ok(_) => {
            std::fs::remove_file(&world.bootstrap).unwrap();
            std::fs::create_dir(&world.bootstrap).unwrap();
            "Is a directory"
        }
        Err(_) => "Permission denied",
    };
    let mut agent = world.agent(&[]);
    let waiting = agent.waits("BootstrapKubeconfigUnusable");
    assert!(waiting.contains(words), "{waiting}");
    match good {
        Ok(good) => {
            std::fs::remove_dir(&world.bootstrap).unwrap();
            std::fs::write(&world.bootstrap, good).unwrap();
        }
        Err(_) => set(0o600).unwrap(),
    }
    world.pending().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_address_of_the_hub_counts_for_a_request_under_way() {
    let world = World::new().await;
    let direct = std::fs::read(&world.bootstrap).unwrap();
    let line = Line::to(Cluster::shared().await).await;
    world.change_bootstrap(|it| it["clusters"][0]["cluster"]["server"] = line.url.as_str().into());
    let mut agent = world.agent(&[]);
    let csr = world.pending().await;
    agent.waits("CSRPending");
    line.is(State::Down);
    agent.waits("HubAway");
    std::fs::write(&world.bootstrap, direct).unwrap();
    world.decide(&csr, "Approved").await;
    world.accept(true).await;
    agent.is_managed();
    assert_eq!(world.csrs().await.len(), 1);
}
