//! The AdmissionReview that is sent to a webhook, with kube-apiserver's fields in its order.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Operation, Write};
use crate::object::Object;
use crate::resources::Resource;
use crate::user::User;

/// The version of AdmissionReview that is spoken.
pub(super) const API_VERSION: &str = "admission.k8s.io/v1";

/// An AdmissionReview with its request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: Request<'a>,
}

/// An AdmissionRequest; the order of fields is kube-apiserver's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: &'a str,
    #[serde(flatten)]
    about: &'a About<'a>,
    object: Option<&'a Object>,
    old_object: Option<&'a Object>,
    dry_run: bool,
    options: &'a Value,
}

/// What a request is about.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct About<'a> {
    kind: KindName<'a>,
    resource: ResourceName<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: KindName<'a>,
    request_resource: ResourceName<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: Operation,
    user_info: &'a User,
    #[serde(skip)]
    dry_run: bool,
    #[serde(skip)]
    options: &'a Value,
}

#[derive(Clone, Debug, Serialize)]
struct KindName<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

#[derive(Clone, Debug, Serialize)]
struct ResourceName<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

impl<'a> About<'a> {
    /// A write, to a webhook that is called for `invoked`: the resource itself or an equivalent one. `name` and `namespace`
    /// are those that admission goes by.
    pub(super) fn new(
        write: &Write<'a>,
        invoked: &'a Resource,
        name: &'a str,
        namespace: &'a str,
    ) -> Self {
        Self {
            kind: KindName::of(invoked, write.subresource),
            resource: ResourceName::of(invoked),
            sub_resource: write.subresource,
            request_kind: KindName::of(write.resource, write.subresource),
            request_resource: ResourceName::of(write.resource),
            request_sub_resource: write.subresource,
            name,
            namespace,
            operation: write.operation,
            user_info: write.user,
            dry_run: write.dry_run,
            options: write.options,
        }
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The variable `request` of matchConditions.
    pub(super) fn variable(&self) -> Value {
        // Made of strings and lists of them: there is nothing in it that cannot be JSON.
        let mut request = serde_json::to_value(self).unwrap_or_default();
        request["dryRun"] = self.dry_run.into();
        request["options"] = self.options.clone();
        request
    }

    /// An AdmissionReview with this request, and the request's uid.
    pub(super) fn review(
        &self,
        object: Option<&Object>,
        old_object: Option<&Object>,
    ) -> (String, Vec<u8>) {
        let uid = Uuid::new_v4().to_string();
        let review = Review {
            kind: "AdmissionReview",
            api_version: API_VERSION,
            request: Request {
                uid: &uid,
                about: self,
                object,
                old_object,
                dry_run: self.dry_run,
                options: self.options,
            },
        };
        // As above.
        let json = serde_json::to_vec(&review).unwrap_or_default();
        (uid, json)
    }
}

impl<'a> KindName<'a> {
    /// The kind of what is sent: a subresource may have one of its own.
    fn of(resource: &'a Resource, subresource: &str) -> Self {
        let own = resource
            .subresource(subresource)
            .filter(|own| !own.kind.is_empty() && own.kind != resource.kind);
        match own {
            Some(own) => Self {
                group: &own.group,
                version: &own.version,
                kind: &own.kind,
            },
            None => Self {
                group: &resource.group,
                version: &resource.version,
                kind: &resource.kind,
            },
        }
    }
}

impl<'a> ResourceName<'a> {
    fn of(resource: &'a Resource) -> Self {
        Self {
            group: &resource.group,
            version: &resource.version,
            resource: &resource.name,
        }
    }
}
