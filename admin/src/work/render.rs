//! `berth work render`: what a work makes on a cluster, and by which rules.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::bail;
use berth_api::work::{
    Manifest, ManifestWork, ManifestWorkReplicaSet, ManifestWorkSpec, UpdateStrategy,
    UpdateStrategyType,
};
use berth_review::drop_nulls;
use berth_rules::path::unreadable;
use berth_rules::plural;
use berth_work_core::config::{Identity, Rules};
use berth_work_core::{Holding, Mapped, Unusable, order, prescribed};
use clap_complete::engine::ArgValueCandidates;
use serde::Deserialize;
use serde_json::Value;

use crate::complete;
use crate::files::FilesArgs;
use crate::flags::{TableArgs, TableFormat};
use crate::hub::{HubArgs, HubConnection, namespace};
use crate::print::{Table, plain, print_json, print_yaml};

const EXAMPLES: &str = "\
Examples:
  # What a ManifestWork makes on its cluster, in which order, and by which rules
  berth work render web -n cluster1

  # The objects, of a ManifestWorkReplicaSet
  berth work render web -n team-a -o yaml

  # Before it is applied
  berth work render -f work.yaml

The objects are in the order in which the agent applies them. manifestConfigs name objects by the resource of their kind, such as
deployments. Unless the agent has reported it, the resource is guessed: the plural of the kind. A kind counts as namespaced if the
manifest has a namespace.";

/// Show the objects that a work makes on a cluster, and the rules of each
///
/// Renders a ManifestWork, or the template of a ManifestWorkReplicaSet: the strategy, what happens to the object when the work is deleted, the reported fields and the conditions, as manifestConfigs and deleteOption define them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("files", |arg| {
    arg.required(false).help("Files with ManifestWorks and ManifestWorkReplicaSets, folders of such files, or http and https URLs; '-' is standard input (repeatable)")
}))]
#[command(mut_arg("output", |arg| {
    arg.help("Output format: table; yaml or json prints the objects [default: table]")
}))]
pub struct Args {
    /// Name of the ManifestWork or of the ManifestWorkReplicaSet
    #[arg(
        value_name = "NAME",
        required_unless_present = "files",
        conflicts_with = "files",
        add = ArgValueCandidates::new(complete::works_and_replica_sets)
    )]
    name: Option<String>,
    /// The cluster of the ManifestWork, or the namespace of the ManifestWorkReplicaSet [default: the context's, else default]
    #[arg(
        short,
        long,
        visible_alias = "cluster",
        value_name = "NAMESPACE",
        value_parser = namespace,
        requires = "name",
        add = ArgValueCandidates::new(complete::clusters)
    )]
    namespace: Option<String>,
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    output: TableArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// What is rendered.
struct Source {
    /// Kind and name.
    title: String,
    spec: ManifestWorkSpec,
    /// The resources that the agent reported, by the position of the manifest.
    resources: Vec<(usize, String)>,
}

/// An object that a work makes.
#[derive(Debug, PartialEq)]
struct Rendered {
    rank: u32,
    row: [String; 5],
    object: Value,
    faults: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// A file or the hub cannot be used, or the work does not exist.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let sources = match &args.name {
        Some(name) => vec![of_hub(args, name).await?],
        None => of_files(args.files.objects().await?)?,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut err = io::stderr().lock();
    let mut objects = Vec::new();
    let mut table = Table::new(&[
        "WORK",
        "OBJECT",
        "STRATEGY",
        "WHEN DELETED",
        "FEEDBACK",
        "CONDITIONS",
    ]);
    let mut code = ExitCode::SUCCESS;
    for source in sources {
        let (rendered, unusable) = render(&source);
        for hint in hints(&source) {
            writeln!(
                err,
                "Warning: {}",
                plain(&format!("{}: {hint}", source.title))
            )?;
        }
        for it in rendered {
            for fault in &it.faults {
                let object = &it.row[0];
                writeln!(
                    err,
                    "Warning: {}",
                    plain(&format!("{} {object}: {fault}", source.title))
                )?;
            }
            let mut row = vec![source.title.clone()];
            row.extend(it.row);
            table.row(row);
            objects.push(it.object);
        }
        for why in unusable {
            writeln!(err, "Error: {}", plain(&format!("{}: {why}", source.title)))?;
            code = ExitCode::FAILURE;
        }
    }
    match args.output.format {
        TableFormat::Table => table.write(&mut out, true, &[])?,
        TableFormat::Json => print_json(&mut out, &objects)?,
        TableFormat::Yaml => print_yaml(&mut out, &objects)?,
    }
    out.flush()?;
    Ok(code)
}

