//! Leftovers of OCM's registration that are active beside Berth.

use berth_api::groups;
use berth_manifests::webhooks::{self, WEBHOOKS};

use crate::doctor::facts::{Facts, Registration, endpoint, path};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation::{self, OCMS_CONTROLLER, WEBHOOK};

const CHECK: Check = Check::OcmLeftovers;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = registrations(facts);
    findings.extend(webhook(facts));
    findings.extend(controller(facts));
    if let Err(unread) = &facts.deployments {
        findings.push(CHECK.unknown("the other Deployments", unread));
    }
    findings
}

/// Registrations under other names that cover the same objects and look like OCM's.
fn registrations(facts: &Facts) -> Vec<Finding> {
    let all = [&facts.mutating, &facts.validating];
    let all = all.into_iter().flatten().flatten();
    let others = all.filter(|it| WEBHOOKS.iter().all(|own| own.name != it.name));
    let mut findings = Vec::new();
    for registration in others.filter(|it| is_ocms(it)) {
        let called: Vec<String> = registration
            .webhooks
            .iter()
            .filter_map(endpoint)
            .map(|endpoint| endpoint.to_string())
            .collect();
        let called: Vec<&str> = called.iter().map(String::as_str).collect();
        let message = format!(
            "it covers the same objects as the gate, and calls {}",
            super::some(&called)
        );
        findings.push(
            CHECK
                .warning(message)
                .of(FindingObject::new(
                    registration.kind,
                    registration.name.clone(),
                ))
                .remedy(format!(
                    "kubectl delete {} {}",
                    registration.kind, registration.name
                )),
        );
    }
    findings
}

/// Returns true for OCM's registrations, by their paths, or by their names and rules. Other policies do not count.
fn is_ocms(registration: &Registration) -> bool {
    registration.webhooks.iter().any(|webhook| {
        let named = webhook["name"]
            .as_str()
            .is_some_and(|name| name.ends_with(".admission.cluster.open-cluster-management.io"));
        let empty = Vec::new();
        let rules = webhook["rules"].as_array().unwrap_or(&empty);
        let concerned = rules.iter().any(|rule| {
            let groups = rule["apiGroups"].as_array().unwrap_or(&empty);
            groups.iter().any(|group| *group == groups::CLUSTER)
        });
        webhooks::at(&path(webhook)).is_some() || named && concerned
    })
}

/// A Deployment of the webhook that no registration calls.
fn webhook(facts: &Facts) -> Option<Finding> {
    let deployment = facts.deployment(WEBHOOK)?;
    let mut webhooks = facts
        .registered()
        .flat_map(|(_, registration)| &registration.webhooks)
        .peekable();
    webhooks.peek()?;
    let elsewhere = webhooks.all(|it| it["clientConfig"]["url"].is_string());
    (elsewhere && installation::is_operators(deployment)).then(|| {
        CHECK
            .warning("it runs, but no registration calls it: they all name a URL")
            .of(FindingObject::within(
                "deployment",
                &facts.namespace,
                WEBHOOK,
            ))
            .remedy(scale(&facts.namespace, WEBHOOK))
    })
}

/// OCM's controller, beside one of ours.
fn controller(facts: &Facts) -> Option<Finding> {
    let ocms = facts.deployment(OCMS_CONTROLLER)?;
    let ours = installation::controller(|name| facts.deployment(name)).is_some();
    if !ours || installation::is_ours(ocms) {
        // It is the only controller: OCM's, or Berth's in an installation of OCM's operator.
        return None;
    }
    let holder = facts
        .election
        .lease
        .as_ref()
        .ok()
        .and_then(Option::as_ref)
        .and_then(|lease| lease.spec.holder_identity.clone())
        .unwrap_or_default();
    let acts = if holder.starts_with(OCMS_CONTROLLER) {
        format!("it holds the Lease ({holder:?}), so Berth's is not active")
    } else {
        format!("{holder:?} holds the Lease now; after it stops, OCM's may take the Lease")
    };
    let message = format!("OCM's controller runs beside Berth's: {acts}");
    Some(
        CHECK
            .warning(message)
            .of(FindingObject::within(
                "deployment",
                &facts.namespace,
                OCMS_CONTROLLER,
            ))
            .remedy(scale(&facts.namespace, OCMS_CONTROLLER)),
    )
}

