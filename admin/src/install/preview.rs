//! What an installation would change, object by object, as the API server judges it.

use berth_manifests::is_converted;
use berth_rules::display::first_of;
use futures::StreamExt;
use futures::stream;
use serde_json::{Value, json};

use super::facts::AT_ONCE;
use super::{conversion, keep};
use crate::doctor::{Stands, compare_definitions};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection, MANAGER, Place, title};

/// What happens to an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Created,
    /// The fields that change.
    Configured(Vec<String>),
    Unchanged,
    /// It stays as it is, and why.
    Kept(String),
    /// It is of former values.
    Removed,
}

/// An object to install.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) object: Value,
    pub(super) change: Change,
    /// Fields that another client has set are taken over.
    pub(super) force: bool,
    /// Settings of a stored Deployment that stay.
    pub(super) keeps: Vec<&'static str>,
    /// The object is the merge patch that ends a conversion. What another client has set cannot be removed by applying.
    pub(super) ends_conversion: bool,
}

/// How to judge.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) hub: &'a HubConnection,
    /// The namespace of the hub exists. Without it the API server judges nothing in it.
    pub(super) namespace: bool,
    pub(super) force: bool,
    /// With [`DryRun::Client`] no write is tried.
    pub(super) dry_run: DryRun,
}

// === impl Judge ===

impl Judge<'_> {
    /// Judges all objects, in their order. The second list has what is refused, each with its object.
    pub(super) async fn all(&self, objects: &[Value]) -> (Vec<Planned>, Vec<String>) {
        let judged = stream::iter(objects).map(async |object| {
            let planned = self.one(object.clone()).await;
            planned.map_err(|failure| format!("{}: {failure}", title(object)))
        });
        let judged: Vec<_> = judged.buffered(AT_ONCE).collect().await;
        let mut planned = Vec::new();
        let mut refused = Vec::new();
        for one in judged {
            match one {
                Ok(one) => planned.push(one),
                Err(why) => refused.push(why),
            }
        }
        (planned, refused)
    }

    /// Returns those of the objects that exist, to be deleted. The second list has what cannot be read.
    pub(super) async fn no_longer_wanted(&self, objects: &[Value]) -> (Vec<Planned>, Vec<String>) {
        let mut planned = Vec::new();
        let mut refused = Vec::new();
        for object in objects {
            match self.hub.is_there(object).await {
                Ok(true) => planned.push(Planned {
                    object: object.clone(),
                    change: Change::Removed,
                    force: false,
                    keeps: Vec::new(),
                    ends_conversion: false,
                }),
                Ok(false) => {}
                Err(failure) => refused.push(format!("{}: {failure}", title(object))),
            }
        }
        (planned, refused)
    }

    async fn one(&self, mut object: Value) -> Result<Planned, CommandError> {
        let stored = self.hub.stored(&object).await?;
        let mut keeps = Vec::new();
        let plan = |object, change, force, keeps| Planned {
            object,
            change,
            force,
            keeps,
            ends_conversion: false,
        };
        let Some(stored) = stored else {
            self.may_be_created(&object).await?;
            return Ok(plan(object, Change::Created, self.force, keeps));
        };
        let mut force = self.force;
        if object["kind"] == "CustomResourceDefinition" {
            conversion::keep_storage(&mut object, &stored);
            let converts = conversion::is_as(&object, &stored);
            match compare_definitions(&object, &stored) {
                Stands::Complete if converts => {
                    return Ok(plan(object, Change::Unchanged, force, keeps));
                }
                Stands::Complete | Stands::Older => {}
                Stands::Kept(why) => match conversion::on_top_of(&object, &stored) {
                    Some(changed) if !converts => object = changed,
                    _ => return Ok(plan(object, Change::Kept(why), force, keeps)),
                },
                Stands::Refused(_) if force => {}
                Stands::Refused(why) => {
                    return Err(CommandError::Refused(format!(
                        "{why}; --force-conflicts replaces it"
                    )));
                }
            }
            if is_converted(&stored) && !is_converted(&object) {
                return self.ends_conversion(&object, &stored).await;
            }
        }
        keeps.extend(keep::leave_settings(&mut object, &stored));
        if self.dry_run == DryRun::Client {
            let changed = changed_by(&object, &stored);
            return Ok(plan(object, change(changed), force, keeps));
        }
        let trial = match self.hub.apply_as_trial(&object, force).await {
            Err(failure) if failure.is_conflict() => {
                let words = failure.to_string();
                let owners = owners(&words);
                // This program has ended a conversion by a patch, or the object was installed with kubectl apply -k, which this command
                // stands in for.
                let is_ours = |it: &&str| it.starts_with("kubectl") || *it == MANAGER;
                if owners.is_empty() || !owners.iter().all(is_ours) {
                    return Err(CommandError::Refused(format!(
                        "{failure}; --force-conflicts takes these fields over"
                    )));
                }
                force = true;
                self.hub.apply_as_trial(&object, force).await?
            }
            trial => trial?,
        };
        let changed = changed_paths(&stored, &trial);
        Ok(plan(object, change(changed), force, keeps))
    }

    /// A definition that a webhook converts, and that is not to be converted.
    async fn ends_conversion(
        &self,
        object: &Value,
        stored: &Value,
    ) -> Result<Planned, CommandError> {
        let patch = conversion::without_webhook(object, stored).map_err(|why| {
            CommandError::Refused(format!(
                "without a gate nothing converts its objects, and {why}. Write all of them again, and remove the other versions from \
                 status.storedVersions: \
                 https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/"
            ))
        })?;
        let changed = match self.dry_run {
            DryRun::Client => changed_by(&patch, stored),
            _ => changed_paths(
                stored,
                &conversion::end(self.hub, &patch, DryRun::Server).await?,
            ),
        };
        Ok(Planned {
            object: patch,
            change: change(changed),
            force: false,
            keeps: Vec::new(),
            ends_conversion: true,
        })
    }

    /// # Errors
    /// The API server refuses the object, or the user has no right to create it.
    async fn may_be_created(&self, object: &Value) -> Result<(), CommandError> {
        if self.dry_run == DryRun::Client {
            return Ok(());
        }
        let place = Place::of(object)?;
        if place.namespace.is_empty() || self.namespace {
            return self.hub.apply_as_trial(object, false).await.map(drop);
        }
        for verb in ["create", "patch"] {
            let attributes = json!({
                "verb": verb, "group": place.group, "resource": place.resource, "namespace": place.namespace,
            });
            if self.hub.review_self(&attributes).await?["allowed"] != true {
                return Err(CommandError::Refused(format!(
                    "you may not {verb} {} in namespace {}",
                    place.resource, place.namespace
                )));
            }
        }
        Ok(())
    }
}

