use super::*;

fn chosen(spec: Value) -> Choice {
    choice(&Play::new(spec).klusterlet(), &settings())
}

#[test]
fn settings_are_flags_of_the_agent() {
    let registration = |it: Value| json!({"registrationConfiguration": it});
    let work = |it: Value| json!({"workConfiguration": it});
    for (spec, flags) in [
        (json!({}), &["--agent-id=u1"][..]),
        (
            json!({"deployOption": {"mode": "Singleton"}}),
            &["--agent-id=u1", "--singleton"],
        ),
        (
            json!({"externalServerURLs": [{"url": "https://a"}, {"url": "https://b"}]}),
            &[
                "--agent-id=u1",
                "--spoke-external-server-urls=https://a,https://b",
            ],
        ),
        (
            registration(
                json!({"clientCertExpirationSeconds": 7200, "clusterAnnotations": {"agent.open-cluster-management.io/a": "b"}}),
            ),
            &[
                "--agent-id=u1",
                "--client-cert-expiration-seconds=7200",
                "--cluster-annotations=agent.open-cluster-management.io/a=b",
            ],
        ),
        (
            registration(json!({"clientCertExpirationSeconds": 0})),
            &["--agent-id=u1"],
        ),
        (
            registration(
                json!({"clusterClaimConfiguration": {"maxCustomClusterClaims": 30, "reservedClusterClaimSuffixes": ["a", "b"]}}),
            ),
            &[
                "--agent-id=u1",
                "--max-custom-cluster-claims=30",
                "--reserved-cluster-claim-suffixes=a,b",
            ],
        ),
        (
            registration(
                json!({"addOnKubeClientRegistrationDriver": {"authType": "token", "token": {"expirationSeconds": 3600}}}),
            ),
            &[
                "--agent-id=u1",
                "--addon-kubeclient-registration-auth=token",
                "--addon-token-expiration-seconds=3600",
            ],
        ),
        (
            registration(json!({"clusterLabels": {"a": "b", "c": "d"}})),
            &["--agent-id=u1", "--cluster-labels=a=b,c=d"],
        ),
        (
            work(
                json!({"appliedManifestWorkEvictionGracePeriod": "10m", "statusSyncInterval": "30s"}),
            ),
            &[
                "--agent-id=u1",
                "--appliedmanifestwork-eviction-grace-period=10m",
                "--status-sync-interval=30s",
            ],
        ),
    ] {
        let choice = chosen(spec.clone());
        assert_eq!(choice.values.agent.extra_args, flags, "{spec}");
        assert_eq!(choice.ignored, crate::Ignored::default(), "{spec}");
    }
}

#[test]
fn what_has_no_effect_is_named() {
    let registration = |it: Value| json!({"registrationConfiguration": it});
    for (spec, what) in [
        (
            registration(json!({"registrationDriver": {"authType": "grpc"}})),
            "spec.registrationConfiguration.registrationDriver grpc: the agent of Berth speaks no gRPC",
        ),
        (
            registration(json!({"registrationDriver": {"authType": "awsirsa"}})),
            "spec.registrationConfiguration.registrationDriver awsirsa: the agent of Berth uses no roles of AWS",
        ),
        (
            registration(json!({"featureGates": [{"feature": "MultipleHubs", "mode": "Enable"}]})),
            "spec.registrationConfiguration.featureGates MultipleHubs: bootstrapKubeConfigs.localSecretsConfig names no Secrets",
        ),
        (
            registration(
                json!({"bootstrapKubeConfigs": {"type": "LocalSecrets", "localSecretsConfig": {"kubeConfigSecrets": [{"name": "a"}, {"name": "b"}]}}}),
            ),
            "spec.registrationConfiguration.bootstrapKubeConfigs: needs two to 16 Secrets, and the feature gate MultipleHubs",
        ),
        // With these the agent would not start.
        (
            registration(json!({"clientCertExpirationSeconds": 60})),
            "--client-cert-expiration-seconds 60: it is at least 3600, which is taken instead",
        ),
        (
            registration(json!({"clusterAnnotations": {"other": "a,b"}})),
            "spec.registrationConfiguration.clusterAnnotations other: keys begin with agent.open-cluster-management.io",
        ),
        (
            json!({"workConfiguration": {"statusSyncInterval": "0s"}}),
            "spec.workConfiguration.statusSyncInterval 0s: it is more than zero",
        ),
        (
            json!({"externalServerURLs": [{"url": "https://a", "caBundle": "QQ=="}]}),
            "spec.externalServerURLs caBundle: the hub gets the authority that the agent trusts for its own cluster",
        ),
        (
            registration(json!({"kubeAPIQPS": 10, "kubeAPIBurst": 100})),
            "spec.registrationConfiguration: the agent of Berth limits its requests itself",
        ),
    ] {
        let choice = chosen(spec.clone());
        assert_eq!(choice.ignored.unsupported, [what], "{spec}");
    }
    // What the CustomResourceDefinition sets by itself.
    let preset = registration(
        json!({"kubeAPIQPS": 50, "kubeAPIBurst": 100, "bootstrapKubeConfigs": {"type": "None"}, "registrationDriver": {"authType": "csr"}}),
    );
    assert_eq!(chosen(preset).ignored, crate::Ignored::default());
}

