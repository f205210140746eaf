//! Installs the objects of `kubectl apply -k manifests`, except the Deployments: gate and controller run in this process.

use anyhow::Context;
use base64::prelude::{BASE64_STANDARD, Engine};
use berth_manifests::webhooks::WEBHOOKS;
use berth_manifests::{Manifest, addons_in_one_version, files};
use kube::Client;
use serde_json::Value;

use crate::request::{self, Answer};

/// The objects that the gate needs to start.
const BEFORE: [Manifest; 10] = [
    files::NAMESPACE,
    files::ACCOUNTS,
    files::GATE_ROLE,
    files::CONTROLLER_ROLE,
    files::PLACEMENT_ROLE,
    files::WORK_ROLE,
    files::ADDON_ROLE,
    files::AGENT_ROLES,
    files::PEOPLE_ROLES,
    files::SERVICE,
];

const USERS: &str = include_str!("../../../examples/demo/people.yaml");

/// Namespace, service accounts, RBAC, Service, CRDs.
pub(super) async fn before_the_gate(admin: &Client) -> anyhow::Result<()> {
    let crds = files::CRDS.into_iter().chain(files::PLACEMENT_CRDS);
    let crds = crds.chain(files::WORK_CRDS);
    for manifest in BEFORE.into_iter().chain(crds) {
        for object in manifest.documents() {
            apply(admin, &object).await?;
        }
    }
    // devhub converts nothing.
    for definition in addons_in_one_version() {
        apply(admin, &definition).await?;
    }
    Ok(())
}

/// The registrations, trusting this CA.
pub(super) async fn registrations(admin: &Client, ca_pem: &str) -> anyhow::Result<()> {
    let ca_bundle = Value::from(BASE64_STANDARD.encode(ca_pem));
    for webhook in WEBHOOKS {
        let mut registration = webhook.registration();
        registration["webhooks"][0]["clientConfig"]["caBundle"] = ca_bundle.clone();
        apply(admin, &registration).await?;
    }
    Ok(())
}

/// The users' permissions, and the sets.
pub(super) async fn users(admin: &Client) -> anyhow::Result<()> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(USERS).context("people.yaml")?;
    for object in documents {
        apply(admin, &object).await?;
    }
    Ok(())
}

/// Applies an object.
///
/// # Errors
/// The hub refuses it.
pub(super) async fn apply(admin: &Client, object: &Value) -> anyhow::Result<()> {
    let answer = request::apply(admin, object).await?;
    match answer {
        Answer::Done { .. } => Ok(()),
        Answer::Refused { message, .. } => {
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            anyhow::bail!("{kind} {name} cannot be installed: {message}")
        }
    }
}
