//! `berth get hub-info` and `berth get klusterlet-info`: what is installed.

use std::io::{self, Write};
use std::process::ExitCode;

use berth_manifests::HUB_NAMESPACE;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde_json::{Value, json};

use crate::doctor::{CONSOLE, CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat};
use crate::hub::{HubArgs, HubConnection};
use crate::join::objects::{DEPLOYMENT, NAMESPACE};
use crate::print::{plain, print_one_json, print_one_yaml};

/// Show what is installed on a hub: the operator, the components with their images, and the CustomResourceDefinitions
///
/// In the form of 'clusteradm get hub-info'. It shows what the operator's ClusterManagers have; of a hub without an operator, the Deployments.
/// Whether all of it works, 'berth doctor' says.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth get hub-info
  berth get hub-info -o yaml")]
pub(super) struct HubInfoArgs {
    #[command(flatten)]
    output: DocumentArgs,
}

/// Show what is installed on a managed cluster: the operator, the agents with their images, and the CustomResourceDefinitions
///
/// In the form of 'clusteradm get klusterlet-info'. It is on the managed cluster, not on the hub: use a kubeconfig or a context of that cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth get klusterlet-info --context cluster1")]
pub(super) struct KlusterletInfoArgs {
    #[command(flatten)]
    output: DocumentArgs,
}

/// What differs between the two.
struct Side {
    /// The Deployments of Berth's operator and of OCM's.
    operators: [&'static str; 2],
    /// The resource and the kind of what the operator carries out.
    carried_out: (&'static str, &'static str),
    /// Of a cluster without an operator: the namespace and the Deployments.
    without: (&'static str, &'static [&'static str]),
}

const HUB: Side = Side {
    operators: ["berth-operator", "cluster-manager"],
    carried_out: ("clustermanagers", "ClusterManager"),
    without: (
        HUB_NAMESPACE,
        &[CONTROLLER, "berth-placement-controller", WEBHOOK, CONSOLE],
    ),
};

const CLUSTER: Side = Side {
    operators: ["berth-klusterlet-operator", "klusterlet"],
    carried_out: ("klusterlets", "Klusterlet"),
    without: (NAMESPACE, &[DEPLOYMENT]),
};

const GROUP: &str = "operator.open-cluster-management.io";

/// The namespace of the operators.
const OPERATORS: &str = "open-cluster-management";

/// What is installed.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    operators: Vec<Program>,
    /// Of the kinds that operators carry out.
    custom_resource_definitions: Vec<Definition>,
    components: Vec<Component>,
}

/// What belongs together: to an object of the operator, or to none.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Component {
    kind: Option<&'static str>,
    name: Option<String>,
    mode: Option<String>,
    deployments: Vec<Program>,
    custom_resource_definitions: Vec<Definition>,
}

/// A Deployment. Without an image it is named by an object, and does not exist.
#[derive(Debug, PartialEq, Serialize)]
struct Program {
    namespace: String,
    name: String,
    available: i64,
    replicas: i64,
    image: Option<String>,
}

/// A CustomResourceDefinition.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    name: String,
    installed: bool,
    versions: Vec<String>,
    storage_version: Option<String>,
}

pub(super) async fn hub(args: &HubInfoArgs, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    run(&HUB, &args.output, hub).await
}

pub(super) async fn klusterlet(
    args: &KlusterletInfoArgs,
    hub: &HubArgs,
) -> anyhow::Result<ExitCode> {
    run(&CLUSTER, &args.output, hub).await
}

