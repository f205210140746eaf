use std::time::Duration;

use berth_lifecycle_core::config::Gates;
use clap::Parser;

use super::args::Settings;
use super::{Args, Selection};
use crate::feature_gates::{self, Of};
use crate::hub_component::HubComponent;

/// The command as it is in [`crate::cli`].
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

fn args(flags: &[&str]) -> Result<Args, String> {
    let words = ["controller"].iter().chain(flags);
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok(command.args)
}

fn component(flags: &[&str]) -> Result<HubComponent, String> {
    let component = args(flags)?.controllers.component;
    component.settings().map_err(|error| format!("{error:#}"))
}

fn settings(flags: &[&str]) -> Result<Settings, String> {
    let namespace = component(flags)?.namespace;
    let args = args(flags)?;
    let gates = feature_gates::parse(&args.feature_gates, Of::Controller)
        .map_err(|error| error.to_string())?;
    let reserved = args.common.reserved.prefixes();
    let settings = args
        .controllers
        .lifecycle
        .settings(&namespace, gates.lifecycle, reserved);
    settings.map_err(|error| format!("{error:#}"))
}

fn election(flags: &[&str]) -> Result<[Duration; 3], String> {
    let lease = component(flags)?.election("lock").unwrap();
    Ok([
        lease.lease_duration,
        lease.renew_deadline,
        lease.retry_period,
    ])
}

/// The controllers that run.
fn selected(flags: &[&str]) -> Result<String, String> {
    let all = Selection {
        registration: Some(settings(&[])?.config),
        placement: Some(
            args(&[])?
                .controllers
                .placement
                .settings(&Default::default()),
        ),
        work: Some(Default::default()),
        addon: Some(Default::default()),
        operator: None,
    };
    let selection = args(flags)?.controllers.selection.select(all);
    let selection = selection.map_err(|error| error.to_string())?;
    let selected = [
        ("registration", selection.registration.is_some()),
        ("placement", selection.placement.is_some()),
        ("work", selection.work.is_some()),
        ("addon", selection.addon.is_some()),
    ];
    let selected = selected.iter().filter(|(_, runs)| *runs);
    let names: Vec<_> = selected.map(|(name, _)| *name).collect();
    Ok(names.join(","))
}

#[test]
fn all_controllers_run_except_those_that_the_flag_leaves_out() {
    for (value, expected) in [
        ("*", "registration,placement,work,addon"),
        ("*,-placement", "registration,work,addon"),
        ("-placement,*,-work", "registration,addon"),
        ("*, -registration", "placement,work,addon"),
        ("registration", "registration"),
        ("work", "work"),
        ("addon", "addon"),
        ("*,-addon", "registration,placement,work"),
        ("placement,registration", "registration,placement"),
    ] {
        let flag = format!("--controllers={value}");
        assert_eq!(selected(&[&flag]).as_deref(), Ok(expected), "{value}");
    }
    let all = "registration,placement,work,addon";
    assert_eq!(selected(&[]).as_deref(), Ok(all));
    assert_eq!(
        selected(&["--controllers", "-registration,*"]).as_deref(),
        Ok("placement,work,addon")
    );
    let twice = ["--controllers=placement", "--controllers=registration"];
    assert_eq!(selected(&twice).as_deref(), Ok("registration"));
    for (value, error) in [
        (
            "addons",
            "--controllers: \"addons\" is not a controller; the controllers are registration, placement, work and addon",
        ),
        (
            "-placement",
            "--controllers: \"-placement\" selects no controller;",
        ),
        ("", "--controllers: \"\" selects no controller;"),
    ] {
        let refused = selected(&[&format!("--controllers={value}")]).unwrap_err();
        assert!(refused.starts_with(error), "{refused}");
    }
}

