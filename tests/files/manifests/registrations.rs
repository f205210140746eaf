//! The registrations are those of the gate's webhooks: each webhook has exactly one.

use std::collections::BTreeSet;

use berth_api::groups;
use berth_review::Webhook;
use berth_webhooks::shipped;
use serde_json::{Value, json};

use crate::manifests::files::{object, read, resources};
use k8s_openapi::api::core::v1::Service;

/// A registration: an object with one webhook.
pub(crate) struct Registration {
    pub(crate) object: Value,
}

impl Registration {
    /// The only webhook in it.
    pub(crate) fn webhook(&self) -> &Value {
        let webhooks = self.object["webhooks"]
            .as_array()
            .expect("it has a list of webhooks");
        assert_eq!(webhooks.len(), 1, "{}", self.name());
        &webhooks[0]
    }

    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"]
            .as_str()
            .expect("it has a name")
    }
}

/// All registrations.
pub(crate) fn all() -> Vec<Registration> {
    resources("manifests/registrations")
        .iter()
        .filter(|file| !file.ends_with("kustomization.yaml"))
        .flat_map(|file| read(file))
        .map(|object| Registration { object })
        .collect()
}

/// The registration of a webhook.
pub(crate) fn of(webhook: Webhook) -> Registration {
    all()
        .into_iter()
        .find(|registration| registration.name() == shipped(webhook).name)
        .unwrap_or_else(|| panic!("{} is not registered", shipped(webhook).name))
}

#[test]
fn every_webhook_has_one_registration_and_every_registration_a_webhook() {
    let registered: Vec<_> = all()
        .iter()
        .map(|registration| registration.name().to_owned())
        .collect();
    let webhooks: BTreeSet<_> = Webhook::ALL.map(|webhook| shipped(webhook).name).into();
    assert_eq!(registered.len(), webhooks.len(), "{registered:?}");
    assert_eq!(
        registered
            .iter()
            .map(String::as_str)
            .collect::<BTreeSet<_>>(),
        webhooks
    );
}

#[test]
fn a_registration_says_what_its_webhook_serves() {
    for webhook in Webhook::ALL {
        let registration = of(webhook);
        let registered = registration.webhook();
        let name = shipped(webhook).name;
        let kind = match webhook.mutates() {
            true => "MutatingWebhookConfiguration",
            false => "ValidatingWebhookConfiguration",
        };
        assert_eq!(registration.object["kind"], kind, "{name}");
        assert_eq!(registered["name"], name);
        assert_eq!(
            registered["clientConfig"]["service"]["path"],
            shipped(webhook).path
        );

        // OCM registers ManagedClusters in every version; there is one.
        let versions = match webhook {
            Webhook::MutateCluster | Webhook::ValidateCluster | Webhook::ValidateWork => "*",
            _ => webhook.version(),
        };
        let scope = match webhook.is_namespaced() {
            true => "Namespaced",
            false => "Cluster",
        };
        let rules = json!([{
            "apiGroups": [webhook.group()],
            "apiVersions": [versions],
            "resources": [webhook.resource()],
            "operations": ["CREATE", "UPDATE"],
            "scope": scope,
        }]);
        assert_eq!(registered["rules"], rules, "{name}");
    }
}

#[test]
fn every_registration_answers_soon_and_without_side_effects_and_fails_closed() {
    for webhook in Webhook::ALL {
        let registration = of(webhook);
        let mut rest = registration.webhook().clone();
        let fields = rest.as_object_mut().expect("a webhook is an object");
        for field in ["name", "clientConfig", "rules", "matchConditions"] {
            assert!(fields.remove(field).is_some(), "{field}");
        }
        let mut expected = json!({
            "admissionReviewVersions": ["v1"],
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "sideEffects": "None",
            "matchPolicy": "Equivalent",
        });
        if webhook.mutates() {
            expected["reinvocationPolicy"] = json!("IfNeeded");
        }
        if webhook == Webhook::ValidateRequest || webhook.group() == groups::ADDON {
            // Renewals must not hang on the gate, and managers of add-ons must not.
            expected["failurePolicy"] = json!("Ignore");
            expected["timeoutSeconds"] = json!(2);
        }
        assert_eq!(rest, expected, "{}", shipped(webhook).name);
    }
}

#[test]
fn every_registration_calls_the_service() {
    let service: Service = object("manifests/server/service.yaml", "Service");
    let ports = service
        .spec
        .and_then(|spec| spec.ports)
        .expect("the Service has ports");
    for registration in all() {
        let config = &registration.webhook()["clientConfig"];
        let called = &config["service"];
        let name = registration.name();
        assert_eq!(called["name"], json!(service.metadata.name), "{name}");
        assert_eq!(
            called["namespace"],
            json!(service.metadata.namespace),
            "{name}"
        );
        assert!(
            ports.iter().any(|port| called["port"] == json!(port.port)),
            "{name} calls port {}, which the Service lacks",
            called["port"]
        );
        assert_eq!(
            config.get("caBundle"),
            None,
            "{name}: whoever installs it knows the CA"
        );
    }
}
