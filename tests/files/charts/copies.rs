//! Templates that are copies of manifests: with a guard, with labels, and with the few places where a value decides.

mod copy;

use std::fs;

use berth_manifests::Manifest;
use berth_manifests::files::{self, ADDON_CRDS, INVENTORY_CRDS, PLACEMENT_CRDS, WORK_CRDS};
use berth_manifests::is_converted;

use self::copy::Copy;
use crate::manifests::files::in_repository;

const GATE: &str = r#"ne $.Values.mode "policies""#;
const CONTROLLER: &str = r#"ne $.Values.mode "hub""#;
const KEEPS: &str = r#"include "berth-hub.keepsCertificates" $"#;
const WEBHOOKS: &str =
    r#"and $.Values.registrations.enabled (has $.Values.mode (list "webhooks" "hub"))"#;
const POLICIES: &str = r#"eq $.Values.mode "policies""#;
const WITH_WEBHOOK: &str = r#"eq $.Values.mode "policies-with-webhook""#;
const MONITORING: &str = "$.Values.monitoring.enabled";
const CRDS: &str = "$.Values.crds.enabled";
const WORK: &str = "$.Values.work.enabled";
const OPERATOR: &str = "$.Values.operator.enabled";
const CONSOLE: &str = "$.Values.console.enabled";

const KEEP: &str = "    helm.sh/resource-policy: keep\n";
const KEEP_CRDS: &str =
    "{{- if $.Values.crds.keep }}\n    helm.sh/resource-policy: keep\n{{- end }}\n";
const INJECT: &str = "{{- if eq $.Values.certificates.source \"cert-manager\" }}\n    cert-manager.io/inject-ca-from: \
                      open-cluster-management-hub/registration-webhook-serving-cert\n{{- end }}\n";
/// Other than that of `berth` and of cert-manager, the user's CA is known when the chart is rendered.
const CLIENT_CONFIG: &[(&str, &str)] = &[(
    "  clientConfig:\n",
    "  clientConfig:\n{{- if eq $.Values.certificates.source \"existing\" }}\n    caBundle: {{ $.Values.certificates.existing.caBundle | \
     b64enc }}\n{{- end }}\n",
)];
/// Those of [`INJECT`] and [`KEEP_CRDS`].
const KEEP_AND_INJECT: &str = "{{- if or $.Values.crds.keep (eq $.Values.certificates.source \"cert-manager\") }}\n{{- if \
                               $.Values.crds.keep }}\n    helm.sh/resource-policy: keep\n{{- end }}\n{{- if eq \
                               $.Values.certificates.source \"cert-manager\" }}\n    cert-manager.io/inject-ca-from: \
                               open-cluster-management-hub/registration-webhook-serving-cert\n{{- end }}\n{{- end }}\n";
/// Without a gate nothing is converted, and only the stored version is served.
const CONVERSION: &[(&str, &str)] = &[
    (
        "    strategy: Webhook\n    webhook:\n      clientConfig:\n",
        "{{- if eq $.Values.mode \"policies\" }}\n    strategy: None\n{{- else }}\n    strategy: Webhook\n    webhook:\n      \
         clientConfig:\n{{- if eq $.Values.certificates.source \"existing\" }}\n        caBundle: {{ \
         $.Values.certificates.existing.caBundle | b64enc }}\n{{- end }}\n",
    ),
    (
        "      conversionReviewVersions:\n      - v1\n      - v1beta1\n",
        "      conversionReviewVersions:\n      - v1\n      - v1beta1\n{{- end }}\n",
    ),
    (
        "    served: true\n    storage: false\n",
        "    served: {{ ne $.Values.mode \"policies\" }}\n    storage: false\n",
    ),
];
const SELECTED: &str =
    "    {{- with $.Values.monitoring.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n";

const CONTROLLERS_ACCOUNT: (&str, &str) = (
    "name: berth-registration-controller-sa",
    r#"name: {{ include "berth-hub.controllerAccount" $ }}"#,
);
const PLACEMENTS_ACCOUNT: (&str, &str) = (
    "name: berth-registration-controller-sa",
    r#"name: {{ include "berth-hub.placementAccount" $ }}"#,
);
const RUNBOOK: (&str, &str) = (
    "runbook_url: docs/operations.md",
    "runbook_url: {{ $.Values.monitoring.runbookUrl }}",
);

