//! The certificates that the webhooks serve, and the CA bundles of the registrations and of the CustomResourceDefinitions whose objects
//! are converted: the API server trusts them, and they do not expire soon.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::served::{Bundle, Chain, Judgement, Leaf, Objection, judge};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{services, writes};
use crate::doctor::facts::{Endpoint, Fact, Facts, Unread, endpoint};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation::{self, CONTROLLER, OWN_SECRET, WEBHOOK};

const CHECK: Check = Check::WebhookCertificate;

/// Certificates are renewed before less than this time is left, or less than a fifth of their lifetime.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

const DEFINITION: &str = "customresourcedefinition";

/// Returns a command that writes a CA into a registration or a definition.
fn patch(object: &FindingObject) -> String {
    let webhook = match object.kind {
        DEFINITION => "spec/conversion/webhook",
        _ => "webhooks/0",
    };
    format!(
        "write the CA of the certificate into it: kubectl patch {} {} --type=json -p \
         \"[{{\\\"op\\\":\\\"add\\\",\\\"path\\\":\\\"/{webhook}/clientConfig/caBundle\\\",\\\"value\\\":\\\"$(base64 < \
         ca.crt | tr -d '\\n')\\\"}}]\"",
        object.kind, object.name
    )
}

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<_> = kept(facts).into_iter().collect();
    // A finding about a certificate is reported once for all that call it.
    let mut reported = BTreeSet::new();
    let mut add = |object: FindingObject, (of_caller, of_server): (Vec<Finding>, Vec<Finding>)| {
        findings.extend(of_caller.into_iter().map(|it| it.of(object.clone())));
        for finding in of_server {
            let about = finding.object.clone().map(|object| object.to_string());
            if reported.insert((about, finding.message.clone())) {
                findings.push(finding);
            }
        }
    };
    for (webhook, registration) in facts.registered() {
        let object = FindingObject::new(webhook.registration_kind(), webhook.name);
        let works = writes::works(facts, webhook);
        for config in &registration.webhooks {
            let found = one(facts, works, facts.without_gate(), config, &object);
            add(object.clone(), found);
        }
    }
    for (name, config) in facts.conversions() {
        // The certificate of a webhook that is not the gate is not known.
        if endpoint(config).is_some_and(|there| !services::is_registered(facts, &there)) {
            continue;
        }
        let object = FindingObject::new(DEFINITION, name);
        let works = writes::works_at(facts, config);
        let found = one(facts, works, services::NOT_CONVERTED, config, &object);
        add(object, found);
    }
    findings
}

/// Returns the findings about the registration, and those about the certificate.
fn one(
    facts: &Facts,
    works: bool,
    without_gate: &str,
    config: &Value,
    object: &FindingObject,
) -> (Vec<Finding>, Vec<Finding>) {
    let Some(endpoint) = endpoint(config) else {
        let message = "its clientConfig names neither a URL nor a Service";
        return (vec![CHECK.fault(message).remedy(patch(object))], Vec::new());
    };
    let bundle = match bundle(config, without_gate) {
        Ok(bundle) => bundle,
        Err(finding) => {
            // The API server may trust the certificate by its own authorities, which are unknown here.
            let findings = if works {
                Vec::new()
            } else {
                vec![finding.remedy(patch(object))]
            };
            return (findings, Vec::new());
        }
    };
    let chain = match served(facts, &endpoint) {
        Ok((chain, of)) => (chain, of),
        Err(unread) => {
            let what = format!("the certificate that is served at {endpoint}");
            let finding = if works {
                CHECK.skipped(format!(
                    "the API server trusts it; its expiry could not be checked: {what}: {unread}"
                ))
            } else {
                CHECK.unknown(&what, &unread)
            };
            return (Vec::new(), vec![finding.of(about(&endpoint))]);
        }
    };
    let (chain, of) = chain;
    let chain = match chain {
        Ok(chain) => chain,
        Err(why) => {
            let finding = CHECK
                .fault(why)
                .of(of)
                .remedy("write a new one: manifests/README.md, \"With certificates of your own\"");
            return (Vec::new(), vec![finding]);
        }
    };
    let name = endpoint.server_name();
    let judgement = judge(&chain, &bundle, &name, facts.now());
    findings(&judgement, &name, facts.now(), object, &of, without_gate)
}

