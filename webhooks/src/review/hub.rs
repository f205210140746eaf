//! Answers from a hub: SubjectAccessReviews and live reads.
//!
//! Nothing is cached and no object is kept, so that an answer is as fresh as the hub's own, and the memory of the gate
//! does not grow with the hub.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use berth_api::{groups, names};
use berth_rules::{Answer, Permission, Question, display};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::single_flight::SingleFlight;
use super::{Answerer, Finding, Requester};

/// The ClusterRole of the manifests that grants the gate its own rights.
const CLUSTER_ROLE: &str = "open-cluster-management:cluster-manager-registration:webhook";

/// Names of bindings that are asked for: enough to name them in a denial.
const BINDINGS_TOLD: u32 = 20;

/// Calls to the hub at the same time; further ones wait for a place until their review's time is up.
const CALLS_AT_ONCE: usize = 200;

/// Answers by asking a hub.
pub struct HubAnswerer {
    hub: Hub,
    /// Facts are asked on nobody's behalf, so that all requesters share them.
    flights: SingleFlight<(Option<Requester>, Question), Finding>,
}

#[derive(Clone)]
struct Hub {
    client: Client,
    clusters: Api<DynamicObject>,
    sets: Api<DynamicObject>,
    bindings: ApiResource,
    /// A place for each call: over HTTP/1.1 each takes a connection, and with it one of the process's open files.
    calls: Arc<Semaphore>,
}

impl HubAnswerer {
    /// Answers with this client's rights: `create` on `subjectaccessreviews`, `get` on `namespaces`, `managedclusters` and
    /// `managedclustersets`, `list` on `managedclustersetbindings`.
    ///
    /// The client must not try again by itself: it would sleep through the deadlines of reviews.
    pub fn new(client: Client) -> Self {
        let resource = |version, kind, plural| {
            ApiResource::from_gvk_with_plural(
                &GroupVersionKind::gvk(groups::CLUSTER, version, kind),
                plural,
            )
        };
        let hub = Hub {
            clusters: Api::all_with(
                client.clone(),
                &resource("v1", "ManagedCluster", "managedclusters"),
            ),
            sets: Api::all_with(
                client.clone(),
                &resource("v1beta2", "ManagedClusterSet", "managedclustersets"),
            ),
            bindings: resource(
                "v1beta2",
                "ManagedClusterSetBinding",
                "managedclustersetbindings",
            ),
            client,
            calls: Arc::new(Semaphore::new(CALLS_AT_ONCE)),
        };
        Self {
            hub,
            flights: SingleFlight::new(),
        }
    }
}

impl fmt::Debug for HubAnswerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubAnswerer").finish_non_exhaustive()
    }
}

