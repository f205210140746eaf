//! Which webhooks of a registration are ours, and what is written there.

use std::time::Duration;

use super::*;

const OURS: &str = "gate.hub.svc";

fn policy() -> Policy {
    Policy {
        dns_names: vec![OURS.to_owned()],
        ip_addresses: vec![[127, 0, 0, 1].into()],
        ca_validity: Duration::from_secs(3600),
        leaf_validity: Duration::from_secs(3600),
        settle: Duration::from_secs(1),
    }
}

fn registered(kind: RegistrationKind, object: &Value) -> Registered {
    let registration = Registration {
        kind,
        name: "one".to_owned(),
    };
    Registered::new(&registration, object, &policy())
}

fn crd(conversion: &Value) -> Value {
    json!({"metadata": {"resourceVersion": "7"}, "spec": {"conversion": conversion}})
}

#[test]
fn a_conversion_is_ours_if_our_certificate_has_its_name() {
    let webhook = |client_config: Value| json!({"strategy": "Webhook", "webhook": {"clientConfig": client_config}});
    for (sentence, conversion, is_ours) in [
        (
            "our Service",
            webhook(json!({"service": {"name": "gate", "namespace": "hub", "port": 9443}})),
            true,
        ),
        (
            "our address",
            webhook(json!({"url": "https://127.0.0.1:9443/convert"})),
            true,
        ),
        (
            "our name",
            webhook(json!({"url": "https://gate.hub.svc/convert"})),
            true,
        ),
        (
            "OCM's Service",
            webhook(
                json!({"service": {"name": "cluster-manager-addon-webhook", "namespace": "hub"}, "caBundle": "eA=="}),
            ),
            false,
        ),
        (
            "our Service in another namespace",
            webhook(json!({"service": {"name": "gate", "namespace": "other"}})),
            false,
        ),
        (
            "another address",
            webhook(json!({"url": "https://127.0.0.2/convert"})),
            false,
        ),
        ("no address", webhook(json!({})), false),
        ("no webhook", json!({"strategy": "None"}), false),
        ("nothing", Value::Null, false),
    ] {
        let found = registered(RegistrationKind::Conversion, &crd(&conversion));
        let count = usize::from(is_ours);
        assert_eq!(found.bundles.len(), count, "{sentence}");
        assert_eq!(found.called.len(), count, "{sentence}");
        let operations = found.patch("bundle");
        let operations = operations.as_array().map_or(0, Vec::len);
        assert_eq!(operations, 1 + count, "{sentence}");
    }
}

#[test]
fn the_bundle_is_written_where_the_registration_has_it() {
    let version = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"});
    let bundle = |at: &str| json!({"op": "add", "path": format!("{at}/clientConfig/caBundle"), "value": "eA=="});
    let service = json!({"service": {"name": "gate", "namespace": "hub"}});
    let conversion = json!({"strategy": "Webhook", "webhook": {"clientConfig": service}});
    let found = registered(RegistrationKind::Conversion, &crd(&conversion));
    assert_eq!(
        found.patch("x"),
        json!([version, bundle("/spec/conversion/webhook")])
    );
    // Whatever it calls: it has our name.
    let configuration = json!({
        "metadata": {"resourceVersion": "7"},
        "webhooks": [{"clientConfig": service}, {"clientConfig": {"url": "https://elsewhere", "caBundle": "eQ=="}}],
    });
    let found = registered(RegistrationKind::Validating, &configuration);
    assert_eq!(found.bundles, [b"".to_vec(), b"y".to_vec()]);
    assert_eq!(
        found.patch("x"),
        json!([version, bundle("/webhooks/0"), bundle("/webhooks/1")])
    );
}
