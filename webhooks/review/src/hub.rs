//! Answers from a hub: SubjectAccessReviews and live reads.
//!
//! Nothing is cached and no object is kept, so that an answer is as fresh as the hub's own, and the memory of the gate
//! does not grow with the hub.

mod calls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use berth_api::{groups, labels, names};
use berth_rules::display::Quoted;
use berth_rules::{Answer, Namespace, Permission, Question};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

pub use self::calls::HubService;
use self::calls::{Call, Calls, METADATA};
use crate::single_flight::SingleFlight;
use crate::{Answerer, Finding, Requester};

/// Names of bindings that are asked for: enough to name them in a denial.
const BINDINGS_TOLD: u32 = 20;

/// Answers by asking a hub.
pub struct HubAnswerer {
    calls: Calls,
    flights: SingleFlight<Arc<Asked>, Finding>,
}

/// What is asked. Facts are asked on nobody's behalf, so that all requesters share them.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    on_behalf: Requester,
    question: Question,
}

impl HubAnswerer {
    /// Answers with this service's rights: `create` on `subjectaccessreviews`, `get` on `namespaces`, `managedclusters` and
    /// `managedclustersets`, `list` on `managedclustersetbindings`.
    pub fn new(hub: HubService) -> Self {
        Self {
            calls: Calls::new(hub),
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
        if let Question::InGroup { group } = question {
            return ready(Finding::sure(requester.is_in(group))).boxed();
        }
        async move {
            let on_behalf = match question {
                Question::Permission(_) => requester.clone(),
                _ => Requester::default(),
            };
            let asked = Arc::new(Asked {
                on_behalf,
                question: question.clone(),
            });
            let fly = || {
                let (calls, asked) = (self.calls.clone(), Arc::clone(&asked));
                async move { find(&calls, &asked).await }
            };
            let finding = self.flights.run(Arc::clone(&asked), fly).await;
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
            let join = Permission::join("berth-readiness-probe");
            match permitted(&self.calls, &nobody, &join).await.answer {
                Answer::Unknown(why) => Err(why),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

async fn find(calls: &Calls, asked: &Asked) -> Finding {
    // Only permissions can be about all objects.
    let name = asked.question.object().unwrap_or_default();
    let found = match &asked.question {
        Question::Permission(permission) => {
            return permitted(calls, &asked.on_behalf, permission).await;
        }
        // The name is to be a part of a path. No object has such a name, whoever chose it.
        _ if !names::is_dns1123_subdomain(name) => Ok(Answer::No),
        Question::Namespace { .. } => namespace(calls, name).await,
        Question::BindingsIn { .. } => bindings_in(calls, name).await,
        Question::AcceptedCluster { .. } => accepted_cluster(calls, name).await,
        Question::SetExists { .. } => set_exists(calls, name).await,
        Question::InGroup { .. } => Err("the hub is not asked for groups".to_owned()),
    };
    match found {
        Ok(answer) => Finding::found(answer),
        Err(why) => Finding::unknown(why),
    }
}

/// One verb after the other, until one is granted. Almost always that is the first. All at once would be answered sooner
/// to those who have none of them; but a call over HTTP/1.1 that is no longer waited for costs its connection.
async fn permitted(calls: &Calls, requester: &Requester, permission: &Permission) -> Finding {
    let mut refused: Option<Finding> = None;
    for verb in permission.verbs {
        let finding = review(calls, requester, permission, verb).await;
        match finding.answer {
            Answer::Yes | Answer::Names(_) | Answer::Namespace(_) => return finding,
            Answer::Unknown(_) => refused = Some(finding),
            Answer::No => {
                refused.get_or_insert(finding);
            }
        }
    }
    refused.unwrap_or_else(|| Finding::unknown("no verb was asked about"))
}

/// `status.allowed` alone decides: neither `denied` nor `evaluationError` makes a yes of a no.
async fn review(
    calls: &Calls,
    requester: &Requester,
    permission: &Permission,
    verb: &str,
) -> Finding {
    #[derive(Deserialize)]
    struct Review {
        kind: Kind,
        status: Option<Status>,
    }
    /// Servers answer in kind. What is no review does not pass for one.
    #[derive(Deserialize)]
    enum Kind {
        SubjectAccessReview,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        allowed: Option<bool>,
        reason: Option<String>,
        evaluation_error: Option<String>,
    }
    let body = match serde_json::to_vec(&access_review(requester, permission, verb)) {
        Ok(body) => body,
        Err(error) => return Finding::unknown(format!("the question cannot be put: {error}")),
    };
    let call = Call::post(
        "create subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        body,
    );
    let status = match calls.make::<Review>(call).await {
        Ok(Some(Review {
            kind: Kind::SubjectAccessReview,
            status: Some(status),
        })) => status,
        Ok(Some(_)) => {
            return Finding::unknown("the hub answered a SubjectAccessReview without a status");
        }
        Ok(None) => return Finding::unknown("the hub does not know SubjectAccessReviews"),
        Err(why) => return Finding::unknown(why),
    };
    let said = [status.reason, status.evaluation_error]
        .into_iter()
        .flatten()
        .filter(|said| !said.is_empty());
    let said = said.collect::<Vec<_>>().join("; ");
    let finding = Finding::sure(status.allowed == Some(true));
    if said.is_empty() {
        finding
    } else {
        finding.because(format!("{verb}: {said}"))
    }
}

async fn set_exists(calls: &Calls, name: &str) -> Result<Answer, String> {
    let path = format!(
        "/apis/{}/v1beta2/managedclustersets/{name}",
        groups::CLUSTER
    );
    let call = Call::get("get managedclustersets", path).accept(METADATA);
    let set = object(calls, call, name).await?;
    Ok(Answer::from(set.is_some()))
}

async fn accepted_cluster(calls: &Calls, name: &str) -> Result<Answer, String> {
    let path = format!("/apis/{}/v1/managedclusters/{name}", groups::CLUSTER);
    let cluster = object(calls, Call::get("get managedclusters", path), name).await?;
    let spec = cluster.and_then(|cluster| cluster.spec);
    let accepted = spec.and_then(|spec| spec.hub_accepts_client);
    Ok(Answer::from(accepted == Some(true)))
}

async fn namespace(calls: &Calls, name: &str) -> Result<Answer, String> {
    let call = Call::get("get namespaces", format!("/api/v1/namespaces/{name}"));
    let Some(namespace) = object(calls, call, name).await? else {
        return Ok(Answer::No);
    };
    let phase = namespace.status.and_then(|status| status.phase);
    let terminating =
        phase.as_deref() == Some("Terminating") || namespace.metadata.deletion_timestamp.is_some();
    let own = namespace.metadata.labels.unwrap_or_default();
    let of_cluster = own.get(labels::CLUSTER_NAME).is_some_and(|it| it == name);
    Ok(Answer::Namespace(Namespace {
        terminating,
        of_cluster,
    }))
}

async fn bindings_in(calls: &Calls, namespace: &str) -> Result<Answer, String> {
    #[derive(Deserialize)]
    struct Bindings {
        /// `null` is what Go makes of an empty one; what has none at all is no list.
        #[serde(deserialize_with = "Option::deserialize")]
        items: Option<Vec<Object>>,
    }
    let path = format!(
        "/apis/{}/v1beta2/namespaces/{namespace}/managedclustersetbindings?limit={BINDINGS_TOLD}",
        groups::CLUSTER
    );
    let call = Call::list("list managedclustersetbindings", path);
    let bindings = calls.make::<Bindings>(call).await?;
    let bindings = bindings.and_then(|bindings| bindings.items);
    let names: Vec<_> = (bindings.into_iter().flatten())
        .map(|binding| binding.metadata.name)
        .collect();
    Ok(if names.is_empty() {
        Answer::No
    } else {
        Answer::Names(names)
    })
}

/// Reads the object of this name. Another one does not pass for it, and lacks what is looked for.
async fn object(calls: &Calls, call: Call, name: &str) -> Result<Option<Object>, String> {
    let object = calls.make::<Object>(call).await?;
    match &object {
        Some(Object { metadata, .. }) if metadata.name != name => {
            let other = Quoted(&metadata.name);
            Err(format!(
                "the hub answered with {other}, asked for \"{name}\""
            ))
        }
        _ => Ok(object),
    }
}

/// As much of any object as decides.
#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    deletion_timestamp: Option<IgnoredAny>,
    labels: Option<BTreeMap<String, String>>,
}

/// A ManagedCluster's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    hub_accepts_client: Option<bool>,
}

/// A Namespace's.
#[derive(Deserialize)]
struct Status {
    phase: Option<String>,
}

/// A SubjectAccessReview.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessReview<'a> {
    api_version: &'static str,
    kind: &'static str,
    spec: AccessReviewSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessReviewSpec<'a> {
    user: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
    resource_attributes: ResourceAttributes<'a>,
}

#[derive(Serialize)]
struct ResourceAttributes<'a> {
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    /// Without it, the permission must be for all names.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    verb: &'a str,
}

/// The review that asks whether the requester holds the permission by this verb: user, uid, groups and every extra.
fn access_review<'a>(
    requester: &'a Requester,
    permission: &'a Permission,
    verb: &'a str,
) -> AccessReview<'a> {
    let Requester {
        username,
        uid,
        groups,
        extra,
    } = requester;
    AccessReview {
        api_version: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: AccessReviewSpec {
            user: username,
            uid,
            groups,
            extra,
            resource_attributes: ResourceAttributes {
                group: permission.group,
                resource: permission.resource,
                subresource: permission.subresource,
                name: permission.name.as_deref(),
                verb,
            },
        },
    }
}
