//! The registrations: they exist with the shipped values, or with those of OCM's operator, which work as well. Where policies
//! decide, registrations may be missing, or be limited to what policies cannot decide.

use berth_api::groups;
use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::WEBHOOKS;
use serde_json::{Value, json};

use super::crds;
use crate::doctor::facts::{Facts, Registration, path};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation;

const CHECK: Check = Check::Registrations;

/// The defaults of the API server.
const DEFAULTS: [(&str, &str); 4] = [
    ("failurePolicy", "\"Fail\""),
    ("matchPolicy", "\"Equivalent\""),
    ("reinvocationPolicy", "\"Never\""),
    ("timeoutSeconds", "10"),
];

/// OCM's operator runs the work webhook in a Deployment of its own.
const OCMS_WORK_SERVICE: &str = "cluster-manager-work-webhook";

/// The values of OCM's registrations that differ from ours. OCM's operator maintains them, so they are not a fault.
const OCMS: [(&str, &str); 5] = [
    ("admissionReviewVersions", r#"["v1beta1","v1"]"#),
    ("timeoutSeconds", "10"),
    ("matchConditions", "null"),
    ("reinvocationPolicy", "\"Never\""),
    ("scope", "\"*\""),
];

/// The registrations have to be applied with their CA, or no webhook can be called.
const AGAIN: &str = "apply the registrations with their CA, as in the installation (manifests/README.md): kubectl apply -k \
                     manifests/overlays/cert-manager, or kubectl apply -k my-hub";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (kind, all, mutates) in [
        ("mutatingwebhookconfigurations", &facts.mutating, true),
        ("validatingwebhookconfigurations", &facts.validating, false),
    ] {
        let registrations = match all {
            Ok(registrations) => registrations,
            Err(unread) => {
                findings.push(CHECK.unknown(&format!("the {kind}"), unread));
                continue;
            }
        };
        for webhook in WEBHOOKS.iter().filter(|it| it.mutates == mutates) {
            let object = FindingObject::new(webhook.registration_kind(), webhook.name);
            let found = registrations.iter().find(|it| it.name == webhook.name);
            let found = match found {
                Some(registration) => match rest(facts, webhook, registration) {
                    Some(rest) => {
                        let mut found = compare(webhook, &rest, registration, &facts.namespace);
                        found.extend(unenforced(facts, webhook, registration));
                        found
                    }
                    None => compare(webhook, &webhook.webhook(), registration, &facts.namespace),
                },
                // Another check reports policies that do not decide.
                None if facts.have_policies_for(webhook) => Vec::new(),
                // No policy guards Placements, and where policies decide, the gate may be gone.
                None if !webhook.missing.is_fault && facts.have_policies() => Vec::new(),
                None if webhook.group == groups::WORK && !crds::WORK.exists(facts) => {
                    vec![CHECK.note("it does not exist: the hub has no works")]
                }
                None if webhook.group == groups::ADDON && !crds::ADDONS.exists(facts) => {
                    vec![CHECK.note("it does not exist: the hub has no add-ons")]
                }
                // No policy guards ManifestWorks either. An admin who chose policies may know it.
                None if webhook.group == groups::WORK && facts.have_policies() => {
                    vec![CHECK.warning(missing_effect(webhook)).remedy(AGAIN)]
                }
                None => vec![missing(webhook)],
            };
            findings.extend(found.into_iter().map(|it| it.of(object.clone())));
        }
    }
    findings
}

fn missing_effect(webhook: &ShippedWebhook) -> String {
    format!("it does not exist: {}", webhook.missing.effect)
}

fn missing(webhook: &ShippedWebhook) -> Finding {
    let message = missing_effect(webhook);
    let finding = if webhook.missing.is_fault {
        CHECK.fault(message)
    } else {
        CHECK.warning(message)
    };
    finding.remedy(AGAIN)
}

/// Returns the webhook beside policies, if this registration is limited to what policies cannot decide.
fn rest(facts: &Facts, webhook: &ShippedWebhook, registration: &Registration) -> Option<Value> {
    let policies = facts.policies.as_ref().ok()?;
    let mut rest = crate::policies::rest(policies.options.as_ref()?)?;
    let is_of_rest = rest["metadata"]["name"] == webhook.name && facts.are_policies_enough(webhook);
    let mut rest = rest["webhooks"][0].take();
    let stored = registration.webhooks.first()?;
    let is_it = is_of_rest && stored["matchConditions"] == rest["matchConditions"];
    // Fail is stricter: OCM's controller needs it.
    if stored["failurePolicy"] == "Fail" {
        rest["failurePolicy"] = json!("Fail");
    }
    is_it.then_some(rest)
}

