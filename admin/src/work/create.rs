//! `berth create work`: clusteradm's flags, and a ManifestWorkReplicaSet for a placement.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use berth_api::groups;
use berth_api::names;
use berth_api::work::{Manifest, ManifestWork, ManifestWorkReplicaSet};
use berth_review::Source;
use berth_rules::MANIFEST_LIMIT;
use berth_work_core::prescribed;
use berth_work_replicas::label;
use clap_complete::engine::ArgValueCandidates;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::complete;
use crate::failure::CommandError;
use crate::files::FilesArgs;
use crate::flags::{DocumentArgs, DocumentFormat, DryRunArgs};
use crate::hub::{DryRun, HubArgs, HubConnection, namespace, namespaced};
use crate::placement::create::replacing;
use crate::print::{plain, print_json, print_one_json, print_one_yaml, print_yaml};
use crate::retry::deciding_again;

/// Upper bound on the characters of the name of a ManifestWork: the agent makes a longer name of it.
const LONGEST_NAME: usize = 188;

const EXAMPLES: &str = "\
Examples:
  # The objects of a folder, on two clusters
  berth create work web -f deploy/ --clusters cluster1,cluster2

  # All folders in a folder, and what a project publishes
  berth create work web -R -f deploy/ -f https://example.com/web.yaml --clusters cluster1

  # As kubectl would apply it
  kustomize build deploy/ | berth create work web -f - --clusters cluster1

  # On each cluster that a placement selects, now and later
  berth create work web -f web.yaml --placement team-a/app

  # Replace the objects of an existing work
  berth create work web -f web.yaml --clusters cluster1 --overwrite

  # A manifest for a repository
  berth create work web -f web.yaml --placement team-a/app --dry-run=client -o yaml

  # The agent writes only what this account of the cluster may write
  berth create work web -f web.yaml --clusters cluster1 --executor web/deployer";

/// Create a work: objects that the agents of clusters apply and keep
///
/// The command line of 'clusteradm create work' works. With --placement it creates a ManifestWorkReplicaSet in the namespace of the placement, which makes a ManifestWork for each selected cluster. 'berth get works' shows the result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("dry_run", |arg| {
    arg.help("Write nothing: 'client' checks the files, 'server' also has the hub check the objects")
}))]
#[command(mut_arg("files", |arg| arg.visible_alias("files")))]
#[command(mut_arg("output", |arg| arg.help("Print what was created as json or yaml")))]
pub(crate) struct Args {
    /// Name of the ManifestWorks, or of the ManifestWorkReplicaSet
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    #[command(flatten)]
    files: FilesArgs,
    /// Clusters to create a ManifestWork for
    #[arg(
        long,
        visible_alias = "cluster",
        value_name = "NAME,...",
        value_delimiter = ',',
        value_parser = namespace,
        required_unless_present = "placement",
        conflicts_with = "placement",
        add = ArgValueCandidates::new(complete::clusters)
    )]
    clusters: Vec<String>,
    /// The Placement that selects the clusters, as NAMESPACE/NAME
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    placement: Option<(String, String)>,
    /// For clusteradm's command line: with --placement it is always a ManifestWorkReplicaSet.
    #[arg(
        short,
        long,
        hide = true,
        requires = "placement",
        conflicts_with = "clusters"
    )]
    replicaset: bool,
    /// The service account of the clusters that must be allowed to write the objects, as NAMESPACE/NAME
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced)]
    executor: Option<(String, String)>,
    /// Replace the objects of existing ones. A ManifestWorkReplicaSet keeps its placements, and gets the one of --placement
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    #[command(flatten)]
    output: DocumentArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// An object to create.
struct Wanted {
    namespace: String,
    /// Its kind and place, for lines about it.
    title: String,
    object: Value,
}

fn name(text: &str) -> Result<String, String> {
    if let Some(why) = names::dns1123_subdomain(text).first() {
        return Err(why.clone());
    }
    if text.len() > LONGEST_NAME {
        return Err(format!("it has more than {LONGEST_NAME} characters"));
    }
    Ok(text.to_owned())
}

/// Runs the command.
///
/// # Errors
/// A file is invalid, an object exists, or the hub cannot be used.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let wanted = args.wanted().await?;
    let suffix = args.dry_run.mode.suffix();
    if args.dry_run.mode == DryRun::Client {
        // No hub is needed to print a manifest.
        for it in &wanted {
            args.say(&format!("{} would be created{suffix}", it.title))?;
        }
        return args.print(wanted.into_iter().map(|it| it.object).collect());
    }
    let hub = HubConnection::of(&args.hub).await?;
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for it in &wanted {
        let outcome = if args.placement.is_some() {
            args.write::<ManifestWorkReplicaSet>(&hub, it).await
        } else {
            args.write::<ManifestWork>(&hub, it).await
        };
        match outcome {
            Ok((object, what)) => {
                args.say(&format!("{} is {what}{suffix}", it.title))?;
                written.push(object);
            }
            Err(error) if wanted.len() == 1 => return Err(error),
            Err(error) => failed.push(format!("{}: {error:#}", it.title)),
        }
    }
    args.print(written)?;
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

