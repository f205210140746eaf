//! The arguments of `berth join`.

use std::borrow::Cow;
use std::path::PathBuf;

use berth_api::names;
use serde_json::{Map, Value, json};

use super::clusteradm;
use super::hub::checked_url;
use super::token::Token;
use super::waiting::Until;
use crate::accept::fingerprint::Fingerprint;
use crate::flags::DryRunArgs;
use crate::hub::{ClusterArgs, Wait, wait};

/// The feature gates of the work agent.
const OF_WORKS: [&str; 3] = [
    "ExecutorImpersonation",
    "ExecutorValidatingCaches",
    "RawFeedbackJsonString",
];

/// The prefix of the annotations that an agent may set on its ManagedCluster.
const ANNOTATIONS: &str = "agent.open-cluster-management.io/";

/// Join a hub: install the agent on this cluster, and let it register
///
/// Run it at the managed cluster. 'berth get token' on the hub prints the command. It verifies the hub, checks the token, installs
/// the agent in namespace open-cluster-management-agent (manifests/agent), and gives it the token in Secret bootstrap-hub-kubeconfig.
/// Then an admin of the hub accepts the cluster: 'berth accept NAME'.
///
/// The agent also carries out ManifestWorks. With the permissions that OCM's agent has, too, users who may write ManifestWorks in the
/// cluster's namespace on the hub control this cluster. To allow less, see docs/work.md.
///
/// The hub is verified by --ca-file, --ca-data or --ca-hash. Without them it is verified by ConfigMap kube-public/cluster-info if
/// that is signed with the token (bootstrap tokens of kubeadm's clusters), and else by the CAs of this machine. The token is never
/// sent to a server that is not verified.
///
/// The command line of 'clusteradm join' works. Flags for operator, Helm, resources and labels have no effect, and a warning says so.
/// Other modes than 'default', and registration by AWS or gRPC, are refused.
#[derive(Debug, clap::Args)]
#[command(mut_arg("dry_run", |arg| {
    arg.help(
        "Change nothing: verify the hub, and check the token and this cluster. 'client' prints the manifests, which contain the token; \
         'server' has the API server of this cluster check each object",
    )
}))]
#[command(after_help = "\
Examples:
  # The command that 'berth get token' prints on the hub
  berth join --hub-token $TOKEN --hub-apiserver $HUB --ca-hash $HASH --cluster-name c1

  # The same, with an image of your own, and wait until the cluster has joined
  berth join ... --image registry.example.com/berth:v0.1.0 --wait=joined

  # The token in a file, the CA in another one; check everything, but change nothing
  berth join --hub-token-file token --hub-apiserver $HUB --ca-file ca.crt --cluster-name c1 --dry-run=server

  # For a GitOps tool
  berth join ... --output-manifests --output-file agent.yaml

  # By an operator, and a Klusterlet
  berth join ... --operator

  # With Helm
  berth join ... --output-values --include-token | helm install berth-agent charts/berth-agent \\
    --namespace open-cluster-management-agent --create-namespace --values -")]
pub struct Args {
    /// Token of the hub, as 'berth get token' prints it
    #[arg(long, value_name = "TOKEN", required_unless_present = "hub_token_file")]
    pub(super) hub_token: Option<Token>,
    /// File with the token, so that it is not on the command line; '-' for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "hub_token")]
    pub(super) hub_token_file: Option<PathBuf>,
    /// URL of the hub's API server
    #[arg(long, value_name = "URL", value_parser = checked_url)]
    pub(super) hub_apiserver: String,
    /// Name of this cluster on the hub: a DNS label of at most 63 characters
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    pub(super) cluster_name: String,
    /// Wait until an admin of the hub can accept the cluster; with --wait=joined until the cluster has joined
    #[arg(
        long,
        value_name = "registered|joined",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "registered",
        hide_possible_values = true
    )]
    pub(super) wait: Option<Until>,
    /// Timeout of --wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "300")]
    pub(super) timeout: Wait,
    #[command(flatten)]
    pub(super) dry_run: DryRunArgs,
    /// Change nothing and do not connect to this cluster: verify the hub, and print the manifests. They contain the token
    #[arg(long)]
    pub(super) output_manifests: bool,
    /// Change nothing and do not connect to this cluster: verify the hub, and print the values of the chart berth-agent with which Helm
    /// installs the same objects. They contain no token: create Secret bootstrap-hub-kubeconfig yourself, or add --include-token
    #[arg(long, conflicts_with_all = ["output_manifests", "dry_run", "wait"])]
    pub(super) output_values: bool,
    /// Print the bootstrap kubeconfig, which contains the token, among the values
    #[arg(long, requires = "output_values")]
    pub(super) include_token: bool,
    /// Also write the manifests to a file that only you can read; with --dry-run, --output-manifests or --output-values instead of printing
    /// them
    #[arg(long, value_name = "FILE")]
    pub(super) output_file: Option<PathBuf>,
    /// Install an operator (manifests/operator/klusterlet), and the Klusterlet by which it installs the agent and keeps it: for GitOps and
    /// tools that read Klusterlets. The operator's account has all rights on this cluster
    #[arg(long, conflicts_with = "output_values")]
    pub(super) operator: bool,
    /// Take over fields that another client has changed
    #[arg(long)]
    pub(super) force_conflicts: bool,
    #[command(flatten)]
    pub(super) foreign: clusteradm::ForeignFlags,
    #[command(flatten)]
    pub(super) verification: VerificationArgs,
    #[command(flatten)]
    pub(super) agent: AgentArgs,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

