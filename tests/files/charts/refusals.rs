//! Values that are refused, each with a sentence; and what helm's own checks say.

use berth_manifests::values::HubValues;
use serde_json::{Value, json};

use super::helm::{AGENT, AGENT_OPERATOR, Chart, HUB, HUB_OPERATOR, programs};

/// What both majors say when the schema refuses a value.
const BY_SCHEMA: &str = "values don't meet the specifications of the schema";

/// What passes for a certificate.
const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

/// Fails unless helm refuses the values, and says all of this.
fn assert_refused(chart: Chart, values: &Value, more: &[&str], sentences: &[&str]) {
    for program in programs() {
        let output = chart.run_template(program, values, more);
        assert_eq!(output.status.code(), Some(1), "{program}: {values}");
        let errors = String::from_utf8_lossy(&output.stderr);
        for sentence in sentences {
            assert!(errors.contains(sentence), "{program}: {values}: {errors}");
        }
        assert!(
            output.stdout.is_empty(),
            "{program}: {values}: nothing is rendered"
        );
    }
}

#[test]
fn charts_pass_lint() {
    let of_agent = json!({"clusterName": "c1"});
    let of_hub = json!({"monitoring": {"enabled": true}, "bootstrap": {"enabled": true}, "console": {"enabled": true}});
    for program in programs() {
        for (chart, values) in [
            (HUB, json!({})),
            (HUB, of_hub.clone()),
            (AGENT, of_agent.clone()),
            (HUB_OPERATOR, json!({"operator": {"enabled": true}})),
            (AGENT_OPERATOR, json!({"operator": {"enabled": true}})),
        ] {
            let output = chart.linted(program, &values);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{program}: {said}");
        }
    }
}

/// A console with these values.
fn of_console(mut console: Value) -> Value {
    console["enabled"] = json!(true);
    json!({ "console": console })
}

fn proxy() -> Value {
    json!({"enabled": true, "clientCaSecret": "ca", "allowedNames": ["proxy"]})
}

/// A console behind a proxy, with these values in place of good ones.
fn of_proxy(values: Value) -> Value {
    let mut proxy = proxy();
    for (name, value) in values.as_object().into_iter().flatten() {
        proxy[name] = value.clone();
    }
    of_console(json!({"tokens": false, "impersonation": proxy}))
}

