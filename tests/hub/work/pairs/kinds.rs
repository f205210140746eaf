//! Random valid objects of real kinds, made of what users change: handlers, kinds of volumes, ports, strategies, and what goes with them.
//!
//! Fields that the API server does not let change are equal in all objects of a kind.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// A kind, with the path of its objects.
pub struct Kind {
    pub name: &'static str,
    pub api_version: &'static str,
    pub resource: &'static str,
    pub content: fn(&mut Rng) -> Value,
}

pub const KINDS: [Kind; 13] = [
    Kind {
        name: "Deployment",
        api_version: "apps/v1",
        resource: "deployments",
        content: deployment,
    },
    Kind {
        name: "StatefulSet",
        api_version: "apps/v1",
        resource: "statefulsets",
        content: stateful_set,
    },
    Kind {
        name: "DaemonSet",
        api_version: "apps/v1",
        resource: "daemonsets",
        content: daemon_set,
    },
    Kind {
        name: "CronJob",
        api_version: "batch/v1",
        resource: "cronjobs",
        content: cron_job,
    },
    Kind {
        name: "Service",
        api_version: "v1",
        resource: "services",
        content: service,
    },
    Kind {
        name: "Ingress",
        api_version: "networking.k8s.io/v1",
        resource: "ingresses",
        content: ingress,
    },
    Kind {
        name: "HorizontalPodAutoscaler",
        api_version: "autoscaling/v2",
        resource: "horizontalpodautoscalers",
        content: autoscaler,
    },
    Kind {
        name: "NetworkPolicy",
        api_version: "networking.k8s.io/v1",
        resource: "networkpolicies",
        content: network_policy,
    },
    Kind {
        name: "PodDisruptionBudget",
        api_version: "policy/v1",
        resource: "poddisruptionbudgets",
        content: disruption_budget,
    },
    Kind {
        name: "Role",
        api_version: "rbac.authorization.k8s.io/v1",
        resource: "roles",
        content: role,
    },
    Kind {
        name: "RoleBinding",
        api_version: "rbac.authorization.k8s.io/v1",
        resource: "rolebindings",
        content: role_binding,
    },
    Kind {
        name: "ValidatingWebhookConfiguration",
        api_version: "admissionregistration.k8s.io/v1",
        resource: "validatingwebhookconfigurations",
        content: webhooks,
    },
    Kind {
        name: "Issuer",
        api_version: "pki.example.com/v1",
        resource: "issuers",
        content: issuer,
    },
];

/// The definition of Issuers: a union by a rule, one by a schema, a map, and a list with keys of which each item is a union.
pub fn definition() -> Value {
    let text = json!({"type": "string"});
    let named = json!({"type": "object", "properties": {"name": text}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "issuers.pki.example.com"},
        "spec": {
            "group": "pki.example.com",
            "names": {"kind": "Issuer", "plural": "issuers", "singular": "issuer", "listKind": "IssuerList"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "x-kubernetes-validations": [{
                        "rule": "(has(self.ca) ? 1 : 0) + (has(self.selfSigned) ? 1 : 0) + (has(self.vault) ? 1 : 0) == 1",
                        "message": "exactly one issuer type",
                    }],
                    "properties": {
                        "ca": {"type": "object", "properties": {"secretName": text}},
                        "selfSigned": {"type": "object", "properties": {"crl": text}},
                        "vault": {
                            "type": "object",
                            "oneOf": [{"required": ["token"]}, {"required": ["role"]}],
                            "properties": {"token": named, "role": named, "retries": {"type": "integer", "default": 3}},
                        },
                        "solvers": {
                            "type": "array", "maxItems": 8,
                            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                            "items": {
                                "type": "object",
                                "required": ["name"],
                                "x-kubernetes-validations": [{
                                    "rule": "!(has(self.dns) && has(self.http))", "message": "dns or http",
                                }],
                                "properties": {"name": text, "dns": named, "http": named},
                            },
                        },
                        "mode": {"type": "string", "default": "Auto"},
                    },
                }}}},
            }],
        },
    })
}

