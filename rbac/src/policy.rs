//! The set of RBAC objects, and the evaluation of requests.

use crate::bindings::{Binding, Bindings};
use crate::check::{self, InvalidObject};
use crate::cluster_roles::ClusterRoles;
use crate::verdict::{Grant, Grantee, MissingRole, ObjectRef, RbacKind, Verdict};
use crate::{Request, Subject, rule};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use std::collections::{BTreeMap, HashMap};

/// RBAC objects as a hub stores them. They can be added in any order, because evaluation resolves references.
///
/// Each `upsert_*` adds an object or replaces the object of the same name (and namespace). If it returns an error, the policy is
/// unchanged. Each `remove_*` returns whether the object existed.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    superusers: Vec<String>,
    cluster_roles: ClusterRoles,
    /// Rules by namespace and name.
    roles: HashMap<String, BTreeMap<String, Vec<PolicyRule>>>,
    cluster_role_bindings: Bindings,
    /// By namespace.
    role_bindings: HashMap<String, Bindings>,
}

/// The permissions of a subject; see [`Policy::rules_for`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The rules of every binding that applies, in the order of evaluation.
    pub rules: Vec<PolicyRule>,
    /// As in [`Verdict::NoOpinion`]. If not empty, the rules may be incomplete.
    pub errors: Vec<MissingRole>,
}

impl Policy {
    /// Returns a policy without objects, which allows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows everything to the members of a group. Each call adds a group.
    ///
    /// A hub does this for `system:masters` before RBAC; a policy does not by default.
    #[must_use]
    pub fn with_superusers(mut self, group: impl Into<String>) -> Self {
        self.superusers.push(group.into());
        self
    }

    /// Adds or replaces a ClusterRole. With an `aggregationRule`, its own rules are ignored.
    ///
    /// # Errors
    /// A hub would refuse to store the object.
    pub fn upsert_cluster_role(&mut self, role: ClusterRole) -> Result<(), InvalidObject> {
        let object = check::object_ref(RbacKind::ClusterRole, &role.metadata)?;
        check::check_rules(&object, role.rules.as_deref().unwrap_or_default())?;
        if let Some(aggregation) = &role.aggregation_rule {
            check::check_aggregation(&object, aggregation)?;
        }
        self.cluster_roles.upsert(object.name, role);
        Ok(())
    }

    /// Removes a ClusterRole. Its bindings remain, but grant nothing.
    pub fn remove_cluster_role(&mut self, name: &str) -> bool {
        self.cluster_roles.remove(name)
    }

    /// Adds or replaces a Role.
    ///
    /// # Errors
    /// A hub would refuse to store the object.
    pub fn upsert_role(&mut self, role: Role) -> Result<(), InvalidObject> {
        let object = check::object_ref(RbacKind::Role, &role.metadata)?;
        let rules = role.rules.unwrap_or_default();
        check::check_rules(&object, &rules)?;
        self.roles
            .entry(object.namespace.unwrap_or_default())
            .or_default()
            .insert(object.name, rules);
        Ok(())
    }

    /// Removes a Role. Its bindings remain, but grant nothing.
    pub fn remove_role(&mut self, namespace: &str, name: &str) -> bool {
        let Some(roles) = self.roles.get_mut(namespace) else {
            return false;
        };
        let removed = roles.remove(name).is_some();
        if roles.is_empty() {
            self.roles.remove(namespace);
        }
        removed
    }

