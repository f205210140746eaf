//! A registered webhook, with everything prepared that calls need. Both kinds of registrations are read into it.

use std::time::Duration;

use berth_api::selector::Selector;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, RuleWithOperations, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::call::Endpoint;
use super::conditions::Conditions;

/// What applies when a registration does not say, which stored ones do.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A webhook.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) rules: Vec<RuleWithOperations>,
    /// matchPolicy Equivalent: other versions of what the rules name count as well.
    pub(super) equivalent: bool,
    pub(super) namespaces: Labels,
    pub(super) objects: Labels,
    pub(super) conditions: Conditions,
    /// failurePolicy Ignore.
    pub(super) fails_open: bool,
    pub(super) timeout: Duration,
    pub(super) side_effects: SideEffects,
    /// True if it takes reviews of a version that devhub knows.
    pub(super) takes_review: bool,
    /// reinvocationPolicy IfNeeded.
    pub(super) reinvoked: bool,
    /// Or why it cannot be called.
    pub(super) endpoint: Result<Endpoint, String>,
}

/// A label selector, or what is wrong with it.
pub(super) type Labels = Result<Option<Selector>, String>;

/// What a call may do besides answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideEffects {
    /// Nothing, at least in a dry run.
    NoneOnDryRun,
    Some,
    Unsaid,
}

/// A validating webhook is read as a mutating one, too: it only lacks the reinvocationPolicy.
impl From<MutatingWebhook> for Hook {
    fn from(webhook: MutatingWebhook) -> Self {
        Self {
            name: webhook.name,
            rules: webhook.rules.unwrap_or_default(),
            equivalent: is_equivalent(webhook.match_policy.as_deref()),
            namespaces: selector(webhook.namespace_selector.as_ref()),
            objects: selector(webhook.object_selector.as_ref()),
            conditions: conditions(webhook.match_conditions.as_deref()),
            fails_open: webhook.failure_policy.as_deref() == Some("Ignore"),
            timeout: timeout(webhook.timeout_seconds),
            side_effects: SideEffects::read(&webhook.side_effects),
            takes_review: takes_review(&webhook.admission_review_versions),
            reinvoked: webhook.reinvocation_policy.as_deref() == Some("IfNeeded"),
            endpoint: endpoint(&webhook.client_config),
        }
    }
}

/// The one version of AdmissionReview that devhub has is v1.
fn takes_review(versions: &[String]) -> bool {
    versions.iter().any(|version| version == "v1")
}

impl SideEffects {
    fn read(text: &str) -> Self {
        match text {
            "None" | "NoneOnDryRun" => Self::NoneOnDryRun,
            "" => Self::Unsaid,
            _ => Self::Some,
        }
    }
}

fn is_equivalent(policy: Option<&str>) -> bool {
    policy != Some("Exact")
}

fn timeout(seconds: Option<i32>) -> Duration {
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or(TIMEOUT, Duration::from_secs)
}

fn conditions(conditions: Option<&[MatchCondition]>) -> Conditions {
    let expressions = conditions.into_iter().flatten();
    Conditions::compile(expressions.map(|condition| condition.expression.as_str()))
}

/// An empty selector becomes `None`, so that labels are not read.
fn selector(selector: Option<&LabelSelector>) -> Labels {
    let Some(selector) = selector else {
        return Ok(None);
    };
    match Selector::parse(selector) {
        Ok(selector) if selector == Selector::default() => Ok(None),
        Ok(selector) => Ok(Some(selector)),
        Err(errors) => {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            Err(errors.join(", "))
        }
    }
}

fn endpoint(config: &WebhookClientConfig) -> Result<Endpoint, String> {
    let ca = config
        .ca_bundle
        .as_ref()
        .map_or(&[][..], |bundle| &bundle.0);
    match (&config.service, &config.url) {
        (Some(service), _) => Endpoint::service(
            &service.namespace,
            &service.name,
            service.port,
            service.path.as_deref(),
            ca,
        ),
        (None, Some(url)) if !url.is_empty() => Endpoint::url(url, ca),
        _ => Err("webhook configuration must have either service or URL".to_owned()),
    }
}
