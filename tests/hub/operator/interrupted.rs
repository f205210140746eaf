//! The operator is killed at any step.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::sleep;

use super::*;

/// How often it is killed.
const KILLS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_a_hundred_times_it_ends_in_the_same_hub() {
    let (node, operator) = installed(json!({})).await;
    drop(operator);
    let admin = &node.admin;
    let calm = contents(admin).await;
    let all: Vec<_> = calm
        .iter()
        .map(|(path, _)| path)
        .filter(|it| may_go(it))
        .collect();
    let left = interrupted(admin, &all, async || command(&node.cluster).await).await;
    assert!(left.len() > 5, "it was killed at different steps: {left:?}");
    let _operator = Operator::start(&node.cluster).await;
    run_again(&node).await;
    for path in &all {
        once(admin, path, "it is there", |_| true).await;
    }
    guarded(admin).await;
    for (after, before) in contents(admin).await.into_iter().zip(calm) {
        assert_eq!(after, before);
    }
}

/// Kills operators on their way, each time with another third of the objects missing and as soon as another one of them is there again, so
/// that it does not depend on the machine's speed where they are killed. Returns how many were missing then.
pub(super) async fn interrupted(
    admin: &Person,
    all: &[&String],
    command: impl AsyncFn() -> Command,
) -> BTreeSet<usize> {
    let mut left = BTreeSet::new();
    for kill in 0..KILLS {
        let third: Vec<_> = (all.iter().skip(kill % 3).step_by(3)).collect();
        for path in &third {
            admin.delete(path).await.unwrap();
        }
        let mut command = command().await;
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        match kill % 10 {
            // Before its first write, as a rule.
            0 => sleep(Duration::from_millis(kill as u64)).await,
            _ => {
                // The webhooks come when the gate is ready, and nobody runs it here.
                let on_its_way = third.iter().filter(|it| !it.contains("webhookconfig"));
                let path = on_its_way.cycle().nth(kill * 7).unwrap();
                once(admin, path, "it is there again", |_| true).await;
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        let mut missing = 0;
        for path in all {
            missing += usize::from(admin.get(path).await.unwrap().code == 404);
        }
        left.insert(missing);
    }
    left
}

/// Returns whether an object is deleted here: with the Namespace and definitions more would go, with an account the tokens of its pods, and
/// with the Service what the node made of it.
fn may_go(path: &str) -> bool {
    let is_namespace = path.ends_with("/namespaces/open-cluster-management-hub");
    let is_left = path.contains("/services/");
    !is_namespace
        && !is_left
        && !path.contains("customresourcedefinitions")
        && !path.contains("serviceaccounts")
}

/// What is in all objects, without what each hub has for itself.
async fn contents(admin: &Person) -> Vec<(String, Value)> {
    contents_of(admin, related(admin).await).await
}

pub(super) async fn contents_of(admin: &Person, paths: Vec<String>) -> Vec<(String, Value)> {
    let mut contents = Vec::new();
    // The certificate keeper writes the Secret.
    for path in paths.into_iter().filter(|it| !it.contains("/secrets/")) {
        let mut object = admin.get(&path).await.unwrap().ok().clone();
        for own in [
            "metadata/uid",
            "metadata/resourceVersion",
            "metadata/creationTimestamp",
            "metadata/managedFields",
            "metadata/generation",
        ] {
            let (parent, field) = own.split_once('/').unwrap();
            object[parent].as_object_mut().unwrap().remove(field);
        }
        for own in ["status", "data"] {
            object.as_object_mut().unwrap().remove(own);
        }
        for address in ["clusterIP", "clusterIPs"] {
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove(address);
            }
        }
        let text = object.to_string();
        let object = match text.contains("caBundle") {
            true => without_bundles(object),
            false => object,
        };
        contents.push((path, object));
    }
    contents
}

fn without_bundles(object: Value) -> Value {
    match object {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| name != "caBundle");
            Value::Object(
                fields
                    .map(|(name, it)| (name, without_bundles(it)))
                    .collect(),
            )
        }
        Value::Array(all) => all.into_iter().map(without_bundles).collect(),
        other => other,
    }
}
