//! The profiles of the workspaces: a crate that both build is built once, because both build it in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::root;

/// The workspaces with a lock file of their own that `.ci/run` builds into one target folder: the product, and the hub for development.
const WORKSPACES: [&str; 2] = [".", "dev/devhub"];

/// The lines of the tables of the profile `dev`, by their headers.
type Tables = BTreeMap<String, BTreeSet<String>>;

/// The start of the header of a package's table.
const PACKAGE: &str = "profile.dev.package.";

fn tables(manifest: &str) -> Tables {
    let (mut tables, mut open) = (Tables::new(), None::<String>);
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']').to_owned();
            let is_of_dev = header == "profile.dev" || header.starts_with("profile.dev.");
            open = is_of_dev.then_some(header);
        } else if let Some(header) = &open
            && !line.is_empty()
            && !line.starts_with('#')
        {
            let lines = tables.entry(header.clone()).or_default();
            lines.insert(line.to_owned());
        }
    }
    tables
}

/// The names of the packages in a lock file.
fn locked(lock: &str) -> BTreeSet<&str> {
    let names = lock.lines().filter_map(|it| it.strip_prefix("name = \""));
    names.map(|it| it.trim_end_matches('"')).collect()
}

/// The headers whose tables differ, without those of packages that only one workspace builds.
fn differing(manifests: [&str; 2], locks: [&str; 2]) -> Vec<String> {
    let [first, second] = manifests.map(tables);
    let [of_first, of_second] = locks.map(locked);
    let headers: BTreeSet<_> = first.keys().chain(second.keys()).collect();
    let is_of_both = |header: &str| match header.strip_prefix(PACKAGE) {
        None | Some("\"*\"") => true,
        Some(package) => of_first.contains(package) && of_second.contains(package),
    };
    let differs = |header: &&String| first.get(*header) != second.get(*header);
    let differing = headers.into_iter().filter(differs);
    differing.filter(|it| is_of_both(it)).cloned().collect()
}

#[test]
fn what_both_workspaces_build_has_one_profile() {
    let read = |name: &str| {
        WORKSPACES.map(|folder| {
            let file = root().join(folder).join(name);
            fs::read_to_string(file).expect("a file of a workspace")
        })
    };
    let (manifests, locks) = (read("Cargo.toml"), read("Cargo.lock"));
    let [manifests, locks] = [&manifests, &locks].map(|it| it.each_ref().map(String::as_str));
    for tables in manifests.map(tables) {
        assert!(tables.len() > 5, "not all found: {tables:?}");
    }
    let differing = differing(manifests, locks);
    assert!(
        differing.is_empty(),
        "both workspaces build these packages, and each anew, until Cargo.toml and dev/devhub/Cargo.toml have equal tables: {differing:#?}"
    );
}

#[test]
fn profiles_that_differ_are_found() {
    const BOTH: &str = "[profile.dev]\ndebug = 1\n[profile.dev.package.\"*\"]\ndebug = false\n";
    let lock = |names: &[&str]| -> String {
        let packages = names
            .iter()
            .map(|it| format!("[[package]]\nname = \"{it}\"\n"));
        packages.collect()
    };
    let (all, few) = (lock(&["a", "b"]), lock(&["a"]));
    for (root, devhub, expected) in [
        ("", "", &[][..]),
        (
            "# Why.\n[profile.dev.package.a]\nx = 1\n",
            "[profile.dev.package.a]\n\nx = 1\n",
            &[],
        ),
        (
            "[profile.dev.package.a]\nx = 1\ny = 2\n",
            "[profile.dev.package.a]\ny = 2\nx = 1\n",
            &[],
        ),
        (
            "[profile.dev.package.a]\nx = 1\n",
            "[profile.dev.package.a]\nx = 2\n",
            &["profile.dev.package.a"],
        ),
        (
            "[profile.dev.package.a]\nx = 1\n",
            "",
            &["profile.dev.package.a"],
        ),
        (
            "",
            "[profile.dev.package.a]\nx = 1\n",
            &["profile.dev.package.a"],
        ),
        // Only one workspace builds it.
        ("[profile.dev.package.b]\nx = 1\n", "", &[]),
        // Another profile.
        ("[profile.release.package.a]\nx = 1\n", "", &[]),
        (
            "[profile.dev.build-override]\nx = 1\n",
            "",
            &["profile.dev.build-override"],
        ),
    ] {
        let manifests = [root, devhub].map(|it| format!("{BOTH}{it}\n[package]\nname = \"p\"\n"));
        let found = differing(manifests.each_ref().map(String::as_str), [&all, &few]);
        assert_eq!(found, expected, "{root:?} {devhub:?}");
    }
}
