//! The objects that the fake hub stores, and its responses.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_api::groups::CLUSTER;
use berth_api::path::{SUBJECT_ACCESS_REVIEWS, path_of};
use berth_rbac::{Policy, Subject, Verdict};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

use super::{Fault, HubRequest, TOKEN};
use crate::repository;

/// The user that the token authenticates.
const GATE: &str = "system:serviceaccount:open-cluster-management-hub:registration-webhook-sa";

/// The gate's rights, as in the ClusterRole of the manifests: verb, API group and resource.
const RIGHTS: [(&str, &str, &str); 5] = [
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ("get", "", "namespaces"),
    ("get", CLUSTER, "managedclusters"),
    ("get", CLUSTER, "managedclustersets"),
    ("list", CLUSTER, "managedclustersetbindings"),
];

pub(super) type Script = Box<dyn Fn(&HubRequest) -> Option<Fault> + Send>;

pub(super) struct World {
    pub(super) policy: Mutex<Policy>,
    /// Keyed by path.
    objects: Mutex<BTreeMap<String, Value>>,
    pub(super) asked: Mutex<Vec<HubRequest>>,
    pub(super) script: Mutex<Script>,
    pub(super) connections: AtomicUsize,
    in_flight: AtomicUsize,
    pub(super) most_in_flight: AtomicUsize,
    /// Without TLS, clients send no credentials.
    is_plain: bool,
}

pub(super) type Answer = Result<Response<Full<Bytes>>, Dropped>;

/// The hub closes the connection.
#[derive(Debug, thiserror::Error)]
#[error("the hub was told to drop the connection")]
pub(super) struct Dropped;

impl World {
    pub(super) fn sample(is_plain: bool) -> Self {
        let mut world = Self {
            is_plain,
            policy: Mutex::default(),
            objects: Mutex::default(),
            asked: Mutex::default(),
            script: Mutex::new(Box::new(|_| None)),
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        };
        for file in ["examples/hub/rbac.yaml", "examples/hub/state.yaml"] {
            let text = std::fs::read_to_string(repository(file)).unwrap();
            for document in serde_saphyr::read::<_, Value>(&mut text.as_bytes()) {
                world.add(document.unwrap());
            }
        }
        world
    }

    fn add(&mut self, mut object: Value) {
        let kind = object["kind"].as_str().unwrap().to_owned();
        if let Value::Array(items) = object["items"].take() {
            for mut item in items {
                if item["kind"].is_null() {
                    item["kind"] = kind.trim_end_matches("List").into();
                    item["apiVersion"] = object["apiVersion"].clone();
                }
                self.add(item);
            }
            return;
        }
        object.as_object_mut().unwrap().remove("items");
        let policy = self.policy.get_mut().unwrap();
        let path = match kind.as_str() {
            "ClusterRole" => {
                let role = serde_json::from_value(object).unwrap();
                return policy.upsert_cluster_role(role).unwrap();
            }
            "ClusterRoleBinding" => {
                let binding = serde_json::from_value(object).unwrap();
                return policy.upsert_cluster_role_binding(binding).unwrap();
            }
            // All other kinds have regular plurals.
            kind => path_of(&object, &format!("{}s", kind.to_lowercase())).unwrap(),
        };
        self.objects.get_mut().unwrap().insert(path, object);
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, connection: usize) -> Answer {
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
        let _leave = Leave(&self.in_flight);
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Dropped)?.to_bytes();
        let header = |name: &str| match head.headers.get(name) {
            Some(value) => value.to_str().unwrap().to_owned(),
            None => String::new(),
        };
        let asked = HubRequest {
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            accept: header("accept"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            connection,
        };
        self.asked.lock().unwrap().push(asked.clone());
        let fault = (self.script.lock().unwrap())(&asked);
        let credentials = header("authorization");
        let is_known = match self.is_plain {
            true => credentials.is_empty(),
            false => credentials == format!("Bearer {TOKEN}"),
        };
        if !is_known {
            return Ok(unauthorized());
        }
        match fault {
            None => Ok(self.right_answer(&asked)),
            Some(Fault::Slow(duration)) => {
                tokio::time::sleep(duration).await;
                Ok(self.right_answer(&asked))
            }
            Some(Fault::Refuse) => Ok(forbidden(&asked)),
            Some(Fault::Unauthorized) => Ok(unauthorized()),
            Some(Fault::Busy) => {
                let mut busy = text(429, "Too many requests, please try again later.\n");
                busy.headers_mut()
                    .insert("retry-after", "1".parse().unwrap());
                Ok(busy)
            }
            Some(Fault::Proxy(code, words)) => Ok(text(code, words)),
            Some(Fault::Broken) => Ok(failure(
                500,
                "",
                "etcdserver: request timed out",
                Value::Null,
            )),
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Drop) => Err(Dropped),
            Some(Fault::Garbage) => Ok(text(200, "<html>It works!</html>")),
            Some(Fault::Flood) => Ok(text(200, &" ".repeat(9 << 20))),
            Some(Fault::OtherKind) => Ok(json_of(
                200,
                &json!({ "kind": "Pod", "apiVersion": "v1", "metadata": {} }),
            )),
            Some(Fault::Status(status)) => Ok(reviewed(&asked, status())),
        }
    }

    fn right_answer(&self, asked: &HubRequest) -> Response<Full<Bytes>> {
        let Some((verb, group, resource, name)) = request_info(asked) else {
            return text(404, "404 page not found\n");
        };
        if !RIGHTS.contains(&(verb, group, resource)) {
            return forbidden(asked);
        }
        match verb {
            "create" => {
                assert_eq!(asked.path, SUBJECT_ACCESS_REVIEWS);
                reviewed(asked, self.review(&asked.body["spec"]))
            }
            "get" => match self.objects.lock().unwrap().get(&asked.path) {
                Some(object) if asked.wants("PartialObjectMetadata") => {
                    json_of(200, &partial(object))
                }
                Some(object) => json_of(200, object),
                None => not_found(group, resource, name),
            },
            _ => {
                let objects = self.objects.lock().unwrap();
                let within = format!("{}/", asked.path);
                let items = objects.range(within.clone()..);
                let items = items.take_while(|(path, _)| path.starts_with(&within));
                let partially = asked.wants("PartialObjectMetadataList");
                let items: Vec<_> = items
                    .map(|(_, object)| {
                        if partially {
                            partial(object)
                        } else {
                            object.clone()
                        }
                    })
                    .collect();
                let (api, kind) = if partially {
                    ("meta.k8s.io/v1", "PartialObjectMetadataList")
                } else {
                    (
                        "cluster.open-cluster-management.io/v1beta2",
                        "ManagedClusterSetBindingList",
                    )
                };
                json_of(
                    200,
                    &json!({ "apiVersion": api, "kind": kind, "metadata": {}, "items": items }),
                )
            }
        }
    }

    /// The `status` of a SubjectAccessReview.
    fn review(&self, spec: &Value) -> Value {
        let groups: Vec<String> =
            serde_json::from_value(spec["groups"].clone()).unwrap_or_default();
        let subject = Subject {
            user: spec["user"].as_str().unwrap_or_default(),
            groups: &groups,
        };
        let attribute = |name: &str| {
            spec["resourceAttributes"][name]
                .as_str()
                .unwrap_or_default()
        };
        let request = berth_rbac::Request::Resource {
            verb: attribute("verb"),
            api_group: attribute("group"),
            resource: attribute("resource"),
            subresource: attribute("subresource"),
            name: attribute("name"),
            namespace: attribute("namespace"),
        };
        match self.policy.lock().unwrap().evaluate(&subject, &request) {
            Verdict::Allowed(grant) => {
                json!({ "allowed": true, "reason": format!("RBAC: allowed by {grant}") })
            }
            Verdict::NoOpinion { errors } if errors.is_empty() => json!({ "allowed": false }),
            Verdict::NoOpinion { errors } => {
                let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
                json!({ "allowed": false, "reason": errors.join(", ") })
            }
        }
    }
}