impl Answerer for HubAnswerer {
    fn answer<'a>(
        &'a self,
        requester: &'a Requester,
        question: &'a Question,
    ) -> BoxFuture<'a, Finding> {
        async move {
            let on_behalf = matches!(question, Question::Permission(_)).then(|| requester.clone());
            let key = (on_behalf, question.clone());
            let fly = || {
                let (hub, requester, question) =
                    (self.hub.clone(), requester.clone(), question.clone());
                async move { hub.find(&requester, &question).await }
            };
            let finding = self.flights.run(key, fly).await;
            finding.unwrap_or_else(|| Finding::unknown("the question to the hub was broken off"))
        }
        .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        // Nobody's permission: what counts is that the hub answers.
        let nobody = Requester {
            username: "system:anonymous".to_owned(),
            ..Requester::default()
        };
        async move {
            match self
                .hub
                .permission(&nobody, &Permission::join("berth-readiness-probe"))
                .await
                .answer
            {
                Answer::Unknown(why) => Err(why),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

// === impl Hub ===

impl Hub {
    /// One verb after the other, until one is granted. Almost always that is the first. All at once would be answered sooner
    /// to those who have none of them; but a call over HTTP/1.1 that is no longer waited for costs its connection.
    async fn permission(&self, requester: &Requester, permission: &Permission) -> Finding {
        let mut refused: Option<Finding> = None;
        for verb in permission.verbs {
            let finding = self.review(requester, permission, verb).await;
            match finding.answer {
                Answer::Yes | Answer::Names(_) => return finding,
                Answer::Unknown(_) => refused = Some(finding),
                Answer::No => {
                    refused.get_or_insert(finding);
                }
            }
        }
        refused.unwrap_or_else(|| Finding::unknown("no verb was asked about"))
    }

    /// `status.allowed` alone decides: neither `denied` nor `evaluationError` makes a yes of a no.
    async fn review(&self, requester: &Requester, permission: &Permission, verb: &str) -> Finding {
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let review = subject_access_review(requester, permission, verb);
        let params = PostParams::default();
        let create = || api.create(&params, &review);
        let answer = match self.call("create subjectaccessreviews", create).await {
            Ok(review) => review,
            Err(why) => return Finding::unknown(why),
        };
        let Some(status) = answer.status else {
            return Finding::unknown("the hub answered a SubjectAccessReview without a status");
        };
        let said = [status.reason, status.evaluation_error]
            .into_iter()
            .flatten()
            .filter(|said| !said.is_empty());
        let said = said.collect::<Vec<_>>().join("; ");
        let finding = Finding::sure(status.allowed);
        if said.is_empty() {
            finding
        } else {
            finding.because(format!("{verb}: {said}"))
        }
    }

    /// Makes a call, again if the hub may only have been busy or restarting, and says in words what was in its way. All
    /// calls only read, so that asking twice does no harm. How long it may take is for the caller to say.
    async fn call<T, F>(&self, what: &str, call: impl FnMut() -> F) -> Result<T, String>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let soon = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(100))
            .with_max_times(2)
            .with_jitter();
        let _place = self.calls.acquire().await;
        let called = call.retry(soon).when(may_pass).await;
        called.map_err(|error| trouble(what, &error))
    }

    async fn find(&self, requester: &Requester, question: &Question) -> Finding {
        let name = question.object();
        let found = match question {
            Question::Permission(permission) => {
                return self.permission(requester, permission).await;
            }
            // The name is to be a part of a path. No object has such a name, whoever chose it.
            _ if !names::is_dns1123_subdomain(name) => Ok(Answer::No),
            Question::NamespaceTerminating { .. } => self.namespace_terminating(name).await,
            Question::BindingsIn { .. } => self.bindings_in(name).await,
            Question::AcceptedCluster { .. } => self.accepted_cluster(name).await,
            Question::SetExists { .. } => {
                let get = || self.sets.get_metadata_opt(name);
                let set = self.call("get managedclustersets", get).await;
                set.map(|set| Answer::from(set.is_some()))
            }
        };
        match found {
            Ok(answer) => Finding {
                answer,
                because: None,
            },
            Err(why) => Finding::unknown(why),
        }
    }

    async fn accepted_cluster(&self, name: &str) -> Result<Answer, String> {
        let cluster = self
            .call("get managedclusters", || self.clusters.get_opt(name))
            .await?;
        let accepted = |cluster: DynamicObject| {
            cluster.data.pointer("/spec/hubAcceptsClient") == Some(&Value::Bool(true))
        };
        Ok(Answer::from(cluster.is_some_and(accepted)))
    }

    async fn namespace_terminating(&self, name: &str) -> Result<Answer, String> {
        let api = Api::<Namespace>::all(self.client.clone());
        let Some(namespace) = self.call("get namespaces", || api.get_opt(name)).await? else {
            return Ok(Answer::No);
        };
        let phase = namespace.status.and_then(|status| status.phase);
        let terminating = phase.as_deref() == Some("Terminating")
            || namespace.metadata.deletion_timestamp.is_some();
        Ok(Answer::from(terminating))
    }

    async fn bindings_in(&self, namespace: &str) -> Result<Answer, String> {
        let api =
            Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &self.bindings);
        let params = ListParams::default().limit(BINDINGS_TOLD);
        let list = || async {
            match api.list_metadata(&params).await {
                Ok(bindings) => Ok(bindings.items),
                // The hub does not know the kind, so that there are none.
                Err(Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        };
        let bindings = self.call("list managedclustersetbindings", list).await?;
        let names: Vec<_> = bindings
            .into_iter()
            .filter_map(|binding| binding.metadata.name)
            .collect();
        Ok(if names.is_empty() {
            Answer::No
        } else {
            Answer::Names(names)
        })
    }
}

/// The review that asks whether the requester holds the permission by this verb: user, uid, groups and every extra.
fn subject_access_review(
    requester: &Requester,
    permission: &Permission,
    verb: &str,
) -> SubjectAccessReview {
    let Requester {
        username,
        uid,
        groups,
        extra,
    } = requester.clone();
    let attributes = ResourceAttributes {
        group: Some(permission.group.to_owned()),
        resource: Some(permission.resource.to_owned()),
        subresource: Some(permission.subresource.to_owned()),
        name: Some(permission.name.clone()),
        verb: Some(verb.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(username),
        uid: (!uid.is_empty()).then_some(uid),
        groups: (!groups.is_empty()).then_some(groups),
        extra: (!extra.is_empty()).then_some(extra),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview {
        spec,
        ..SubjectAccessReview::default()
    }
}

/// Whether it may be better the next time: another connection, another of the hub's servers.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Api(status) => matches!(status.code, 429 | 502..=504),
        error => matches!(error, Error::HyperError(_) | Error::Service(_)),
    }
}

fn trouble(what: &str, error: &Error) -> String {
    // The innermost error is the one that says what happened.
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match error {
        Error::Api(status) => {
            let message = cut(&status.message);
            match status.code {
                401 => format!(
                    "the hub does not know the gate's own credentials ({what}), \
                     check its kubeconfig or service account: {message}"
                ),
                403 => format!(
                    "the gate itself may not {what}, grant it the ClusterRole {CLUSTER_ROLE} of its manifests: {message}"
                ),
                code => format!("the hub answered {what} with {code} {message}"),
            }
        }
        Error::SerdeError(_) | Error::FromUtf8(_) => {
            format!("the hub's answer to {what} cannot be read: {innermost}")
        }
        Error::Auth(error) => {
            format!("the gate cannot get credentials for the hub ({what}): {error}")
        }
        _ => format!("the hub cannot be reached ({what}): {innermost}"),
    }
}

/// What stands between the gate and the hub may answer with whole pages.
fn cut(message: &str) -> &str {
    display::cut(message, 300).0.trim()
}
