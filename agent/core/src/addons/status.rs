//! The agent's part of the status of a ManagedClusterAddOn.

use berth_api::Now;
use berth_api::conditions::{FALSE, TRUE, with_condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Map, Value, json};

use super::fact::Addon;
use crate::registration::Waiting;
use crate::rotation::rotated;

/// The condition that reports the last renewal of a certificate.
const ROTATED: &str = "ClusterCertificateRotated";

/// How this agent registers add-ons, in `status.registrations`.
const DRIVER: &str = "csr";

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
    Some(Condition {
        type_: ROTATED.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(now.wall),
        observed_generation: None,
    })
}

/// Returns the patch of the add-on's status that is due. `None`: nothing differs.
#[must_use]
pub fn patch(addon: &Addon, conditions: impl IntoIterator<Item = Condition>) -> Option<Value> {
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
        status.extend(driver(addon));
    }
    (!status.is_empty()).then(|| {
        json!({
            "metadata": {"uid": addon.uid, "resourceVersion": addon.resource_version},
            "status": status,
        })
    })
}

/// The hub prepares what the driver needs, so it must know the agent's.
fn driver(addon: &Addon) -> Option<(String, Value)> {
    let has_client = addon.registrations.iter().any(|it| it.signer.is_none());
    match (addon.version.as_str(), addon.driver.as_deref()) {
        _ if !has_client => None,
        (_, Some(DRIVER)) => None,
        // An older hub may not know the field.
        ("v1alpha1", None) => None,
        ("v1alpha1", Some(_)) => Some(("kubeClientDriver".to_owned(), json!(DRIVER))),
        _ => {
            let mut registrations = addon.stored_registrations.clone();
            let first = (registrations.iter_mut()).find(|it| it["type"] == "kubeClient")?;
            if !first["kubeClient"].is_object() {
                first["kubeClient"] = json!({});
            }
            first["kubeClient"]["driver"] = json!(DRIVER);
            Some(("registrations".to_owned(), json!(registrations)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

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
        let stored = json!([
            {"type": "customSigner", "customSigner": {"signerName": "a/b"}},
            {"type": "kubeClient", "kubeClient": {"subject": {"user": "u"}}, "later": 1},
        ]);
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
            let patched = patch(&addon, []);
            let status = patched.as_ref().map(|it| it["status"].clone());
            assert_eq!(status, expected, "{version} {driver:?}");
            if let Some(patched) = patched {
                assert_eq!(
                    patched["metadata"],
                    json!({"uid": "id", "resourceVersion": "7"})
                );
            }
            addon.is_deleting = true;
            assert_eq!(patch(&addon, []), None);
        }
    }

    #[test]
    fn nothing_is_written_twice() {
        let mut addon = addon("v1beta1", Some("csr"));
        let condition = rotation([&good(0)], now()).unwrap();
        let patched = patch(&addon, [condition.clone()]).unwrap();
        assert_eq!(patched["status"]["conditions"].as_array().unwrap().len(), 1);
        addon.conditions = vec![condition.clone()];
        assert_eq!(patch(&addon, [condition]), None);
    }
}
