//! What is due for a stored request: its approval, then, for a signer of the template, its certificate.

use berth_api::addon::{AddOnTemplateSpec, SigningCaReference};
use berth_api::certificate_request::{CertificateRequest, target};
use berth_api::plan::{Action, Event, Write};
use berth_api::{agents, labels};

use super::{Facts, Request, Verdict, custom_signer, judge};
use crate::registration::REQUESTS;

/// Reason and message are OCM's.
const REASON: &str = "AutoApprovedByHubCSRApprovingController";
const MESSAGE: &str = "Auto approving addon agent certificate.";

/// What is due for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing: it is denied, issued, or not a request for an add-on from a template.
    Nothing,
    /// Approve it with this write.
    Approve(Box<Write>),
    /// It is approved, and waits for a signer of the template: sign it with the certificate authority in this Secret.
    Sign(SigningCaReference),
    /// Leave it to an admin.
    Leave {
        /// One of a few reasons, for metrics.
        reason: &'static str,
        /// Text for users.
        note: String,
    },
}

/// Decides what is due. An approved request is judged again before it is signed: another client may have approved it, and the template may
/// have changed.
#[must_use]
pub fn step(stored: &CertificateRequest, is_approved: bool, facts: &Facts<'_>) -> Step {
    if is_approved && stored.signer == agents::API_SERVER {
        // The API server's own signer issues it.
        return Step::Nothing;
    }
    let addon = (stored.metadata.labels.as_ref()).and_then(|it| it.get(labels::ADDON_NAME));
    let Some(addon) = addon else {
        return Step::Nothing;
    };
    let request = Request {
        name: &stored.name,
        cluster: &stored.cluster,
        addon,
        signer: &stored.signer,
        pem: &stored.request,
        usages: &stored.usages,
        username: &stored.username,
    };
    match judge(&request, facts) {
        Verdict::Ignore => Step::Nothing,
        Verdict::Leave { reason, note } => Step::Leave { reason, note },
        Verdict::Approve if !is_approved => Step::Approve(approve(stored, addon).into()),
        Verdict::Approve => facts
            .template
            .and_then(|it| signing_ca(it, &stored.signer))
            .map_or(Step::Nothing, Step::Sign),
    }
}

fn approve(stored: &CertificateRequest, addon: &str) -> Write {
    Write {
        target: target(&stored.name),
        action: Action::Replace {
            subresource: Some("approval"),
            body: stored.approval(REASON, MESSAGE),
        },
        reconciler: REQUESTS,
        events: vec![Event {
            warning: false,
            reason: "AddOnCSRAutoApproved",
            note: format!(
                "the CSR of add-on {addon:?} of ManagedCluster {:?} is approved",
                stored.cluster
            ),
            namespace: None,
        }],
    }
}

fn signing_ca(template: &AddOnTemplateSpec, signer: &str) -> Option<SigningCaReference> {
    Some(custom_signer(template, signer)?.signing_ca.clone())
}