async fn of_hub(args: &Args, name: &str) -> anyhow::Result<Source> {
    let hub = HubConnection::of(&args.hub).await?;
    let space = args.hub.namespace(args.namespace.as_deref());
    let namespace = Some(&*space);
    if let Some(work) = hub.get_value::<ManifestWork>(namespace, name).await? {
        return Source::new(&work, &format!("ManifestWork {space}/{name}"));
    }
    let set = hub.get_value::<ManifestWorkReplicaSet>(namespace, name);
    match set.await? {
        Some(set) => Source::new(&set, &format!("ManifestWorkReplicaSet {space}/{name}")),
        None => bail!(
            "neither a ManifestWork nor a ManifestWorkReplicaSet {name:?} exists in namespace {space}; list them: berth get works"
        ),
    }
}

fn of_files(objects: Vec<(berth_review::Source, Value)>) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for (at, mut object) in objects {
        drop_own_nulls(&mut object);
        if ["ManifestWork", "ManifestWorkReplicaSet"]
            .iter()
            .any(|kind| object["kind"] == *kind)
        {
            sources.push(Source::new(&object, &at.to_string())?);
        }
    }
    if sources.is_empty() {
        bail!("-f: the files hold no ManifestWork and no ManifestWorkReplicaSet");
    }
    Ok(sources)
}

/// Removes null values, except those of manifests.
fn drop_own_nulls(object: &mut Value) {
    let pointer = match object["kind"].as_str() {
        Some("ManifestWorkReplicaSet") => "/spec/manifestWorkTemplate/workload/manifests",
        _ => "/spec/workload/manifests",
    };
    let manifests = object.pointer_mut(pointer);
    let manifests = manifests.map(|it| std::mem::replace(it, Value::Array(Vec::new())));
    drop_nulls(object);
    if let (Some(manifests), Some(place)) = (manifests, object.pointer_mut(pointer)) {
        *place = manifests;
    }
}

// === impl Source ===

impl Source {
    fn new(object: &Value, at: &str) -> anyhow::Result<Self> {
        let (field, spec) = match object["kind"].as_str() {
            Some("ManifestWorkReplicaSet") => (
                "spec.manifestWorkTemplate",
                &object["spec"]["manifestWorkTemplate"],
            ),
            _ => ("spec", &object["spec"]),
        };
        let read = Option::<ManifestWorkSpec>::deserialize(spec);
        let spec = read.map_err(|error| {
            let why = unreadable::<Option<ManifestWorkSpec>>(field, spec);
            let why = why.unwrap_or_else(|| error.to_string());
            anyhow::anyhow!("{at} cannot be read: {why}")
        })?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let reported = object["status"]["resourceStatus"]["manifests"].as_array();
        let resources = reported.into_iter().flatten().filter_map(|it| {
            let meta = &it["resourceMeta"];
            let ordinal = usize::try_from(meta["ordinal"].as_u64()?).ok()?;
            let resource = meta["resource"].as_str().filter(|it| !it.is_empty())?;
            Some((ordinal, resource.to_owned()))
        });
        Ok(Self {
            title: name.to_owned(),
            spec: spec.unwrap_or_default(),
            resources: resources.collect(),
        })
    }

    /// A manifest with its resource: the reported one, or a guess.
    fn mapped(&self, ordinal: usize, manifest: &Manifest) -> Result<Mapped, Unusable> {
        let it = prescribed(ordinal, manifest)?;
        let reported = self.resources.iter().find(|(of, _)| *of == ordinal);
        let resource = reported.map_or_else(|| plural(&it.kind), |(_, it)| it.clone());
        let is_namespaced = !it.namespace.is_empty();
        it.mapped(&resource, is_namespaced)
    }
}