/// How the hub is verified and reached.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The hub")]
pub(super) struct VerificationArgs {
    /// File with the CA of the hub, PEM
    #[arg(long, value_name = "FILE", group = "ca")]
    pub(super) ca_file: Option<PathBuf>,
    /// CA of the hub, PEM in base64
    #[arg(long, value_name = "BASE64", group = "ca")]
    pub(super) ca_data: Option<String>,
    /// SHA-256 of the public key of the hub's CA. The CA itself is read from the hub (kube-public/cluster-info)
    #[arg(
        long,
        value_name = "SHA256:HEX,...",
        value_delimiter = ',',
        group = "ca"
    )]
    pub(super) ca_hash: Vec<Fingerprint>,
    /// The agent uses the address in the hub's ConfigMap kube-public/cluster-info instead of --hub-apiserver
    #[arg(long)]
    pub(super) force_internal_endpoint_lookup: bool,
    /// HTTP proxy to the hub, for this command and the agent
    #[arg(long, value_name = "URL")]
    pub(super) proxy_url: Option<String>,
    /// File with the CA of an HTTPS proxy, PEM. The hub is then also trusted if this CA signed its certificate
    #[arg(long, value_name = "FILE", requires = "proxy_url")]
    pub(super) proxy_ca_file: Option<PathBuf>,
}

/// What the agent runs with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The agent")]
pub(super) struct AgentArgs {
    /// Image of the agent [default: the image of the installed agent, else that of this release]
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["image_registry", "bundle_version"])]
    image: Option<String>,
    /// Registry of the image, which is named REGISTRY/berth
    #[arg(long, value_name = "REGISTRY")]
    image_registry: Option<String>,
    /// Tag of the image
    #[arg(long, value_name = "TAG", requires = "image_registry")]
    bundle_version: Option<String>,
    /// Feature gates of the agent, as Gate=true,Gate=false
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Lifetime of the agent's certificate that it asks for, at least 3600 [default: the hub decides]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(3600..))]
    client_cert_expiration_seconds: Option<u32>,
    /// Annotation of the ManagedCluster (repeatable). The prefix agent.open-cluster-management.io/ is added if it is missing
    #[arg(long, value_name = "KEY=VALUE", value_parser = annotation)]
    klusterlet_annotation: Vec<String>,
}

/// Parses the name of a cluster.
fn cluster_name(text: &str) -> Result<String, String> {
    match names::dns1123_label(text).first() {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.clone()),
    }
}

/// Parses an annotation, and adds the prefix.
fn annotation(text: &str) -> Result<String, String> {
    let (key, _) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let text = match key.starts_with(ANNOTATIONS) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{ANNOTATIONS}{text}")),
    };
    let key = text.split('=').next().unwrap_or_default();
    match names::qualified_name(key).first() {
        Some(why) => Err(why.clone()),
        None if text.contains(',') => Err("a comma would separate two annotations".to_owned()),
        None => Ok(text.into_owned()),
    }
}

// === impl AgentArgs ===

impl AgentArgs {
    /// Returns the image that the flags name.
    pub(super) fn image(&self) -> Option<String> {
        let registry = |registry: &str| format!("{}/berth", registry.trim_end_matches('/'));
        match (&self.image, &self.image_registry, &self.bundle_version) {
            (Some(image), ..) => Some(image.clone()),
            (None, Some(host), Some(tag)) => Some(format!("{}:{tag}", registry(host))),
            (None, Some(host), None) => Some(registry(host)),
            (None, None, _) => None,
        }
    }

