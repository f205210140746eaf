//! What the Deployments say of how the hub is installed: Berth's own, or OCM's operator's with Berth's image.

use super::facts::Facts;
use super::objects::{Container, Deployment, PodSpec};

/// The Deployment of the gate, and OCM's of its webhook: they have one name.
pub(crate) const WEBHOOK: &str = "cluster-manager-registration-webhook";
/// The Deployment of the controller.
pub(crate) const CONTROLLER: &str = "berth-registration-controller";
/// OCM's Deployment of its controller; Berth's, too, with the overlay `ocm-names`.
pub(crate) const OCMS_CONTROLLER: &str = "cluster-manager-registration-controller";
/// The Lease of the election.
pub(crate) const LOCK: &str = "registration-controller-lock";
/// As whom the gate runs, unless a Deployment says otherwise.
pub(crate) const ACCOUNT: &str = "registration-webhook-sa";
/// As whom the controller runs, unless a Deployment says otherwise.
pub(crate) const CONTROLLER_ACCOUNT: &str = "berth-registration-controller-sa";
/// The Secret with the serving certificate, unless a Deployment says otherwise.
pub(crate) const SECRET: &str = "registration-webhook-serving-cert";
/// The Secret in which Berth keeps a certificate of its own, unless a flag says otherwise.
pub(crate) const OWN_SECRET: &str = "berth-webhook-certificates";
/// What the volume is called that has it.
const VOLUME: &str = "webhook-secret";

/// What runs in a Deployment's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// `berth hub`: gate and controller.
    HubConnection,
    /// The gate alone: OCM's or Berth's, as both are called the same.
    WebhookServer,
    /// Something else.
    Other,
}

fn pod(deployment: &Deployment) -> &PodSpec {
    &deployment.spec.template.spec
}

fn container(deployment: &Deployment) -> Option<&Container> {
    pod(deployment).containers.first()
}

/// Command and arguments.
fn words(deployment: &Deployment) -> Vec<&str> {
    let Some(container) = container(deployment) else {
        return Vec::new();
    };
    let command = container.command.iter().flatten();
    let args = container.args.iter().flatten();
    command.chain(args).map(String::as_str).collect()
}

/// What runs in its pods.
pub(crate) fn runs(deployment: &Deployment) -> Runs {
    let words = words(deployment);
    let has = |word: &str| words.contains(&word);
    if has("hub") {
        Runs::HubConnection
    } else if has("webhook-server") {
        Runs::WebhookServer
    } else {
        Runs::Other
    }
}

/// Whether its executable is the one that OCM's operator starts.
pub(crate) fn is_operators(deployment: &Deployment) -> bool {
    words(deployment).first() == Some(&"/registration")
}

/// The name of the service account that its pods have.
pub(crate) fn account(deployment: &Deployment) -> String {
    let account = &pod(deployment).service_account_name;
    account.clone().unwrap_or_else(|| "default".to_owned())
}

/// The name of the Secret with the serving certificate.
pub(crate) fn secret(deployment: Option<&Deployment>) -> String {
    let words = deployment.map(words).unwrap_or_default();
    if flag(&words, "--certificate-source") == Some("secret") {
        let named = flag(&words, "--certificate-secret");
        return named.unwrap_or(OWN_SECRET).to_owned();
    }
    let volumes = deployment.and_then(|it| pod(it).volumes.as_ref());
    let volume = volumes.and_then(|volumes| volumes.iter().find(|it| it.name == VOLUME));
    let secret = volume.and_then(|volume| volume.secret.as_ref());
    secret
        .and_then(|secret| secret.secret_name.clone())
        .unwrap_or_else(|| SECRET.to_owned())
}

/// The value of a flag, which may be a word of its own.
fn flag<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        match word.strip_prefix(flag)?.strip_prefix('=') {
            Some(value) => Some(value),
            None if *word == flag => words.get(at + 1).copied(),
            None => None,
        }
    })
}

/// Whether it serves a certificate that Berth keeps in a Secret.
pub(crate) fn serves_a_kept_certificate(deployment: &Deployment) -> bool {
    flag(&words(deployment), "--certificate-source") == Some("secret")
}

/// Whether it accepts clusters without a person.
pub(crate) fn accepts_by_itself(deployment: &Deployment) -> bool {
    let words = words(deployment);
    words
        .iter()
        .any(|word| word.contains("ManagedClusterAutoApproval=true"))
}

/// The Deployment whose pods carry clusters through their life, if it is one of ours.
pub(crate) fn controller<'a>(
    named: impl Fn(&str) -> Option<&'a Deployment>,
) -> Option<&'a Deployment> {
    let in_one = named(WEBHOOK).filter(|it| runs(it) == Runs::HubConnection);
    let under_ocms_name = named(OCMS_CONTROLLER).filter(|it| is_ours(it));
    in_one.or_else(|| named(CONTROLLER)).or(under_ocms_name)
}

/// Whether Berth's manifests have it: by its executable.
pub(crate) fn is_ours(deployment: &Deployment) -> bool {
    words(deployment).first() == Some(&"/berth")
}

/// Whether what runs here has no Lease to hold.
pub(crate) fn runs_without_election(facts: &Facts) -> bool {
    [WEBHOOK, CONTROLLER, OCMS_CONTROLLER]
        .iter()
        .filter_map(|name| facts.deployment(name))
        .flat_map(words)
        .any(|word| word == "--disable-leader-election" || word == "--disable-leader-election=true")
}

/// Whether the hub is told not to keep the sets default and global.
pub(crate) fn keeps_no_default_sets(facts: &Facts) -> bool {
    [WEBHOOK, CONTROLLER, OCMS_CONTROLLER]
        .iter()
        .filter_map(|name| facts.deployment(name))
        .flat_map(words)
        .any(|word| word.contains("DefaultClusterSet=false"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_secret_is_the_one_that_the_deployment_goes_by() {
        let deployment = |args: &[&str], secret: &str| -> Deployment {
            serde_json::from_value(json!({"spec": {"selector": {}, "template": {"spec": {
                "containers": [{"name": "gate", "args": args}],
                "volumes": [{"name": VOLUME, "secret": {"secretName": secret}}],
            }}}}))
            .unwrap()
        };
        let own = ["hub", "--certificate-source=secret"];
        let named = [
            "hub",
            "--certificate-source",
            "secret",
            "--certificate-secret",
            "mine",
        ];
        assert_eq!(secret(None), SECRET);
        assert_eq!(secret(Some(&deployment(&["hub"], "mounted"))), "mounted");
        assert_eq!(secret(Some(&deployment(&own, "mounted"))), OWN_SECRET);
        assert_eq!(secret(Some(&deployment(&named, "mounted"))), "mine");
    }
}
