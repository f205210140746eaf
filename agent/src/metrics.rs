//! The agent's own metrics.

use berth_agent_core::registered::HubStanding;
use jiff::Timestamp;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, IntCounterVec, IntGaugeVec, Opts, Registry};

use crate::standing::Standing;

/// Counts what the agent does. Clones share the numbers.
#[derive(Clone, Debug)]
pub struct Counts {
    renewals: IntCounterVec,
    last_renewal: Gauge,
}

/// Gauges of how the agent stands, made when they are read.
struct Gauges {
    standing: Standing,
    waiting: IntGaugeVec,
    not_before: Gauge,
    not_after: Gauge,
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
        registry.register(Box::new(Gauges::new(standing.clone())?))?;
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

// === impl Gauges ===

impl Gauges {
    fn new(standing: Standing) -> prometheus::Result<Self> {
        Ok(Self {
            standing,
            waiting: IntGaugeVec::new(
                Opts::new(
                    "berth_agent_waiting",
                    "1 for what the agent waits for; Managed: the cluster is managed",
                ),
                &["reason"],
            )?,
            not_before: Gauge::new(
                "berth_agent_certificate_not_before_timestamp_seconds",
                "When the certificate for the hub begins; 0 without a certificate",
            )?,
            not_after: Gauge::new(
                "berth_agent_certificate_not_after_timestamp_seconds",
                "When the certificate for the hub ends; 0 without a certificate",
            )?,
        })
    }
}

impl Collector for Gauges {
    fn desc(&self) -> Vec<&Desc> {
        [
            self.waiting.desc(),
            self.not_before.desc(),
            self.not_after.desc(),
        ]
        .concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let state = self.standing.state();
        let reason = state
            .wait()
            .map_or(HubStanding::Managed.reason(), |it| it.reason);
        self.waiting.reset();
        self.waiting.with_label_values(&[reason]).set(1);
        self.not_before.set(state.not_before.map_or(0.0, seconds));
        self.not_after.set(state.not_after.map_or(0.0, seconds));
        [
            self.waiting.collect(),
            self.not_before.collect(),
            self.not_after.collect(),
        ]
        .concat()
    }
}

fn seconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}
