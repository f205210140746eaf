//! Every command of `berth` that a page prints is one that the program takes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::command;

/// The pages that print commands.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    pages.retain(|it| it.extension().is_some_and(|it| it == "md"));
    for page in [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "charts/README.md",
        "manifests/README.md",
    ] {
        pages.push(root.join(page));
    }
    pages.sort();
    pages
}

/// The lines of the page's blocks of commands, with what a backslash continues; and its spans of code.
fn lines(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut prose = String::new();
    let (mut fence, mut is_shell, mut begun) = (false, false, String::new());
    for line in text.lines() {
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            fence = !fence;
            is_shell = fence && ["sh", "console", "bash"].contains(&language);
        } else if is_shell {
            begun.push_str(line.strip_prefix("$ ").unwrap_or(line));
            match begun.strip_suffix('\\') {
                Some(rest) => begun = rest.to_owned(),
                None => found.push(std::mem::take(&mut begun)),
            }
        } else if !fence {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    found.extend(spans.map(|it| it.replace('\n', " ")));
    found
}

/// The command of `berth` in a line of a shell, if there is one: from its name up to what ends it.
fn berths(line: &str) -> Option<&str> {
    let line = line.strip_prefix("kubectl ").unwrap_or(line);
    let rest = line.strip_prefix("berth ")?;
    let ends = [
        " #", " | ", " || ", " && ", " > ", " >> ", " 2>", " <<", "; ", ")",
    ];
    let mut quote = None;
    let end = rest.char_indices().find(|(at, c)| {
        match quote {
            Some(open) if open == *c => quote = None,
            None if "'\"".contains(*c) => quote = Some(*c),
            _ => {}
        }
        quote.is_none() && ends.iter().any(|it| rest[*at..].starts_with(it))
    });
    Some(rest[..end.map_or(rest.len(), |(at, _)| at)].trim())
}

/// With a word for each `<placeholder>` and each variable. Returns whether there was one, or a `...`.
fn filled(line: &str) -> (String, bool) {
    let (mut text, mut has) = (String::new(), false);
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        let Some((_, after)) = after.split_once('>') else {
            break;
        };
        text.push_str(before);
        text.push('x');
        (rest, has) = (after, true);
    }
    text.push_str(rest);
    let words = text.split(' ').filter(|it| *it != "...").map(|word| {
        if word.contains('$') || word.contains("...") {
            "x"
        } else {
            word
        }
    });
    let filled = words.collect::<Vec<_>>().join(" ");
    has |= filled != text;
    (filled, has)
}

/// What is wrong with a command. Of one with placeholders, or in a sentence, only what it names has to exist.
fn mistake(line: &str, is_part: bool) -> Option<String> {
    let (text, has_placeholders) = filled(line);
    let words = berth_testkit::transcript::words(&text);
    let words = std::iter::once("berth".to_owned()).chain(words);
    let error = command().try_get_matches_from(words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::TooFewValues
            if is_part || has_placeholders =>
        {
            None
        }
        _ => Some(error.to_string()),
    }
}

#[test]
fn what_does_not_exist_is_found() {
    for line in ["get bogus", "accept c1 --bogus", "bogus"] {
        assert!(mistake(line, true).is_some(), "{line}");
    }
    assert!(mistake("accept", false).is_some());
    assert!(mistake("accept", true).is_none());
    let page = "```sh\n$ kubectl berth get \\\n    clusters | head # all\n```\n- `berth accept\n  c1` and `kubectl get x`";
    let lines = lines(page);
    let found: Vec<_> = lines.iter().filter_map(|it| berths(it)).collect();
    assert_eq!(found, ["get clusters", "accept c1"]);
}

#[test]
#[cfg(feature = "devhub")]
fn every_command_of_the_pages_is_taken() {
    let (mut mistakes, mut count) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let blocks: Vec<String> = lines(&text);
        for line in &blocks {
            let Some(words) = berths(line) else {
                continue;
            };
            count += 1;
            // A span is part of a sentence; it may leave out what the sentence says.
            let is_part = text.contains(&format!("`{line}`"));
            if let Some(mistake) = mistake(words, is_part) {
                let page = page.file_name().unwrap_or_default().display();
                mistakes.push(format!("{page}: berth {words}: {mistake}"));
            }
        }
    }
    assert!(count > 150, "{count}");
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