/// Berth's controller gives a cluster nothing while its namespace terminates or holds bindings. OCM's does.
fn unenforced(
    facts: &Facts,
    webhook: &ShippedWebhook,
    registration: &Registration,
) -> Option<Finding> {
    let ocms = facts.deployment(installation::OCMS_CONTROLLER)?;
    let is_ignored = registration.webhooks.first()?["failurePolicy"] == "Ignore";
    (is_ignored && !installation::is_ours(ocms)).then(|| {
        CHECK
            .warning(
                "failurePolicy is \"Ignore\", and OCM's controller runs: while the gate does not answer, a cluster may be accepted \
                 although its namespace holds bindings, and its agent gets that namespace",
            )
            .remedy(patch(webhook, "failurePolicy", &json!("Fail")))
    })
}

/// Returns a command that sets a field of a registration's webhook.
fn patch(webhook: &ShippedWebhook, field: &str, value: &Value) -> String {
    let path = format!("/webhooks/0/{field}");
    let patch = match value {
        Value::Null => json!([{"op": "remove", "path": path}]),
        value => json!([{"op": "add", "path": path, "value": value}]),
    };
    // Of the shipped values, only matchConditions contain quotes.
    match patch.to_string() {
        patch if patch.contains('\'') => AGAIN.to_owned(),
        patch => format!(
            "kubectl patch {} {} --type=json -p '{patch}'",
            webhook.registration_kind(),
            webhook.name
        ),
    }
}

fn compare(
    webhook: &ShippedWebhook,
    shipped: &Value,
    registration: &Registration,
    namespace: &str,
) -> Vec<Finding> {
    let [stored] = &registration.webhooks[..] else {
        let message = format!(
            "it has {} webhooks; the shipped one has 1",
            registration.webhooks.len()
        );
        let finding = if registration.webhooks.is_empty() {
            CHECK.fault(message)
        } else {
            CHECK.warning(message)
        };
        return vec![finding.remedy(AGAIN)];
    };
    let mut findings = Vec::new();
    let called = path(stored);
    if called != webhook.path {
        let message = format!(
            "it calls the path {called:?}; the path of this webhook is {:?}",
            webhook.path
        );
        let remedy = match stored["clientConfig"]["url"].as_str() {
            Some(_) => AGAIN.to_owned(),
            None => patch(webhook, "clientConfig/service/path", &json!(webhook.path)),
        };
        findings.push(CHECK.fault(message).remedy(remedy));
    }
    let service = &stored["clientConfig"]["service"];
    let expected = &shipped["clientConfig"]["service"]["name"];
    let is_work_apart = webhook.group == groups::WORK && service["name"] == OCMS_WORK_SERVICE;
    let is_called = service["name"] == *expected || is_work_apart;
    if service.is_object() && (service["namespace"] != namespace || !is_called) {
        let message = format!(
            "it calls the Service {} in namespace {}, not {expected} in {namespace:?}",
            service["name"], service["namespace"]
        );
        findings.push(
            CHECK
                .warning(message)
                .remedy("select the installation with --namespace, or apply its registrations"),
        );
    }
    findings.extend(
        rules(shipped, stored)
            .map(|finding| finding.remedy(patch(webhook, "rules", &shipped["rules"]))),
    );
    let mut ocms = Vec::new();
    for field in [
        "failurePolicy",
        "timeoutSeconds",
        "sideEffects",
        "matchPolicy",
        "matchConditions",
        "reinvocationPolicy",
        "admissionReviewVersions",
        "namespaceSelector",
        "objectSelector",
    ] {
        let (ours, found) = (value(shipped, field), value(stored, field));
        if ours == found || field == "reinvocationPolicy" && !webhook.mutates {
            continue;
        }
        if is_ocms(field, &found) {
            ocms.push(field);
            continue;
        }
        let difference = difference(field, &ours, &found);
        // With failurePolicy Ignore, a user who stops the gate bypasses it.
        let finding = if field == "failurePolicy" && !webhook.mutates && ours == "Fail" {
            CHECK.fault(difference)
        } else {
            CHECK.warning(difference)
        };
        findings.push(finding.remedy(patch(webhook, field, &shipped[field])));
    }
    if !ocms.is_empty() {
        findings.push(CHECK.note(format!("it has OCM's values of {}", ocms.join(", "))));
    }
    findings
}

