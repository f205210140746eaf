//! The flags of the placement controller, and the settings that they define.

use std::path::PathBuf;

use berth_lease::LeaseParams;
use berth_placement::{OnFault, Settings as Scheduling};
use berth_reconcile::Limit;
use clap::ValueEnum;

use crate::common::{LogArgs, TlsArgs, ignored_flags, pod_name, pod_uid};
use crate::hub_component::{HubTimes, LimitArgs, NamespaceArgs, Rate};
use crate::leading::ElectionArgs;
use crate::ports::Address;

/// The Lease of OCM's controller, so that OCM's controllers and ours exclude each other.
const LEASE: &str = "placement-lock";

#[derive(Debug, clap::Args)]
pub(super) struct ControllerArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Address of /healthz, /readyz and /metrics, over TLS; the port may be 'auto' for any free port.
    /// The certificate comes from /var/run/secrets/serving-cert, or else it is self-signed
    #[arg(long, value_name = "IP:PORT", default_value = ":8443")]
    listen: Address,
    #[command(flatten)]
    namespace: NamespaceArgs,
    /// What becomes of the decisions of a placement that cannot be evaluated, because of a mistake in its spec or in a set
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OfMisconfigured::Keep)]
    misconfigured_decisions: OfMisconfigured,
    #[command(flatten)]
    election: ElectionArgs<HubTimes>,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// What becomes of the decisions of a placement that cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OfMisconfigured {
    /// They stay, except those for clusters that the placement may not select any more
    Keep,
    /// They are removed, as OCM's controller does
    Remove,
}

/// Flags of OCM's controller that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    feature_gates: Vec<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Vec<String>,
}

/// The settings that the flags define.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) listen: Address,
    pub(super) scheduling: Scheduling,
    /// The name of this process, for Events.
    pub(super) instance: String,
    /// None: no leader election.
    pub(super) election: Option<LeaseParams>,
    limit: Option<Rate>,
    /// Warnings for the log.
    pub(super) warnings: Vec<String>,
}

// === impl ControllerArgs ===

impl ControllerArgs {
    /// Returns the settings of this process.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        let identity = berth_lease::identity(pod_uid().as_deref());
        let mut warnings = self.ignored.warnings();
        let namespace = self.namespace.name()?;
        let on_fault = match self.misconfigured_decisions {
            OfMisconfigured::Keep => OnFault::Keep,
            OfMisconfigured::Remove => OnFault::Remove,
        };
        Ok(Settings {
            listen: self.listen,
            scheduling: Scheduling {
                on_fault,
                ..Scheduling::default()
            },
            instance: pod_name().unwrap_or_else(|| identity.name().to_owned()),
            election: self.election.params(&namespace, LEASE, &identity)?,
            limit: self.limit.rate(&mut warnings)?,
            warnings,
        })
    }
}

// === impl Settings ===

impl Settings {
    /// Creates the limit on requests, if one is set.
    pub(super) fn limit(&self) -> Option<Limit> {
        self.limit.and_then(Rate::limit)
    }
}

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[
            ("config", self.config.is_some()),
            ("feature-gates", !self.feature_gates.is_empty()),
            ("terminate-on-files", !self.terminate_on_files.is_empty()),
        ])
    }
}
