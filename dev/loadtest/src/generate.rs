//! Generates reviews as a kube-apiserver sends them, with the fields of `tests/data/reviews` in the same order.
//!
//! A write of a cluster is two reviews, first for the mutating path, then for the validating one; a write of a binding is one review.
//! All bodies are built before the load begins; each request changes only the 36 bytes of its uid.

use berth_api::{groups, labels};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::check::Expect;
use crate::mix::{Mix, WriteKind};
use crate::script::{Review, Script, Uid, paths};

/// The requester of a write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

/// The parameters of the reviews.
pub(crate) struct Ingredients<'a> {
    pub(crate) mix: &'a Mix,
    /// Number of clusters, and of namespaces; at least one.
    pub(crate) names: usize,
    /// At least one; they take turns.
    pub(crate) users: &'a [User],
    /// Clusters move from the first to the second.
    pub(crate) sets: &'a [String; 2],
    pub(crate) expect: &'a dyn Fn(WriteKind) -> Expect,
    /// The time in the objects.
    pub(crate) now: Timestamp,
}

/// Placeholder of the request's uid until it is sent.
const NO_UID: &str = "00000000-0000-4000-8000-000000000000";

/// Builds one round of the mix for each name.
pub(crate) fn script(from: &Ingredients<'_>) -> Script {
    let kinds: Vec<WriteKind> = from.mix.kinds().collect();
    let mut script = Script {
        labels: kinds.iter().map(|kind| kind.name().to_owned()).collect(),
        reviews: Vec::new(),
        order: Vec::new(),
    };
    let round = from.mix.round();
    for number in 0..from.names {
        let user = &from.users[number % from.users.len()];
        let first = script.reviews.len();
        // The range of the reviews of each kind.
        let mut ends = vec![first];
        for (label, kind) in kinds.iter().enumerate() {
            for (path, request) in requests(*kind, number, user, from) {
                script
                    .reviews
                    .push(review(label, path, request, (from.expect)(*kind)));
            }
            ends.push(script.reviews.len());
        }
        for kind in &round {
            let label = kinds.iter().position(|each| each == kind).unwrap_or(0);
            let reviews = ends[label]..ends[label + 1];
            // Names are at most 1000 and kinds five, so that there are fewer than 2^32.
            script.order.extend(reviews.map(|i| i as u32));
        }
    }
    script
}

fn review(label: usize, path: &'static str, request: Request<'_>, expect: Expect) -> Review {
    let review = Envelope {
        kind: "AdmissionReview",
        api_version: "admission.k8s.io/v1",
        request,
    };
    let body = serde_json::to_vec(&review).unwrap_or_default();
    let uid = NO_UID.as_bytes();
    // It is the first field of the request.
    let at = body.windows(uid.len()).position(|window| window == uid);
    Review {
        label,
        path,
        body,
        uid: at.map_or(Uid::Any, Uid::FreshAt),
        expect,
    }
}

/// Returns a random uid for a request.
pub(crate) fn fresh_uid() -> [u8; 36] {
    let mut text = [0; 36];
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes())
        .into_uuid()
        .hyphenated()
        .encode_lower(&mut text);
    text
}

