//! `berth policies`: prints the gate's rules as policies of the API server.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_manifests::files::CLUSTER_VALIDATORS;
use berth_policies::{Action, Guard, HUB_NAMESPACE, Kubernetes, Mode, Options, left_out, policies};
use berth_rules::{FeatureGates, Settings};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::reserved::ReservedArgs;

/// The seconds that a write waits for the webhook beside policies.
const PATIENCE: u32 = 2;

const EXAMPLES: &str = "\
Examples:
  # Let the API server apply the rules
  berth policies | kubectl apply -f -

  # Try them beside the webhooks: refusals are only written to the audit log
  berth policies --action Audit | kubectl apply -f -

  # With a small webhook for what policies cannot say
  berth policies --mode with-webhook | kubectl apply -f -

  # For a hub with Kubernetes 1.35, where clusters are not all accepted by the same team
  berth policies --kubernetes 1.35 --feature-gates DefaultClusterSet=false

What policies do not cover is printed on standard error; docs/policies.md explains it.";

/// Print the gate's rules as policies of the API server, which need no webhook
///
/// The API server evaluates ValidatingAdmissionPolicies and MutatingAdmissionPolicies itself. They decide as the gate does, with
/// the same sentences, so a hub can run them instead of the gate, or both. This command prints them with their
/// bindings, for kubectl apply.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Oldest version of the hub's API servers: 1.35 or newer. MutatingAdmissionPolicies, which fill in the default set and the
    /// times of taints, need 1.36
    #[arg(long, value_name = "VERSION", default_value = Kubernetes::V1_36.as_str())]
    kubernetes: Kubernetes,
    /// Policies alone, or with a webhook for what they do not cover
    #[arg(long, value_enum, default_value_t = ModeArg::Policies)]
    mode: ModeArg,
    /// What the API server does with a write that a policy refuses
    #[arg(long, value_enum, ignore_case = true, default_value_t = ActionArg::Deny)]
    action: ActionArg,
    /// Feature gates, as Gate=true,Gate=false: DefaultClusterSet (on), GuardedSelectors (on),
    /// UnguardedDenial (off)
    #[arg(long, value_name = "GATES")]
    pub feature_gates: Vec<String>,
    /// Namespace of the hub's own components: no cluster can have its name
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = HUB_NAMESPACE
    )]
    hub_namespace: String,
    #[command(flatten)]
    reserved: ReservedArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeArg {
    /// Policies alone
    Policies,
    /// With a webhook
    WithWebhook,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ActionArg {
    /// Refuse it
    #[value(name = "Deny")]
    Deny,
    /// Admit it, and write the refusal to the audit log
    #[value(name = "Audit")]
    Audit,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    /// YAML documents
    Yaml,
    /// A List
    Json,
}

/// Prints the policies. `gates` is the parsed value of `args.feature_gates`.
///
/// # Errors
/// The output cannot be written.
pub fn run(args: &Args, gates: FeatureGates) -> anyhow::Result<ExitCode> {
    let options = Options {
        settings: Settings {
            gates,
            hub_namespace: args.hub_namespace.clone(),
            reserved_prefixes: args.reserved.prefixes(),
            ..Settings::default()
        },
        kubernetes: args.kubernetes,
        mode: match args.mode {
            ModeArg::Policies => Mode::Policies,
            ModeArg::WithWebhook => Mode::WithWebhook,
        },
        action: match args.action {
            ActionArg::Deny => Action::Deny,
            ActionArg::Audit => Action::Audit,
        },
    };
    let printed = match args.output {
        Output::Yaml => yaml(&options)?,
        Output::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects(&options)? });
            format!("{list:#}\n")
        }
    };
    io::stdout().lock().write_all(printed.as_bytes())?;
    let mut stderr = io::stderr().lock();
    for sentence in left_out(&options) {
        writeln!(stderr, "Not covered: {sentence}.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The objects as YAML documents.
fn yaml(options: &Options) -> anyhow::Result<String> {
    let mut text = format!("# Printed by: berth policies {}\n", options.flags());
    let documents = policies(options)
        .iter()
        .map(serde_saphyr::to_string)
        .chain(webhook(options).iter().map(serde_saphyr::to_string))
        .collect::<Result<Vec<_>, _>>()?;
    text.push_str(&documents.join("---\n"));
    Ok(text)
}

/// The objects.
fn objects(options: &Options) -> anyhow::Result<Vec<Value>> {
    let mut objects = policies(options)
        .iter()
        .map(serde_json::to_value)
        .collect::<Result<Vec<_>, _>>()?;
    objects.extend(webhook(options));
    Ok(objects)
}

/// The registration of the webhook beside the policies, if there is one. It has the name of the gate's, so it replaces that.
fn webhook(options: &Options) -> Option<Value> {
    match options.mode {
        Mode::Policies => None,
        Mode::WithWebhook => rest(options),
    }
}

/// The registration of the webhook that decides what policies cannot decide.
pub(crate) fn rest(options: &Options) -> Option<Value> {
    let mut registration = CLUSTER_VALIDATORS.documents().into_iter().next()?;
    let webhook = &mut registration["webhooks"][0];
    webhook["clientConfig"]["service"]["namespace"] = json!(options.settings.hub_namespace);
    webhook["matchConditions"] = json!([{
        "name": Guard::Rest.name(),
        "expression": Guard::Rest.expression(options),
    }]);
    // The policies refuse what must be refused. Writes must not depend on the gate for the rest.
    webhook["failurePolicy"] = json!("Ignore");
    webhook["timeoutSeconds"] = json!(PATIENCE);
    Some(registration)
}
