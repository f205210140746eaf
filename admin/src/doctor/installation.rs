//! How the hub is installed, by its Deployments: those of Berth's manifests, or those of OCM's operator with Berth's image.

use super::facts::Facts;
use super::objects::{Container, Deployment, PodSpec};

/// The Deployment of the gate, which has the name of OCM's webhook.
pub(crate) const WEBHOOK: &str = "cluster-manager-registration-webhook";
/// The Deployment of the controller.
pub(crate) const CONTROLLER: &str = "berth-registration-controller";
/// The Deployment of the console.
pub(crate) const CONSOLE: &str = "berth-console";
/// The Deployment of OCM's controller, and of Berth's with the overlay `ocm-names`.
pub(crate) const OCMS_CONTROLLER: &str = "cluster-manager-registration-controller";
/// The Lease of the election.
pub(crate) const LOCK: &str = "registration-controller-lock";
/// The Lease of the placement controller's election.
pub(crate) const PLACEMENT_LOCK: &str = "placement-lock";
/// The Lease of the election of the controller of ManifestWorkReplicaSets.
pub(crate) const WORK_LOCK: &str = "work-manager-lock";
/// The Lease of the election of the controller of add-ons.
pub(crate) const ADDON_LOCK: &str = "manager-lock";
/// The default service account of the gate.
pub(crate) const ACCOUNT: &str = "registration-webhook-sa";
/// The default service account of the controller.
pub(crate) const CONTROLLER_ACCOUNT: &str = "berth-registration-controller-sa";
/// The default Secret of the serving certificate.
pub(crate) const SECRET: &str = "registration-webhook-serving-cert";
/// The default Secret of the certificate that Berth manages.
pub(crate) const OWN_SECRET: &str = "berth-webhook-certificates";
/// The name of the volume with the serving certificate.
const VOLUME: &str = "webhook-secret";

/// The program in the pods of a Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// `berth hub`: gate and controller.
    Hub,
    /// The gate alone: OCM's or Berth's, since both have the same name.
    WebhookServer,
    /// Another program.
    Other,
}

fn pod(deployment: &Deployment) -> &PodSpec {
    &deployment.spec.template.spec
}

fn container(deployment: &Deployment) -> Option<&Container> {
    pod(deployment).containers.first()
}

/// Returns the command and the arguments.
fn words(deployment: &Deployment) -> Vec<&str> {
    let Some(container) = container(deployment) else {
        return Vec::new();
    };
    let command = container.command.iter().flatten();
    let args = container.args.iter().flatten();
    command.chain(args).map(String::as_str).collect()
}

/// Returns the program in the pods of a Deployment.
pub(crate) fn runs(deployment: &Deployment) -> Runs {
    let words = words(deployment);
    let has = |word: &str| words.contains(&word);
    if has("hub") {
        Runs::Hub
    } else if has("webhook-server") {
        Runs::WebhookServer
    } else {
        Runs::Other
    }
}

/// Returns true if the executable is the one that OCM's operator starts.
pub(crate) fn is_operators(deployment: &Deployment) -> bool {
    words(deployment).first() == Some(&"/registration")
}

/// Returns the name of the pods' service account.
pub(crate) fn account(deployment: &Deployment) -> String {
    let account = &pod(deployment).service_account_name;
    account.clone().unwrap_or_else(|| "default".to_owned())
}

/// Returns the name of the Secret with the serving certificate.
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

/// Returns the value of a flag: `--flag=value` or `--flag value`.
fn flag<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        match word.strip_prefix(flag)?.strip_prefix('=') {
            Some(value) => Some(value),
            None if *word == flag => words.get(at + 1).copied(),
            None => None,
        }
    })
}

/// Returns true if the gate serves the certificate that Berth manages in a Secret.
pub(crate) fn serves_a_kept_certificate(deployment: &Deployment) -> bool {
    flag(&words(deployment), "--certificate-source") == Some("secret")
}

/// Returns true if the controller accepts clusters automatically.
pub(crate) fn accepts_by_itself(deployment: &Deployment) -> bool {
    let words = words(deployment);
    words
        .iter()
        .any(|word| word.contains("ManagedClusterAutoApproval=true"))
}

/// Returns the Deployment of Berth's controller.
pub(crate) fn controller<'a>(
    named: impl Fn(&str) -> Option<&'a Deployment>,
) -> Option<&'a Deployment> {
    let in_one = named(WEBHOOK).filter(|it| runs(it) == Runs::Hub);
    let under_ocms_name = named(OCMS_CONTROLLER).filter(|it| is_ours(it));
    in_one.or_else(|| named(CONTROLLER)).or(under_ocms_name)
}

/// Returns true if the executable is the one of Berth's manifests.
pub(crate) fn is_ours(deployment: &Deployment) -> bool {
    words(deployment).first() == Some(&"/berth")
}

/// Returns true if a Deployment runs without leader election.
pub(crate) fn runs_without_election(facts: &Facts) -> bool {
    [WEBHOOK, CONTROLLER, OCMS_CONTROLLER]
        .iter()
        .filter_map(|name| facts.deployment(name))
        .flat_map(words)
        .any(|word| word == "--disable-leader-election" || word == "--disable-leader-election=true")
}

/// Returns true if the controller does not manage the sets default and global.
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
