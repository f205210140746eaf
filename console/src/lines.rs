//! Lines of standard input: what is typed while a console is served.

use std::future::pending;
use std::io::{self, BufRead};

use tokio::sync::mpsc;

/// Upper bound on the bytes of a line.
const LONGEST: usize = 256;

/// The lines of standard input.
#[derive(Debug)]
pub struct Lines(mpsc::Receiver<String>);

// === impl Lines ===

impl Lines {
    /// Reads standard input from now on. A thread reads, since a read of a terminal cannot be ended.
    pub fn of_stdin() -> Self {
        let (told, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            read(io::stdin().lock(), |line| told.blocking_send(line).is_ok());
        });
        Self(lines)
    }

    /// Returns the next line, without its end. Waits forever once the input has ended.
    pub async fn next(&mut self) -> String {
        match self.0.recv().await {
            Some(line) => line,
            None => pending().await,
        }
    }
}

/// Tells each line of an input, until it ends or `tell` returns false. What exceeds the bound of a line is left out.
fn read(input: impl BufRead, mut tell: impl FnMut(String) -> bool) {
    let mut line = Vec::new();
    for byte in input.bytes() {
        match byte {
            Ok(b'\n') => {
                if !tell(String::from_utf8_lossy(&line).trim().to_owned()) {
                    return;
                }
                line.clear();
            }
            Ok(byte) if line.len() < LONGEST => line.push(byte),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_one_by_one_and_within_their_bound() {
        let long = "x".repeat(LONGEST);
        let longer = format!("{long}yz\nnext\n");
        for (input, told) in [
            ("", &[][..]),
            ("\n\n", &["", ""]),
            ("stop c3\r\n start c3 \n", &["stop c3", "start c3"]),
            ("not ended", &[]),
            (&longer, &[&long, "next"]),
        ] {
            let mut lines = Vec::new();
            read(input.as_bytes(), |line| {
                lines.push(line);
                true
            });
            assert_eq!(lines, told, "{input:?}");
        }
        let mut count = 0;
        read(&b"a\nb\n\xff\n"[..], |_| {
            count += 1;
            count < 2
        });
        assert_eq!(count, 2, "nobody listens any more");
    }
}
