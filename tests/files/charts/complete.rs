//! Nothing is missing in the charts, and nothing is left in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use berth_manifests::files;

use super::generated_files;
use crate::generated::HEADER;
use crate::manifests::files::in_repository;

/// Manifests that are no copies in a chart, and why.
const NO_COPIES: [(&str, &str); 19] = [
    (
        "operator/namespace.yaml",
        "Helm makes one, and server/namespace.yaml is the other",
    ),
    ("operator/klusterlet/namespace.yaml", "Helm makes it"),
    ("operator/deployment.yaml", "written by hand"),
    ("operator/klusterlet/deployment.yaml", "written by hand"),
    ("agent/namespace.yaml", "Helm makes it"),
    ("server/deployment.yaml", "written by hand"),
    ("server/controller-deployment.yaml", "written by hand"),
    (
        "overlays/placement-apart/deployment.yaml",
        "written by hand",
    ),
    (
        "overlays/cert-manager/server/deployment.yaml",
        "written by hand",
    ),
    ("agent/deployment.yaml", "written by hand"),
    ("console/deployment.yaml", "written by hand"),
    (
        "overlays/client-certificates/deployment.yaml",
        "not offered: flags of API servers come first",
    ),
    (
        "overlays/replace-ocm/cluster-role.yaml",
        "for a hub of OCM's operator",
    ),
    (
        "overlays/replace-ocm-work/cluster-role.yaml",
        "for a hub of OCM's operator",
    ),
    (
        "overlays/hosting/role.yaml",
        "for the namespace of each hub that is another cluster",
    ),
    (
        "overlays/hosted-hub/tokens.yaml",
        "for a hub that runs nothing",
    ),
    (
        "placement/debug/role.yaml",
        "not offered: it has no Deployment",
    ),
    (
        "placement/debug/service.yaml",
        "not offered: it has no Deployment",
    ),
    (
        "placement/debug/reader.yaml",
        "not offered: it has no Deployment",
    ),
];

#[test]
fn every_manifest_is_in_a_chart_or_has_a_reason() {
    let made: BTreeSet<String> = generated_files()
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    for manifest in files::ALL {
        let path = manifest
            .path
            .strip_prefix("manifests/")
            .expect("all are there");
        let copied = ["berth-hub", "berth-agent"]
            .iter()
            .any(|chart| made.contains(&format!("charts/{chart}/templates/{path}")));
        let reason = NO_COPIES.iter().find(|(it, _)| *it == path);
        assert_ne!(
            copied,
            reason.is_some(),
            "{path}: a line in copies.rs, or in NO_COPIES"
        );
    }
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A template whose manifest is gone would be installed nevertheless.
#[test]
fn no_generated_file_is_left_behind() {
    let made: BTreeSet<PathBuf> = generated_files()
        .into_iter()
        .map(|(path, _)| in_repository(&path))
        .collect();
    let mut found = Vec::new();
    files_below(&in_repository("charts"), &mut found);
    let generated = found.iter().filter(|path| {
        let text = fs::read_to_string(path).expect("a text");
        text.starts_with(HEADER) || text.starts_with("{{- /* Generated.")
    });
    let generated: Vec<_> = generated.collect();
    assert!(generated.len() > 60, "{}", generated.len());
    for path in generated {
        assert!(made.contains(path), "{}: delete it", path.display());
    }
}
