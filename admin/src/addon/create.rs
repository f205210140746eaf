//! `berth addon create`: clusteradm's command line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::bail;
use berth_addons_core::template::check::{self, Findings};
use berth_api::addon::{AddOnTemplate, AddOnTemplateSpec, ClusterManagementAddOn};
use berth_api::groups;
use berth_api::labels;
use kube::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{addon_name, reference};
use crate::failure::CommandError;
use crate::files::FilesArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, namespaced};
use crate::outcomes::{Outcomes, WriteArgs};

/// Create an add-on of manifests: an AddOnTemplate, and a ClusterManagementAddOn
///
/// The command line of 'clusteradm addon create' works. The AddOnTemplate is named NAME-VERSION. A mistake in the manifests is an error before anything is written; 'berth addon render' shows what they are on a cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # An add-on that users enable with 'berth addon enable'
  berth addon create web -f deploy/

  # On all clusters that a placement selects, with a user on the hub that has a role in the namespace of its cluster
  berth addon create web -f deploy/ --placement-ref team-a/app --hub-registration --cluster-role-bind web-agent

  # A new version
  berth addon create web -f deploy/ --version 0.0.2 --overwrite")]
pub struct Args {
    /// Name of the add-on
    #[arg(value_name = "NAME", value_parser = addon_name)]
    name: String,
    #[command(flatten)]
    files: FilesArgs,
    /// Version of the AddOnTemplate
    #[arg(long = "version", value_name = "VERSION", default_value = "0.0.1", value_parser = addon_name)]
    template_version: String,
    /// Change the AddOnTemplate and the ClusterManagementAddOn if they exist. Without --placement-ref, the install strategy stays
    #[arg(long)]
    overwrite: bool,
    /// The agent gets a user on the hub, with a kubeconfig on its cluster
    #[arg(long)]
    hub_registration: bool,
    /// ClusterRole that the agent has on the hub, in the namespace of its cluster
    #[arg(long, value_name = "NAME", requires = "hub_registration")]
    cluster_role_bind: Option<String>,
    /// Labels of the ClusterManagementAddOn, as KEY=VALUE,...
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', value_parser = super::pair)]
    labels: Vec<(String, String)>,
    /// The Placement that selects the clusters, as NAMESPACE/NAME [default: none; clusters are named with 'berth addon enable']
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    placement_ref: Option<(String, String)>,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be used, the manifests cannot be rendered, or the hub cannot be used.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let manifests = args.files.objects().await?;
    let manifests: Vec<_> = manifests.into_iter().map(|(_, object)| object).collect();
    if manifests.is_empty() {
        bail!("-f: the files hold no object");
    }
    let template = args.template(&manifests);
    let Findings { errors, warnings } =
        check::template(&AddOnTemplateSpec::deserialize(&template["spec"])?, &[]);
    for warning in warnings {
        writeln!(io::stderr(), "Warning: {}", crate::print::plain(&warning))?;
    }
    if !errors.is_empty() {
        bail!("{}", errors.join("\n"));
    }
    let dry_run = args.write.dry_run.mode;
    let mut outcomes = Outcomes::new(&args.write);
    let hub = match dry_run {
        // No hub is needed to check manifests.
        DryRun::Client => None,
        _ => Some(HubConnection::of(&args.hub).await?),
    };
    let hub = hub.as_ref();
    let management = args.management();
    let template = args.write::<AddOnTemplate>(hub, &template).await;
    // Without its template, the add-on would wait for it.
    let management = match &template {
        Ok(_) => Some(args.write::<ClusterManagementAddOn>(hub, &management).await),
        Err(_) => None,
    };
    for (kind, name, written) in [
        ("AddOnTemplate", &args.template_name(), Some(template)),
        ("ClusterManagementAddOn", &args.name, management),
    ] {
        match written {
            Some(Ok(what)) => outcomes.done(name, format!("{kind} {name} is {what}"))?,
            Some(Err(failure)) => outcomes.failed(&format!("{kind} {name}"), failure)?,
            None => {}
        }
    }
    Ok(outcomes.end()?)
}

