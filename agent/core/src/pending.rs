//! Which CSRs on the hub are the agent's own and pending: their number is bounded.
//!
//! OCM's agent counts all requests with the label of its cluster, so that anyone who may create requests can stop its renewals.

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::csr::Csr;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::asked::Asked;

/// CertificateSigningRequests, as the hub lists them.
#[derive(Debug, Deserialize)]
pub struct Listed {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    request: String,
    #[serde(default)]
    signer_name: String,
    /// The API server sets it.
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<IgnoredAny>>,
}

// === impl Listed ===

impl Listed {
    /// Counts the pending requests of the agent for the same registration, but for this one. The list has its labels ([`Asked::selector`]).
    ///
    /// A request counts if it asks for the same user. `user`: the agent's own user name on the hub, for an add-on. Its requests count
    /// whatever they ask for: the hub may change the subject again and again.
    #[must_use]
    pub fn others_pending(&self, asked: &Asked, user: Option<&str>, but: &str) -> usize {
        let others = self.items.iter().filter(|it| it.metadata.name != but);
        let pending = others.filter(|it| it.status.conditions.as_ref().is_none_or(Vec::is_empty));
        let own = pending.filter(|it| {
            it.spec.signer_name == asked.signer
                && (user == Some(&*it.spec.username) || it.spec.is_for(&asked.subject.user))
        });
        own.count()
    }
}

// === impl Spec ===

impl Spec {
    fn is_for(&self, user: &str) -> bool {
        let pem = BASE64_STANDARD.decode(&self.request).unwrap_or_default();
        Csr::from_pem(&pem).is_ok_and(|csr| csr.common_name() == user)
    }
}

#[cfg(test)]
mod tests {
    use berth_certs::client::ClientKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::asked::{API_SERVER, Subject};
    use crate::identity::Identity;
    use crate::request::body;

    const AGENT: &str = "system:open-cluster-management:c1:a1";
    const BOOTSTRAP: &str = "system:serviceaccount:open-cluster-management:bootstrap";

    fn for_user(asked: &Asked, user: &str) -> Asked {
        Asked {
            subject: Subject {
                user: user.to_owned(),
                ..asked.subject.clone()
            },
            ..asked.clone()
        }
    }

    fn csr(name: &str, asked: &Asked, by: &str, conditions: Value) -> Value {
        let mut csr = body(name, asked, &ClientKey::generate().unwrap()).unwrap();
        csr["spec"]["username"] = json!(by);
        csr["status"]["conditions"] = conditions;
        csr
    }

    #[test]
    fn the_agents_pending_requests_of_the_same_registration_count() {
        let cluster = Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), None);
        let addon = Asked {
            addon: Some("x".to_owned()),
            agent: None,
            ..for_user(&cluster, "u1")
        };
        let custom = Asked {
            signer: "example.com/s".to_owned(),
            ..addon.clone()
        };
        assert_eq!(addon.signer, API_SERVER);
        let none = || Value::Null;
        let approved = || json!([{"type": "Approved", "status": "True"}]);
        for (sentence, asked, user, csr, counts) in [
            (
                "the first one of the cluster, made with the bootstrap kubeconfig",
                &cluster,
                None,
                csr("n", &cluster, BOOTSTRAP, none()),
                true,
            ),
            (
                "a renewal",
                &cluster,
                None,
                csr("n", &cluster, AGENT, json!([])),
                true,
            ),
            (
                "of another agent of the cluster",
                &cluster,
                None,
                csr("n", &for_user(&cluster, "other"), BOOTSTRAP, none()),
                false,
            ),
            (
                "this one",
                &cluster,
                None,
                csr("this", &cluster, BOOTSTRAP, none()),
                false,
            ),
            (
                "answered",
                &cluster,
                None,
                csr("n", &cluster, BOOTSTRAP, approved()),
                false,
            ),
            (
                "of an add-on",
                &addon,
                Some(AGENT),
                csr("n", &addon, AGENT, none()),
                true,
            ),
            (
                "of an add-on, for the subject that it had before",
                &addon,
                Some(AGENT),
                csr("n", &for_user(&addon, "u0"), AGENT, none()),
                true,
            ),
            (
                "of an add-on, answered",
                &addon,
                Some(AGENT),
                csr("n", &for_user(&addon, "u0"), AGENT, approved()),
                false,
            ),
            (
                "for the add-on's subject, by another user",
                &addon,
                Some(AGENT),
                csr("n", &addon, "someone", none()),
                true,
            ),
            (
                "under the labels of the add-on, by another user",
                &addon,
                Some(AGENT),
                csr("n", &for_user(&addon, "u0"), "someone", none()),
                false,
            ),
            (
                "of the add-on, for another signer",
                &addon,
                Some(AGENT),
                csr("n", &custom, AGENT, none()),
                false,
            ),
            (
                "not a request",
                &cluster,
                None,
                json!({"metadata": {"name": "n"}, "spec": {"request": "?", "signerName": API_SERVER}}),
                false,
            ),
        ] {
            let list: Listed = serde_json::from_value(json!({"items": [csr]})).unwrap();
            let count = list.others_pending(asked, user, "this");
            assert_eq!(count == 1, counts, "{sentence}");
        }
    }
}
