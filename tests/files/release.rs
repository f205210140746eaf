//! What a release is made with: the scripts in `.ci`, and the workflows that call them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::manifests::files::in_repository;

/// The image of a release of this version.
fn image() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let digest = "5".repeat(64);
    format!("ghcr.io/example/berth:v{version}@sha256:{digest}")
}

fn run(script: &str, arguments: &[&str]) -> Output {
    let mut python = Command::new("python3");
    let python = python.arg(in_repository(script)).args(arguments);
    python
        .current_dir(in_repository("."))
        .output()
        .expect("python3 is installed")
}

fn assert_done(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

fn assert_refused(output: &Output, reason: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(reason), "{errors}");
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("the script wrote it");
    serde_saphyr::from_str(&text).expect("it is YAML")
}

#[test]
fn a_chart_of_a_release_has_its_image_and_its_changes() {
    for chart in ["berth-hub", "berth-agent"] {
        let folder = TempDir::new().unwrap();
        let source = format!("charts/{chart}");
        let to = folder.path().to_str().unwrap();
        assert_done(&run(".ci/chart", &[&source, &image(), to]));

        let values = read(&folder.path().join(chart).join("values.yaml"));
        let set = &values["image"];
        assert_eq!(set["registry"], "ghcr.io", "{set}");
        assert_eq!(set["repository"], "example/berth", "{set}");
        assert_eq!(set["tag"], concat!("v", env!("CARGO_PKG_VERSION")));
        assert_eq!(set["digest"], format!("sha256:{}", "5".repeat(64)));
        assert!(folder.path().join(chart).join("templates").is_dir());

        let metadata = read(&folder.path().join(chart).join("Chart.yaml"));
        let annotations = &metadata["annotations"];
        let of = |name: &str| annotations[format!("artifacthub.io/{name}")].as_str();
        assert_eq!(of("license"), Some("Apache-2.0"));
        assert_eq!(of("prerelease"), Some("false"));
        let images: Value = serde_json::from_str(of("images").unwrap()).unwrap();
        assert_eq!(images[0]["image"], image());
        assert_changes(of("changes").unwrap());
    }
}

/// Each heading of the version's part of the changelog has a change, and no mark of Markdown is left.
fn assert_changes(changes: &str) {
    let changes: Vec<Value> = serde_json::from_str(changes).unwrap();
    let described = |it: &Value| it["description"].as_str().unwrap().to_owned();
    let descriptions: Vec<String> = changes.iter().map(described).collect();
    let changelog = fs::read_to_string(in_repository("CHANGELOG.md")).unwrap();
    let (_, part) = changelog.split_once("\n## ").expect("a version");
    let (part, _) = part.split_once("\n## ").unwrap_or((part, ""));
    let headings: Vec<&str> = part
        .lines()
        .filter_map(|it| it.strip_prefix("### "))
        .collect();
    assert!(!headings.is_empty(), "{part}");
    for heading in headings {
        let start = format!("{heading}: ");
        let has = descriptions.iter().any(|it| it.starts_with(&start));
        assert!(has, "no change of {heading}: {descriptions:?}");
    }
    for (change, description) in changes.iter().zip(&descriptions) {
        assert!(!description.contains("]("), "{description}");
        assert!(!description.contains('`'), "{description}");
        assert!(change["kind"].is_string(), "{change}");
    }
}

#[test]
fn a_chart_of_no_release_is_refused() {
    let folder = TempDir::new().unwrap();
    let to = folder.path().to_str().unwrap();
    let digest = "5".repeat(64);
    for (image, reason) in [
        (
            "berth:v1",
            "name the image as REGISTRY/REPOSITORY:TAG@sha256:DIGEST",
        ),
        (
            &format!("ghcr.io/example/berth:v99.0.0@sha256:{digest}"),
            "and the image has tag v99.0.0",
        ),
    ] {
        let output = run(".ci/chart", &["charts/berth-hub", image, to]);
        assert_refused(&output, reason);
        assert!(!folder.path().join("berth-hub").exists(), "{image}");
    }
}

#[test]
fn the_plugin_names_each_archive_with_its_digest() {
    let folder = TempDir::new().unwrap();
    let to = folder.path().to_str().unwrap();
    let arguments = ["v0.1.0", "https://github.com/example/berth", to];
    let systems = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"];
    for system in systems {
        assert_refused(
            &run(".ci/krew", &arguments),
            &format!("berth-v0.1.0-{system}.tar.gz is missing"),
        );
        let archive = format!("berth-v0.1.0-{system}.tar.gz");
        fs::write(folder.path().join(archive), "abc").unwrap();
    }
    let output = run(".ci/krew", &arguments);
    assert_done(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    let plugin: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(plugin["spec"]["version"], "v0.1.0");
    let platforms = plugin["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), systems.len());
    for (platform, system) in platforms.iter().zip(systems) {
        let labels = &platform["selector"]["matchLabels"];
        let named = format!("{}-{}", labels["os"], labels["arch"]).replace('"', "");
        assert_eq!(named, system);
        let uri = format!(
            "https://github.com/example/berth/releases/download/v0.1.0/berth-v0.1.0-{system}.tar.gz"
        );
        assert_eq!(platform["uri"], uri);
        // Of "abc", by FIPS 180.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(platform["sha256"], digest);
        assert_eq!(platform["bin"], "kubectl-berth");
    }
}

/// A tag can be moved to another commit.
#[test]
fn workflows_name_actions_by_commit_with_the_tag_beside_it() {
    let mut seen = 0;
    for entry in fs::read_dir(in_repository(".github/workflows")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let Some((_, used)) = line.split_once("uses: ") else {
                continue;
            };
            seen += 1;
            let (action, tag) = used.split_once(" # ").unwrap_or((used, ""));
            let commit = action.split_once('@').map_or("", |(_, commit)| commit);
            let is_commit = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
            assert!(
                is_commit && tag.starts_with('v'),
                "{}: {used}",
                path.display()
            );
        }
    }
    assert!(seen > 3, "{seen}");
}
