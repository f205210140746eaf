//! `berth review`, with the built binary: its output and its exit codes.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use berth_testkit::{berth, repository};
use serde_json::Value;
use tempfile::TempDir;

/// Runs `berth review` on the sample hub, in a folder with the manifests of these tests.
fn review(args: &[&str], stdin: &str) -> (i32, String, String) {
    let folder = manifests();
    let hub = repository("examples/hub");
    let mut child = berth(&["review", "--hub-files", hub.to_str().unwrap()])
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(stdin.as_bytes())
        .unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    (
        status.code().unwrap(),
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    )
}

fn manifests() -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in [
        ("plain.yaml", CLUSTER.to_owned()),
        ("accepted.yaml", format!("{CLUSTER}  hubAcceptsClient: true\n")),
        ("both.yaml", format!("{CLUSTER}---\n{CLUSTER}  hubAcceptsClient: true\n")),
        ("bad-url.yaml", format!("{CLUSTER}  managedClusterClientConfigs: [{{url: 'http://h'}}]\n")),
        ("binding.yaml", "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, \
            metadata: {name: set-a, namespace: app}, spec: {clusterSet: set-a}}".to_owned()),
        ("pod.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p}}".to_owned()),
        ("broken.yaml", "a: [".to_owned()),
        ("empty.yaml", "---\n".to_owned()),
        ("wrong-type.yaml", CLUSTER.replace("60", "'60'")),
        ("list.yaml", format!("apiVersion: v1\nkind: List\nitems:\n- {}", CLUSTER.replace('\n', "\n  "))),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

const CLUSTER: &str = "\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: c1
  labels: {cluster.open-cluster-management.io/clusterset: set-a}
spec:
  leaseDurationSeconds: 60
";

fn recorded(name: &str) -> PathBuf {
    repository("tests/data/reviews").join(name)
}

#[test]
fn the_exit_code_says_how_it_went() {
    for (case, args, code) in [
        ("allowed", &["--as", "alice", "-f", "plain.yaml"][..], 0),
        ("denied", &["--as", "bob", "-f", "plain.yaml"], 1),
        ("malformed", &["--as", "alice", "-f", "bad-url.yaml"], 1),
        (
            "the worst of several counts",
            &["--as", "alice", "-f", "plain.yaml", "-f", "bad-url.yaml"],
            1,
        ),
        (
            "several documents",
            &["--as", "alice", "-f", "both.yaml"],
            1,
        ),
        (
            "by a group",
            &[
                "--as",
                "zoe",
                "--as-group",
                "team-carol",
                "-f",
                "accepted.yaml",
            ],
            0,
        ),
        ("a list", &["--as", "alice", "-f", "list.yaml"], 0),
        (
            "an update that changes nothing",
            &["--as", "bob", "-f", "plain.yaml", "--old", "plain.yaml"],
            0,
        ),
        (
            "an update that accepts",
            &[
                "--as",
                "alice",
                "-f",
                "accepted.yaml",
                "--old",
                "plain.yaml",
            ],
            1,
        ),
        ("a binding", &["--as", "alice", "-f", "binding.yaml"], 0),
        (
            "a feature gate",
            &["--as", "bob", "-f", "plain.yaml", "--old", "accepted.yaml"],
            1,
        ),
        (
            "which restores OCM's way",
            &[
                "--as",
                "bob",
                "-f",
                "plain.yaml",
                "--old",
                "accepted.yaml",
                "--feature-gates",
                "UnguardedDenial=true",
            ],
            0,
        ),
        (
            "a field of the wrong type cannot be decided",
            &["--as", "alice", "-f", "wrong-type.yaml"],
            2,
        ),
    ] {
        let (exit, stdout, stderr) = review(args, "");
        assert_eq!(exit, code, "{case}: {stdout}{stderr}");
        assert_eq!(stderr, "", "{case}");
    }
}

#[test]
fn a_decision_is_told_in_full() {
    let (code, stdout, _) = review(&["--as", "alice", "-f", "accepted.yaml"], "");
    assert_eq!(code, 1);
    assert_eq!(
        stdout,
        "\
DENIED (403 Forbidden)  CREATE ManagedCluster \"c1\"
  by user \"alice\", in groups \"system:authenticated\"

  why:
    managedclusters/accept.cluster.open-cluster-management.io \"c1\" is forbidden: user \"alice\" cannot update the HubAcceptsClient field: needs verb \"update\" on managedclusters/accept in API group register.open-cluster-management.io, name \"c1\"; check: berth can-i accept c1

  asked:
    is there a namespace \"c1\"? no
      Namespace \"c1\" does not exist
    may \"alice\" update or create managedclusters/accept.register.open-cluster-management.io \"c1\"? no
      no role grants it
    which ManagedClusterSetBindings does namespace \"c1\" hold? none
    may \"alice\" create managedclustersets/join.cluster.open-cluster-management.io \"set-a\"? yes
      create by ClusterRoleBinding \"alice-join-default-and-set-a\" -> ClusterRole \"join-default-and-set-a\" for user \"alice\"
    is there a ManagedClusterSet \"set-a\"? yes
"
    );
}

#[test]
fn the_patch_and_the_warnings_are_told() {
    let unlabelled = CLUSTER.replace(
        "  labels: {cluster.open-cluster-management.io/clusterset: set-a}\n",
        "",
    );
    let (code, stdout, _) = review(&["--as", "alice", "-f", "-"], &unlabelled);
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("ALLOWED  CREATE ManagedCluster \"c1\"\n"),
        "{stdout}"
    );
    assert!(
        stdout.ends_with(
            "\n  changed by the gate:\n    {\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":\
             {\"cluster.open-cluster-management.io/clusterset\":\"default\"}}\n"
        ),
        "{stdout}"
    );
    let (code, stdout, _) = review(&["--as", "bob", "-f", "-"], &unlabelled);
    assert_eq!(code, 0);
    assert!(
        stdout.ends_with(
            "\n  warnings:\n    ManagedCluster \"c1\" was not put into ManagedClusterSet \"default\": \
             user \"bob\" may not create managedclustersets/join for it\n"
        ),
        "{stdout}"
    );
}

#[test]
fn json_is_the_answer_to_the_whole_way() {
    let unlabelled = CLUSTER.replace(
        "  labels: {cluster.open-cluster-management.io/clusterset: set-a}\n",
        "",
    );
    let (code, stdout, _) = review(&["--as", "alice", "-f", "-", "-o", "json"], &unlabelled);
    assert_eq!(code, 0);
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(
        answer["response"]["patchType"], "JSONPatch",
        "the mutating path's patch is there"
    );
    let requirements = answer["response"]["auditAnnotations"]["requirements"]
        .as_str()
        .unwrap();
    assert_eq!(
        requirements, "join \"default\": yes; set-exists \"default\": yes",
        "and the validating path's questions"
    );
}

#[test]
fn recorded_reviews_are_decided_as_they_are() {
    let denied = recorded("accept-alice-denied.validate.json");
    let (code, stdout, _) = review(&["-f", denied.to_str().unwrap(), "-o", "json"], "");
    assert_eq!(code, 1);
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        answer["response"]["uid"],
        "a383e374-cd8f-428c-a691-eebe755e85d1"
    );
    assert_eq!(answer["response"]["status"]["code"], 403);
    let (code, ..) = review(
        &[
            "-f",
            denied.to_str().unwrap(),
            "--as",
            "carol",
            "--as-group",
            "team-carol",
        ],
        "",
    );
    assert_eq!(code, 0, "the same, as somebody who may");
    let v1beta1 = recorded("v1beta1-create-accepted-alice-denied.validate.json");
    let (_, stdout, _) = review(&["-f", v1beta1.to_str().unwrap(), "-o", "json"], "");
    assert!(
        stdout.starts_with(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1""#),
        "{stdout}"
    );
}

#[test]
fn what_cannot_be_decided_says_what_is_missing() {
    for (args, expected) in [
        (
            &["-f", "plain.yaml"][..],
            "plain.yaml, document 1: --as USER: required for plain objects",
        ),
        (
            &["--as", "a", "-f", "pod.yaml"],
            "pod.yaml, document 1: kind \"Pod\" of apiVersion \"v1\" is neither",
        ),
        (
            &["--as", "a", "-f", "broken.yaml"],
            "broken.yaml, document 1: not YAML",
        ),
        (
            &["--as", "a", "-f", "empty.yaml"],
            "the files contain no objects",
        ),
        (
            &["--as", "a", "-f", "nowhere.yaml"],
            "nowhere.yaml: No such file",
        ),
        (
            &["--as", "a", "-f", "binding.yaml", "--old", "plain.yaml"],
            "--old: expected the stored",
        ),
        (
            &["--as", "a", "-f", "both.yaml", "--old", "plain.yaml"],
            "--old: expected one object in -f, found 2",
        ),
        (
            &[
                "--as",
                "a",
                "-f",
                "plain.yaml",
                "--feature-gates",
                "Nonsense=true",
            ],
            "unknown gate \"Nonsense\"",
        ),
        (
            &["--as", "a", "-f", "plain.yaml", "--hub-files", "nowhere"],
            "nowhere cannot be read",
        ),
        (&["--as-group", "g", "-f", "plain.yaml"], "--as <USER>"),
    ] {
        let (code, stdout, stderr) = review(args, "");
        assert_eq!(code, 2, "{args:?}: {stdout}{stderr}");
        assert_eq!(stdout, "", "{args:?}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
}
