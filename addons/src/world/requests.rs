//! The work on a CertificateSigningRequest of an add-on.

use berth_addons_core::facts::Request;
use berth_addons_core::registration::remedies;
use berth_addons_core::registration::requests::{Step, step};
use berth_api::certificate_request::{CertificateRequest, target};
use berth_api::plan::{Event, Write};
use berth_api::text::shorten;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Reference, Regarding, WriteOutcome, failed};
use serde_json::json;

use super::AddOns;
use super::signing;
use crate::kinds::Kind;

/// The path of the review that says who asks.
const SELF_SUBJECT_REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Upper bound on the bytes of a request's name in a text.
const LONGEST_NAME: usize = 150;

/// The outcome of a request that the hub may not approve or sign.
const FORBIDDEN: &str = "Forbidden";

/// Works on a request: reads it, approves it or reports why not.
pub(super) async fn reconcile(on: &Handle<AddOns>, name: &str) -> Next {
    if !on.world().judges(name) {
        return Next::SETTLED;
    }
    // Not every role that grants list grants get.
    let object = match on.writer(0).find(&target(name)).await {
        Ok(Some(object)) => object,
        // The watch will report that it is gone.
        Ok(None) => return Next::SETTLED,
        Err(refusal) => {
            let (code, error) = (refusal.code, refusal.message);
            tracing::warn!(csr = name, code, error, "a CSR cannot be read; retrying");
            let wait = refusal.retry_after;
            return Next::Failed { wait };
        }
    };
    let Ok(Some((kept, stored))) = Request::with_content(object.item().json) else {
        return Next::SETTLED;
    };
    // The watch may be late, and reports are about this object.
    on.observed(Kind::Request, &object);
    let step = {
        let world = on.world();
        match world.view.judged(&kept) {
            Some(facts) => step(&stored, kept.is_approved, &facts),
            None => Step::Nothing,
        }
    };
    match step {
        Step::Nothing => Next::SETTLED,
        Step::Approve(write) => write_or_say(on, &stored, *write, "approve").await,
        Step::Sign(ca) => match signing::sign(on, &stored, &ca, account(on)).await {
            Ok(write) => write_or_say(on, &stored, write, "sign").await,
            Err((reason, why)) => {
                let name = shorten(&stored.name, LONGEST_NAME);
                let note = format!(
                    "CertificateSigningRequest {name:?} gets no certificate from the hub: {why}"
                );
                report(on, &stored, reason, note);
                Next::Failed { wait: None }
            }
        },
        Step::Leave { reason, note } => {
            report(on, &stored, reason, note);
            Next::SETTLED
        }
    }
}

/// Writes an approval or a certificate. If the hub may not, says what it needs.
async fn write_or_say(
    on: &Handle<AddOns>,
    stored: &CertificateRequest,
    write: Write,
    verb: &'static str,
) -> Next {
    match on.carry_out(vec![write]).await {
        WriteOutcome::Failed(failures) => {
            if let Some((failure, _)) = failures.iter().find(|(it, _)| it.code == 403) {
                let account = account(on).await;
                let (name, signer) = (&*stored.name, &*stored.signer);
                let note = remedies::of_signer(name, signer, verb, &failure.message, &account);
                report(on, stored, FORBIDDEN, note);
            }
            failed(&failures)
        }
        WriteOutcome::Nothing | WriteOutcome::Written => {
            let outcome = if verb == "sign" { "signed" } else { "approved" };
            on.world().metrics.request_decided(outcome);
            Next::SETTLED
        }
    }
}

/// The user that this controller is to the hub; empty if the hub does not say.
async fn account(on: &Handle<AddOns>) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = on.writer(0).post(SELF_SUBJECT_REVIEWS, &review).await;
    let user = answer.ok().and_then(|it| {
        let user = &it["status"]["userInfo"]["username"];
        user.as_str().map(str::to_owned)
    });
    user.unwrap_or_default()
}

/// Reports once why a request gets no certificate: in the log, as a metric, and as an Event about the request.
fn report(on: &Handle<AddOns>, stored: &CertificateRequest, why: &'static str, note: String) {
    let is_new = {
        let mut world = on.world();
        let is_new = world.view.requests.report(&stored.name, why);
        if is_new {
            world.metrics.request_decided(why);
        }
        is_new
    };
    if !is_new {
        return;
    }
    tracing::info!(
        csr = stored.name,
        reason = why,
        note,
        "a CSR of an add-on gets no certificate"
    );
    let regarding = Regarding {
        api_version: "certificates.k8s.io/v1".to_owned(),
        kind: "CertificateSigningRequest".to_owned(),
        metadata: Reference {
            name: stored.name.clone(),
            namespace: None,
            uid: stored.metadata.uid.clone(),
            resource_version: stored.metadata.resource_version.clone(),
        },
    };
    let event = Event {
        warning: true,
        reason: "AddOnCSRNotApproved",
        note,
        namespace: None,
    };
    on.tell(0, &event, &regarding);
}
