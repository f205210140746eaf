//! The picture of the crates in ARCHITECTURE.md equals their manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the picture, and what each one uses.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// What pure crates do not use: clients, runtimes, sockets.
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

/// Crates that only decide.
const PURE: [&str; 4] = ["api", "lifecycle/core", "rbac", "rules"];

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

#[test]
fn what_decides_does_no_io() {
    let real = in_manifests();
    for pure in PURE {
        assert!(real.contains_key(pure), "{pure} is no crate");
        let all = dependencies(&root().join(pure));
        let impure: Vec<_> = all
            .iter()
            .filter(|it| IMPURE.contains(&it.as_str()))
            .collect();
        assert!(impure.is_empty(), "{pure} uses {impure:?}");
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