// === impl Args ===

impl Args {
    fn template_name(&self) -> String {
        format!("{}-{}", self.name, self.template_version)
    }

    fn template(&self, manifests: &[Value]) -> Value {
        let mut spec = json!({
            "addonName": self.name,
            "agentSpec": {"workload": {"manifests": manifests}},
        });
        if self.hub_registration {
            let mut client = json!({"type": "KubeClient", "kubeClient": {}});
            if let Some(role) = &self.cluster_role_bind {
                client["kubeClient"]["hubPermissions"] = json!([
                    {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}},
                ]);
            }
            spec["registration"] = json!([client]);
        }
        json!({
            "apiVersion": format!("{}/v1alpha1", groups::ADDON),
            "kind": "AddOnTemplate",
            "metadata": {"name": self.template_name()},
            "spec": spec,
        })
    }

    fn management(&self) -> Value {
        let labels: BTreeMap<_, _> = self.labels.iter().cloned().collect();
        let strategy = match &self.placement_ref {
            None => json!({"type": "Manual"}),
            Some((namespace, name)) => json!({
                "type": "Placements",
                "placements": [{"namespace": namespace, "name": name}],
            }),
        };
        let mut object = json!({
            "apiVersion": format!("{}/v1beta1", groups::ADDON),
            "kind": "ClusterManagementAddOn",
            "metadata": {
                "name": self.name,
                "annotations": {labels::ADDON_LIFECYCLE: "addon-manager"},
            },
            "spec": {
                "defaultConfigs": [reference(groups::ADDON_TEMPLATES, "", &self.template_name())],
                "installStrategy": strategy,
            },
        });
        if !labels.is_empty() {
            object["metadata"]["labels"] = json!(labels);
        }
        object
    }

    /// The patch of an object that exists. Without the flag of a placement its install strategy stays: with another one it could leave
    /// clusters. A registration that is not asked for any more goes.
    fn changed(&self, mut object: Value) -> Value {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let Some(spec) = object["spec"].as_object_mut() else {
            return object;
        };
        if kind == "AddOnTemplate" {
            spec.entry("registration").or_insert(Value::Null);
        } else if self.placement_ref.is_none() {
            spec.remove("installStrategy");
        }
        object
    }

    /// Creates an object, or with `--overwrite` changes it. Returns what was done.
    async fn write<K>(
        &self,
        hub: Option<&HubConnection>,
        object: &Value,
    ) -> Result<&'static str, CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        let Some(hub) = hub else {
            return Ok("valid, and would be created");
        };
        let dry_run = self.write.dry_run.mode;
        match hub.create::<K>(None, object, dry_run).await {
            Ok(_) => Ok("created"),
            Err(failure) if failure.is_already_there() && self.overwrite => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let patch = self.changed(object.clone());
                hub.merge::<K>(None, name, None, patch, dry_run)
                    .await
                    .map(|_| "changed")
            }
            Err(failure) if failure.is_already_there() => Err(CommandError::Refused(
                "it already exists: --overwrite changes it".to_owned(),
            )),
            Err(failure) => Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(flags: &[&str]) -> Args {
        let words = ["create", "web", "-f", "a"].iter().chain(flags);
        Command::try_parse_from(words).unwrap().args
    }

    #[test]
    fn overwriting_keeps_the_placements_and_takes_the_registration_back() {
        let plain = args(&[]);
        let patch = plain.changed(plain.management());
        assert_eq!(patch["spec"].get("installStrategy"), None);
        let patch = plain.changed(plain.template(&[]));
        assert_eq!(patch["spec"].get("registration"), Some(&Value::Null));
        let all = args(&["--placement-ref", "n/p", "--hub-registration"]);
        let patch = all.changed(all.management());
        assert_eq!(patch["spec"]["installStrategy"]["type"], "Placements");
        let patch = all.changed(all.template(&[]));
        assert_eq!(patch["spec"]["registration"][0]["type"], "KubeClient");
    }
}
