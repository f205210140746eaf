//! `docs/limits.md`: each bound in the code, of what, per what, and what happens beyond it.
//!
//! The rows are lines of the files in `limits/`, `FILE NAME | what | per what | beyond it`. The figures are read from the code. `NAME` is a
//! constant, or in small letters a field of a struct that has the figure. `FILE NAME from OTHER` says where the constants of the expression
//! are defined, if not in `FILE`. Figures of a row whose `what` begins with `Bytes` are shown as such. A line with `# ` is a title, a line
//! with `> ` a paragraph. In `none.txt` are constants with the name of a bound that need no row, `FILE NAME | why`.

mod figures;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The areas, in the order of the page.
const AREAS: [&str; 14] = [
    include_str!("limits/gate.txt"),
    include_str!("limits/kit.txt"),
    include_str!("limits/lifecycle.txt"),
    include_str!("limits/placement.txt"),
    include_str!("limits/work.txt"),
    include_str!("limits/addons.txt"),
    include_str!("limits/operator.txt"),
    include_str!("limits/agent.txt"),
    include_str!("limits/works.txt"),
    include_str!("limits/expressions.txt"),
    include_str!("limits/certificates.txt"),
    include_str!("limits/commands.txt"),
    include_str!("limits/console.txt"),
    include_str!("limits/texts.txt"),
];

/// Constants without a row, and why.
const NONE: &str = include_str!("limits/none.txt");

const INTRODUCTION: &str = "\
<!-- Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated -->
# Limits

Each bound of Berth: of what it is, per what it holds, and what happens beyond it. The figures are read from the code. A test fails if
a constant with the name of a bound has no row here.

A bound per item is not a bound of a sum: a user who may create many objects gets it for each of them. Where a sum is bounded as well, the
area says so in its first sentences. What a flag can set is in [commands.md](commands.md), with its default.
";

const HEAD: &str = "\n| What | Bound | Per | Beyond it | In the code |\n|---|---|---|---|---|\n";

/// Words in the names of bounds.
const WORDS: [&str; 30] = [
    "MOST",
    "LONGEST",
    "LARGEST",
    "SHORTEST",
    "MAX",
    "BUDGET",
    "LIMIT",
    "LARGE",
    "FEW",
    "MANY",
    "DEEPEST",
    "FEWEST",
    "KEPT",
    "TRIES",
    "RETRIES",
    "ROUNDS",
    "STEPS",
    "PAGE",
    "PAGES",
    "WAITING",
    "CAPACITY",
    "SHOWN",
    "NAMED",
    "LISTED",
    "DISCARDED",
    "SESSIONS",
    "BYTES",
    "ONCE",
    "LEAST",
    "DEPTH",
];

struct Row<'a> {
    file: &'a str,
    name: &'a str,
    elsewhere: Option<&'a str>,
    what: &'a str,
    per: &'a str,
    beyond: &'a str,
}

/// A file, and the name of a constant.
type Place = (String, String);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The page.
pub(crate) fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for area in AREAS {
        let mut in_table = false;
        for line in area.lines().filter(|line| !line.is_empty()) {
            if let Some(title) = line.strip_prefix("# ") {
                let _ = writeln!(page, "\n## {title}");
                in_table = false;
            } else if let Some(paragraph) = line.strip_prefix("> ") {
                let _ = writeln!(page, "\n{paragraph}");
                in_table = false;
            } else {
                let row = row(line);
                if !in_table {
                    page.push_str(HEAD);
                    in_table = true;
                }
                let Row {
                    file,
                    name,
                    what,
                    per,
                    beyond,
                    ..
                } = row;
                let _ = writeln!(
                    page,
                    "| {what} | {} | {per} | {beyond} | [`{name}`](../{file}) |",
                    figure(&row)
                );
            }
        }
    }
    page
}

