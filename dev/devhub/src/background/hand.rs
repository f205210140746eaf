//! The client of a controller: it writes as any other client, under the controller's name.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::World;
use crate::object::Object;
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::StorageId;
use crate::user::User;
use crate::writes::{self, DeleteOptions, FieldValidation, Patch, WriteOptions, Writer};

/// As kube-apiserver gives to requests that do not say.
const TIMEOUT: Duration = Duration::from_secs(34);

/// A controller.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    pub(super) world: Arc<World>,
    user: User,
}

/// The place of an object, and what may be done there.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) resource: &'a Arc<Resource>,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
}

impl Hand {
    /// The controller of this name in kube-controller-manager.
    pub(super) fn new(world: Arc<World>, name: &str) -> Self {
        let groups = [
            "system:serviceaccounts",
            "system:serviceaccounts:kube-system",
            "system:authenticated",
        ];
        let user = User::new(format!("system:serviceaccount:kube-system:{name}"), &groups);
        Self { world, user }
    }

    /// A resource that shows what is kept there; in the version it is kept in, if that is served.
    pub(super) fn resource(&self, storage: &StorageId) -> Option<Arc<Resource>> {
        let all = self.world.registry.all();
        let shown = all
            .iter()
            .filter(|resource| resource.storage == *storage && resource.has_objects());
        let best = shown.max_by_key(|resource| resource.is_storage_version());
        best.cloned()
    }

    /// Creates an object.
    pub(super) async fn create(&self, place: Place<'_>, object: Object) -> Result<(), ApiError> {
        let writer = self.writer(place);
        writes::create(&writer, "", object, &mut Vec::new())
            .await
            .map(drop)
    }

    /// Deletes an object. One that is gone already is fine.
    pub(super) async fn delete(
        &self,
        place: Place<'_>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        let deleted = writes::delete(&self.writer(place), name, options, &mut Vec::new()).await;
        forgive_absence(deleted.map(drop))
    }

    /// Deletes all objects of a kind in a namespace (or everywhere) that are not being deleted yet.
    pub(super) async fn delete_all(&self, place: Place<'_>) -> Result<(), ApiError> {
        let options = DeleteOptions {
            propagation: Some(writes::Propagation::Background),
            ..DeleteOptions::default()
        };
        let is_there = |object: &Object| !object.is_deleting();
        let deleted =
            writes::delete_collection(&self.writer(place), &options, &is_there, &mut Vec::new())
                .await;
        deleted.map(drop)
    }

    /// Merges a patch into an object. One that is gone already is fine.
    pub(super) async fn merge(
        &self,
        place: Place<'_>,
        name: &str,
        patch: Value,
    ) -> Result<(), ApiError> {
        let patched = writes::patch(
            &self.writer(place),
            name,
            Patch::Merge(patch),
            &[],
            &mut Vec::new(),
        )
        .await;
        forgive_absence(patched.map(drop))
    }

    /// Replaces an object. One that is gone already is fine.
    pub(super) async fn update(
        &self,
        place: Place<'_>,
        name: &str,
        object: Object,
    ) -> Result<(), ApiError> {
        let updated = writes::update(&self.writer(place), name, object, &mut Vec::new()).await;
        forgive_absence(updated.map(drop))
    }

    fn writer<'a>(&'a self, place: Place<'a>) -> Writer<'a> {
        Writer {
            world: &self.world,
            user: &self.user,
            resource: place.resource,
            subresource: place.subresource,
            namespace: place.namespace,
            options: WriteOptions {
                field_manager: "kube-controller-manager".to_owned(),
                field_validation: FieldValidation::Ignore,
                timeout: TIMEOUT,
                ..WriteOptions::default()
            },
            now: Timestamp::now(),
        }
    }
}

impl<'a> Place<'a> {
    /// Objects in a namespace; `None` for cluster-scoped objects, or for all.
    pub(super) fn of(resource: &'a Arc<Resource>, namespace: &'a str) -> Self {
        Self {
            resource,
            subresource: "",
            namespace,
        }
    }
}

fn forgive_absence(result: Result<(), ApiError>) -> Result<(), ApiError> {
    match result {
        Err(error) if error.reason == "NotFound" => Ok(()),
        other => other,
    }
}
