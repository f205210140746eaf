//! The policies in `manifests/policies`, and the matchConditions of the registrations: both are made by `berth-policies`.

use std::fs;
use std::path::Path;
use std::process::Command;

use berth_policies::{Guard, Options};

use super::HEADER;

/// What `berth policies` prints with these flags.
pub(crate) fn printed(flags: &[&str]) -> String {
    let output = Command::new(berth_testkit::program())
        .arg("policies")
        .args(flags)
        .output()
        .unwrap();
    assert!(output.status.success(), "{flags:?}");
    format!("{HEADER}{}", String::from_utf8(output.stdout).unwrap())
}

/// The registrations, each with its condition.
pub(crate) const REGISTRATIONS: [(&str, Guard); 5] = [
    (
        "manifests/registrations/managedclustermutators.yaml",
        Guard::ClusterDefaults,
    ),
    (
        "manifests/registrations/managedclustervalidators.yaml",
        Guard::Cluster,
    ),
    (
        "manifests/registrations/managedclustersets/managedclustersetvalidators.yaml",
        Guard::ClusterSet,
    ),
    (
        "manifests/registrations/managedclustersetbindingvalidators.yaml",
        Guard::Binding,
    ),
    (
        "manifests/registrations/certificatesigningrequests/certificatesigningrequestvalidators.yaml",
        Guard::Request,
    ),
];

/// The file of a registration, with its condition written anew.
pub(crate) fn with_condition(path: &str, guard: Guard) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(file).unwrap();
    let (before, rest) = text
        .split_once("  matchConditions:\n")
        .unwrap_or_else(|| panic!("{path} has no matchConditions"));
    let (_, after) = rest
        .split_once("\n  admissionReviewVersions:")
        .unwrap_or_else(|| panic!("{path} has no admissionReviewVersions"));
    let name = guard.name();
    let expression = guard.expression(&Options::default());
    let lines: Vec<_> = expression
        .lines()
        .map(|line| format!("      {line}"))
        .collect();
    format!(
        "{before}  matchConditions:\n  - name: {name}\n    expression: |\n{}\n  admissionReviewVersions:{after}",
        lines.join("\n")
    )
}
