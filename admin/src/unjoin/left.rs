//! What ManifestWorks deployed on the managed cluster, and `berth unjoin` leaves there.

use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_rules::display::{Lines, first_of};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::CommandError;
use crate::hub::HubConnection;
use crate::work::applied::each_applied_work;

/// Upper bound on the objects that are shown.
const SHOWN: usize = 20;

/// The AppliedManifestWorks of the cluster, and their objects.
#[derive(Debug, Default)]
pub(super) struct Left {
    works: Vec<String>,
    objects: Vec<String>,
    /// Objects beyond [`SHOWN`].
    more: usize,
}

// === impl Left ===

impl Left {
    /// Reads them from the managed cluster. A cluster without the kind has none.
    pub(super) async fn of(cluster: &HubConnection) -> Result<Self, CommandError> {
        let mut left = Self::default();
        let mut take = |work: Option<Value>| match work {
            Some(work) => left.add(&work),
            None => left = Self::default(),
        };
        each_applied_work(cluster, &mut take).await?;
        Ok(left)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    fn add(&mut self, work: &Value) {
        self.works
            .push(work["metadata"]["name"].as_str().unwrap_or("?").to_owned());
        // The API server holds the status to its schema. Of a status that cannot be read, no objects are shown.
        let work = AppliedManifestWork::deserialize(work).unwrap_or_default();
        for object in work.status.unwrap_or_default().applied_resources {
            if self.objects.len() < SHOWN {
                self.objects.push(title(&object));
            } else {
                self.more = self.more.saturating_add(1);
            }
        }
    }

    /// The refusal to leave them. `name`: the cluster on the hub.
    pub(super) fn refusal(&self, name: &str) -> CommandError {
        let count = match self.objects.len().saturating_add(self.more) {
            1 => "1 object".to_owned(),
            count => format!("{count} objects"),
        };
        CommandError::Refused(format!(
            "AppliedManifestWorks exist on this cluster: {}, with {count}; delete the ManifestWorks on the hub (kubectl -n {name} delete \
             manifestworks --all), or leave what they deployed: --force",
            first_of(&self.works, ", ")
        ))
    }

    /// What stays, a line for each object.
    pub(super) fn warning(&self) -> String {
        let mut text = format!(
            "Warning: AppliedManifestWorks exist on this cluster: {}; they stay, and so does what they deployed. If an \
             AppliedManifestWork is deleted, its objects are deleted with it.\n",
            Lines(&first_of(&self.works, ", "))
        );
        for object in &self.objects {
            text.push_str(&format!("  {} stays\n", Lines(object)));
        }
        if self.more > 0 {
            text.push_str(&format!("  ... and {} more\n", self.more));
        }
        text
    }
}

/// The object as kubectl names it, with its namespace.
fn title(object: &AppliedManifestResourceMeta) -> String {
    let AppliedManifestResourceMeta {
        group,
        resource,
        namespace,
        name,
        ..
    } = object;
    let kind = match group.is_empty() {
        true => resource.clone(),
        false => format!("{resource}.{group}"),
    };
    match namespace.is_empty() {
        true => format!("{kind}/{name}"),
        false => format!("{kind}/{name} in namespace {namespace}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn left(works: &[Value]) -> Left {
        let mut left = Left::default();
        works.iter().for_each(|work| left.add(work));
        left
    }

    fn work(name: &str, objects: Value) -> Value {
        json!({"metadata": {"name": name}, "status": {"appliedResources": objects}})
    }

    fn object(group: &str, resource: &str, namespace: &str, name: &str) -> Value {
        json!({"group": group, "resource": resource, "version": "v1", "namespace": namespace, "name": name, "uid": "u"})
    }

    #[test]
    fn what_stays_is_named() {
        let one = work(
            "hash-w1",
            json!([
                object("apps", "deployments", "shop", "web"),
                object("", "namespaces", "", "shop")
            ]),
        );
        let left = left(&[one, work("hash-w2", json!(null))]);
        assert_eq!(
            left.warning(),
            "Warning: AppliedManifestWorks exist on this cluster: hash-w1, hash-w2; they stay, and so does what they deployed. If an \
             AppliedManifestWork is deleted, its objects are deleted with it.\n  \
             deployments.apps/web in namespace shop stays\n  namespaces/shop stays\n"
        );
        assert_eq!(
            left.refusal("c1").to_string(),
            "AppliedManifestWorks exist on this cluster: hash-w1, hash-w2, with 2 objects; delete the ManifestWorks on the hub (kubectl -n \
             c1 delete manifestworks --all), or leave what they deployed: --force"
        );
    }

    #[test]
    fn the_objects_that_are_shown_are_bounded() {
        let object = object("", "configmaps", "default", "a\u{1b}[2J");
        let left = left(&[work("w", json!(vec![object; 1000]))]);
        let warning = left.warning();
        assert_eq!(warning.lines().count(), 1 + SHOWN + 1);
        assert!(warning.ends_with("  ... and 980 more\n"), "{warning}");
        assert!(!warning.contains('\u{1b}'), "{warning:?}");
    }

    #[test]
    fn a_work_that_cannot_be_read_is_still_counted() {
        let left = left(&[json!({"metadata": {"name": "w"}, "status": 7})]);
        assert!(!left.is_empty());
        assert!(left.refusal("c1").to_string().contains("w, with 0 objects"));
    }
}
