//! What an add-on on a cluster waits for, in the order in which it happens.

use berth_api::conditions::{FALSE, TRUE, addon, cluster, condition_of};
use berth_api::labels;
use berth_api::text::shorten;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::registrations::{Request, RequestState};
use super::works::Work;
use super::{Facts, LONGEST_MESSAGE, configs};
use crate::tokens;
use crate::works::hooks::{
    HOOK_MANIFEST_COMPLETED, HOSTING_PRE_DELETE_FINALIZER, PRE_DELETE_FINALIZER,
};

pub(super) fn of(facts: &Facts<'_>, works: &[Work], requests: &[Request]) -> Vec<String> {
    let status = facts.status();
    let conditions = Conditions(&status.conditions);
    if facts.on.metadata.deletion_timestamp.is_some() {
        return deletion(facts, conditions);
    }
    let mut waits = cluster_waits(facts);
    let Some(_) = facts.add_on else {
        let name = facts.on.metadata.name.as_deref().unwrap_or_default();
        waits.push(format!(
            "a ClusterManagementAddOn {name}: without one no manager deploys the add-on"
        ));
        return waits;
    };
    waits.extend(conditions.message_unless(addon::CONFIGURED, TRUE, "its turn in the rollout"));
    if let Some(it) = conditions.get(addon::PROGRESSING)
        && it.reason == addon::CONFIGURATION_UNSUPPORTED
    {
        waits.push(format!("another config in spec.configs: {}", message(it)));
    }
    for it in configs(facts)
        .iter()
        .filter(|it| it.desired_hash.is_empty())
    {
        waits.push(format!(
            "{} {}, which does not exist, or which the add-on's manager has not read",
            it.resource, it.name
        ));
    }
    waits.extend(registration(facts, conditions, requests));
    waits.extend(manifests(facts, conditions));
    waits.extend(works.iter().filter(|it| !it.is_ready()).map(work));
    if waits.is_empty() {
        // The last words of those who know more.
        let progressing = conditions.get(addon::PROGRESSING);
        let progressing = progressing.filter(|it| it.reason != addon::COMPLETED);
        waits.extend(progressing.map(|it| format!("Progressing: {}", message(it))));
        match conditions.get(addon::AVAILABLE) {
            None => waits.push(
                "the first report of its health: the condition Available is not reported"
                    .to_owned(),
            ),
            Some(it) if it.status != TRUE => waits.push(format!(
                "its agent on the cluster: Available is {} ({}): {}",
                it.status,
                it.reason,
                message(it)
            )),
            Some(_) => {}
        }
        let degraded = conditions.get(addon::DEGRADED);
        let degraded = degraded.filter(|it| it.status == TRUE);
        waits.extend(degraded.map(|it| format!("Degraded: {}", message(it))));
    }
    waits
}

fn deletion(facts: &Facts<'_>, conditions: Conditions<'_>) -> Vec<String> {
    let finalizers = facts.on.metadata.finalizers.iter().flatten();
    let hooks = [PRE_DELETE_FINALIZER, HOSTING_PRE_DELETE_FINALIZER];
    let mut waits = Vec::new();
    for finalizer in finalizers {
        if hooks.contains(&&**finalizer) {
            let hook = conditions.get(HOOK_MANIFEST_COMPLETED).map(message);
            let hook = hook.unwrap_or_else(|| "the manager has not reported them".to_owned());
            waits.push(format!(
                "its hooks, which run before it is deleted: {hook}; 'berth addon delete --skip-hooks' lets them go"
            ));
        } else {
            waits.push(format!("finalizer {finalizer}, which its owner removes"));
        }
    }
    if waits.is_empty() {
        waits.push("the hub, which deletes it now".to_owned());
    }
    waits
}

fn cluster_waits(facts: &Facts<'_>) -> Vec<String> {
    let name = facts.on.metadata.namespace.as_deref().unwrap_or_default();
    let Some(stored) = facts.cluster else {
        return vec![format!("a ManagedCluster {name}, which does not exist")];
    };
    if !stored.spec.hub_accepts_client {
        return vec![format!(
            "the acceptance of ManagedCluster {name}: berth accept {name}"
        )];
    }
    let status = stored.status.as_ref();
    let conditions = Conditions(status.map_or(&[][..], |it| &it.conditions));
    let words = format!("the agent of ManagedCluster {name}");
    conditions
        .message_unless(cluster::AVAILABLE, TRUE, &words)
        .into_iter()
        .collect()
}