fn bundle(config: &Value, without_gate: &str) -> Result<Bundle, Finding> {
    let text = config["clientConfig"]["caBundle"].as_str();
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Err(CHECK.fault(format!(
            "it has no caBundle: the API server trusts only its own authorities, and {without_gate}"
        )));
    };
    let pem = BASE64_STANDARD
        .decode(text)
        .map_err(|_| CHECK.fault("its caBundle is not valid base64"))?;
    Bundle::from_pem(&pem).map_err(|problem| {
        let problem = problem.to_string();
        let what = problem.split(';').next().unwrap_or_default();
        CHECK.fault(format!("its caBundle cannot be used: {what}"))
    })
}

/// Checks the Secret of the certificate that Berth manages. Berth fills the Secret, but may neither create nor delete it.
fn kept(facts: &Facts) -> Option<Finding> {
    const APPLY: &str = "kubectl apply -f manifests/server/certificates.yaml";
    let gate = facts.deployment(WEBHOOK)?;
    if !installation::serves_a_kept_certificate(gate) {
        return None;
    }
    let place = (facts.namespace.clone(), WEBHOOK.to_owned());
    let called = facts.called.get(&place)?;
    let (namespace, name) = (&facts.namespace, &called.secret_name);
    let finding = match called.secret.as_ref().ok()? {
        None => CHECK
            .fault("it does not exist: running gates serve from memory, but a gate that restarts cannot serve")
            .remedy(APPLY),
        Some(secret)
            if secret.type_.as_deref() != Some("Opaque") || secret.immutable == Some(true) =>
        {
            CHECK
                .fault("its type is not Opaque, or it is immutable: its certificate cannot be renewed")
                .remedy(format!(
                    "kubectl -n {namespace} delete secret {name}, then {APPLY}"
                ))
        }
        Some(secret) if secret.data.as_ref().is_none_or(BTreeMap::is_empty) => CHECK
            .warning("it is empty: gates cannot serve before the controller has filled it")
            .remedy(format!(
                "find the reason in the logs of the controller: kubectl -n {namespace} logs deployment/{CONTROLLER}"
            )),
        Some(_) => return None,
    };
    Some(finding.of(FindingObject::within("secret", namespace, name)))
}

/// Returns the certificate at an address, and the object that holds it.
fn served(facts: &Facts, endpoint: &Endpoint) -> Fact<(Result<Chain, String>, FindingObject)> {
    let (namespace, name) = match endpoint {
        Endpoint::Address { .. } => {
            let not_asked = || Err(Unread::Why("it was not read".to_owned()));
            let seen = facts.served.get(endpoint).cloned();
            let chain = seen.unwrap_or_else(not_asked)?;
            return Ok((Ok(chain), about(endpoint)));
        }
        Endpoint::Service {
            namespace, name, ..
        } => (namespace, name),
    };
    let not_asked = || Unread::Why("it was not read".to_owned());
    let called = facts
        .called
        .get(&(namespace.clone(), name.clone()))
        .ok_or_else(not_asked)?;
    let object = FindingObject::within("secret", namespace, &called.secret_name);
    let secret = match &called.secret {
        Ok(Some(secret)) => secret,
        Ok(None) => {
            // The gate may run outside of the hub's cluster, or have its certificate from elsewhere.
            let why = format!("Secret {namespace}/{} does not exist", called.secret_name);
            return Err(Unread::Why(why));
        }
        Err(unread) => return Err(unread.clone()),
    };
    let data = secret.data.as_ref();
    let certificate = data.and_then(|data| data.get("tls.crt"));
    let chain = certificate
        .ok_or_else(|| "it has no tls.crt".to_owned())
        .and_then(|pem| {
            Chain::from_pem(&pem.0).map_err(|problem| {
                let problem = problem.to_string();
                let what = problem.split(';').next().unwrap_or_default();
                format!("its tls.crt cannot be used: {what}")
            })
        });
    Ok((chain, object))
}

/// The object of findings about a certificate that no Secret holds.
fn about(endpoint: &Endpoint) -> FindingObject {
    FindingObject::new("certificate", endpoint.to_string())
}

