//! Flags that the controllers of the hub share.

use anyhow::{Context, bail};
use berth_reconcile::Limit;

use crate::common::install_namespace;
use crate::leading::ElectionTimes;

/// client-go's default for a rate without a burst.
const DEFAULT_BURST: u32 = 100;

/// The times of the election of a hub's controller.
#[derive(Debug)]
pub(crate) struct HubTimes;

impl ElectionTimes for HubTimes {
    const LEASE_DURATION: &'static str = "15s";
    const RENEW_DEADLINE: &'static str = "10s";
    const RETRY_PERIOD: &'static str = "2s";
}

/// The flag `--namespace`.
#[derive(Debug, clap::Args)]
pub(crate) struct NamespaceArgs {
    /// Namespace of the hub's components, and of the Lease
    /// [default: the namespace that this runs in, else open-cluster-management-hub]
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// The flags of the limit on write requests.
#[derive(Debug, clap::Args)]
pub(crate) struct LimitArgs {
    /// Limit on write requests per second [default: no limit, since the API server has priority and fairness]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    kube_api_qps: Option<f64>,
    /// Limit on write requests at once after an idle time, with --kube-api-qps [default: 100]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    kube_api_burst: Option<i64>,
}

/// A limit on write requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    per_second: f64,
    burst: u32,
}

// === impl NamespaceArgs ===

impl NamespaceArgs {
    /// Returns the namespace.
    ///
    /// # Errors
    /// The value is not a name of a Namespace.
    pub(crate) fn name(&self) -> anyhow::Result<String> {
        let namespace = match &self.namespace {
            Some(namespace) => namespace.clone(),
            None => install_namespace(),
        };
        let problems = berth_api::names::dns1123_label(&namespace);
        if !problems.is_empty() {
            bail!(
                "--namespace: {namespace:?} is not a valid name of a Namespace: {}",
                problems.join("; ")
            );
        }
        Ok(namespace)
    }
}

// === impl LimitArgs ===

impl LimitArgs {
    /// Returns the limit, if one is set. Adds warnings for the log.
    ///
    /// # Errors
    /// A value is invalid.
    pub(crate) fn rate(&self, warnings: &mut Vec<String>) -> anyhow::Result<Option<Rate>> {
        let burst = match self.kube_api_burst {
            None => DEFAULT_BURST,
            Some(burst) => u32::try_from(burst)
                .ok()
                .filter(|burst| *burst > 0)
                .with_context(|| {
                    format!(
                        "--kube-api-burst: {burst} is not between 1 and {}",
                        u32::MAX
                    )
                })?,
        };
        let Some(per_second) = self.kube_api_qps else {
            if self.kube_api_burst.is_some() {
                warnings.push("--kube-api-burst has no effect without --kube-api-qps".to_owned());
            }
            return Ok(None);
        };
        // A lower rate would look like a standstill.
        if !per_second.is_finite() || (per_second > 0.0 && per_second < 0.01) {
            bail!(
                "--kube-api-qps: {per_second} is not a valid rate: use 0.01 or more, or 0 for no limit"
            );
        }
        // In client-go, zero and negative rates mean no limit.
        Ok((per_second > 0.0).then_some(Rate { per_second, burst }))
    }
}

// === impl Rate ===

impl Rate {
    /// Creates the limit.
    pub(crate) fn limit(self) -> Option<Limit> {
        Limit::new(self.per_second, self.burst)
    }
}
