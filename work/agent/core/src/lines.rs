//! A limit of the log lines about manifests that fail: a ManifestWork may hold thousands, and each may fail anew at each try.

use std::time::{Duration, Instant};

/// Lines in each [`WINDOW`].
const MOST: u32 = 100;

const WINDOW: Duration = Duration::from_secs(60);

/// Upper bound on the bytes of an error in a line, as in an Event.
pub const LONGEST: usize = 1024;

/// The lines that were written in the present window.
#[derive(Debug, Default)]
pub struct Lines {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
}

// === impl Lines ===

impl Lines {
    /// Counts a line. Returns how many were left out before it; `None`: it is left out, too.
    pub fn next(&mut self, now: Instant) -> Option<u64> {
        let is_over = |it: Instant| now.saturating_duration_since(it) >= WINDOW;
        if self.since.is_none_or(is_over) {
            (self.since, self.written) = (Some(now), 0);
        }
        if self.written == MOST {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted_in_the_next() {
        let begin = Instant::now();
        let mut lines = Lines::default();
        for _ in 0..MOST {
            assert_eq!(lines.next(begin), Some(0));
        }
        let late = begin + WINDOW.saturating_sub(Duration::from_secs(1));
        assert_eq!(lines.next(late), None);
        assert_eq!(lines.next(late), None);
        assert_eq!(lines.next(begin + WINDOW), Some(2));
        assert_eq!(lines.next(begin + WINDOW), Some(0));
    }
}
