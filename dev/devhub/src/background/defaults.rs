//! Creates what every namespace has: the ServiceAccount `default`, and the ConfigMap `kube-root-ca.crt` with the hub's CA.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::feed::{Feed, News};
use super::hand::{Hand, Place};
use super::queue::{Job, work};
use crate::World;
use crate::object::Object;
use crate::status::ApiError;
use crate::storage::{Key, StorageId};

const NAMESPACES: &str = "namespaces";
const ACCOUNTS: &str = "serviceaccounts";
const CONFIG_MAPS: &str = "configmaps";
const ACCOUNT: &str = "default";
const CONFIG_MAP: &str = "kube-root-ca.crt";

const DESCRIPTION: &str = "kubernetes.io/description";
const ABOUT_THE_CA: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// Furnishes namespaces until cancelled.
pub(super) async fn run(world: Arc<World>, cancel: CancellationToken) {
    let accounts = Hand::new(Arc::clone(&world), "service-account-controller");
    let publisher = Hand::new(Arc::clone(&world), "root-ca-cert-publisher");
    let feed = Feed::new(&world, |resource| {
        [NAMESPACES, ACCOUNTS, CONFIG_MAPS].contains(&&*resource.storage.0)
    });
    let job = |name: &String| -> Option<Job> {
        let lacking = Lacking::find(&world, name);
        if lacking == Lacking::default() {
            return None;
        }
        let (accounts, publisher, name) = (accounts.clone(), publisher.clone(), name.clone());
        Some(Box::pin(async move {
            if lacking.account {
                let account = json!({ "metadata": { "name": ACCOUNT } });
                create(&accounts, ACCOUNTS, &name, account).await?;
            }
            match lacking.config_map {
                Some(Missing::All) => {
                    create(&publisher, CONFIG_MAPS, &name, config_map(&publisher)).await
                }
                Some(Missing::Content) => mend(&publisher, &name).await,
                None => Ok(()),
            }
        }))
    };
    work(feed, cancel, concerned, job).await;
}

/// The namespaces in which something may be lacking now.
fn concerned(news: &News) -> BTreeSet<String> {
    let names =
        news.objects()
            .into_iter()
            .filter_map(|(storage, object)| match (storage, object.name()) {
                (NAMESPACES, name) => Some(name.to_owned()),
                (ACCOUNTS, ACCOUNT) | (CONFIG_MAPS, CONFIG_MAP) => {
                    Some(object.namespace().to_owned())
                }
                _ => None,
            });
    names.collect()
}

/// The default objects that a namespace lacks.
#[derive(Debug, Default, PartialEq)]
struct Lacking {
    account: bool,
    config_map: Option<Missing>,
}

#[derive(Debug, PartialEq)]
enum Missing {
    All,
    Content,
}

impl Lacking {
    fn find(world: &World, namespace: &str) -> Self {
        let get = |storage: &str, namespace: &str, name: &str| {
            world.store.get(&Key::new(storage, namespace, name))
        };
        let is_there = get(NAMESPACES, "", namespace).is_some_and(|it| !it.object.is_deleting());
        if !is_there {
            return Self::default();
        }
        let config_map = match get(CONFIG_MAPS, namespace, CONFIG_MAP) {
            None => Some(Missing::All),
            Some(stored) => {
                let data = json!({ "ca.crt": world.authenticator.serving_ca_pem() });
                let about = stored
                    .object
                    .str_at(&["metadata", "annotations", DESCRIPTION]);
                let is_right = stored.object.at(&["data"]) == Some(&data) && !about.is_empty();
                (!is_right && !stored.object.is_deleting()).then_some(Missing::Content)
            }
        };
        Self {
            account: get(ACCOUNTS, namespace, ACCOUNT).is_none(),
            config_map,
        }
    }
}

fn config_map(hand: &Hand) -> Value {
    json!({
        "metadata": { "name": CONFIG_MAP, "annotations": { DESCRIPTION: ABOUT_THE_CA } },
        "data": { "ca.crt": hand.world.authenticator.serving_ca_pem() },
    })
}

/// Creates an object of a built-in kind. It is not an error if the object exists, or if the namespace is being deleted.
async fn create(hand: &Hand, storage: &str, namespace: &str, value: Value) -> Result<(), ApiError> {
    let Some(resource) = hand.resource(&StorageId(storage.into())) else {
        return Ok(());
    };
    // It is a JSON object with metadata.
    let mut object = Object::try_from(value).unwrap_or_default();
    object.set_type(&resource.api_version(), &resource.kind);
    match hand.create(Place::of(&resource, namespace), object).await {
        Err(error) if is_too_late(&error) => Ok(()),
        other => other,
    }
}

fn is_too_late(error: &ApiError) -> bool {
    let mut causes = error.details.iter().flat_map(|details| &details.causes);
    matches!(&*error.reason, "AlreadyExists" | "NotFound")
        || causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// Restores what a client removed from the ConfigMap.
async fn mend(hand: &Hand, namespace: &str) -> Result<(), ApiError> {
    let storage = StorageId(CONFIG_MAPS.into());
    let Some(resource) = hand.resource(&storage) else {
        return Ok(());
    };
    let Some(stored) = hand.world.store.get(&resource.key(namespace, CONFIG_MAP)) else {
        return Ok(());
    };
    let mut object = stored.object.clone();
    let right = config_map(hand);
    object.set(&["data"], right["data"].clone());
    object.set(&["metadata", "annotations", DESCRIPTION], ABOUT_THE_CA);
    hand.update(Place::of(&resource, namespace), CONFIG_MAP, object)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::testing::AtWork;
    use crate::writes::Propagation;

    #[tokio::test]
    async fn every_namespace_has_an_account_and_the_hubs_ca_and_gets_them_back() {
        let hub = AtWork::start().await;
        let account = || hub.get(ACCOUNTS, "ns", ACCOUNT);
        let ca = || {
            let config_map = hub.get(CONFIG_MAPS, "ns", CONFIG_MAP)?;
            config_map.at(&["data"]).cloned()
        };
        let right = Some(json!({ "ca.crt": "the hub's CA" }));
        hub.until("furnished", || account().is_some() && ca() == right)
            .await;

        let uid = account().map(|it| it.uid().to_owned());
        hub.delete(ACCOUNTS, "ns", ACCOUNT, Propagation::Background)
            .await
            .expect("deleted");
        hub.delete(CONFIG_MAPS, "ns", CONFIG_MAP, Propagation::Background)
            .await
            .expect("deleted");
        let is_another = || account().is_some_and(|it| Some(it.uid()) != uid.as_deref());
        hub.until("furnished again", || is_another() && ca() == right)
            .await;

        let spoilt = json!({ "data": { "ca.crt": "x", "more": "y" } });
        hub.merge(CONFIG_MAPS, "ns", CONFIG_MAP, spoilt).await;
        hub.until("mended", || ca() == right).await;
        // And then there is nothing more to do.
        hub.settled().await;
        let revision = hub.world.store.revision();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert_eq!(hub.world.store.revision(), revision);
        hub.end().await;
    }
}
