//! Answers from a hub: SubjectAccessReviews and live reads.
//!
//! Neither answers nor objects are cached. So answers are as fresh as the hub's own, and the memory of the gate does not
//! grow with the hub.

mod calls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use berth_api::path::SUBJECT_ACCESS_REVIEWS;
use berth_api::{groups, labels, names};
use berth_hub::{Call, CallError, HubApi, METADATA, METADATA_LIST, object_path};
use berth_rules::display::Quoted;
use berth_rules::{Answer, Namespace, Permission, Question};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use self::calls::Calls;
use crate::single_flight::SingleFlight;
use crate::{Answerer, Finding, Requester};

/// The maximum number of bindings that are listed, to name them in a denial.
const BINDINGS_LISTED: u32 = 20;

/// Answers questions by calls to a hub.
pub struct HubAnswerer {
    calls: Calls,
    flights: SingleFlight<Arc<Asked>, Finding>,
}

/// The key of a call. For facts, the requester is empty, so that all requesters share the call.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    on_behalf: Requester,
    question: Question,
}

impl HubAnswerer {
    /// Makes an answerer for this hub. Its user needs `create` on `subjectaccessreviews`, `get` on `namespaces`,
    /// `managedclusters` and `managedclustersets`, and `list` on `managedclustersetbindings`.
    pub fn new(hub: HubApi) -> Self {
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
            finding.unwrap_or_else(|| Finding::unknown("the call to the hub was cancelled"))
        }
        .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        // The answer does not matter, only that the hub answers.
        let anonymous = Requester {
            username: "system:anonymous".to_owned(),
            ..Requester::default()
        };
        async move {
            let join = Permission::join("berth-readiness-probe");
            match permitted(&self.calls, &anonymous, &join).await.answer {
                Answer::Unknown(why) => Err(why),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

async fn find(calls: &Calls, asked: &Asked) -> Finding {
    // Only a question about a permission can be without a name.
    let name = asked.question.object().unwrap_or_default();
    let found = match &asked.question {
        Question::Permission(permission) => {
            return permitted(calls, &asked.on_behalf, permission).await;
        }
        // The name becomes a part of a path. An object cannot have another name.
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

/// Asks about one verb after the other, until one is granted; usually this is the first. To ask about all at once would be
/// faster for requesters without the permission, but to abandon a call over HTTP/1.1 costs its connection.
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

/// Creates a SubjectAccessReview. Only `status.allowed` decides, not `denied` or `evaluationError`.
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
    /// The kind is required, so that another object does not pass for a review.
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
        Err(error) => {
            return Finding::unknown(format!(
                "the SubjectAccessReview cannot be encoded: {error}"
            ));
        }
    };
    let call = Call::post(SUBJECT_ACCESS_REVIEWS, body);
    let asked = calls.make::<Review>(
        "create subjectaccessreviews",
        call,
        CallError::kind_is_absent,
    );
    let status = match asked.await {
        Ok(Some(Review {
            kind: Kind::SubjectAccessReview,
            status: Some(status),
        })) => status,
        Ok(Some(_)) => {
            return Finding::unknown("the hub answered a SubjectAccessReview without a status");
        }
        Ok(None) => return Finding::unknown("the hub does not serve SubjectAccessReviews"),
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
    let sets = (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS);
    let path = object_path(sets, "", name);
    let call = Call::get(path).accept(METADATA);
    let set = object(calls, "get managedclustersets", call, name).await?;
    Ok(Answer::from(set.is_some()))
}

async fn accepted_cluster(calls: &Calls, name: &str) -> Result<Answer, String> {
    let clusters = (groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS);
    let path = object_path(clusters, "", name);
    let cluster = object(calls, "get managedclusters", Call::get(path), name).await?;
    let spec = cluster.and_then(|cluster| cluster.spec);
    let accepted = spec.and_then(|spec| spec.hub_accepts_client);
    Ok(Answer::from(accepted == Some(true)))
}

async fn namespace(calls: &Calls, name: &str) -> Result<Answer, String> {
    let call = Call::get(object_path(("", "v1", "namespaces"), "", name));
    let Some(namespace) = object(calls, "get namespaces", call, name).await? else {
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
        /// Go writes `null` for an empty list. An object without `items` is not a list.
        #[serde(deserialize_with = "Option::deserialize")]
        items: Option<Vec<Object>>,
    }
    let bindings = (
        groups::CLUSTER,
        "v1beta2",
        groups::MANAGED_CLUSTER_SET_BINDINGS,
    );
    let path = object_path(bindings, namespace, "");
    let call = Call::get(format!("{path}?limit={BINDINGS_LISTED}")).accept(METADATA_LIST);
    // A hub that does not serve the kind has no bindings.
    let asked = calls.make::<Bindings>(
        "list managedclustersetbindings",
        call,
        CallError::kind_is_absent,
    );
    let bindings = asked.await?;
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

/// Reads the object of this name, and refuses an object with another name.
async fn object(
    calls: &Calls,
    what: &str,
    call: Call,
    name: &str,
) -> Result<Option<Object>, String> {
    let object = calls
        .make::<Object>(what, call, CallError::is_absent)
        .await?;
    match &object {
        Some(Object { metadata, .. }) if metadata.name != name => {
            let other = Quoted(&metadata.name);
            Err(format!("the hub returned {other} instead of \"{name}\""))
        }
        _ => Ok(object),
    }
}

/// The fields of any object that matter for an answer.
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

/// The `spec` of a ManagedCluster.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    hub_accepts_client: Option<bool>,
}

/// The `status` of a Namespace.
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
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: &'a str,
    /// `None` asks for the permission for all names.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    verb: &'a str,
}

/// Returns the review that asks whether the requester has the permission with this verb. It contains user, uid, groups and
/// every extra.
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
                namespace: permission.namespace.as_deref(),
                verb,
            },
        },
    }
}