#[test]
fn feature_gates_are_flags_and_unknown_ones_are_named() {
    let gate = |name: &str, mode: &str| json!({"feature": name, "mode": mode});
    let choice = chosen(json!({
        "registrationConfiguration": {"featureGates": [
            gate("ClusterClaim", "Disable"), gate("ClusterProperty", "Enable"), gate("V1beta1CSRAPICompatibility", "Enable"), gate("No", "Enable"),
        ]},
        "workConfiguration": {"featureGates": [
            gate("RawFeedbackJsonString", "Enable"), gate("ExecutorValidatingCaches", "Enable"), gate("ClusterClaim", "Enable"),
        ]},
    }));
    let gates: Vec<_> = choice.values.feature_gates.into_iter().collect();
    let expected = [
        ("ClusterClaim", false),
        ("ClusterProperty", true),
        ("RawFeedbackJsonString", true),
    ];
    assert_eq!(gates, expected.map(|(name, on)| (name.to_owned(), on)));
    assert_eq!(choice.ignored.unknown_gates, ["No", "ClusterClaim"]);
}

#[test]
fn several_hubs_are_several_secrets() {
    let choice = chosen(json!({"registrationConfiguration": {
        "featureGates": [{"feature": "MultipleHubs", "mode": "Enable"}],
        "bootstrapKubeConfigs": {"type": "LocalSecrets", "localSecretsConfig": {
            "kubeConfigSecrets": [{"name": "hub-a"}, {"name": "hub-b"}], "hubConnectionTimeoutSeconds": 300,
        }},
    }}));
    assert_eq!(choice.values.bootstrap.secrets, ["hub-a", "hub-b"]);
    assert_eq!(
        choice.values.agent.extra_args,
        ["--agent-id=u1", "--hub-connection-timeout-seconds=300"]
    );
    assert_eq!(choice.ignored, crate::Ignored::default());
}

#[test]
fn the_image_is_the_operators_unless_another_is_set() {
    const OWN: &str = "registry.example.com/berth:v1";
    for (spec, image) in [
        (json!({}), OWN),
        (
            json!({"registrationImagePullSpec": "quay.io/open-cluster-management/registration:v1.2.0"}),
            OWN,
        ),
        (
            json!({"registrationImagePullSpec": "mirror/b:v2"}),
            "mirror/b:v2",
        ),
        (json!({"imagePullSpec": "mirror/b:v2"}), OWN),
        (
            json!({"imagePullSpec": "mirror/b:v2", "deployOption": {"mode": "Singleton"}}),
            "mirror/b:v2",
        ),
        (
            json!({
                "imagePullSpec": "quay.io/open-cluster-management/registration-operator:v1",
                "deployOption": {"mode": "Singleton"},
            }),
            OWN,
        ),
    ] {
        assert_eq!(chosen(spec.clone()).image, image, "{spec}");
    }
}

#[test]
fn the_pod_is_as_the_klusterlet_says() {
    let play = Play::installed(json!({
        "nodePlacement": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
        "priorityClassName": "high",
        "hubApiServerHostAlias": {"ip": "10.0.0.1", "hostname": "hub.example.com"},
        "resourceRequirement": {"type": "ResourceRequirement", "resourceRequirements": {"requests": {"cpu": "1000m"}}},
    }));
    let deployment = play
        .stored(Kind::Deployment, "klusterlet-registration-agent")
        .unwrap();
    let pods = &deployment["spec"]["template"]["spec"];
    assert_eq!(pods["nodeSelector"], json!({"a": "b"}));
    assert_eq!(
        pods["tolerations"],
        json!([{"key": "k", "operator": "Exists"}])
    );
    assert_eq!(pods["priorityClassName"], "high");
    assert_eq!(
        pods["hostAliases"],
        json!([{"ip": "10.0.0.1", "hostnames": ["hub.example.com"]}])
    );
    assert_eq!(
        pods["containers"][0]["resources"],
        json!({"requests": {"cpu": "1"}})
    );
}

#[test]
fn labels_are_copied_if_the_operator_is_told_to() {
    for (sync, label) in [(true, json!("fleet")), (false, Value::Null)] {
        let mut play = Play::new(json!({}));
        play.object["metadata"]["labels"] =
            json!({"team": "fleet", "app": "x", "open-cluster-management.io/x": "y"});
        play.settings.sync_labels = sync;
        play.settle();
        let account = play.stored(Kind::Account, "klusterlet-work-sa").unwrap();
        let labels = &account["metadata"]["labels"];
        assert_eq!(labels["team"], label);
        assert_eq!(labels["app"], Value::Null);
        assert_eq!(labels["open-cluster-management.io/x"], Value::Null);
        // All Klusterlets share it.
        let space = play.stored(Kind::Namespace, ADDON_NAMESPACE).unwrap();
        assert_eq!(space["metadata"]["labels"]["team"], Value::Null);
    }
}

#[test]
fn tls_settings_are_those_of_the_agent() {
    let mut play = Play::new(json!({}));
    play.settings.tls = Some(crate::TlsProfile {
        min_version: "VersionTLS13".to_owned(),
        cipher_suites: "A,B".to_owned(),
        mistake: None,
    });
    play.settle();
    let args = play.args("klusterlet-registration-agent");
    let tls: Vec<_> = args.iter().filter(|it| it.starts_with("--tls")).collect();
    assert_eq!(
        tls,
        ["--tls-min-version=VersionTLS13", "--tls-cipher-suites=A,B"]
    );
}