/// Builds the requests of one write.
fn requests<'a>(
    kind: WriteKind,
    number: usize,
    user: &'a User,
    from: &'a Ingredients<'_>,
) -> Vec<(&'static str, Request<'a>)> {
    let name = format!("loadtest-{number}");
    let [from_set, to_set] = from.sets;
    let cluster = Cluster {
        name: &name,
        set: from_set,
        accepted: true,
        note: None,
        manager: "kubectl-create",
        now: from.now,
    };
    let update = |manager, old: &Cluster<'_>, new: &Cluster<'_>| {
        [paths::MUTATE_CLUSTER, paths::VALIDATE_CLUSTER].map(|path| {
            let resource = Resource::CLUSTER;
            let mut request = Request::new(resource, name.clone(), "UPDATE", user, manager);
            request.object = new.stored();
            request.old_object = old.stored();
            (path, request)
        })
    };
    match kind {
        WriteKind::Update => {
            let new = Cluster {
                note: Some("busy"),
                manager: "kubectl-annotate",
                ..cluster
            };
            update("kubectl-annotate", &cluster, &new).into()
        }
        WriteKind::Accept => {
            let old = Cluster {
                accepted: false,
                ..cluster
            };
            let new = Cluster {
                manager: "kubectl-patch",
                ..cluster
            };
            update("kubectl-patch", &old, &new).into()
        }
        WriteKind::Move => {
            let new = Cluster {
                set: to_set,
                manager: "kubectl-label",
                ..cluster
            };
            update("kubectl-label", &cluster, &new).into()
        }
        WriteKind::Create => {
            // As its agent creates it: without a set, not accepted.
            let asks = Cluster {
                set: "",
                accepted: false,
                ..cluster
            };
            let defaulted = Cluster {
                set: labels::DEFAULT_SET,
                ..asks
            };
            let create = |path, object| {
                let manager = asks.manager;
                let mut request =
                    Request::new(Resource::CLUSTER, name.clone(), "CREATE", user, manager);
                request.object = object;
                (path, request)
            };
            vec![
                create(paths::MUTATE_CLUSTER, asks.sent()),
                create(paths::VALIDATE_CLUSTER, defaulted.created()),
            ]
        }
        WriteKind::Bind => {
            let set = &from.sets[number % 2];
            let namespace = format!("loadtest-ns-{number}");
            let object = binding(set, &namespace, from.now);
            let mut request = Request::new(
                Resource::BINDING,
                set.clone(),
                "CREATE",
                user,
                "kubectl-create",
            );
            request.namespace = Some(namespace);
            request.object = object;
            vec![(paths::VALIDATE_BINDING, request)]
        }
    }
}

/// The state of a ManagedCluster.
#[derive(Clone, Copy)]
struct Cluster<'a> {
    name: &'a str,
    /// Empty without a set.
    set: &'a str,
    accepted: bool,
    note: Option<&'a str>,
    manager: &'a str,
    now: Timestamp,
}

impl Cluster<'_> {
    /// The object as its author sent it, with managedFields.
    fn sent(&self) -> Value {
        let api_version = format!("{}/v1", groups::CLUSTER);
        let managed = |manager: &str, fields: &Value| {
            json!({
                "apiVersion": api_version, "fieldsType": "FieldsV1", "fieldsV1": fields,
                "manager": manager, "operation": "Update", "time": timestamp(self.now),
            })
        };
        let created =
            json!({"f:spec": {".": {}, "f:hubAcceptsClient": {}, "f:leaseDurationSeconds": {}}});
        let changed = match self.manager {
            "kubectl-annotate" => json!({"f:metadata": {"f:annotations": {".": {}, "f:note": {}}}}),
            "kubectl-label" => {
                json!({"f:metadata": {"f:labels": {format!("f:{}", labels::CLUSTER_SET): {}}}})
            }
            _ => json!({"f:spec": {"f:hubAcceptsClient": {}}}),
        };
        let mut managers = vec![managed("kubectl-create", &created)];
        if self.manager != "kubectl-create" {
            managers.push(managed(self.manager, &changed));
        }
        let mut metadata = json!({"managedFields": managers, "name": self.name});
        if !self.set.is_empty() {
            metadata["labels"] = json!({labels::CLUSTER_SET: self.set});
        }
        if let Some(note) = self.note {
            metadata["annotations"] = json!({"note": note});
        }
        json!({
            "apiVersion": api_version,
            "kind": "ManagedCluster",
            "metadata": metadata,
            "spec": {"hubAcceptsClient": self.accepted, "leaseDurationSeconds": 60},
        })
    }

    /// The object before it is stored for the first time.
    fn created(&self) -> Value {
        let mut object = self.sent();
        object["metadata"]["creationTimestamp"] = timestamp(self.now);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["uid"] = json!(uid_of(self.name));
        object
    }

    /// The object as stored.
    fn stored(&self) -> Value {
        let mut object = self.created();
        object["metadata"]["resourceVersion"] = json!("4711");
        object
    }
}

