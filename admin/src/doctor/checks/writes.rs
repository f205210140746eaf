//! Dry runs of writes that the gate or its policies must refuse or complete. They prove the whole path from the API server to the
//! gate, and that Berth answers. Nothing is stored. A policy refuses before any webhook is called, so its answer does not prove
//! that the gate can be called.
//!
//! If RBAC forbids the user to create such objects, the API server calls no webhook, and the check proves nothing.

use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::{Probe, Shows, WEBHOOKS};
use berth_policies::installed::SUFFIX;
use kube::core::response::Status;
use serde_json::Value;

use crate::doctor::facts::{Facts, Registration, Unread, endpoint};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::rights::needed;
use crate::hub::Tried;
use crate::print::plain;

const CHECK: Check = Check::DryRun;

/// Returns the object of a dry run. `unique` is part of its name, so that no object of that name exists.
pub(crate) fn object(webhook: &ShippedWebhook, probe: &Probe, unique: &str) -> Value {
    let mut object = (probe.object)(&format!("berth-doctor-{unique}"));
    object["apiVersion"] = webhook.api_version().into();
    object["kind"] = webhook.kind.into();
    object
}

/// Returns the webhooks that are checked by a dry run.
pub(crate) fn tried() -> impl Iterator<Item = (&'static ShippedWebhook, &'static Probe)> {
    let probed = |webhook: &&'static ShippedWebhook| Some((*webhook, webhook.probe.as_ref()?));
    WEBHOOKS.iter().filter_map(probed)
}

/// What the response to a dry run proves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// Berth's webhook answered.
    Berths,
    /// A policy of Berth answered, or must have answered if the object was completed.
    Policy,
    /// OCM's webhook answered, or another one with its name.
    Ocms,
    /// No webhook refused or completed the object.
    NotCalled,
    /// The API server could not call a webhook.
    CallFailed { webhook: String, why: String },
    /// The write was refused before it reached the gate, or by another webhook or policy.
    Elsewhere(String),
    /// The user may not create such objects.
    NotAllowed,
    /// The API server does not know the kind.
    NotServed,
}

fn verdict(facts: &Facts, webhook: &ShippedWebhook, probe: &Probe, tried: &Tried) -> Verdict {
    let status = match &tried.outcome {
        Ok(object) => {
            let is_filled = |field| object.pointer(field).is_some_and(Value::is_string);
            return match probe.shows {
                Shows::Filled { field, .. } if is_filled(field) => {
                    match facts.are_policies_enough(webhook) {
                        true => Verdict::Policy,
                        false => Verdict::Berths,
                    }
                }
                _ => Verdict::NotCalled,
            };
        }
        Err(status) => status,
    };
    if let Some((webhook, why)) = failed_call(status) {
        return Verdict::CallFailed { webhook, why };
    }
    if let Some((by, words)) = denial_of_policy(&status.message) {
        return match probe.shows {
            Shows::Refused { berth, .. } if by.ends_with(SUFFIX) && words.contains(berth) => {
                Verdict::Policy
            }
            _ => Verdict::Elsewhere(status.message.clone()),
        };
    }
    let Some((by, words)) = denial(&status.message) else {
        let of_rbac = status.code == 403 && status.message.contains("is forbidden: User ");
        return if of_rbac {
            Verdict::NotAllowed
        } else if status.code == 404 {
            Verdict::NotServed
        } else {
            Verdict::Elsewhere(status.message.clone())
        };
    };
    match probe.shows {
        Shows::Refused { berth, .. } if words.contains(berth) => Verdict::Berths,
        Shows::Refused { ocm: Some(ocm), .. } if words.contains(ocm) => Verdict::Ocms,
        Shows::Refused { .. } if by == webhook.name => Verdict::Ocms,
        _ => Verdict::Elsewhere(status.message.clone()),
    }
}

/// Returns the name of the webhook that denied, and its message.
fn denial(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("admission webhook \"")?;
    rest.split_once("\" denied the request: ")
}

/// Returns the name of the ValidatingAdmissionPolicy that denied, and its message.
fn denial_of_policy(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once(" is forbidden: ValidatingAdmissionPolicy '")?;
    let (policy, rest) = rest.split_once("' with binding '")?;
    let (_, words) = rest.split_once("' denied request: ")?;
    Some((policy, words))
}

/// Returns the name of the webhook that could not be called, and the reason.
fn failed_call(status: &Status) -> Option<(String, String)> {
    let (_, rest) = status.message.split_once("failed calling webhook \"")?;
    let (name, why) = rest.split_once('"')?;
    let why = why.trim_start_matches(": ");
    let why = why.strip_prefix("failed to call webhook: ").unwrap_or(why);
    Some((name.to_owned(), why.to_owned()))
}

