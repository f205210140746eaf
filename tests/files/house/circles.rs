//! Circles of files: files that use each other, directly or through others.
//!
//! A module uses another one if a path of its code names it, or names what is re-exported from there. Tests are left out, and so are
//! arrows between a module and its own parts, both ways: a folder is one room.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{folders, name, root};

/// The largest circle that is readable in one sitting.
const LARGEST: usize = 3;

/// Larger circles that are known: the crate, a file of the circle, and its number of files. A row goes when its circle is cut.
const KNOWN: [(&str, &str, usize); 1] = [
    // A value may be a format, a quantity, a URL or a version, and their functions make values.
    ("cel", "value", 6),
];

/// A module by its path in the crate; the root is empty.
type Module = Vec<String>;

/// The modules that each module uses.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// A path in the code.
#[derive(Debug)]
struct Named {
    segments: Vec<String>,
    /// The name that a `use` gives it, and whether other modules see that name.
    import: Option<(String, bool)>,
}

/// The files of a crate, as text without comments and tests.
struct Sources(BTreeMap<Module, String>);

// === impl Sources ===

impl Sources {
    fn of(src: &Path) -> Self {
        let mut texts = BTreeMap::new();
        let mut of_tests = BTreeSet::new();
        for file in files_in(src) {
            let module = module_of(file.strip_prefix(src).expect("inside"));
            let text = fs::read_to_string(&file).expect("a readable file");
            let (code, tests) = code_of(&text);
            for test in tests {
                of_tests.insert([&module[..], &[test]].concat());
            }
            texts.insert(module, code);
        }
        texts.retain(|module, _| !of_tests.iter().any(|test| module.starts_with(test)));
        Self(texts)
    }

    /// The deepest module that a path from `base` names, and the rest of the path.
    fn module<'a>(&self, base: &[String], path: &'a [String]) -> (Module, &'a [String]) {
        let (mut module, mut rest) = (base.to_vec(), path);
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => _ = module.pop(),
                _ => {
                    module.push(first.clone());
                    if !self.0.contains_key(&module) {
                        module.pop();
                        break;
                    }
                }
            }
            rest = after;
        }
        (module, rest)
    }

    fn uses(&self) -> Uses {
        // What each module imports under which name, from where.
        let mut imports: BTreeMap<(Module, String), (Module, bool)> = BTreeMap::new();
        let mut found: Vec<(&Module, Module, Vec<String>)> = Vec::new();
        for (module, code) in &self.0 {
            for path in paths_in(code) {
                let first = path.segments[0].as_str();
                let is_child = || {
                    self.0
                        .contains_key(&[&module[..], &path.segments[..1]].concat())
                };
                if !matches!(first, "crate" | "self" | "super") && !is_child() {
                    continue;
                }
                let (target, rest) = self.module(module, &path.segments);
                if let Some((name, is_public)) = path.import {
                    imports.insert((module.clone(), name), (target.clone(), is_public));
                }
                found.push((module, target, rest.to_vec()));
            }
        }
        let mut uses: Uses = self
            .0
            .keys()
            .map(|it| (it.clone(), BTreeSet::new()))
            .collect();
        for (module, mut target, rest) in found {
            // What a module imports leads on, if others see it. A chain of them is short.
            for _ in 0..8 {
                let Some(name) = rest.first() else { break };
                match imports.get(&(target.clone(), name.clone())) {
                    Some((next, is_public)) if *is_public || module.starts_with(&target) => {
                        target = next.clone();
                    }
                    _ => break,
                }
            }
            let is_part = module.starts_with(&target) || target.starts_with(module);
            if !is_part && let Some(uses) = uses.get_mut(module) {
                uses.insert(target);
            }
        }
        uses
    }
}

/// All Rust files in a folder and below.
pub(super) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn module_of(file: &Path) -> Module {
    let file = file.with_extension("");
    let parts = file.iter().map(|it| it.to_string_lossy().into_owned());
    let mut module: Module = parts.collect();
    if module
        .last()
        .is_some_and(|it| matches!(&**it, "mod" | "lib" | "main"))
    {
        module.pop();
    }
    module
}

/// The text without comments and without what is for tests, and the names of the modules for tests that have files of their own.
fn code_of(text: &str) -> (String, Vec<String>) {
    let (mut code, mut tests) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "#[cfg(test)]" {
            let item = lines.find(|it| !it.trim_start().starts_with("#["));
            let item = item.unwrap_or_default();
            if let Some((_, module)) = item.split_once("mod ") {
                match module.trim_end().strip_suffix(';') {
                    Some(module) => tests.push(module.to_owned()),
                    // Tests in the file are its end.
                    None => break,
                }
            }
            continue;
        }
        let (code_of_line, _) = line.split_once("//").unwrap_or((line, ""));
        code.push_str(code_of_line);
        code.push('\n');
    }
    (code, tests)
}

