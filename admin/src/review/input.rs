//! Input: AdmissionReviews, and plain objects that are converted to AdmissionReviews.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use berth_api::path::group_version;
use berth_rbac::implied_groups;
use berth_review::{Webhook, documents};
use serde_json::{Value, json};

use super::Args;

/// The uid of all AdmissionReviews that are created here.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Returns the AdmissionReviews of all files, in order.
///
/// # Errors
/// The message names the file, the document, and the mistake.
pub(super) fn reviews(args: &Args) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for file in &args.filename {
        objects.extend(read(file)?);
    }
    ensure!(!objects.is_empty(), "-f: the files contain no objects");
    let old = match &args.old {
        None => None,
        Some(file) => {
            let mut stored = read(file)?;
            ensure!(
                stored.len() == 1,
                "--old {}: expected one object, found {}",
                file.display(),
                stored.len()
            );
            ensure!(
                objects.len() == 1,
                "--old: expected one object in -f, found {}",
                objects.len()
            );
            stored.pop().map(|(_, object)| object)
        }
    };
    objects
        .into_iter()
        .map(|(at, object)| review(args, object, old.as_ref()).context(at))
        .collect()
}

/// Lists what the gate guards.
pub(super) fn guarded(name: impl Fn(Webhook) -> String) -> String {
    let validating = Webhook::ALL.into_iter().filter(|it| !it.mutates());
    validating.map(name).collect::<Vec<_>>().join(", ")
}

/// Reads the objects of a file and the items of lists, each with its position.
fn read(file: &Path) -> anyhow::Result<Vec<(String, Value)>> {
    let name = file.display().to_string();
    let text = if name == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| name.clone())?
    };
    let mut objects = Vec::new();
    let documents = documents(&text)
        .map_err(|error| anyhow::anyhow!("{name}, document {}: {error}", error.document))?;
    for (i, document) in documents.into_iter().enumerate() {
        let at = format!("{name}, document {}", i + 1);
        match document {
            Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                let Some(Value::Array(items)) = list.remove("items") else {
                    bail!("{at}: a List needs items")
                };
                objects.extend(
                    items
                        .into_iter()
                        .enumerate()
                        .map(|(i, item)| (format!("{at}, items[{i}]"), item)),
                );
            }
            object => objects.push((at, object)),
        }
    }
    Ok(objects)
}

fn review(args: &Args, object: Value, old: Option<&Value>) -> anyhow::Result<Value> {
    let field = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (field("apiVersion"), field("kind"));
    if kind == "AdmissionReview" {
        ensure!(
            old.is_none(),
            "--old: an AdmissionReview has its own oldObject"
        );
        return with_user(args, object);
    }
    let (group, version) = group_version(&api_version);
    let is_its = |webhook: &Webhook| {
        (webhook.group(), webhook.version(), webhook.kind()) == (group, version, kind.as_str())
    };
    let Some(webhook) = Webhook::ALL.into_iter().find(is_its) else {
        let all = guarded(|it| format!("{} ({}/{})", it.kind(), it.group(), it.version()));
        bail!(
            "kind {kind:?} of apiVersion {api_version:?} is neither an AdmissionReview nor guarded by the gate; it guards {all}"
        );
    };
    let metadata = |object: &Value, field: &str| {
        object
            .pointer(&format!("/metadata/{field}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let name = metadata(&object, "name");
    ensure!(!name.is_empty(), "metadata.name: required");
    let namespace = metadata(&object, "namespace");
    if webhook.is_namespaced() {
        ensure!(
            !namespace.is_empty(),
            "metadata.namespace: required for a {kind}"
        );
    }
    if let Some(old) = old {
        let same = old.get("kind") == object.get("kind") && metadata(old, "name") == name;
        ensure!(same, "--old: expected the stored {kind} {name:?}");
    }
    ensure!(args.user.is_some(), "--as USER: required for plain objects");
    let (resource, operation) = (
        webhook.resource(),
        if old.is_some() { "UPDATE" } else { "CREATE" },
    );
    let mut request = json!({
        "uid": UID,
        "kind": { "group": group, "version": version, "kind": kind },
        "resource": { "group": group, "version": version, "resource": resource },
        "requestKind": { "group": group, "version": version, "kind": kind },
        "requestResource": { "group": group, "version": version, "resource": resource },
        "name": name,
        "operation": operation,
        "userInfo": {},
        "object": object,
        "oldObject": old,
        "dryRun": true,
    });
    if !namespace.is_empty() {
        request["namespace"] = namespace.into();
    }
    with_user(
        args,
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request }),
    )
}

/// Sets the user of `--as`, if it is given, with its groups and with the groups that the name implies on a hub.
fn with_user(args: &Args, mut review: Value) -> anyhow::Result<Value> {
    let Some(user) = &args.user else {
        return Ok(review);
    };
    ensure!(!user.is_empty(), "--as: the user name is empty");
    let mut groups = args.groups.clone();
    groups.extend(
        implied_groups(user)
            .into_iter()
            .filter(|group| !args.groups.contains(group)),
    );
    match review.get_mut("request") {
        Some(Value::Object(request)) => {
            request.insert(
                "userInfo".to_owned(),
                json!({ "username": user, "groups": groups }),
            );
        }
        _ => bail!("the AdmissionReview has no request"),
    }
    Ok(review)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_that_the_gate_guards_is_listed_once() {
        let listed = guarded(|it| format!("{} ({}/{})", it.kind(), it.group(), it.version()));
        for webhook in Webhook::ALL {
            let kind = format!("{} (", webhook.kind());
            assert_eq!(listed.matches(&kind).count(), 1, "{kind} in {listed}");
        }
    }
}
