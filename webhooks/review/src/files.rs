//! Answers from files, so that the gate runs without a hub.

use berth_rbac::{Request, Subject, Verdict};
use berth_rules::{Answer, Permission, Question};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use crate::{Answerer, Finding, HubFiles, Requester};

/// Answers every question from [`HubFiles`], without delay or failure.
#[derive(Debug)]
pub struct FilesAnswerer {
    hub: HubFiles,
}

impl FilesAnswerer {
    /// Makes an answerer with the state in these files.
    pub fn new(hub: HubFiles) -> Self {
        Self { hub }
    }

    fn find(&self, requester: &Requester, question: &Question) -> Finding {
        let hub = &self.hub;
        match question {
            Question::Permission(permission) => self.permission(requester, permission),
            Question::Namespace { name } => match hub.namespaces.get(name) {
                Some(namespace) => Finding::found(Answer::Namespace(*namespace)),
                None => Finding::sure(false).because(format!("Namespace {name:?} does not exist")),
            },
            Question::BindingsIn { namespace } => {
                let names: Vec<_> = hub
                    .bindings
                    .get(namespace)
                    .into_iter()
                    .flatten()
                    .cloned()
                    .collect();
                Finding::found(if names.is_empty() {
                    Answer::No
                } else {
                    Answer::Names(names)
                })
            }
            Question::AcceptedCluster { name } => match hub.clusters.get(name) {
                Some(accepted) => Finding::sure(*accepted),
                None => {
                    Finding::sure(false).because(format!("ManagedCluster {name:?} does not exist"))
                }
            },
            Question::InGroup { group } => Finding::sure(requester.is_in(group)),
            Question::SetExists { name } => Finding::sure(hub.sets.contains(name)),
        }
    }

    fn permission(&self, requester: &Requester, permission: &Permission) -> Finding {
        let subject = Subject {
            user: &requester.username,
            groups: &requester.groups,
        };
        let mut trouble = Vec::new();
        for verb in permission.verbs {
            let request = Request::Resource {
                verb,
                api_group: permission.group,
                resource: permission.resource,
                subresource: permission.subresource,
                // A rule with resource names does not match the empty name.
                name: permission.name.as_deref().unwrap_or_default(),
                namespace: permission.namespace.as_deref().unwrap_or_default(),
            };
            match self.hub.policy.evaluate(&subject, &request) {
                Verdict::Allowed(grant) => {
                    return Finding::sure(true).because(format!("{verb} by {grant}"));
                }
                Verdict::NoOpinion { errors } => {
                    trouble.extend(errors.iter().map(ToString::to_string));
                }
            }
        }
        trouble.sort();
        trouble.dedup();
        let finding = Finding::sure(false);
        if trouble.is_empty() {
            finding.because("no role grants it")
        } else {
            finding.because(trouble.join("; "))
        }
    }
}

impl Answerer for FilesAnswerer {
    fn answer<'a>(
        &'a self,
        requester: &'a Requester,
        question: &'a Question,
    ) -> BoxFuture<'a, Finding> {
        ready(self.find(requester, question)).boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        ready(Ok(())).boxed()
    }
}
