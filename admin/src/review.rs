//! `berth review`: decides AdmissionReviews or plain manifests without a hub, such as for policy tests in CI.

mod chain;
mod input;
mod text;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use berth_policies::HUB_NAMESPACE;
use berth_review::{FilesAnswerer, Gate, HubFiles};
use berth_rules::{FeatureGates, MANIFEST_LIMIT, Settings};
use chain::Chain;
use clap::ValueEnum;
use jiff::Timestamp;

use crate::print::Style;
use crate::reserved::ReservedArgs;

const EXAMPLES: &str = "\
Examples:
  # A recorded review
  berth review -f tests/data/reviews/accept-alice-denied.validate.json --hub-files examples/hub

  # A manifest, as if alice applied it
  berth review --as alice --as-group team-alice -f cluster.yaml --hub-files examples/hub

  # A change of a stored object, for a script
  berth review --as alice -f new.yaml --old old.yaml --hub-files examples/hub -o json

Exit codes: 0 allowed, 1 denied, 2 could not be decided. For several reviews, the highest code.";

/// Decide admission reviews, or plain manifests, without a hub
///
/// Applies the gate's rules with the RBAC objects from files, and prints the questions, and the role and binding that granted each
/// permission. As in an API server, ManagedClusters first pass the mutating webhook, and then the validating one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// YAML or JSON file with AdmissionReviews, or with objects to create; - for standard input (repeatable)
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// YAML or JSON file, or folder of such files, with the RBAC objects, Namespaces, ManagedClusters, sets and bindings of
    /// the hub (repeatable)
    #[arg(long, value_name = "PATH", required = true)]
    hub_files: Vec<PathBuf>,
    /// File with the stored object that the object of -f replaces; the review is then an UPDATE
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    /// User that makes the change; required for plain objects, replaces the user of a review
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    /// Group of the user (repeatable). The groups that a user name implies are added, as on a hub
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    groups: Vec<String>,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), GuardedSelectors (on),
    /// NilExecutorValidating (off), UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    pub feature_gates: Vec<String>,
    /// Maximum size of all manifests of a ManifestWork, in bytes
    #[arg(long = "manifestLimit", alias = "manifest-limit", value_name = "BYTES", default_value_t = MANIFEST_LIMIT)]
    manifest_limit: usize,
    #[command(flatten)]
    reserved: ReservedArgs,
    /// Output format of decisions
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// Text
    Text,
    /// The AdmissionReview of the response, one per line
    Json,
}

/// Decides and prints the reviews, and returns the exit code. `gates` is the parsed value of `args.feature_gates`.
///
/// # Errors
/// A file cannot be read, or the output cannot be written.
pub fn run(args: &Args, gates: FeatureGates) -> anyhow::Result<ExitCode> {
    let hub = HubFiles::read(&args.hub_files)?;
    let settings = Settings {
        gates,
        hub_namespace: HUB_NAMESPACE.to_owned(),
        reserved_prefixes: args.reserved.prefixes(),
        manifest_limit: args.manifest_limit,
    };
    let gate = Gate::new(Arc::new(FilesAnswerer::new(hub)), settings);
    let reviews = input::reviews(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let stdout = io::stdout();
    let style = Style::of_stdout();
    let mut out = stdout.lock();
    let mut worst = 0;
    for (i, review) in reviews.iter().enumerate() {
        let chain = runtime.block_on(Chain::run(&gate, review, Timestamp::now()))?;
        let printed = match args.output {
            Output::Json => out
                .write_all(&chain.to_json())
                .and_then(|()| out.write_all(b"\n")),
            Output::Text => {
                let gap = if i > 0 { "\n" } else { "" };
                write!(
                    out,
                    "{gap}{}",
                    text::Text {
                        chain: &chain,
                        style
                    }
                )
            }
        };
        match printed {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            printed => printed?,
        }
        worst = worst.max(match chain.outcome() {
            "allowed" => 0,
            "denied" | "malformed" => 1,
            _ => 2,
        });
    }
    Ok(ExitCode::from(worst))
}
