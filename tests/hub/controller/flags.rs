//! Invalid flags.

use berth_testkit::berth;

/// What is said, and the exit code.
fn refused(args: &[&str]) -> (String, Option<i32>) {
    let output = berth(args).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (said, output.status.code())
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for command in ["controller", "hub"] {
        for (flags, says) in [
            (
                &["--gc-resource-list=a/b"][..],
                "Error: --gc-resource-list: \"a/b\" is not of the form group/version/resource, such as \
                 \"work.open-cluster-management.io/v1/manifestworks\"; for the core group leave the group empty, as in \
                 \"/v1/configmaps\"",
            ),
            (
                &["--enabled-registration-drivers=awsirsa"],
                "Error: --enabled-registration-drivers: \"awsirsa\" is not supported; only csr is",
            ),
            (
                &["--feature-gates=Nonsense=true"],
                "Error: --feature-gates: unknown gate \"Nonsense\"; the gates of the",
            ),
            (
                &["--leader-election-renew-deadline=20s"],
                "the lease duration (15s) must be greater than the renew deadline (20s)",
            ),
            (&["--kubeconfig=/nowhere"], "Error: --kubeconfig /nowhere: "),
            (
                &[],
                "Error: this does not run in a cluster: name the hub by --kubeconfig FILE or in $KUBECONFIG",
            ),
        ] {
            let args = [&[command], flags].concat();
            let (said, code) = refused(&args);
            assert_eq!(code, Some(1), "{args:?}: {said}");
            let last = said.lines().last().unwrap_or_default();
            assert!(last.contains(says), "{args:?}: {said}");
        }
    }
}

#[test]
fn what_is_no_flag_is_no_failure_of_the_hub() {
    for (flag, says) in [
        ("--nonsense", "unexpected argument '--nonsense'"),
        ("--listen=here", "expected IP:PORT or :PORT"),
        ("--leader-election-retry-period=soon", "'soon'"),
    ] {
        let (said, code) = refused(&["controller", flag]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// The flag comes before `$KUBECONFIG`, and that before the cluster in which this runs.
#[test]
fn the_hub_of_the_variable_counts_for_servers_too() {
    let folder = tempfile::TempDir::new().unwrap();
    let broken = folder.path().join("broken");
    std::fs::write(&broken, "clusters: 7\n").unwrap();
    for (command, flag, says) in [
        ("controller", None, format!("Error: {}: ", broken.display())),
        ("hub", None, format!("Error: {}: ", broken.display())),
        (
            "controller",
            Some("--kubeconfig=/nowhere"),
            "Error: --kubeconfig /nowhere: ".to_owned(),
        ),
    ] {
        let mut berth = std::process::Command::new(env!("CARGO_BIN_EXE_berth"));
        berth.arg(command).args(flag).env("KUBECONFIG", &broken);
        let output = berth.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with(&says), "{command}: {said}");
    }
}

/// The image has the executable under this name, too, and OCM's operator starts it so.
#[test]
fn ocms_name_of_the_executable_does_as_well() {
    let folder = tempfile::TempDir::new().unwrap();
    let registration = folder.path().join("registration");
    std::os::unix::fs::symlink(berth_testkit::program(), &registration).unwrap();
    let mut command = std::process::Command::new(&registration);
    let flags = [
        "controller",
        "--feature-gates=ManagedClusterAutoApproval=true",
        "--cluster-auto-approval-users=alice",
        "--enabled-registration-drivers=csr",
        "--tls-min-version=VersionTLS12",
        "--kubeconfig=/nowhere",
    ];
    let output = command.args(flags).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("Error: --kubeconfig /nowhere: "), "{said}");
}

/// `berth hub` decides by the hub that it works on.
#[test]
fn a_hub_is_not_in_files() {
    let (said, code) = refused(&["hub", "--hub-files", "examples/hub"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("'--hub-files'"), "{said}");
}