fn pick(random: &mut Rng, of: &[Value]) -> Value {
    of[random.usize(..of.len())].clone()
}

/// Sets a field to one of these values. `null`: the field is absent.
fn set(random: &mut Rng, on: &mut Value, field: &str, of: &[Value]) {
    let value = pick(random, of);
    if !value.is_null() {
        on[field] = value;
    }
}

/// Some of these items, in their order. None of them: no list.
fn some(random: &mut Rng, on: &mut Value, field: &str, of: Vec<Value>) {
    let items: Vec<_> = of.into_iter().filter(|_| random.bool()).collect();
    if !items.is_empty() {
        on[field] = items.into();
    }
}

fn labels() -> Value {
    json!({"app": "pairs"})
}

fn handlers() -> [Value; 5] {
    [
        Value::Null,
        json!({"httpGet": {"path": "/z", "port": 8080}}),
        json!({"httpGet": {"path": "/y", "port": "http", "scheme": "HTTPS"}, "periodSeconds": 7}),
        json!({"exec": {"command": ["true"]}, "timeoutSeconds": 3, "initialDelaySeconds": 4}),
        json!({"tcpSocket": {"port": 8080}, "failureThreshold": 5}),
    ]
}

fn container(random: &mut Rng, name: &str) -> Value {
    let mut container = json!({"name": name});
    set(
        random,
        &mut container,
        "image",
        &[json!("example.com/a:1"), json!("example.com/a:2")],
    );
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if random.bool() {
            set(random, &mut container, probe, &handlers());
        }
    }
    set(
        random,
        &mut container,
        "lifecycle",
        &[
            Value::Null,
            json!({"preStop": {"exec": {"command": ["a"]}}}),
            json!({"preStop": {"httpGet": {"port": 80}}}),
            json!({"preStop": {"sleep": {"seconds": 3}}}),
        ],
    );
    set(
        random,
        &mut container,
        "ports",
        &[
            Value::Null,
            json!([{"containerPort": 8080, "name": "http"}]),
            json!([{"containerPort": 8083, "name": "http"}]),
            json!([{"containerPort": 8083, "name": "http"}, {"containerPort": 8080, "name": "more"}]),
            json!([{"containerPort": 8080, "name": "more"}, {"containerPort": 9090}]),
            json!([{"containerPort": 8080, "name": "http", "protocol": "UDP"}]),
        ],
    );
    let mut env = Vec::new();
    for name in ["A", "B"] {
        let mut variable = json!({"name": name});
        let value = pick(
            random,
            &[
                Value::Null,
                json!({"value": "1"}),
                json!({"value": "2"}),
                json!({"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}),
                json!({"valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}}),
                json!({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
                json!({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}),
            ],
        );
        if let Value::Object(value) = value {
            variable.as_object_mut().unwrap().extend(value);
            env.push(variable);
        }
    }
    if !env.is_empty() {
        container["env"] = env.into();
    }
    set(
        random,
        &mut container,
        "envFrom",
        &[
            Value::Null,
            json!([{"configMapRef": {"name": "c"}}]),
            json!([{"secretRef": {"name": "c"}}]),
        ],
    );
    set(
        random,
        &mut container,
        "resources",
        &[
            Value::Null,
            json!({"requests": {"cpu": "500m"}}),
            json!({"limits": {"cpu": "100m"}, "requests": {"cpu": "100m"}}),
            json!({"limits": {"cpu": "2", "memory": "1Gi"}}),
            json!({"requests": {"memory": "2Gi"}}),
        ],
    );
    set(
        random,
        &mut container,
        "securityContext",
        &[
            Value::Null,
            json!({"seccompProfile": {"type": "RuntimeDefault"}}),
            json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"}}),
            json!({"readOnlyRootFilesystem": true}),
            json!({"allowPrivilegeEscalation": false, "runAsUser": 7}),
        ],
    );
    set(
        random,
        &mut container,
        "volumeMounts",
        &[
            Value::Null,
            json!([{"name": "d", "mountPath": "/d"}]),
            json!([{"name": "d", "mountPath": "/e", "subPath": "x"}]),
            json!([{"name": "d", "mountPath": "/d", "subPathExpr": "$(A)"}]),
        ],
    );
    container
}

fn pod(random: &mut Rng) -> Value {
    let mut pod = json!({"containers": [container(random, "main")]});
    if random.bool() {
        let more = container(random, "more");
        pod["containers"].as_array_mut().unwrap().push(more);
    }
    let mut volume = json!({"name": "d"});
    let kind = pick(
        random,
        &[
            json!({"emptyDir": {}}),
            json!({"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}),
            json!({"configMap": {"name": "c"}}),
            json!({"secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}}),
            json!({"hostPath": {"path": "/x"}}),
            json!({"projected": {"sources": [{"configMap": {"name": "c"}}]}}),
            json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}),
            json!({"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}}),
        ],
    );
    let Value::Object(kind) = kind else {
        unreachable!("each is an object")
    };
    volume.as_object_mut().unwrap().extend(kind);
    pod["volumes"] = json!([volume]);
    set(
        random,
        &mut pod,
        "securityContext",
        &[
            Value::Null,
            json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "p.json"}}),
            json!({"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": true}),
        ],
    );
    if random.bool() {
        pod["dnsPolicy"] = "None".into();
        pod["dnsConfig"] = json!({"nameservers": ["192.0.2.1"]});
    }
    set(
        random,
        &mut pod,
        "tolerations",
        &[
            Value::Null,
            json!([{"key": "a", "operator": "Exists"}]),
            json!([{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 3}]),
        ],
    );
    set(
        random,
        &mut pod,
        "topologySpreadConstraints",
        &[
            Value::Null,
            json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2,
                    "labelSelector": {"matchLabels": {"app": "pairs"}}}]),
            json!([{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}]),
        ],
    );
    pod
}

fn workload(random: &mut Rng) -> Map<String, Value> {
    let template = json!({"metadata": {"labels": labels()}, "spec": pod(random)});
    Map::from_iter([
        ("selector".to_owned(), json!({"matchLabels": labels()})),
        ("template".to_owned(), template),
    ])
}

fn deployment(random: &mut Rng) -> Value {
    let mut spec = Value::Object(workload(random));
    set(
        random,
        &mut spec,
        "strategy",
        &[
            Value::Null,
            json!({"type": "Recreate"}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}),
            json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}),
        ],
    );
    set(
        random,
        &mut spec,
        "replicas",
        &[Value::Null, json!(0), json!(3)],
    );
    if random.bool() {
        spec["minReadySeconds"] = 5.into();
        spec["progressDeadlineSeconds"] = 6.into();
    }
    json!({ "spec": spec })
}