/// The paths in a text, those of a `use` with braces one by one.
fn paths_in(code: &str) -> Vec<Named> {
    let mut tokens = tokens_of(code).into_iter().peekable();
    let mut found = Vec::new();
    // Within a `use`: whether it is public.
    let (mut import, mut is_public) = (None, false);
    while let Some(token) = tokens.next() {
        match token {
            "pub" => {
                is_public = true;
                if tokens.next_if_eq(&"(").is_some() {
                    tokens.by_ref().find(|it| *it == ")");
                }
                continue;
            }
            "use" => import = Some(is_public),
            // A method or a lifetime is no path.
            "." | "'" => _ = tokens.next_if(|it| is_word(it)),
            word if is_word(word) => {
                path(word, &mut tokens, &[], import.take(), &mut found);
            }
            _ => {}
        }
        is_public = false;
    }
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Words, `::`, and single other characters.
fn tokens_of(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        let length = if is_part(first) {
            rest.find(|it| !is_part(it)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Reads a path from its first word on, and in a `use` the paths in its braces.
fn path<'a>(
    first: &'a str,
    tokens: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    before: &[String],
    import: Option<bool>,
    found: &mut Vec<Named>,
) {
    let mut segments = [before, &[first.to_owned()]].concat();
    while tokens.next_if_eq(&"::").is_some() {
        if import.is_some() && tokens.next_if_eq(&"{").is_some() {
            while let Some(token) = tokens.next_if(|it| *it != "}") {
                if is_word(token) {
                    path(token, tokens, &segments, import, found);
                }
            }
            tokens.next();
            return;
        }
        match tokens.next_if(|it| is_word(it)) {
            Some(word) => segments.push(word.to_owned()),
            None => break,
        }
    }
    let mut name = segments.last().cloned();
    if tokens.next_if_eq(&"as").is_some() && import.is_some() {
        name = tokens.next().map(str::to_owned);
    }
    let import = name.zip(import);
    found.push(Named { segments, import });
}

/// The circles of more than one module, the largest first.
fn circles(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = uses[from].iter().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module.clone()) {
                open.extend(&uses[module]);
            }
        }
        reached
    };
    let reached: BTreeMap<_, _> = uses.keys().map(|it| (it, reached(it))).collect();
    let mut circles: Vec<BTreeSet<Module>> = Vec::new();
    for (module, of_it) in &reached {
        if !circles.iter().any(|it| it.contains(*module)) {
            let back = of_it.iter().filter(|it| reached[*it].contains(*module));
            circles.push(back.cloned().collect());
        }
    }
    circles.retain(|it| it.len() > 1);
    circles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    circles
}

#[test]
fn no_circle_of_files_is_larger_than_three() {
    let mut known = KNOWN.to_vec();
    let (mut wrong, mut modules) = (Vec::new(), 0);
    for folder in folders() {
        let name = name(&folder);
        let src = folder.join("src");
        if name.starts_with("dev/") || !src.is_dir() {
            continue;
        }
        let uses = Sources::of(&src).uses();
        modules += uses.len();
        for circle in circles(&uses).iter().filter(|it| it.len() > LARGEST) {
            let files: BTreeSet<String> = circle.iter().map(|it| it.join("/")).collect();
            let is_of = |(of, file, _): &(&str, &str, usize)| *of == name && files.contains(*file);
            let row = known.iter().position(is_of);
            let (before, now) = (row.map(|it| known.swap_remove(it).2), files.len());
            if before != Some(now) {
                let before = before.map_or(String::new(), |it| format!(" ({it} in KNOWN)"));
                wrong.push(format!(
                    "{name}: {now} files use each other{before}: {files:?}"
                ));
            }
        }
    }
    assert!(
        modules > 500,
        "only {modules} modules found under {}",
        root().display()
    );
    assert!(wrong.is_empty(), "cut an arrow: {wrong:#?}");
    assert!(
        known.is_empty(),
        "no such circle any more, drop the rows: {known:?}"
    );
}

#[test]
fn arrows_are_found_in_every_way_to_write_a_path() {
    let sources = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(module, text)| {
            let module = module.split('/').filter(|it| !it.is_empty());
            (module.map(str::to_owned).collect(), code_of(text).0)
        });
        Sources(files.collect())
    };
    for (sentence, of_a, are_arrows) in [
        ("a use", "use crate::b::Thing;", true),
        (
            "braces",
            "use crate::{c::Other, b::{Thing, more::Part}};",
            true,
        ),
        (
            "another name",
            "pub(crate) use super::b::Thing as It;",
            true,
        ),
        ("a path in code", "fn f() -> u8 { crate::b::f(1) }", true),
        ("a re-export of the root", "use crate::Shown;", true),
        ("a comment", "// use crate::b::Thing;", false),
        ("another crate", "use other::b::Thing;", false),
        (
            "a test",
            "#[cfg(test)]\nmod tests {\n    use crate::b::Thing;\n}",
            false,
        ),
        (
            "an import for tests",
            "#[cfg(test)]\nuse crate::b::Thing;",
            false,
        ),
    ] {
        let files = sources(&[
            ("", "mod a; mod b; pub use b::Shown;"),
            ("a", of_a),
            ("b", ""),
            ("c", ""),
        ]);
        let uses = files.uses();
        let module = |it: &str| vec![it.to_owned()];
        assert_eq!(
            uses[&module("a")].contains(&module("b")),
            are_arrows,
            "{sentence}: {uses:?}"
        );
    }
    let ring = [
        ("", ""),
        ("a", "use crate::b::B;"),
        ("b", "use super::c::X;"),
        ("c", "mod inner; pub use inner::X;"),
        ("c/inner", "use crate::a::X; use super::Y;"),
    ];
    let found = circles(&sources(&ring).uses());
    let names: Vec<_> = found.iter().flatten().map(|it| it.join("/")).collect();
    assert_eq!(names, ["a", "b", "c/inner"], "c has no arrow, its part has");
}
