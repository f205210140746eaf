//! The controller's own metrics, in addition to those of every controller.
//!
//! The values of labels are closed lists: no names of objects or users, no error texts.

use prometheus::{IntCounterVec, Opts, Registry};

/// The metrics of the controller of add-ons.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    requests: IntCounterVec,
}

// === impl Metrics ===

impl Metrics {
    /// Creates and registers the metrics. `common` are those of every controller of the process.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn beside(
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> prometheus::Result<Self> {
        let requests = IntCounterVec::new(
            Opts::new(
                "berth_addon_certificate_requests_total",
                "Decisions about CertificateSigningRequests of add-ons, by outcome",
            ),
            &["outcome"],
        )?;
        registry.register(Box::new(requests.clone()))?;
        Ok(Self { common, requests })
    }

    pub(super) fn common(&self) -> berth_reconcile::Metrics {
        self.common.clone()
    }

    pub(super) fn request_decided(&self, outcome: &str) {
        self.requests.with_label_values(&[outcome]).inc();
    }
}
