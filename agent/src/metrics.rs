//! The agent's own metrics.

use berth_agent_core::registered::HubStanding;
use berth_reconcile::on_scrape;
use jiff::Timestamp;
use prometheus::core::Collector;
use prometheus::{Gauge, IntCounterVec, IntGaugeVec, Opts, Registry};

use crate::standing::Standing;

/// Counts what the agent does. Clones share the numbers.
#[derive(Clone, Debug)]
pub struct Counts {
    renewals: IntCounterVec,
    last_renewal: Gauge,
}

// === impl Counts ===

impl Counts {
    /// Registers the metrics of the agent.
    ///
    /// # Errors
    /// The registry has metrics of these names already.
    pub fn new(registry: &Registry, standing: &Standing) -> prometheus::Result<Self> {
        let renewals = IntCounterVec::new(
            Opts::new(
                "berth_agent_lease_renewals_total",
                "Renewals of the cluster's Lease on the hub, by their result",
            ),
            &["result"],
        )?;
        let last_renewal = Gauge::new(
            "berth_agent_lease_renewed_timestamp_seconds",
            "When the cluster's Lease on the hub was last renewed; 0: never",
        )?;
        registry.register(Box::new(renewals.clone()))?;
        registry.register(Box::new(last_renewal.clone()))?;
        gauges(registry, standing.clone())?;
        Ok(Self {
            renewals,
            last_renewal,
        })
    }

    pub(crate) fn renewed(&self, at: Timestamp) {
        self.renewals.with_label_values(&["success"]).inc();
        self.last_renewal.set(seconds(at));
    }

    pub(crate) fn failed_to_renew(&self) {
        self.renewals.with_label_values(&["error"]).inc();
    }
}

/// Registers gauges of how the agent stands, made when they are read.
fn gauges(registry: &Registry, standing: Standing) -> prometheus::Result<()> {
    let waiting = IntGaugeVec::new(
        Opts::new(
            "berth_agent_waiting",
            "1 for what the agent waits for; Managed: the cluster is managed",
        ),
        &["reason"],
    )?;
    let not_before = Gauge::new(
        "berth_agent_certificate_not_before_timestamp_seconds",
        "When the certificate for the hub begins; 0 without a certificate",
    )?;
    let not_after = Gauge::new(
        "berth_agent_certificate_not_after_timestamp_seconds",
        "When the certificate for the hub ends; 0 without a certificate",
    )?;
    let all: Vec<Box<dyn Collector>> = vec![
        Box::new(waiting.clone()),
        Box::new(not_before.clone()),
        Box::new(not_after.clone()),
    ];
    on_scrape(registry, all, move || {
        let state = standing.state();
        let reason = state
            .wait()
            .map_or(HubStanding::Managed.reason(), |it| it.reason);
        waiting.reset();
        waiting.with_label_values(&[reason]).set(1);
        not_before.set(state.not_before.map_or(0.0, seconds));
        not_after.set(state.not_after.map_or(0.0, seconds));
    })
}

fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}