fn stateful_set(random: &mut Rng) -> Value {
    let mut spec = Value::Object(workload(random));
    spec["serviceName"] = "s".into();
    set(
        random,
        &mut spec,
        "updateStrategy",
        &[
            Value::Null,
            json!({"type": "OnDelete"}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            json!({"rollingUpdate": {"partition": 1}}),
        ],
    );
    set(
        random,
        &mut spec,
        "replicas",
        &[Value::Null, json!(0), json!(2)],
    );
    set(
        random,
        &mut spec,
        "persistentVolumeClaimRetentionPolicy",
        &[
            Value::Null,
            json!({"whenDeleted": "Delete"}),
            json!({"whenDeleted": "Retain", "whenScaled": "Delete"}),
        ],
    );
    json!({ "spec": spec })
}

fn daemon_set(random: &mut Rng) -> Value {
    let mut spec = Value::Object(workload(random));
    set(
        random,
        &mut spec,
        "updateStrategy",
        &[
            Value::Null,
            json!({"type": "OnDelete"}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}),
        ],
    );
    json!({ "spec": spec })
}

fn cron_job(random: &mut Rng) -> Value {
    let mut pod = pod(random);
    set(random, &mut pod, "restartPolicy", &[json!("Never")]);
    let mut job = json!({"template": {"spec": pod}});
    let mode = pick(
        random,
        &[
            json!({}),
            json!({"completionMode": "Indexed", "completions": 3, "parallelism": 2}),
            json!({"completionMode": "Indexed", "completions": 2, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1}),
            json!({"podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
            ]}}),
            json!({"podFailurePolicy": {"rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            ]}}),
            json!({"suspend": true, "ttlSecondsAfterFinished": 9}),
        ],
    );
    for (name, value) in mode.as_object().unwrap() {
        job[name] = value.clone();
    }
    let mut spec = json!({"schedule": "0 * * * *", "jobTemplate": {"spec": job}});
    set(
        random,
        &mut spec,
        "timeZone",
        &[Value::Null, json!("Etc/UTC")],
    );
    set(
        random,
        &mut spec,
        "concurrencyPolicy",
        &[Value::Null, json!("Forbid"), json!("Replace")],
    );
    json!({ "spec": spec })
}

fn service(random: &mut Rng) -> Value {
    let ports = [
        json!([{"name": "a", "port": 80}]),
        json!([{"name": "a", "port": 81, "targetPort": "http"}]),
        json!([{"name": "b", "port": 80}, {"name": "a", "port": 81, "targetPort": 8080}]),
        json!([{"name": "a", "port": 80, "protocol": "UDP"}]),
        json!([{"port": 443}]),
    ];
    let mut spec = pick(
        random,
        &[
            json!({"type": "ClusterIP", "selector": labels()}),
            json!({"selector": {"app": "other"}}),
            json!({"type": "NodePort", "externalTrafficPolicy": "Local", "selector": labels()}),
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": labels()}),
            json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"]}),
            json!({"type": "ExternalName", "externalName": "example.com"}),
        ],
    );
    set(random, &mut spec, "ports", &ports);
    if spec["type"] != "ExternalName" {
        set(
            random,
            &mut spec,
            "sessionAffinity",
            &[Value::Null, json!("ClientIP"), json!("None")],
        );
        if spec["sessionAffinity"] == "ClientIP" && random.bool() {
            spec["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": 9}});
        }
    }
    json!({ "spec": spec })
}

