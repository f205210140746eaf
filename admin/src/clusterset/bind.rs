//! `berth clusterset bind`, `berth clusterset unbind`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_api::conditions::condition_of;
use berth_api::conditions::{self, FALSE};
use berth_api::{ManagedClusterSetBinding, groups};
use clap_complete::engine::ArgValueCandidates;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use super::{distinct, existing, name, namespaces_of, set_of};
use crate::complete;
use crate::failure::{CommandError, or_nearest};
use crate::hub::{DryRun, Filter, HubArgs, HubConnection, Item, NamespaceArgs};
use crate::outcomes::{Outcomes, WriteArgs};
use crate::print::plain;

const BIND_EXAMPLES: &str = "\
Examples:
  berth clusterset bind prod --namespace team-a

  # Check whether the gate would allow it
  berth clusterset bind prod --namespace team-a --dry-run=server";

const UNBIND_EXAMPLES: &str = "\
Example:
  berth clusterset unbind prod --namespace team-a";

/// Bind sets to a namespace, so that workloads of the namespace can be placed on their clusters
///
/// This needs the permission to bind the set. The namespace must not belong to an accepted cluster, since the agent of that
/// cluster has rights there.
#[derive(Debug, clap::Args)]
#[command(after_help = BIND_EXAMPLES)]
pub(super) struct BindArgs {
    #[command(flatten)]
    which: Which,
    /// Wait up to 3 seconds until the hub reports whether the binding is effective
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    wait: bool,
}

/// Remove the bindings of sets from a namespace
///
/// It is not an error if a set is not bound there or does not exist.
#[derive(Debug, clap::Args)]
#[command(after_help = UNBIND_EXAMPLES)]
pub(super) struct UnbindArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Names of the sets
    #[arg(
        value_name = "NAME",
        required = true,
        value_parser = name,
        add = ArgValueCandidates::new(complete::sets)
    )]
    names: Vec<String>,
    #[command(flatten)]
    namespace: NamespaceArgs,
}

/// Timeout for the hub to report whether a binding is effective.
const MOMENT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

