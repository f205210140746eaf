//! CertificateSigningRequest: an agent files requests for its own cluster only.
//!
//! Agents find the requests of their cluster by a label. OCM's agents stop while ten requests have it, in any state and
//! from any requester. So an agent that labels its requests for another cluster would keep that cluster from renewing its
//! certificate. OCM has no such rule.

use berth_api::agents;

use crate::findings::Findings;
use crate::object::{CertificateRequest, Text};
use crate::{Answers, Change, Decision, Question, sentences};

/// What must be known: where the label is not the requester's own cluster, whether the requester is an agent at all.
pub fn questions(change: &Change<'_, CertificateRequest<'_>>) -> Vec<Question> {
    if foreign_cluster(change).is_some() {
        vec![is_agent()]
    } else {
        Vec::new()
    }
}

/// Whether the change is admitted.
pub fn decide(change: &Change<'_, CertificateRequest<'_>>, answers: Answers<'_>) -> Decision {
    let mut findings = Findings::new(change.user, answers);
    if let Some(cluster) = foreign_cluster(change) {
        let own = agents::cluster_of(change.user);
        findings.refuse_if(&is_agent(), "the requester is in group", |_| {
            sentences::foreign_request(change.user, own, change.name, cluster)
        });
    }
    findings.decision()
}

/// The cluster in the label, if the change puts it there, and it is not the cluster of the requester's name.
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
