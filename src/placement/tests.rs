use std::time::Duration;

use berth_placement::OnFault;
use clap::Parser;

use super::args::{ControllerArgs, Settings};

/// The command as it is in [`crate::cli`].
#[derive(Debug, Parser)]
#[command(args_override_self = true)]
struct Command {
    #[command(flatten)]
    args: ControllerArgs,
}

fn settings(flags: &[&str]) -> Result<Settings, String> {
    let words = ["controller"].iter().chain(flags);
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    command
        .args
        .settings()
        .map_err(|error| format!("{error:#}"))
}

#[test]
fn without_flags_it_holds_ocms_lease_and_keeps_decisions() {
    let settings = settings(&[]).unwrap();
    let lease = settings.election.as_ref().unwrap();
    assert_eq!(lease.namespace, "open-cluster-management-hub");
    assert_eq!(lease.name, "placement-lock");
    assert_eq!(lease.lease_duration, Duration::from_secs(15));
    assert_eq!(settings.scheduling.on_fault, OnFault::Keep);
    assert!(settings.limit().is_none() && settings.warnings.is_empty());
}

#[test]
fn flags_of_ocms_controller_are_accepted() {
    let settings = settings(&[
        "--namespace=hub",
        "--kubeconfig=/k",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        "--leader-election-lease-duration=137s",
        "--leader-election-renew-deadline=107s",
        "--leader-election-retry-period=26s",
        "--tls-min-version=VersionTLS12",
        "--listen=0.0.0.0:8443",
        "--config=/c",
        "--terminate-on-files=/a",
        "--terminate-on-files=/b",
        "-v=4",
        "--misconfigured-decisions=remove",
    ]);
    let settings = settings.unwrap();
    let lease = settings.election.as_ref().unwrap();
    assert_eq!(
        (&*lease.namespace, lease.lease_duration.as_secs()),
        ("hub", 137)
    );
    assert!(settings.limit().is_some());
    assert_eq!(settings.scheduling.on_fault, OnFault::Remove);
    assert_eq!(
        settings.warnings,
        [
            "--config is not supported and is ignored",
            "--terminate-on-files is not supported and is ignored",
        ]
    );
    assert!(
        self::settings(&["--disable-leader-election"])
            .unwrap()
            .election
            .is_none()
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (flag, expected) in [
        (
            "--namespace=A",
            "--namespace: \"A\" is not a valid name of a Namespace",
        ),
        (
            "--kube-api-burst=0",
            "--kube-api-burst: 0 is not between 1 and",
        ),
        (
            "--misconfigured-decisions=drop",
            "possible values: keep, remove",
        ),
    ] {
        let error = settings(&[flag]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