#[test]
fn contradictions_are_refused() {
    for (values, sentence) in [
        (
            json!({"mode": "policies", "certificates": {"source": "cert-manager"}}),
            "certificates.source cert-manager is for a gate, and mode policies has none: leave certificates.source at berth",
        ),
        (
            json!({"mode": "policies", "certificates": {"source": "existing", "existing": {"secretName": "a", "caBundle": PEM}}}),
            "certificates.source existing is for a gate, and mode policies has none: leave certificates.source at berth",
        ),
        (
            json!({"certificates": {"source": "existing", "existing": {"caBundle": PEM}}}),
            "certificates.existing.secretName is missing",
        ),
        (
            json!({"certificates": {"source": "existing", "existing": {"secretName": "a", "caBundle": "b"}}}),
            "certificates.existing.caBundle has no certificate",
        ),
        (
            json!({"certificates": {"existing": {"secretName": "a"}}}),
            "certificates.existing is of the source existing: set certificates.source to existing, too",
        ),
        (
            json!({"mode": "policies", "registrations": {"enabled": false}}),
            "registrations.enabled=false is for a gate, and mode policies has none: leave it at true",
        ),
        (
            json!({"mode": "hub", "ocmNames": true}),
            "ocmNames renames the controller's Deployment, and mode hub has none: set ocmNames to false",
        ),
        (
            json!({"clusterProfiles": {"placementDecisions": true}}),
            "clusterProfiles.placementDecisions refer to ClusterProfiles: set clusterProfiles.enabled to true, too",
        ),
        (
            json!({"mode": "hub", "controller": {"replicas": 0}}),
            "controller.replicas is for the controller's Deployment, and mode hub has none: set gate.replicas instead",
        ),
        (
            json!({"mode": "policies", "gate": {"resources": {"limits": {"memory": "1Gi"}}}}),
            "gate.resources is for the gate's Deployment, and mode policies has none: remove it",
        ),
        (
            json!({"placement": {"extraArgs": ["--v=4"]}}),
            "placement.extraArgs is for the placement controller's own Deployment: set placementApart to true",
        ),
        (
            json!({"mode": "policies-with-webhook", "featureGates": {"GuardedSelectors": false}}),
            "featureGates.GuardedSelectors changes rules of the gate, and the policies of mode policies-with-webhook are printed without it",
        ),
        (
            json!({"featureGates": {"ClusterProfile": true}}),
            "featureGates.ClusterProfile lacks the permissions that the gate needs: set clusterProfiles.enabled instead",
        ),
        (
            json!({"featureGates": {"SIGPlacementDecision": true}}),
            "featureGates.SIGPlacementDecision lacks the permissions that the gate needs: set clusterProfiles.placementDecisions",
        ),
        (
            json!({"featureGates": {"ManagedClusterAutoApproval": true}}),
            "featureGates.ManagedClusterAutoApproval lacks the permissions that the gate needs: set autoApproval.users instead",
        ),
        (
            of_console(json!({"publicUrl": "http://console.example.com"})),
            "console.publicUrl http://console.example.com: who reads the network would read sessions: it has to begin with https:// unless",
        ),
        (
            of_console(json!({"publicUrl": "http://localhost.example.com"})),
            "console.publicUrl http://localhost.example.com: who reads the network",
        ),
        (
            of_console(json!({"insecureHttp": true, "tlsSecretName": "tls"})),
            "console.insecureHttp has no TLS, and console.tlsSecretName is for TLS: remove one of them",
        ),
        (
            of_console(json!({"oidc": {"issuerUrl": "https://login.example.com"}})),
            "console.oidc.clientId is missing: the client ID at the provider",
        ),
        (
            of_console(json!({"oidc": {"clientId": "berth", "extraScopes": ["email"]}})),
            "console.oidc.clientId is of a provider, and console.oidc.issuerUrl is missing: set it, or remove clientId",
        ),
        (
            of_proxy(json!({"clientCaSecret": ""})),
            "console.impersonation.clientCaSecret is missing: the Secret with the CA",
        ),
        (
            of_proxy(json!({"allowedNames": []})),
            "console.impersonation.allowedNames is missing: the names in the proxy's certificate",
        ),
        (
            of_proxy(json!({"usernameHeaders": []})),
            "console.impersonation.usernameHeaders is missing",
        ),
        (
            of_proxy(json!({"groupHeaders": []})),
            "console.impersonation.groupHeaders is missing",
        ),
        (
            json!({"console": {"enabled": true, "impersonation": proxy()}}),
            "console.impersonation names every user, so nobody signs in with a token: set console.tokens to false",
        ),
        (
            json!({"console": {
                "enabled": true, "tokens": false, "impersonation": proxy(),
                "oidc": {"issuerUrl": "https://login.example.com", "clientId": "berth"},
            }}),
            "console.impersonation and console.oidc both name users: remove one of them",
        ),
        (
            json!({"console": {"enabled": true, "tokens": false, "impersonation": proxy(), "insecureHttp": true}}),
            "console.impersonation needs the certificate of the proxy, and console.insecureHttp has no TLS",
        ),
        (
            of_console(json!({"impersonation": {"clientCaSecret": "ca"}})),
            "console.impersonation.clientCaSecret is of a proxy, and console.impersonation.enabled is false: set it to true",
        ),
        (
            of_console(json!({"tokens": false})),
            "console.tokens is false, and there is no other way to sign in: set it to true",
        ),
        (
            of_console(json!({"pods": {"replicas": 2}})),
            "console.pods.replicas is 2, and sessions are in the memory of one process: set it to 1",
        ),
        (
            json!({"commonLabels": {"app.kubernetes.io/name": "hub"}}),
            "commonLabels: the chart sets the label app.kubernetes.io/name itself: remove it",
        ),
    ] {
        assert_refused(HUB, &values, &[], &[sentence]);
        let read: HubValues = serde_json::from_value(values).expect("the schema takes it");
        let said = read.contradictions();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with(sentence), "{said:?}");
    }
    for (values, sentence) in [
        (
            json!({}),
            "clusterName is missing: set it to the name of the cluster on the hub",
        ),
        (
            json!({"clusterName": "c1", "work": {"enabled": false, "impersonation": true}}),
            "work.impersonation is for ManifestWorks, and work.enabled is false: set work.impersonation to false",
        ),
        (
            json!({"clusterName": "c1", "bootstrap": {"kubeconfig": "kind: Config", "secrets": ["a", "b"]}}),
            "bootstrap.kubeconfig is for one hub, and bootstrap.secrets names several: make the Secrets yourself",
        ),
        (
            json!({"clusterName": "c1", "featureGates": {"MultipleHubs": true}}),
            "featureGates.MultipleHubs follows from the number of bootstrap.secrets: remove it",
        ),
        (
            json!({"clusterName": "c1", "commonLabels": {"app": "agent"}}),
            "commonLabels: the chart sets the label app itself: remove it",
        ),
    ] {
        assert_refused(AGENT, &values, &[], &[sentence]);
    }
}

