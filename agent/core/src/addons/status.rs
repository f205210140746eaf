//! The agent's part of the status of a ManagedClusterAddOn.

use berth_api::Now;
use berth_api::conditions::{self, FALSE, TRUE, with_condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};

use super::Driver;
use super::fact::Addon;
use crate::asked::API_SERVER;
use crate::registration::Waiting;
use crate::rotation::rotated;

/// The condition that reports the last renewal of a certificate.
const ROTATED: &str = "ClusterCertificateRotated";

/// The condition that reports the last token.
const REFRESHED: &str = "TokenRefreshed";

/// The state of a registration of an add-on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Its certificate is good.
    Good {
        /// Valid from this time.
        not_before: Timestamp,
        /// Valid until this time.
        not_after: Timestamp,
    },
    /// Something is missing, in OCM's words.
    Failed(String),
    /// Its token is good until this time.
    GoodToken(Timestamp),
    /// There is no token, in OCM's words.
    NoToken(String),
}

// === impl Rotation ===

impl Rotation {
    /// Returns what a wait means for the add-on.
    #[must_use]
    pub fn waits(waiting: &Waiting) -> Self {
        match waiting {
            Waiting::TooMany { .. } => Self::Failed(
                "Stop creating csr since there are too many csr created already on hub".to_owned(),
            ),
            waiting => Self::failed(waiting),
        }
    }

    /// The request could not be created.
    #[must_use]
    pub fn not_asked(why: impl std::fmt::Display) -> Self {
        Self::Failed(format!("Failed to create CSR {why}"))
    }

    /// Another step failed.
    #[must_use]
    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(format!("Failed to rotated client certificate {why}"))
    }
}

/// Returns the condition of the token of an add-on.
pub fn refreshed<'a>(
    registrations: impl IntoIterator<Item = &'a Rotation>,
    now: Now,
) -> Option<Condition> {
    let of = |registration: &Rotation| match registration {
        Rotation::GoodToken(expires) => Some((
            TRUE,
            "AddonTokenRefreshed",
            format!("Addon token refreshed, expires at {expires}"),
        )),
        Rotation::NoToken(why) => Some((FALSE, "TokenCreationFailed", why.clone())),
        Rotation::Good { .. } | Rotation::Failed(_) => None,
    };
    let found = registrations.into_iter().find_map(of);
    found.map(|(status, reason, message)| {
        conditions::new(REFRESHED, (status, reason), message, now.wall)
    })
}

/// Returns the condition of all registrations of an add-on: the first one that failed, else the newest certificate.
pub fn rotation<'a>(
    registrations: impl IntoIterator<Item = &'a Rotation>,
    now: Now,
) -> Option<Condition> {
    let mut newest = None;
    let mut failed = None;
    for registration in registrations {
        match registration {
            Rotation::Good {
                not_before,
                not_after,
            } => newest = newest.max(Some((*not_before, *not_after))),
            Rotation::Failed(why) => failed = failed.or(Some(why)),
            Rotation::GoodToken(_) | Rotation::NoToken(_) => {}
        }
    }
    let (status, reason, message) = match (failed, newest) {
        (Some(why), _) => (FALSE, "ClientCertificateUpdateFailed", why.clone()),
        (None, Some((not_before, not_after))) => {
            let message = rotated(not_before, not_after);
            (TRUE, "ClientCertificateUpdated", message)
        }
        (None, None) => return None,
    };
    Some(conditions::new(
        ROTATED,
        (status, reason),
        message,
        now.wall,
    ))
}

/// Returns the patch of the add-on's status that is due. `None`: nothing differs.
///
/// `driver`: how it is registered, with the user name of its service account.
#[must_use]
pub fn patch(
    addon: &Addon,
    driver: (Driver, &str),
    conditions: impl IntoIterator<Item = Condition>,
) -> Option<Value> {
    let mut changed: Option<Vec<Condition>> = None;
    for condition in conditions {
        let stored = changed.as_ref().unwrap_or(&addon.conditions);
        changed = with_condition(stored, condition).or(changed);
    }
    let mut status = Map::new();
    if let Some(conditions) = changed {
        status.insert("conditions".to_owned(), json!(conditions));
    }
    if !addon.is_deleting {
        status.extend(registration(addon, driver));
    }
    (!status.is_empty()).then(|| {
        json!({
            "metadata": {"uid": addon.uid, "resourceVersion": addon.resource_version},
            "status": status,
        })
    })
}