/// The users and groups that the console may impersonate, if some are named.
const IMPERSONATED: &[(&str, &str)] = &[
    (
        "  resources: [users]\n",
        "  resources: [users]\n  {{- with $.Values.console.impersonation.users }}\n  resourceNames: {{ toJson . }}\n  {{- end }}\n",
    ),
    (
        "  resources: [groups]\n",
        "  resources: [groups]\n  {{- with $.Values.console.impersonation.groups }}\n  resourceNames: {{ toJson . }}\n  {{- end }}\n",
    ),
];

/// With policies, the controller writes the bundle of one registration only. It must be able to see that the others do not exist.
const CERTIFICATES: &[(&str, &str)] = &[
    CONTROLLERS_ACCOUNT,
    (
        "  verbs: [get, list, watch, patch]\n",
        "  verbs: [get, list, watch{{ if ne $.Values.mode \"policies-with-webhook\" }}, patch{{ end }}]\n",
    ),
    (
        "  - managedclusteraddonvalidators.admission.addon.open-cluster-management.io\n  verbs: [get, list, watch{{ if ne \
         $.Values.mode \"policies-with-webhook\" }}, patch{{ end }}]\n",
        "  - managedclusteraddonvalidators.admission.addon.open-cluster-management.io\n  verbs: [get, list, watch{{ if ne \
         $.Values.mode \"policies-with-webhook\" }}, patch{{ end }}]\n{{- if eq $.Values.mode \"policies-with-webhook\" }}\n- \
         apiGroups: [admissionregistration.k8s.io]\n  resources: [validatingwebhookconfigurations]\n  resourceNames: \
         [managedclustervalidators.admission.cluster.open-cluster-management.io]\n  verbs: [patch]\n{{- end }}\n",
    ),
];

/// The gate's alerts, without a gate.
const HUB_RULES: &[(&str, &str)] = &[
    RUNBOOK,
    (
        "  - name: berth-gate\n",
        "{{- if ne $.Values.mode \"policies\" }}\n  - name: berth-gate\n",
    ),
    (
        "  - name: berth-lifecycle\n",
        "{{- end }}\n  - name: berth-lifecycle\n",
    ),
];

fn copy(manifest: Manifest, component: &'static str, guards: &'static [&'static str]) -> Copy {
    Copy {
        manifest,
        component,
        guards,
        of_operator: false,
        annotations: "",
        labels: "",
        replaced: &[],
    }
}

fn crd(manifest: Manifest, guard: &'static [&'static str]) -> Copy {
    Copy {
        annotations: KEEP_CRDS,
        ..copy(manifest, "crds", guard)
    }
}

fn addon_crd(manifest: Manifest) -> Copy {
    let copy = crd(manifest, &[CRDS]);
    match manifest.documents().iter().any(is_converted) {
        true => Copy {
            annotations: KEEP_AND_INJECT,
            replaced: CONVERSION,
            ..copy
        },
        false => copy,
    }
}

/// What is installed with `operator.enabled`, instead of everything else.
fn of_operator(copy: Copy) -> Copy {
    Copy {
        of_operator: true,
        ..copy
    }
}

fn registration(manifest: Manifest) -> Copy {
    Copy {
        annotations: INJECT,
        replaced: CLIENT_CONFIG,
        ..copy(manifest, "registrations", &[WEBHOOKS])
    }
}

fn selected(manifest: Manifest, guards: &'static [&'static str]) -> Copy {
    Copy {
        labels: SELECTED,
        ..copy(manifest, "monitoring", guards)
    }
}

fn replacing(copy: Copy, replaced: &'static [(&'static str, &'static str)]) -> Copy {
    Copy { replaced, ..copy }
}