/// With the operator, each value has an effect or is refused, and so it is with those of the operator without it.
#[test]
fn values_without_an_effect_are_refused() {
    let of_manager = "operator.enabled installs the operator, which takes its settings from the ClusterManager: set";
    let of_klusterlet =
        "operator.enabled installs the operator, which takes its settings from the Klusterlet: set";
    let nothing = "remove it, or set operator.enabled to false";
    for (values, sentences) in [
        (
            json!({"gate": {"replicas": 5}}),
            [
                of_manager,
                "--deployment-replicas in operator.pods.extraArgs, instead of gate.replicas",
            ],
        ),
        (
            json!({"controller": {"resources": {"limits": {"memory": "1Gi"}}}}),
            [of_manager, "instead of controller.resources.limits"],
        ),
        (
            json!({"placement": {"nodeSelector": {"a": "b"}}}),
            [of_manager, "instead of placement.nodeSelector"],
        ),
        (
            json!({"size": "large"}),
            [
                of_manager,
                "resourceRequirement in operator.clusterManager.spec",
            ],
        ),
        (
            json!({"featureGates": {"PlacementScores": true}}),
            [
                of_manager,
                "operator.clusterManager.spec instead of featureGates",
            ],
        ),
        (
            json!({"autoApproval": {"users": ["alice"]}}),
            [
                of_manager,
                "operator.clusterManager.spec instead of autoApproval.users",
            ],
        ),
        (
            json!({"networkPolicies": {"enabled": true}}),
            [of_manager, "instead of networkPolicies.enabled"],
        ),
        (
            json!({"clusterProfiles": {"enabled": true}}),
            [of_manager, "instead of clusterProfiles.enabled"],
        ),
        (
            json!({"mode": "hub"}),
            ["a ClusterManager has nothing for mode", nothing],
        ),
        (
            json!({"registrations": {"enabled": false}}),
            [
                "a ClusterManager has nothing for registrations.enabled",
                nothing,
            ],
        ),
        (
            json!({"certificates": {"source": "cert-manager"}}),
            [
                "a ClusterManager has nothing for certificates.source",
                nothing,
            ],
        ),
        (
            json!({"ocmNames": true}),
            ["a ClusterManager has nothing for ocmNames", nothing],
        ),
        (
            json!({"placementApart": true}),
            ["a ClusterManager has nothing for placementApart", nothing],
        ),
        (
            json!({"monitoring": {"enabled": true}}),
            [
                "a ClusterManager has nothing for monitoring.enabled",
                nothing,
            ],
        ),
        (
            json!({"rbac": {"aggregate": false}}),
            ["a ClusterManager has nothing for rbac.aggregate", nothing],
        ),
        (
            json!({"bootstrap": {"enabled": true}}),
            [
                "a ClusterManager has nothing for bootstrap.enabled",
                nothing,
            ],
        ),
        (
            json!({"console": {"enabled": true}}),
            ["a ClusterManager has nothing for console.enabled", nothing],
        ),
        (
            json!({"operator": {"clusterManager": {"create": false, "spec": {"deployOption": {"mode": "Default"}}}}}),
            [
                "operator.clusterManager.spec is of a ClusterManager that is not created",
                "set operator.clusterManager.create to true",
            ],
        ),
    ] {
        let mut values = values;
        values["operator"]["enabled"] = json!(true);
        assert_refused(HUB_OPERATOR, &values, &[], &sentences);
    }
    for (values, sentences) in [
        (
            json!({"agent": {"replicas": 2}}),
            [
                of_klusterlet,
                "operator.klusterlet.spec instead of agent.replicas",
            ],
        ),
        (
            json!({"featureGates": {"ClusterProperty": true}}),
            [
                of_klusterlet,
                "operator.klusterlet.spec instead of featureGates",
            ],
        ),
        (
            json!({"bootstrap": {"secrets": ["hub-a", "hub-b"]}}),
            [
                of_klusterlet,
                "registrationConfiguration.bootstrapKubeConfigs instead of bootstrap.secrets",
            ],
        ),
        (
            json!({"work": {"admin": false}}),
            ["a Klusterlet has nothing for work.admin", nothing],
        ),
        (
            json!({"monitoring": {"enabled": true}}),
            ["a Klusterlet has nothing for monitoring.enabled", nothing],
        ),
        (
            json!({"clusterName": "c1", "operator": {"klusterlet": {"spec": {"clusterName": "c2"}}}}),
            [
                "clusterName is c1, and operator.klusterlet.spec.clusterName is c2",
                "remove one of them",
            ],
        ),
        (
            json!({"clusterName": "c1", "operator": {"klusterlet": {"create": false}}}),
            [
                "clusterName is of a Klusterlet that is not created",
                "set operator.klusterlet.create to true",
            ],
        ),
        (
            json!({"bootstrap": {"kubeconfig": "kind: Config"}, "operator": {"klusterlet": {"create": false}}}),
            [
                "bootstrap.kubeconfig is of a Klusterlet that is not created",
                "or remove it",
            ],
        ),
    ] {
        let mut values = values;
        values["operator"]["enabled"] = json!(true);
        assert_refused(AGENT_OPERATOR, &values, &[], &sentences);
    }
    let remedy =
        "is of the operator, which is not installed: set operator.enabled to true, or remove it";
    let values = json!({"operator": {"clusterManager": {"name": "hub"}}});
    assert_refused(HUB, &values, &[], &["operator.clusterManager.name", remedy]);
    let values = json!({"clusterName": "c1", "operator": {"pods": {"replicas": 2}}});
    assert_refused(AGENT, &values, &[], &["operator.pods.replicas", remedy]);
    let values = json!({"operator": {"enabled": true}});
    for chart in [HUB, AGENT] {
        let sentence = format!(
            "with operator.enabled, {} installs into the namespace open-cluster-management,",
            chart.name
        );
        assert_refused(chart, &values, &[], &[&sentence]);
    }
}

