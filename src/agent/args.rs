//! The flags of the agent, and the settings that they define.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use berth_agent::{Clock, Settings, VERSION};
use berth_agent_core::addons::Driver;
use berth_agent_core::claims::ClaimSettings;
use berth_agent_core::cluster::Wish;
use berth_lease::LeaseParams;
use jiff::SignedDuration;
use tempfile::TempDir;

use super::gates::Gates;
use super::refused::{Refused, WithoutEffect};
use crate::common::{LogArgs, TlsArgs, given, pod_name, pod_namespace, pod_uid, valid};
use crate::leading::{ElectionArgs, ElectionTimes};
use crate::ports::Address;
use crate::work::WorkFlags;

/// The namespace that OCM installs its agent in.
const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent";

/// The folder that OCM's Deployment mounts for the agent.
const DEFAULT_FOLDER: &str = "/spoke/hub-kubeconfig";

/// The Lease of OCM's agent, so that OCM's agents and ours exclude each other.
const LEASE: &str = "registration-agent-lock";

/// The Lease of OCM's work agent.
pub(crate) const WORK_LEASE: &str = "work-agent-lock";

/// The Lease of OCM's agent that does both, in the Singleton modes.
const SINGLETON_LEASE: &str = "klusterlet-agent-lock";

/// The prefix of annotations that the agent may set.
const ANNOTATIONS: &str = "agent.open-cluster-management.io";

/// The shortest lifetime of a certificate that Kubernetes' signers issue by default, in seconds.
const SHORTEST: i32 = 3600;

/// The shortest lifetime of a token that Kubernetes issues, in seconds.
const SHORTEST_TOKEN: i64 = 600;

/// Upper bound on the hubs of one cluster. All of them are asked at once.
const MOST_HUBS: usize = 16;

const EXAMPLES: &str = "\
Examples:
  # In a pod of the managed cluster, as OCM's operator starts it
  berth agent --cluster-name=c1 --bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig

  # How this cluster stands with its hub
  berth agent status

  # On a laptop: the kubeconfig of the managed cluster, and one for the hub
  berth agent --kubeconfig ~/.kube/c1 --bootstrap-kubeconfig hub.kubeconfig --cluster-name c1

  # Two hubs: the cluster belongs to the first, and goes to the second when the first is lost for ten minutes
  berth agent --cluster-name c1 --feature-gates MultipleHubs=true --bootstrap-kubeconfigs a.kubeconfig --bootstrap-kubeconfigs b.kubeconfig

The agent asks the hub for a certificate. A hub admin accepts the cluster: berth accept c1

Of several replicas one is active: the holder of the Lease registration-agent-lock, and of work-agent-lock for ManifestWorks.
A part that is turned off does not use its Lease. OCM's agents use the same Leases.

Signals: the first SIGTERM or SIGINT releases the Lease and stops the process; the second one stops it immediately.
After the loss of the Lease, it exits with code 0.";