impl HubRequest {
    /// Returns true if the gate has the right to this request, and its path consists of valid names.
    pub fn is_permitted(&self) -> bool {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let named = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric());
        let mut parts = self.path.split('/').skip(1);
        let (verb, group, resource, _) = request_info(self).unwrap_or_default();
        parts.all(|part| named(part) && part.chars().all(plain))
            && RIGHTS.contains(&(verb, group, resource))
    }

    fn wants(&self, kind: &str) -> bool {
        self.accept.contains(&format!("as={kind};"))
    }
}

/// Counts a request while the hub handles it.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The verb, API group, resource and name that an API server reads from a request.
fn request_info(asked: &HubRequest) -> Option<(&str, &str, &str, &str)> {
    let mut parts: Vec<_> = asked.path.strip_prefix('/')?.split('/').collect();
    let group = match parts[0] {
        "api" => "",
        "apis" => parts.remove(1),
        _ => return None,
    };
    parts.drain(..2);
    if parts.len() > 2 && parts[0] == "namespaces" {
        parts.drain(..2);
    }
    let (resource, name) = match parts[..] {
        [resource] => (resource, ""),
        [resource, name] => (resource, name),
        _ => return None,
    };
    let verb = match (asked.method.as_str(), name) {
        ("POST", "") => "create",
        ("GET", "") => "list",
        ("GET", _) => "get",
        _ => return None,
    };
    Some((verb, group, resource, name))
}

fn reviewed(asked: &HubRequest, status: Value) -> Response<Full<Bytes>> {
    let mut review = asked.body.clone();
    review["metadata"] = json!({});
    review["status"] = status;
    json_of(201, &review)
}

fn partial(object: &Value) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object["metadata"],
    })
}

fn unauthorized() -> Response<Full<Bytes>> {
    failure(401, "Unauthorized", "Unauthorized", Value::Null)
}

fn forbidden(asked: &HubRequest) -> Response<Full<Bytes>> {
    let (verb, group, resource, name) = request_info(asked).unwrap_or_default();
    let dot = if group.is_empty() { "" } else { "." };
    let named = if name.is_empty() {
        String::new()
    } else {
        format!(" {name:?}")
    };
    let message = format!(
        "{resource}{dot}{group}{named} is forbidden: User {GATE:?} cannot {verb} resource {resource:?} \
         in API group {group:?} at the cluster scope"
    );
    let details = json!({ "name": name, "group": group, "kind": resource });
    failure(403, "Forbidden", &message, details)
}

fn not_found(group: &str, resource: &str, name: &str) -> Response<Full<Bytes>> {
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("{resource}{dot}{group} {name:?} not found");
    let details = json!({ "name": name, "group": group, "kind": resource });
    failure(404, "NotFound", &message, details)
}

fn failure(code: u16, reason: &str, message: &str, details: Value) -> Response<Full<Bytes>> {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    json_of(code, &status)
}

fn json_of(code: u16, value: &Value) -> Response<Full<Bytes>> {
    let mut response = text(code, &value.to_string());
    let json = "application/json".parse().unwrap();
    response.headers_mut().insert("content-type", json);
    response
}

fn text(code: u16, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text.to_owned()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}