#[test]
fn without_flags_it_is_ocms_controller_with_kubernetes_own_timings() {
    let settings = settings(&[]).unwrap();
    assert_eq!(settings.config.namespace, "open-cluster-management-hub");
    assert_eq!(settings.config.gates, Gates::default());
    assert!(settings.config.auto_approved_users.is_empty());
    assert_eq!(settings.config.gc_resources.len(), 2);
    assert!(settings.warnings.is_empty());
    let component = component(&[]).unwrap();
    assert!(component.limit().is_none() && component.warnings.is_empty());
    let lease = component.election(berth_lifecycle::NAMES.lease).unwrap();
    assert_eq!(lease.namespace, "open-cluster-management-hub");
    assert_eq!(lease.name, "registration-controller-lock");
    assert_eq!(election(&[]).unwrap(), [15, 10, 2].map(Duration::from_secs));
}

#[test]
fn prefixes_of_reserved_names_are_the_admins() {
    for (flags, kube, team) in [
        (&[][..], true, false),
        (&["--reserved-prefixes=team-,prod-"], false, true),
        (&["--reserved-prefixes=kube-, team-"], true, true),
        (&["--reserved-prefixes="], false, false),
    ] {
        let config = settings(flags).unwrap().config;
        let reserved = |name| config.reservation(name).is_some();
        assert_eq!(
            (reserved("kube-x"), reserved("team-x")),
            (kube, team),
            "{flags:?}"
        );
        assert!(reserved("kube-system") && !reserved("c1"), "{flags:?}");
    }
}