async fn run(side: &Side, output: &DocumentArgs, args: &HubArgs) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(args).await?;
    let info = read(side, &hub).await?;
    let mut out = io::stdout().lock();
    match output.format {
        Some(DocumentFormat::Json) => print_one_json(&mut out, &json!(info))?,
        Some(DocumentFormat::Yaml) => print_one_yaml(&mut out, &json!(info))?,
        None => write(&info, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn read(side: &Side, hub: &HubConnection) -> Result<Info, CommandError> {
    let (resource, kind) = side.carried_out;
    let mut info = Info::default();
    for name in side.operators {
        let stored = hub.get_value::<Deployment>(Some(OPERATORS), name).await?;
        info.operators
            .extend(stored.map(|it| program(OPERATORS, name, Some(&it))));
    }
    let own = definition(hub, &format!("{resource}.{GROUP}")).await?;
    let is_served = own.installed;
    info.custom_resource_definitions.push(own);
    let mut objects = Vec::new();
    if is_served {
        let path = format!("/apis/{GROUP}/v1/{resource}");
        objects = hub.list_values_at(path).await?;
    }
    for object in &objects {
        info.components.push(component(hub, kind, object).await?);
    }
    if objects.is_empty() {
        let (namespace, names) = side.without;
        let mut alone = Component::default();
        for name in names {
            let stored = hub.get_value::<Deployment>(Some(namespace), name).await?;
            alone
                .deployments
                .extend(stored.map(|it| program(namespace, name, Some(&it))));
        }
        if !alone.deployments.is_empty() {
            info.components.push(alone);
        }
    }
    Ok(info)
}

/// What an operator says that it has for an object.
async fn component(
    hub: &HubConnection,
    kind: &'static str,
    object: &Value,
) -> Result<Component, CommandError> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let option = &object["spec"]["deployOption"]["mode"];
    let mut component = Component {
        kind: Some(kind),
        name: Some(text(&object["metadata"]["name"])),
        mode: Some(option.as_str().unwrap_or("Default").to_owned()),
        ..Component::default()
    };
    // What it has on another cluster cannot be looked at here.
    let is_elsewhere = option.as_str().is_some_and(|it| it.ends_with("Hosted"));
    let related = object["status"]["relatedResources"].as_array();
    for it in related.into_iter().flatten() {
        let (namespace, name) = (text(&it["namespace"]), text(&it["name"]));
        match it["resource"].as_str() {
            Some("deployments") => {
                let stored = hub.get_value::<Deployment>(Some(&namespace), &name).await?;
                let program = program(&namespace, &name, stored.as_ref());
                component.deployments.push(program);
            }
            Some("customresourcedefinitions") if !is_elsewhere => {
                let definition = definition(hub, &name).await?;
                component.custom_resource_definitions.push(definition);
            }
            _ => {}
        }
    }
    Ok(component)
}

async fn definition(hub: &HubConnection, name: &str) -> Result<Definition, CommandError> {
    let stored = hub
        .get_value::<CustomResourceDefinition>(None, name)
        .await?;
    Ok(versions(name, stored.as_ref()))
}

fn versions(name: &str, stored: Option<&Value>) -> Definition {
    let all = stored.and_then(|it| it["spec"]["versions"].as_array());
    let all = || all.into_iter().flatten();
    let name_of = |it: &Value| it["name"].as_str().unwrap_or_default().to_owned();
    Definition {
        name: name.to_owned(),
        installed: stored.is_some(),
        versions: all().map(name_of).collect(),
        storage_version: all().find(|it| it["storage"] == true).map(name_of),
    }
}

fn program(namespace: &str, name: &str, stored: Option<&Value>) -> Program {
    let number = |it: Option<&Value>| it.and_then(Value::as_i64);
    let image = "/spec/template/spec/containers/0/image";
    let image = stored.and_then(|it| it.pointer(image)?.as_str());
    Program {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        available: number(stored.map(|it| &it["status"]["availableReplicas"])).unwrap_or(0),
        replicas: number(stored.map(|it| &it["spec"]["replicas"]))
            .unwrap_or(i64::from(stored.is_some())),
        image: image.map(str::to_owned),
    }
}

/// Writes it as clusteradm does: two blanks for each level.
fn write(info: &Info, out: &mut impl Write) -> io::Result<()> {
    if info.operators.is_empty() {
        writeln!(out, "Registration Operator:\t<none>")?;
    } else {
        writeln!(out, "Registration Operator:")?;
        programs(&info.operators, out)?;
        definitions(&info.custom_resource_definitions, out)?;
    }
    if info.components.is_empty() {
        return writeln!(out, "Components:\t<uninstalled>");
    }
    for it in &info.components {
        match (it.kind, &it.name, &it.mode) {
            (Some(kind), Some(name), Some(mode)) => {
                writeln!(
                    out,
                    "Components of {kind} {}, mode {}:",
                    plain(name),
                    plain(mode)
                )?;
            }
            _ => writeln!(out, "Components, without an operator:")?,
        }
        programs(&it.deployments, out)?;
        definitions(&it.custom_resource_definitions, out)?;
    }
    Ok(())
}

fn programs(programs: &[Program], out: &mut impl Write) -> io::Result<()> {
    for it in programs {
        let image = it.image.as_deref().unwrap_or("<none>");
        let (name, image) = (plain(&it.name), plain(image));
        writeln!(out, "  {name}:\t({}/{}) {image}", it.available, it.replicas)?;
    }
    Ok(())
}

fn definitions(definitions: &[Definition], out: &mut impl Write) -> io::Result<()> {
    if definitions.is_empty() {
        return Ok(());
    }
    writeln!(out, "  CustomResourceDefinition:")?;
    for it in definitions {
        let state = if it.installed { "installed" } else { "absent" };
        let versions = it.versions.iter().map(|version| {
            let is_stored = it.storage_version.as_ref() == Some(version);
            format!("{}{version}", if is_stored { "*" } else { "" })
        });
        let versions = versions.collect::<Vec<_>>().join("|");
        let (name, versions) = (plain(&it.name), plain(&versions));
        writeln!(out, "    ({state}) {name} [{versions}]")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(info: &Info) -> String {
        let mut out = Vec::new();
        write(info, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_installed_is_written_as_clusteradm_does() {
        let deployment = json!({
            "spec": {"replicas": 3, "template": {"spec": {"containers": [{"image": "berth:v1"}]}}},
            "status": {"availableReplicas": 2},
        });
        let definition = json!({"spec": {"versions": [
            {"name": "v1", "storage": false}, {"name": "v1beta2", "storage": true},
        ]}});
        let info = Info {
            operators: vec![program("o", "berth-operator", Some(&deployment))],
            custom_resource_definitions: vec![versions("clustermanagers", Some(&definition))],
            components: vec![Component {
                kind: Some("ClusterManager"),
                name: Some("fleet".to_owned()),
                mode: Some("Default".to_owned()),
                deployments: vec![program("h", "fleet-registration-webhook", None)],
                custom_resource_definitions: vec![versions("managedclusters", None)],
            }],
        };
        assert_eq!(
            written(&info),
            "Registration Operator:\n  berth-operator:\t(2/3) berth:v1\n  CustomResourceDefinition:\n    (installed) clustermanagers [v1|*v1beta2]\n\
             Components of ClusterManager fleet, mode Default:\n  fleet-registration-webhook:\t(0/0) <none>\n  CustomResourceDefinition:\n    (absent) managedclusters []\n"
        );
    }

    #[test]
    fn where_nothing_is_installed_it_says_so() {
        assert_eq!(
            written(&Info::default()),
            "Registration Operator:\t<none>\nComponents:\t<uninstalled>\n"
        );
    }
}
