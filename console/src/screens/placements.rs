//! The screen Placements: the list. A plain function of what is followed.

use std::collections::BTreeSet;

use crate::answers::{PlacedBy, PlacementsAnswer, Text};
use crate::live::{DecisionFact, Objects, PlacementFact};

/// Upper bound on the placements that are shown.
const MOST_ROWS: usize = 200;

/// Upper bound on the placements of a cluster that are shown.
const MOST_PLACED_BY: usize = 50;

/// Returns those whose `NAMESPACE/NAME` contains the text, those that need a look first.
pub(crate) fn placements(all: &Objects<PlacementFact>, part: &str) -> PlacementsAnswer {
    let matches = |it: &&std::sync::Arc<PlacementFact>| {
        part.is_empty() || format!("{}/{}", it.namespace, it.name).contains(part)
    };
    let mut found: Vec<_> = all.iter().filter(matches).collect();
    // They come by namespace and name, and the order is stable.
    found.sort_by_key(|it| it.row.state);
    PlacementsAnswer {
        matched: found.len(),
        total: all.len(),
        rows: found
            .into_iter()
            .take(MOST_ROWS)
            .map(|it| it.row.clone())
            .collect(),
    }
}

/// Returns the placements whose decisions list a cluster, and the number of further ones.
pub(crate) fn placed_by(
    decisions: &Objects<DecisionFact>,
    cluster: &str,
) -> (Vec<PlacedBy>, usize) {
    let listing = decisions.iter().filter(|it| it.lists(cluster));
    let named: BTreeSet<PlacedBy> = listing
        .map(|it| PlacedBy {
            namespace: Text::line(&it.namespace),
            name: Text::line(&it.placement),
        })
        .collect();
    let more = named.len().saturating_sub(MOST_PLACED_BY);
    (named.into_iter().take(MOST_PLACED_BY).collect(), more)
}
