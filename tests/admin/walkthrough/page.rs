//! The commands of a Markdown page, with the output that the page prints.
//!
//! They are the lines with a prompt (`$ `) in its blocks of `console`. A backslash at the end of a line and `<<EOF`
//! continue a command. In the output, `...` stands for any text within a line, and a line `...` for any lines. Ages (`5m23s`)
//! and the width of columns do not count.

use berth_testkit::cluster::Output;
use berth_testkit::transcript::matches;

/// A command and its output.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub command: String,
    output: Vec<String>,
}

/// The steps of the page.
pub fn steps(page: &str) -> Vec<Step> {
    let blocks = page.split("```console\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .flat_map(steps_of)
        .collect()
}

fn steps_of(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else {
            let step = steps.last_mut().expect("a block begins with a command");
            step.output.push(line.to_owned());
            continue;
        };
        let mut command = command.to_owned();
        while let Some(start) = command.strip_suffix('\\') {
            command = format!("{start}{}", lines.next().unwrap().trim_start());
        }
        if command.ends_with("<<EOF") {
            for line in lines.by_ref() {
                command = format!("{command}\n{line}");
                if line == "EOF" {
                    break;
                }
            }
        }
        let output = Vec::new();
        steps.push(Step { command, output });
    }
    steps
}

// === impl Step ===

impl Step {
    /// Replaces a placeholder in the command. In the output any text may stand for it.
    pub fn set(&mut self, placeholder: &str, value: &str) {
        self.command = self.command.replace(placeholder, value);
        for line in &mut self.output {
            *line = line.replace(placeholder, "...");
        }
    }

    /// Returns true if the command changes nothing.
    pub fn only_reads(&self) -> bool {
        [" get ", " agent status "]
            .iter()
            .any(|verb| self.command.contains(verb))
    }

    /// Returns true if the command printed what the page prints.
    pub fn printed(&self, output: &Output) -> bool {
        let printed = format!("{}{}", output.stdout, output.stderr);
        self.is_of(&printed)
    }

    /// Checks that the command succeeded, and printed what the page prints.
    pub fn check(&self, output: &Output) {
        output.ok();
        assert!(self.printed(output), "{self:#?} printed {output:#?}");
    }

    fn is_of(&self, printed: &str) -> bool {
        let expected: Vec<_> = self.output.iter().map(|line| pattern(line)).collect();
        let lines = printed.trim_end().lines();
        // The hub for development says that it runs no pods.
        let lines = lines.filter(|line| !line.starts_with("Warning: devhub "));
        let printed: Vec<_> = lines.map(plain).collect();
        let printed: Vec<_> = printed.iter().map(String::as_str).collect();
        matches(&expected, &printed)
    }
}

/// A line as [`matches`] takes it.
fn pattern(line: &str) -> String {
    match line {
        "..." => line.to_owned(),
        _ => plain(line).replace("...", "[..]"),
    }
}

/// A line without ages and the width of columns.
fn plain(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.map(|word| if is_age(word) { "AGE" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn is_age(word: &str) -> bool {
    let numbers: Vec<&str> = word.split_inclusive(['d', 'h', 'm', 's']).collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    !numbers.is_empty()
        && numbers
            .iter()
            .all(|it| it.strip_suffix(['d', 'h', 'm', 's']).is_some_and(is_number))
}

#[test]
fn the_commands_of_a_page_are_found() {
    let page = "# A\n\n## B\n```sh\nc\n```\n## C\nd\n```console\n$ e \\\n   f\ng ...\n$ h <<EOF\ni\nEOF\n```\n## D\n";
    let steps = steps(page);
    let commands: Vec<_> = steps.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(commands, ["e f", "h <<EOF\ni\nEOF"]);
    assert!(steps[0].is_of("g   5\n") && !steps[0].is_of("g\n") && !steps[0].is_of(""));
    assert!(steps[1].is_of("") && !steps[1].is_of("i"));
}

#[test]
fn ages_and_columns_do_not_count() {
    assert_eq!(plain("a   5m23s  12s"), "a AGE AGE");
    assert_eq!(plain("5 s 5x s5"), "5 s 5x s5");
}