/// Binds the sets.
///
/// # Errors
/// The namespace does not exist, the hub cannot be used, or the output cannot be written.
pub(super) async fn bind(
    hub: &HubConnection,
    args: &BindArgs,
    (of, write): (&HubArgs, &WriteArgs),
) -> anyhow::Result<ExitCode> {
    let namespace = &*args.which.namespace.of(of);
    match hub.get_value::<Namespace>(None, namespace).await {
        Ok(Some(_)) => {}
        Ok(None) => return Err(no_such_namespace(hub, namespace).await.into()),
        // A user who may bind there need not be able to read it. Then the hub reports whether it exists.
        Err(failure) if failure.is_forbidden() => {}
        Err(failure) => return Err(failure.into()),
    }
    let mut outcomes = Outcomes::new(write);
    for set in distinct(&args.which.names) {
        match bind_one(hub, set, namespace, write.dry_run.mode, |warning| {
            outcomes.progress(&format!("Warning: {warning}"));
        })
        .await
        {
            Ok(true) => {
                let line = format!("Clusterset {set} is bound to Namespace {namespace}");
                if args.wait && write.dry_run.mode == DryRun::None {
                    match effective(hub, set, namespace).await {
                        Ok(said) => {
                            outcomes.done(set, line)?;
                            if !said {
                                outcomes.progress(&format!(
                                    "Note: the hub has not reported yet whether the binding of Clusterset {set} is effective; is its \
                                     controller running?"
                                ));
                            }
                        }
                        Err(why) => outcomes.failed(set, format!("{line}, but {why}"))?,
                    }
                } else {
                    outcomes.done(set, line)?;
                }
            }
            Ok(false) => {
                let line = format!("Clusterset {set} is already bound to Namespace {namespace}");
                outcomes.unchanged(set, line)?;
            }
            Err(failure) => outcomes.failed(set, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Binds a set. Returns false if it was already bound. `warn` gets what the user should know.
pub(crate) async fn bind_one(
    hub: &HubConnection,
    set: &str,
    namespace: &str,
    dry_run: DryRun,
    mut warn: impl FnMut(String),
) -> Result<bool, CommandError> {
    match existing(hub, set).await {
        Ok(_) => {}
        Err(failure) if failure.is_forbidden() => warn(format!(
            "cannot check whether Clusterset {set} exists: {failure}"
        )),
        Err(failure) => return Err(failure),
    }
    match hub
        .get::<ManagedClusterSetBinding>(Some(namespace), set)
        .await
    {
        Ok(Some(binding)) => return there(&binding, set, namespace).map(|()| false),
        Ok(None) => {}
        Err(failure) if failure.is_forbidden() => {}
        Err(failure) => return Err(failure),
    }
    let binding = json!({
        "apiVersion": format!("{}/v1beta2", groups::CLUSTER),
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": set, "namespace": namespace},
        "spec": {"clusterSet": set},
    });
    let made = hub.create::<ManagedClusterSetBinding>(Some(namespace), &binding, dry_run);
    match made.await {
        Ok(_) => Ok(true),
        Err(failure) if failure.is_already_there() => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Checks that an existing binding is of this set and effective.
fn there(
    binding: &Item<ManagedClusterSetBinding>,
    set: &str,
    namespace: &str,
) -> Result<(), CommandError> {
    let why = if binding.object.metadata.deletion_timestamp.is_some() {
        "is being deleted: bind the set after the deletion".to_owned()
    } else if set_of(binding) != set {
        format!(
            "binds Clusterset {}: delete it first (kubectl delete managedclustersetbinding -n {namespace} {set})",
            plain(&set_of(binding))
        )
    } else if let Some(why) = not_effective(binding) {
        why
    } else {
        return Ok(());
    };
    Err(CommandError::Refused(format!(
        "the ManagedClusterSetBinding {set} in Namespace {namespace} {why}"
    )))
}

/// Returns the reason why the binding is not effective, if the hub reports one.
fn not_effective(binding: &Item<ManagedClusterSetBinding>) -> Option<String> {
    let status = binding.object.status.as_ref()?;
    let bound = condition_of(&status.conditions, conditions::cluster_set_binding::BOUND)?;
    (bound.status == FALSE).then(|| {
        let why = match bound.message.as_str() {
            "" => plain(&bound.reason),
            message => format!("{}: {}", plain(&bound.reason), plain(message)),
        };
        format!("is not effective: {why}")
    })
}

/// Waits up to [`MOMENT`] until the hub reports that a new binding is effective. Returns false if it reports nothing in that time.
/// A negative report counts only at the end, since it can change shortly after the creation of the set.
///
/// # Errors
/// The binding is not effective.
async fn effective(hub: &HubConnection, set: &str, namespace: &str) -> Result<bool, String> {
    let begun = Instant::now();
    loop {
        let binding = hub
            .get::<ManagedClusterSetBinding>(Some(namespace), set)
            .await;
        // The binding was created, even if it cannot be read, or was deleted since.
        let Ok(Some(binding)) = binding else {
            return Ok(true);
        };
        let no = not_effective(&binding);
        let said = binding.object.status.as_ref().is_some_and(|status| {
            let mut conditions = status.conditions.iter();
            conditions.any(|it| it.type_ == conditions::cluster_set_binding::BOUND)
        });
        match no {
            None if said => return Ok(true),
            no if begun.elapsed() >= MOMENT => {
                return no.map_or(Ok(false), |why| Err(format!("the binding {why}")));
            }
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn no_such_namespace(hub: &HubConnection, name: &str) -> CommandError {
    let names = hub.names::<Namespace>(None).await.unwrap_or_default();
    CommandError::no_such("namespaces", name, names.iter().map(String::as_str))
}

/// Removes the bindings of the sets.
///
/// # Errors
/// The output cannot be written.
pub(super) async fn unbind(
    hub: &HubConnection,
    args: &UnbindArgs,
    (of, write): (&HubArgs, &WriteArgs),
) -> anyhow::Result<ExitCode> {
    let namespace = &*args.which.namespace.of(of);
    let mut outcomes = Outcomes::new(write);
    for set in distinct(&args.which.names) {
        match unbind_one(hub, set, namespace, write.dry_run.mode).await {
            Ok(true) => {
                let line = format!("Clusterset {set} is unbound from Namespace {namespace}");
                outcomes.done(set, line)?;
            }
            Ok(false) => {
                let meant = meant(hub, set, namespace).await;
                let line =
                    format!("Clusterset {set} was not bound to Namespace {namespace}{meant}");
                outcomes.unchanged(set, line)?;
            }
            Err(failure) => outcomes.failed(set, failure)?,
        }
    }
    Ok(outcomes.end()?)
}

/// Unbinds a set, which may be deleted already. Returns false if it was not bound.
pub(crate) async fn unbind_one(
    hub: &HubConnection,
    set: &str,
    namespace: &str,
    dry_run: DryRun,
) -> Result<bool, CommandError> {
    if dry_run == DryRun::Client {
        let binding = hub.get::<ManagedClusterSetBinding>(Some(namespace), set);
        return Ok(binding.await?.is_some());
    }
    hub.delete::<ManagedClusterSetBinding>(Some(namespace), set, None, dry_run)
        .await
}

/// Suggests another set or namespace, in words that follow the line.
async fn meant(hub: &HubConnection, set: &str, namespace: &str) -> String {
    let everything = Filter::default();
    let bindings = match hub.list(None, &everything).await {
        Ok(all) => all,
        Err(_) => hub
            .list(Some(namespace), &everything)
            .await
            .unwrap_or_default(),
    };
    or_meant(set, namespace, &bindings)
}

fn or_meant(set: &str, namespace: &str, bindings: &[Item<ManagedClusterSetBinding>]) -> String {
    let elsewhere = namespaces_of(set, bindings);
    if !elsewhere.is_empty() {
        let list = berth_rules::display::first_of(&elsewhere, ", ");
        return format!("; it is bound to Namespace {list}");
    }
    let here: Vec<String> = bindings
        .iter()
        .filter(|it| it.object.metadata.namespace.as_deref() == Some(namespace))
        .map(Item::name)
        .collect();
    or_nearest(set, here.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn binding(namespace: &str, name: &str, fields: Value) -> Item<ManagedClusterSetBinding> {
        let mut value = json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"clusterSet": name},
        });
        for (key, field) in fields.as_object().unwrap() {
            value[key] = field.clone();
        }
        Item::of(value)
    }

    fn bound(status: &str, reason: &str, message: &str) -> Value {
        let condition = json!({
            "type": "Bound", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        json!({"status": {"conditions": [condition]}})
    }

    #[test]
    fn a_binding_that_is_there_must_be_the_one_asked_for_and_effective() {
        let leaving = json!({"metadata": {
            "namespace": "ns", "name": "prod", "deletionTimestamp": "2026-01-01T00:00:00Z",
        }});
        for (sentence, fields, why) in [
            ("nothing is said of it yet", json!({}), None),
            (
                "it is effective",
                bound("True", "ClusterSetBound", ""),
                None,
            ),
            (
                "it is not effective",
                bound("False", "ClusterSetNotFound", ""),
                Some("is not effective: ClusterSetNotFound"),
            ),
            (
                "and why",
                bound("False", "NamespaceBelongsToCluster", "move it\nsoon"),
                Some("is not effective: NamespaceBelongsToCluster: move it..."),
            ),
            (
                "it binds another set",
                json!({"spec": {"clusterSet": "other"}}),
                Some(
                    "binds Clusterset other: delete it first (kubectl delete managedclustersetbinding -n ns prod)",
                ),
            ),
            (
                "it leaves",
                leaving,
                Some("is being deleted: bind the set after the deletion"),
            ),
        ] {
            let result = there(&binding("ns", "prod", fields), "prod", "ns");
            let said = result.err().map(|failure| failure.to_string());
            let expected =
                why.map(|why| format!("the ManagedClusterSetBinding prod in Namespace ns {why}"));
            assert_eq!(said, expected, "{sentence}");
        }
    }

    #[test]
    fn who_unbinds_what_is_not_bound_learns_what_is() {
        let all = [
            binding("a", "prod", json!({})),
            binding("b", "prod", json!({})),
            binding("c", "staging", json!({})),
        ];
        for (set, namespace, meant) in [
            ("prod", "c", "; it is bound to Namespace a, b"),
            ("stagin", "c", "; did you mean \"staging\"?"),
            ("stagin", "a", ""),
            ("other", "c", ""),
        ] {
            assert_eq!(
                or_meant(set, namespace, &all),
                meant,
                "{set} in {namespace}"
            );
        }
    }
}
