//! Installs what `kubectl apply -k manifests` installs, but for what runs: gate and controller are here already.

use anyhow::Context;
use base64::prelude::{BASE64_STANDARD, Engine};
use kube::Client;
use serde_json::Value;

use crate::demo::request::{self, Answer};

/// What there must be before the gate can work.
const BEFORE: [(&str, &str); 9] = [
    (
        "namespace.yaml",
        include_str!("../../manifests/server/namespace.yaml"),
    ),
    (
        "service-account.yaml",
        include_str!("../../manifests/server/service-account.yaml"),
    ),
    (
        "cluster-role.yaml",
        include_str!("../../manifests/server/cluster-role.yaml"),
    ),
    (
        "controller-role.yaml",
        include_str!("../../manifests/server/controller-role.yaml"),
    ),
    (
        "agent-roles.yaml",
        include_str!("../../manifests/server/agent-roles.yaml"),
    ),
    (
        "service.yaml",
        include_str!("../../manifests/server/service.yaml"),
    ),
    (
        "managedclusters.yaml",
        include_str!(
            "../../manifests/crds/cluster.open-cluster-management.io_managedclusters.yaml"
        ),
    ),
    (
        "managedclustersets.yaml",
        include_str!(
            "../../manifests/crds/cluster.open-cluster-management.io_managedclustersets.yaml"
        ),
    ),
    (
        "managedclustersetbindings.yaml",
        include_str!(
            "../../manifests/crds/cluster.open-cluster-management.io_managedclustersetbindings.yaml"
        ),
    ),
];

const REGISTRATIONS: [(&str, &str); 5] = [
    (
        "managedclustermutators.yaml",
        include_str!("../../manifests/registrations/managedclustermutators.yaml"),
    ),
    (
        "managedclustervalidators.yaml",
        include_str!("../../manifests/registrations/managedclustervalidators.yaml"),
    ),
    (
        "managedclustersetbindingvalidators.yaml",
        include_str!("../../manifests/registrations/managedclustersetbindingvalidators.yaml"),
    ),
    (
        "managedclustersetvalidators.yaml",
        include_str!(
            "../../manifests/registrations/managedclustersets/managedclustersetvalidators.yaml"
        ),
    ),
    (
        "certificatesigningrequestvalidators.yaml",
        include_str!(
            "../../manifests/registrations/certificatesigningrequests/certificatesigningrequestvalidators.yaml"
        ),
    ),
];

const PEOPLE: (&str, &str) = (
    "people.yaml",
    include_str!("../../examples/demo/people.yaml"),
);

/// Namespace, service accounts, RBAC, Service, CRDs.
pub(super) async fn before_the_gate(admin: &Client) -> anyhow::Result<()> {
    for (file, text) in BEFORE {
        for object in documents(file, text)? {
            apply(admin, &object).await?;
        }
    }
    Ok(())
}

/// The registrations, trusting this CA.
pub(super) async fn registrations(admin: &Client, ca_pem: &str) -> anyhow::Result<()> {
    let ca_bundle = Value::from(BASE64_STANDARD.encode(ca_pem));
    for (file, text) in REGISTRATIONS {
        for mut object in documents(file, text)? {
            let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
            for webhook in webhooks.into_iter().flatten() {
                webhook["clientConfig"]["caBundle"] = ca_bundle.clone();
            }
            apply(admin, &object).await?;
        }
    }
    Ok(())
}

/// Who may do what, and the sets.
pub(super) async fn people(admin: &Client) -> anyhow::Result<()> {
    let (file, text) = PEOPLE;
    for object in documents(file, text)? {
        apply(admin, &object).await?;
    }
    Ok(())
}

fn documents(file: &str, text: &str) -> anyhow::Result<Vec<Value>> {
    serde_saphyr::from_multiple(text).with_context(|| format!("{file} of the manifests"))
}

async fn apply(admin: &Client, object: &Value) -> anyhow::Result<()> {
    let answer = request::apply(admin, object).await?;
    match answer {
        Answer::Done { .. } => Ok(()),
        Answer::Refused { message, .. } => {
            let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
            anyhow::bail!("{kind} {name} cannot be installed: {message}")
        }
    }
}