/// The hub prepares what the driver needs, so it must know the agent's; for tokens also the user name.
fn registration(addon: &Addon, (driver, account): (Driver, &str)) -> Map<String, Value> {
    let mut status = Map::new();
    let first = addon.registrations.iter().find(|it| it.signer.is_none());
    let Some(first) = first else {
        return status;
    };
    let is_old = addon.version == "v1alpha1";
    let is_token = driver != Driver::Csr;
    let is_driver = match addon.driver.as_deref() {
        Some(name) => name == driver.name(),
        // An older hub may not know the field.
        None => is_old && !is_token,
    };
    let is_subject = !is_token || first.user == account && first.groups.is_empty();
    if is_driver && is_subject {
        return status;
    }
    let mut registrations = addon.stored_registrations.clone();
    let is_client = |it: &&mut Value| match is_old {
        true => it["signerName"] == API_SERVER,
        false => it["type"] == "kubeClient",
    };
    let Some(stored) = registrations.iter_mut().find(is_client) else {
        return status;
    };
    if is_old {
        status.insert("kubeClientDriver".to_owned(), json!(driver.name()));
    } else if !stored["kubeClient"].is_object() {
        stored["kubeClient"] = json!({});
    }
    let client = match is_old {
        true => stored,
        false => {
            stored["kubeClient"]["driver"] = json!(driver.name());
            &mut stored["kubeClient"]
        }
    };
    if is_token {
        client["subject"] = json!({ "user": account });
    }
    if !is_old || is_token {
        status.insert("registrations".to_owned(), json!(registrations));
    }
    status
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const CSR: (Driver, &str) = (Driver::Csr, "sa");

    const TOKEN: (Driver, &str) = (Driver::Token { seconds: 600 }, "sa");

    fn now() -> Now {
        Now {
            instant: Instant::now(),
            wall: Timestamp::from_second(1000).unwrap(),
        }
    }

    fn good(second: i64) -> Rotation {
        Rotation::Good {
            not_before: Timestamp::from_second(second).unwrap(),
            not_after: Timestamp::from_second(second + 1).unwrap(),
        }
    }

    #[test]
    fn the_condition_is_that_of_ocms_agent() {
        let too_many = Rotation::waits(&Waiting::TooMany { count: 10 });
        let unsigned = Rotation::waits(&Waiting::Denied {
            csr: "n".to_owned(),
            message: String::new(),
        });
        for (sentence, registrations, expected) in [
            ("nothing is known", vec![], None),
            (
                "good",
                vec![&good(0)],
                Some((
                    TRUE,
                    "ClientCertificateUpdated",
                    "client certificate rotated starting from 1970-01-01 00:00:00 +0000 UTC to 1970-01-01 00:00:01 +0000 UTC",
                )),
            ),
            (
                "two: the newer one",
                vec![&good(60), &good(0)],
                Some((
                    TRUE,
                    "ClientCertificateUpdated",
                    "client certificate rotated starting from 1970-01-01 00:01:00 +0000 UTC to 1970-01-01 00:01:01 +0000 UTC",
                )),
            ),
            (
                "too many",
                vec![&good(0), &too_many],
                Some((
                    FALSE,
                    "ClientCertificateUpdateFailed",
                    "Stop creating csr since there are too many csr created already on hub",
                )),
            ),
            (
                "refused by the hub",
                vec![&Rotation::not_asked("403")],
                Some((
                    FALSE,
                    "ClientCertificateUpdateFailed",
                    "Failed to create CSR 403",
                )),
            ),
            (
                "denied",
                vec![&unsigned],
                Some((
                    FALSE,
                    "ClientCertificateUpdateFailed",
                    "Failed to rotated client certificate CertificateSigningRequest n is denied: ask the hub's admin; the agent asks \
                     again later",
                )),
            ),
        ] {
            let condition = rotation(registrations, now());
            let words = (condition.as_ref()).map(|it| (&*it.status, &*it.reason, &*it.message));
            assert_eq!(words, expected, "{sentence}");
        }
    }

    fn addon(version: &str, driver: Option<&str>) -> Addon {
        let stored = match version {
            "v1alpha1" => json!([{"signerName": API_SERVER}]),
            _ => json!([
                {"type": "customSigner", "customSigner": {"signerName": "a/b"}},
                {"type": "kubeClient", "kubeClient": {"subject": {"user": "u"}}, "later": 1},
            ]),
        };
        Addon {
            version: version.to_owned(),
            uid: "id".to_owned(),
            resource_version: "7".to_owned(),
            driver: driver.map(str::to_owned),
            registrations: vec![super::super::fact::Registration::default()],
            stored_registrations: stored.as_array().unwrap().clone(),
            ..Addon::default()
        }
    }

    #[test]
    fn the_driver_is_written_where_it_differs() {
        let registrations = json!({"registrations": [
            {"type": "customSigner", "customSigner": {"signerName": "a/b"}},
            {"type": "kubeClient", "kubeClient": {"subject": {"user": "u"}, "driver": "csr"}, "later": 1},
        ]});
        for (version, driver, expected) in [
            ("v1beta1", None, Some(registrations.clone())),
            ("v1beta1", Some("token"), Some(registrations)),
            ("v1beta1", Some("csr"), None),
            ("v1alpha1", None, None),
            (
                "v1alpha1",
                Some("token"),
                Some(json!({"kubeClientDriver": "csr"})),
            ),
            ("v1alpha1", Some("csr"), None),
        ] {
            let mut addon = addon(version, driver);
            let patched = patch(&addon, CSR, []);
            let status = patched.as_ref().map(|it| it["status"].clone());
            assert_eq!(status, expected, "{version} {driver:?}");
            if let Some(patched) = patched {
                assert_eq!(
                    patched["metadata"],
                    json!({"uid": "id", "resourceVersion": "7"})
                );
            }
            addon.is_deleting = true;
            assert_eq!(patch(&addon, CSR, []), None);
        }
    }

    #[test]
    fn for_tokens_the_hub_learns_the_account() {
        let status = |addon: &Addon| patch(addon, TOKEN, []).map(|it| it["status"].clone());
        let mut new = addon("v1beta1", Some("csr"));
        let subject = json!({"user": "sa"});
        assert_eq!(
            status(&new).unwrap()["registrations"][1],
            json!({"type": "kubeClient", "kubeClient": {"subject": subject, "driver": "token"}, "later": 1})
        );
        new.driver = Some("token".to_owned());
        assert!(status(&new).is_some());
        new.registrations[0].user = "sa".to_owned();
        assert_eq!(status(&new), None);
        let old = addon("v1alpha1", None);
        assert_eq!(
            status(&old).unwrap(),
            json!({"kubeClientDriver": "token", "registrations": [{"signerName": API_SERVER, "subject": subject}]})
        );
    }

    #[test]
    fn tokens_have_a_condition_of_their_own() {
        let until = Rotation::GoodToken(Timestamp::from_second(0).unwrap());
        let failed = Rotation::NoToken("Failed to create token: 403".to_owned());
        for (of, status, reason, message) in [
            (
                &until,
                TRUE,
                "AddonTokenRefreshed",
                "Addon token refreshed, expires at 1970-01-01T00:00:00Z",
            ),
            (
                &failed,
                FALSE,
                "TokenCreationFailed",
                "Failed to create token: 403",
            ),
        ] {
            assert_eq!(rotation([of], now()), None);
            let condition = refreshed([&good(0), of], now()).unwrap();
            let words = [condition.status, condition.reason, condition.message];
            assert_eq!(words, [status, reason, message]);
        }
        assert_eq!(refreshed([&good(0)], now()), None);
    }

    #[test]
    fn nothing_is_written_twice() {
        let mut addon = addon("v1beta1", Some("csr"));
        let condition = rotation([&good(0)], now()).unwrap();
        let patched = patch(&addon, CSR, [condition.clone()]).unwrap();
        assert_eq!(patched["status"]["conditions"].as_array().unwrap().len(), 1);
        addon.conditions = vec![condition.clone()];
        assert_eq!(patch(&addon, CSR, [condition]), None);
    }
}