/// Those of berth-hub, and its dashboard.
pub(super) fn hub() -> Vec<(String, String)> {
    let mut copies = Vec::new();
    let crds = files::CRDS
        .into_iter()
        .chain(PLACEMENT_CRDS)
        .chain(WORK_CRDS);
    copies.extend(crds.map(|it| crd(it, &[CRDS])));
    copies.extend(ADDON_CRDS.map(addon_crd));
    let inventory = &["and $.Values.crds.enabled $.Values.clusterProfiles.enabled"];
    copies.extend(INVENTORY_CRDS.map(|it| crd(it, inventory)));
    let account = &[CONTROLLERS_ACCOUNT];
    let placements = &[PLACEMENTS_ACCOUNT];
    let policies = files::POLICIES_WITH_WEBHOOK;
    copies.extend([
        copy(files::ACCOUNTS, "server", &[GATE, CONTROLLER]),
        copy(files::GATE_ROLE, "gate", &[GATE]),
        copy(files::SERVICE, "gate", &[GATE]),
        copy(files::DISRUPTION_BUDGET, "gate", &[GATE]),
        replacing(
            copy(files::CERTIFICATES_ROLE, "certificates", &[KEEPS]),
            CERTIFICATES,
        ),
        copy(files::CERTIFICATES, "certificates", &[KEEPS]),
        copy(
            files::CERT_MANAGER_CERTIFICATE,
            "certificates",
            &[r#"eq $.Values.certificates.source "cert-manager""#],
        ),
        replacing(copy(files::CONTROLLER_ROLE, "controller", &[]), account),
        copy(files::AGENT_ROLES, "controller", &[]),
        replacing(copy(files::PLACEMENT_ROLE, "placement", &[]), placements),
        copy(
            files::PLACEMENT_APART_ACCOUNT,
            "placement",
            &["$.Values.placementApart"],
        ),
        replacing(copy(files::WORK_ROLE, "work", &[]), account),
        replacing(copy(files::ADDON_ROLE, "addon", &[]), account),
        copy(
            files::PEOPLE_AGGREGATED,
            "people",
            &["$.Values.rbac.aggregate"],
        ),
        copy(files::PEOPLE_ROLES, "people", &[]),
        copy(files::CONSOLE_ACCOUNT, "console", &[CONSOLE]),
        copy(files::CONSOLE_SERVICE, "console", &[CONSOLE]),
        replacing(
            copy(
                files::CONSOLE_IMPERSONATION_ROLE,
                "console",
                &["and $.Values.console.enabled $.Values.console.impersonation.enabled"],
            ),
            IMPERSONATED,
        ),
        replacing(
            copy(
                files::AUTO_APPROVAL_ROLE,
                "controller",
                &["$.Values.autoApproval.users"],
            ),
            account,
        ),
        replacing(
            copy(
                files::CLUSTER_PROFILES_ROLE,
                "controller",
                &["$.Values.clusterProfiles.enabled"],
            ),
            account,
        ),
        replacing(
            copy(
                files::SIG_PLACEMENT_DECISIONS_ROLE,
                "placement",
                &["$.Values.clusterProfiles.placementDecisions"],
            ),
            placements,
        ),
        copy(
            files::NETWORK_POLICIES,
            "network-policies",
            &[
                r#"and $.Values.networkPolicies.enabled (ne $.Values.mode "policies")"#,
                r#"and $.Values.networkPolicies.enabled (ne $.Values.mode "hub")"#,
                "$.Values.networkPolicies.enabled",
            ],
        ),
        copy(files::POLICIES, "policies", &[POLICIES]),
        replacing(copy(policies, "policies", &[WITH_WEBHOOK]), CLIENT_CONFIG),
        copy(files::MONITORING_SCRAPER, "monitoring", &[MONITORING]),
        copy(files::MONITORING_SERVICE, "monitoring", &[MONITORING]),
        selected(
            files::MONITORING_SERVICE_MONITOR,
            &[
                r#"and $.Values.monitoring.enabled (ne $.Values.mode "policies")"#,
                MONITORING,
                MONITORING,
            ],
        ),
        replacing(selected(files::MONITORING_RULE, &[MONITORING]), HUB_RULES),
    ]);
    copies.extend(
        [
            files::CLUSTER_MUTATORS,
            files::CLUSTER_VALIDATORS,
            files::SET_VALIDATORS,
            files::BINDING_VALIDATORS,
            files::REQUEST_VALIDATORS,
            files::PLACEMENT_VALIDATORS,
            files::WORK_VALIDATORS,
            files::REPLICA_SET_VALIDATORS,
            files::ADDON_TEMPLATE_VALIDATORS,
            files::ADDON_CONFIG_VALIDATORS,
            files::MANAGEMENT_ADDON_VALIDATORS,
            files::CLUSTER_ADDON_VALIDATORS,
        ]
        .map(registration),
    );
    copies.extend(files::BOOTSTRAP.map(|it| Copy {
        annotations: if it == files::BOOTSTRAP_NAMESPACE {
            KEEP
        } else {
            ""
        },
        ..copy(it, "bootstrap", &["$.Values.bootstrap.enabled"])
    }));
    copies.extend(
        [
            crd(files::CRD_CLUSTER_MANAGERS, &[CRDS]),
            // With the operator, Helm makes the namespace of the operator. The components are in this one.
            Copy {
                annotations: KEEP,
                ..copy(files::NAMESPACE, "server", &[])
            },
            copy(files::OPERATOR_ACCOUNT, "operator", &[]),
            copy(files::OPERATOR_ROLE, "operator", &[]),
        ]
        .map(of_operator),
    );
    let mut made: Vec<_> = copies.iter().map(|it| it.made("berth-hub")).collect();
    made.push(dashboard("berth-hub", "manifests/monitoring"));
    made
}

/// Those of berth-agent, and its dashboard.
pub(super) fn agent() -> Vec<(String, String)> {
    let copies = [
        crd(files::CRD_CLAIMS, &[CRDS]),
        crd(
            files::CRD_APPLIED_MANIFEST_WORKS,
            &["and $.Values.crds.enabled $.Values.work.enabled"],
        ),
        copy(files::AGENT_ACCOUNT, "agent", &[]),
        copy(files::AGENT_ROLE, "agent", &[]),
        copy(files::AGENT_CLUSTER_ROLE, "agent", &[]),
        Copy {
            annotations: "{{- if eq $kind \"Namespace\" }}\n    helm.sh/resource-policy: keep\n{{- end }}\n",
            ..copy(files::AGENT_ADDONS, "addons", &[])
        },
        copy(files::AGENT_WORK_ROLE, "work", &[WORK]),
        copy(files::AGENT_WORK_EXECUTION, "work", &[WORK]),
        copy(
            files::AGENT_WORK_ADMIN,
            "work",
            &["and $.Values.work.enabled $.Values.work.admin"],
        ),
        copy(
            files::AGENT_IMPERSONATION_ROLE,
            "work",
            &["$.Values.work.impersonation"],
        ),
        copy(files::AGENT_MONITORING_REVIEWS, "monitoring", &[MONITORING]),
        copy(files::AGENT_MONITORING_SCRAPER, "monitoring", &[MONITORING]),
        copy(files::AGENT_MONITORING_SERVICE, "monitoring", &[MONITORING]),
        selected(files::AGENT_MONITORING_SERVICE_MONITOR, &[MONITORING]),
        replacing(
            selected(files::AGENT_MONITORING_RULE, &[MONITORING]),
            &[RUNBOOK],
        ),
        of_operator(crd(files::CRD_KLUSTERLETS, &[CRDS])),
        of_operator(copy(files::KLUSTERLET_OPERATOR_ACCOUNT, "operator", &[])),
        of_operator(copy(files::KLUSTERLET_OPERATOR_ROLE, "operator", &[])),
    ];
    let mut made: Vec<_> = copies.iter().map(|it| it.made("berth-agent")).collect();
    made.push(dashboard("berth-agent", "manifests/agent-monitoring"));
    made
}

/// The dashboard of a folder, as a file of the chart.
fn dashboard(chart: &str, folder: &str) -> (String, String) {
    let text = fs::read_to_string(in_repository(&format!("{folder}/dashboard.json")));
    (
        format!("charts/{chart}/dashboard.json"),
        text.expect("there is a dashboard"),
    )
}