// === impl Args ===

impl Args {
    /// The objects to create.
    ///
    /// # Errors
    /// A file cannot be read, or an object of it cannot be applied.
    async fn wanted(&self) -> anyhow::Result<Vec<Wanted>> {
        let name = &self.name;
        let spec = self.spec(self.files.objects().await?)?;
        let Some((space, placement)) = &self.placement else {
            let works = self.clusters.iter().map(|cluster| Wanted {
                namespace: cluster.clone(),
                title: format!("ManifestWork {name} of cluster {cluster}"),
                object: json!({
                    "apiVersion": format!("{}/v1", groups::WORK),
                    "kind": "ManifestWork",
                    "metadata": {"name": name, "namespace": cluster},
                    "spec": spec,
                }),
            });
            return Ok(works.collect());
        };
        if let Err(why) = label(space, name) {
            bail!("{why}");
        }
        Ok(vec![Wanted {
            namespace: space.clone(),
            title: format!("ManifestWorkReplicaSet {name} in namespace {space}"),
            object: json!({
                "apiVersion": format!("{}/v1alpha1", groups::WORK),
                "kind": "ManifestWorkReplicaSet",
                "metadata": {"name": name, "namespace": space},
                "spec": {"manifestWorkTemplate": spec, "placementRefs": [{"name": placement}]},
            }),
        }])
    }

    fn spec(&self, objects: Vec<(Source, Value)>) -> anyhow::Result<Value> {
        if objects.is_empty() {
            bail!("-f: the files hold no object");
        }
        let mut manifests = Vec::with_capacity(objects.len());
        for (ordinal, (at, object)) in objects.into_iter().enumerate() {
            let manifest = Manifest::new(&object)?;
            if let Err(why) = prescribed(ordinal, &manifest) {
                bail!("{at}: {why}");
            }
            manifests.push(object);
        }
        if let Some(warning) = size_warning(&manifests) {
            writeln!(io::stderr(), "Warning: {warning}")?;
        }
        let mut spec = json!({"workload": {"manifests": manifests}});
        if let Some((namespace, name)) = &self.executor {
            spec["executor"] = json!({"subject": {
                "type": "ServiceAccount",
                "serviceAccount": {"namespace": namespace, "name": name},
            }});
        }
        Ok(spec)
    }

    /// Creates an object, or with `--overwrite` changes it. Returns it, and what was done.
    async fn write<K>(
        &self,
        hub: &HubConnection,
        wanted: &Wanted,
    ) -> anyhow::Result<(Value, &'static str)>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        let namespace = Some(&*wanted.namespace);
        let created = hub.create::<K>(namespace, &wanted.object, self.dry_run.mode);
        match created.await {
            Ok(written) => Ok((written, "created")),
            Err(failure) if failure.is_already_there() && self.overwrite => {
                Ok((self.replace::<K>(hub, wanted).await?, "replaced"))
            }
            Err(failure) if failure.is_already_there() => {
                bail!("it already exists: --overwrite replaces its objects")
            }
            Err(failure) => Err(failure).context("cannot be created"),
        }
    }

