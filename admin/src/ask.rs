//! Questions to who sits at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// Answers are read up to this length: who sends more has not understood the question.
const LONGEST_ANSWER: u64 = 100;

/// Whether somebody is there to be asked.
pub(crate) fn somebody_is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and returns whether the answer is yes. Anything but a clear yes is no.
pub(crate) fn confirmed(question: &str) -> io::Result<bool> {
    ask(&mut io::stdin().lock(), &mut io::stderr(), question)
}

fn ask(input: &mut impl BufRead, out: &mut impl Write, question: &str) -> io::Result<bool> {
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::Read::take(input, LONGEST_ANSWER).read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        // Who ended the input left the cursor behind the question.
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
