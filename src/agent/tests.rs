//! Flags, and the settings that they define.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use super::Args;
use super::args::Given;

/// The command as it is in [`crate::cli`].
#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

fn given(flags: &[&str]) -> Result<Given, String> {
    let words = ["agent"].iter().chain(flags);
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    let given = command.args.settings();
    given.map_err(|error| format!("{error:#}"))
}

/// With a bootstrap kubeconfig.
fn with(flags: &[&str]) -> Result<Given, String> {
    given(&[&["--bootstrap-kubeconfig=b"], flags].concat())
}

const SEVERAL: [&str; 3] = [
    "--feature-gates=MultipleHubs=true",
    "--bootstrap-kubeconfigs=/spoke/one/kubeconfig",
    "--bootstrap-kubeconfigs=/spoke/two,three/kubeconfig",
];

#[test]
fn the_operators_command_line_works() {
    let operator = [
        "--spoke-cluster-name=c1",
        "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
        "--feature-gates=AddonManagement=true",
        "--feature-gates=ClusterProperty=true",
        "--spoke-external-server-urls=https://a:6443,https://b",
        "--client-cert-expiration-seconds=7200",
        "--cluster-annotations=agent.open-cluster-management.io/x=y,z",
        "--cluster-labels=a=b,c=d",
        "--kube-api-qps=20",
        "--kube-api-burst=30",
        "--max-custom-cluster-claims=5",
        "--reserved-cluster-claim-suffixes=a.io,b.io",
        "--addon-kubeclient-registration-auth=token",
        "--addon-token-expiration-seconds=3600",
    ];
    let given = given(&operator).unwrap();
    assert_eq!(given.warnings, [] as [String; 0]);
    let agent = given.agent;
    assert_eq!(agent.cluster_name.as_deref(), Some("c1"));
    assert_eq!(
        agent.bootstraps,
        [PathBuf::from("/spoke/bootstrap/kubeconfig")]
    );
    assert_eq!(agent.wish.urls, ["https://a:6443", "https://b"]);
    let annotations = [(
        "agent.open-cluster-management.io/x".to_owned(),
        "y,z".to_owned(),
    )];
    assert_eq!(agent.wish.annotations, annotations.into());
    let labels = [("a", "b"), ("c", "d")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(agent.wish.labels, labels.into());
    assert_eq!(agent.expiration_seconds, Some(7200));
    assert_eq!(agent.claims.max_custom, 5);
    assert_eq!(agent.claims.reserved_suffixes, ["a.io", "b.io"]);
    assert!(agent.cluster_properties);
    let lease = given.parts[0].1.clone().unwrap();
    assert_eq!(lease.name, "registration-agent-lock");
    let times = [
        lease.lease_duration,
        lease.renew_deadline,
        lease.retry_period,
    ];
    assert_eq!(times, [137, 107, 26].map(Duration::from_secs));
    // The operator sets it, and may leave it empty.
    let unnamed = with(&["--spoke-cluster-name=", "--agent-id="]).unwrap();
    assert_eq!(unnamed.agent.cluster_name, None);
    assert_eq!(unnamed.agent.agent_name, None);
}

#[test]
fn each_part_that_runs_takes_its_lease_and_no_other() {
    for (flags, expected) in [
        (
            &[][..],
            &[
                ("agent", "registration-agent-lock"),
                ("work-agent", "work-agent-lock"),
            ][..],
        ),
        (&["--work=false"], &[("agent", "registration-agent-lock")]),
        (
            &["--registration=false"],
            &[("work-agent", "work-agent-lock")],
        ),
        (&["--singleton"], &[("agent", "klusterlet-agent-lock")]),
        (
            &["--singleton", "--registration=false"],
            &[("work-agent", "klusterlet-agent-lock")],
        ),
    ] {
        let given = with(flags).unwrap();
        let parts = given.parts.iter().map(|(part, election)| {
            let lease = election.as_ref().unwrap();
            (part.name(), &*lease.name)
        });
        assert_eq!(parts.collect::<Vec<_>>(), expected, "{flags:?}");
    }
    let error = with(&["--registration=false", "--work=false"]).unwrap_err();
    assert!(error.contains("leave nothing to do"), "{error}");
}

#[test]
fn several_hubs_take_the_gate_and_two_of_them() {
    let several = given(&[&SEVERAL[..], &["--hub-connection-timeout-seconds=180"]].concat());
    let agent = several.unwrap().agent;
    let paths = ["/spoke/one/kubeconfig", "/spoke/two,three/kubeconfig"];
    assert_eq!(agent.bootstraps, paths.map(PathBuf::from));
    assert_eq!(agent.hub_timeout, Duration::from_secs(180));
    let few = "--bootstrap-kubeconfigs: expect at least 2 bootstrap kubeconfigs";
    let many: Vec<_> = (0..17).map(|_| SEVERAL[1]).collect();
    for (flags, says) in [
        (&SEVERAL[..2], few),
        (&["--bootstrap-kubeconfig=b", SEVERAL[0]], few),
        (
            &SEVERAL[1..],
            "--bootstrap-kubeconfigs: needs --feature-gates=MultipleHubs=true",
        ),
        (
            &[&SEVERAL[..1], &many].concat(),
            "--bootstrap-kubeconfigs: 17 hubs are more than 16",
        ),
        (&[], "--bootstrap-kubeconfig <FILE>"),
    ] {
        let error = given(flags).unwrap_err();
        assert!(error.contains(says), "{flags:?}: {error}");
    }
}

#[test]
fn what_is_wrong_or_not_supported_is_named() {
    for (flag, says) in [
        ("--grpc-config=/c", "--grpc-config: this agent registers by"),
        (
            "--grpc-bootstrap-config=/c",
            "--grpc-bootstrap-config: this agent registers by",
        ),
        (
            "--hub-cluster-arn=a",
            "--hub-cluster-arn: this agent registers by",
        ),
        (
            "--managed-cluster-arn=a",
            "--managed-cluster-arn: this agent registers by",
        ),
        (
            "--managed-cluster-role-suffix=a",
            "--managed-cluster-role-suffix: this agent registers by",
        ),
        (
            "--registration-auth=awsirsa",
            "--registration-auth: \"awsirsa\" is not supported",
        ),
        (
            "--cluster-name=A_b",
            "--cluster-name: \"A_b\" is not a valid name of a cluster",
        ),
        (
            "--namespace=A.b",
            "--namespace: \"A.b\" is not a valid name of a Namespace",
        ),
        (
            "--cluster-healthcheck-period=0s",
            "cluster healthcheck period must greater than zero",
        ),
        (
            "--client-cert-expiration-seconds=60",
            "60 is less than 3600",
        ),
        (
            "--spoke-external-server-urls=http://a",
            "\"http://a\" is not an https URL",
        ),
        (
            "--cluster-annotations=a",
            "\"a\" is not of the form KEY=VALUE",
        ),
        (
            "--cluster-labels=a",
            "--cluster-labels: \"a\" is not of the form KEY=VALUE",
        ),
        (
            "--addon-kubeclient-registration-auth=basic",
            "unknown driver \"basic\"",
        ),
        ("--feature-gates=Nonsense=true", "unknown gate \"Nonsense\""),
        ("--max-custom-cluster-claims=-1", "invalid value '-1' for"),
    ] {
        let error = with(&[flag]).unwrap_err();
        assert!(error.contains(says), "{flag}: {error}");
    }
    let short = [
        "--addon-kubeclient-registration-auth=token",
        "--addon-token-expiration-seconds=60",
    ];
    let error = with(&short).unwrap_err();
    assert!(error.contains("60 is less than 600"), "{error}");
}

/// The file system of a pod is read-only.
#[test]
fn a_temporary_folder_is_made_only_if_no_other_is_named() {
    let named = with(&["--hub-kubeconfig-dir=/spoke/hub-kubeconfig"]).unwrap();
    assert!(named.temporary.is_none());
    assert_eq!(named.agent.folder, Path::new("/spoke/hub-kubeconfig"));
    let unnamed = with(&[]).unwrap();
    let folder = unnamed.temporary.unwrap();
    assert_eq!(unnamed.agent.folder, folder.path().join("hub-kubeconfig"));
}
