//! What tests of this room share: a hub without a server, and its controllers.

use std::sync::Arc;
use std::time::Duration;

use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::hand::{Hand, Place};
use crate::World;
use crate::admission::Admission;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::object::Object;
use crate::options::Services;
use crate::resources::schema::Schema;
use crate::resources::{Columns, Plain, Registry, Resource, Verb};
use crate::status::ApiError;
use crate::storage::{StorageId, Store};
use crate::writes::{DeleteOptions, Propagation};

pub(super) fn object(value: Value) -> Object {
    Object::try_from(value).expect("an object")
}

pub(super) fn world() -> World {
    let hour = Duration::from_secs(3600);
    let clients = Authority::new("clients", hour, Timestamp::now()).expect("made");
    World {
        store: Arc::new(Store::new(1000)),
        registry: Registry::new(),
        authenticator: Authenticator::new(Arc::new(clients), "the hub's CA", &[])
            .expect("made")
            .into(),
        authorizer: Authorizer::default(),
        admission: Admission::new(Services::new()),
    }
}

/// A namespaced custom resource in the version `v1`.
pub(super) fn custom(group: &str, name: &str, kind: &str) -> Resource {
    Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        name: name.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Verb::ALL.to_vec(),
        subresources: Vec::new(),
        schema: Arc::new(Schema {
            preserve_unknown: true,
            ..Schema::default()
        }),
        columns: Columns::Paths(Vec::new()),
        storage: StorageId(format!("{name}.{group}").into()),
        storage_version: format!("{group}/v1"),
        custom: true,
        selectable_fields: Vec::new(),
        reading: None,
        name_errors: berth_api::names::dns1123_subdomain,
        needs_version: false,
        creates_on_update: false,
        takes_status_on_create: false,
        has_generation: false,
        behaviour: &Plain,
    }
}

/// A hub whose controllers are at work.
pub(super) struct AtWork {
    pub(super) world: Arc<World>,
    hand: Hand,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl AtWork {
    /// With the namespace `ns`.
    pub(super) async fn start() -> Self {
        let world = Arc::new(world());
        let cancel = CancellationToken::new();
        let task = tokio::spawn(super::run(Arc::clone(&world), Vec::new(), cancel.clone()));
        let hand = Hand::new(Arc::clone(&world), "tester");
        let at_work = Self {
            world,
            hand,
            cancel,
            task,
        };
        at_work
            .create("namespaces", "", json!({ "metadata": { "name": "ns" } }))
            .await;
        at_work
    }

    /// Ends the controllers, and waits until they have ended.
    pub(super) async fn end(self) {
        self.cancel.cancel();
        self.task.await.expect("no panic");
    }

    fn resource(&self, name: &str) -> Arc<Resource> {
        let all = self.world.registry.all();
        let found = all.iter().find(|resource| resource.name == name);
        Arc::clone(found.expect("it is served"))
    }

    /// Creates an object, and says what uid it got.
    pub(super) async fn create(&self, resource: &str, namespace: &str, mut value: Value) -> String {
        let resource = self.resource(resource);
        value["apiVersion"] = resource.api_version().into();
        value["kind"] = resource.kind.as_str().into();
        let object = object(value);
        let key = resource.key(namespace, object.name());
        let place = Place::of(&resource, namespace);
        self.hand.create(place, object).await.expect("created");
        let created = self.world.store.get(&key).expect("created");
        created.object.uid().to_owned()
    }

    /// Creates a ConfigMap in `ns` with owners: (kind, name, uid).
    pub(super) async fn owned(&self, name: &str, owners: &[(&str, &str, &str)]) -> String {
        let owners: Vec<_> = owners
            .iter()
            .map(|(kind, name, uid)| {
                json!({ "apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true })
            })
            .collect();
        let metadata = json!({ "name": name, "ownerReferences": owners });
        self.create("configmaps", "ns", json!({ "metadata": metadata }))
            .await
    }

    pub(super) async fn delete(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        propagation: Propagation,
    ) -> Result<(), ApiError> {
        let options = DeleteOptions {
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        let resource = self.resource(resource);
        self.hand
            .delete(Place::of(&resource, namespace), name, &options)
            .await
    }

    pub(super) async fn merge(&self, resource: &str, namespace: &str, name: &str, patch: Value) {
        let resource = self.resource(resource);
        let place = Place::of(&resource, namespace);
        self.hand.merge(place, name, patch).await.expect("merged");
    }

    pub(super) fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Object> {
        let key = self.resource(resource).key(namespace, name);
        self.world
            .store
            .get(&key)
            .map(|stored| stored.object.clone())
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while !is_so() {
            assert!(tokio::time::Instant::now() < deadline, "{what}: never");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until an object is gone.
    pub(super) async fn until_gone(&self, resource: &str, namespace: &str, name: &str) {
        let gone = || self.get(resource, namespace, name).is_none();
        self.until(&format!("{resource} {name} gone"), gone).await;
    }

    /// Waits until the controllers have done whatever they could.
    pub(super) async fn settled(&self) {
        let mut revision = 0;
        while revision != self.world.store.revision() {
            revision = self.world.store.revision();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
