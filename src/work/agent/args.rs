//! The flags of the work agent, and the settings that they define.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use berth_lease::LeaseParams;
use berth_work_agent::Settings;
use jiff::SignedDuration;

use crate::agent::{AgentTimes, WORK_LEASE};
use crate::common::{
    LogArgs, TlsArgs, given, ignored_flags, pod_name, pod_namespace, pod_uid, valid,
};
use crate::feature_gates::pairs;
use crate::leading::ElectionArgs;
use crate::ports::Address;

/// The namespace that OCM installs its agent in.
const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent";

/// The folder that OCM's Deployment mounts for the agent.
const DEFAULT_FOLDER: &str = "/spoke/hub-kubeconfig";

/// client-go's default for a rate without a burst.
const DEFAULT_BURST: u32 = 100;

const EXAMPLES: &str = "\
Examples:
  # In a pod of the managed cluster, as OCM's operator starts it (the executable is also at /work)
  berth work agent --spoke-cluster-name=c1

  # On a laptop: the kubeconfig of the managed cluster, and the folder that 'berth agent' keeps for the hub
  berth work agent --kubeconfig ~/.kube/c1 --hub-kubeconfig-dir ./hub-kubeconfig

The agent makes the objects of the ManifestWorks in the cluster's namespace on the hub, keeps them as the ManifestWorks say, and reports
them there. It watches what it made: a change is put back at once, and while nothing changes it sends no request.

Of several replicas one is active: the holder of the Lease work-agent-lock. OCM's agent uses the same Lease.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// Run the agent of ManifestWorks on a managed cluster
///
/// Does the work of OCM's work agent: creates, updates and deletes the objects of ManifestWorks, and reports them to the hub. It never stops because the hub or the cluster is away: it waits.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(crate) struct WorkAgentArgs {
    /// Kubeconfig of the cluster that the agent runs in [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Kubeconfig of the managed cluster, if the agent runs in another one
    #[arg(long, value_name = "FILE")]
    pub(super) spoke_kubeconfig: Option<PathBuf>,
    /// Folder with the kubeconfig of the hub, which the registration agent writes
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    hub_kubeconfig_dir: PathBuf,
    /// Kubeconfig of the hub [default: the file kubeconfig in --hub-kubeconfig-dir]
    #[arg(long, value_name = "FILE", alias = "hub-kubeconfig")]
    workload_source_config: Option<PathBuf>,
    /// Where works come from: kube, the hub's API server
    #[arg(long, value_name = "DRIVER", default_value = "kube")]
    workload_source_driver: String,
    /// Name of the cluster on the hub [default: the one in the file cluster-name in --hub-kubeconfig-dir]
    #[arg(long, value_name = "NAME", alias = "cluster-name")]
    spoke_cluster_name: Option<String>,
    /// Name of the agent in AppliedManifestWorks [default: the hash of the hub's address]
    #[arg(long, value_name = "NAME")]
    agent_id: Option<String>,
    /// Namespace of the Lease [default: the namespace that this runs in, else open-cluster-management-agent]
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    flags: WorkFlags,
    /// Feature gates, as Gate=true,Gate=false: RawFeedbackJsonString (off: lists, objects and numbers with a fraction are not reported).
    /// ExecutorImpersonation (off: the agent asks whether an executor may write an object, and writes it itself).
    /// ExecutorValidatingCaches of OCM's agent has no effect: answers are always cached
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Address of /healthz, /readyz and /metrics, over TLS; the port may be 'auto' for any free port.
    /// The certificate comes from /var/run/secrets/serving-cert, or else it is self-signed
    #[arg(long, value_name = "IP:PORT", default_value = ":8443")]
    pub(super) listen: Address,
    /// Stop when the content of this file changes (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) terminate_on_files: Vec<PathBuf>,
    #[command(flatten)]
    rates: Rates,
    #[command(flatten)]
    election: ElectionArgs<AgentTimes>,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
    #[command(flatten)]
    ignored: WithoutEffect,
}

/// Flags of the work agent that `berth agent` has, too.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkFlags {
    /// How often objects are read that may not be watched
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    status_sync_interval: SignedDuration,
    /// How long objects stay whose ManifestWork is missing on the hub; 876000h or more: for ever
    #[arg(long, value_name = "DURATION", default_value = "60m")]
    appliedmanifestwork_eviction_grace_period: SignedDuration,
    /// Limit on the bytes of a reported value that is raw JSON
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    max_json_raw_length: u32,
    /// Limit on the memory of all ManifestWorks together, as a quantity. Those that exceed it are refused: Applied is False, with the figure.
    /// Raise the memory limit of the container with it
    #[arg(long, value_name = "QUANTITY", default_value = "64Mi")]
    works_memory: String,
    #[arg(long, hide = true)]
    workload_agent_workers: Option<i64>,
    #[arg(long, hide = true)]
    max_feedback_watch: Option<String>,
}

/// Limits of requests, for admins who want one.
#[derive(Debug, clap::Args)]
struct Rates {
    /// Limit on requests to the managed cluster per second [default: no limit, since the API server has priority and fairness]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    kube_api_qps: Option<f64>,
    /// Limit on requests at once after an idle time, with --kube-api-qps [default: 100]
    #[arg(long, value_name = "COUNT")]
    kube_api_burst: Option<u32>,
    /// Limit on requests to the hub per second [default: no limit]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    hub_kube_api_qps: Option<f64>,
    /// Limit on requests at once after an idle time, with --hub-kube-api-qps [default: 100]
    #[arg(long, value_name = "COUNT")]
    hub_kube_api_burst: Option<u32>,
}

