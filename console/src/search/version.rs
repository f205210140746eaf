//! Versions of Kubernetes.

use std::cmp::Ordering;

/// Upper bound on the numbers of a version.
const MOST_NUMBERS: usize = 4;

/// A version such as `v1.33.2+k3s1`: its numbers. What follows them is skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(Vec<u64>);

/// How versions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

// === impl Version ===

impl Version {
    /// Reads the numbers at the beginning. None if there is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = Vec::new();
        for part in text.splitn(MOST_NUMBERS + 1, '.').take(MOST_NUMBERS) {
            let end = part.find(|c: char| !c.is_ascii_digit());
            let digits = &part[..end.unwrap_or(part.len())];
            let Ok(number) = digits.parse() else {
                break;
            };
            numbers.push(number);
            if end.is_some() {
                break;
            }
        }
        (!numbers.is_empty()).then_some(Self(numbers))
    }

    /// Parses a version of a query: digits and dots only.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let numbers: Option<Vec<u64>> = text.split('.').map(|it| it.parse().ok()).collect();
        let is_plain = text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
        let numbers = numbers.filter(|it| is_plain && it.len() <= MOST_NUMBERS)?;
        Some(Self(numbers))
    }

    /// The major and the minor version.
    pub(crate) fn minor(&self) -> Option<(u64, u64)> {
        Some((*self.0.first()?, *self.0.get(1)?))
    }

    /// Compares as many numbers as `written` has: 1.33.4 equals 1.33.
    pub(super) fn compare_as_written(&self, written: &Self) -> Ordering {
        let own = self.0.iter().chain(std::iter::repeat(&0));
        own.take(written.0.len()).cmp(written.0.iter())
    }
}

// === impl Compared ===

impl Compared {
    /// Returns true if the comparison holds for this order of the cluster's version and the query's.
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::AtLeast => order.is_ge(),
            Self::More => order.is_gt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_version_its_numbers_are_read() {
        for (text, numbers) in [
            ("v1.33.2", Some(&[1, 33, 2][..])),
            ("v1.30.4+k3s1", Some(&[1, 30, 4])),
            ("1.29-eks", Some(&[1, 29])),
            ("1.2.3.4.5", Some(&[1, 2, 3, 4])),
            ("v", None),
            ("", None),
            ("latest", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(
                Version::read(text).map(|it| it.0),
                numbers.map(<[u64]>::to_vec),
                "{text}"
            );
        }
    }
}