/// Returns true if a dry run reached this webhook, which proves its path, certificate and endpoint.
///
/// A webhook without a dry run works if another one works at the same address with the same authority.
pub(super) fn works(facts: &Facts, webhook: &ShippedWebhook) -> bool {
    let Some(probe) = &webhook.probe else {
        return tried()
            .any(|(other, _)| works(facts, other) && are_called_alike(facts, webhook, other));
    };
    let tried = facts
        .tried
        .get(webhook.path)
        .and_then(|it| it.as_ref().ok());
    tried.is_some_and(|tried| verdict(facts, webhook, probe, tried) == Verdict::Berths)
}

/// Returns true if a dry run reached a webhook that is called as this one: at the same address, trusted by the same CA.
pub(super) fn works_at(facts: &Facts, config: &Value) -> bool {
    let called = |webhook: &Value| Some((endpoint(webhook)?, caller_trusts(webhook)));
    facts.registered().any(|(webhook, registration)| {
        let mut webhooks = registration.webhooks.iter();
        works(facts, webhook) && webhooks.any(|it| called(it) == called(config))
    })
}

fn caller_trusts(webhook: &Value) -> Value {
    webhook["clientConfig"]["caBundle"].clone()
}

fn are_called_alike(facts: &Facts, one: &ShippedWebhook, other: &ShippedWebhook) -> bool {
    let called = |webhook: &ShippedWebhook| {
        let registration = facts.registration(webhook).ok()??;
        let config = registration.webhooks.first()?;
        Some((endpoint(config)?, caller_trusts(config)))
    };
    called(one).is_some_and(|one| called(other) == Some(one))
}

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    if !facts.tries {
        return vec![CHECK.skipped("no write is sent, also not as a dry run")];
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (webhook, probe) in tried() {
        let Some(tried) = facts.tried.get(webhook.path) else {
            continue;
        };
        let registration = facts.registration(webhook);
        let by_policies = facts.are_policies_enough(webhook);
        // Other checks report missing registrations and policies.
        if matches!(registration, Ok(None)) && !by_policies {
            continue;
        }
        let object = FindingObject::new(webhook.registration_kind(), webhook.name);
        let finding = match tried {
            Err(unread) => CHECK.unknown(&question(webhook, probe), unread),
            Ok(tried) => {
                let verdict = verdict(facts, webhook, probe, tried);
                match finding(webhook, probe, verdict, by_policies) {
                    Some(finding) => finding,
                    None => continue,
                }
            }
        };
        // If the first webhook cannot be called, every write fails with the same message.
        let object = named(facts, &finding).unwrap_or(object);
        let finding = finding.of(object);
        let same = |it: &Finding| it.object == finding.object && it.message == finding.message;
        if !findings.iter().any(same) {
            findings.push(finding);
        }
    }
    findings
}

/// Returns the registration of the webhook that could not be called.
fn named(facts: &Facts, finding: &Finding) -> Option<FindingObject> {
    let (_, rest) = finding.message.split_once(NOT_CALLED)?;
    let (name, _) = rest.strip_prefix('"')?.split_once('"')?;
    let has = |it: &&Registration| it.webhooks.iter().any(|webhook| webhook["name"] == name);
    let all = [&facts.mutating, &facts.validating];
    let mut all = all.into_iter().flatten().flatten();
    let registration = all.find(has)?;
    Some(FindingObject::new(
        registration.kind,
        registration.name.clone(),
    ))
}

const NOT_CALLED: &str = "the API server cannot call the webhook ";

fn question(webhook: &ShippedWebhook, probe: &Probe) -> String {
    match probe.shows {
        Shows::Filled { question, .. } => question.to_owned(),
        Shows::Refused { .. } => {
            format!("whether Berth refuses a malformed {}", webhook.kind)
        }
    }
}

