//! A write without its object: the writer and the options.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::World;
use crate::admission::{self, Surroundings};
use crate::object::Object;
use crate::resources::{Resource, WriteTo};
use crate::status::ApiError;
use crate::storage::Key;
use crate::user::User;
use crate::writes::apply::{self, Manager};
use crate::writes::body;

/// Who writes what kind, and how.
pub(crate) struct Writer<'a> {
    /// The hub.
    pub(crate) world: &'a World,
    /// The user.
    pub(crate) user: &'a User,
    /// Into which resource.
    pub(crate) resource: &'a Arc<Resource>,
    /// Into which subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Into which namespace; empty for cluster-scoped resources.
    pub(crate) namespace: &'a str,
    /// Parameters of the request.
    pub(crate) options: WriteOptions,
    /// When.
    pub(crate) now: Timestamp,
}

/// Parameters of creations, updates and patches.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    /// Nothing is committed.
    pub(crate) dry_run: bool,
    /// The field manager. Without one in the request, it is the first part of the user agent, as in kube-apiserver.
    pub(crate) field_manager: String,
    /// What to do about unknown fields.
    pub(crate) field_validation: FieldValidation,
    /// The `fieldManager` that the request named, for webhooks.
    pub(crate) field_manager_parameter: Option<String>,
    /// The `fieldValidation` that the request named, for webhooks.
    pub(crate) field_validation_parameter: Option<FieldValidation>,
    /// Server-side apply takes fields from others.
    pub(crate) force: bool,
    /// The time that the write may take.
    pub(crate) timeout: Duration,
}

/// `fieldValidation`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped, with a warning for each.
    #[default]
    Warn,
    /// They are an error.
    Strict,
}

/// The result of a write.
#[derive(Debug)]
pub(crate) struct WriteOutcome {
    /// The object, as the resource's version shows it. After a dry run, as it would be.
    pub(crate) object: Object,
    /// True if it was created.
    pub(crate) created: bool,
}

/// The fields that a write to this subresource does not change, as kube-apiserver resets them for field ownership.
fn reset(resource: &Resource, subresource: &str) -> &'static [&'static [&'static str]] {
    let is_csr = resource.kind == "CertificateSigningRequest" && !resource.custom;
    match subresource {
        "" if is_csr => &[&["spec"], &["status"]],
        "status" if is_csr => &[&["spec"], &["status", "conditions"]],
        "approval" if is_csr => &[&["spec"], &["status", "certificate"]],
        "" if resource.has_status() => &[&["status"]],
        "status" if resource.custom => &[&["metadata"], &["spec"]],
        "status" => &[&["spec"]],
        "finalize" => &[&["status"]],
        _ => &[],
    }
}

impl<'a> Writer<'a> {
    /// The place of an object.
    pub(super) fn key(&self, name: &str) -> Key {
        self.resource.key(self.namespace, name)
    }

    /// This write, for the resource's behaviour.
    pub(super) fn to<'b>(&'b self, key: &'b Key, old: Option<&'b Object>) -> WriteTo<'b> {
        WriteTo {
            world: self.world,
            user: Some(self.user),
            resource: self.resource,
            subresource: self.subresource,
            key,
            old,
            now: self.now,
        }
    }

    /// This write, for field ownership. `api_version` borrows what the resource makes anew.
    pub(super) fn manager<'b>(&'b self, api_version: &'b str) -> Manager<'b> {
        Manager {
            name: &self.options.field_manager,
            api_version,
            kind: &self.resource.kind,
            custom: self.resource.custom,
            subresource: self.subresource,
            ignored: reset(self.resource, self.subresource),
            now: self.now,
        }
    }

    /// This write, for admission.
    pub(super) fn admitted<'b>(
        &'b self,
        operation: admission::Operation,
        name: &'b str,
        old: Option<&'b Object>,
        options: &'b Value,
    ) -> admission::Write<'b> {
        admission::Write {
            operation,
            user: self.user,
            resource: self.resource,
            subresource: self.subresource,
            namespace: self.namespace,
            name,
            old,
            options,
            dry_run: self.options.dry_run,
            timeout: self.options.timeout,
        }
    }

    /// Asks the mutating webhooks about the object; without one, about a deletion.
    pub(super) async fn mutate(
        &self,
        write: &admission::Write<'_>,
        object: Option<&mut Object>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let World {
            store, registry, ..
        } = self.world;
        let served = &registry.all();
        let around = Surroundings { store, served };
        let settle = |object: &mut Object| drop(body::settle(self.resource, object));
        let admission = &self.world.admission;
        admission
            .mutate(around, write, object, &settle, warnings)
            .await
    }

    /// Asks the validating webhooks about the object; without one, about a deletion.
    pub(super) async fn validate(
        &self,
        write: &admission::Write<'_>,
        object: Option<&Object>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let World {
            store, registry, ..
        } = self.world;
        let served = &registry.all();
        let around = Surroundings { store, served };
        let admission = &self.world.admission;
        admission.validate(around, write, object, warnings).await
    }

    /// Records the fields of `new` that this write changes as the writer's.
    pub(super) fn track(&self, old: Option<&Object>, new: &mut Object) {
        let api_version = self.resource.api_version();
        apply::track(old, new, &self.resource.schema, &self.manager(&api_version));
    }

    /// `CreateOptions`, `UpdateOptions` or `PatchOptions`, as webhooks get them.
    pub(super) fn options_for_webhooks(&self, kind: &str) -> Value {
        let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.options.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        if self.options.force {
            options["force"] = true.into();
        }
        if let Some(name) = &self.options.field_manager_parameter {
            options["fieldManager"] = name.as_str().into();
        }
        if let Some(validation) = self.options.field_validation_parameter {
            options["fieldValidation"] = validation.as_str().into();
        }
        options
    }

    /// 404 for an object of this resource.
    pub(super) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.name, name)
    }

    /// 409: another write came first.
    pub(super) fn modified(&self, name: &str) -> ApiError {
        ApiError::modified(&self.resource.group, &self.resource.name, name)
    }

    /// An object of this resource's version as it is stored.
    pub(super) fn stored(&self, object: &Object) -> Object {
        self.resource.store(object)
    }
}

impl FieldValidation {
    /// As in the parameter.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

/// Where namespaces are.
pub(super) fn namespace_key(name: &str) -> Key {
    Key::new("namespaces", "", name)
}
