//! The table of contents of the site (`docs/SUMMARY.md`) and the overview (`docs/README.md`) have each page, and links between pages lead to
//! something.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::manifests::files::in_repository;

/// The pages of `docs`.
fn pages() -> BTreeSet<String> {
    let entries = fs::read_dir(in_repository("docs")).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .collect()
}

fn text(page: &str) -> String {
    let path = in_repository(page);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// What the links of a page lead to, outside of blocks of code.
fn links(page: &str) -> Vec<String> {
    let text = text(page);
    let mut found = Vec::new();
    for prose in text.split("\n```").step_by(2) {
        for rest in prose.split("](").skip(1) {
            let (to, _) = rest.split_once(')').unwrap_or((rest, ""));
            if !to.contains("://") {
                found.push(to.to_owned());
            }
        }
    }
    found
}

/// The name by which GitHub and mdBook link a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.trim().replace(' ', "-")
}

fn anchors(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let headings = text.lines().filter(|it| it.starts_with('#'));
    headings
        .map(|it| anchor(it.trim_start_matches('#').trim()))
        .collect()
}

#[test]
fn the_contents_name_each_page_once() {
    let mut listed = links("docs/SUMMARY.md");
    let count = listed.len();
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), count, "a page is listed twice");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), pages());
}

#[test]
fn the_overview_names_each_page() {
    let listed: BTreeSet<String> = links("docs/README.md")
        .into_iter()
        .map(|it| it.split('#').next().unwrap_or_default().to_owned())
        .collect();
    let missing: Vec<_> = pages()
        .into_iter()
        .filter(|it| it != "README.md" && !listed.contains(it))
        .collect();
    assert!(missing.is_empty(), "docs/README.md lacks {missing:?}");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut all: Vec<String> = pages().iter().map(|it| format!("docs/{it}")).collect();
    all.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "CHANGELOG.md",
            "charts/README.md",
            "manifests/README.md",
        ]
        .map(str::to_owned),
    );
    let (mut dead, mut count) = (Vec::new(), 0);
    for page in &all {
        let path = in_repository(page);
        for link in links(page) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let to = if file.is_empty() {
                path.clone()
            } else {
                path.parent().unwrap().join(file)
            };
            let leads = to.exists() && (heading.is_empty() || anchors(&to).contains(heading));
            if !leads {
                dead.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(count > 100, "{count}");
    assert!(dead.is_empty(), "dead links: {dead:#?}");
}
