//! What `berth init --values`, `berth join` and the operators install is what the charts render with the same values.

use berth_manifests::values::{AgentValues, HubValues};
use berth_manifests::{Agent, Hub};
use serde_json::{Value, json};

use super::compared::assert_renders;
use super::helm::{AGENT, HUB};

fn read(values: &Value) -> HubValues {
    serde_json::from_value(values.clone()).unwrap_or_else(|error| panic!("{values}: {error}"))
}

/// Settings of pods, each of them.
fn pods() -> Value {
    json!({
        "replicas": 5,
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "extraArgs": ["--v=4"],
        "extraEnv": [{"name": "A", "value": "b"}],
        "podLabels": {"team": "fleet"},
        "podAnnotations": {"a/b": "c"},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "priorityClassName": "system-cluster-critical",
    })
}

#[test]
fn the_objects_are_those_of_the_chart() {
    let pods = pods();
    let mut one = pods.clone();
    one["replicas"] = json!(1);
    let mut all = vec![
        json!({}),
        json!({"image": {"pullPolicy": "Always"}, "imagePullSecrets": [{"name": "pull"}]}),
        json!({"commonLabels": {"team": "fleet"}, "bootstrap": {"enabled": true}}),
        json!({"crds": {"enabled": false}, "clusterProfiles": {"enabled": true}}),
        json!({"rbac": {"aggregate": false}, "gate": pods, "controller": pods}),
        json!({"console": {"enabled": true}, "networkPolicies": {"enabled": true}}),
        json!({"size": "large", "console": {"enabled": true, "readOnly": true, "tlsSecretName": "tls", "publicUrl": "https://c.example.com"}}),
        json!({
            "image": {"pullPolicy": "Always"}, "imagePullSecrets": [{"name": "pull"}], "commonLabels": {"team": "fleet"}, "size": "small",
            "console": {"enabled": true, "insecureHttp": true, "publicUrl": "http://localhost:8090/", "pods": one},
        }),
        json!({"console": {"enabled": true, "tokens": false, "oidc": {
            "issuerUrl": "https://login.example.com/realms/fleet", "clientId": "berth", "clientSecretName": "secret", "caConfigMap": "ca",
            "extraScopes": ["email", "groups"],
        }}}),
        json!({"mode": "hub", "console": {"enabled": true, "oidc": {"issuerUrl": "https://login.example.com", "clientId": "berth"}}}),
        json!({"mode": "policies", "console": {"enabled": true, "tokens": false, "impersonation": {
            "enabled": true, "clientCaSecret": "ca", "allowedNames": ["proxy", "proxy.fleet.svc"], "groupSeparator": ",",
            "usernameHeaders": ["X-Forwarded-Preferred-Username", "X-Forwarded-User"], "groupHeaders": ["X-Forwarded-Groups"],
            "users": ["ada", "bob"], "groups": ["fleet"],
        }}}),
        // What is set of a console that is not installed has no effect.
        json!({"console": {"readOnly": true, "tokens": false, "tlsSecretName": "tls"}}),
    ];
    for mode in ["webhooks", "policies", "policies-with-webhook", "hub"] {
        for size in ["small", "medium", "large"] {
            all.push(json!({"mode": mode, "size": size}));
        }
        all.push(json!({
            "mode": mode,
            "networkPolicies": {"enabled": true},
            "clusterProfiles": {"enabled": true, "placementDecisions": true},
            "autoApproval": {"users": ["alice", "bob"]},
            "featureGates": {"PlacementScores": true, "ResourceCleanup": false},
        }));
        if mode != "policies" {
            all.push(json!({"mode": mode, "certificates": {"source": "cert-manager"}}));
            let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
            let existing = json!({"secretName": "my-certificate", "caBundle": pem});
            all.push(
                json!({"mode": mode, "certificates": {"source": "existing", "existing": existing}}),
            );
            all.push(json!({"mode": mode, "registrations": {"enabled": false}, "gate": pods}));
        }
        if !mode.starts_with("policies") {
            let gates = json!({"GuardedSelectors": false, "DefaultClusterSet": false});
            all.push(json!({"mode": mode, "featureGates": gates}));
        }
    }
    for values in all {
        let read = read(&values);
        assert_eq!(read.contradictions(), [""; 0], "{values}");
        assert_eq!(read.only_in_the_chart(), [""; 0], "{values}");
        let hub = Hub::with(&read, "berth");
        let mut objects: Vec<Value> = hub.objects().cloned().collect();
        objects.retain(|it| it["kind"] != "Namespace" || it["metadata"]["name"] != HUB.namespace);
        assert_renders(HUB, &values, &objects);
    }
}

#[test]
fn the_objects_of_an_agent_are_those_of_the_chart() {
    for mut values in [
        json!({}),
        json!({"image": {"pullPolicy": "Always"}, "imagePullSecrets": [{"name": "pull"}], "commonLabels": {"team": "fleet"}}),
        json!({"crds": {"enabled": false}, "agent": pods(), "featureGates": {"ClusterProperty": true, "ClusterClaim": false}}),
        json!({"bootstrap": {"secrets": ["hub-a", "hub-b"]}}),
        json!({"bootstrap": {"secrets": ["hub-a"]}, "work": {"enabled": false}}),
        json!({"work": {"admin": false}}),
        json!({"work": {"admin": false, "impersonation": true}}),
    ] {
        values["clusterName"] = json!("cluster1");
        let read: AgentValues = serde_json::from_value(values.clone()).expect("values");
        let agent = Agent::with(&read, "berth");
        let mut objects: Vec<Value> = agent.objects().cloned().collect();
        objects.retain(|it| it["kind"] != "Namespace" || it["metadata"]["name"] != AGENT.namespace);
        assert_renders(AGENT, &values, &objects);
    }
}

#[test]
fn without_values_it_is_the_hub_of_the_mode() {
    for mode in berth_manifests::Mode::ALL {
        let values = HubValues {
            mode,
            ..HubValues::default()
        };
        assert_eq!(Hub::with(&values, "x"), Hub::of(mode, "x"), "{mode:?}");
    }
}

#[test]
fn what_only_the_chart_has_is_named() {
    for (values, name) in [
        (json!({"ocmNames": true}), "ocmNames: only with Helm"),
        (
            json!({"operator": {"enabled": true}}),
            "operator.enabled: only with Helm, or 'berth init --operator'",
        ),
        (
            json!({"placementApart": true}),
            "placementApart: only with Helm",
        ),
        (
            json!({"monitoring": {"enabled": true}}),
            "monitoring.enabled: only with Helm, or kubectl apply -k manifests/monitoring",
        ),
        (
            json!({"crds": {"keep": false}}),
            "crds.keep=false: only with Helm",
        ),
    ] {
        let named = read(&values).only_in_the_chart();
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].starts_with(name), "{named:?}");
    }
}
