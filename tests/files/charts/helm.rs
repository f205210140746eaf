//! Runs helm: each major that is installed, as `helm` and as `helm3`.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::manifests::files::{documents, in_repository};

/// The programs that there are.
static PROGRAMS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let is_there = |program: &&str| {
        let run = Command::new(program)
            .arg("version")
            .stdout(Stdio::null())
            .status();
        !matches!(run, Err(error) if error.kind() == ErrorKind::NotFound)
    };
    ["helm", "helm3"].into_iter().filter(is_there).collect()
});

/// A chart, with the namespace of its release.
#[derive(Clone, Copy)]
pub(super) struct Chart {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
}

pub(super) const HUB: Chart = Chart {
    name: "berth-hub",
    namespace: "open-cluster-management-hub",
};

pub(super) const AGENT: Chart = Chart {
    name: "berth-agent",
    namespace: "open-cluster-management-agent",
};

/// With `operator.enabled`.
pub(super) const HUB_OPERATOR: Chart = Chart {
    namespace: "open-cluster-management",
    ..HUB
};

/// With `operator.enabled`.
pub(super) const AGENT_OPERATOR: Chart = Chart {
    namespace: "open-cluster-management",
    ..AGENT
};

/// Each helm on the PATH. None is reported: the test passes without.
#[allow(
    clippy::print_stderr,
    reason = "a test that skips itself says so, clippy.toml allows it in test functions"
)]
pub(super) fn programs() -> &'static [&'static str] {
    if PROGRAMS.is_empty() {
        eprintln!("SKIPPED: no helm on PATH, the charts were not rendered");
    }
    &PROGRAMS
}

/// Whether the program is Helm 3.
pub(super) fn is_helm_3(program: &str) -> bool {
    let output = Command::new(program)
        .args(["version", "--short"])
        .output()
        .expect("helm can be started");
    String::from_utf8_lossy(&output.stdout).starts_with("v3.")
}

// === impl Chart ===

impl Chart {
    fn folder(self) -> std::path::PathBuf {
        in_repository(&format!("charts/{}", self.name))
    }

    /// What helm says about the chart with these values.
    pub(super) fn linted(self, program: &str, values: &Value) -> Output {
        let command = ["lint", "--strict", "--namespace", self.namespace];
        self.run(program, &command, values, &["--kube-version", "1.36.0"])
    }

    /// What helm renders with these values, or says instead.
    pub(super) fn run_template(self, program: &str, values: &Value, more: &[&str]) -> Output {
        let command = [
            "template",
            "release",
            "--namespace",
            self.namespace,
            "--kube-version",
            "1.36.0",
        ];
        self.run(program, &command, values, more)
    }

    /// The objects that helm renders with these values, without those of `helm test`.
    pub(super) fn rendered(self, program: &str, values: &Value) -> Vec<Value> {
        let mut objects = self.rendered_with_hooks(program, values);
        objects.retain(|it| it["metadata"]["annotations"]["helm.sh/hook"].is_null());
        objects
    }

    pub(super) fn rendered_with_hooks(self, program: &str, values: &Value) -> Vec<Value> {
        self.rendered_with(program, values, &[])
    }

    /// The objects that helm renders with these values and arguments.
    pub(super) fn rendered_with(self, program: &str, values: &Value, more: &[&str]) -> Vec<Value> {
        let output = self.run_template(program, values, more);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {values}: {errors}");
        let mut objects = documents(self.name, &String::from_utf8_lossy(&output.stdout));
        objects.retain(|it| !it.is_null());
        objects
    }

    fn run(self, program: &str, command: &[&str], values: &Value, more: &[&str]) -> Output {
        let mut child = Command::new(program)
            .args(command)
            .arg(self.folder())
            .args(["--values", "-"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("helm can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A helm that fails earlier does not read it.
        let _ = stdin.write_all(values.to_string().as_bytes());
        drop(stdin);
        child.wait_with_output().expect("helm ends")
    }
}