/// The objects in the order in which they are applied, and why other manifests cannot be used.
fn render(source: &Source) -> (Vec<Rendered>, Vec<String>) {
    let (mut rendered, mut unusable) = (Vec::new(), Vec::new());
    let spec = &source.spec;
    for (ordinal, manifest) in spec.workload.manifests.iter().enumerate() {
        let mapped = match source.mapped(ordinal, manifest) {
            Ok(mapped) => mapped,
            Err(why) => {
                unusable.push(format!("manifest {ordinal}: {why}"));
                continue;
            }
        };
        let it = &mapped.prescribed;
        let id = Identity {
            group: it.group(),
            resource: &mapped.resource,
            namespace: &mapped.namespace,
            name: &it.name,
        };
        let rules = Rules::of(&spec.manifest_configs, &id);
        let object = match &*mapped.namespace {
            "" => format!("{}/{}", it.kind, it.name),
            namespace => format!("{}/{namespace}/{}", it.kind, it.name),
        };
        let kept = match Holding::of(spec.delete_option.as_ref(), &mapped) {
            Holding::Owned => "deleted",
            Holding::Orphaned => "stays",
        };
        rendered.push(Rendered {
            rank: order::rank(&it.kind),
            row: [
                object,
                strategy(rules.strategy),
                kept.to_owned(),
                feedback(&rules),
                conditions(&rules),
            ],
            object: manifest.read().unwrap_or(Value::Null),
            faults: rules.faults(it),
        });
    }
    // Stable: objects of one rank stay in the order of the manifests.
    rendered.sort_by_key(|it| it.rank);
    (rendered, unusable)
}

/// Entries of manifestConfigs that would mean a manifest if they named its resource.
fn hints(source: &Source) -> Vec<String> {
    let spec = &source.spec;
    let manifests = spec.workload.manifests.iter().enumerate();
    let mapped: Vec<_> = manifests
        .filter_map(|(ordinal, manifest)| source.mapped(ordinal, manifest).ok())
        .collect();
    let mut hints = Vec::new();
    for (index, config) in spec.manifest_configs.iter().enumerate() {
        let resource = &config.resource_identifier.resource;
        let named = mapped.iter().filter(|mapped| {
            // With the resource of the config.
            let id = Identity {
                group: mapped.prescribed.group(),
                resource,
                namespace: &mapped.namespace,
                name: &mapped.prescribed.name,
            };
            Rules::of(std::slice::from_ref(config), &id) != Rules::default()
        });
        let resources: Vec<_> = named.map(|it| &it.resource).collect();
        if let Some(meant) = resources.first()
            && !resources.contains(&resource)
        {
            hints.push(format!(
                "manifestConfigs[{index}].resourceIdentifier.resource: no manifest has this resource; did you mean {meant:?}?"
            ));
        }
    }
    hints
}

fn strategy(strategy: Option<&UpdateStrategy>) -> String {
    let Some(strategy) = strategy else {
        return "Update".to_owned();
    };
    let mut said = strategy.r#type.as_str().to_owned();
    if strategy.r#type == UpdateStrategyType::ServerSideApply {
        let settings = strategy.server_side_apply.clone().unwrap_or_default();
        let ignored: usize = (settings.ignore_fields.iter())
            .map(|it| it.json_paths.len() + it.json_pointers.len() + it.jq_path_expressions.len())
            .sum();
        if settings.force {
            said.push_str(",force");
        }
        if ignored > 0 {
            said.push_str(&format!(",ignores {ignored}"));
        }
    }
    said
}

fn feedback(rules: &Rules<'_>) -> String {
    let names = rules.feedback.iter().flat_map(|rule| {
        let paths = rule.json_paths.iter().map(|it| it.name.clone());
        let well_known = rule
            .json_paths
            .is_empty()
            .then(|| "WellKnownStatus".to_owned());
        well_known.into_iter().chain(paths)
    });
    names.collect::<Vec<_>>().join(",")
}