/// Returns the effective value of a field.
fn value(webhook: &Value, field: &str) -> Value {
    let value = &webhook[field];
    let empty = value.as_object().is_some_and(serde_json::Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty);
    if empty {
        return Value::Null;
    }
    if value.is_null()
        && let Some((_, default)) = DEFAULTS.iter().find(|(name, _)| *name == field)
    {
        return serde_json::from_str(default).unwrap_or_default();
    }
    value.clone()
}

fn is_ocms(field: &str, found: &Value) -> bool {
    OCMS.iter().any(|(name, value)| {
        *name == field && serde_json::from_str(value).ok().as_ref() == Some(found)
    })
}

fn difference(field: &str, ours: &Value, found: &Value) -> String {
    let means = match field {
        "failurePolicy" if found == "Ignore" => {
            ": while the gate does not answer, every write is allowed"
        }
        "failurePolicy" => ": while the gate does not answer, no agent can renew its certificate",
        "namespaceSelector" | "objectSelector" => {
            ": writes of objects that are not selected bypass the gate"
        }
        "matchConditions" if found.is_null() => {
            ": every update calls the gate, whatever it changes"
        }
        "matchConditions" => ": writes that the gate guards may bypass it",
        "sideEffects" => ": a dry run may be refused",
        _ => "",
    };
    match field {
        "matchConditions" => format!("{field} differs from the shipped value{means}"),
        _ => format!("{field} is {found}; the shipped value is {ours}{means}"),
    }
}

/// Checks that the rules cover all writes that the gate guards.
fn rules(shipped: &Value, stored: &Value) -> impl Iterator<Item = Finding> + use<> {
    let none = Vec::new();
    let stored = stored["rules"].as_array().unwrap_or(&none);
    let wanted = &shipped["rules"][0];
    let mut findings = Vec::new();
    let has = |rule: &Value, field: &str, value: &Value| {
        let any = rule[field].as_array().unwrap_or(&none);
        any.contains(value) || any.contains(&json!("*"))
    };
    let everywhere = |rule: &&Value| {
        let scope = &rule["scope"];
        let in_scope = scope.is_null() || scope == "*" || *scope == wanted["scope"];
        in_scope
            && ["apiGroups", "apiVersions", "resources"]
                .iter()
                .all(|field| has(rule, field, &wanted[*field][0]))
    };
    let covering: Vec<&Value> = stored.iter().filter(everywhere).collect();
    for operation in wanted["operations"].as_array().unwrap_or(&none) {
        if !covering
            .iter()
            .any(|rule| has(rule, "operations", operation))
        {
            let operation = operation.as_str().unwrap_or_default();
            let message = format!(
                "rules do not cover {operation} of {}.{} in version {}: such writes bypass the gate",
                wanted["resources"][0].as_str().unwrap_or_default(),
                wanted["apiGroups"][0].as_str().unwrap_or_default(),
                wanted["apiVersions"][0].as_str().unwrap_or_default(),
            );
            findings.push(CHECK.fault(message));
        }
    }
    let mut same = stored.clone();
    for rule in &mut same {
        if is_ocms("scope", &rule["scope"]) || rule["scope"].is_null() {
            rule["scope"] = wanted["scope"].clone();
        }
    }
    if findings.is_empty() && Value::from(same) != shipped["rules"] {
        let message = format!(
            "rules are {}; the shipped rules are {}: the gate is called for more writes than it decides, and refuses unknown ones",
            Value::from(stored.clone()),
            shipped["rules"]
        );
        findings.push(CHECK.warning(message));
    }
    findings.into_iter()
}

#[cfg(test)]
mod tests {
    use berth_manifests::webhooks;
    use berth_policies::{Mode, Options};

    use super::*;
    use crate::doctor::checks::testing::{add_policies, told, with};
    use crate::doctor::facts::Unread;

