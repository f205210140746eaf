//! A view for tests.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use berth_api::Now;
use berth_work_core::evaluate::FeedbackSettings;
use jiff::Timestamp;

use super::settings::{Identity, Settings};
use super::view::View;

/// A view that knows nothing.
pub(crate) fn view() -> View {
    let settings = Settings {
        eviction_grace: Duration::from_secs(3600),
        poll_interval: Duration::from_secs(10),
        impersonates_executors: false,
        namespace: "open-cluster-management-agent".to_owned(),
        feedback: FeedbackSettings {
            raw: false,
            max_raw: 1024,
        },
        works_memory: 64 << 20,
    };
    let identity = Identity {
        hub_hash: "hash".to_owned(),
        cluster: "cluster1".to_owned(),
        agent_id: "agent".to_owned(),
    };
    View::new(settings, identity, Instant::now, || 0.5)
}

pub(crate) fn now() -> Now {
    Now {
        instant: Instant::now(),
        wall: Timestamp::now(),
    }
}
