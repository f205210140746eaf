//! The user and the request to evaluate. Both borrow their strings.

use berth_api::names;

/// An authenticated user: the name and all groups.
///
/// Evaluation does not add to `groups`: neither `system:authenticated` nor a service account's groups. A caller with only a name uses
/// [`implied_groups`].
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a, G = String> {
    /// The user name; for a service account `system:serviceaccount:<namespace>:<name>`.
    pub user: &'a str,
    /// The groups, in any order.
    pub groups: &'a [G],
}

impl<G: AsRef<str>> Subject<'_, G> {
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own.as_ref() == group)
    }
}

/// The action to evaluate. An empty string means absent, as in a SubjectAccessReview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// A verb on API objects.
    Resource {
        /// `get`, `create`, ...; `*` means all verbs.
        verb: &'a str,
        /// The API group; empty for the core group.
        api_group: &'a str,
        /// The plural resource name, without the subresource.
        resource: &'a str,
        /// The subresource; empty for the resource itself.
        subresource: &'a str,
        /// The object's name; empty if it is not known (`list`, `create` of most kinds), or for all objects.
        name: &'a str,
        /// The namespace; empty for cluster-scoped resources and for all namespaces.
        namespace: &'a str,
    },
    /// A verb on a path that is not an API object, such as `/healthz`.
    NonResource {
        /// The HTTP method in lower case.
        verb: &'a str,
        /// The path, with its leading slash.
        path: &'a str,
    },
}

impl<'a> Request<'a> {
    /// The namespace whose RoleBindings apply; empty for cluster-scoped requests.
    pub(crate) fn namespace(&self) -> &'a str {
        match *self {
            Request::Resource { namespace, .. } => namespace,
            Request::NonResource { .. } => "",
        }
    }
}

/// Returns the groups that a hub derives from the user name alone.
///
/// A service account gets `system:serviceaccounts`, `system:serviceaccounts:<namespace>` and `system:authenticated`;
/// `system:anonymous` gets `system:unauthenticated`; any other user gets `system:authenticated`. An impersonated user without
/// explicit groups gets the same groups
/// (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>).
#[must_use]
pub fn implied_groups(user: &str) -> Vec<String> {
    if user == "system:anonymous" {
        return vec!["system:unauthenticated".to_owned()];
    }
    let mut groups = Vec::new();
    if let Some((namespace, _)) = service_account(user) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups.push("system:authenticated".to_owned());
    groups
}

pub(crate) const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Returns namespace and name of a service account from its user name, or `None` for another user.
///
/// A similar name is an ordinary user, such as `system:serviceaccount:a:b:c`.
#[must_use]
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let valid = names::is_dns1123_label(namespace) && names::is_dns1123_subdomain(name);
    valid.then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::implied_groups;

    #[test]
    fn a_name_implies_the_groups_a_hub_would_add() {
        let account = [
            "system:serviceaccounts",
            "system:serviceaccounts:ci",
            "system:authenticated",
        ];
        let rows: &[(&str, &str, &[&str])] = &[
            (
                "a person is authenticated",
                "alice",
                &["system:authenticated"],
            ),
            (
                "a service account is in its namespace's group",
                "system:serviceaccount:ci:pipeline",
                &account,
            ),
            (
                "a service account's name may have dots",
                "system:serviceaccount:ci:build.bot",
                &account,
            ),
            (
                "a third colon makes an ordinary user",
                "system:serviceaccount:ci:a:b",
                &["system:authenticated"],
            ),
            (
                "no name, no service account",
                "system:serviceaccount:ci:",
                &["system:authenticated"],
            ),
            (
                "no namespace, no service account",
                "system:serviceaccount::a",
                &["system:authenticated"],
            ),
            (
                "a namespace has no capitals",
                "system:serviceaccount:CI:a",
                &["system:authenticated"],
            ),
            (
                "a namespace does not end in a dash",
                "system:serviceaccount:ci-:a",
                &["system:authenticated"],
            ),
            (
                "anonymous is not authenticated",
                "system:anonymous",
                &["system:unauthenticated"],
            ),
        ];
        for (sentence, user, expected) in rows {
            assert_eq!(implied_groups(user), *expected, "{sentence}");
        }
    }
}