fn row(line: &str) -> Row<'_> {
    let cells: Vec<_> = line.split(" | ").map(str::trim).collect();
    let &[place, what, per, beyond] = &cells[..] else {
        panic!("a row is `FILE NAME | what | per what | beyond it`, not: {line}")
    };
    let words: Vec<_> = place.split_whitespace().collect();
    let (file, name, elsewhere) = match words[..] {
        [file, name] => (file, name, None),
        [file, name, "from", elsewhere] => (file, name, Some(elsewhere)),
        _ => panic!("a row begins with `FILE NAME` or `FILE NAME from OTHER`, not: {line}"),
    };
    Row {
        file,
        name,
        elsewhere,
        what,
        per,
        beyond,
    }
}

fn figure(row: &Row<'_>) -> String {
    let Row { file, name, .. } = row;
    let source = read(file);
    let elsewhere = row.elsewhere.map(read);
    match figures::of(&source, name, elsewhere.as_deref()) {
        Ok(figure) => figure.shown(row.what.starts_with("Bytes")),
        Err(why) => panic!(
            "docs/limits.md: the figure of {name} in {file} cannot be read: {why}\n\
             If the constant has gone or has another name, change or remove its line in tests/files/generated/limits/*.txt; \
             if its expression uses constants of another file, write `{file} {name} from THAT_FILE`; \
             other expressions are for tests/files/generated/limits/figures.rs"
        ),
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| {
        panic!("tests/files/generated/limits/*.txt names {file}: {error}; change its line")
    })
}

/// The files and names of the rows, and of the constants without one.
fn known() -> (Vec<Place>, Vec<Place>) {
    let is_row =
        |line: &&str| !(line.is_empty() || line.starts_with("# ") || line.starts_with("> "));
    let rows = AREAS.iter().flat_map(|area| area.lines().filter(is_row));
    let rows = rows
        .map(row)
        .map(|it| (it.file.to_owned(), it.name.to_owned()));
    let none = NONE.lines().filter(is_row).map(|line| {
        let place = line.split(" | ").next().unwrap_or_default();
        let Some((file, name)) = place.trim().split_once(' ') else {
            panic!("a line is `FILE NAME | why`, not: {line}")
        };
        (file.to_owned(), name.to_owned())
    });
    (rows.collect(), none.collect())
}

/// The source files of what ships, relative to the repository.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_for_tests = ["tests", "testing", "benches", "examples", "fuzz", "target"];
            if path.is_dir() {
                let is_dev = folder == root() && name == "dev";
                if !(is_dev || name.starts_with('.') || is_for_tests.contains(&&*name)) {
                    open.push(path);
                }
            } else if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&&*name) {
                let relative = path.strip_prefix(root()).expect("below the repository");
                found.push(relative.to_owned());
            }
        }
    }
    found.sort();
    found
}

fn is_name_of_a_bound(name: &str) -> bool {
    name.split('_').any(|word| WORDS.contains(&word))
}

#[test]
fn every_bound_has_a_row() {
    let (rows, none) = known();
    let mut all = BTreeSet::new();
    for place in rows.iter().chain(&none) {
        let (file, name) = place;
        assert!(
            all.insert(place.clone()),
            "tests/files/generated/limits/*.txt has {name} of {file} twice: remove one line"
        );
    }
    let (mut missing, mut count) = (Vec::new(), 0);
    for path in sources() {
        let file = path.to_string_lossy().into_owned();
        let source = read(&file);
        for name in figures::names(&source) {
            count += 1;
            let place = (file.clone(), name.to_owned());
            if is_name_of_a_bound(name) && !all.contains(&place) {
                missing.push(format!("{file} {name}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "these bounds are not in docs/limits.md:\n  {}\n\
         Add a line for each to the file of its area in tests/files/generated/limits/: \
         FILE NAME | what | per what | what happens beyond it\n\
         or, if it bounds nothing, to none.txt: FILE NAME | why\n\
         Then write the page: BERTH_GENERATE=1 cargo test --test files generated",
        missing.join("\n  ")
    );
    assert!(count > 300, "only {count} constants were found");
    for (file, name) in none {
        assert!(
            figures::names(&read(&file)).contains(&&*name),
            "{file} has no constant {name}: remove its line in tests/files/generated/limits/none.txt"
        );
    }
}
