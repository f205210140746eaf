//! `docs/events.md`: the Events by hand, each checked against the code; the conditions out of the documentation of their constants.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::assert_generated;
use crate::manifests::files::in_repository;

const PAGE: &str = "docs/events.md";
const BEGIN: &str = "<!-- generated from api/src/conditions.rs -->\n";

/// The crates whose controllers and agents send Events.
const SENDERS: [&str; 8] = [
    "addons/core/src",
    "addons/src",
    "lifecycle/core/src",
    "lifecycle/src",
    "placement/src",
    "work/agent/src",
    "work/replicas/src",
    "agent/src",
];

fn text(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap()
}

/// A constant: its name in the code, its value, and its documentation.
struct Constant {
    name: String,
    value: String,
    about: String,
}

/// The modules of the constants: documentation, and constants in their order.
fn modules(source: &str) -> Vec<(String, Vec<Constant>)> {
    let (mut modules, mut about) = (Vec::new(), Vec::new());
    // A value may be on the line below its name.
    let source = source.replace("=\n        \"", "= \"");
    for line in source.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("/// ") {
            about.push(more.to_owned());
            continue;
        }
        let about = std::mem::take(&mut about).join(" ");
        if line.starts_with("pub mod ") {
            modules.push((about, Vec::new()));
        } else if let Some((name, rest)) = line
            .strip_prefix("pub const ")
            .and_then(|it| it.split_once(": &str = \""))
            && let Some((_, constants)) = modules.last_mut()
        {
            constants.push(Constant {
                name: name.to_owned(),
                value: rest.trim_end_matches("\";").to_owned(),
                about,
            });
        }
    }
    modules
}

fn conditions() -> String {
    let mut made = String::new();
    for (about, constants) in modules(&text("api/src/conditions.rs")) {
        let heading = about.split('.').next().unwrap_or_default();
        write!(
            made,
            "\n### {heading}\n\n| Type or reason | Meaning |\n|---|---|\n"
        )
        .unwrap();
        for Constant { value, about, .. } in &constants {
            let mut about = about.clone();
            for other in &constants {
                about = about.replace(
                    &format!("[`{}`]", other.name),
                    &format!("`{}`", other.value),
                );
            }
            assert!(!about.contains("[`"), "{value}: {about}");
            writeln!(made, "| `{value}` | {about} |").unwrap();
        }
    }
    made
}

#[test]
fn the_conditions_are_documented() {
    let page = text(PAGE);
    let (by_hand, _) = page.split_once(BEGIN).expect("the page has the mark");
    assert_generated(PAGE, &format!("{by_hand}{BEGIN}{}", conditions()));
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

/// The reasons in the rows of the page.
fn rows(page: &str) -> BTreeSet<&str> {
    let (by_hand, _) = page.split_once(BEGIN).expect("the page has the mark");
    let rows = by_hand.lines().filter(|it| it.starts_with("| `"));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    first
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn each_event_of_the_code_is_on_the_page_and_each_of_the_page_in_the_code() {
    let page = text(PAGE);
    let documented = rows(&page);
    let mut files = Vec::new();
    for folder in SENDERS {
        sources(&in_repository(folder), &mut files);
    }
    files.retain(|it| {
        !it.components().any(|part| part.as_os_str() == "tests") && !it.ends_with("tests.rs")
    });
    let code: Vec<String> = files
        .iter()
        .map(|it| fs::read_to_string(it).unwrap())
        .collect();
    let mut sent = BTreeSet::new();
    for source in &code {
        // An Event is a literal with the reason near its beginning.
        for literal in source.split("Event {\n").skip(1) {
            let reason = literal
                .lines()
                .take(3)
                .find_map(|line| line.trim().strip_prefix("reason: \""));
            sent.extend(reason.map(|it| it.trim_end_matches("\",")));
        }
    }
    assert!(sent.len() > 10, "{sent:?}");
    let missing: Vec<_> = sent.difference(&documented).collect();
    assert!(missing.is_empty(), "{PAGE} lacks {missing:?}");
    let all = code.concat() + &text("api/src/conditions.rs");
    let stale: Vec<_> = documented
        .iter()
        .filter(|reason| !all.contains(&format!("\"{reason}\"")))
        .collect();
    assert!(stale.is_empty(), "nothing sends {stale:?}");
}
