//! What a decision records of its cluster: its score, and how the score is made up.
//!
//! A reason names scores, not ranks: the rank of a cluster changes whenever another one comes, goes or gets another score.

use std::fmt::Write;

use berth_api::text::cut;

use crate::outcome::ScorePart;
use crate::ranking::Ranked;
use crate::schedule::Schedule;

/// Upper bound on the characters of a reason.
const LONGEST: usize = 256;

/// The score of a selected cluster, and the reason for it.
///
/// # Guarantees
/// Both are as the next evaluation finds them, once the decision is written: the prioritizer Steady counts for the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The sum of the weighted scores.
    pub score: i64,
    /// The scores and their weights.
    pub reason: String,
}

// === impl Schedule ===

impl<'a> Schedule<'a> {
    /// Returns what the decisions record of the selected clusters. Empty without the gate `scores`, and if the placement cannot be
    /// evaluated.
    #[must_use]
    pub fn records(&self) -> Vec<Record<'a>> {
        if !self.rules.settings.gates.scores {
            return Vec::new();
        }
        let selected = self.selected().iter();
        selected.map(|it| self.record(it)).collect()
    }

    fn record(&self, it: &Ranked<'a>) -> Record<'a> {
        let sources = self.scene.sources();
        let parts = self.scoring.scorers().iter().map(|scorer| ScorePart {
            prioritizer: scorer.prioritizer,
            weight: scorer.weight,
            score: scorer.score_once_listed(it.cluster, sources),
        });
        let mut score: i64 = 0;
        let mut reason = String::new();
        for part in parts {
            let value = part.score.unwrap_or_default();
            score = score.saturating_add(value.saturating_mul(part.weight.into()));
            let separator = if reason.is_empty() { "" } else { " + " };
            // Writing to a String cannot fail.
            let _ = write!(reason, "{separator}{part}");
        }
        if reason.is_empty() {
            reason.push_str("no prioritizer counts");
        }
        if let (short, true) = cut(&reason, LONGEST - 3) {
            reason = format!("{short}...");
        }
        Record {
            cluster: &it.cluster.name,
            score,
            reason,
        }
    }
}
