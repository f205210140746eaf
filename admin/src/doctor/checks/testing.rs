//! A sound installation, as it is read, for tests to spoil.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_certs::issue::Authority;
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::roles;
use berth_manifests::webhooks::{Probe, Shows, WEBHOOKS};
use berth_manifests::{Manifest, ShippedWebhook, files};
use berth_policies::Options;
use berth_policies::installed::{PolicyKind, Stored};
use jiff::{SignedDuration, Timestamp};
use kube::core::response::Status;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{crds, writes};
use crate::doctor::facts::{Called, Election, Facts, Policies, Registration, Rights};
use crate::doctor::finding::Finding;
use crate::doctor::objects::{Container, Deployment};
use crate::doctor::{installation, rights};
use crate::hub::{Answered, Item, Tried};

pub(crate) const NOW: Timestamp = Timestamp::constant(1_788_000_000, 0);

const NAMESPACE: &str = "open-cluster-management-hub";

/// A sound installation, with something done to it.
pub(crate) fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = sound();
    change(&mut facts);
    facts
}

/// `severity: message` of each finding, as far as it is expected.
pub(crate) fn told(findings: &[Finding], expected: &[&str]) -> Vec<String> {
    findings
        .iter()
        .enumerate()
        .map(|(index, finding)| {
            let severity = json!(finding.severity);
            let line = format!("{}: {}", severity.as_str().unwrap(), finding.message);
            match expected.get(index) {
                Some(start) if line.starts_with(start) => (*start).to_owned(),
                _ => line,
            }
        })
        .collect()
}

/// Returns the container of the gate.
pub(crate) fn container(facts: &mut Facts) -> &mut Container {
    let deployment = &mut facts.deployments.as_mut().unwrap()[0];
    &mut deployment.spec.template.spec.containers[0]
}

fn manifest<K: DeserializeOwned>(manifest: Manifest) -> K {
    serde_saphyr::from_str(manifest.text).unwrap()
}

fn election() -> Election {
    let lease = json!({
        "spec": {"holderIdentity": "berth-1_x", "leaseDurationSeconds": 15, "renewTime": format!("{NOW:.6}")},
    });
    Election {
        lease: Ok(Some(serde_json::from_value(lease).unwrap())),
        is_renewed: false,
    }
}

fn sound() -> Facts {
    static SOUND: LazyLock<Facts> = LazyLock::new(read);
    SOUND.clone()
}

