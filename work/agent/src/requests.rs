//! What a pass asks the managed cluster, and what it shows to the view.

use std::sync::Arc;

use berth_api::path::SUBJECT_ACCESS_REVIEWS;
use berth_hub::{Call, CallError};
use berth_reconcile::{Handle, Moment, RawObject};
use berth_work_agent_core::Entry;
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;
use serde_json::{Value, json};

use super::facts::Kind;
use super::world::{Agent, change};
use super::{MANAGED, table};

/// Asks the managed cluster's API server.
///
/// # Errors
/// It does not respond.
pub(super) async fn is_allowed(
    on: &Handle<Agent>,
    review: &SubjectAccessReviewSpec,
) -> Result<bool, CallError> {
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": review,
    });
    let call = Call::post(SUBJECT_ACCESS_REVIEWS, body.to_string());
    let review: Value = on.writer(MANAGED).send(call).await?.json()?;
    Ok(review["status"]["allowed"] == true)
}

/// Shows the object of a response to the view.
pub(super) fn show(on: &Handle<Agent>, entry: &Entry, object: &RawObject, may_spend: bool) {
    // `before` is taken before `observed` changes it.
    let (row, before) = {
        let view = &on.world().view;
        (view.row(&entry.object), view.known(entry).clone())
    };
    if let Some(row) = row {
        on.observed(Kind::Objects(row), object);
    }
    // The watch may have reported this version before it was known what the API server makes of the manifest.
    let (prescriptions, evaluator) = {
        let view = &on.world().view;
        if view.has_judged(entry, &before) {
            return;
        }
        (view.prescriptions.clone(), Arc::clone(&view.evaluator))
    };
    let item = object.item();
    let Ok(Some(arrived)) = prescriptions.read(
        entry.object.kind,
        &table::object(&item),
        &evaluator,
        may_spend.then_some(entry),
    ) else {
        return;
    };
    change(on, |view, wakes| view.learns(entry, arrived, wakes));
}

/// Returns true if the watch has seen the object.
pub(super) fn is_seen(on: &Handle<Agent>, entry: &Entry) -> bool {
    let row = on.world().view.row(&entry.object);
    let (namespace, name) = (entry.object.namespace(), entry.object.name());
    row.is_none_or(|row| on.is_seen(Kind::Objects(row), namespace, name))
}

/// What is known of the object's kind now, if it is watched. To be taken before a call that may find the object absent.
pub(super) fn moment(on: &Handle<Agent>, entry: &Entry) -> Option<Moment<Kind>> {
    let row = on.world().view.row(&entry.object)?;
    Some(on.moment(Kind::Objects(row)))
}

/// Notes that the object does not exist, as a call found that was sent after the moment.
pub(super) fn gone(on: &Handle<Agent>, since: Option<Moment<Kind>>, entry: &Entry) {
    if let Some(since) = since {
        on.gone(since, entry.object.namespace(), entry.object.name());
    }
}
