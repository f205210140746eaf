//! The screen Placements: the list. A plain function of what is followed.

use crate::answers::PlacementsAnswer;
use crate::live::{Objects, PlacementFact};

/// Upper bound on the placements that are shown.
const MOST_ROWS: usize = 200;

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