fn findings(
    judgement: &Judgement,
    name: &str,
    now: Timestamp,
    registration: &FindingObject,
    served: &FindingObject,
    without_gate: &str,
) -> (Vec<Finding>, Vec<Finding>) {
    let (mut of_registration, mut of_server) = (Vec::new(), Vec::new());
    let leaf = judgement.leaf.as_ref();
    let signed_by = leaf.map_or_else(String::new, |leaf| format!(" by {:?}", leaf.issuer));
    for objection in &judgement.objections {
        match objection {
            Objection::UnknownAuthority => of_registration.push(
                CHECK
                    .fault(format!(
                        "its caBundle does not match the certificate that {served} holds, which is signed{signed_by}: the \
                         API server does not trust it, and {without_gate}"
                    ))
                    .remedy(patch(registration)),
            ),
            Objection::AuthorityInvalid { not_after } => of_registration.push(
                CHECK
                    .fault(format!(
                        "the authority in its caBundle that signed the certificate of {served} is not valid now (valid until \
                         {not_after})"
                    ))
                    .remedy("create a new CA, and issue a certificate with it: manifests/README.md, \"For a new CA\""),
            ),
            Objection::Name => of_server.push(
                CHECK
                    .fault(format!(
                        "the certificate does not have the name {name:?}, which the API server expects; it has {}",
                        names(leaf)
                    ))
                    .of(served.clone())
                    .remedy(format!(
                        "issue one with subjectAltName=DNS:{name}: manifests/README.md, \"With certificates of your own\""
                    )),
            ),
            Objection::Expired => of_server.push(
                CHECK
                    .fault(format!(
                        "the certificate expired on {}",
                        leaf.map_or_else(String::new, |leaf| leaf.not_after.to_string())
                    ))
                    .of(served.clone())
                    .remedy(renew(served)),
            ),
            Objection::NotYetValid => of_server.push(
                CHECK
                    .fault(format!(
                        "the certificate is not valid before {}",
                        leaf.map_or_else(String::new, |leaf| leaf.not_before.to_string())
                    ))
                    .of(served.clone())
                    .remedy("check the clocks of this machine and of the one that issued it"),
            ),
            Objection::Unreadable(_) | Objection::Other(_) => of_server.push(
                CHECK
                    .fault(format!("the certificate is not trusted: {objection}"))
                    .of(served.clone())
                    .remedy(renew(served)),
            ),
        }
    }
    if let Some(leaf) = leaf
        && judgement.objections.is_empty()
    {
        let total = leaf.not_after.duration_since(leaf.not_before);
        let left = leaf.not_after.duration_since(now);
        if left < soon(total) {
            let message = format!(
                "the certificate expires on {}, and was not renewed",
                leaf.not_after
            );
            of_server.push(
                CHECK
                    .warning(message)
                    .of(served.clone())
                    .remedy(renew(served)),
            );
        }
        if let Some(not_after) = judgement.authority_not_after
            && not_after.duration_since(now) < SOON
            && not_after > leaf.not_after
        {
            let message = format!("the authority in its caBundle expires on {not_after}");
            let remedy = "create a new CA: manifests/README.md, \"For a new CA\"";
            of_registration.push(CHECK.warning(message).remedy(remedy));
        }
    }
    (of_registration, of_server)
}

fn soon(total: SignedDuration) -> SignedDuration {
    SOON.min(total / 5)
}

fn names(leaf: Option<&Leaf>) -> String {
    match leaf.map(|leaf| leaf.names.as_slice()) {
        None | Some([]) => "none".to_owned(),
        Some(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            super::some(&names)
        }
    }
}