/// Register this cluster with a hub, and report it
///
/// Does the work of OCM's registration agent, and of its work agent: asks the hub for a certificate and renews it, renews the cluster's Lease, and reports its health, version, resources and claims. It registers the cluster's add-ons, and reports whether they work. It never stops because the hub is away or the cluster is not accepted: it waits, and says what it waits for.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    args_override_self = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// Kubeconfig of the cluster that the agent runs in [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Kubeconfig of the cluster to register, if the agent runs in another one
    #[arg(long, value_name = "FILE")]
    pub(super) spoke_kubeconfig: Option<PathBuf>,
    /// Kubeconfig of the hub for the first request; its credentials need no more rights than manifests/bootstrap grants
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present_any = ["bootstrap_kubeconfigs", "registration"]
    )]
    bootstrap_kubeconfig: Option<PathBuf>,
    /// The same of several hubs, the preferred ones first (repeatable; needs --feature-gates=MultipleHubs=true).
    /// The cluster belongs to one hub at a time
    #[arg(long, value_name = "FILE")]
    bootstrap_kubeconfigs: Vec<PathBuf>,
    /// With several hubs: how long one may not manage the cluster before the agent goes to another, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    hub_connection_timeout_seconds: u32,
    /// Name of the cluster on the hub [default: the one that it registered with before, else a new UUID]
    #[arg(long, value_name = "NAME", alias = "spoke-cluster-name")]
    cluster_name: Option<String>,
    /// Name of the agent on the hub [default: the one that it registered with before, else a new one]
    #[arg(long, value_name = "NAME")]
    agent_id: Option<String>,
    /// Folder for the certificate, its key and the kubeconfig of the hub
    /// [default: /spoke/hub-kubeconfig in a pod, else a temporary one]
    #[arg(long, value_name = "FOLDER")]
    hub_kubeconfig_dir: Option<PathBuf>,
    /// Secret that keeps the certificate, its key and the kubeconfig of the hub
    #[arg(long, value_name = "NAME", default_value = "hub-kubeconfig-secret")]
    hub_kubeconfig_secret: String,
    /// Namespace of this Secret, and of the Lease
    /// [default: the namespace that this runs in, else open-cluster-management-agent]
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// URLs of the cluster's API server for the hub (repeatable, or separated by commas)
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    spoke_external_server_urls: Vec<String>,
    /// Annotations of the ManagedCluster, as KEY=VALUE; keys begin with agent.open-cluster-management.io (repeatable)
    #[arg(long, value_name = "ANNOTATIONS", value_delimiter = ',')]
    cluster_annotations: Vec<String>,
    /// Labels of the ManagedCluster, as KEY=VALUE, if the agent creates it (repeatable)
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    cluster_labels: Vec<String>,
    /// Lifetime of the certificate to ask for, in seconds; at least 3600 [default: the hub's signer decides]
    #[arg(long, value_name = "SECONDS")]
    client_cert_expiration_seconds: Option<i32>,
    /// How add-ons are registered with the hub's API server: by certificates (csr), or by tokens of service accounts (token)
    #[arg(long, value_name = "DRIVER", default_value = "csr")]
    addon_kubeclient_registration_auth: String,
    /// Lifetime of the tokens of add-ons to ask for, in seconds; at least 600
    #[arg(long, value_name = "SECONDS", default_value_t = 31_536_000)]
    addon_token_expiration_seconds: i64,
    /// Interval of the health checks of the cluster's API server
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    cluster_healthcheck_period: SignedDuration,
    /// Limit on reported ClusterClaims without a reserved name
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    max_custom_cluster_claims: usize,
    /// Suffixes of reserved names of ClusterClaims, which the limit does not concern (repeatable, or separated by commas)
    #[arg(long, value_name = "SUFFIXES", value_delimiter = ',')]
    reserved_cluster_claim_suffixes: Vec<String>,
    /// Feature gates, as Gate=true,Gate=false: AddonManagement (on), ClusterClaim (on), ClusterProperty (off),
    /// ExecutorImpersonation (off), MultipleHubs (off), RawFeedbackJsonString (off)
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
    election: ElectionArgs<AgentTimes>,
    #[command(flatten)]
    pub(super) tls: TlsArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
    /// Register the cluster and report it
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) registration: bool,
    /// Carry out ManifestWorks, as 'berth work agent' does; it begins when the cluster is registered and serves AppliedManifestWorks
    /// (manifests/agent/work)
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(super) work: bool,
    #[command(flatten)]
    work_flags: WorkFlags,
    /// One Lease for both parts, as OCM's operator expects of /registration-operator agent.
    #[arg(long, hide = true)]
    pub(super) singleton: bool,
    #[command(flatten)]
    refused: Refused,
    #[command(flatten)]
    ignored: WithoutEffect,
}

/// Commands about an agent that runs.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    Status(berth_admin::AgentStatusArgs),
}

/// The times of OCM's agents.
#[derive(Debug)]
pub(crate) struct AgentTimes;

impl ElectionTimes for AgentTimes {
    const LEASE_DURATION: &'static str = "137s";
    const RENEW_DEADLINE: &'static str = "107s";
    const RETRY_PERIOD: &'static str = "26s";
}

/// A part of the agent that runs under one Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// It registers the cluster and reports it.
    pub(super) registers: bool,
    /// It carries out ManifestWorks.
    pub(super) works: bool,
}

/// What the flags define.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) agent: Settings,
    /// The settings of the part that carries out ManifestWorks.
    pub(super) work: berth_work_agent::Settings,
    /// What runs in this process, each with a Lease of its own; without one, there is no leader election.
    pub(super) parts: Vec<(Part, Option<LeaseParams>)>,
    /// Warnings for the log.
    pub(super) warnings: Vec<String>,
    /// The folder of the files, if no other is named: it goes with the process.
    pub(super) temporary: Option<TempDir>,
}

// === impl Part ===

impl Part {
    /// The name of the component in `/readyz`.
    pub(super) fn name(self) -> &'static str {
        if self.registers {
            "agent"
        } else {
            "work-agent"
        }
    }
}

// === impl Args ===

impl Args {
    /// Returns true for a command about an agent that runs, instead of the agent itself.
    pub(crate) fn is_command(&self) -> bool {
        self.command.is_some()
    }

