//! Generates RBAC objects and questions from few words, so that they often match, and sometimes from any text.

use arbitrary::{Arbitrary, Result, Unstructured};
use berth_rbac::{Policy, RbacKind, Request, Subject};
use k8s_openapi::api::rbac;
use k8s_openapi::api::rbac::v1::{
    AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

const WORDS: [&str; 12] = [
    "a",
    "b",
    "c",
    "*",
    "*/a",
    "a/*",
    "a/b",
    "/a",
    "/a/*",
    "",
    "system:serviceaccount:a:b",
    "system:authenticated",
];

/// A word, usually one of [`WORDS`].
#[derive(Clone, Debug)]
pub(super) struct Word(String);

/// Usually one, rarely zero.
#[derive(Clone, Debug)]
struct Few<T>(Vec<T>);

#[derive(Arbitrary, Clone, Debug)]
pub(super) struct RbacObject {
    shape: Shape,
    name: Word,
    namespace: Word,
    label: Option<bool>,
    rules: Few<Rule>,
    subjects: Few<Bound>,
    role: Word,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Shape {
    ClusterRole,
    /// Aggregates the ClusterRoles with this label value.
    Aggregated(bool),
    Role,
    ClusterRoleBinding,
    /// Binds a ClusterRole or a Role.
    RoleBinding(bool),
}

#[derive(Arbitrary, Clone, Debug)]
struct Rule {
    paths: Seldom,
    groups: Few<Word>,
    resources: Few<Word>,
    names: Option<Few<Word>>,
    verbs: Few<Word>,
}

#[derive(Arbitrary, Clone, Debug)]
struct Bound {
    kind: u8,
    name: Word,
    namespace: Option<Word>,
}

#[derive(Arbitrary, Clone, Debug)]
pub(super) struct Question {
    user: Word,
    groups: Few<Word>,
    words: [Word; 6],
    subresource: Seldom,
    path: Seldom,
}

/// True in one of eight cases.
#[derive(Clone, Copy, Debug)]
struct Seldom(bool);

/// The user with the rules of [`holder_of`].
pub(super) fn holder() -> Subject<'static, Word> {
    Subject {
        user: "holder",
        groups: &[],
    }
}

/// Returns a policy in which [`holder`] has these rules everywhere.
pub(super) fn holder_of(rules: &[PolicyRule]) -> Policy {
    let metadata = || ObjectMeta {
        name: Some("held".to_owned()),
        ..ObjectMeta::default()
    };
    let mut policy = Policy::new();
    // A hub refuses a Role with a rule for paths.
    let role = ClusterRole {
        metadata: metadata(),
        rules: Some(rules.to_vec()),
        aggregation_rule: None,
    };
    let _ = policy.upsert_cluster_role(role);
    let binding = ClusterRoleBinding {
        metadata: metadata(),
        role_ref: RoleRef {
            api_group: String::new(),
            kind: "ClusterRole".to_owned(),
            name: "held".to_owned(),
        },
        subjects: Some(vec![rbac::v1::Subject {
            kind: "User".to_owned(),
            name: "holder".to_owned(),
            ..rbac::v1::Subject::default()
        }]),
    };
    policy
        .upsert_cluster_role_binding(binding)
        .expect("the binding is sound");
    policy
}

// === impl Word ===

impl<'a> Arbitrary<'a> for Word {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let which = usize::from(u8::arbitrary(bytes)?);
        // The first words most often.
        let word = match which {
            0..=199 => WORDS[which % 2].to_owned(),
            200..=251 => WORDS[which % WORDS.len()].to_owned(),
            _ => String::arbitrary(bytes)?,
        };
        Ok(Self(word))
    }
}

impl<'a, T: Arbitrary<'a>> Arbitrary<'a> for Few<T> {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        let length = [1, 1, 1, 1, 2, 2, 3, 0][usize::from(u8::arbitrary(bytes)? % 8)];
        list(bytes, length).map(Self)
    }
}

impl<'a> Arbitrary<'a> for Seldom {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self(u8::arbitrary(bytes)? % 8 == 7))
    }
}

