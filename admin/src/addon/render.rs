//! `berth addon render`: what a template is on a cluster.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::bail;
use berth_addons_core::template::{self, check};
use berth_addons_core::works::{self, Layout, Place};
use berth_api::addon::{AddOnDeploymentConfig, AddOnTemplate};
use berth_api::labels;
use berth_api::names::dns1123_label;
use berth_api::plan::Action;
use berth_review::Source;
use berth_rules::path::unreadable;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::files::FilesArgs;
use crate::flags::{DocumentArgs, DocumentFormat};
use crate::print::{plain, print_json, print_yaml};

const EXAMPLES: &str = "\
Examples:
  # What the add-on of a template is on cluster1
  berth addon render -f template.yaml --cluster cluster1

  # With a config, and the annotations of the cluster
  berth addon render -f template.yaml -f config.yaml -f cluster.yaml

  # The ManifestWorks that a new ManagedClusterAddOn gets
  berth addon render -f template.yaml --cluster cluster1 --works

The files hold one AddOnTemplate, and at most one AddOnDeploymentConfig and one ManagedCluster. Mistakes of the template are errors, and
doubts are warnings on standard error. ManifestWorks have no annotation with the hashes of the configs, which only a hub knows.";

/// Show the objects that an AddOnTemplate makes on a cluster
///
/// Renders the template without a hub: variables are replaced, objects are moved to the install namespace, and pods get what the AddOnDeploymentConfig and the registrations ask for.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("files", |arg| {
    arg.help("Files with the AddOnTemplate, the AddOnDeploymentConfig and the ManagedCluster, folders of such files, or http and https URLs; '-' is standard input (repeatable)")
}))]
#[command(mut_arg("output", |arg| arg.help("Print json or yaml [default: yaml]")))]
pub struct Args {
    #[command(flatten)]
    files: FilesArgs,
    /// Name of the cluster [default: that of the ManagedCluster in the files]
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster: Option<String>,
    /// Print ManifestWorks instead of the objects in them
    #[arg(long)]
    works: bool,
    #[command(flatten)]
    output: DocumentArgs,
}

