//! The work on one CertificateSigningRequest.

use std::time::Duration;

use serde_json::json;

use super::{Done, Outcome, ROUNDS, Work, failed};
use crate::automatic;
use crate::csrs::{self, Decision, reasons};
use berth_reconcile::queue::now;

/// When a renewal that was refused is looked at again.
const AGAIN: Duration = Duration::from_secs(60);

/// When to try again what the hub does not let us write: an admin may have granted it.
const FORBIDDEN_AGAIN: Duration = Duration::from_secs(600);

impl Work {
    pub(super) async fn csr(&self, name: &str) -> Done {
        const SETTLED: Done = Done::Settled {
            again: None,
            pause: None,
        };
        // The answer belongs to one object: its sender may delete it, and another send one of the same name.
        let mut answer: Option<(Option<String>, bool)> = None;
        for _ in 0..ROUNDS {
            let (decision, uid, regarding) = {
                let view = self.view();
                let Some(request) = view.request(name) else {
                    return SETTLED;
                };
                let cluster = view.cluster(&request.cluster);
                let obstacle = view.with_cluster(&request.cluster, None, automatic::obstacle);
                let obstacle = obstacle.flatten();
                let regarding = json!({
                    "apiVersion": "certificates.k8s.io/v1",
                    "kind": "CertificateSigningRequest",
                    "metadata": {
                        "name": name,
                        "uid": request.metadata.uid,
                        "resourceVersion": request.metadata.resource_version,
                    },
                });
                let uid = request.metadata.uid.clone();
                let may_renew = answer.as_ref().filter(|(of, _)| *of == uid);
                let may_renew = may_renew.map(|(_, allowed)| *allowed);
                let decision =
                    csrs::decide(&self.config, request, cluster, obstacle.as_ref(), may_renew);
                (decision, uid, regarding)
            };
            match decision {
                Decision::Ask(review) => {
                    let body = json!({
                        "apiVersion": "authorization.k8s.io/v1",
                        "kind": "SubjectAccessReview",
                        "spec": review,
                    });
                    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
                    match self.writer.post(path, &body).await {
                        Ok(review) => answer = Some((uid, review["status"]["allowed"] == true)),
                        Err(refusal) => {
                            tracing::warn!(
                                csr = name,
                                code = refusal.code,
                                error = refusal.message,
                                "whether its sender may renew could not be asked, tried again"
                            );
                            return Done::Failed {
                                wait: refusal.retry_after,
                            };
                        }
                    }
                }
                Decision::Approve(write) => {
                    return match self.carry_out(vec![*write]).await {
                        Outcome::Failed(failures) => failed(&failures),
                        Outcome::Nothing | Outcome::Written => {
                            self.metrics.request_decided("approved");
                            SETTLED
                        }
                    };
                }
                Decision::Leave { reason, ref note } => {
                    if self.view().told(name, reason) {
                        tracing::info!(csr = name, reason, note, "not approved");
                        self.metrics.request_decided(reason);
                        if let Some(event) = decision.event() {
                            let now = crate::engine::now();
                            self.events.tell(&event, &regarding, now.wall);
                        }
                    }
                    // An authorizer may be behind, and nothing tells when it no longer is.
                    let again = (reason == reasons::RENEWAL_FORBIDDEN).then(|| now() + AGAIN);
                    return Done::Settled { again, pause: None };
                }
                Decision::Unlabel { write, kept } => {
                    return match self.carry_out(vec![*write]).await {
                        Outcome::Failed(failures)
                            if failures.iter().all(|(it, _)| it.code == 403) =>
                        {
                            if self.view().told(name, kept.reason) {
                                tracing::warn!(csr = name, note = kept.note, "event");
                                self.metrics.request_decided("label_kept");
                                self.events
                                    .tell(&kept, &regarding, crate::engine::now().wall);
                            }
                            Done::Settled {
                                again: Some(now() + FORBIDDEN_AGAIN),
                                pause: None,
                            }
                        }
                        Outcome::Failed(failures) => failed(&failures),
                        Outcome::Nothing | Outcome::Written => {
                            self.metrics.request_decided("label_removed");
                            SETTLED
                        }
                    };
                }
                Decision::Wait | Decision::Ignore => return SETTLED,
            }
        }
        Done::Failed { wait: None }
    }
}