    #[test]
    fn a_registration_is_compared_with_the_shipped_one() {
        // (sentence, what is done to the validator of clusters, what is found)
        type Change = fn(&mut Value);
        let table: [(&str, Change, &[&str]); 14] = [
            ("as it is shipped", |_| {}, &[]),
            (
                "what the API server fills in",
                |it| {
                    it["namespaceSelector"] = json!({});
                    it["objectSelector"] = json!({});
                },
                &[],
            ),
            (
                "without policies, the API server's count",
                |it| it["failurePolicy"] = Value::Null,
                &[],
            ),
            (
                "fails open",
                |it| it["failurePolicy"] = json!("Ignore"),
                &[
                    "fault: failurePolicy is \"Ignore\"; the shipped value is \"Fail\": while the gate does not answer",
                ],
            ),
            (
                "waits long",
                |it| it["timeoutSeconds"] = json!(30),
                &["warning: timeoutSeconds is 30; the shipped value is 5"],
            ),
            (
                "selects by label",
                |it| it["objectSelector"] = json!({"matchLabels": {"a": "b"}}),
                &["warning: objectSelector is"],
            ),
            (
                "another condition",
                |it| it["matchConditions"][0]["expression"] = json!("false"),
                &["warning: matchConditions differs from the shipped value: writes that the gate"],
            ),
            (
                "another path",
                |it| it["clientConfig"]["service"]["path"] = json!("/validate"),
                &["fault: it calls the path \"/validate\""],
            ),
            (
                "a URL with the path",
                |it| {
                    let path = webhooks::VALIDATE_CLUSTER.path;
                    it["clientConfig"] = json!({"url": format!("https://127.0.0.1:9443{path}")});
                },
                &[],
            ),
            (
                "another Service",
                |it| it["clientConfig"]["service"]["namespace"] = json!("elsewhere"),
                &[
                    "warning: it calls the Service \"cluster-manager-registration-webhook\" in namespace \"elsewhere\"",
                ],
            ),
            (
                "updates are left out",
                |it| it["rules"][0]["operations"] = json!(["CREATE"]),
                &["fault: rules do not cover UPDATE of managedclusters"],
            ),
            (
                "namespaced objects only",
                |it| it["rules"][0]["scope"] = json!("Namespaced"),
                &[
                    "fault: rules do not cover CREATE",
                    "fault: rules do not cover UPDATE",
                ],
            ),
            (
                "deletions, too",
                |it| it["rules"][0]["operations"] = json!(["CREATE", "UPDATE", "DELETE"]),
                &["warning: rules are"],
            ),
            (
                "OCM's",
                |it| {
                    it["admissionReviewVersions"] = json!(["v1beta1", "v1"]);
                    it["timeoutSeconds"] = json!(10);
                    it["rules"][0]["scope"] = json!("*");
                    it["matchConditions"] = Value::Null;
                },
                &[
                    "note: it has OCM's values of timeoutSeconds, matchConditions, admissionReviewVersions",
                ],
            ),
        ];
        let webhook = &webhooks::VALIDATE_CLUSTER;
        for (sentence, change, expected) in table {
            let mut stored = webhook.webhook();
            change(&mut stored);
            let registration = Registration {
                kind: webhook.registration_kind(),
                name: webhook.name.to_owned(),
                webhooks: vec![stored],
            };
            let shipped = webhook.webhook();
            let findings = compare(
                webhook,
                &shipped,
                &registration,
                "open-cluster-management-hub",
            );
            assert_eq!(told(&findings, expected), expected, "{sentence}");
        }
    }

