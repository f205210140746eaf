//! A small fleet on a devhub, with each fault once.

use berth_devhub::{DevHub, Options};
use berth_hub::{Access, HubApi};
use berth_lifecycle::{Metrics, controller};
use berth_lifecycle_core::config::{Config, Gates};
use berth_reconcile::Running;
use clap::Parser;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::hub::FleetHub;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    agents: AgentsArgs,
}

/// The reconcilers of a hub, in this process.
async fn reconcilers(kubeconfig: &Path) -> Running {
    let access = Access::of_server(Some(kubeconfig.to_owned()));
    let config = Config {
        namespace: "open-cluster-management-hub".to_owned(),
        gates: Gates {
            auto_approval: true,
            ..Gates::default()
        },
        auto_approved_users: [format!("system:serviceaccount:default:{BOOTSTRAP}")].into(),
        ..Config::default()
    };
    let api = HubApi::connect(&access).await.unwrap();
    let metrics = Metrics::new(&Registry::new()).unwrap();
    controller(config, metrics).start(api, "fleet", None, None)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_joins_suffers_each_fault_and_comes_back() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let devhub = DevHub::start(Options::default()).await.unwrap();
    let admin = folder.path().join("admin.kubeconfig");
    std::fs::write(
        &admin,
        devhub.kubeconfig("admin", &["system:masters"]).unwrap(),
    )
    .unwrap();
    let hub = FleetHub::open(Some(&admin), folder.path()).await.unwrap();
    let stop = CancellationToken::new();
    let lifecycle = tokio::spawn(reconcilers(&admin).await.run(stop.clone()));
    hub.wait_for_the_controller().await.unwrap();

    let flags = "fleet --agents 4 --ramp 50 --lease 1 --cut-off 2 --clock-off 3 --crash 1";
    let flags = Flags::try_parse_from(flags.split(' ')).unwrap();
    let others = Others {
        controller: std::process::id(),
        hub: None,
    };
    let report = measure(&flags.agents, &hub, others, 1, folder.path());
    let report = serde_json::to_value(report.await.unwrap()).unwrap();
    stop.cancel();
    lifecycle.await.unwrap().unwrap();

    assert_eq!(report["accepted_to_available"]["count"], 4, "{report:#}");
    let faults = report["faults"].as_array().unwrap();
    let counts = |it: &Value| {
        ["unknown", "tainted", "back"].map(|what| it[what]["count"].as_u64().unwrap_or(0))
    };
    let seen: Vec<_> = faults
        .iter()
        .map(|it| (it["fault"].as_str().unwrap(), counts(it)))
        .collect();
    let expected = [
        ("cut off", [2, 2, 2]),
        ("clock off", [0, 0, 3]),
        ("crash", [1, 1, 1]),
    ];
    assert_eq!(seen, expected, "{report:#}");
    // The certificate outlives the agent, in a Secret.
    assert_eq!(faults[2]["certificate_requests"], 0, "{report:#}");
}

#[test]
fn more_faulty_agents_than_agents_are_refused() {
    let flags = Flags::try_parse_from(["fleet", "--agents", "2", "--crash", "3"]).unwrap();
    let error = flags.agents.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "--crash 3: there are 2 agents only; see --agents"
    );
}