fn scale(namespace: &str, name: &str) -> String {
    format!("kubectl -n {namespace} scale deployment/{name} --replicas=0")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::checks::testing::{container, told, with};
    use crate::doctor::objects::Deployment;

    fn deployment(name: &str, replicas: i32, command: &[&str]) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {},
                "template": {"spec": {"containers": [{"name": "x", "command": command}]}},
            },
        }))
        .unwrap()
    }

    #[test]
    fn other_registrations_for_the_same_objects_are_leftovers() {
        let webhook = &webhooks::VALIDATE_CLUSTER;
        // (sentence, name of the registration, what is different about its webhook, what is found)
        type Change = fn(&mut Value);
        let table: [(&str, &str, Change, usize); 5] = [
            ("the gate's own", webhook.name, |_| {}, 0),
            ("another name, the same path", "old", |_| {}, 1),
            (
                "another path, OCM's name",
                "old",
                |it| it["clientConfig"]["service"]["path"] = json!("/validate"),
                1,
            ),
            (
                "OCM's for works",
                "manifestworkvalidators.admission.work.open-cluster-management.io",
                |it| {
                    it["name"] =
                        json!("manifestworkvalidators.admission.work.open-cluster-management.io");
                    it["rules"][0]["apiGroups"] = json!(["work.open-cluster-management.io"]);
                    it["clientConfig"]["service"]["path"] = json!("/validate-work");
                },
                0,
            ),
            (
                "a policy of the admin's",
                "gatekeeper",
                |it| {
                    it["name"] = json!("validation.gatekeeper.sh");
                    it["clientConfig"]["service"]["path"] = json!("/v1/admit");
                },
                0,
            ),
        ];
        for (sentence, name, change, expected) in table {
            let mut stored = webhook.webhook();
            change(&mut stored);
            let facts = with(|facts| {
                facts.validating.as_mut().unwrap().push(Registration {
                    kind: "validatingwebhookconfiguration",
                    name: name.to_owned(),
                    webhooks: vec![stored.clone()],
                });
            });
            assert_eq!(check(&facts).len(), expected, "{sentence}");
        }
    }

    #[test]
    fn ocms_controller_beside_ours_is_a_leftover() {
        let with_controller = |replicas, ours: &str| {
            with(|facts| {
                container(facts).args = Some(vec![ours.to_owned()]);
                let other = deployment(OCMS_CONTROLLER, replicas, &["/registration", "controller"]);
                let deployments = facts.deployments.as_mut().unwrap();
                deployments.retain(|it| it.metadata.name.as_deref() == Some(WEBHOOK));
                deployments.push(other);
            })
        };
        let expected = ["warning: OCM's controller runs beside Berth's: \"berth-1_x\" holds"];
        assert_eq!(
            told(&check(&with_controller(1, "hub")), &expected),
            expected
        );
        assert_eq!(check(&with_controller(0, "hub")), []);
        assert_eq!(check(&with_controller(1, "webhook-server")), []);
        let mut beside = with_controller(1, "webhook-server");
        let ours = deployment(installation::CONTROLLER, 2, &["/berth", "controller"]);
        beside.deployments.as_mut().unwrap().push(ours);
        assert_eq!(told(&check(&beside), &expected), expected);
        // Ours by OCM's name (overlays/ocm-names).
        let renamed = with(|facts| {
            let ours = deployment(OCMS_CONTROLLER, 2, &["/berth", "controller"]);
            facts.deployments.as_mut().unwrap()[1] = ours;
        });
        assert_eq!(check(&renamed), []);
        let mut facts = with_controller(1, "hub");
        let lease = facts.election.lease.as_mut().unwrap().as_mut().unwrap();
        lease.spec.holder_identity = Some(format!("{OCMS_CONTROLLER}-1_x"));
        let expected = ["warning: OCM's controller runs beside Berth's: it holds"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn a_webhook_that_nobody_calls_is_a_leftover() {
        let mut facts = with(|facts| {
            let command = ["/registration", "webhook-server"];
            facts.deployments = Ok(vec![deployment(WEBHOOK, 3, &command)]);
        });
        assert_eq!(check(&facts), []);
        let all = [&mut facts.mutating, &mut facts.validating];
        for registration in all.into_iter().flat_map(|it| it.as_mut().unwrap()) {
            let path = path(&registration.webhooks[0]);
            registration.webhooks[0]["clientConfig"] = json!({"url": format!("https://x{path}")});
        }
        let expected = ["warning: it runs, but no registration calls it"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
