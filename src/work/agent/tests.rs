//! Flags of the work agent, and the settings that they define.

use std::path::Path;
use std::time::Duration;

use berth_work_agent::NO_EVICTION;
use clap::Parser;

use super::args::{Given, WorkAgentArgs};

/// The command as it is in [`crate::cli`].
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: WorkAgentArgs,
}

fn given(flags: &[&str]) -> Result<Given, String> {
    let words = ["agent"].iter().chain(flags);
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    let given = command.args.settings();
    given.map_err(|error| format!("{error:#}"))
}

#[test]
fn the_operators_command_line_works() {
    let operator = [
        "--spoke-cluster-name=c1",
        "--workload-source-driver=kube",
        "--workload-source-config=/spoke/hub-kubeconfig/kubeconfig",
        "--terminate-on-files=/spoke/hub-kubeconfig/kubeconfig",
        "--agent-id=a1",
        "--feature-gates=RawFeedbackJsonString=true",
        "--feature-gates=ExecutorValidatingCaches=true,ExecutorImpersonation=true",
        "--kube-api-qps=20",
        "--hub-kube-api-qps=30",
        "--hub-kube-api-burst=40",
        "--status-sync-interval=60s",
        "--appliedmanifestwork-eviction-grace-period=876000h",
        "--workload-agent-workers=20",
        "--max-json-raw-length=512",
        "--disable-leader-election",
    ];
    let given = given(&operator).unwrap();
    assert_eq!(given.warnings, [] as [String; 0]);
    assert!(given.election.is_none());
    let agent = given.agent;
    assert_eq!(agent.cluster_name.as_deref(), Some("c1"));
    assert_eq!(agent.agent_id.as_deref(), Some("a1"));
    let kubeconfig = Path::new("/spoke/hub-kubeconfig/kubeconfig");
    assert_eq!(agent.hub_kubeconfig, kubeconfig);
    assert_eq!(agent.managed_limit, Some((20.0, 100)));
    assert_eq!(agent.hub_limit, Some((30.0, 40)));
    assert_eq!(agent.poll_interval, Duration::from_secs(60));
    assert_eq!(agent.eviction_grace, NO_EVICTION);
    assert!(agent.raw_feedback && agent.max_json_raw == 512);
    assert!(agent.impersonates_executors);
}

#[test]
fn the_defaults_are_ocms() {
    let given = given(&[]).unwrap();
    let agent = given.agent;
    let kubeconfig = Path::new("/spoke/hub-kubeconfig/kubeconfig");
    assert_eq!(agent.hub_kubeconfig, kubeconfig);
    assert_eq!((agent.cluster_name, agent.agent_id), (None, None));
    assert_eq!(agent.eviction_grace, Duration::from_secs(3600));
    assert_eq!(agent.poll_interval, Duration::from_secs(10));
    assert!(!agent.raw_feedback && agent.managed_limit.is_none());
    assert_eq!(agent.works_memory, berth_work_agent::WORKS_MEMORY);
    assert!(!agent.impersonates_executors);
    let lease = given.election.unwrap();
    assert_eq!(&*lease.name, "work-agent-lock");
    let times = [
        lease.lease_duration,
        lease.renew_deadline,
        lease.retry_period,
    ];
    assert_eq!(times, [137, 107, 26].map(Duration::from_secs));
}

#[test]
fn invalid_values_are_named() {
    for (flags, expected) in [
        (
            &["--workload-agent-workers=0"][..],
            "workload-agent-workers must be >= 1, got 0",
        ),
        (
            &["--workload-source-driver=mqtt"],
            "--workload-source-driver: \"mqtt\" is not supported",
        ),
        (
            &["--status-sync-interval=0s"],
            "--status-sync-interval: must be more than zero",
        ),
        (
            &["--appliedmanifestwork-eviction-grace-period=-1h"],
            "--appliedmanifestwork-eviction-grace-period: cannot be negative",
        ),
        (&["--feature-gates=NoGate=true"], "unknown gate \"NoGate\""),
        (&["--works-memory=much"], "--works-memory: \"much\" is not"),
        (&["--works-memory=0"], "--works-memory: \"0\" is not"),
        (&["--spoke-cluster-name=A"], "--spoke-cluster-name: \"A\""),
        (&["--namespace=A"], "--namespace: \"A\""),
    ] {
        let error = given(flags).unwrap_err();
        assert!(error.contains(expected), "{flags:?}: {error}");
    }
}