    /// Returns the registrationConfiguration and the workConfiguration of a Klusterlet.
    pub(super) fn configuration(&self) -> [Value; 2] {
        let gates = self.feature_gates.iter().flat_map(|it| it.split(','));
        let gates = gates.filter_map(|it| it.split_once('='));
        let (of_works, others): (Vec<_>, Vec<_>) =
            gates.partition(|(name, _)| OF_WORKS.contains(&name.trim()));
        let listed = |gates: Vec<(&str, &str)>| -> Vec<Value> {
            let gates = gates.into_iter().map(|(name, on)| {
                let mode = match on.trim() {
                    "true" => "Enable",
                    _ => "Disable",
                };
                json!({"feature": name.trim(), "mode": mode})
            });
            gates.collect()
        };
        let mut registration = json!({});
        let annotations = self.klusterlet_annotation.iter();
        let annotations = annotations.filter_map(|it| it.split_once('='));
        let annotations: Map<String, Value> = annotations
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        if !annotations.is_empty() {
            registration["clusterAnnotations"] = Value::Object(annotations);
        }
        if let Some(seconds) = self.client_cert_expiration_seconds {
            registration["clientCertExpirationSeconds"] = json!(seconds);
        }
        let mut work = json!({});
        for (configuration, gates) in [(&mut registration, others), (&mut work, of_works)] {
            if !gates.is_empty() {
                configuration["featureGates"] = json!(listed(gates));
            }
        }
        [registration, work]
    }

    /// Returns flags for the agent.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut add = |flag: &str, value: String| flags.push(format!("--{flag}={value}"));
        for gates in &self.feature_gates {
            add("feature-gates", gates.clone());
        }
        if let Some(seconds) = self.client_cert_expiration_seconds {
            add("client-cert-expiration-seconds", seconds.to_string());
        }
        if !self.klusterlet_annotation.is_empty() {
            add("cluster-annotations", self.klusterlet_annotation.join(","));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &str) -> Result<Args, String> {
        let words = "join --hub-apiserver https://hub --cluster-name c1 ".to_owned() + line;
        let line = Line::try_parse_from(words.split_whitespace());
        line.map(|line| line.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_agent_gets_the_flags_that_were_given() {
        let line = "--hub-token t --feature-gates A=true --client-cert-expiration-seconds 7200 --klusterlet-annotation a=b \
                    --klusterlet-annotation agent.open-cluster-management.io/c=d";
        assert_eq!(
            parsed(line).unwrap().agent.flags(),
            [
                "--feature-gates=A=true",
                "--client-cert-expiration-seconds=7200",
                "--cluster-annotations=agent.open-cluster-management.io/a=b,agent.open-cluster-management.io/c=d",
            ]
        );
        assert!(parsed("--hub-token t").unwrap().agent.flags().is_empty());
    }

    #[test]
    fn an_image_is_named_whole_or_by_its_registry() {
        for (line, image) in [
            ("", None),
            ("--image r/berth:v1", Some("r/berth:v1")),
            (
                "--image-registry r.example.com/",
                Some("r.example.com/berth"),
            ),
            ("--image-registry r --bundle-version v1", Some("r/berth:v1")),
        ] {
            let args = parsed(&format!("--hub-token t {line}")).unwrap();
            assert_eq!(args.agent.image().as_deref(), image, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_and_the_token_is_not_shown() {
        for (line, words) in [
            ("", "--hub-token"),
            (
                "--hub-token SECRET --hub-token-file f",
                "cannot be used with",
            ),
            (
                "--hub-token SECRET --ca-file f --ca-hash x",
                "64 hexadecimal digits",
            ),
            (
                "--hub-token SECRET --ca-file f --ca-data x",
                "cannot be used with",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a",
                "expected KEY=VALUE",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a=b,c=d",
                "a comma",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a/b/c=d",
                "a valid label key",
            ),
            (
                "--hub-token SECRET --client-cert-expiration-seconds 60",
                "3600",
            ),
            ("--hub-token SECRET --wait=never", "joined"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
        assert!(
            cluster_name("a.b")
                .unwrap_err()
                .contains("must not contain dots")
        );
        let args = parsed("--hub-token SECRET").unwrap();
        assert!(!format!("{args:?}").contains("SECRET"));
    }

    #[test]
    fn wait_is_a_switch_or_says_for_what() {
        for (line, until) in [
            ("", None),
            ("--wait", Some(Until::Registered)),
            ("--wait=true", Some(Until::Registered)),
            ("--wait=joined", Some(Until::Joined)),
        ] {
            let args = parsed(&format!("--hub-token t {line}")).unwrap();
            assert_eq!(args.wait, until, "{line}");
        }
    }
}
