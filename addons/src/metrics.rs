//! The controller's own metrics, in addition to those of every controller.
//!
//! The values of labels are closed lists: no names of objects or users, no error texts.

use std::collections::BTreeMap;
use std::sync::Weak;

use berth_reconcile::{Live, number, on_scrape};
use prometheus::core::Collector;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// The states of ManagedClusterAddOns: see [`berth_addons_core::facts::OnCluster::states`].
const STATES: [&str; 5] = ["available", "unavailable", "unknown", "failed", "deleting"];

/// The metrics of the controller of add-ons.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    requests: IntCounterVec,
    live: Live<dyn Counted>,
}

/// What is counted on scrape.
pub(super) trait Counted: Send + Sync {
    /// Calls `count` with each state of each ManagedClusterAddOn.
    fn states(&self, count: &mut dyn FnMut(&'static str));
    /// Calls `count` for each request without a certificate, with the reason.
    fn refused(&self, count: &mut dyn FnMut(&'static str));
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
        Ok(Self {
            common,
            requests,
            live: gauges(registry)?,
        })
    }

    pub(super) fn common(&self) -> berth_reconcile::Metrics {
        self.common.clone()
    }

    pub(super) fn request_decided(&self, outcome: &str) {
        self.requests.with_label_values(&[outcome]).inc();
    }

    /// Reports the add-ons of this controller from now on.
    pub(super) fn begun(&self, on: Weak<dyn Counted>) {
        self.live.begun(on);
    }

    /// Reports no add-ons any more: another process may report them now.
    pub(super) fn over(&self) {
        self.live.over();
    }
}

/// Registers the gauges of add-ons and of requests without a certificate.
fn gauges(registry: &Registry) -> prometheus::Result<Live<dyn Counted>> {
    let add_ons = IntGaugeVec::new(
        Opts::new(
            "berth_addons",
            "ManagedClusterAddOns, by state; one can be in several states",
        ),
        &["state"],
    )?;
    let refused = IntGaugeVec::new(
        Opts::new(
            "berth_addon_certificate_requests_waiting",
            "CertificateSigningRequests of add-ons that get no certificate, by reason",
        ),
        &["reason"],
    )?;
    let both: Vec<Box<dyn Collector>> = vec![Box::new(add_ons.clone()), Box::new(refused.clone())];
    let live = Live::<dyn Counted>::default();
    let of = live.clone();
    on_scrape(registry, both, move || {
        refused.reset();
        let Some(on) = of.get() else {
            return add_ons.reset();
        };
        on.refused(&mut |reason| refused.with_label_values(&[reason]).inc());
        let mut counts: BTreeMap<&str, usize> = STATES.into_iter().map(|it| (it, 0)).collect();
        on.states(&mut |state| *counts.entry(state).or_default() += 1);
        for (state, count) in counts {
            add_ons.with_label_values(&[state]).set(number(count));
        }
    })?;
    Ok(live)
}
