//! The work on one CertificateSigningRequest.

use std::time::Duration;

use berth_api::certificate_request::target;
use berth_api::path::SUBJECT_ACCESS_REVIEWS;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, Reference, Refusal, Regarding, WriteOutcome, failed, now};
use serde_json::{Value, json};

use crate::kinds;
use crate::view::read_request;
use crate::world::Lifecycle;
use berth_lifecycle_core::automatic;
use berth_lifecycle_core::csrs::{CheckedRequest, Decision, reasons};

/// When to decide again about a refused renewal.
const AGAIN: Duration = Duration::from_secs(60);

/// When to retry a forbidden write: an admin may have granted the permission.
const FORBIDDEN_AGAIN: Duration = Duration::from_secs(600);

/// Works on a CSR: asks the hub, decides and writes until nothing is due.
pub(crate) async fn reconcile(on: &Handle<Lifecycle>, name: &str) -> Next {
    // The answer is for one uid: another user may have created a new CSR of the same name.
    let mut answer: Option<(Option<String>, bool)> = None;
    for _ in 0..ROUNDS {
        let is_kept = on.world().view().request(name).map(|it| it.is_some());
        let read = match is_kept {
            None => return Next::SETTLED,
            Some(true) => None,
            Some(false) => match read(on, name).await {
                Ok(Some(request)) => Some(request),
                Ok(None) => return Next::SETTLED,
                Err(wait) => return Next::Failed { wait },
            },
        };
        let (decision, uid, regarding) = {
            let world = on.world();
            let view = world.view();
            let Some(checked) = read.as_ref().or(view.request(name).flatten()) else {
                continue;
            };
            let request = checked.request();
            let cluster = view.cluster(&request.cluster);
            let obstacle = view.with_cluster(&request.cluster, None, automatic::obstacle);
            let obstacle = obstacle.flatten();
            let regarding = Regarding {
                api_version: "certificates.k8s.io/v1".to_owned(),
                kind: "CertificateSigningRequest".to_owned(),
                metadata: Reference {
                    name: name.to_owned(),
                    namespace: None,
                    uid: request.metadata.uid.clone(),
                    resource_version: request.metadata.resource_version.clone(),
                },
            };
            let uid = request.metadata.uid.clone();
            let may_renew = answer.as_ref().filter(|(of, _)| *of == uid);
            let may_renew = may_renew.map(|(_, allowed)| *allowed);
            let config = world.config();
            let decision = checked.decide(config, cluster, obstacle.as_ref(), may_renew);
            (decision, uid, regarding)
        };
        match decision {
            Decision::Ask(review) => {
                let body = json!({
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SubjectAccessReview",
                    "spec": review,
                });
                match on
                    .writer(0)
                    .post(SUBJECT_ACCESS_REVIEWS, &body)
                    .await
                    .and_then(|it| allowed(&it))
                {
                    Ok(allowed) => answer = Some((uid, allowed)),
                    Err(refusal) => {
                        tracing::warn!(
                            csr = name,
                            code = refusal.code,
                            error = refusal.message,
                            "cannot check if the sender of a CSR may renew; retrying"
                        );
                        return Next::Failed {
                            wait: refusal.retry_after,
                        };
                    }
                }
            }
            Decision::Approve(write) => {
                return match on.carry_out(vec![*write]).await {
                    WriteOutcome::Failed(failures) => failed(&failures),
                    WriteOutcome::Nothing | WriteOutcome::Written => {
                        on.world().metrics().request_decided("approved");
                        Next::SETTLED
                    }
                };
            }
            Decision::Leave { reason, ref note } => {
                let is_new = report(on, name, reason);
                if is_new {
                    tracing::info!(
                        csr = name,
                        reason,
                        note,
                        "a CSR is not approved automatically"
                    );
                    on.world().metrics().request_decided(reason);
                    if let Some(event) = decision.event() {
                        on.tell(0, &event, &regarding);
                    }
                }
                // The authorizer may lag behind, so ask again later.
                let again = (reason == reasons::RENEWAL_FORBIDDEN).then(|| now().instant + AGAIN);
                return Next::again(again);
            }
            Decision::Unlabel { write, kept } => {
                return match on.carry_out(vec![*write]).await {
                    WriteOutcome::Failed(failures)
                        if failures.iter().all(|(it, _)| it.code == 403) =>
                    {
                        if report(on, name, kept.reason) {
                            tracing::warn!(
                                csr = name,
                                note = kept.note,
                                "a CSR keeps a label of another cluster"
                            );
                            on.world().metrics().request_decided("label_kept");
                            on.tell(0, &kept, &regarding);
                        }
                        Next::again(Some(now().instant + FORBIDDEN_AGAIN))
                    }
                    WriteOutcome::Failed(failures) => failed(&failures),
                    WriteOutcome::Nothing | WriteOutcome::Written => {
                        on.world().metrics().request_decided("label_removed");
                        Next::SETTLED
                    }
                };
            }
            Decision::Wait | Decision::Ignore => return Next::SETTLED,
        }
    }
    Next::Failed { wait: None }
}

/// Reads a CSR that the view does not keep. `None`: nothing is to be decided about it.
///
/// # Errors
/// The CSR cannot be read. The value is the wait that the hub asks for.
async fn read(
    on: &Handle<Lifecycle>,
    name: &str,
) -> Result<Option<CheckedRequest>, Option<Duration>> {
    // The role of OCM grants list, and not get.
    let found = on.writer(0).find(&target(name)).await;
    let found = found.map_err(|refusal| {
        let error = refusal.message;
        tracing::warn!(
            csr = name,
            code = refusal.code,
            error,
            "a CSR cannot be read; retrying"
        );
        refusal.retry_after
    })?;
    let object = found.and_then(|object| kinds::csr(&object.item()).ok());
    Ok(object.and_then(|object| read_request(&object)))
}

/// Records the reason why a CSR is not approved. Returns true if it is new.
fn report(on: &Handle<Lifecycle>, name: &str, reason: &'static str) -> bool {
    on.world().view_mut().report(name, reason)
}

/// Reads the answer of a SubjectAccessReview.
///
/// # Errors
/// The response is another object, such as a proxy's page. That does not count as a denial.
fn allowed(review: &Value) -> Result<bool, Refusal> {
    let is_review = review["kind"] == "SubjectAccessReview";
    match review["status"]["allowed"].as_bool() {
        Some(allowed) if is_review => Ok(allowed),
        _ => Err(Refusal::unreadable(
            "the response is not a SubjectAccessReview with a status",
        )),
    }
}
