//! Imports keep the names of what they import: a reader finds an item by the name that its crate gives it.

use std::fs;

use super::circles::files_in;
use super::{folders, name, root};

/// The hub for development is frozen.
const LEFT_OUT: &str = "dev/devhub";

/// The imports of a text that have another name, but for `_`.
fn renamed(text: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), None::<String>);
    for line in text.lines().map(str::trim) {
        let line = line.split("//").next().unwrap_or_default();
        let import = match (open.take(), line.strip_prefix("pub")) {
            (Some(before), _) => before + " " + line,
            (None, Some(public)) if public.contains(" use ") => line.to_owned(),
            (None, None) if line.starts_with("use ") => line.to_owned(),
            _ => continue,
        };
        if !import.contains(';') {
            open = Some(import);
            continue;
        }
        let parts = import.split([',', '{', '}', ';']).map(str::trim);
        let renamed = parts.filter(|it| it.contains(" as ") && !it.ends_with(" as _"));
        found.extend(renamed.map(str::to_owned));
    }
    found
}

#[test]
fn imports_have_no_other_name() {
    let mut wrong = Vec::new();
    let crates = folders().into_iter();
    for folder in crates.filter(|it| !name(it).starts_with(LEFT_OUT)) {
        let parts = ["src", "tests", "examples", "benches"].map(|it| folder.join(it));
        let files = parts.iter().filter(|it| it.is_dir());
        for file in files.flat_map(|it| files_in(it)) {
            let path = file.strip_prefix(root()).expect("inside");
            let text = fs::read_to_string(&file).expect("a readable file");
            let renamed = renamed(&text).into_iter();
            wrong.extend(renamed.map(|it| format!("{}: {it}", path.display())));
        }
    }
    assert!(
        wrong.is_empty(),
        "name the item at the place of use by its path, or name it better where it is defined: {wrong:#?}"
    );
}

#[test]
fn other_names_are_found_in_every_form_of_an_import() {
    for (text, expected) in [
        ("use a::B as C;", &["use a::B as C"][..]),
        ("pub(crate) use a::{self as b, C};", &["self as b"]),
        ("    use a::{\n  B,\n  C as D,\n};", &["C as D"]),
        ("use std::fmt::Write as _;", &[]),
        ("let a = b as u8;", &[]),
        ("// use a as b;", &[]),
    ] {
        assert_eq!(renamed(text), expected, "{text}");
    }
}
