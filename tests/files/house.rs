//! The house: the picture of the crates in ARCHITECTURE.md equals their manifests, and nothing runs in circles.

mod arrows;
mod circles;
mod imports;
mod profiles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates of the picture, and what each one uses.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// What pure crates do not depend on directly: clients, runtimes, sockets.
const IMPURE: [&str; 9] = [
    "axum",
    "hyper",
    "hyper-util",
    "http-body-util",
    "kube-runtime",
    "rustls",
    "tokio",
    "tokio-rustls",
    "tokio-util",
];

/// What pure crates do not depend on through another crate either.
const RUNTIMES: [&str; 8] = [
    "axum",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "tokio",
    "tokio-rustls",
    "tokio-util",
];

/// Crates that only decide. Each `core` is another one.
const PURE: [&str; 7] = [
    "api",
    "rbac",
    "cel",
    "rollout",
    "rules",
    "policies",
    "work/replicas",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folders of crates: all that the workspaces here consist of.
fn folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().to_owned()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).expect("a folder of the repository");
        for entry in entries {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                open.push(path);
            } else if name == "Cargo.toml" {
                found.push(folder.clone());
            }
        }
    }
    found
}

/// The names under `[dependencies]` of a manifest, and under it those that are optional.
fn dependencies(folder: &Path) -> Vec<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let mut names = Vec::new();
    let mut within = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            within = section.trim_end() == "dependencies]";
            if let Some(name) = section.strip_prefix("dependencies.") {
                names.push(name.trim_end_matches(']').to_owned());
            }
        } else if within
            && let Some((name, _)) = line.split_once(['.', ' ', '='])
            && !name.starts_with('#')
            && !name.is_empty()
        {
            names.push(name.to_owned());
        }
    }
    names
}

fn package(folder: &Path) -> String {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let (_, package) = manifest.split_once("[package]").expect("a package");
    let name = package
        .lines()
        .find_map(|line| line.strip_prefix("name = \""));
    name.expect("a name").trim_end_matches('"').to_owned()
}

/// A crate's name in the picture: its folder; `src` is the binary's.
fn name(folder: &Path) -> String {
    let name = folder.strip_prefix(root()).expect("inside");
    if name.as_os_str().is_empty() {
        "src".to_owned()
    } else {
        name.to_string_lossy().into_owned()
    }
}

fn in_manifests() -> Arrows {
    let folders = folders();
    let by_package: BTreeMap<_, _> = folders.iter().map(|it| (package(it), name(it))).collect();
    let uses = |folder: &PathBuf| {
        let all = dependencies(folder).into_iter();
        all.filter_map(|it| by_package.get(&it).cloned()).collect()
    };
    folders.iter().map(|it| (name(it), uses(it))).collect()
}

/// The lines `crate -> other, other` of the picture.
fn in_the_picture() -> Arrows {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is one");
    let (_, rest) = page.split_once("```crates\n").expect("the picture");
    let (picture, _) = rest.split_once("```").expect("its end");
    let arrows = picture.lines().map(|line| {
        let (of, uses) = line.split_once("->").expect("an arrow in each line");
        let uses = uses.split(',').map(str::trim).filter(|it| !it.is_empty());
        (of.trim().to_owned(), uses.map(str::to_owned).collect())
    });
    arrows.collect()
}

#[test]
fn the_picture_has_the_crates_and_arrows_of_the_manifests() {
    let (drawn, real) = (in_the_picture(), in_manifests());
    assert!(real.len() > 10, "{real:?}");
    for (of, uses) in &real {
        let drawn = drawn.get(of);
        assert_eq!(
            drawn,
            Some(uses),
            "{of}, in ARCHITECTURE.md and in its Cargo.toml"
        );
    }
    let gone: Vec<_> = drawn.keys().filter(|it| !real.contains_key(*it)).collect();
    assert!(gone.is_empty(), "drawn, but not there: {gone:?}");
}

/// The folders of the crates that only decide.
fn pure() -> Vec<PathBuf> {
    let is_pure = |folder: &PathBuf| {
        let name = name(folder);
        PURE.contains(&name.as_str()) || name.ends_with("/core")
    };
    let pure: Vec<_> = folders().into_iter().filter(is_pure).collect();
    assert!(pure.len() > PURE.len(), "not all found: {pure:?}");
    pure
}

/// The names of the packages that a package is built with. Those that only its tests use do not count.
fn packages_below(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .current_dir(root())
        .args(["tree", "--locked", "--offline", "--package", package])
        .args(["--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{package}: {errors}");
    let lines = String::from_utf8_lossy(&tree.stdout);
    let names = lines.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn pure_crates_depend_on_no_client_and_no_runtime() {
    for folder in pure() {
        let all = dependencies(&folder);
        let impure: Vec<_> = all
            .iter()
            .filter(|it| IMPURE.contains(&it.as_str()))
            .collect();
        assert!(impure.is_empty(), "{} uses {impure:?}", folder.display());
    }
}

#[test]
fn pure_crates_are_built_without_a_runtime() {
    for folder in pure() {
        let package = package(&folder);
        let below = packages_below(&package);
        assert!(below.contains(&package), "{below:?}");
        let runtimes: Vec<_> = RUNTIMES.iter().filter(|it| below.contains(**it)).collect();
        assert!(runtimes.is_empty(), "{package} is built with {runtimes:?}");
    }
}

#[test]
fn nothing_that_ships_uses_what_does_not() {
    let real = in_manifests();
    let is_dev = |name: &String| name.starts_with("dev/");
    for (of, uses) in real.iter().filter(|(of, _)| !is_dev(of)) {
        let dev: Vec<_> = uses
            .iter()
            .filter(|it| is_dev(it))
            .map(String::as_str)
            .collect();
        // The demo, under a feature that the image leaves out.
        let may: &[&str] = if of == "src" { &["dev/demo"] } else { &[] };
        assert!(dev.iter().all(|it| may.contains(it)), "{of} uses {dev:?}");
    }
}