fn conditions(rules: &Rules<'_>) -> String {
    let names = rules.conditions.iter().map(|it| match &*it.condition {
        "" => "WellKnownConditions",
        name => name,
    });
    names.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(spec: Value, status: Value) -> Source {
        let object = json!({
            "kind": "ManifestWork", "metadata": {"name": "w", "namespace": "c1"}, "spec": spec, "status": status,
        });
        Source::new(&object, "w").unwrap()
    }

    fn manifest(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"}})
    }

    #[test]
    fn a_field_of_another_type_is_named() {
        let spec =
            json!({"manifestConfigs": [{"resourceIdentifier": {"resource": "a", "name": 7}}]});
        for (object, path) in [
            (json!({"kind": "ManifestWork", "spec": spec}), "spec."),
            (
                json!({"kind": "ManifestWorkReplicaSet", "spec": {"manifestWorkTemplate": spec}}),
                "spec.manifestWorkTemplate.",
            ),
        ] {
            let why = Source::new(&object, "w").err().unwrap().to_string();
            assert_eq!(
                why,
                format!(
                    "w cannot be read: {path}manifestConfigs[0].resourceIdentifier.name: invalid type: integer `7`, expected a string"
                )
            );
        }
    }

    #[test]
    fn nulls_of_manifests_are_kept() {
        let hello = json!({
            "apiVersion": "example.com/v1", "kind": "Hello", "metadata": {"name": "a"}, "spec": {"mode": null},
        });
        let spec = json!({"workload": {"manifests": [hello]}, "manifestConfigs": null});
        for (kind, spec) in [
            ("ManifestWork", spec.clone()),
            (
                "ManifestWorkReplicaSet",
                json!({"manifestWorkTemplate": spec}),
            ),
        ] {
            let mut object =
                json!({"kind": kind, "metadata": {"name": "w", "labels": null}, "spec": spec});
            drop_own_nulls(&mut object);
            assert_eq!(object["metadata"], json!({"name": "w"}), "{kind}");
            let source = Source::new(&object, "w").unwrap();
            assert_eq!(render(&source).0[0].object, hello, "{kind}");
        }
    }

    #[test]
    fn a_config_with_the_resource_of_no_manifest_gets_a_hint() {
        let spec = |resource: &str| {
            let id =
                json!({"group": "batch", "resource": resource, "namespace": "shop", "name": "j*"});
            json!({
                "workload": {"manifests": [
                    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop"}},
                ]},
                "manifestConfigs": [{"resourceIdentifier": id, "feedbackRules": [{"type": "WellKnownStatus"}]}],
            })
        };
        let hint = "manifestConfigs[0].resourceIdentifier.resource: no manifest has this resource; did you mean \"jobs\"?";
        for (resource, expected) in [("job", &[hint][..]), ("jobs", &[])] {
            let source = source(spec(resource), json!({}));
            assert_eq!(hints(&source), expected, "{resource}");
        }
    }

    #[test]
    fn objects_come_in_the_agents_order_with_their_rules() {
        let source = source(
            json!({
                "workload": {"manifests": [
                    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"}},
                    manifest("ConfigMap", "b"),
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
                    {"apiVersion": "v1", "kind": "ConfigMap"},
                ]},
                "deleteOption": {"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": [
                    {"group": "", "resource": "namespaces", "name": "n"},
                ]}},
                "manifestConfigs": [
                    {
                        "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "*", "namespace": "n"},
                        "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true, "ignoreFields": [
                            {"condition": "OnSpokePresent", "jsonPaths": [".spec.replicas"]},
                        ]}},
                        "feedbackRules": [{"type": "WellKnownStatus"}, {"type": "JSONPaths", "jsonPaths": [{"name": "a", "path": ".a"}]}],
                        "conditionRules": [{"condition": "Progressing", "type": "CEL", "celExpressions": ["true"]}],
                    },
                    {"resourceIdentifier": {"resource": "configmaps", "name": "b", "namespace": "n"}, "updateStrategy": {"type": "ReadOnly"}},
                ],
            }),
            json!({}),
        );
        let (rendered, unusable) = render(&source);
        let rows: Vec<_> = rendered.iter().map(|it| it.row.join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "Namespace/n | Update | stays |  | ",
                "ConfigMap/n/b | ReadOnly | deleted |  | ",
                "Deployment/n/web | ServerSideApply,force,ignores 1 | deleted | WellKnownStatus,a | Progressing",
            ]
        );
        assert_eq!(unusable.len(), 1);
        assert!(unusable[0].starts_with("manifest 3: "), "{unusable:?}");
    }

    #[test]
    fn a_resource_that_the_agent_reported_counts_before_a_guess() {
        let spec = json!({
            "workload": {"manifests": [manifest("Mouse", "a")]},
            "manifestConfigs": [
                {"resourceIdentifier": {"resource": "mice", "name": "a", "namespace": "n"}, "updateStrategy": {"type": "CreateOnly"}},
            ],
        });
        let reported = json!({"resourceStatus": {"manifests": [{"resourceMeta": {"ordinal": 0, "resource": "mice"}, "conditions": []}]}});
        for (status, expected) in [(json!({}), "Update"), (reported, "CreateOnly")] {
            let (rendered, _) = render(&source(spec.clone(), status));
            assert_eq!(rendered[0].row[1], expected);
        }
    }
}
