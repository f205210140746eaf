//! Flags that the controllers of the hub share.

pub(crate) mod manager;

use anyhow::{Context, bail};
use berth_lease::LeaseParams;
use berth_reconcile::Limit;

use crate::common::{install_namespace, pod_name, pod_uid, valid};
use crate::leading::{ElectionArgs, ElectionTimes};
use crate::ports::Address;

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

/// The flags of a process with controllers of the hub.
#[derive(Debug, clap::Args)]
pub(crate) struct HubComponentArgs {
    /// Address of /healthz, /readyz and /metrics of the controllers, over TLS; the port may be 'auto' for any free port.
    /// The certificate comes from /var/run/secrets/serving-cert, or else it is self-signed
    #[arg(long, value_name = "IP:PORT", default_value = ":8443")]
    listen: Address,
    /// Namespace of the hub's components, and of the Leases; of the operator: of its Lease
    /// [default: the namespace that this runs in, else open-cluster-management-hub]
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    election: ElectionArgs<HubTimes>,
    /// Limit on write requests of each controller per second [default: no limit, since the API server has priority and fairness]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    kube_api_qps: Option<f64>,
    /// Limit on write requests at once after an idle time, with --kube-api-qps [default: 100]
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    kube_api_burst: Option<i64>,
}

/// The settings of a process with controllers of the hub.
#[derive(Debug)]
pub(crate) struct HubComponent {
    pub(crate) listen: Address,
    pub(crate) namespace: String,
    /// The name of this process, for Events.
    pub(crate) instance: String,
    /// With any name of a Lease. `None`: no leader election.
    election: Option<LeaseParams>,
    limit: Option<Rate>,
    /// Warnings for the log.
    pub(crate) warnings: Vec<String>,
}

/// A limit on write requests.
#[derive(Clone, Copy, Debug)]
struct Rate {
    per_second: f64,
    burst: u32,
}

// === impl HubComponentArgs ===

impl HubComponentArgs {
    /// Returns the settings of this process.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn settings(&self) -> anyhow::Result<HubComponent> {
        let identity = berth_lease::identity(pod_uid().as_deref());
        let namespace = self.namespace()?;
        let mut warnings = Vec::new();
        Ok(HubComponent {
            listen: self.listen,
            instance: pod_name().unwrap_or_else(|| identity.name().to_owned()),
            election: self.election.params(&namespace, "lock", &identity)?,
            limit: self.limit(&mut warnings)?,
            namespace,
            warnings,
        })
    }

    fn namespace(&self) -> anyhow::Result<String> {
        let namespace = match &self.namespace {
            Some(namespace) => namespace.clone(),
            None => install_namespace(),
        };
        valid("--namespace", namespace, "Namespace")
    }

    fn limit(&self, warnings: &mut Vec<String>) -> anyhow::Result<Option<Rate>> {
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

// === impl HubComponent ===

impl HubComponent {
    /// Returns the parameters of the election by this Lease, or `None` without leader election.
    pub(crate) fn election(&self, lease: &str) -> Option<LeaseParams> {
        let params = self.election.clone()?;
        Some(LeaseParams {
            name: lease.to_owned(),
            ..params
        })
    }

    /// Creates the limit on write requests of a controller, if one is set.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let Rate { per_second, burst } = self.limit?;
        Limit::new(per_second, burst)
    }
}
