//! CertificateSigningRequest: an agent may label its requests only for its own cluster, and only a cluster's agent labels
//! requests for add-ons there.
//!
//! Agents find the requests of their cluster by a label. OCM's agents stop while ten requests have it, in any state and
//! from any requester. So an agent that labels its requests for another cluster could keep that cluster from renewing its
//! certificate.
//!
//! Managers of add-ons approve requests by the labels of cluster and add-on: OCM's, those of custom signers from any
//! requester. So the label of an add-on is refused to everybody else. OCM has neither rule.

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

    /// If the label names a cluster other than the requester's own, and none an add-on: is the requester an agent?
    fn examine(
        change: &Change<'_, CertificateRequest<'_>>,
        _: &Settings,
        _: Timestamp,
    ) -> Case<Self> {
        Case::new(Faults::default(), (), |(): &()| {
            let is_asked = matches!(foreign(change), Some(Foreign::Cluster(_)));
            is_asked.then(is_agent).into_iter().collect()
        })
    }

    fn decide(
        (): (),
        change: &Change<'_, CertificateRequest<'_>>,
        _: &Settings,
        answers: Answers<'_>,
    ) -> Decision {
        let mut findings = Findings::new(change.user, answers);
        match foreign(change) {
            Some(Foreign::Cluster(cluster)) => {
                let own = agents::cluster_of(change.user);
                findings.refuse_if(&is_agent(), "the requester is in group", |_| {
                    sentences::foreign_request(change.user, own, change.name, cluster)
                });
            }
            Some(Foreign::Addon(cluster)) => {
                findings.deny(sentences::addon_request(change.user, change.name, cluster));
            }
            None => {}
        }
        findings.decision()
    }
}

/// What a requester labels a request for who is not the agent of that cluster.
enum Foreign<'a> {
    /// This cluster.
    Cluster(&'a str),
    /// An add-on on this cluster, if the request names one.
    Addon(Option<&'a str>),
}

/// Returns what the change labels the request for; `None` if it leaves the labels, or the user name is that of the cluster's agent.
fn foreign<'c>(change: &'c Change<'_, CertificateRequest<'_>>) -> Option<Foreign<'c>> {
    let new = &change.new.metadata.labels;
    let old = change.old.as_ref().map(|old| &old.metadata.labels);
    let cluster = new.cluster_name.as_ref().map(Text::as_str);
    if cluster.is_some() && cluster == agents::cluster_of(change.user) {
        return None;
    }
    let is_old_cluster = old.is_some_and(|old| old.cluster_name == new.cluster_name);
    if new.addon_name.is_some() {
        let is_old = is_old_cluster && old.is_some_and(|old| old.addon_name == new.addon_name);
        return (!is_old).then_some(Foreign::Addon(cluster));
    }
    let cluster = cluster.filter(|_| !is_old_cluster);
    cluster.map(Foreign::Cluster)
}

fn is_agent() -> Question {
    Question::InGroup {
        group: agents::ALL.to_owned(),
    }
}