fn ingress(random: &mut Rng) -> Value {
    let backends = [
        json!({"service": {"name": "s", "port": {"number": 80}}}),
        json!({"service": {"name": "s", "port": {"name": "http"}}}),
        json!({"resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}}),
    ];
    let mut spec = json!({});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": pick(random, &backends)});
    some(
        random,
        &mut spec,
        "rules",
        vec![
            json!({"host": "a.example.com", "http": {"paths": [path]}}),
            json!({"host": "b.example.com", "http": {"paths": [path]}}),
        ],
    );
    if spec.get("rules").is_none() || random.bool() {
        set(random, &mut spec, "defaultBackend", &backends);
    }
    set(
        random,
        &mut spec,
        "tls",
        &[
            Value::Null,
            json!([{"hosts": ["a.example.com"], "secretName": "s"}]),
        ],
    );
    set(
        random,
        &mut spec,
        "ingressClassName",
        &[Value::Null, json!("a"), json!("b")],
    );
    json!({ "spec": spec })
}

fn autoscaler(random: &mut Rng) -> Value {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "maxReplicas": random.u8(3..9),
    });
    set(
        random,
        &mut spec,
        "minReplicas",
        &[Value::Null, json!(1), json!(2)],
    );
    let targets = [
        json!({"type": "Utilization", "averageUtilization": 50}),
        json!({"type": "AverageValue", "averageValue": "100m"}),
    ];
    let resource =
        json!({"type": "Resource", "resource": {"name": "cpu", "target": pick(random, &targets)}});
    let external = json!({"type": "External", "external": {
        "metric": {"name": "m"},
        "target": pick(random, &[json!({"type": "Value", "value": "3"}), targets[1].clone()]),
    }});
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "p"}, "target": targets[1]}});
    some(random, &mut spec, "metrics", vec![resource, external, pods]);
    set(
        random,
        &mut spec,
        "behavior",
        &[
            Value::Null,
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
            json!({"scaleDown": {"stabilizationWindowSeconds": 5, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}}),
            json!({"scaleUp": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 15}]}}),
        ],
    );
    json!({ "spec": spec })
}

