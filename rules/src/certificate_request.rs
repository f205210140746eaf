//! CertificateSigningRequest: an agent may label its requests only for its own cluster.
//!
//! Agents find the requests of their cluster by a label. OCM's agents stop while ten requests have it, in any state and
//! from any requester. So an agent that labels its requests for another cluster could keep that cluster from renewing its
//! certificate. OCM has no such rule.

use berth_api::agents;
use jiff::Timestamp;

use crate::findings::{Faults, Findings};
use crate::object::{CertificateRequest, Text};
use crate::{Answers, Case, Change, Decision, Question, Rules, Settings, sentences};

/// The rules of CertificateSigningRequests.
#[derive(Debug)]
pub struct ValidateRequest;

// === impl ValidateRequest ===

impl Rules for ValidateRequest {
    type Object<'a> = CertificateRequest<'a>;
    type Seen = ();

    /// If the label names a cluster other than the requester's own: is the requester an agent?
    fn examine(
        change: &Change<'_, CertificateRequest<'_>>,
        _: &Settings,
        _: Timestamp,
    ) -> Case<Self> {
        Case::new(Faults::default(), (), |(): &()| {
            let is_foreign = foreign_cluster(change).is_some();
            is_foreign.then(is_agent).into_iter().collect()
        })
    }

    fn decide(
        (): (),
        change: &Change<'_, CertificateRequest<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        if let Some(cluster) = foreign_cluster(change) {
            let own = agents::cluster_of(change.user);
            findings.refuse_if(&is_agent(), "the requester is in group", |_| {
                sentences::foreign_request(change.user, own, change.name, cluster)
            });
        }
        findings.decision()
    }
}

/// Returns the cluster in the label if the change sets the label, and the user name is not that of the cluster's agent.
fn foreign_cluster<'c>(change: &'c Change<'_, CertificateRequest<'_>>) -> Option<&'c str> {
    let new = change.new.metadata.labels.cluster_name.as_ref()?;
    let old = change.old.as_ref();
    let old = old.and_then(|old| old.metadata.labels.cluster_name.as_ref());
    let cluster = Some(new).filter(|_| old != Some(new)).map(Text::as_str)?;
    (agents::cluster_of(change.user) != Some(cluster)).then_some(cluster)
}

fn is_agent() -> Question {
    Question::InGroup {
        group: agents::ALL.to_owned(),
    }
}
