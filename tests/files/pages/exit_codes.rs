//! `docs/exit-codes.md` has each command whose help speaks of exit codes.

use std::fs;

use crate::manifests::files::in_repository;

fn text(page: &str) -> String {
    fs::read_to_string(in_repository(page)).unwrap()
}

#[test]
fn each_command_with_exit_codes_of_its_own_has_a_row() {
    let (commands, page) = (text("docs/commands.md"), text("docs/exit-codes.md"));
    let sections = commands.split("\n## ").skip(1);
    let special: Vec<&str> = sections
        .filter(|section| section.to_lowercase().contains("exit code"))
        .filter_map(|section| section.lines().next())
        .collect();
    assert!(special.len() > 7, "{special:?}");
    let rows: Vec<&str> = page.lines().filter(|it| it.starts_with("| ")).collect();
    let missing: Vec<_> = special
        .iter()
        .filter(|command| {
            let named = format!("`{command}");
            !rows.iter().any(|row| row.contains(&named))
        })
        .collect();
    assert!(missing.is_empty(), "docs/exit-codes.md lacks {missing:?}");
}