    /// Replaces the objects and the executor, if the stored object does not change in the meantime. The rest of the spec stays. Returns the
    /// object.
    async fn replace<K>(&self, hub: &HubConnection, wanted: &Wanted) -> Result<Value, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        let namespace = Some(&*wanted.namespace);
        deciding_again(async || {
            let stored = hub.get_value::<K>(namespace, &self.name).await?;
            let stored = stored.unwrap_or_default();
            let mut patch = json!({
                "metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]},
                "spec": {},
            });
            let within = if self.placement.is_some() {
                patch["spec"]["placementRefs"] =
                    placements(&stored["spec"], &wanted.object["spec"]);
                "manifestWorkTemplate"
            } else {
                ""
            };
            let (old, new) = (&stored["spec"], &wanted.object["spec"]);
            let (old, new) = match within {
                "" => (old, new),
                field => (&old[field], &new[field]),
            };
            let mut spec = json!({"workload": replacing(&old["workload"], &new["workload"])});
            if self.executor.is_some() {
                spec["executor"] = new["executor"].clone();
            }
            match (within, spec) {
                ("", Value::Object(fields)) => patch["spec"] = fields.into(),
                (field, spec) => patch["spec"][field] = spec,
            }
            hub.merge::<K>(namespace, &self.name, None, patch, self.dry_run.mode)
                .await
        })
        .await
    }

    /// Prints a line, unless the objects are printed.
    fn say(&self, line: &str) -> io::Result<()> {
        match self.output.format {
            None => writeln!(io::stdout(), "{}", plain(line)),
            Some(_) => Ok(()),
        }
    }

    fn print(&self, objects: Vec<Value>) -> anyhow::Result<ExitCode> {
        let mut out = io::stdout().lock();
        match (self.output.format, &objects[..]) {
            (None, _) | (_, []) => {}
            (Some(DocumentFormat::Json), [object]) => print_one_json(&mut out, object)?,
            (Some(DocumentFormat::Yaml), [object]) => print_one_yaml(&mut out, object)?,
            (Some(DocumentFormat::Json), _) => print_json(&mut out, &objects)?,
            (Some(DocumentFormat::Yaml), _) => print_yaml(&mut out, &objects)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The sizes that count before the objects are sent. The limits are the hub's, and may be others there.
fn size_warning(manifests: &[Value]) -> Option<String> {
    let size: usize = manifests.iter().map(|it| it.to_string().len()).sum();
    (size > MANIFEST_LIMIT).then(|| {
        format!(
            "the manifests have {size} bytes. The hub refuses more than {MANIFEST_LIMIT} unless its webhooks have a higher --manifestLimit, and \
             stores at most 1.5 MiB in an object: make several works of them"
        )
    })
}

/// The placements of a replica set: those that are stored, since without one its ManifestWorks would be deleted, and the wanted one.
fn placements(old: &Value, new: &Value) -> Value {
    let wanted = &new["placementRefs"][0];
    let stored = old["placementRefs"].as_array();
    let mut placements = stored.cloned().unwrap_or_default();
    if !placements.iter().any(|it| it["name"] == wanted["name"]) {
        placements.push(wanted.clone());
    }
    placements.into()
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

    fn parsed(flags: &[&str]) -> Result<Args, String> {
        let words = ["work", "web"].iter().chain(flags);
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(command.args)
    }

    #[test]
    fn a_mistake_in_a_flag_is_an_error() {
        for (flags, words) in [
            (&["-f", "a"][..], "--clusters"),
            (&["--clusters", "c1"], "--filename"),
            (
                &["-f", "a", "--clusters", "c1", "--placement", "a/b"],
                "cannot be used with",
            ),
            (&["-f", "a", "--placement", "b"], "NAMESPACE/NAME"),
            (
                &["-f", "a", "--clusters", "c1", "-r"],
                "cannot be used with",
            ),
            (&["-f", "a", "-r"], "--placement"),
            (&["-f", "a", "--clusters", "A"], "lower case"),
            (
                &["-f", "a", "--clusters", "c1", "--executor", "x"],
                "NAMESPACE/NAME",
            ),
        ] {
            let error = parsed(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
        let long = "a".repeat(189);
        assert!(name(&long).unwrap_err().contains("188"));
    }

    #[test]
    fn objects_are_read_as_kubectl_reads_them() {
        let args = parsed(&["-f", "a", "--clusters", "c1"]).unwrap();
        let manifests = |text: &str| {
            let spec = args.spec(berth_review::objects_in("a", text).unwrap());
            spec.unwrap()["workload"]["manifests"].clone()
        };
        let hello = json!({
            "apiVersion": "example.com/v1", "kind": "Hello", "metadata": {"name": "a"},
            "spec": {"mode": null, "port": 80, "raw": {"a": null, "b": [null]}},
        });
        assert_eq!(manifests(&hello.to_string()), json!([hello]));
        let list = json!({"kind": "List", "items": [hello], "metadata": null});
        assert_eq!(manifests(&list.to_string()), json!([hello]));
        let stream = format!("{hello}\n{hello}{hello}\n");
        assert_eq!(manifests(&stream), json!([hello, hello, hello]));
    }

    #[test]
    fn sizes_are_named_before_manifests_are_sent() {
        let manifest = |bytes: usize| Value::from("a".repeat(bytes - 2));
        assert_eq!(size_warning(&[manifest(MANIFEST_LIMIT)]), None);
        let warning = size_warning(&[manifest(MANIFEST_LIMIT), manifest(2)]).unwrap();
        for figure in ["512002 bytes", "512000", "1.5 MiB"] {
            assert!(warning.contains(figure), "{warning}");
        }
    }

    #[test]
    fn a_replaced_replica_set_keeps_its_placements_and_their_strategies() {
        let stored = json!({"placementRefs": [
            {"name": "a", "rolloutStrategy": {"type": "Progressive"}}, {"name": "b"},
        ]});
        for (name, expected) in [
            (
                "a",
                json!([{"name": "a", "rolloutStrategy": {"type": "Progressive"}}, {"name": "b"}]),
            ),
            (
                "c",
                json!([{"name": "a", "rolloutStrategy": {"type": "Progressive"}}, {"name": "b"}, {"name": "c"}]),
            ),
        ] {
            let wanted = json!({"placementRefs": [{"name": name}]});
            assert_eq!(placements(&stored, &wanted), expected);
        }
    }
}