#[test]
fn what_the_cluster_lacks_is_refused() {
    let sentence = "mode policies needs Kubernetes 1.36 or newer, and this cluster has v1.35.2: set mode to webhooks or hub";
    let old = ["--kube-version", "1.35.2"];
    assert_refused(HUB, &json!({"mode": "policies"}), &old, &[sentence]);
    let sentence = "mode policies-with-webhook needs Kubernetes 1.36 or newer";
    assert_refused(
        HUB,
        &json!({"mode": "policies-with-webhook"}),
        &old,
        &[sentence],
    );
    let sentence = "berth-hub installs into the namespace open-cluster-management-hub";
    assert_refused(HUB, &json!({}), &["--namespace", "default"], &[sentence]);
    let sentence = "berth-agent installs into the namespace open-cluster-management-agent";
    let values = json!({"clusterName": "c1"});
    assert_refused(AGENT, &values, &["--namespace", "default"], &[sentence]);
    let sentence = "kubeVersion: >=1.28.0-0 which is incompatible";
    assert_refused(HUB, &json!({}), &["--kube-version", "1.27.9"], &[sentence]);
}

/// By the schema. Both majors name the value that is wrong, in words of their own.
#[test]
fn typos_and_values_that_make_no_sense_are_refused() {
    for (values, name) in [
        (json!({"mod": "hub"}), "mod"),
        (json!({"gate": {"replica": 3}}), "replica"),
        (json!({"crds": {"kep": true}}), "kep"),
        (json!({"gate": {"resources": {"limit": {}}}}), "limit"),
        (json!({"imagePullSecrets": ["pull"]}), "imagePullSecrets"),
        (
            json!({"featureGates": {"PlacementScore": true}}),
            "PlacementScore",
        ),
        (json!({"mode": "webhook"}), "mode"),
        (json!({"size": "huge"}), "size"),
        (json!({"image": {"digest": "sha256:abc"}}), "digest"),
        (json!({"gate": {"replicas": -1}}), "replicas"),
        (json!({"registrations": {"enabled": "false"}}), "enabled"),
        (json!({"autoApproval": {"users": "alice"}}), "users"),
        (json!({"console": {"enable": true}}), "enable"),
        (
            of_console(json!({"publicUrl": "console.example.com"})),
            "publicUrl",
        ),
        (
            of_console(json!({"publicUrl": "https://example.com/console"})),
            "publicUrl",
        ),
        (
            of_console(json!({"oidc": {"issuerUrl": "http://login.example.com", "clientId": "a"}})),
            "issuerUrl",
        ),
        (of_proxy(json!({"allowedNames": [" "]})), "allowedNames"),
        (of_proxy(json!({"allowedNames": ["a,b"]})), "allowedNames"),
        (
            of_proxy(json!({"usernameHeaders": ["X User"]})),
            "usernameHeaders",
        ),
    ] {
        assert_refused(HUB, &values, &[], &[BY_SCHEMA, name]);
        let said = match serde_json::from_value::<HubValues>(values) {
            Ok(read) => read.contradictions().join("\n"),
            Err(error) => error.to_string(),
        };
        assert!(!said.is_empty(), "{name} is taken");
    }
    for (values, name) in [
        (json!({"clusterName": "C1"}), "clusterName"),
        (json!({"clusterName": "c1", "works": {}}), "works"),
        (
            json!({"clusterName": "c1", "bootstrap": {"secrets": []}}),
            "secrets",
        ),
    ] {
        assert_refused(AGENT, &values, &[], &[BY_SCHEMA, name]);
    }
}

/// Those that only the charts have.
#[test]
fn typos_in_the_values_of_the_operator_are_refused() {
    for (chart, operator, name) in [
        (HUB_OPERATOR, json!({"enable": true}), "enable"),
        (HUB_OPERATOR, json!({"klusterlet": {}}), "klusterlet"),
        (
            HUB_OPERATOR,
            json!({"clusterManager": {"spec": "Default"}}),
            "spec",
        ),
        (
            HUB_OPERATOR,
            json!({"clusterManager": {"name": "Hub"}}),
            "name",
        ),
        (
            AGENT_OPERATOR,
            json!({"clusterManager": {}}),
            "clusterManager",
        ),
        (
            AGENT_OPERATOR,
            json!({"klusterlet": {"created": true}}),
            "created",
        ),
        (AGENT_OPERATOR, json!({"pods": {"replica": 1}}), "replica"),
    ] {
        let values = json!({ "operator": operator });
        assert_refused(chart, &values, &[], &[BY_SCHEMA, name]);
    }
}

/// Of a chart that contains this one.
#[test]
fn helms_global_values_are_no_typo() {
    for program in programs() {
        let values = json!({"global": {"region": "eu"}});
        assert!(!HUB.rendered(program, &values).is_empty());
    }
}