    /// Returns the settings of this process.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(super) fn settings(&self) -> anyhow::Result<Given> {
        self.refused.check()?;
        let gates = Gates::parse(&self.feature_gates)?;
        let mut warnings = self.ignored.warnings();
        let bootstraps = self.bootstraps(gates)?;
        let in_pod = pod_namespace();
        let (folder, temporary) = match (&self.hub_kubeconfig_dir, &in_pod) {
            (Some(folder), _) => (folder.clone(), None),
            (None, Some(_)) => (PathBuf::from(DEFAULT_FOLDER), None),
            (None, None) => {
                // Only then: the file system of a pod is read-only. The Secret has the files, too.
                let temporary = TempDir::with_prefix("berth-agent-");
                let temporary =
                    temporary.context("no folder for the files of --hub-kubeconfig-dir")?;
                (temporary.path().join("hub-kubeconfig"), Some(temporary))
            }
        };
        let namespace = self.namespace.clone().or(in_pod);
        let namespace = namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        let namespace = valid("--namespace", namespace, "Namespace")?;
        let cluster_name = given(self.cluster_name.as_ref());
        let cluster_name = cluster_name
            .map(|name| valid("--cluster-name", name, "cluster"))
            .transpose()?;
        let period = Duration::try_from(self.cluster_healthcheck_period).unwrap_or_default();
        // OCM's words.
        ensure!(
            !period.is_zero(),
            "--cluster-healthcheck-period: cluster healthcheck period must greater than zero"
        );
        if let Some(seconds) = self.client_cert_expiration_seconds {
            ensure!(
                seconds == 0 || seconds >= SHORTEST,
                "--client-cert-expiration-seconds: {seconds} is less than {SHORTEST}, the shortest lifetime that OCM's hubs accept"
            );
        }
        let driver = self.addon_driver()?;
        let identity = berth_lease::identity(pod_uid().as_deref());
        let instance = pod_name().unwrap_or_else(|| identity.name().to_owned());
        let work_flags =
            (self.work_flags).settings(folder.join("kubeconfig"), &instance, &mut warnings)?;
        let parts = self.parts()?.into_iter().map(|(part, lease)| {
            let election = self.election.params(&namespace, lease, &identity)?;
            anyhow::Ok((part, election))
        });
        Ok(Given {
            parts: parts.collect::<Result<_, _>>()?,
            work: berth_work_agent::Settings {
                cluster_name: cluster_name.clone(),
                agent_id: given(self.agent_id.as_ref()),
                raw_feedback: gates.raw_feedback,
                impersonates_executors: gates.executor_impersonation,
                namespace: namespace.clone(),
                ..work_flags
            },
            agent: Settings {
                cluster_name,
                agent_name: given(self.agent_id.as_ref()),
                namespace,
                hub_secret: self.hub_kubeconfig_secret.clone(),
                folder,
                bootstraps,
                hub_timeout: Duration::from_secs(self.hub_connection_timeout_seconds.into()),
                wish: self.wish(&mut warnings)?,
                expiration_seconds: self.client_cert_expiration_seconds.filter(|it| *it != 0),
                probe_period: period,
                claims: ClaimSettings {
                    max_custom: self.max_custom_cluster_claims,
                    // An empty one would match every claim.
                    reserved_suffixes: (self.reserved_cluster_claim_suffixes.iter())
                        .filter(|it| !it.is_empty())
                        .cloned()
                        .collect(),
                    agent_version: Some(VERSION.to_owned()),
                },
                cluster_claims: gates.cluster_claim,
                cluster_properties: gates.cluster_property,
                addons: gates.addon_management.then_some(driver),
                instance,
                clock: Clock::default(),
            },
            warnings,
            temporary,
        })
    }

    /// What runs, and under which Lease.
    fn parts(&self) -> anyhow::Result<Vec<(Part, &'static str)>> {
        let (registers, works) = (self.registration, self.work);
        ensure!(
            registers || works,
            "--registration=false and --work=false leave nothing to do: leave one out"
        );
        if self.singleton {
            return Ok(vec![(Part { registers, works }, SINGLETON_LEASE)]);
        }
        let registration = Part {
            registers: true,
            works: false,
        };
        let work = Part {
            registers: false,
            works: true,
        };
        let registration = registers.then_some((registration, LEASE));
        let work = works.then_some((work, WORK_LEASE));
        Ok(registration.into_iter().chain(work).collect())
    }

    /// The bootstrap kubeconfigs; with the gate, those of several hubs.
    fn bootstraps(&self, gates: Gates) -> anyhow::Result<Vec<PathBuf>> {
        let several = &self.bootstrap_kubeconfigs;
        if gates.multiple_hubs {
            // OCM's words.
            ensure!(
                several.len() >= 2,
                "--bootstrap-kubeconfigs: expect at least 2 bootstrap kubeconfigs, because of --feature-gates=MultipleHubs=true"
            );
            ensure!(
                several.len() <= MOST_HUBS,
                "--bootstrap-kubeconfigs: {} hubs are more than {MOST_HUBS}",
                several.len()
            );
            return Ok(several.clone());
        }
        ensure!(
            several.is_empty(),
            "--bootstrap-kubeconfigs: needs --feature-gates=MultipleHubs=true; for one hub, use --bootstrap-kubeconfig"
        );
        // Required, but for a command.
        Ok(vec![self.bootstrap_kubeconfig.clone().unwrap_or_default()])
    }

    fn addon_driver(&self) -> anyhow::Result<Driver> {
        let seconds = self.addon_token_expiration_seconds;
        let is_allowed = seconds >= SHORTEST_TOKEN;
        ensure!(
            is_allowed || self.addon_kubeclient_registration_auth != "token",
            "--addon-token-expiration-seconds: {seconds} is less than {SHORTEST_TOKEN}, the shortest lifetime that Kubernetes allows"
        );
        match self.addon_kubeclient_registration_auth.as_str() {
            "" | "csr" => Ok(Driver::Csr),
            "token" => Ok(Driver::Token { seconds }),
            driver => bail!(
                "--addon-kubeclient-registration-auth: unknown driver {driver:?}; the drivers are csr and token"
            ),
        }
    }

    fn wish(&self, warnings: &mut Vec<String>) -> anyhow::Result<Wish> {
        let urls: Vec<String> = self
            .spoke_external_server_urls
            .iter()
            .filter(|it| !it.is_empty())
            .cloned()
            .collect();
        for url in &urls {
            let is_https = url.parse::<http::Uri>().is_ok_and(|it| {
                it.scheme_str() == Some("https") && it.host().is_some_and(|it| !it.is_empty())
            });
            ensure!(
                is_https,
                "--spoke-external-server-urls: {url:?} is not an https URL"
            );
        }
        let mut annotations = pairs("--cluster-annotations", &self.cluster_annotations)?;
        annotations.retain(|key, _| {
            let is_allowed = key.starts_with(ANNOTATIONS);
            if !is_allowed {
                warnings.push(format!(
                    "--cluster-annotations: {key:?} does not begin with {ANNOTATIONS} and is ignored"
                ));
            }
            is_allowed
        });
        Ok(Wish {
            annotations,
            labels: pairs("--cluster-labels", &self.cluster_labels)?,
            ca_bundle: self.ca_bundle(&urls)?,
            urls,
        })
    }

    /// The CA of the registered cluster, in base64, for the hub: that of its kubeconfig, or of the pod.
    fn ca_bundle(&self, urls: &[String]) -> anyhow::Result<Option<String>> {
        if urls.is_empty() {
            return Ok(None);
        }
        let file = (self.spoke_kubeconfig.as_ref()).or(self.kubeconfig.as_ref());
        let read = |path: &Path| {
            let context = || format!("the CA of the cluster cannot be read: {}", path.display());
            let pem = std::fs::read(path).with_context(context)?;
            anyhow::Ok(base64::Engine::encode(
                &base64::prelude::BASE64_STANDARD,
                pem,
            ))
        };
        let Some(file) = file else {
            let mounted = Path::new("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
            return mounted.exists().then(|| read(mounted)).transpose();
        };
        let endpoint = berth_hub::endpoint(file, "--kubeconfig")?;
        if endpoint.certificate_authority_data.is_some() {
            return Ok(endpoint.certificate_authority_data);
        }
        let path = endpoint
            .certificate_authority
            .map(|path| file.parent().unwrap_or(Path::new("")).join(path));
        path.map(|path| read(&path)).transpose()
    }
}

/// The pairs of a flag whose values are `KEY=VALUE`. A part without an equals sign belongs to the value before it, which had a comma.
fn pairs(flag: &str, values: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    let mut last: Option<String> = None;
    for part in values.iter().filter(|it| !it.is_empty()) {
        match (part.split_once('='), &last) {
            (Some((key, value)), _) => {
                pairs.insert(key.to_owned(), value.to_owned());
                last = Some(key.to_owned());
            }
            (None, Some(key)) => {
                let value: &mut String = pairs.entry(key.clone()).or_default();
                value.push(',');
                value.push_str(part);
            }
            (None, None) => bail!("{flag}: {part:?} is not of the form KEY=VALUE"),
        }
    }
    Ok(pairs)
}
