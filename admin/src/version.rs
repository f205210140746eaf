//! `berth version`: the versions of this program, of the hub, and of what runs there.

mod agents;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::groups;
use berth_hub::object_path;
use berth_manifests::HUB_NAMESPACE;
use berth_rules::display::Lines;
use k8s_openapi::api::apps::v1::Deployment;
use serde::Serialize;
use serde_json::Value;

use self::agents::{Agents, Counting};
use crate::doctor::{CONSOLE, CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::flags::{DocumentArgs, DocumentFormat};
use crate::hub::{HubArgs, HubConnection};
use crate::image::OF_THIS_RELEASE;
use crate::print::Table;

/// This program's version.
const CLIENT: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The name of the console among the components.
const CONSOLES: &str = "console";

/// Print the versions of this program and of the hub
///
/// Of the hub it prints the version of Kubernetes, image and replicas of gate, controller and console, and how many agents of the clusters that have
/// joined are of which version. OCM's agents report no version. It warns if gate and controller are more than one minor version away from
/// this program, or agents from them. Without a kubeconfig it prints the version of this program only.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # This program and the hub
  berth version

  # Only this program; no hub is contacted
  berth version --client

  # For a program
  berth version -o json")]
pub struct Args {
    /// Print the version of this program only
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions {
    client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    hub: Option<Hub>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    version: &'static str,
    /// The image of this release.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Hub {
    server: String,
    /// Such as `1.36`, if the user may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes: Option<String>,
    components: Vec<Component>,
    /// Missing if the hub has no ManagedClusters, or the user may not list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<Agents>,
    /// Why the agents were not counted.
    #[serde(skip)]
    not_counted: Option<String>,
}

/// A Deployment of Berth.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Component {
    name: &'static str,
    deployment: String,
    image: String,
    /// The tag of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    available: u64,
    replicas: u64,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be read. The version of this program is printed all the same.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut versions = Versions {
        client: Client {
            version: CLIENT,
            image: OF_THIS_RELEASE,
        },
        hub: None,
        warnings: Vec::new(),
    };
    let mut failure = None;
    if !args.client {
        match of_hub(&args.hub).await {
            Ok(hub) => versions.hub = hub,
            Err(why) => failure = Some(why),
        }
    }
    versions.warnings = versions.hub.as_ref().map(Hub::warnings).unwrap_or_default();
    versions.print(args.output.format)?;
    match failure {
        None => Ok(ExitCode::SUCCESS),
        Some(failure) => Err(failure.into()),
    }
}

/// Returns what is known of the hub; `None` without a kubeconfig.
async fn of_hub(args: &HubArgs) -> Result<Option<Hub>, CommandError> {
    let Some(hub) = HubConnection::of_any(args).await? else {
        return Ok(None);
    };
    let answered = hub.answers().await?;
    let mut components = Vec::new();
    for (name, deployment) in [
        ("gate", WEBHOOK),
        ("controller", CONTROLLER),
        (CONSOLES, CONSOLE),
    ] {
        let within = Some(HUB_NAMESPACE);
        let found = hub.get_value::<Deployment>(within, deployment).await?;
        components.extend(found.map(|it| component(name, deployment, &it)));
    }
    let (agents, not_counted) = match agents(&hub).await {
        Ok(agents) => (agents, None),
        // The rest is worth printing for a user who may not list clusters.
        Err(why) if why.is_forbidden() => (None, Some(why.to_string())),
        Err(why) => return Err(why),
    };
    Ok(Some(Hub {
        server: hub.server().to_owned(),
        kubernetes: answered
            .version
            .map(|(major, minor)| format!("{major}.{minor}")),
        components,
        agents,
        not_counted,
    }))
}

/// Counts the agents, page by page; `None` if the hub does not serve ManagedClusters.
async fn agents(hub: &HubConnection) -> Result<Option<Agents>, CommandError> {
    let mut counting = Counting::default();
    let mut take = |cluster: Option<Value>| match cluster {
        Some(cluster) => counting.add(&cluster),
        None => counting = Counting::default(),
    };
    let kind = (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS);
    match hub.each_at(object_path(kind, "", ""), &mut take).await {
        Ok(()) => Ok(Some(counting.done())),
        Err(CommandError::NoHub { .. }) => Ok(None),
        Err(why) => Err(why),
    }
}

fn component(name: &'static str, deployment: &str, object: &Value) -> Component {
    let container = &object["spec"]["template"]["spec"]["containers"][0];
    let image = container["image"].as_str().unwrap_or_default();
    Component {
        name,
        deployment: deployment.to_owned(),
        image: image.to_owned(),
        version: tag(image).map(str::to_owned),
        available: object["status"]["availableReplicas"].as_u64().unwrap_or(0),
        replicas: object["spec"]["replicas"].as_u64().unwrap_or(1),
    }
}

/// Returns the tag of an image. A port of a registry is none.
pub(crate) fn tag(image: &str) -> Option<&str> {
    let name = image.split('@').next().unwrap_or(image);
    let (_, tag) = name.rsplit_once(':')?;
    (!tag.contains('/')).then_some(tag)
}

/// Returns major and minor of a version such as `v1.2.3`.
fn numbers(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.strip_prefix('v').unwrap_or(version).split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns true if two versions are more than one minor version apart. Of a text that is no version nothing is known.
fn is_far(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (numbers(one), numbers(other)) else {
        return false;
    };
    one.0 != other.0 || one.1.abs_diff(other.1) > 1
}

/// Returns a warning, if a component is more than one minor version away from this program.
fn skew(component: &Component) -> Option<String> {
    let version = component.version.as_deref()?;
    is_far(CLIENT, version).then(|| {
        format!(
            "this program is {CLIENT}, and the {} is {version}: use a program of at most one minor version away (SECURITY.md)",
            component.name
        )
    })
}

// === impl Versions ===

impl Versions {
    fn print(&self, format: Option<DocumentFormat>) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        match format {
            Some(DocumentFormat::Json) => {
                serde_json::to_writer_pretty(&mut out, self)?;
                writeln!(out)?;
            }
            Some(DocumentFormat::Yaml) => {
                out.write_all(serde_saphyr::to_string(self)?.as_bytes())?;
            }
            None => {
                writeln!(out, "client version: {}", self.client.version)?;
                if let Some(hub) = &self.hub {
                    hub.print(&mut out)?;
                }
                for warning in &self.warnings {
                    writeln!(io::stderr(), "Warning: {}", Lines(warning))?;
                }
            }
        }
        Ok(())
    }
}

// === impl Hub ===

impl Hub {
    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<_> = self.components.iter().filter_map(skew).collect();
        // Agents are served by the controller; it is upgraded with the gate.
        let servers = self.components.iter().filter(|it| it.name != CONSOLES);
        let versions = servers.rev();
        let mut versions = versions.filter_map(|it| Some((it.name, it.version.as_deref()?)));
        if let (Some(agents), Some((name, version))) = (&self.agents, versions.next()) {
            warnings.extend(agents.skews(name, version));
        }
        if let Some(why) = &self.not_counted {
            warnings.push(format!("the agents are not counted: {why}"));
        }
        warnings
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let kubernetes = self.kubernetes.as_deref().unwrap_or("unknown");
        writeln!(
            out,
            "server version: Kubernetes {kubernetes} at {}",
            self.server
        )?;
        if self.components.is_empty() {
            writeln!(out, "Berth is not installed there: berth init")?;
            return self.print_agents(out);
        }
        let mut table = Table::new(&["COMPONENT", "AVAILABLE", "IMAGE"]);
        for component in &self.components {
            table.row(vec![
                component.name.to_owned(),
                format!("{}/{}", component.available, component.replicas),
                component.image.clone(),
            ]);
        }
        table.write(out, true, &[])?;
        self.print_agents(out)
    }

    fn print_agents(&self, out: &mut impl Write) -> io::Result<()> {
        self.agents.as_ref().map_or(Ok(()), |it| it.print(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_component_is_the_tag_of_its_image() {
        for (image, expected) in [
            ("berth", None),
            ("r.example.com:5000/berth", None),
            ("r.example.com:5000/berth:v1.2.3", Some("v1.2.3")),
            ("berth:v1@sha256:abc", Some("v1")),
            ("berth@sha256:abc", None),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
    }

    #[test]
    fn only_a_distance_of_more_than_one_minor_version_is_warned_about() {
        let (major, minor) = numbers(CLIENT).unwrap();
        let warned = |version: String| {
            let component = Component {
                name: "gate",
                deployment: WEBHOOK.to_owned(),
                image: String::new(),
                version: Some(version),
                available: 0,
                replicas: 1,
            };
            skew(&component).is_some()
        };
        for (version, expected) in [
            (format!("v{major}.{minor}.9"), false),
            (format!("{major}.{}.0", minor + 1), false),
            (format!("v{major}.{}.0", minor + 2), true),
            (format!("v{}.{minor}.0", major + 1), true),
            ("latest".to_owned(), false),
        ] {
            assert_eq!(warned(version.clone()), expected, "{version}");
        }
    }
}