fn registration(
    facts: &Facts<'_>,
    conditions: Conditions<'_>,
    requests: &[Request],
) -> Vec<String> {
    let mut waits = Vec::new();
    if conditions.get(addon::REGISTRATION_APPLIED).is_none() && facts.is_template() {
        waits.push(
            "the controller of add-ons: the condition RegistrationApplied is not reported; does the controller run?"
                .to_owned(),
        );
    }
    waits.extend(conditions.message_unless(
        addon::REGISTRATION_APPLIED,
        TRUE,
        "its permissions on the hub",
    ));
    let uses_tokens = tokens::uses_tokens(&facts.status().registrations);
    if uses_tokens && conditions.get(addon::TOKEN_INFRASTRUCTURE_READY).is_none() {
        waits.push(
            "the service account of its agent: the condition TokenInfrastructureReady is not reported; does the controller of add-ons run?"
                .to_owned(),
        );
    }
    waits.extend(conditions.message_unless(
        addon::TOKEN_INFRASTRUCTURE_READY,
        TRUE,
        "the service account of its agent",
    ));
    // Of several requests only the newest one counts: the agent makes a new one after a denial.
    let mut signers: Vec<&str> = Vec::new();
    for it in requests {
        if signers.contains(&&*it.signer) {
            continue;
        }
        signers.push(&it.signer);
        let name = &it.name;
        let words = match it.state {
            RequestState::Pending => format!(
                "the approval of CertificateSigningRequest {name}: kubectl certificate approve {name}"
            ),
            RequestState::Approved => format!(
                "the signer {}, which has issued nothing for CertificateSigningRequest {name}",
                it.signer
            ),
            RequestState::Denied => format!(
                "another certificate request: CertificateSigningRequest {name} was denied: {}",
                it.message
            ),
            RequestState::Failed => format!(
                "another certificate request: the signer failed at CertificateSigningRequest {name}: {}",
                it.message
            ),
            RequestState::Issued => continue,
        };
        waits.push(words);
    }
    waits
}

fn manifests(facts: &Facts<'_>, conditions: Conditions<'_>) -> Vec<String> {
    let mut waits = Vec::new();
    let is_hosted = facts.annotation(labels::ADDON_HOSTING_CLUSTER).is_some();
    let mut wanted = vec![(addon::MANIFEST_APPLIED, "its manifests")];
    if is_hosted {
        wanted.push((
            addon::HOSTING_MANIFEST_APPLIED,
            "its manifests on the hosting cluster",
        ));
        waits.extend(conditions.message_unless(
            addon::HOSTING_CLUSTER_VALIDITY,
            TRUE,
            "another hosting cluster",
        ));
    }
    for (type_, words) in wanted {
        match conditions.get(type_) {
            None => waits.push(format!(
                "the add-on's manager: the condition {type_} is not reported; does the manager run?"
            )),
            Some(it) if it.status == FALSE => waits.push(format!("{words}: {}", message(it))),
            Some(_) => {}
        }
    }
    waits
}

fn work(work: &Work) -> String {
    let Work {
        cluster,
        name,
        applied,
        available,
        not_ready,
        ..
    } = work;
    let at = format!("ManifestWork {cluster}/{name}");
    match (
        not_ready.first(),
        applied.is_empty() || available.is_empty(),
    ) {
        (Some(it), _) => format!("{at}: {}: {}", it.object, it.message),
        (None, true) => format!("{at}: the cluster's agent has not reported its current version"),
        (None, false) => format!("{at}: Applied is {applied}, Available is {available}"),
    }
}

/// The conditions of an object.
#[derive(Clone, Copy)]
struct Conditions<'a>(&'a [Condition]);

// === impl Conditions ===

impl<'a> Conditions<'a> {
    fn get(self, type_: &str) -> Option<&'a Condition> {
        condition_of(self.0, type_)
    }

    /// The message of a condition with another status than this one. `None` if it is not reported.
    fn message_unless(self, type_: &str, status: &str, what: &str) -> Option<String> {
        let it = self.get(type_).filter(|it| it.status != status)?;
        Some(format!(
            "{what}: {type_} is {} ({}): {}",
            it.status,
            it.reason,
            message(it)
        ))
    }
}

fn message(condition: &Condition) -> String {
    shorten(&condition.message, LONGEST_MESSAGE).into_owned()
}
