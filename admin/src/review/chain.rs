//! Sends a write through the webhooks of the gate: first the mutating one, then the validating one with the mutated object, as an
//! API server does.

use anyhow::{Context, bail};
use berth_review::{Gate, Verdict, Webhook};
use berth_rules::{Decision, DecisionOutcome};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::input::guarded;

/// The deadline of a review. Files answer immediately, so it does not expire.
const LONG_ENOUGH: Duration = Duration::from_secs(30);

/// The verdicts of the webhooks about a write.
#[derive(Debug)]
pub(super) struct Chain {
    /// A verdict for each webhook that was called. The last one decides.
    pub(super) steps: Vec<Verdict<'static>>,
    /// The groups of the requester.
    pub(super) groups: Vec<String>,
}

impl Chain {
    /// Sends a review through the gate.
    ///
    /// # Errors
    /// The gate does not guard the resource of the review.
    pub(super) async fn run(gate: &Gate, review: &Value, now: Timestamp) -> anyhow::Result<Self> {
        let groups = review
            .pointer("/request/userInfo/groups")
            .and_then(Value::as_array);
        let groups = groups
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let mut chain = Self {
            steps: Vec::new(),
            groups,
        };
        let mut review = review.clone();
        for webhook in webhooks(&review)? {
            let body = serde_json::to_vec(&review)?;
            let deadline = Instant::now() + LONG_ENOUGH;
            let verdict = gate
                .examine(webhook, &body, now, deadline)
                .await
                .into_owned();
            let patch = match &verdict.result {
                Ok(decision) if verdict.is_allowed() => Some(decision.patch.clone()),
                _ => None,
            };
            chain.steps.push(verdict);
            let Some(patch) = patch else { break };
            if let Some(object) = review.pointer_mut("/request/object") {
                json_patch::patch(object, &patch)
                    .context("the gate's own patch does not fit the object")?;
            }
        }
        Ok(chain)
    }

    /// `allowed`, `denied`, `malformed`, `undecided` or `undecodable`.
    pub(super) fn outcome(&self) -> &'static str {
        match self.last() {
            Verdict { result: Err(_), .. } => "undecodable",
            verdict => verdict.outcome(),
        }
    }

    /// Returns the verdict that decides.
    pub(super) fn last(&self) -> &Verdict<'static> {
        self.steps
            .last()
            .expect("every kind that is guarded has a webhook")
    }

    /// Returns the response to the whole write: the last verdict, with the patches and warnings of all.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let (last, earlier) = self
            .steps
            .split_last()
            .expect("every kind that is guarded has a webhook");
        let mut whole = last.clone();
        if let Ok(Decision {
            outcome: DecisionOutcome::Allowed,
            patch,
            warnings,
        }) = &mut whole.result
        {
            for decision in earlier
                .iter()
                .rev()
                .filter_map(|verdict| verdict.result.as_ref().ok())
            {
                patch.0.splice(0..0, decision.patch.0.iter().cloned());
                warnings.splice(0..0, decision.warnings.iter().cloned());
            }
        }
        whole.to_json()
    }
}

/// Returns the webhooks for a review, in their order.
fn webhooks(review: &Value) -> anyhow::Result<Vec<Webhook>> {
    let field = |field: &str| {
        review
            .pointer(&format!("/request/resource/{field}"))
            .and_then(Value::as_str)
    };
    let (group, resource) = (
        field("group").unwrap_or_default(),
        field("resource").unwrap_or_default(),
    );
    let passed: Vec<_> = Webhook::ALL
        .into_iter()
        .filter(|webhook| (webhook.group(), webhook.resource()) == (group, resource))
        .collect();
    if passed.is_empty() {
        let all = guarded(|it| format!("{}.{}", it.resource(), it.group()));
        bail!("request.resource is {resource:?} in group {group:?}: the gate guards {all}");
    }
    Ok(passed)
}