    /// Adds or replaces a ClusterRoleBinding.
    ///
    /// # Errors
    /// A hub would refuse to store the object.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "all four take the object by value"
    )]
    pub fn upsert_cluster_role_binding(
        &mut self,
        binding: ClusterRoleBinding,
    ) -> Result<(), InvalidObject> {
        let object = check::object_ref(RbacKind::ClusterRoleBinding, &binding.metadata)?;
        let subjects = binding.subjects.as_deref().unwrap_or_default();
        let (role, subjects) = check::read_binding(&object, &binding.role_ref, subjects)?;
        self.cluster_role_bindings.upsert(Binding {
            object,
            role,
            subjects,
        });
        Ok(())
    }

    /// Removes a ClusterRoleBinding.
    pub fn remove_cluster_role_binding(&mut self, name: &str) -> bool {
        self.cluster_role_bindings.remove(name)
    }

    /// Adds or replaces a RoleBinding.
    ///
    /// # Errors
    /// A hub would refuse to store the object.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "all four take the object by value"
    )]
    pub fn upsert_role_binding(&mut self, binding: RoleBinding) -> Result<(), InvalidObject> {
        let object = check::object_ref(RbacKind::RoleBinding, &binding.metadata)?;
        let subjects = binding.subjects.as_deref().unwrap_or_default();
        let (role, subjects) = check::read_binding(&object, &binding.role_ref, subjects)?;
        let namespace = object.namespace.clone().unwrap_or_default();
        self.role_bindings
            .entry(namespace)
            .or_default()
            .upsert(Binding {
                object,
                role,
                subjects,
            });
        Ok(())
    }

    /// Removes a RoleBinding.
    pub fn remove_role_binding(&mut self, namespace: &str, name: &str) -> bool {
        let Some(bindings) = self.role_bindings.get_mut(namespace) else {
            return false;
        };
        let removed = bindings.remove(name);
        if bindings.is_empty() {
            self.role_bindings.remove(namespace);
        }
        removed
    }

    /// Decides one request, as the RBAC authorizer of kube-apiserver does.
    ///
    /// The ClusterRoleBindings are evaluated first, then the RoleBindings of the request's namespace, each in name order. The verdict
    /// names the first binding that allows the request. A RoleBinding applies only to requests in its own namespace.
    #[must_use]
    pub fn evaluate<G: AsRef<str>>(
        &self,
        subject: &Subject<'_, G>,
        request: &Request<'_>,
    ) -> Verdict {
        if let Some(group) = self.superuser_group(subject) {
            return Verdict::Allowed(Grant::Superuser {
                group: group.to_owned(),
            });
        }
        let mut errors = Vec::new();
        for (binding, grantee) in self.bindings_for(subject, request.namespace()) {
            match self.rules_by(binding) {
                Ok(rules) if rules.iter().any(|rule| rule::allows(rule, request)) => {
                    let (binding, role) = (binding.object.clone(), binding.role.clone());
                    return Verdict::Allowed(Grant::Binding {
                        binding,
                        role,
                        subject: grantee.clone(),
                    });
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        Verdict::NoOpinion { errors }
    }

    /// Lists the subject's permissions in a namespace (empty: those that apply in every namespace), as a SelfSubjectRulesReview does.
    /// A rule may occur more than once. As on a hub, a rule for paths is listed even from a RoleBinding, which does not grant paths.
    #[must_use]
    pub fn rules_for<G: AsRef<str>>(&self, subject: &Subject<'_, G>, namespace: &str) -> Rules {
        let mut answer = Rules::default();
        if self.superuser_group(subject).is_some() {
            let all = || vec!["*".to_owned()];
            let resources = PolicyRule {
                api_groups: Some(all()),
                resources: Some(all()),
                verbs: all(),
                ..Default::default()
            };
            let paths = PolicyRule {
                non_resource_urls: Some(all()),
                verbs: all(),
                ..Default::default()
            };
            answer.rules.extend([resources, paths]);
        }
        for (binding, _) in self.bindings_for(subject, namespace) {
            match self.rules_by(binding) {
                Ok(rules) => answer.rules.extend(rules.into_iter().cloned()),
                Err(error) => answer.errors.push(error),
            }
        }
        answer
    }

    fn superuser_group<G: AsRef<str>>(&self, subject: &Subject<'_, G>) -> Option<&str> {
        self.superusers
            .iter()
            .map(String::as_str)
            .find(|group| subject.is_in(group))
    }

    fn bindings_for<G: AsRef<str>>(
        &self,
        subject: &Subject<'_, G>,
        namespace: &str,
    ) -> impl Iterator<Item = (&Binding, &Grantee)> {
        let in_namespace = self.role_bindings.get(namespace).into_iter();
        let in_namespace = in_namespace.flat_map(move |bindings| bindings.applying_to(subject));
        self.cluster_role_bindings
            .applying_to(subject)
            .chain(in_namespace)
    }

    /// Returns the rules of a Role or ClusterRole, or `None` if it does not exist. An aggregated role has the rules that its selectors
    /// yield, in the order of the aggregation controller and without duplicates.
    #[must_use]
    pub fn rules_of(&self, role: &ObjectRef) -> Option<Vec<&PolicyRule>> {
        let ObjectRef {
            namespace, name, ..
        } = role;
        match namespace {
            None => self.cluster_roles.rules(name),
            Some(namespace) => {
                let rules = self.roles.get(namespace).and_then(|roles| roles.get(name));
                rules.map(|rules| rules.iter().collect())
            }
        }
    }

    /// Returns the names of the ClusterRoles with an `aggregationRule`.
    pub fn aggregated(&self) -> impl Iterator<Item = &str> {
        self.cluster_roles.aggregated()
    }

    fn rules_by(&self, binding: &Binding) -> Result<Vec<&PolicyRule>, MissingRole> {
        self.rules_of(&binding.role).ok_or_else(|| MissingRole {
            binding: binding.object.clone(),
            role: binding.role.clone(),
        })
    }
}
