//! AppliedManifestWorks of a managed cluster: found by name, and their holds.

use berth_api::labels::HOLD;
use berth_rules::display::first_of;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::failure::CommandError;
use crate::hub::HubConnection;

/// Path of the collection.
const WORKS: &str = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";

/// An AppliedManifestWork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AppliedWork {
    pub(crate) name: String,
    /// Name of its ManifestWork.
    pub(crate) work: String,
    pub(crate) hold: Option<Hold>,
}

/// The hold of an AppliedManifestWork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hold {
    /// The annotation's value.
    pub(crate) value: String,
    /// When the field manager last wrote the annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// The field manager that set the annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

/// Reads the AppliedManifestWorks of a managed cluster one by one. `take` gets `None` if the list starts again. A cluster without the kind
/// has none.
///
/// # Errors
/// They cannot be listed.
pub(crate) async fn each_applied_work(
    cluster: &HubConnection,
    take: &mut impl FnMut(Option<Value>),
) -> Result<(), CommandError> {
    match cluster.each_at(WORKS.to_owned(), take).await {
        Err(CommandError::NoHub { .. }) => Ok(()),
        read => read,
    }
}

/// Reads the AppliedManifestWorks of a managed cluster.
///
/// # Errors
/// They cannot be listed.
pub(crate) async fn applied_works(
    cluster: &HubConnection,
) -> Result<Vec<AppliedWork>, CommandError> {
    let mut works = Vec::new();
    let mut take = |work: Option<Value>| match work {
        Some(work) => works.push(AppliedWork::of(&work)),
        // The list starts again.
        None => works.clear(),
    };
    each_applied_work(cluster, &mut take).await?;
    Ok(works)
}

/// Finds an AppliedManifestWork by its own name, or by the name of its ManifestWork. Its own name has precedence, so that each can be named.
///
/// # Errors
/// No AppliedManifestWork has this name, or several have a ManifestWork of this name.
pub(crate) fn named<'a>(
    works: &'a [AppliedWork],
    name: &str,
) -> Result<&'a AppliedWork, CommandError> {
    if let Some(found) = works.iter().find(|it| it.name == name) {
        return Ok(found);
    }
    let found: Vec<_> = works.iter().filter(|it| it.work == name).collect();
    match &*found {
        [found] => Ok(found),
        [] => Err(CommandError::Refused(
            "this cluster has applied no ManifestWork of this name; for the names: kubectl get appliedmanifestworks".to_owned(),
        )),
        several => Err(CommandError::Refused(format!(
            "this cluster has applied several ManifestWorks of this name; name the AppliedManifestWork: {}",
            first_of(several.iter().map(|it| &it.name), ", ")
        ))),
    }
}

// === impl AppliedWork ===

impl AppliedWork {
    fn of(work: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            name: text(&work["metadata"]["name"]),
            work: text(&work["spec"]["manifestWorkName"]),
            hold: Hold::of(work),
        }
    }
}

// === impl Hold ===

impl Hold {
    /// Returns the hold of an AppliedManifestWork, as the work agent reads it: `false` is no hold.
    pub(crate) fn of(work: &Value) -> Option<Self> {
        let value = work["metadata"]["annotations"][HOLD].as_str()?.trim();
        if value == "false" {
            return None;
        }
        let key = format!("f:{HOLD}");
        let managers = work["metadata"]["managedFields"].as_array();
        let wrote = |it: &&Value| !it["fieldsV1"]["f:metadata"]["f:annotations"][&key].is_null();
        let entry = managers.into_iter().flatten().find(wrote);
        Some(Self {
            value: value.to_owned(),
            since: entry.and_then(|it| it["time"].as_str()?.parse().ok()),
            by: entry.and_then(|it| Some(it["manager"].as_str()?.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(name: &str, work: &str) -> AppliedWork {
        let spec = json!({"manifestWorkName": work});
        AppliedWork::of(&json!({"metadata": {"name": name}, "spec": spec}))
    }

    #[test]
    fn a_work_is_found_by_either_name_and_an_ambiguous_one_is_refused() {
        let works = [
            applied("h1-web", "web"),
            applied("h2-web", "web"),
            applied("h1-db", "db"),
            applied("h1-h1-db", "h1-db"),
        ];
        for (name, expected) in [
            ("db", Ok("h1-db")),
            ("h1-db", Ok("h1-db")),
            ("h1-h1-db", Ok("h1-h1-db")),
            ("h2-web", Ok("h2-web")),
            ("web", Err("name the AppliedManifestWork: h1-web, h2-web")),
            ("", Err("has applied no ManifestWork of this name")),
            ("h3-web", Err("has applied no ManifestWork of this name")),
        ] {
            match (named(&works, name), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.name, expected, "{name}"),
                (Err(why), Err(words)) => assert!(why.to_string().contains(words), "{why}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_hold_names_its_field_manager_and_time() {
        let entry = |manager: &str, annotation: &str, time: &str| {
            let fields = json!({"f:metadata": {"f:annotations": {format!("f:{annotation}"): {}}}});
            json!({"manager": manager, "time": time, "fieldsV1": fields})
        };
        let of = |value: &str| {
            Hold::of(
                &json!({"metadata": {"annotations": {HOLD: value}, "managedFields": [
                    entry("agent", "other", "2026-01-01T00:00:00Z"),
                    entry("kubectl-annotate", HOLD, "2026-02-01T00:00:00Z"),
                ]}}),
            )
        };
        assert_eq!(of("false"), None);
        assert_eq!(Hold::of(&json!({"metadata": {}})), None);
        for value in ["changes", "all", "anything"] {
            let hold = of(value).unwrap();
            assert_eq!(hold.value, value);
            assert_eq!(hold.by.as_deref(), Some("kubectl-annotate"));
            assert_eq!(hold.since.unwrap().to_string(), "2026-02-01T00:00:00Z");
        }
        let unknown = Hold::of(&json!({"metadata": {"annotations": {HOLD: ""}}})).unwrap();
        assert_eq!((unknown.since, unknown.by), (None, None));
    }
}
