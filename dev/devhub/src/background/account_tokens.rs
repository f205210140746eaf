//! Secrets of type `kubernetes.io/service-account-token`: they get the account's token, what the hub is verified by, and the
//! namespace; and they go when their account goes, or is another one by now.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::object::Object;
use crate::storage::{EventKind, Key, Page, StorageId, Stored};

const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";

/// Looks after them until cancelled.
pub(super) async fn run(world: Arc<World>, cancel: CancellationToken) {
    tokio::select! {
        () = cancel.cancelled() => {}
        () = follow(&world) => {}
    }
}

async fn follow(world: &World) {
    let (secrets, accounts) = (storage("secrets"), storage("serviceaccounts"));
    loop {
        // Before the list, so that nothing falls between.
        let revision = world.store.revision();
        let (Ok(mut of_secrets), Ok(mut of_accounts)) = (
            world.store.watch(&secrets, revision),
            world.store.watch(&accounts, revision),
        ) else {
            continue;
        };
        for secret in all(world, None) {
            settle(world, &secret);
        }
        // Until one of them falls behind the history.
        loop {
            tokio::select! {
                events = of_secrets.next() => {
                    let Ok(events) = events else { break };
                    for event in events.iter().filter(|event| event.kind != EventKind::Deleted) {
                        settle(world, &event.object);
                    }
                }
                events = of_accounts.next() => {
                    let Ok(events) = events else { break };
                    for event in events.iter().filter(|event| event.kind != EventKind::Modified) {
                        for secret in all(world, Some(event.object.object.namespace())) {
                            settle(world, &secret);
                        }
                    }
                }
            }
        }
    }
}

fn storage(resource: &str) -> StorageId {
    StorageId(resource.into())
}

fn key(resource: &str, namespace: &str, name: &str) -> Key {
    Key {
        storage: storage(resource),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn annotation<'a>(secret: &'a Object, name: &str) -> &'a str {
    secret.str_at(&["metadata", "annotations", name])
}

fn is_ours(secret: &Object) -> bool {
    secret.str_at(&["type"]) == TYPE && !annotation(secret, NAME).is_empty()
}

fn all(world: &World, namespace: Option<&str>) -> Vec<Arc<Stored>> {
    let listed = world
        .store
        .list(&storage("secrets"), namespace, &Page::default(), &is_ours);
    // Only a page as of an earlier revision can be too old.
    listed.map(|listed| listed.items).unwrap_or_default()
}

/// Does for one Secret what is to be done. Who has changed it meanwhile brings it here again.
fn settle(world: &World, secret: &Stored) {
    let object = &secret.object;
    if !is_ours(object) || object.is_deleting() {
        return;
    }
    let account = key(
        "serviceaccounts",
        object.namespace(),
        annotation(object, NAME),
    );
    let place = key("secrets", object.namespace(), object.name());
    let account = world.store.get(&account);
    let uid = annotation(object, UID);
    let account = account.filter(|account| uid.is_empty() || uid == account.object.uid());
    let Some(account) = account else {
        // One with finalizers would stay; nobody makes such.
        if object.finalizers().is_empty() {
            let _ = world.store.delete(&place, secret.revision, object.clone());
        }
        return;
    };
    let token = world
        .authenticator
        .issue_for_secret(&account.object, object.name());
    let Ok(token) = token else {
        tracing::error!(secret = object.name(), "no token could be made");
        return;
    };
    let filled = filled(
        object,
        account.object.uid(),
        &token,
        world.authenticator.serving_ca_pem(),
    );
    if let Some(filled) = filled {
        let _ = world.store.update(&place, secret.revision, filled);
    }
}

/// The Secret with what it lacks; none if it lacks nothing. A token that is there stays.
fn filled(secret: &Object, uid: &str, token: &str, ca_pem: &str) -> Option<Object> {
    let mut filled = secret.clone();
    filled.set(&["metadata", "annotations", UID], uid);
    for (name, value, replace) in [
        ("ca.crt", ca_pem, true),
        ("namespace", secret.namespace(), true),
        ("token", token, false),
    ] {
        let there = secret.str_at(&["data", name]);
        let value = BASE64_STANDARD.encode(value);
        if there.is_empty() || (replace && there != value) {
            filled.set(&["data", name], Value::from(value));
        }
    }
    (filled != *secret).then_some(filled)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_filled_once() {
        let secret = Object::try_from(json!({
            "metadata": { "namespace": "ci", "name": "s", "annotations": { NAME: "bot" } },
            "type": TYPE,
            "data": { "mine": "eA==" },
        }))
        .unwrap();
        let full = filled(&secret, "u1", "t1", "CA").unwrap();
        assert_eq!(annotation(&full, UID), "u1");
        let data = full.at(&["data"]).unwrap();
        assert_eq!(
            *data,
            json!({ "mine": "eA==", "ca.crt": "Q0E=", "namespace": "Y2k=", "token": "dDE=" })
        );
        assert_eq!(filled(&full, "u1", "t2", "CA"), None);
        let renewed = filled(&full, "u1", "t2", "CA2").unwrap();
        assert_eq!(
            renewed.str_at(&["data", "token"]),
            "dDE=",
            "the token stays"
        );
    }
}
