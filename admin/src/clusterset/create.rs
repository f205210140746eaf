//! `berth create clusterset`.

use std::process::ExitCode;

use berth_api::{ManagedClusterSet, groups};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};

use super::selectors::{self, Selects};
use super::{distinct, name};
use crate::failure::CommandError;
use crate::hub::{HubArgs, HubConnection, Item};
use crate::outcomes::{Outcomes, WriteArgs};

const EXAMPLES: &str = "\
Examples:
  # A set that clusters are added to by name
  berth create clusterset prod

  # A set of all clusters with these labels, now and later
  berth create clusterset gpu --selector 'accelerator in (a100, h100), !retired'";

/// Create cluster sets
///
/// Without a selector, clusters are added to the set by 'berth clusterset set', and a cluster can be in one such set only. A set
/// that already exists is not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the sets
    #[arg(value_name = "NAME", required = true, value_parser = name)]
    names: Vec<String>,
    /// Label selector of the clusters in the set, in kubectl's syntax; '' selects all clusters. This needs the permission to
    /// join all sets: see 'berth can-i join --all'
    #[arg(short = 'l', long, value_parser = selectors::parse)]
    selector: Option<LabelSelector>,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    write: WriteArgs,
}

/// The messages about a set that already exists.
#[derive(Debug, PartialEq, Eq)]
struct There {
    line: String,
    note: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, or the output cannot be written.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let mut outcomes = Outcomes::new(&args.write);
    for name in distinct(&args.names) {
        match create(&hub, name, args).await {
            Ok(None) => outcomes.done(name, format!("Clusterset {name} is created"))?,
            Ok(Some(There { line, note })) => {
                outcomes.unchanged(name, line)?;
                if let Some(note) = note {
                    outcomes.progress(&note);
                }
            }
            Err(failure) => outcomes.failed(name, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Creates the set, unless it already exists.
async fn create(
    hub: &HubConnection,
    name: &str,
    args: &Args,
) -> Result<Option<There>, CommandError> {
    let asked = args.selector.as_ref();
    match hub.get::<ManagedClusterSet>(None, name).await {
        Ok(Some(set)) => return there(name, &set, asked).map(Some),
        // A user who may create sets need not be able to read them.
        Ok(None) => {}
        Err(failure) if failure.is_forbidden() => {}
        Err(failure) => return Err(failure),
    }
    let object = object(name, asked);
    let made = hub.create::<ManagedClusterSet>(None, &object, args.write.dry_run.mode);
    match made.await {
        Ok(_) => Ok(None),
        // Another client created it in the meantime, or the user may not read it.
        Err(failure) if failure.is_already_there() => {
            match hub.get::<ManagedClusterSet>(None, name).await {
                Ok(Some(set)) => there(name, &set, asked).map(Some),
                Err(_) if asked.is_none() => Ok(Some(There {
                    line: already(name),
                    note: None,
                })),
                Ok(None) | Err(_) => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

fn object(name: &str, selector: Option<&LabelSelector>) -> Value {
    let selector = match selector {
        None => json!({"selectorType": "ExclusiveClusterSetLabel"}),
        Some(selector) => json!({"selectorType": "LabelSelector", "labelSelector": selector}),
    };
    json!({
        "apiVersion": format!("{}/v1beta2", groups::CLUSTER),
        "kind": "ManagedClusterSet",
        "metadata": {"name": name},
        "spec": {"clusterSelector": selector},
    })
}

/// Compares an existing set with the flags.
///
/// # Errors
/// The set is being deleted, or has another selector.
fn there(
    name: &str,
    set: &Item<ManagedClusterSet>,
    asked: Option<&LabelSelector>,
) -> Result<There, CommandError> {
    if set.object.metadata.deletion_timestamp.is_some() {
        return Err(CommandError::Refused(format!(
            "Clusterset {name} is being deleted: create it after the deletion"
        )));
    }
    let found = Selects::of(&set.object.spec.cluster_selector);
    let note = match (asked, &found) {
        (None, Selects::ByName) => None,
        (None, found) => Some(format!("Note: Clusterset {name} {}", found.words())),
        (Some(asked), Selects::ByLabels(Some(found))) if selectors::same(asked, found) => None,
        (Some(asked), found) => {
            return Err(CommandError::Refused(format!(
                "{}, but it {}, and you asked for a set that {}; to change it: kubectl edit managedclusterset {name}",
                already(name),
                match &set.unreadable {
                    None => found.words(),
                    Some(why) => format!("cannot be read ({why})"),
                },
                Selects::ByLabels(Some(asked)).words(),
            )));
        }
    };
    Ok(There {
        line: already(name),
        note,
    })
}

fn already(name: &str) -> String {
    format!("Clusterset {name} is already created")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_is_there_must_be_the_one_asked_for() {
        let label = json!({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}});
        let labels = json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}}});
        let already = "Clusterset prod is already created";
        let differs = format!("{already}, but it selects ");
        for (sentence, spec, asked, expected) in [
            (
                "none asked for, as it is",
                &label,
                None,
                Ok((already, false)),
            ),
            (
                "none asked for, but it has one",
                &labels,
                None,
                Ok((already, true)),
            ),
            (
                "the same, said otherwise",
                &labels,
                Some("a in (b)"),
                Ok((already, false)),
            ),
            ("another", &labels, Some("a=c"), Err(differs.as_str())),
            ("all clusters", &labels, Some(""), Err(differs.as_str())),
            (
                "one asked for, but it has none",
                &label,
                Some("a=b"),
                Err(differs.as_str()),
            ),
        ] {
            let set = Item::of(json!({"metadata": {"name": "prod"}, "spec": spec}));
            let asked = asked.map(|it| selectors::parse(it).unwrap());
            match (there("prod", &set, asked.as_ref()), expected) {
                (Ok(there), Ok((line, note))) => {
                    assert_eq!(
                        (there.line.as_str(), there.note.is_some()),
                        (line, note),
                        "{sentence}"
                    );
                }
                (Err(failure), Err(start)) => {
                    assert!(
                        failure.to_string().starts_with(start),
                        "{sentence}: {failure}"
                    );
                }
                (result, _) => panic!("{sentence}: {result:?}"),
            }
        }
        let leaving = Item::of(
            json!({"metadata": {"name": "prod", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        );
        let failure = there("prod", &leaving, None).unwrap_err().to_string();
        assert_eq!(
            failure,
            "Clusterset prod is being deleted: create it after the deletion"
        );
    }
}
