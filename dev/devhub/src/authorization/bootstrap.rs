//! The RBAC objects that a new hub has: Kubernetes' own, as far as there is something for them here.
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings>)

use std::collections::BTreeMap;

use berth_rbac::Policy;
use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role as NamespacedRole, RoleRef,
    Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;
use serde_json::to_value;

use super::GROUP;
use crate::object::Object;

/// A role: its name, and its rules.
type Role = (&'static str, &'static [&'static str]);

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Aggregated roles, with the role whose rules they have, and the role they are part of.
const AGGREGATED: [(&str, Option<&str>); 3] = [
    ("admin", None),
    ("edit", Some("admin")),
    ("view", Some("edit")),
];

/// A line is a rule: verbs, groups (`core` is the core group), resources, names if any; or verbs and paths. `read` and
/// `write` are short for the verbs of both.
const ROLES: &[Role] = &[
    ("cluster-admin", &["* * *", "* *"]),
    (
        "system:discovery",
        &[
            "get /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/",
        ],
    ),
    (
        "system:monitoring",
        &[
            "get /healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*",
            "get core nodes/metrics",
        ],
    ),
    (
        "system:basic-user",
        &[
            "create authorization.k8s.io selfsubjectaccessreviews,selfsubjectrulesreviews",
            "create authentication.k8s.io selfsubjectreviews",
        ],
    ),
    (
        "system:public-info-viewer",
        &["get /healthz,/livez,/readyz,/version,/version/"],
    ),
    (
        "system:auth-delegator",
        &[
            "create authentication.k8s.io tokenreviews",
            "create authorization.k8s.io subjectaccessreviews",
        ],
    ),
    (
        "system:aggregate-to-admin",
        &[
            "create authorization.k8s.io localsubjectaccessreviews",
            "read,write rbac.authorization.k8s.io rolebindings,roles",
        ],
    ),
    (
        "system:aggregate-to-edit",
        &[
            "read core pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy",
            "impersonate core serviceaccounts",
            "write core pods,pods/attach,pods/exec,pods/portforward,pods/proxy",
            "create core pods/eviction",
            "write core configmaps,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy",
            "create core serviceaccounts/token",
            "write core,events.k8s.io events",
            "write apps daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,statefulsets/scale",
            "write autoscaling horizontalpodautoscalers",
            "write batch cronjobs,jobs",
            "write policy poddisruptionbudgets",
            "write networking.k8s.io ingresses,networkpolicies",
            "read,write coordination.k8s.io leases",
        ],
    ),
    (
        "system:aggregate-to-view",
        &[
            "read core configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
            "read core bindings,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status",
            "read core namespaces",
            "read core,events.k8s.io events",
            "read discovery.k8s.io endpointslices",
            "read apps controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status",
            "read autoscaling horizontalpodautoscalers,horizontalpodautoscalers/status",
            "read batch cronjobs,cronjobs/status,jobs,jobs/status",
            "read policy poddisruptionbudgets,poddisruptionbudgets/status",
            "read networking.k8s.io ingresses,ingresses/status,networkpolicies",
        ],
    ),
];

/// ClusterRoles with the groups that have them.
const BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &["system:masters"]),
    ("system:monitoring", &["system:monitoring"]),
    ("system:discovery", &["system:authenticated"]),
    ("system:basic-user", &["system:authenticated"]),
    (
        "system:public-info-viewer",
        &["system:authenticated", "system:unauthenticated"],
    ),
];

/// ClusterRoles and ClusterRoleBindings; aggregated roles have their rules. What every object has besides (uid,
/// creationTimestamp, ...) is up to whoever stores them.
pub(crate) fn objects() -> Vec<Object> {
    let mut roles: Vec<_> = ROLES.iter().map(plain).collect();
    roles.extend(
        AGGREGATED
            .iter()
            .map(|&(name, part_of)| aggregated(name, part_of)),
    );
    let mut policy = Policy::new();
    for role in &roles {
        policy
            .upsert_cluster_role(role.clone())
            .expect("the roles above are valid; a test says so");
    }
    for (name, rules) in super::aggregated(&policy) {
        for role in &mut roles {
            if role.metadata.name.as_ref() == Some(&name) {
                role.rules = Some(rules.clone());
            }
        }
    }
    let bindings = BINDINGS.iter().map(|(name, groups)| binding(name, groups));
    let roles = roles.iter().map(|role| object(role, "ClusterRole"));
    roles
        .chain([object(&authentication_reader(), "Role")])
        .chain(bindings.map(|binding| object(&binding, "ClusterRoleBinding")))
        .collect()
}

/// For servers that ask the hub who their clients are.
fn authentication_reader() -> NamespacedRole {
    NamespacedRole {
        metadata: ObjectMeta {
            namespace: Some("kube-system".to_owned()),
            ..metadata("extension-apiserver-authentication-reader", None)
        },
        rules: Some(vec![rule(
            "read core configmaps extension-apiserver-authentication",
        )]),
    }
}

fn plain(&(name, rules): &Role) -> ClusterRole {
    let labels = name.strip_prefix("system:aggregate-to-").map(part_of);
    ClusterRole {
        aggregation_rule: None,
        metadata: metadata(name, labels),
        rules: Some(rules.iter().map(|line| rule(line)).collect()),
    }
}

fn aggregated(name: &str, part: Option<&str>) -> ClusterRole {
    let (label, value) = part_of(name);
    let selector = LabelSelector {
        match_labels: Some([(label, value)].into()),
        ..LabelSelector::default()
    };
    ClusterRole {
        aggregation_rule: Some(AggregationRule {
            cluster_role_selectors: Some(vec![selector]),
        }),
        metadata: metadata(name, part.map(part_of)),
        rules: None,
    }
}