/// A list of this length.
pub(super) fn list<'a, T: Arbitrary<'a>>(
    bytes: &mut Unstructured<'a>,
    length: usize,
) -> Result<Vec<T>> {
    (0..length).map(|_| T::arbitrary(bytes)).collect()
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

fn words(Few(words): &Few<Word>) -> Vec<String> {
    words.iter().map(|Word(word)| word.clone()).collect()
}

// === impl RbacObject ===

impl RbacObject {
    /// Returns the object under a unique name.
    pub(super) fn renamed(&self, prefix: &str) -> Self {
        let Word(name) = &self.name;
        Self {
            name: Word(format!("{prefix}-{name}")),
            ..self.clone()
        }
    }

    /// Kind, namespace and name.
    pub(super) fn id(&self) -> (RbacKind, &str, &str) {
        let (Word(name), Word(namespace)) = (&self.name, &self.namespace);
        match self.shape {
            Shape::ClusterRole | Shape::Aggregated(_) => (RbacKind::ClusterRole, "", name),
            Shape::Role => (RbacKind::Role, namespace, name),
            Shape::ClusterRoleBinding => (RbacKind::ClusterRoleBinding, "", name),
            Shape::RoleBinding(_) => (RbacKind::RoleBinding, namespace, name),
        }
    }

    /// Returns whether a policy accepts the object.
    pub(super) fn is_taken(&self) -> bool {
        self.try_add(&mut Policy::new())
    }

    /// Adds the object if the policy accepts it.
    pub(super) fn add_to(&self, policy: &mut Policy) {
        self.try_add(policy);
    }

    pub(super) fn rules(&self) -> Vec<PolicyRule> {
        let mut rules: Vec<_> = self.rules.0.iter().map(Rule::rule).collect();
        let mut policy = Policy::new();
        let role = ClusterRole {
            metadata: ObjectMeta {
                name: Some("a".to_owned()),
                ..ObjectMeta::default()
            },
            rules: Some(rules.clone()),
            aggregation_rule: None,
        };
        // The laws do not cover objects that a hub would not store.
        if policy.upsert_cluster_role(role).is_err() {
            rules.clear();
        }
        rules
    }

    fn try_add(&self, policy: &mut Policy) -> bool {
        let (_, namespace, name) = self.id();
        let label = self
            .label
            .map(|label| [("l".to_owned(), label.to_string())].into());
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            labels: label,
            ..ObjectMeta::default()
        };
        let rules = Some(self.rules.0.iter().map(Rule::rule).collect());
        let subjects = Some(self.subjects.0.iter().map(Bound::subject).collect());
        let role_ref = |cluster: bool| RoleRef {
            api_group: String::new(),
            kind: if cluster { "ClusterRole" } else { "Role" }.to_owned(),
            name: self.role.0.clone(),
        };
        match self.shape {
            Shape::ClusterRole => policy.upsert_cluster_role(ClusterRole {
                metadata,
                rules,
                aggregation_rule: None,
            }),
            Shape::Aggregated(label) => policy.upsert_cluster_role(ClusterRole {
                metadata,
                rules: None,
                aggregation_rule: Some(AggregationRule {
                    cluster_role_selectors: Some(vec![LabelSelector {
                        match_labels: Some([("l".to_owned(), label.to_string())].into()),
                        match_expressions: None,
                    }]),
                }),
            }),
            Shape::Role => policy.upsert_role(Role { metadata, rules }),
            Shape::ClusterRoleBinding => policy.upsert_cluster_role_binding(ClusterRoleBinding {
                metadata,
                role_ref: role_ref(true),
                subjects,
            }),
            Shape::RoleBinding(cluster) => policy.upsert_role_binding(RoleBinding {
                metadata,
                role_ref: role_ref(cluster),
                subjects,
            }),
        }
        .is_ok()
    }
}

// === impl Rule ===

impl Rule {
    fn rule(&self) -> PolicyRule {
        let verbs = words(&self.verbs);
        if self.paths.0 {
            return PolicyRule {
                non_resource_urls: Some(words(&self.resources)),
                verbs,
                ..PolicyRule::default()
            };
        }
        PolicyRule {
            api_groups: Some(words(&self.groups)),
            resources: Some(words(&self.resources)),
            resource_names: self.names.as_ref().map(words),
            verbs,
            non_resource_urls: None,
        }
    }
}

// === impl Bound ===

impl Bound {
    fn subject(&self) -> rbac::v1::Subject {
        let kind = ["User", "Group", "ServiceAccount"][usize::from(self.kind % 3)];
        rbac::v1::Subject {
            kind: kind.to_owned(),
            name: self.name.0.clone(),
            namespace: self
                .namespace
                .as_ref()
                .map(|Word(namespace)| namespace.clone()),
            api_group: None,
        }
    }
}

// === impl Question ===

impl Question {
    pub(super) fn subject(&self) -> Subject<'_, Word> {
        Subject {
            user: &self.user.0,
            groups: &self.groups.0,
        }
    }

    pub(super) fn request(&self) -> Request<'_> {
        let [verb, api_group, resource, subresource, name, namespace] =
            self.words.each_ref().map(|Word(word)| word.as_str());
        let subresource = if self.subresource.0 { subresource } else { "" };
        if self.path.0 {
            return Request::NonResource {
                verb,
                path: resource,
            };
        }
        Request::Resource {
            verb,
            api_group,
            resource,
            subresource,
            name,
            namespace,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        if self.path.0 { "" } else { &self.words[5].0 }
    }
}
