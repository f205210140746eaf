//! The Services that the registrations name: they exist, have the port, and have a ready endpoint.

use super::writes;
use crate::doctor::facts::{Called, Endpoint, Facts, endpoint};
use crate::doctor::finding::{Check, Finding, FindingObject, Severity};
use crate::doctor::objects::{EndpointSlice, Service, ServicePort};

const CHECK: Check = Check::WebhookService;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut endpoints: Vec<Endpoint> = facts
        .registered()
        .flat_map(|(_, registration)| &registration.webhooks)
        .chain(facts.conversions().map(|(_, webhook)| webhook))
        .filter_map(endpoint)
        .collect();
    endpoints.sort();
    endpoints.dedup();
    let mut findings = Vec::new();
    for called_here in endpoints {
        let Endpoint::Service {
            namespace,
            name,
            port,
        } = called_here.clone()
        else {
            continue;
        };
        let Some(called) = facts.called.get(&(namespace.clone(), name.clone())) else {
            continue;
        };
        let object = FindingObject::within("service", &namespace, &name);
        let by = Caller::of(facts, &called_here);
        let mut found = one(facts, by, (&namespace, &name), port, called);
        if is_reached(facts, &called_here) {
            // The dry run has proven what could not be read.
            found.retain(|finding| finding.severity != Severity::Unknown);
        }
        findings.extend(found.into_iter().map(|finding| finding.of(object.clone())));
    }
    findings
}

/// What calls a Service, and what the API server does while it gets no answer.
#[derive(Clone, Copy)]
struct Caller {
    /// The words "X calls".
    calls: &'static str,
    without: &'static str,
}

impl Caller {
    fn of(facts: &Facts, there: &Endpoint) -> Self {
        match is_registered(facts, there) {
            true => Self {
                calls: "the registrations call",
                without: facts.without_gate(),
            },
            false => Self {
                calls: "the conversion of add-ons calls",
                without: NOT_CONVERTED,
            },
        }
    }
}

/// What happens if the conversion webhook cannot be called, as a predicate of the API server.
pub(super) const NOT_CONVERTED: &str =
    "fails reads and writes of add-ons in the version in which they are not stored";

/// Returns true if a registration calls this address.
pub(super) fn is_registered(facts: &Facts, there: &Endpoint) -> bool {
    let mut webhooks = facts.registered().flat_map(|(_, it)| &it.webhooks);
    webhooks.any(|it| endpoint(it).as_ref() == Some(there))
}

/// Returns true if a dry run reached a webhook at this address.
fn is_reached(facts: &Facts, there: &Endpoint) -> bool {
    facts.registered().any(|(webhook, registration)| {
        let mut webhooks = registration.webhooks.iter();
        writes::works(facts, webhook) && webhooks.any(|it| endpoint(it).as_ref() == Some(there))
    })
}

fn one(
    facts: &Facts,
    by: Caller,
    (namespace, name): (&str, &str),
    port: i32,
    called: &Called,
) -> Vec<Finding> {
    let service = match &called.service {
        Ok(Some(service)) => service,
        Ok(None) => {
            let message = format!(
                "it does not exist, and {} it: the API server {}",
                by.calls, by.without
            );
            return vec![
                CHECK
                    .fault(message)
                    .remedy("kubectl apply -k manifests/server"),
            ];
        }
        Err(unread) => return vec![CHECK.unknown("whether the Service exists", unread)],
    };
    if service.spec.type_.as_deref() == Some("ExternalName") {
        // The endpoint is elsewhere. The dry run shows whether it answers.
        return Vec::new();
    }
    let Some(of_service) = port_of(service, port) else {
        let message = format!("it has no port {port}, which {}", by.calls);
        return vec![
            CHECK
                .fault(message)
                .remedy("kubectl apply -k manifests/server"),
        ];
    };
    match &called.slices {
        Ok(slices) if has_ready_endpoint(slices, of_service.name.as_deref()) => Vec::new(),
        Ok(_) => vec![
            CHECK
                .fault(format!(
                    "it has no ready endpoint: the API server {}",
                    by.without
                ))
                .remedy(why_not_ready(facts, namespace, name)),
        ],
        Err(unread) => vec![CHECK.unknown("whether the Service has a ready endpoint", unread)],
    }
}

fn why_not_ready(facts: &Facts, namespace: &str, name: &str) -> String {
    match facts.deployment(name) {
        Some(_) => format!(
            "kubectl -n {namespace} rollout status deployment/{name}; kubectl -n {namespace} logs deployment/{name}"
        ),
        None => format!(
            "kubectl apply -k manifests/server; kubectl -n {namespace} rollout status deployment/{name}"
        ),
    }
}

fn port_of(service: &Service, number: i32) -> Option<&ServicePort> {
    let ports = service.spec.ports.as_ref()?;
    ports.iter().find(|port| {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        port.port == number && protocol == "TCP"
    })
}