fn finding(
    webhook: &ShippedWebhook,
    probe: &Probe,
    verdict: Verdict,
    by_policies: bool,
) -> Option<Finding> {
    let look = match by_policies {
        true => "see policies; a new policy counts after a second: run berth doctor again",
        false => {
            "see the other findings; kubectl -n open-cluster-management-hub logs \
             deployment/cluster-manager-registration-webhook"
        }
    };
    Some(match verdict {
        Verdict::Berths | Verdict::Policy => return None,
        Verdict::NotCalled => CHECK
            .fault(match probe.shows {
                Shows::Filled { instead, .. } if by_policies => {
                    format!("{instead}: the API server does not apply the policies")
                }
                Shows::Refused { .. } if by_policies => format!(
                    "a malformed {} would have been stored: the API server does not apply the policies",
                    webhook.kind
                ),
                Shows::Filled { instead, .. } => {
                    format!("{instead}: the API server does not call the gate")
                }
                Shows::Refused { .. } => format!(
                    "a malformed {} would have been stored: the API server does not call the gate, or calls another \
                     server",
                    webhook.kind
                ),
            })
            .remedy(look),
        Verdict::Ocms => CHECK
            .fault(format!(
                "OCM's webhook answers, or an older Berth: the message of the refusal of a {} is not the one of this version",
                webhook.kind
            ))
            .remedy(
                "kubectl apply -k manifests/server, or, where OCM's operator runs, set the image: manifests/README.md, \"On a \
                 hub of OCM's operator\"",
            ),
        Verdict::CallFailed { webhook, why } => CHECK
            .fault(format!("{NOT_CALLED}{webhook:?}: {}", plain(&why)))
            .remedy(of_a_failed_call(&why)),
        Verdict::Elsewhere(message) => {
            let why = format!("another webhook or policy refused the write: {}", plain(&message));
            CHECK.unknown(&question(webhook, probe), &Unread::Why(why))
        }
        // Another check reports missing CRDs. Not every hub has placements and works.
        Verdict::NotServed => return None,
        Verdict::NotAllowed => {
                        let needs = needed("create", webhook.resource, webhook.group, probe.namespace);
            CHECK.unknown(&question(webhook, probe), &Unread::Needs(needs))
        }
    })
}

