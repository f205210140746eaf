//! Registration of add-ons by tokens: the add-on uses a token of a service account in the cluster's namespace on the hub.
//!
//! The hub's part of the add-on creates the account and the right to ask for its tokens, and says so in a condition.

use berth_api::conditions::{TRUE, addon};

use super::fact::Addon;
use crate::held::{self, SecretData};

/// The key of the token in the Secret.
pub const TOKEN: &str = "token";

/// A token of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The name of the service account.
    pub account: String,
    /// The uid of the account. `None`: the hub has not created it yet.
    pub uid: Option<String>,
    /// The lifetime to ask for, in seconds.
    pub seconds: i64,
}

/// Returns the name of the service account of an add-on.
#[must_use]
pub fn account(addon: &str) -> String {
    format!("{addon}-agent")
}

/// Returns the user name of the service account of an add-on.
#[must_use]
pub fn user(cluster: &str, addon: &str) -> String {
    format!("system:serviceaccount:{cluster}:{}", account(addon))
}

/// Returns the uid of the service account, once the hub says that it is ready: `... (UID: <uid>) ...`.
#[must_use]
pub fn uid(addon: &Addon) -> Option<String> {
    let is_ready =
        |type_: &str, status: &str| type_ == addon::TOKEN_INFRASTRUCTURE_READY && status == TRUE;
    let mut conditions = addon.conditions.iter();
    let ready = conditions.find(|it| is_ready(&it.type_, &it.status))?;
    let (_, rest) = ready.message.split_once("(UID: ")?;
    let (uid, _) = rest.split_once(')')?;
    (!uid.is_empty()).then(|| uid.to_owned())
}

/// Returns the kubeconfig that uses the token beside it, made of the agent's own.
#[must_use]
pub fn kubeconfig(own: &str) -> String {
    own.replace(
        "    client-certificate: tls.crt\n    client-key: tls.key\n",
        "    tokenFile: token\n",
    )
}

/// Returns the data of the Secret with this token. Unknown keys stay.
#[must_use]
pub fn filled(stored: &SecretData, cluster: &str, kubeconfig: &str, token: &[u8]) -> SecretData {
    let mut data = stored.clone();
    for (key, value) in [
        (held::CLUSTER_NAME, cluster.as_bytes()),
        (held::KUBECONFIG, kubeconfig.as_bytes()),
        (TOKEN, token),
    ] {
        data.insert(key.to_owned(), value.to_vec());
    }
    data
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    use super::*;
    use crate::kubeconfig::HubEndpoint;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_uid_is_in_the_message_of_the_condition() {
        for (type_, status, message, expected) in [
            (
                addon::TOKEN_INFRASTRUCTURE_READY,
                TRUE,
                "account c1/x-agent (UID: 7) is ready",
                Some("7"),
            ),
            (
                addon::TOKEN_INFRASTRUCTURE_READY,
                "False",
                "account (UID: 7)",
                None,
            ),
            (
                addon::TOKEN_INFRASTRUCTURE_READY,
                TRUE,
                "account is ready",
                None,
            ),
            (
                addon::TOKEN_INFRASTRUCTURE_READY,
                TRUE,
                "account (UID: )",
                None,
            ),
            ("Other", TRUE, "(UID: 7)", None),
        ] {
            let addon = Addon {
                conditions: vec![Condition {
                    type_: type_.to_owned(),
                    status: status.to_owned(),
                    reason: String::new(),
                    message: message.to_owned(),
                    last_transition_time: Time(at(0)),
                    observed_generation: None,
                }],
                ..Addon::default()
            };
            assert_eq!(
                uid(&addon).as_deref(),
                expected,
                "{type_} {status} {message}"
            );
        }
    }

    #[test]
    fn the_kubeconfig_names_the_token() {
        let own = HubEndpoint {
            server: "https://h".to_owned(),
            ..HubEndpoint::default()
        };
        let text = kubeconfig(&own.kubeconfig().unwrap());
        assert!(text.ends_with("  user:\n    tokenFile: token\n"), "{text}");
        let data = filled(&SecretData::new(), "c1", &text, b"t");
        let keys: Vec<_> = data.keys().collect();
        assert_eq!(keys, ["cluster-name", "kubeconfig", "token"]);
    }
}
