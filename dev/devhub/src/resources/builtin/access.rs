//! The kinds of authentication and authorization. Their special behaviour is in [`rbac`](super::rbac),
//! [`certificates`](super::certificates), [`reviews`](super::reviews) and [`tokens`](super::tokens).

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde_json::Value;

use super::fields::path_segment;
use super::kind::{age, age_cell, columns, kind, name, names, part, question, text};
use super::reviews::Review;
use super::{certificates, rbac, tokens};
use crate::object::{Object, text_at};
use crate::resources::{Cell, Columns, Resource, Subresource, Verb, age as ages};

pub(super) fn service_accounts() -> Resource {
    let token = Subresource {
        name: "token".to_owned(),
        group: "authentication.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "TokenRequest".to_owned(),
        verbs: vec![Verb::Create],
    };
    let cells = |object: &Object, now| vec![object.name().into(), age_cell(object, now)];
    Resource {
        short_names: names(&["sa"]),
        subresources: vec![token],
        columns: columns(cells, [name(), age()]),
        behaviour: &tokens::ServiceAccounts,
        ..kind::<ServiceAccount>()
    }
}

pub(super) fn rbac() -> [Resource; 4] {
    let role = |kind| Resource {
        behaviour: &rbac::Roles,
        ..kind
    };
    let binding = |kind| Resource {
        columns: binding_columns(),
        behaviour: &rbac::Bindings,
        ..kind
    };
    let kinds = [
        binding(kind::<ClusterRoleBinding>()),
        role(kind::<ClusterRole>()),
        binding(kind::<RoleBinding>()),
        role(kind::<Role>()),
    ];
    kinds.map(|kind| Resource {
        name_errors: path_segment,
        creates_on_update: true,
        ..kind
    })
}

fn binding_columns() -> Columns {
    let cells = |object: &Object, now| {
        let role = |field| object.str_at(&["roleRef", field]);
        vec![
            object.name().into(),
            format!("{}/{}", role("kind"), role("name")).into(),
            age_cell(object, now),
        ]
    };
    let role = text("Role", "The role that is bound.");
    columns(cells, [name(), role, age()])
}

pub(super) fn certificate_signing_requests() -> Resource {
    Resource {
        short_names: names(&["csr"]),
        subresources: vec![
            part::<CertificateSigningRequest>("approval"),
            part::<CertificateSigningRequest>("status"),
        ],
        selectable_fields: names(&["spec.signerName"]),
        columns: columns(
            certificate_cells,
            [
                name(),
                age(),
                text("SignerName", "Who is to sign."),
                text("Requestor", "Who asks."),
                text("RequestedDuration", "How long it is to be valid."),
                text("Condition", "How far it has come."),
            ],
        ),
        name_errors: path_segment,
        behaviour: &certificates::Certificates,
        ..kind::<CertificateSigningRequest>()
    }
}

fn certificate_cells(object: &Object, now: Timestamp) -> Vec<Cell> {
    let or_none = |text: &str| match text {
        "" => "<none>".to_owned(),
        _ => text.to_owned(),
    };
    let seconds = object.at(&["spec", "expirationSeconds"]);
    let duration = seconds.and_then(Value::as_i64).map(ages::human);
    vec![
        object.name().into(),
        age_cell(object, now),
        or_none(object.str_at(&["spec", "signerName"])).into(),
        object.str_at(&["spec", "username"]).into(),
        or_none(&duration.unwrap_or_default()).into(),
        condition(object).into(),
    ]
}

fn condition(object: &Object) -> String {
    let conditions = object.items(&["status", "conditions"]);
    let is = |sort| {
        conditions
            .iter()
            .any(|condition| text_at(condition, "type") == sort)
    };
    let mut told = if is("Denied") {
        "Denied"
    } else if is("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if is("Failed") {
        told.push_str(",Failed");
    }
    if !object.str_at(&["status", "certificate"]).is_empty() {
        told.push_str(",Issued");
    }
    told
}

pub(super) fn authorization() -> [Resource; 4] {
    [
        answered(question::<LocalSubjectAccessReview>(), &Review::Local),
        answered(question::<SelfSubjectAccessReview>(), &Review::Oneself),
        answered(question::<SelfSubjectRulesReview>(), &Review::Rules),
        answered(question::<SubjectAccessReview>(), &Review::Access),
    ]
}

pub(super) fn authentication() -> [Resource; 2] {
    [
        answered(question::<SelfSubjectReview>(), &Review::WhoAmI),
        answered(question::<TokenReview>(), &Review::Token),
    ]
}

fn answered(question: Resource, behaviour: &'static Review) -> Resource {
    Resource {
        behaviour,
        ..question
    }
}