/// Flags of OCM's agent that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct WithoutEffect {
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    cloudevents_client_id: Option<String>,
    #[arg(long, hide = true)]
    cloudevents_client_codecs: Vec<String>,
}

/// What the flags define.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) agent: Settings,
    /// `None`: no leader election.
    pub(super) election: Option<LeaseParams>,
    /// Warnings for the log.
    pub(super) warnings: Vec<String>,
}

// === impl WorkAgentArgs ===

impl WorkAgentArgs {
    /// Returns the settings of this process.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(super) fn settings(&self) -> anyhow::Result<Given> {
        ensure!(
            self.workload_source_driver == "kube",
            "--workload-source-driver: {:?} is not supported; the only driver is \"kube\"",
            self.workload_source_driver
        );
        let namespace = self.namespace.clone().or_else(pod_namespace);
        let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        let namespace = valid("--namespace", namespace, "Namespace")?;
        let cluster_name = given(self.spoke_cluster_name.as_ref());
        let cluster_name = cluster_name
            .map(|name| valid("--spoke-cluster-name", name, "cluster"))
            .transpose()?;
        let identity = berth_lease::identity(pod_uid().as_deref());
        let mut warnings = self.ignored.warnings();
        let instance = pod_name().unwrap_or_else(|| identity.name().to_owned());
        let kubeconfig = given_path(self.workload_source_config.as_ref());
        let kubeconfig = kubeconfig.unwrap_or_else(|| self.hub_kubeconfig_dir.join("kubeconfig"));
        let flags = self.flags.settings(kubeconfig, &instance, &mut warnings)?;
        let rate = |qps: Option<f64>, burst: Option<u32>| {
            let qps = qps.filter(|it| it.is_finite() && *it > 0.0);
            qps.map(|it| (it, burst.unwrap_or(DEFAULT_BURST)))
        };
        let rates = &self.rates;
        let gates = Gates::parse(&self.feature_gates)?;
        Ok(Given {
            agent: Settings {
                cluster_name,
                agent_id: given(self.agent_id.as_ref()),
                raw_feedback: gates.raw_feedback,
                impersonates_executors: gates.executor_impersonation,
                managed_limit: rate(rates.kube_api_qps, rates.kube_api_burst),
                namespace: namespace.clone(),
                hub_limit: rate(rates.hub_kube_api_qps, rates.hub_kube_api_burst),
                ..flags
            },
            election: self.election.params(&namespace, WORK_LEASE, &identity)?,
            warnings,
        })
    }
}

// === impl WorkFlags ===

impl WorkFlags {
    /// Returns the settings of the agent, with the kubeconfig of its hub and its name in Events.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn settings(
        &self,
        hub_kubeconfig: PathBuf,
        instance: &str,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<Settings> {
        let positive = |flag: &str, duration: SignedDuration| {
            let duration = Duration::try_from(duration).ok();
            (duration.filter(|it| !it.is_zero()))
                .with_context(|| format!("--{flag}: must be more than zero"))
        };
        if let Some(workers) = self.workload_agent_workers {
            // OCM's words.
            ensure!(
                workers >= 1,
                "--workload-agent-workers: workload-agent-workers must be >= 1, got {workers}"
            );
        }
        if self.max_feedback_watch.is_some() {
            warnings.extend(ignored_flags(&[("max-feedback-watch", true)]));
        }
        let works_memory = berth_api::quantity::exact(&self.works_memory)
            .and_then(|nanos| u64::try_from(nanos / 1_000_000_000).ok())
            .filter(|bytes| *bytes > 0);
        let grace = Duration::try_from(self.appliedmanifestwork_eviction_grace_period);
        Ok(Settings {
            eviction_grace: grace
                .context("--appliedmanifestwork-eviction-grace-period: cannot be negative")?,
            poll_interval: positive("status-sync-interval", self.status_sync_interval)?,
            max_json_raw: usize::try_from(self.max_json_raw_length).unwrap_or(usize::MAX),
            works_memory: works_memory.with_context(|| {
                format!(
                    "--works-memory: {:?} is not a quantity of bytes, such as 64Mi",
                    self.works_memory
                )
            })?,
            ..Settings::new(hub_kubeconfig, instance)
        })
    }
}

// === impl WithoutEffect ===

impl WithoutEffect {
    /// Returns warnings about ignored flags. Those that the operator always sets are ignored silently.
    fn warnings(&self) -> Vec<String> {
        ignored_flags(&[("config", self.config.is_some())])
    }
}

/// The feature gates of the work agent.
#[derive(Clone, Copy, Debug, Default)]
struct Gates {
    raw_feedback: bool,
    executor_impersonation: bool,
}

impl Gates {
    /// Parses all values of the flag, in order. Later values win. Some gates of OCM's agent change nothing here.
    fn parse(values: &[String]) -> anyhow::Result<Self> {
        let mut gates = Self::default();
        for pair in pairs(values) {
            let (gate, on) = pair?;
            match gate {
                "RawFeedbackJsonString" => gates.raw_feedback = on,
                "ExecutorImpersonation" => gates.executor_impersonation = on,
                "AllAlpha" | "AllBeta" | "ExecutorValidatingCaches" => {}
                gate => bail!(
                    "--feature-gates: unknown gate {gate:?}; the gates of the work agent are ExecutorImpersonation, ExecutorValidatingCaches and RawFeedbackJsonString"
                ),
            }
        }
        Ok(gates)
    }
}

/// As [`given`], of a path.
fn given_path(value: Option<&PathBuf>) -> Option<PathBuf> {
    value.filter(|it| **it != Path::new("")).cloned()
}
