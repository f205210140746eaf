//! Kinds of writes and their proportions: `update=70,create=10,accept=5,move=10,bind=5`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail, ensure};

/// The kind of a write.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum WriteKind {
    /// Changes an annotation of a cluster, which the gate does not guard.
    Update,
    /// Creates a cluster.
    Create,
    /// Accepts a cluster.
    Accept,
    /// Moves a cluster to another set.
    Move,
    /// Binds a set to a namespace.
    Bind,
}

/// The weight of each kind. Each kind occurs once in the list, and at least once in a round.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mix(Vec<(WriteKind, u32)>);

/// Maximum weight, which keeps a round short, so that every second of a run contains every kind.
const LARGEST_WEIGHT: u32 = 1000;

// === impl WriteKind ===

impl WriteKind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Update,
        Self::Create,
        Self::Accept,
        Self::Move,
        Self::Bind,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Create => "create",
            Self::Accept => "accept",
            Self::Move => "move",
            Self::Bind => "bind",
        }
    }
}

impl FromStr for WriteKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.with_context(|| format!("{text:?} must be update, create, accept, move or bind"))
    }
}

// === impl Mix ===

impl Mix {
    /// Returns the kinds of the mix, in the order of [`WriteKind::ALL`].
    pub(crate) fn kinds(&self) -> impl Iterator<Item = WriteKind> {
        self.0.iter().map(|(kind, _)| *kind)
    }

    /// Returns one round: each kind as often as its weight (without the common factor of all weights), evenly spread.
    pub(crate) fn round(&self) -> Vec<WriteKind> {
        let factor = self
            .0
            .iter()
            .fold(0, |factor, (_, weight)| common_factor(factor, *weight));
        let weights: Vec<i64> = self.0.iter().map(|(_, w)| i64::from(w / factor)).collect();
        let sum: i64 = weights.iter().sum();
        // The most overdue kind is next.
        let mut owed = vec![0; weights.len()];
        let mut round = Vec::new();
        for _ in 0..sum {
            for (owed, weight) in owed.iter_mut().zip(&weights) {
                *owed += weight;
            }
            let most = (0..owed.len()).max_by_key(|&i| (owed[i], owed.len() - i));
            let next = most.unwrap_or_default();
            owed[next] -= sum;
            round.push(self.0[next].0);
        }
        round
    }
}

fn common_factor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut weights: Vec<(WriteKind, u32)> = Vec::new();
        for part in text.split(',') {
            let Some((kind, weight)) = part.split_once('=') else {
                bail!("{part:?} is not of the form KIND=WEIGHT");
            };
            let kind: WriteKind = kind.trim().parse()?;
            let weight: u32 = weight
                .trim()
                .parse()
                .with_context(|| format!("{weight:?} is not a whole number"))?;
            ensure!(
                weight <= LARGEST_WEIGHT,
                "a weight is at most {LARGEST_WEIGHT}, not {weight}"
            );
            ensure!(
                weights.iter().all(|(other, _)| *other != kind),
                "{} occurs twice",
                kind.name()
            );
            weights.push((kind, weight));
        }
        weights.retain(|(_, weight)| *weight > 0);
        ensure!(!weights.is_empty(), "all weights are 0");
        weights.sort_unstable();
        Ok(Self(weights))
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (kind, weight)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{}={weight}", kind.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_holds_each_kind_by_its_weight_and_evenly() {
        let mix: Mix = "update=70, create=10,accept=5,move=10,bind=5"
            .parse()
            .unwrap();
        let round = mix.round();
        assert_eq!(round.len(), 20, "the common factor is 5");
        let count = |kind| round.iter().filter(|each| **each == kind).count();
        assert_eq!(WriteKind::ALL.map(count), [14, 2, 1, 2, 1]);
        let between = |half: &[WriteKind]| {
            half.iter()
                .filter(|kind| **kind == WriteKind::Update)
                .count()
        };
        assert_eq!((between(&round[..10]), between(&round[10..])), (7, 7));
    }

    #[test]
    fn what_is_no_mix_is_refused_with_the_reason() {
        let rows = [
            ("update", "not of the form KIND=WEIGHT"),
            ("", "not of the form KIND=WEIGHT"),
            ("delete=1", "must be update, create"),
            ("update=1.5", "not a whole number"),
            ("update=-1", "not a whole number"),
            ("update=1,update=2", "occurs twice"),
            ("update=0,bind=0", "all weights are 0"),
            ("update=1001", "at most 1000"),
        ];
        for (text, reason) in rows {
            let error = text.parse::<Mix>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_weighs_nothing_is_not_in_it() {
        let mix: Mix = "bind=2,update=0,create=4".parse().unwrap();
        assert_eq!(mix.to_string(), "create=4,bind=2");
        assert_eq!(
            mix.round(),
            [WriteKind::Create, WriteKind::Bind, WriteKind::Create]
        );
    }
}
