//! `docs/commands.md`: the help of the built binary, for each command of its tree.

use std::process::Command;

/// The page.
pub(crate) fn page() -> String {
    let mut page = "<!-- Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated -->\n\
                    # Commands\n"
        .to_owned();
    add(&mut page, "berth");
    page
}

/// Adds the help of a command, then that of its subcommands.
fn add(page: &mut String, command: &str) {
    let help = help(command);
    page.push_str(&format!("\n## {command}\n\n```\n{help}\n```\n"));
    for subcommand in subcommands(&help) {
        add(page, &format!("{command} {subcommand}"));
    }
}

fn help(command: &str) -> String {
    let mut berth = Command::new(berth_testkit::program());
    berth
        .args(command.split_whitespace().skip(1))
        .arg("--help")
        .env("COLUMNS", "100");
    let output = berth.output().unwrap();
    assert!(output.status.success(), "{command}");
    let help = String::from_utf8(output.stdout).unwrap();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    help.join("\n").trim_end().to_owned()
}

/// Returns the commands that the help lists, but `help`. A unit test of `berth` compares the page with its tree of commands.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        // The descriptions go on in lines with a wider margin.
        .filter_map(|line| {
            line.strip_prefix("  ")?
                .split_whitespace()
                .next()
                .filter(|_| !line.starts_with("   "))
        })
        .filter(|command| *command != "help")
        .collect()
}