fn binding(set: &str, namespace: &str, now: Timestamp) -> Value {
    let api_version = format!("{}/v1beta2", groups::CLUSTER);
    json!({
        "apiVersion": api_version,
        "kind": "ManagedClusterSetBinding",
        "metadata": {
            "creationTimestamp": timestamp(now),
            "generation": 1,
            "managedFields": [{
                "apiVersion": api_version, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {".": {}, "f:clusterSet": {}}},
                "manager": "kubectl-create", "operation": "Update", "time": timestamp(now),
            }],
            "name": set,
            "namespace": namespace,
            "uid": uid_of(namespace),
        },
        "spec": {"clusterSet": set},
    })
}

/// Formats a time to the second, as Kubernetes does.
fn timestamp(at: Timestamp) -> Value {
    json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Returns the uid of an object, which depends only on its name.
fn uid_of(name: &str) -> String {
    let mut bytes = [0; 16];
    for (i, byte) in name.bytes().enumerate() {
        bytes[i % 16] ^= byte.rotate_left(i as u32 % 8);
    }
    let uuid: Uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
    uuid.hyphenated().to_string()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: Request<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: &'static str,
    kind: GroupKind,
    resource: GroupResource,
    request_kind: GroupKind,
    request_resource: GroupResource,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    operation: &'static str,
    user_info: UserInfo<'a>,
    object: Value,
    old_object: Value,
    dry_run: bool,
    options: Value,
}

#[derive(Clone, Copy, Serialize)]
struct GroupKind {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
}

#[derive(Clone, Copy, Serialize)]
struct GroupResource {
    group: &'static str,
    version: &'static str,
    resource: &'static str,
}

#[derive(Serialize)]
struct UserInfo<'a> {
    username: &'a str,
    groups: Vec<&'a str>,
    extra: Value,
}

/// WriteKind and resource of a request.
struct Resource(GroupKind, GroupResource);

impl Resource {
    const CLUSTER: Self = Self::new("v1", "ManagedCluster", groups::MANAGED_CLUSTERS);
    const BINDING: Self = Self::new(
        "v1beta2",
        "ManagedClusterSetBinding",
        groups::MANAGED_CLUSTER_SET_BINDINGS,
    );

    const fn new(version: &'static str, kind: &'static str, resource: &'static str) -> Self {
        let group = groups::CLUSTER;
        Self(
            GroupKind {
                group,
                version,
                kind,
            },
            GroupResource {
                group,
                version,
                resource,
            },
        )
    }
}

impl<'a> Request<'a> {
    fn new(
        Resource(kind, resource): Resource,
        name: String,
        operation: &'static str,
        user: &'a User,
        manager: &str,
    ) -> Self {
        let options = match operation {
            "CREATE" => json!({
                "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
                "fieldManager": manager, "fieldValidation": "Strict",
            }),
            _ => json!({
                "kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": manager,
            }),
        };
        let groups = user.groups.iter().map(String::as_str);
        // As an API server describes a client certificate.
        let credential = format!("X509SHA256={:064x}", 0x4711);
        Self {
            uid: NO_UID,
            kind,
            resource,
            request_kind: kind,
            request_resource: resource,
            name,
            namespace: None,
            operation,
            user_info: UserInfo {
                username: &user.name,
                groups: groups.chain(["system:authenticated"]).collect(),
                extra: json!({"authentication.kubernetes.io/credential-id": [credential]}),
            },
            object: Value::Null,
            old_object: Value::Null,
            dry_run: false,
            options,
        }
    }
}

#[cfg(test)]
mod tests;
