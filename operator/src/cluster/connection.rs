//! Asks a hub what the credentials of an agent allow there.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_hub::{Call, HubApi, object_path, optional};
use berth_operator_core::cluster::{Check, Connection, HUB_SECRET, Right, of_bootstrap, of_hub};
use berth_operator_core::{Credentials, Unusable, credentials};
use berth_reconcile::{Handle, World};
use serde_json::{Value, json};

use super::secrets::BOOTSTRAP_SECRET;
use crate::reach::decoded;

/// The longest time for a call.
const LONGEST: Duration = Duration::from_secs(10);

/// The reasons of what was found with a Secret.
struct Reasons {
    /// The name of the Secret.
    secret: &'static str,
    missing: &'static str,
    without_kubeconfig: &'static str,
    error: &'static str,
    unauthorized: &'static str,
    functional: &'static str,
    /// What the Secret is called in messages.
    what: &'static str,
}

const BOOTSTRAP: Reasons = Reasons {
    secret: BOOTSTRAP_SECRET,
    missing: "BootstrapSecretMissing",
    without_kubeconfig: "BootstrapSecretError",
    error: "BootstrapSecretError",
    unauthorized: "BootstrapSecretUnauthorized",
    functional: "BootstrapSecretFunctional",
    what: "bootstrap secret",
};

const HUB: Reasons = Reasons {
    secret: HUB_SECRET,
    missing: "HubKubeConfigSecretMissing",
    without_kubeconfig: "HubKubeConfigMissing",
    error: "HubKubeConfigError",
    unauthorized: "HubKubeConfigUnauthorized",
    functional: "HubConnectionFunctional",
    what: "hub kubeconfig secret",
};

const CLUSTER_NAME_MISSING: &str = "ClusterNameMissing";

/// The key of the cluster's name in the agent's Secret.
const CLUSTER_NAME: &str = "cluster-name";

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) namespace: String,
    /// Empty: the Secret has it.
    pub(super) cluster: String,
    /// There is one bootstrap kubeconfig.
    pub(super) has_bootstrap: bool,
}

/// Looks at the agent's own credentials, and if these do not suffice at its bootstrap kubeconfig, as OCM's operator does.
pub(super) async fn look<W: World>(on: &Handle<W>, asked: &Asked) -> Connection {
    let hub = of(on, asked, &HUB).await;
    let is_needed = asked.has_bootstrap && !hub.is_functional;
    let bootstrap = match is_needed {
        true => Some(of(on, asked, &BOOTSTRAP).await),
        false => None,
    };
    Connection { bootstrap, hub }
}

async fn of<W: World>(on: &Handle<W>, asked: &Asked, reasons: &Reasons) -> Check {
    match try_of(on, asked, reasons).await {
        Ok(message) => Check {
            is_functional: true,
            reason: reasons.functional,
            message,
        },
        Err((reason, message)) => Check {
            is_functional: false,
            reason,
            message,
        },
    }
}

async fn try_of<W: World>(
    on: &Handle<W>,
    asked: &Asked,
    reasons: &Reasons,
) -> Result<String, (&'static str, String)> {
    let namespace = &asked.namespace;
    let name = reasons.secret;
    let is_hub = name == HUB.secret;
    let what = format!("{} {namespace}/{name}", reasons.what);
    let call = Call::get(object_path(("", "v1", "secrets"), namespace, name));
    let secret = optional(on.writer(0).send(call).await);
    let secret =
        secret.map_err(|error| (reasons.error, format!("Failed to get {what}: {error}")))?;
    let secret = secret.ok_or_else(|| {
        let hint = if is_hub {
            "the agent makes it when the hub has accepted the cluster"
        } else {
            "create it with a kubeconfig of the hub in the key kubeconfig"
        };
        (
            reasons.missing,
            format!("Failed to get {what}: it does not exist; {hint}"),
        )
    })?;
    let secret: Value = secret
        .json()
        .map_err(|error| (reasons.error, format!("Failed to read {what}: {error}")))?;
    let data = decoded(&secret);
    let Credentials {
        kubeconfig, server, ..
    } = credentials(&data, |it| BASE64_STANDARD.encode(it)).map_err(|unusable| match unusable {
        Unusable::Missing => (
            reasons.without_kubeconfig,
            format!("{what} has no kubeconfig yet"),
        ),
        Unusable::Kubeconfig(why) => (reasons.error, format!("the kubeconfig of {what}: {why}")),
    })?;
    let rights = if is_hub {
        let kept = || String::from_utf8(data.get(CLUSTER_NAME)?.clone()).ok();
        let cluster = Some(asked.cluster.clone()).filter(|it| !it.is_empty());
        let cluster = cluster.or_else(kept).filter(|it| !it.is_empty());
        let cluster = cluster.ok_or_else(|| {
            (
                CLUSTER_NAME_MISSING,
                format!("{what} has no {CLUSTER_NAME} yet"),
            )
        })?;
        of_hub(&cluster)
    } else {
        of_bootstrap()
    };
    let api = HubApi::of_kubeconfig(&kubeconfig, &what)
        .await
        .map_err(|error| (reasons.error, error.to_string()))?;
    for right in rights {
        let is_allowed = is_allowed(&api, &right).await.map_err(|why| {
            (
                reasons.error,
                format!("{server} cannot be asked with {what}: {why}"),
            )
        })?;
        if !is_allowed {
            let shown = shown(&right);
            let message = format!(
                "Operation for resource {shown} is not allowed with {what} to apiserver {server}"
            );
            return Err((reasons.unauthorized, message));
        }
    }
    Ok(format!("{what} to apiserver {server} is working"))
}

async fn is_allowed(api: &HubApi, right: &Right) -> Result<bool, String> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "group": right.group, "resource": right.resource, "subresource": right.subresource,
            "namespace": right.namespace, "name": right.name, "verb": right.verb,
        }},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = api.call(Call::post(path, review.to_string()).within(LONGEST));
    let answer = answer.await.map_err(|error| error.to_string())?;
    let answer: Value = answer.json().map_err(|error| error.to_string())?;
    Ok(answer["status"]["allowed"] == true)
}

fn shown(right: &Right) -> String {
    let Right {
        group,
        resource,
        subresource,
        namespace,
        name,
        verb,
    } = right;
    let mut shown = format!("{verb} {resource}");
    if !group.is_empty() {
        shown.push_str(&format!(".{group}"));
    }
    for (of, word) in [
        (*subresource, "subresource"),
        (namespace, "namespace"),
        (name, "name"),
    ] {
        if !of.is_empty() {
            shown.push_str(&format!(", {word} {of}"));
        }
    }
    shown
}
