//! Questions to the user at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// Byte bound of an answer. Providers give clusters names of up to two hundred bytes.
const LONGEST_ANSWER: u64 = 512;

/// Returns true if the user can be asked: standard input and standard error are a terminal.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a question. Returns true only for `y` and `yes`.
pub(crate) fn confirmed(question: &str) -> io::Result<bool> {
    ask(&mut io::stdin().lock(), &mut io::stderr(), question)
}

/// Asks for a text, and returns what was typed, without the line break.
pub(crate) fn typed(request: &str) -> io::Result<String> {
    line(&mut io::stdin().lock(), &mut io::stderr(), request)
}

fn ask(input: &mut impl BufRead, out: &mut impl Write, question: &str) -> io::Result<bool> {
    let answer = line(input, out, &format!("{question} [y/N]"))?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn line(input: &mut impl BufRead, out: &mut impl Write, request: &str) -> io::Result<String> {
    write!(out, "{request} ")?;
    out.flush()?;
    let mut answer = String::new();
    io::Read::take(input, LONGEST_ANSWER).read_line(&mut answer)?;
    if !answer.ends_with('\n') {
        // The input ended without a line break, so the cursor is still behind the request.
        writeln!(out)?;
    }
    let answer = answer.strip_suffix('\n').unwrap_or(&answer);
    Ok(answer.strip_suffix('\r').unwrap_or(answer).to_owned())
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
        let typed = |input: &[u8]| line(&mut { input }, &mut Vec::new(), "Name:").unwrap();
        assert_eq!(typed(b" prod \r\n"), " prod ");
        assert_eq!(typed(b""), "");
        let endless = vec![b'y'; 10_000];
        assert!(!ask(&mut &endless[..], &mut Vec::new(), "Sure?").unwrap());
    }
}