fn read() -> Facts {
    let day = std::time::Duration::from_secs(24 * 3600);
    let yesterday = NOW - SignedDuration::from_hours(24);
    let authority = Authority::new("the CA", day * 3650, yesterday).unwrap();
    let name = format!("{}.{NAMESPACE}.svc", installation::WEBHOOK);
    let leaf = authority.leaf(&[&name], &[], day * 90, yesterday).unwrap();
    let registrations = |mutates: bool| {
        WEBHOOKS
            .iter()
            .filter(|it| it.mutates == mutates)
            .map(|webhook| {
                let mut shipped = webhook.webhook();
                shipped["clientConfig"]["caBundle"] =
                    json!(BASE64_STANDARD.encode(authority.certificate_pem()));
                Registration {
                    kind: webhook.registration_kind(),
                    name: webhook.name.to_owned(),
                    webhooks: vec![shipped],
                }
            })
            .collect()
    };
    let called = Called {
        service: Ok(Some(manifest(files::SERVICE))),
        slices: Ok(serde_json::from_value(json!([{
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
            "ports": [{"name": "webhook", "port": 9443}],
        }]))
        .unwrap()),
        secret: Ok(Some(
            serde_json::from_value(json!({
                "type": "Opaque",
                "data": {"tls.crt": BASE64_STANDARD.encode(leaf.certificate_pem)},
            }))
            .unwrap(),
        )),
        secret_name: installation::SECRET.to_owned(),
    };
    let deployment: Deployment = manifest(files::GATE);
    let controller: Deployment = manifest(files::CONTROLLER);
    let rights_of = |account: &str, asked: Vec<rights::Right>| {
        Ok(Some(Rights {
            account: format!("system:serviceaccount:{NAMESPACE}:{account}"),
            asked: asked.into_iter().map(|right| (right, Ok(true))).collect(),
        }))
    };
    Facts {
        namespace: NAMESPACE.to_owned(),
        answered: Answered {
            its_time: Some(NOW),
            ours: (NOW, NOW),
            version: Some((1, 36)),
        },
        crds: crds::expected()
            .into_iter()
            .map(|crd| {
                let name = crds::name(&crd);
                let mut stored = crd;
                if let Some(config) = stored.pointer_mut("/spec/conversion/webhook/clientConfig") {
                    config["caBundle"] = json!(BASE64_STANDARD.encode(authority.certificate_pem()));
                }
                stored["status"]["conditions"] = json!([
                    {"type": "NamesAccepted", "status": "True"},
                    {"type": "Established", "status": "True"},
                ]);
                (name, Ok(Some(stored)))
            })
            .collect(),
        mutating: Ok(registrations(true)),
        validating: Ok(registrations(false)),
        policies: Ok(Policies::of(PolicyKind::ALL.to_vec(), &Stored::default())),
        called: BTreeMap::from([(
            (NAMESPACE.to_owned(), installation::WEBHOOK.to_owned()),
            called,
        )]),
        served: BTreeMap::new(),
        tries: true,
        tried: writes::tried()
            .map(|(webhook, probe)| (webhook.path, Ok(answer(webhook, probe))))
            .collect(),
        deployments: Ok(vec![deployment, controller]),
        gate_rights: rights_of(installation::ACCOUNT, rights::of_the_gate()),
        controller_rights: rights_of(
            installation::CONTROLLER_ACCOUNT,
            rights::of_the_controller(NAMESPACE),
        ),
        agent_roles: [roles::registration_role, roles::work_role]
            .map(|role| Ok(Some(role(&Config::default())))),
        election: election(),
        placement_election: election(),
        work_election: election(),
        addon_election: election(),
        clusters: Ok(Vec::new()),
        sets: Ok([
            json!({"metadata": {"name": "default"},
                   "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
            json!({"metadata": {"name": "global"},
                   "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}}),
        ]
        .map(Item::of)
        .into()),
        bindings: Ok(Vec::new()),
        requests: Ok(Vec::new()),
        addons: Ok(BTreeMap::new()),
        operated: Ok(Vec::new()),
    }
}

/// Puts the policies of these options into the API server, changes them, and has them answer the dry runs.
pub(crate) fn add_policies(facts: &mut Facts, options: &Options, change: impl FnOnce(&mut Stored)) {
    let documents = berth_policies::policies(options);
    let documents = documents.iter().map(|it| serde_json::to_value(it).unwrap());
    let (bindings, policies): (Vec<Value>, Vec<Value>) =
        documents.partition(|it| it["spec"]["policyName"].is_string());
    let mut stored = Stored::default();
    for kind in PolicyKind::ALL {
        let of_kind = |all: &[Value]| -> Vec<Value> {
            let is_it = |it: &&Value| {
                let mutates = it["kind"].as_str().unwrap().starts_with("Mutating");
                mutates == (kind == PolicyKind::Mutating)
            };
            all.iter().filter(is_it).cloned().collect()
        };
        stored.add_policies(kind, &of_kind(&policies));
        stored.add_bindings(kind, &of_kind(&bindings));
    }
    change(&mut stored);
    facts.policies = Ok(Policies::of(PolicyKind::ALL.to_vec(), &stored));
    for (webhook, probe) in writes::tried() {
        if let Shows::Refused { berth, .. } = probe.shows
            && facts.are_policies_enough(webhook)
        {
            let policy = format!("{}.berth.open-cluster-management.io", webhook.resource);
            let message = format!(
                "{}.{} \"x\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {berth}",
                webhook.resource, webhook.group
            );
            let refusal = Status {
                code: 422,
                message,
                ..Status::default()
            };
            let outcome = Err(Box::new(refusal));
            facts.tried.insert(webhook.path, Ok(Tried { outcome }));
        }
    }
}

/// Returns the response of Berth to a dry run.
fn answer(webhook: &ShippedWebhook, probe: &Probe) -> Tried {
    let words = match probe.shows {
        Shows::Filled { .. } => {
            let mut object = writes::object(webhook, probe, "x");
            object["spec"]["taints"][0]["timeAdded"] = json!(NOW.to_string());
            return Tried {
                outcome: Ok(object),
            };
        }
        Shows::Refused { berth, .. } => berth,
    };
    Tried {
        outcome: Err(Box::new(Status {
            code: 400,
            message: format!(
                "admission webhook \"{}\" denied the request: {words}",
                webhook.name
            ),
            ..Status::default()
        })),
    }
}

#[test]
fn nothing_is_found_where_all_is_sound() {
    assert_eq!(super::check(&sound()), []);
}

#[test]
fn the_worst_comes_first() {
    let facts = with(|facts| {
        facts.election.lease = Ok(None);
        facts.validating.as_mut().unwrap().clear();
        facts.clusters = Err(crate::doctor::facts::Unread::Why("x".to_owned()));
    });
    let severities: Vec<Value> = super::check(&facts)
        .iter()
        .map(|finding| json!(finding.severity))
        .collect();
    assert_eq!(severities.first(), Some(&json!("fault")));
    assert!(severities.contains(&json!("warning")));
    assert_eq!(severities.last(), Some(&json!("unknown")));
}