    #[test]
    fn what_is_not_registered_is_a_fault_unless_ocm_lacks_it() {
        let facts = with(|facts| {
            facts.mutating = Ok(Vec::new());
            facts.validating = Ok(Vec::new());
        });
        let expected = [
            "fault: it does not exist: clusters do not get",
            "fault: it does not exist: any user who may write a ManagedCluster",
            "warning: it does not exist: sets",
            "fault: it does not exist: any user who may write bindings",
            "warning: it does not exist: an agent may file",
            "warning: it does not exist: placements that cannot be scheduled",
            "fault: it does not exist: any user who may write a ManifestWork",
            "warning: it does not exist: any user who may write a ManifestWorkReplicaSet",
            "warning: it does not exist: templates that no cluster can have",
            "warning: it does not exist: configs that cannot be used",
            "warning: it does not exist: configs of a kind that an add-on does not support",
            "warning: it does not exist: a config of a kind",
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
        let facts = with(|facts| facts.mutating = Err(Unread::Needs("verb".to_owned())));
        let expected =
            ["unknown: could not be checked: the mutatingwebhookconfigurations: you need verb"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    /// Another check says that the CRDs are missing.
    #[test]
    fn a_hub_without_works_needs_no_registrations_of_works() {
        let remove_crds = |facts: &mut Facts| {
            for crd in berth_manifests::files::WORK_CRDS {
                for crd in crd.documents() {
                    facts.crds.insert(crds::name(&crd), Ok(None));
                }
            }
        };
        let facts = with(|facts| {
            remove_crds(facts);
            let all = facts.validating.as_mut().unwrap();
            all.retain(|it| !it.name.contains("work"));
        });
        let expected = ["note: it does not exist: the hub has no works"; 2];
        assert_eq!(told(&check(&facts), &expected), expected);
        // A CRD that cannot be read may exist.
        let facts = with(|facts| {
            remove_crds(facts);
            let crd = "manifestworks.work.open-cluster-management.io".to_owned();
            facts.crds.insert(crd, Err(Unread::Why("x".to_owned())));
            let all = facts.validating.as_mut().unwrap();
            all.retain(|it| !it.name.contains("work"));
        });
        let expected = ["fault: it does not exist", "warning: it does not exist"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn a_hub_without_add_ons_needs_no_registrations_of_add_ons() {
        let without_registrations = |facts: &mut Facts| {
            let all = facts.validating.as_mut().unwrap();
            all.retain(|it| !it.name.contains("addon"));
        };
        let facts = with(without_registrations);
        let expected = ["warning: it does not exist"; 4];
        assert_eq!(told(&check(&facts), &expected), expected);
        let facts = with(|facts| {
            without_registrations(facts);
            for crd in berth_manifests::files::ADDON_CRDS {
                for crd in crd.documents() {
                    facts.crds.insert(crds::name(&crd), Ok(None));
                }
            }
        });
        let expected = ["note: it does not exist: the hub has no add-ons"; 4];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn an_empty_registration_is_a_fault_and_a_longer_one_a_warning() {
        let webhook = &webhooks::MUTATE_CLUSTER;
        for (count, expected) in [(0, "fault: it has 0"), (2, "warning: it has 2")] {
            let registration = Registration {
                kind: webhook.registration_kind(),
                name: webhook.name.to_owned(),
                webhooks: vec![webhook.webhook(); count],
            };
            let findings = compare(webhook, &webhook.webhook(), &registration, "x");
            assert_eq!(told(&findings, &[expected]), [expected]);
        }
    }

    /// No policy guards ManifestWorks.
    const WORKS: &str = "warning: it does not exist: any user who may write a ManifestWork";

    #[test]
    fn where_policies_decide_registrations_may_be_missing_or_limited_to_the_rest() {
        let options = Options {
            mode: Mode::WithWebhook,
            ..Options::default()
        };
        let with_rest = |facts: &mut Facts, change: fn(&mut Value)| {
            let mut rest = crate::policies::rest(&options).unwrap()["webhooks"][0].take();
            change(&mut rest);
            facts.mutating = Ok(Vec::new());
            let all = facts.validating.as_mut().unwrap();
            all.retain(|it| it.name == webhooks::VALIDATE_CLUSTER.name);
            all[0].webhooks = vec![rest];
        };
        // (sentence, what is done, what is found)
        type Row = (
            &'static str,
            fn(&mut Facts),
            fn(&mut Value),
            &'static [&'static str],
        );
        let ocms: fn(&mut Facts) = |facts| {
            let deployment = serde_json::from_value(json!({
                "metadata": {"name": installation::OCMS_CONTROLLER},
                "spec": {"template": {"spec": {"containers": [{"args": ["/registration"]}]}}},
            }));
            facts
                .deployments
                .as_mut()
                .unwrap()
                .push(deployment.unwrap());
        };
        let table: [Row; 5] = [
            ("as printed", |_| {}, |_| {}, &[]),
            (
                "failing closed",
                ocms,
                |it| it["failurePolicy"] = json!("Fail"),
                &[],
            ),
            (
                "beside OCM's controller",
                ocms,
                |_| {},
                &["warning: failurePolicy is \"Ignore\", and OCM's controller runs"],
            ),
            (
                "patient",
                |_| {},
                |it| it["timeoutSeconds"] = json!(9),
                &["warning: timeoutSeconds is 9; the shipped value is 2"],
            ),
            (
                "with a condition of its own",
                |_| {},
                |it| it["matchConditions"][0]["expression"] = json!("false"),
                &[
                    "fault: failurePolicy is \"Ignore\"; the shipped value is \"Fail\"",
                    "warning: timeoutSeconds is 2",
                    "warning: matchConditions differs",
                ],
            ),
        ];
        for (sentence, installed, change, expected) in table {
            let facts = with(|facts| {
                with_rest(facts, change);
                installed(facts);
                add_policies(facts, &options, |_| {});
            });
            let expected = [expected, &[WORKS]].concat();
            assert_eq!(told(&check(&facts), &expected), expected, "{sentence}");
        }
        // No policy of Kubernetes 1.35 fills in anything.
        let facts = with(|facts| {
            facts.mutating = Ok(Vec::new());
            facts.validating = Ok(Vec::new());
            let options = Options::of_flags("--kubernetes=1.35").unwrap();
            add_policies(facts, &options, |_| {});
        });
        let expected = [
            "fault: it does not exist: clusters do not get the default set",
            WORKS,
        ];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