/// Returns true if an endpoint is ready. Ports of a slice have the names of the Service's ports.
fn has_ready_endpoint(slices: &[EndpointSlice], port: Option<&str>) -> bool {
    slices.iter().any(|slice| {
        let has_port = slice.ports.iter().flatten().any(|it| {
            it.name.as_deref().unwrap_or_default() == port.unwrap_or_default() && it.port.is_some()
        });
        has_port
            && slice.endpoints.iter().flatten().any(|endpoint| {
                let conditions = endpoint.conditions.as_ref();
                let mut addresses = endpoint.addresses.iter().flatten();
                // An unknown state counts as ready.
                conditions.and_then(|it| it.ready) != Some(false) && addresses.next().is_some()
            })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::checks::testing::{told, with};
    use crate::doctor::facts::Unread;

    fn slices(value: Value) -> Vec<EndpointSlice> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn somebody_must_be_ready_behind_the_service() {
        let slice = |ready: Value, port: &str| {
            json!([{
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
                "ports": [{"name": port, "port": 9443}],
            }])
        };
        // (sentence, EndpointSlices, what is found)
        let nobody = "fault: it has no ready endpoint";
        let table: [(&str, Value, &[&str]); 6] = [
            ("ready", slice(json!(true), "webhook"), &[]),
            ("not known", slice(Value::Null, "webhook"), &[]),
            ("not ready", slice(json!(false), "webhook"), &[nobody]),
            ("another port", slice(json!(true), "metrics"), &[nobody]),
            ("no slice", json!([]), &[nobody]),
            (
                "one of two",
                json!([
                    slice(json!(false), "webhook")[0],
                    slice(json!(true), "webhook")[0]
                ]),
                &[],
            ),
        ];
        for (sentence, value, expected) in table {
            let facts = with(|facts| {
                for called in facts.called.values_mut() {
                    called.slices = Ok(slices(value.clone()));
                }
            });
            assert_eq!(told(&check(&facts), expected), expected, "{sentence}");
        }
    }

    #[test]
    fn the_service_must_be_there_with_its_port() {
        type Change = fn(&mut Called);
        let table: [(&str, Change, &[&str]); 5] = [
            ("as it is shipped", |_| {}, &[]),
            (
                "not there",
                |it| it.service = Ok(None),
                &["fault: it does not exist"],
            ),
            (
                "not to be read",
                |it| it.service = Err(Unread::Needs("x".to_owned())),
                &["unknown: could not be checked: whether the Service exists: you need x"],
            ),
            (
                "another port",
                |it| {
                    let service = it.service.as_mut().unwrap().as_mut().unwrap();
                    service.spec.ports.as_mut().unwrap()[0].port = 443;
                },
                &["fault: it has no port 9443"],
            ),
            (
                "elsewhere",
                |it| {
                    let service = it.service.as_mut().unwrap().as_mut().unwrap();
                    service.spec.type_ = Some("ExternalName".to_owned());
                    it.slices = Ok(Vec::new());
                },
                &[],
            ),
        ];
        for (sentence, change, expected) in table {
            let mut facts = with(|facts| facts.called.values_mut().for_each(change));
            facts.tried.clear();
            let findings = check(&facts);
            assert_eq!(told(&findings, expected), expected, "{sentence}");
        }
    }

    #[test]
    fn the_service_of_a_conversion_must_be_there_too() {
        let of_ocm = (
            "open-cluster-management-hub",
            "cluster-manager-addon-webhook",
        );
        let facts = with(|facts| {
            for crd in facts.crds.values_mut() {
                let crd = crd.as_mut().unwrap().as_mut().unwrap();
                if let Some(config) = crd.pointer_mut("/spec/conversion/webhook/clientConfig") {
                    config["service"]["name"] = json!(of_ocm.1);
                }
            }
            let mut called = facts.called.values().next().unwrap().clone();
            called.service = Ok(None);
            let place = (of_ocm.0.to_owned(), of_ocm.1.to_owned());
            facts.called.insert(place, called);
        });
        let expected = [
            "fault: it does not exist, and the conversion of add-ons calls it: the API server fails reads and writes",
        ];
        let findings = check(&facts);
        assert_eq!(told(&findings, &expected), expected);
        let object = FindingObject::within("service", of_ocm.0, of_ocm.1);
        assert_eq!(findings[0].object, Some(object));
    }

    #[test]
    fn what_cannot_be_read_is_proven_by_the_dry_run() {
        let mut facts = with(|facts| {
            for called in facts.called.values_mut() {
                called.slices = Err(Unread::Needs("x".to_owned()));
            }
        });
        assert_eq!(check(&facts), []);
        facts.tried.clear();
        let expected = ["unknown: could not be checked: whether the Service has a ready endpoint"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }
}