// === impl Change ===

impl Change {
    /// The word for it, as kubectl prints it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured(_) => "configured",
            Self::Unchanged | Self::Kept(_) => "unchanged",
            Self::Removed => "deleted",
        }
    }

    /// Returns true if something is written.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Created | Self::Configured(_) | Self::Removed)
    }

    /// What the user should know, beside the word.
    pub(super) fn details(&self) -> String {
        match self {
            Self::Configured(paths) => format!(" ({})", first_of(paths, ", ")),
            Self::Kept(why) => format!(" ({why})"),
            Self::Created | Self::Unchanged | Self::Removed => String::new(),
        }
    }
}

fn change(changed: Vec<String>) -> Change {
    match changed.is_empty() {
        true => Change::Unchanged,
        false => Change::Configured(changed),
    }
}

/// Returns the field managers that a conflict names.
/// <https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts>
fn owners(message: &str) -> Vec<&str> {
    let named = message.split("conflict with \"").skip(1);
    let several = message.split("conflicts with \"").skip(1);
    named
        .chain(several)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// Returns the paths of the fields that differ, but for those that the API server keeps by itself.
fn changed_paths(before: &Value, after: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    differ(before, after, "", true, &mut paths);
    paths.retain(|path| !is_kept_by_the_server(path));
    paths
}

/// Returns the paths of the fields of `ours` that `stored` has with other values.
fn changed_by(ours: &Value, stored: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    differ(stored, ours, "", false, &mut paths);
    paths
}

fn is_kept_by_the_server(path: &str) -> bool {
    let kept = [
        "status",
        "metadata.managedFields",
        "metadata.resourceVersion",
        "metadata.generation",
    ];
    kept.iter().any(|field| path.starts_with(field))
}

/// `both`: a field that only `before` has differs, too.
fn differ(before: &Value, after: &Value, path: &str, both: bool, paths: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let join = |name: &str| match path {
                "" => name.to_owned(),
                path => format!("{path}.{name}"),
            };
            for (name, value) in new {
                let old = old.get(name).unwrap_or(&Value::Null);
                if path.is_empty() && name == "metadata" || old != value {
                    differ(old, value, &join(name), both, paths);
                }
            }
            let gone = old.keys().filter(|name| both && !new.contains_key(*name));
            paths.extend(gone.map(|name| join(name)));
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                if old != new {
                    differ(old, new, &format!("{path}[{i}]"), both, paths);
                }
            }
        }
        (old, new) if old != new => paths.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_that_change_are_named() {
        let before = json!({
            "metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "managedFields": [{"time": 1}]},
            "spec": {"a": 1, "b": [{"c": 1}, {"c": 2}], "gone": true},
            "status": {"x": 1},
        });
        let after = json!({
            "metadata": {"name": "a", "resourceVersion": "2", "generation": 2, "managedFields": [{"time": 2}], "labels": {"l": "1"}},
            "spec": {"a": 1, "b": [{"c": 1}, {"c": 3}], "new": [1]},
            "status": {"x": 2},
        });
        let paths = changed_paths(&before, &after);
        assert_eq!(
            paths,
            ["metadata.labels", "spec.b[1].c", "spec.new", "spec.gone"]
        );
        assert_eq!(changed_paths(&before, &before), [""; 0]);
    }

    #[test]
    fn defaults_of_the_server_are_no_change_of_ours() {
        let ours = json!({"metadata": {"name": "a"}, "spec": {"a": {"b": 1}}});
        let stored = json!({
            "metadata": {"name": "a", "uid": "u"},
            "spec": {"a": {"b": 1, "c": 2}, "d": 3},
        });
        assert_eq!(changed_by(&ours, &stored), [""; 0]);
        let stored = json!({"metadata": {"name": "a"}, "spec": {"a": {"b": 2}}});
        assert_eq!(changed_by(&ours, &stored), ["spec.a.b"]);
    }

    #[test]
    fn the_owners_of_fields_in_conflict_are_read() {
        let one = "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: .spec.replicas (Conflict)";
        assert_eq!(owners(one), ["kubectl-client-side-apply"]);
        let more = "Apply failed with 3 conflicts: conflicts with \"helm\" using apps/v1:\n- .a\n- .b\nconflicts with \"kubectl\" using \
                    apps/v1:\n- .c";
        assert_eq!(owners(more), ["helm", "kubectl"]);
        assert_eq!(owners("the object has been modified"), [""; 0]);
    }
}