fn renew(served: &FindingObject) -> String {
    match &served.namespace {
        Some(namespace) if served.name == OWN_SECRET => format!(
            "Berth renews it: find the reason in the logs of the holder of this Lease: kubectl -n {namespace} get lease \
             {OWN_SECRET}"
        ),
        Some(namespace) => format!(
            "kubectl -n {namespace} create secret tls {} --cert=tls.crt --key=tls.key --dry-run=client -o yaml | kubectl \
             apply -f - (with cert-manager: kubectl -n {namespace} describe certificate {})",
            served.name, served.name
        ),
        None => "put a new tls.crt and tls.key into the folder of --certdir; no restart is needed"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use berth_certs::issue::{Authority, Issued};
    use berth_manifests::webhooks::WEBHOOKS;
    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{NOW, told, with};

    const NAME: &str = "cluster-manager-registration-webhook.open-cluster-management-hub.svc";
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn before(days: i64) -> Timestamp {
        NOW - SignedDuration::from_hours(24 * days)
    }

    /// A leaf certificate of this name: issued `days_ago`, valid for `days`.
    fn leaf(name: &str, days_ago: i64, days: u32) -> (Authority, Issued) {
        let authority = Authority::new("the CA", DAY * 3650, before(days_ago)).unwrap();
        let issued = authority
            .leaf(&[name], &[], DAY * days, before(days_ago))
            .unwrap();
        (authority, issued)
    }

    fn facts(certificate: &str, bundle: &str) -> Facts {
        with(|facts| {
            for called in facts.called.values_mut() {
                let secret = called.secret.as_mut().unwrap().as_mut().unwrap();
                let data = secret.data.as_mut().unwrap();
                data.insert("tls.crt".to_owned(), ByteString(certificate.into()));
            }
            let all = [&mut facts.mutating, &mut facts.validating];
            for registration in all.into_iter().flat_map(|it| it.as_mut().unwrap()) {
                registration.webhooks[0]["clientConfig"]["caBundle"] =
                    json!(BASE64_STANDARD.encode(bundle));
            }
            set_bundle_of_conversions(facts, bundle);
        })
    }

    fn set_bundle_of_conversions(facts: &mut Facts, bundle: &str) {
        for crd in facts.crds.values_mut() {
            let crd = crd.as_mut().unwrap().as_mut().unwrap();
            if let Some(config) = crd.pointer_mut("/spec/conversion/webhook/clientConfig") {
                config["caBundle"] = json!(BASE64_STANDARD.encode(bundle));
            }
        }
    }

    #[test]
    fn a_conversion_needs_the_bundle_of_the_gate_too() {
        let (authority, good) = leaf(NAME, 1, 90);
        let (other, _) = leaf(NAME, 1, 90);
        let mut facts = facts(&good.certificate_pem, authority.certificate_pem());
        assert_eq!(check(&facts), []);
        set_bundle_of_conversions(&mut facts, other.certificate_pem());
        let findings = check(&facts);
        let stale = "fault: its caBundle does not match the certificate that secret/registration-webhook-serving-cert in \
                     open-cluster-management-hub holds, which is signed by \"CN=the CA\": the API server does not trust it, and fails reads \
                     and writes of add-ons";
        assert_eq!(told(&findings, &[stale, stale]), [stale, stale]);
        let object = findings[0].object.as_ref().unwrap();
        assert_eq!(
            object.to_string(),
            "customresourcedefinition/clustermanagementaddons.addon.open-cluster-management.io"
        );
        let remedy = findings[0].remedy.as_ref().unwrap();
        assert!(
            remedy.contains("/spec/conversion/webhook/clientConfig/caBundle"),
            "{remedy}"
        );
        // Another webhook may have another CA.
        for crd in facts.crds.values_mut() {
            let crd = crd.as_mut().unwrap().as_mut().unwrap();
            if let Some(config) = crd.pointer_mut("/spec/conversion/webhook/clientConfig") {
                config["service"]["name"] = json!("cluster-manager-addon-webhook");
            }
        }
        assert_eq!(check(&facts), []);
    }

    #[test]
    fn a_certificate_in_the_secret_is_held_against_the_bundle() {
        let (authority, good) = leaf(NAME, 1, 90);
        let (other, _) = leaf(NAME, 1, 90);
        let ca = authority.certificate_pem();
        let (expired_ca, expired) = leaf(NAME, 100, 90);
        let (soon_ca, soon) = leaf(NAME, 85, 90);
        let (fresh_ca, fresh) = leaf(NAME, 25, 30);
        let (late_ca, late) = leaf(NAME, 20, 30);
        let (misnamed_ca, misnamed) = leaf("other.svc", 1, 90);
        let all = [
            "fault: its caBundle does not match the certificate that secret/registration-webhook-serving-cert in \
             open-cluster-management-hub holds, which is signed by \"CN=the CA\"",
        ];
        let all: Vec<&str> = all
            .iter()
            .cycle()
            .take(WEBHOOKS.len() + 2)
            .copied()
            .collect();
        // (sentence, certificate, bundle, what is found)
        let table: [(&str, &Issued, &str, Vec<&str>); 7] = [
            ("sound", &good, ca, vec![]),
            ("of another CA", &good, other.certificate_pem(), all),
            (
                "expired",
                &expired,
                expired_ca.certificate_pem(),
                vec!["fault: the certificate expired on 2026-"],
            ),
            (
                "ends in five days of ninety",
                &soon,
                soon_ca.certificate_pem(),
                vec!["warning: the certificate expires on 2026-"],
            ),
            (
                "ends in five days of thirty",
                &fresh,
                fresh_ca.certificate_pem(),
                vec!["warning: the certificate expires on 2026-"],
            ),
            (
                "ends in ten days of thirty",
                &late,
                late_ca.certificate_pem(),
                vec![],
            ),
            (
                "misnamed",
                &misnamed,
                misnamed_ca.certificate_pem(),
                vec![
                    "fault: the certificate does not have the name \"cluster-manager-registration",
                ],
            ),
        ];
        for (sentence, issued, bundle, expected) in table {
            let findings = check(&facts(&issued.certificate_pem, bundle));
            assert_eq!(told(&findings, &expected), expected, "{sentence}");
        }
    }

    #[test]
    fn what_is_no_certificate_and_no_bundle_is_told() {
        let (authority, good) = leaf(NAME, 1, 90);
        let ca = authority.certificate_pem();
        let findings = check(&facts("nonsense", ca));
        let expected = ["fault: its tls.crt cannot be used: the file holds no PEM certificate"];
        assert_eq!(told(&findings, &expected), expected);
        assert_eq!(
            findings[0].object,
            Some(FindingObject::within(
                "secret",
                "open-cluster-management-hub",
                "registration-webhook-serving-cert"
            ))
        );
        let mut broken = facts(&good.certificate_pem, "nonsense");
        broken.tried.clear();
        let found = check(&broken);
        assert_eq!(found.len(), WEBHOOKS.len() + 2);
        assert!(found[0].message.starts_with("its caBundle cannot be used"));
        // Without a caBundle, the API server may trust the certificate by its own authorities.
        let without = |works: bool| {
            let mut facts = facts(&good.certificate_pem, ca);
            for registration in facts.validating.as_mut().unwrap() {
                registration.webhooks[0]["clientConfig"]["caBundle"] = Value::Null;
            }
            if !works {
                facts.tried.clear();
            }
            check(&facts).len()
        };
        assert_eq!((without(true), without(false)), (0, WEBHOOKS.len() - 1));
    }

    #[test]
    fn what_cannot_be_seen_is_proven_by_the_dry_run_or_open() {
        let mut facts = with(|facts| {
            for called in facts.called.values_mut() {
                called.secret = Err(Unread::Needs("verb \"get\" on secrets".to_owned()));
            }
        });
        let expected = ["skipped: the API server trusts it; its expiry could not be checked"];
        assert_eq!(told(&check(&facts), &expected), expected);
        facts.tried.clear();
        let expected =
            ["unknown: could not be checked: the certificate that is served at cluster-manager"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn the_secret_that_berth_keeps_is_an_admins_to_put_back() {
        let apply = "kubectl apply -f manifests/server/certificates.yaml";
        // (sentence, the Secret, what is found, its remedy)
        let table = [
            ("deleted", None, "fault: it does not exist", apply),
            (
                "of another type",
                Some(json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}})),
                "fault: its type is not Opaque",
                "delete secret berth-webhook-certificates, then kubectl apply",
            ),
            (
                "immutable",
                Some(json!({"type": "Opaque", "immutable": true, "data": {"tls.crt": ""}})),
                "fault: its type is not Opaque, or it is immutable",
                apply,
            ),
            (
                "as its manifest has it",
                Some(json!({"type": "Opaque"})),
                "warning: it is empty",
                "logs deployment/berth-registration-controller",
            ),
        ];
        for (sentence, secret, says, remedy) in table {
            let facts = with(|facts| {
                let called = facts.called.values_mut().next().unwrap();
                called.secret_name = OWN_SECRET.to_owned();
                called.secret = Ok(secret.map(|it| serde_json::from_value(it).unwrap()));
            });
            let finding = kept(&facts).unwrap();
            let expected = [says];
            assert_eq!(
                told(std::slice::from_ref(&finding), &expected),
                expected,
                "{sentence}"
            );
            assert!(finding.remedy.unwrap().contains(remedy), "{sentence}");
        }
        assert_eq!(kept(&with(|_| {})), None);
    }
}
