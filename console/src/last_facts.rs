//! What the last question about a changed placement was answered with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_admin::answers::{Failure, Hub, PlacementFacts};
use berth_api::Placement;
use tokio::sync::Mutex;

/// What the hub has is used this long for further questions: a person types.
const FRESH: Duration = Duration::from_secs(10);

/// What the last question was answered with.
#[derive(Debug, Default)]
pub(crate) struct LastFacts(Mutex<Option<(Instant, Arc<PlacementFacts>)>>);

// === impl LastFacts ===

impl LastFacts {
    /// Returns what a placement is evaluated on, of the hub or of the last question. Questions wait for each other.
    ///
    /// # Errors
    /// Those of the hub.
    pub(crate) async fn of(
        &self,
        hub: &Hub,
        placement: &Placement,
    ) -> Result<Arc<PlacementFacts>, Failure> {
        let mut last = self.0.lock().await;
        if let Some((at, facts)) = &*last
            && at.elapsed() < FRESH
            && facts.serves(placement)
        {
            return Ok(Arc::clone(facts));
        }
        let facts = Arc::new(hub.placement_facts(placement).await?);
        *last = Some((Instant::now(), Arc::clone(&facts)));
        Ok(facts)
    }
}
