//! What an admin has to apply when the API server refuses the hub a right.
//!
//! The hub's account may approve for the API server's signer, and may bind no role: what a template asks for beyond that, an admin grants by
//! name.

use berth_api::groups;
use berth_api::text::shorten;
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::{Value, json};

use crate::tokens::{self, Kind};

/// Upper bound on the bytes of the API server's message in a text.
const LONGEST: usize = 200;

/// What the API server says of rights that the hub's account does not have itself.
const ESCALATES: &str = "attempting to grant RBAC permissions not currently held";

/// The user in a manifest if it is not known.
const UNKNOWN: &str = "USER-OF-THE-CONTROLLER";

/// The text for a signer for which the hub may not `verb` (approve or sign) requests. `account`: the user that the hub's controller is;
/// empty if it is not known.
#[must_use]
pub fn of_signer(request: &str, signer: &str, verb: &str, message: &str, account: &str) -> String {
    let request = shorten(request, LONGEST);
    let beginning =
        format!("CertificateSigningRequest {request:?} gets no certificate from the hub:");
    if !message.contains("user not permitted to") {
        return format!("{beginning} {}", shorten(message, LONGEST));
    }
    let name = format!("berth-addon:signer:{}", signer.replace('/', "-"));
    let rule = json!({
        "apiGroups": [groups::CERTIFICATES], "resources": ["signers"], "resourceNames": [signer], "verbs": ["approve", "sign"],
    });
    format!(
        "{beginning} the controller may not {verb} for signer {signer}; to let it, apply {}",
        manifest(&name, None, &[rule], account),
    )
}

/// The text for the Secret of a certificate authority that the hub may not read.
#[must_use]
pub fn of_secret(namespace: &str, secret: &str, account: &str) -> String {
    let rule = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret], "verbs": ["get"],
    });
    format!(
        "the controller may not read Secret {namespace}/{secret}; to let it, apply {}",
        manifest(
            &format!("berth-addon:ca:{secret}"),
            Some(namespace),
            &[rule],
            account
        ),
    )
}

/// The text for a binding that the API server refuses.
#[must_use]
pub fn of_binding(binding: &RoleBinding, message: &str) -> String {
    let namespace = binding.metadata.namespace.as_deref().unwrap_or_default();
    let name = binding.metadata.name.as_deref().unwrap_or_default();
    let (kind, role) = (&binding.role_ref.kind, &binding.role_ref.name);
    let escalates = message.contains(ESCALATES);
    if !escalates {
        let why = shorten(message, 2 * LONGEST);
        return format!("RoleBinding {namespace}/{name}: {why}");
    }
    let rule = json!({
        "apiGroups": [groups::RBAC], "resources": [format!("{}s", kind.to_lowercase())], "resourceNames": [role], "verbs": ["bind"],
    });
    // A binding that each cluster gets is owned by its ManagedClusterAddOn.
    let is_of_cluster = binding.metadata.owner_references.is_some();
    let namespace_of_right = (!is_of_cluster).then_some(namespace);
    let account = named_user(message).unwrap_or_default();
    format!(
        "RoleBinding {namespace}/{name}: the controller may not bind {kind} {role}, whose permissions it does not have; to let it, apply {}",
        manifest(
            &format!("berth-addon:bind:{role}"),
            namespace_of_right,
            &[rule],
            account
        ),
    )
}

/// The text for an object of an add-on's tokens that the API server refuses. `at`: namespace and name of the object.
#[must_use]
pub fn of_token(kind: Kind, at: (&str, &str), addon: &str, message: &str) -> String {
    let (namespace, name) = at;
    let object = format!("{} {namespace}/{name}", kind.name());
    if !message.contains(ESCALATES) {
        return format!("{object}: {}", shorten(message, 2 * LONGEST));
    }
    let account = Kind::Account.of(addon);
    let rules = tokens::rules(addon);
    let named = named_user(message).unwrap_or_default();
    format!(
        "{object}: the controller may not grant tokens of ServiceAccount {account}, which it may not ask for itself; to let it, apply {}",
        manifest(&format!("berth-addon:tokens:{addon}"), None, &rules, named),
    )
}

/// The user that a refusal of the API server names: `user "NAME" (groups=…) is attempting to grant …`.
fn named_user(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("user \"")?;
    let (user, _) = rest.split_once('"')?;
    Some(user)
}

