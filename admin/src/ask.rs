//! Questions to the user at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// Byte bound of an answer.
const LONGEST_ANSWER: u64 = 100;

/// Returns true if the user can be asked: standard input and standard error are a terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question. Returns true only for `y` and `yes`.
pub(crate) fn confirmed(question: &str) -> io::Result<bool> {
    ask(&mut io::stdin().lock(), &mut io::stderr(), question)
}

fn ask(input: &mut impl BufRead, out: &mut impl Write, question: &str) -> io::Result<bool> {
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::Read::take(input, LONGEST_ANSWER).read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        // The input ended without a line break, so the cursor is still behind the question.
        writeln!(out)?;
    }
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (input, expected) in [
            ("y\n", true),
            ("YES\n", true),
            (" y \n", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("yesterday\n", false),
        ] {
            let mut out = Vec::new();
            let answer = ask(&mut input.as_bytes(), &mut out, "Sure?").unwrap();
            assert_eq!(answer, expected, "{input:?}");
            assert!(out.starts_with(b"Sure? [y/N] "));
        }
        let endless = vec![b'y'; 10_000];
        assert!(!ask(&mut &endless[..], &mut Vec::new(), "Sure?").unwrap());
    }
}