/// manifests/cluster-manager/management/registration/deployment.yaml of OCM, with everything on.
#[test]
fn what_ocms_operator_passes_is_taken() {
    let settings = settings(&[
        "--feature-gates=ManagedClusterAutoApproval=true",
        "--feature-gates=DefaultClusterSet=false",
        "--feature-gates=ClusterImporter=true",
        "--cluster-auto-approval-users=old",
        "--agent-image=quay.io/open-cluster-management/registration-operator:latest",
        "--bootstrap-serviceaccount=open-cluster-management/agent-registration-bootstrap",
        "--image-pull-secret-name=open-cluster-management-image-pull-credentials",
        "--import-renderers=render-auto,render-from-config-secret",
        "--kubeconfig=/var/run/secrets/hub/kubeconfig",
        "--hub-cluster-arn=arn:aws:eks:us-west-2:123456789012:cluster/hub",
        "--enabled-registration-drivers=csr",
        "--auto-approved-csr-users=one,two",
        "--auto-approved-arn-patterns=arn:aws:eks:us-west-2:123456789013:cluster/.*",
        "--labels=app=hub,tier=one",
        "--aws-resource-tags=product=v1:tenant:a,environment=v1:dev",
        "--grpc-ca-file=/var/run/secrets/hub/grpc/certs/tls.crt",
        "--grpc-key-file=/var/run/secrets/hub/grpc/certs/tls.key",
        "--auto-approved-grpc-users=three",
        "--tls-min-version=VersionTLS12",
        "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    ])
    .unwrap();
    let config = &settings.config;
    assert!(config.gates.auto_approval && !config.gates.default_cluster_set);
    let users: Vec<_> = config.auto_approved_users.iter().collect();
    assert_eq!(users, ["one", "two"]);
    assert_eq!(config.labels.len(), 2);
    // One for each flag that has no meaning, and one for the deprecated one.
    assert_eq!(settings.warnings.len(), 11, "{:?}", settings.warnings);
}

#[test]
fn of_a_flag_given_twice_the_later_value_counts_as_in_go() {
    let settings = settings(&["--namespace=a", "--config=x", "--namespace=b", "--config=y"]);
    assert_eq!(settings.unwrap().config.namespace, "b");
}

#[test]
fn the_deprecated_users_count_if_there_are_no_others() {
    let old = "--cluster-auto-approval-users=old";
    let users = |flags: &[&str]| {
        let gate = ["--feature-gates=ManagedClusterAutoApproval=true"];
        let settings = settings(&[&gate, flags].concat()).unwrap();
        let users = settings.config.auto_approved_users.into_iter();
        (users.collect::<Vec<_>>().join(" "), settings.warnings)
    };
    let (found, warnings) = users(&[old]);
    assert_eq!(found, "old");
    assert!(
        warnings[0].contains("--auto-approved-csr-users"),
        "{warnings:?}"
    );
    let (found, _) = users(&[
        old,
        "--auto-approved-csr-users=a",
        "--auto-approved-csr-users=b,c",
    ]);
    assert_eq!(found, "a b c");
    let without_gate = settings(&["--auto-approved-csr-users=a"]).unwrap();
    assert!(without_gate.warnings[0].contains("ManagedClusterAutoApproval=true"));
}

#[test]
fn timings_are_go_durations() {
    for (flags, expected) in [
        (
            &[
                "--leader-election-lease-duration=137s",
                "--leader-election-renew-deadline=1m47s",
                "--leader-election-retry-period=26s",
            ][..],
            [137_000, 107_000, 26_000],
        ),
        (
            &["--leader-election-retry-period=1.5s"],
            [15_000, 10_000, 1_500],
        ),
        (
            &["--leader-election-lease-duration", "0h1m0s"],
            [60_000, 10_000, 2_000],
        ),
    ] {
        assert_eq!(election(flags), Ok(expected.map(Duration::from_millis)));
    }
}

#[test]
fn the_election_can_be_switched_off_as_a_flag_of_go() {
    for (flag, on) in [
        ("--disable-leader-election", false),
        ("--disable-leader-election=true", false),
        ("--disable-leader-election=false", true),
    ] {
        let component = component(&[flag]).unwrap();
        assert_eq!(component.election("lock").is_some(), on, "{flag}");
    }
}

#[test]
fn requests_are_limited_only_if_somebody_says_so() {
    let limited = |flags: &[&str]| component(flags).map(|it| it.limit().is_some());
    assert_eq!(
        limited(&["--kube-api-qps=50", "--kube-api-burst=100"]),
        Ok(true)
    );
    assert_eq!(limited(&["--kube-api-qps=0.5"]), Ok(true));
    for none in ["0", "-1"] {
        assert_eq!(limited(&["--kube-api-qps", none]), Ok(false));
    }
    let alone = component(&["--kube-api-burst=5"]).unwrap();
    assert!(alone.limit().is_none());
    assert_eq!(
        alone.warnings,
        ["--kube-api-burst has no effect without --kube-api-qps"]
    );
}

#[test]
fn nothing_is_deleted_if_the_list_is_empty() {
    let settings = settings(&["--gc-resource-list="]).unwrap();
    assert!(settings.config.gc_resources.is_empty());
}

#[test]
fn what_is_wrong_is_named() {
    for (flag, says) in [
        (
            "--enabled-registration-drivers=csr,grpc",
            "--enabled-registration-drivers: \"grpc\" is not supported",
        ),
        (
            "--gc-resource-list=nonsense",
            "--gc-resource-list: \"nonsense\"",
        ),
        ("--labels=a", "--labels: \"a\""),
        (
            "--namespace=A.b",
            "--namespace: \"A.b\" is not a valid name of a Namespace",
        ),
        (
            "--namespace=",
            "--namespace: \"\" is not a valid name of a Namespace",
        ),
        ("--feature-gates=Nonsense=true", "unknown gate \"Nonsense\""),
        (
            "--leader-election-lease-duration=10s",
            "--leader-election-lease-duration, --leader-election-renew-deadline, --leader-election-retry-period: leader \
             election: the lease duration (10s) must be greater than the renew deadline (10s)",
        ),
        (
            "--leader-election-retry-period=-2s",
            "--leader-election-retry-period: cannot be negative",
        ),
        (
            "--leader-election-retry-period=0s",
            "the retry period must be greater than zero",
        ),
        (
            "--leader-election-retry-period=soon",
            "'soon' for '--leader-election-retry-period",
        ),
        (
            "--kube-api-qps=NaN",
            "--kube-api-qps: NaN is not a valid rate",
        ),
        ("--kube-api-qps=1e-300", "is not a valid rate"),
        ("--kube-api-burst=0", "--kube-api-burst: 0 is not between 1"),
        (
            "--kube-api-burst=-1",
            "--kube-api-burst: -1 is not between 1",
        ),
        ("--listen=8443", "IP:PORT"),
        ("--disable-leader-election=perhaps", "'perhaps'"),
        ("--nonsense", "'--nonsense'"),
    ] {
        let error = settings(&[flag]).unwrap_err();
        assert!(error.contains(says), "{flag}: {error}");
    }
}