/// A role with these rules, and its binding to the account; in one namespace, or for all.
fn manifest(name: &str, namespace: Option<&str>, rules: &[Value], account: &str) -> String {
    let prefix = if namespace.is_some() { "" } else { "Cluster" };
    let api_version = format!("{}/v1", groups::RBAC);
    let metadata = match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    };
    let parts = account.strip_prefix("system:serviceaccount:");
    let subject = match parts.and_then(|it| it.split_once(':')) {
        Some((namespace, name)) => {
            json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
        }
        None => {
            let name = if account.is_empty() { UNKNOWN } else { account };
            json!({"apiGroup": groups::RBAC, "kind": "User", "name": name})
        }
    };
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": api_version, "kind": format!("{prefix}Role"), "metadata": metadata, "rules": rules},
        {
            "apiVersion": api_version, "kind": format!("{prefix}RoleBinding"), "metadata": metadata,
            "roleRef": {"apiGroup": groups::RBAC, "kind": format!("{prefix}Role"), "name": name}, "subjects": [subject],
        },
    ]})
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESCALATION: &str = "rolebindings.rbac.authorization.k8s.io \"b\" is forbidden: user \"system:serviceaccount:hub:sa\" \
                              (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{...}";

    fn binding(is_of_cluster: bool) -> RoleBinding {
        let mut binding = json!({
            "metadata": {"namespace": "n", "name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        });
        if is_of_cluster {
            let owner =
                json!({"apiVersion": "v1", "kind": "ManagedClusterAddOn", "name": "x", "uid": "u"});
            binding["metadata"]["ownerReferences"] = json!([owner]);
        }
        serde_json::from_value(binding).unwrap()
    }

    /// The objects of the manifest at the end of a text.
    fn applied(text: &str) -> Vec<Value> {
        let (_, manifest) = text.split_once("apply ").unwrap();
        let list: Value = serde_json::from_str(manifest).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    #[test]
    fn an_escalation_is_said_with_the_right_to_bind_this_role_only() {
        for (is_of_cluster, kind, namespace) in [
            (true, "ClusterRole", Value::Null),
            (false, "Role", json!("n")),
        ] {
            let text = of_binding(&binding(is_of_cluster), ESCALATION);
            assert!(
                text.starts_with("RoleBinding n/b: the controller may not bind ClusterRole r,"),
                "{text}"
            );
            let objects = applied(&text);
            assert_eq!(objects[0]["kind"], kind);
            assert_eq!(objects[0]["metadata"]["namespace"], namespace);
            assert_eq!(
                objects[0]["rules"],
                json!([{
                    "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["r"], "verbs": ["bind"],
                }])
            );
            assert_eq!(
                objects[1]["roleRef"]["name"],
                objects[0]["metadata"]["name"]
            );
            assert_eq!(objects[1]["roleRef"]["kind"], kind);
            assert_eq!(
                objects[1]["subjects"],
                json!([{"kind": "ServiceAccount", "namespace": "hub", "name": "sa"}])
            );
        }
    }

    #[test]
    fn another_refusal_is_said_as_it_is() {
        let text = of_binding(
            &binding(true),
            "clusterroles.rbac.authorization.k8s.io \"r\" not found",
        );
        assert_eq!(
            text,
            "RoleBinding n/b: clusterroles.rbac.authorization.k8s.io \"r\" not found"
        );
    }

    #[test]
    fn tokens_are_granted_by_the_name_of_their_account() {
        let at = ("c1", "x-token-role");
        let text = of_token(Kind::Role, at, "x", ESCALATION);
        let beginning =
            "Role c1/x-token-role: the controller may not grant tokens of ServiceAccount x-agent,";
        assert!(text.starts_with(beginning), "{text}");
        let objects = applied(&text);
        assert_eq!(objects[0]["kind"], "ClusterRole");
        assert_eq!(
            objects[0]["rules"],
            Kind::Role.object("x", "c1")["rules"],
            "the rights that it grants"
        );
        assert_eq!(
            objects[1]["subjects"],
            json!([{"kind": "ServiceAccount", "namespace": "hub", "name": "sa"}])
        );
        assert_eq!(
            of_token(
                Kind::Account,
                ("c1", "x-agent"),
                "x",
                "namespaces \"c1\" not found"
            ),
            "ServiceAccount c1/x-agent: namespaces \"c1\" not found"
        );
    }

    #[test]
    fn a_signer_is_granted_by_name_and_fits_an_event() {
        for (account, expected) in [
            (
                "system:serviceaccount:hub:sa",
                json!({"kind": "ServiceAccount", "namespace": "hub", "name": "sa"}),
            ),
            (
                "admin",
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "admin"}),
            ),
            (
                "",
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "USER-OF-THE-CONTROLLER"}),
            ),
        ] {
            let text = of_signer(
                "addon-1",
                "example.com/s",
                "sign",
                "user not permitted to sign requests with signerName \"example.com/s\"",
                account,
            );
            assert!(text.len() <= 1024, "{}", text.len());
            let objects = applied(&text);
            assert_eq!(objects[0]["kind"], "ClusterRole");
            assert_eq!(
                objects[0]["rules"][0]["resourceNames"],
                json!(["example.com/s"])
            );
            assert_eq!(objects[0]["rules"][0]["verbs"], json!(["approve", "sign"]));
            assert_eq!(objects[1]["subjects"], json!([expected]));
        }
    }
}
