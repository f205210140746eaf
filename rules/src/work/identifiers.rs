//! Which manifests an identifier of `manifestConfigs` or `orphaningRules` may mean.

use berth_api::work::ResourceIdentifier;

use super::manifests::Head;

/// Wildcards in the namespace and the name of an identifier.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// `*` stands for any characters.
    Any,
    /// `*` is a character.
    None,
}

/// Returns true if the identifier may mean the object. The resource of a kind is known only to the cluster, and so is whether it has a
/// namespace: both are left open.
pub(super) fn may_mean(id: &ResourceIdentifier, head: &Head<'_>, wildcards: Wildcards) -> bool {
    let matches = |pattern: &str, text: &str| match wildcards {
        Wildcards::Any => glob(pattern, text),
        Wildcards::None => pattern == text,
    };
    id.group == head.group()
        && matches(&id.name, head.name())
        && (matches(&id.namespace, head.namespace()) || matches(&id.namespace, ""))
}

/// Returns whether the resource may be that of a kind, given the plural of its name. Kubernetes' own kinds have that; of others, only the
/// singular is doubtful.
pub(super) fn may_be(resource: &str, kind: &str, plural: &str, group: &str) -> bool {
    let is_own = !group.contains('.') || group.ends_with(".k8s.io");
    resource == plural || !is_own && !resource.eq_ignore_ascii_case(kind)
}

/// The resource of a kind: the plural of its name.
#[must_use]
pub fn plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    let before = name.chars().rev().nth(1);
    if name == "endpoints" {
        name
    } else if name.ends_with('y') && !before.is_some_and(|it| "aeiou".contains(it)) {
        format!("{}ies", &name[..name.len() - 1])
    } else if ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|it| name.ends_with(it))
    {
        format!("{name}es")
    } else {
        format!("{name}s")
    }
}

/// Returns true if the text matches the pattern, in which `*` stands for any characters.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_plurals_of_kinds() {
        for (kind, resource) in [
            ("Deployment", "deployments"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("StorageClass", "storageclasses"),
            ("Endpoints", "endpoints"),
            ("Y", "ies"),
            ("", "s"),
        ] {
            assert_eq!(plural(kind), resource, "{kind}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, matches) in [
            ("my-test", true),
            ("my*", true),
            ("*my", false),
            ("*m*", true),
            ("*t", true),
            ("*", true),
            ("", false),
            ("m*t", true),
            ("m*y-*st", true),
            ("my-test*my-test", false),
            ("*-*-*", false),
            ("**", true),
            ("my-*t*t", true),
            ("my-*tt", false),
        ] {
            assert_eq!(glob(pattern, "my-test"), matches, "{pattern}");
        }
    }
}
