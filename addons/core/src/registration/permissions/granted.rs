//! Whether the agents of a cluster have what their template asks for.

use k8s_openapi::api::rbac::v1::RoleBinding;

use super::{Agent, Place, is_ours, places, subject_is_ready, subjects};

/// How the permissions of an agent stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Granted {
    /// It has all of them, or its template asks for none.
    All,
    /// It is not known yet as whom it acts.
    NoSubject,
    /// Bindings are missing in these namespaces.
    Missing(Vec<String>),
}

/// Returns how the permissions of an agent stand. `stored`: the bindings of the add-on in a namespace.
#[must_use]
pub fn granted<'a, I: IntoIterator<Item = &'a RoleBinding>>(
    addon: &str,
    agent: &Agent<'_>,
    stored: impl Fn(&str) -> I,
) -> Granted {
    let places = places(agent, &mut Vec::new());
    if places.is_empty() {
        return Granted::All;
    }
    if !subject_is_ready(agent.cluster, addon, agent.registrations) {
        return Granted::NoSubject;
    }
    let mut missing = Vec::new();
    for (place, is_shared) in places {
        let binds = |binding: &RoleBinding| {
            let all = binding.subjects.as_deref().unwrap_or_default();
            is_ours(addon, binding)
                && Place::of(binding) == place
                && subjects(addon, agent, is_shared)
                    .all(|(kind, name)| all.iter().any(|it| it.kind == kind && it.name == name))
        };
        if !stored(&place.namespace).into_iter().any(binds) {
            missing.push(place.namespace);
        }
    }
    if missing.is_empty() {
        Granted::All
    } else {
        Granted::Missing(missing)
    }
}