/// What is rendered.
struct Input {
    template: AddOnTemplate,
    config: Option<AddOnDeploymentConfig>,
    cluster: String,
    image_registries: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be used, or the template cannot be rendered.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let objects = args.files.objects().await?;
    let input = Input::of(objects, args.cluster.as_deref())?;
    let (objects, warnings) = rendered(&input, args.works)?;
    let mut err = io::stderr().lock();
    for warning in warnings {
        writeln!(err, "Warning: {}", plain(&warning))?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    match args.output.format {
        Some(DocumentFormat::Json) => print_json(&mut out, &objects)?,
        None | Some(DocumentFormat::Yaml) => print_yaml(&mut out, &objects)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn cluster_name(text: &str) -> Result<String, String> {
    match dns1123_label(text).as_slice() {
        [] => Ok(text.to_owned()),
        problems => Err(problems.join("; ")),
    }
}

/// The objects of the add-on, or its ManifestWorks; and doubts about the template and the config.
fn rendered(input: &Input, as_works: bool) -> anyhow::Result<(Vec<Value>, Vec<String>)> {
    let Input {
        template,
        config,
        cluster,
        image_registries,
    } = input;
    let (template, config) = (&template.spec, config.as_ref().map(|config| &config.spec));
    let configs: Vec<_> = config.into_iter().collect();
    let rendering = template::render(&template::Request {
        addon: &template.addon_name,
        cluster,
        template,
        config,
        image_registries: image_registries.as_deref(),
    })?;
    // The rendering has the warnings about variables.
    let mut warnings = rendering.warnings;
    let of_template = check::template(template, &configs).warnings;
    let of_config = config.map(|config| check::config(config, &[template]).warnings);
    for warning in of_template.into_iter().chain(of_config.unwrap_or_default()) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    if !as_works {
        let objects = rendering.objects.into_iter().map(|it| it.object);
        return Ok((objects.collect(), warnings));
    }
    let parts = works::parts::divide(rendering.objects, false).map_err(anyhow::Error::msg)?;
    let mut all = Vec::new();
    for (place, objects) in [(Place::Deploy, &parts.deploy), (Place::Hook, &parts.hooks)] {
        let layout = works::layout(&works::Request {
            addon: &template.addon_name,
            place,
            objects,
            manifest_configs: &template.agent_spec.manifest_configs,
            configs: &[],
            existing: &[],
        })?;
        all.extend(works_of(&layout, cluster)?);
    }
    Ok((all, warnings))
}

/// The ManifestWorks of a layout as they would be created.
fn works_of(layout: &Layout, cluster: &str) -> anyhow::Result<Vec<Value>> {
    let owner = works::writes::Owner {
        namespace: cluster,
        addon: None,
        reconciler: "render",
    };
    let mut all = Vec::new();
    for write in works::writes::writes(layout, &owner, &[]) {
        if let Action::CreateText { body } = write.action {
            all.push(serde_json::from_str(&body)?);
        }
    }
    Ok(all)
}

// === impl Input ===

impl Input {
    /// Finds the objects. Others are left out, so that a folder may hold more.
    fn of(objects: Vec<(Source, Value)>, cluster: Option<&str>) -> anyhow::Result<Self> {
        let (mut templates, mut configs, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        for (at, object) in objects {
            match object["kind"].as_str() {
                Some("AddOnTemplate") => templates.push((at, object)),
                Some("AddOnDeploymentConfig") => configs.push((at, object)),
                Some("ManagedCluster") => clusters.push((at, object)),
                _ => {}
            }
        }
        let Some(template) = only("AddOnTemplate", templates)? else {
            bail!("-f: the files hold no AddOnTemplate");
        };
        let config = only("AddOnDeploymentConfig", configs)?;
        let stored = only("ManagedCluster", clusters)?.map(|(_, object)| object);
        let stored = stored.as_ref().map(|object| &object["metadata"]);
        let named = stored.and_then(|metadata| metadata["name"].as_str());
        let Some(cluster) = cluster.or(named) else {
            bail!("which cluster? Name it with --cluster, or add a ManagedCluster to -f");
        };
        if let Some(named) = named.filter(|named| *named != cluster) {
            bail!("--cluster {cluster} is not the ManagedCluster {named:?} of the files");
        }
        let template: AddOnTemplate = read(&template)?;
        if template.spec.addon_name.is_empty() {
            bail!("the AddOnTemplate has no spec.addonName");
        }
        let registries = stored.and_then(|it| it["annotations"][labels::IMAGE_REGISTRIES].as_str());
        Ok(Self {
            template,
            config: config.as_ref().map(read).transpose()?,
            cluster: cluster.to_owned(),
            image_registries: registries.map(str::to_owned),
        })
    }
}

/// The only object of a kind, if there is one.
fn only(kind: &str, mut all: Vec<(Source, Value)>) -> anyhow::Result<Option<(Source, Value)>> {
    match &all[..] {
        [] | [_] => Ok(all.pop()),
        [(one, _), (other, _), ..] => bail!("-f: more than one {kind}: {one}, {other}"),
    }
}

fn read<T: DeserializeOwned>((at, object): &(Source, Value)) -> anyhow::Result<T> {
    T::deserialize(object).map_err(|error| {
        let why = unreadable::<T>("", object).unwrap_or_else(|| error.to_string());
        anyhow::anyhow!("{at} cannot be read: {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: t}
spec:
  addonName: x
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: '{{CLUSTER_NAME}}', namespace: ns}, data: {a: '{{A}}'}}
      - apiVersion: batch/v1
        kind: Job
        metadata:
          {name: j, namespace: ns, annotations: {addon.open-cluster-management.io/addon-pre-delete: ''}}
        spec: {template: {spec: {containers: [{name: main, image: quay.io/o/a:1}]}}}
";
    const CONFIG: &str = "
apiVersion: addon.open-cluster-management.io/v1beta1
kind: AddOnDeploymentConfig
metadata: {name: c, namespace: ns}
spec:
  agentInstallNamespace: ''
  customizedVariables: [{name: A, value: 'say \"hi\"'}]
";
    const CLUSTER: &str = "
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: c1
  annotations:
    open-cluster-management.io/image-registries: '{\"registries\":[{\"source\":\"quay.io/o\",\"mirror\":\"m\"}]}'
";

    fn input(files: &[&str], cluster: Option<&str>) -> anyhow::Result<Input> {
        let objects = berth_review::objects_in("files", &files.join("---\n"))?;
        Input::of(objects, cluster)
    }

    #[test]
    fn a_template_is_rendered_from_files() {
        let input = input(&[TEMPLATE, CONFIG, CLUSTER], None).unwrap();
        let (objects, warnings) = rendered(&input, false).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(objects[0]["metadata"]["name"], "c1");
        assert_eq!(objects[0]["data"]["a"], "say \"hi\"");
        let container = &objects[1]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "m/a:1");
        assert_eq!(container["env"][0]["value"], "c1");
        assert_eq!(objects.len(), 2);
    }

    #[test]
    fn works_have_the_hooks_apart() {
        let input = input(&[TEMPLATE, CONFIG], Some("c2")).unwrap();
        let (works, _) = rendered(&input, true).unwrap();
        let names: Vec<_> = works.iter().map(|it| &it["metadata"]["name"]).collect();
        assert_eq!(names, ["addon-x-deploy-0", "addon-x-pre-delete"]);
        for work in &works {
            assert_eq!(work["kind"], "ManifestWork");
            assert_eq!(work["metadata"]["namespace"], "c2");
        }
    }

    #[test]
    fn doubts_are_warnings() {
        let input = input(&[TEMPLATE], Some("c1")).unwrap();
        let (objects, warnings) = rendered(&input, false).unwrap();
        assert_eq!(objects[0]["data"]["a"], "");
        assert_eq!(
            warnings,
            [
                r#"manifest 0 (ConfigMap "{{CLUSTER_NAME}}"): "{{A}}" is not a variable and is replaced by empty text"#
            ]
        );
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let broken = TEMPLATE.replace("'{{A}}'", "'{{A'");
        let unnamed = TEMPLATE.replace("addonName: x", "addonName: ''");
        for (files, cluster, words) in [
            (&[CONFIG][..], Some("c1"), "the files hold no AddOnTemplate"),
            (&[TEMPLATE], None, "which cluster? Name it with --cluster"),
            (
                &[TEMPLATE, TEMPLATE],
                Some("c1"),
                "more than one AddOnTemplate",
            ),
            (
                &[TEMPLATE, CLUSTER],
                Some("c2"),
                r#"--cluster c2 is not the ManagedCluster "c1""#,
            ),
            (&[&unnamed], Some("c1"), "has no spec.addonName"),
            (
                &[&broken],
                Some("c1"),
                "unclosed {{ in data.a: }} is missing",
            ),
        ] {
            let found = input(files, cluster).and_then(|input| rendered(&input, false));
            let error = found.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