/// The label that makes a role part of another.
fn part_of(role: &str) -> (String, String) {
    (format!("{GROUP}/aggregate-to-{role}"), "true".to_owned())
}

fn binding(name: &str, groups: &[&str]) -> ClusterRoleBinding {
    let subject = |group: &&str| Subject {
        api_group: Some(GROUP.to_owned()),
        kind: "Group".to_owned(),
        name: (*group).to_owned(),
        namespace: None,
    };
    ClusterRoleBinding {
        metadata: metadata(name, None),
        role_ref: RoleRef {
            api_group: GROUP.to_owned(),
            kind: "ClusterRole".to_owned(),
            name: name.to_owned(),
        },
        subjects: Some(groups.iter().map(subject).collect()),
    }
}

fn metadata(name: &str, label: Option<(String, String)>) -> ObjectMeta {
    let own = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut labels: BTreeMap<_, _> = label.into_iter().collect();
    labels.extend([own("kubernetes.io/bootstrapping", "rbac-defaults")]);
    let annotation = own("rbac.authorization.kubernetes.io/autoupdate", "true");
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels),
        annotations: Some([annotation].into()),
        ..ObjectMeta::default()
    }
}

fn rule(line: &str) -> PolicyRule {
    let list = |word: &str| -> Vec<String> { word.split(',').map(str::to_owned).collect() };
    let words: Vec<&str> = line.split(' ').collect();
    let verbs = words[0].split(',').flat_map(|verb| match verb {
        "read" => READ.to_vec(),
        "write" => WRITE.to_vec(),
        other => vec![other],
    });
    let mut verbs: Vec<String> = verbs.map(str::to_owned).collect();
    verbs.sort();
    if let [_, paths] = words[..] {
        return PolicyRule {
            non_resource_urls: Some(list(paths)),
            verbs,
            ..PolicyRule::default()
        };
    }
    let groups = list(words[1]);
    let groups = groups.into_iter().map(|group| match group.as_str() {
        "core" => String::new(),
        _ => group,
    });
    PolicyRule {
        api_groups: Some(groups.collect()),
        resources: Some(list(words[2])),
        resource_names: words.get(3).map(|names| list(names)),
        verbs,
        ..PolicyRule::default()
    }
}

fn object(typed: &impl Serialize, kind: &str) -> Object {
    let value = to_value(typed).expect("typed objects are JSON");
    let mut object = Object::try_from(value).expect("typed objects have metadata");
    object.set_type(&format!("{GROUP}/v1"), kind);
    object
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_rbac::{Request, Subject};
    use serde_json::from_value;

    use super::*;

    fn policy() -> Policy {
        let mut policy = Policy::new();
        for object in objects() {
            let kind = object.kind().to_owned();
            let value = object.into_value();
            let added = match kind.as_str() {
                "ClusterRole" => policy.upsert_cluster_role(from_value(value).unwrap()),
                "Role" => policy.upsert_role(from_value(value).unwrap()),
                _ => policy.upsert_cluster_role_binding(from_value(value).unwrap()),
            };
            added.unwrap();
        }
        policy
    }

    #[test]
    fn a_new_hub_lets_people_look_around_and_no_more() {
        let policy = policy();
        let paths = [
            "/api",
            "/apis/apps/v1",
            "/version",
            "/openapi/v3",
            "/readyz",
        ];
        let subject = |group| Subject {
            user: "u",
            groups: group,
        };
        let everybody = ["system:authenticated"];
        for path in paths {
            let request = Request::NonResource { verb: "get", path };
            assert!(
                policy.evaluate(&subject(&everybody), &request).is_allowed(),
                "{path}"
            );
        }
        let review = |resource| Request::Resource {
            verb: "create",
            api_group: "authorization.k8s.io",
            resource,
            subresource: "",
            name: "",
            namespace: "",
        };
        let rows = [
            (&everybody, "selfsubjectaccessreviews", true),
            (&everybody, "subjectaccessreviews", false),
            (
                &["system:unauthenticated"],
                "selfsubjectaccessreviews",
                false,
            ),
            (&["system:masters"], "subjectaccessreviews", true),
        ];
        for (groups, resource, allowed) in rows {
            let verdict = policy.evaluate(&subject(groups), &review(resource));
            assert_eq!(verdict.is_allowed(), allowed, "{groups:?} {resource}");
        }
    }

    #[test]
    fn the_roles_for_people_hold_one_another() {
        let objects = objects();
        let rules = |name: &str| -> Vec<PolicyRule> {
            let mut named = objects.iter();
            let role = named.find(|role| role.kind() == "ClusterRole" && role.name() == name);
            from_value(role.unwrap().at(&["rules"]).unwrap().clone()).unwrap()
        };
        let lacking = |more: &str, less: &str| berth_rbac::not_covered(&rules(more), &rules(less));
        assert_eq!(lacking("edit", "view"), []);
        assert_eq!(lacking("admin", "edit"), []);
        assert_ne!(lacking("edit", "admin"), []);
        assert_ne!(lacking("view", "edit"), []);
        assert_eq!(lacking("cluster-admin", "admin"), []);
    }

    #[test]
    fn a_rule_is_a_line() {
        let rule = rule("create,read core,apps a,b c");
        assert_eq!(rule.verbs, ["create", "get", "list", "watch"]);
        assert_eq!(rule.api_groups.unwrap(), ["", "apps"]);
        assert_eq!(rule.resources.unwrap(), ["a", "b"]);
        assert_eq!(rule.resource_names.unwrap(), ["c"]);
    }
}