fn network_policy(random: &mut Rng) -> Value {
    let peers = [
        json!([{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.0/30"]}}]),
        json!([{"podSelector": {"matchLabels": {"a": "b"}}}]),
        json!([{"namespaceSelector": {}, "podSelector": {}}]),
    ];
    let mut spec = json!({"podSelector": {}});
    if random.bool() {
        spec["podSelector"] = json!({"matchLabels": labels()});
    }
    let rule = json!({"from": pick(random, &peers), "ports": [{"port": 80, "endPort": 90, "protocol": "TCP"}]});
    set(random, &mut spec, "ingress", &[Value::Null, json!([rule])]);
    let rule = json!({"to": pick(random, &peers), "ports": [{"port": "http", "protocol": "UDP"}]});
    set(random, &mut spec, "egress", &[Value::Null, json!([rule])]);
    spec["policyTypes"] = json!(["Ingress", "Egress"]);
    json!({ "spec": spec })
}

fn disruption_budget(random: &mut Rng) -> Value {
    let mut spec = pick(
        random,
        &[
            json!({"minAvailable": 1}),
            json!({"minAvailable": "50%"}),
            json!({"maxUnavailable": 1}),
            json!({"maxUnavailable": "10%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}),
        ],
    );
    spec["selector"] = json!({"matchLabels": labels()});
    json!({ "spec": spec })
}

fn role(random: &mut Rng) -> Value {
    let mut role = json!({});
    some(
        random,
        &mut role,
        "rules",
        vec![
            json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}),
            json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]}),
            json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"]}),
        ],
    );
    role
}

fn role_binding(random: &mut Rng) -> Value {
    let mut binding =
        json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}});
    some(
        random,
        &mut binding,
        "subjects",
        vec![
            json!({"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}),
            json!({"kind": "Group", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}),
            json!({"kind": "ServiceAccount", "name": "jane", "namespace": "default"}),
        ],
    );
    binding
}

/// They select nothing that anyone makes.
fn webhooks(random: &mut Rng) -> Value {
    let mut all = Vec::new();
    for name in ["a.pairs.example.com", "b.pairs.example.com"] {
        if random.bool() {
            continue;
        }
        let mut webhook = json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"]}],
        });
        set(
            random,
            &mut webhook,
            "clientConfig",
            &[
                json!({"url": "https://192.0.2.1/a"}),
                json!({"service": {"namespace": "none", "name": "none"}}),
                json!({"service": {"namespace": "none", "name": "none", "path": "/a", "port": 8443}}),
            ],
        );
        set(
            random,
            &mut webhook,
            "failurePolicy",
            &[Value::Null, json!("Ignore")],
        );
        set(
            random,
            &mut webhook,
            "matchConditions",
            &[
                Value::Null,
                json!([{"name": "c", "expression": "true"}]),
                json!([{"name": "c", "expression": "false"}, {"name": "d", "expression": "true"}]),
            ],
        );
        all.push(webhook);
    }
    json!({ "webhooks": all })
}

fn issuer(random: &mut Rng) -> Value {
    let mut spec = pick(
        random,
        &[
            json!({"ca": {"secretName": "a"}}),
            json!({"ca": {"secretName": "b"}}),
            json!({"selfSigned": {}}),
            json!({"selfSigned": {"crl": "c"}}),
            json!({"vault": {"token": {"name": "t"}}}),
            json!({"vault": {"role": {"name": "r"}, "retries": 5}}),
        ],
    );
    let mut solvers = Vec::new();
    for name in ["a", "b"] {
        let solver = pick(
            random,
            &[
                Value::Null,
                json!({"name": name}),
                json!({"name": name, "dns": {"name": "d"}}),
                json!({"name": name, "http": {"name": "h"}}),
            ],
        );
        if !solver.is_null() {
            solvers.push(solver);
        }
    }
    if !solvers.is_empty() {
        spec["solvers"] = solvers.into();
    }
    set(
        random,
        &mut spec,
        "mode",
        &[Value::Null, json!("Auto"), json!("Manual")],
    );
    json!({ "spec": spec })
}