fn of_a_failed_call(why: &str) -> String {
    let is = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if is(&["x509", "certificate", "tls:", "TLS"]) {
        "correct the certificate or the caBundle: see webhook-certificate".to_owned()
    } else if is(&["not found", "404"]) {
        "correct the path or the Service: see registrations and webhook-service".to_owned()
    } else {
        "check that the gate runs, and that the API server reaches it: kubectl -n open-cluster-management-hub rollout status \
         deployment/cluster-manager-registration-webhook"
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use berth_manifests::webhooks::{
        MUTATE_CLUSTER, VALIDATE_BINDING, VALIDATE_CLUSTER, VALIDATE_SET,
    };
    use berth_policies::Options;
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{add_policies, told, with};

    pub(super) fn refused(code: u16, message: &str) -> Tried {
        Tried {
            outcome: Err(Box::new(Status {
                code,
                message: message.to_owned(),
                ..Status::default()
            })),
        }
    }

    fn denied(webhook: &ShippedWebhook, words: &str) -> Tried {
        let name = webhook.name;
        refused(
            400,
            &format!("admission webhook \"{name}\" denied the request: {words}"),
        )
    }

    fn stored(webhook: &ShippedWebhook) -> Tried {
        Tried {
            outcome: Ok(object(webhook, webhook.probe.as_ref().unwrap(), "x")),
        }
    }

    #[test]
    fn an_answer_shows_who_gave_it() {
        let (mutate, cluster) = (&MUTATE_CLUSTER, &VALIDATE_CLUSTER);
        let (set, binding) = (&VALIDATE_SET, &VALIDATE_BINDING);
        let mut filled_in = stored(mutate);
        filled_in.outcome.as_mut().unwrap()["spec"]["taints"][0]["timeAdded"] =
            json!("2026-01-01T00:00:00Z");
        let berths = "spec.leaseDurationSeconds: Invalid value: 86401: must be between 0 and 86400\nurl \"http://x\" is \
                      invalid in client configs";
        let ocms = "url \"http://x\" is invalid in client configs";
        let failed = "Internal error occurred: failed calling webhook \"a.b\": failed to call webhook: Post \"https://x\": \
                      x509: certificate signed by unknown authority";
        let rbac = "managedclusters.cluster.open-cluster-management.io is forbidden: User \"eve\" cannot create resource";
        let policy = "managedclusters.cluster.open-cluster-management.io \"x\" is forbidden: ValidatingAdmissionPolicy 'p'";
        let own = "managedclusters.cluster.open-cluster-management.io \"x\" is forbidden: ValidatingAdmissionPolicy \
                   'managedclusters.berth.open-cluster-management.io' with binding 'b' denied request: ";
        let by_policy = format!("{own}spec.leaseDurationSeconds: Invalid value: 86401: must be");
        let by_another = by_policy.replace("berth.open-cluster-management.io", "example.com");
        let call_failed = Verdict::CallFailed {
            webhook: "a.b".to_owned(),
            why: "Post \"https://x\": x509: certificate signed by unknown authority".to_owned(),
        };
        // (sentence, webhook, answer, verdict)
        let table = [
            ("a time", mutate, filled_in, Verdict::Berths),
            ("no time", mutate, stored(mutate), Verdict::NotCalled),
            ("Berth's words", cluster, denied(cluster, berths), Verdict::Berths),
            ("OCM's words", cluster, denied(cluster, ocms), Verdict::Ocms),
            ("other words", cluster, denied(cluster, "no"), Verdict::Ocms),
            ("stored", cluster, stored(cluster), Verdict::NotCalled),
            (
                "a name that is too long",
                set,
                denied(set, "metadata.name: Invalid value: \"x\": must be no more"),
                Verdict::Berths,
            ),
            ("stored", set, stored(set), Verdict::NotCalled),
            (
                "another name",
                binding,
                denied(
                    binding,
                    "The ManagedClusterSetBinding must have the same name as the target ManagedClusterSet",
                ),
                Verdict::Berths,
            ),
            ("nobody to call", cluster, refused(500, failed), call_failed),
            ("RBAC", cluster, refused(403, rbac), Verdict::NotAllowed),
            (
                "no CRD",
                cluster,
                refused(404, "404 page not found"),
                Verdict::NotServed,
            ),
            (
                "a policy",
                cluster,
                refused(403, policy),
                Verdict::Elsewhere(policy.to_owned()),
            ),
            (
                "Berth's policy",
                cluster,
                refused(422, &by_policy),
                Verdict::Policy,
            ),
            (
                "a policy with its words",
                cluster,
                refused(422, &by_another),
                Verdict::Elsewhere(by_another.clone()),
            ),
            (
                "another webhook",
                cluster,
                denied(binding, "no"),
                Verdict::Elsewhere(
                    "admission webhook \"managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io\" \
                     denied the request: no"
                        .to_owned(),
                ),
            ),
        ];
        let facts = with(|_| {});
        for (sentence, webhook, tried, expected) in table {
            assert_eq!(
                verdict(&facts, webhook, webhook.probe.as_ref().unwrap(), &tried),
                expected,
                "{sentence}: {}",
                webhook.name
            );
        }
    }

    #[test]
    fn one_call_that_fails_is_told_once() {
        let name = MUTATE_CLUSTER.name;
        let failed = format!(
            "Internal error occurred: failed calling webhook \"{name}\": failed to call webhook: Post \"x\": connection refused"
        );
        let facts = with(|facts| {
            for webhook in [&MUTATE_CLUSTER, &VALIDATE_CLUSTER] {
                facts.tried.insert(webhook.path, Ok(refused(500, &failed)));
            }
        });
        let findings = check(&facts);
        let expected = ["fault: the API server cannot call the webhook \"managedclustermutators"];
        assert_eq!(told(&findings, &expected), expected);
        assert_eq!(
            findings[0].object,
            Some(FindingObject::new("mutatingwebhookconfiguration", name))
        );
        assert!(
            findings[0]
                .remedy
                .as_ref()
                .unwrap()
                .contains("rollout status")
        );
    }

    #[test]
    fn who_may_not_write_is_told_which_right_is_missing() {
        let facts = with(|facts| {
            let rbac = "x is forbidden: User \"eve\" cannot create resource";
            for tried in facts.tried.values_mut() {
                *tried = Ok(refused(403, rbac));
            }
        });
        let expected = [
            "unknown: could not be checked: whether new taints get their time: you need verb \"create\" on \
             managedclusters.cluster.open-cluster-management.io",
            "unknown: could not be checked: whether Berth refuses a malformed ManagedCluster:",
            "unknown: could not be checked: whether Berth refuses a malformed ManagedClusterSet:",
            "unknown: could not be checked: whether Berth refuses a malformed ManagedClusterSetBinding: you need verb \
             \"create\" on managedclustersetbindings.cluster.open-cluster-management.io in namespace \"default\"",
            "unknown: could not be checked: whether Berth refuses a malformed Placement:",
            "unknown: could not be checked: whether Berth refuses a malformed ManifestWork:",
            "unknown: could not be checked: whether Berth refuses a malformed ManifestWorkReplicaSet:",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn policies_answer_for_webhooks_that_are_not_registered() {
        let without_webhooks = |facts: &mut Facts| {
            facts.mutating = Ok(Vec::new());
            facts.validating = Ok(Vec::new());
            add_policies(facts, &Options::default(), |_| {});
        };
        let facts = with(without_webhooks);
        assert_eq!(check(&facts), []);
        // A policy does not show that the gate can be called.
        assert!(!works(&facts, &VALIDATE_CLUSTER) && !works(&facts, &MUTATE_CLUSTER));
        let facts = with(|facts| {
            without_webhooks(facts);
            for webhook in [&MUTATE_CLUSTER, &VALIDATE_CLUSTER] {
                facts.tried.insert(webhook.path, Ok(stored(webhook)));
            }
        });
        let expected = [
            "fault: a new taint did not get its time: the API server does not apply the policies",
            "fault: a malformed ManagedCluster would have been stored: the API server does not apply",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
