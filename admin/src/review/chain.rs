//! The way of a write through the gate: the mutating path first, then the validating path with the object as mutated, as
//! an API server goes.

use anyhow::{Context, bail};
use berth_review::{Gate, Verdict, Webhook};
use berth_rules::{Decision, DecisionOutcome};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Duration, Instant};

/// Files answer at once; no review waits this long.
const LONG_ENOUGH: Duration = Duration::from_secs(30);

/// What came of a write at each step.
#[derive(Debug)]
pub(super) struct Chain {
    /// One for each webhook that was asked; the last one decided.
    pub(super) steps: Vec<Verdict<'static>>,
    /// The groups of the requester.
    pub(super) groups: Vec<String>,
}

impl Chain {
    /// Takes a review through the gate.
    ///
    /// # Errors
    /// When the gate does not guard what the review is about.
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

    /// The step that decided.
    pub(super) fn last(&self) -> &Verdict<'static> {
        self.steps
            .last()
            .expect("every kind that is guarded has a webhook")
    }

    /// The answer to the whole: that of the last step, with the patch of the first one and the warnings of both.
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

/// The webhooks that a review passes, in their order.
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
        bail!(
            "request.resource is {resource:?} in group {group:?}: the gate guards managedclusters, managedclustersets and \
             managedclustersetbindings in group {:?}, and {} in group {:?}",
            Webhook::ValidateCluster.group(),
            Webhook::ValidateRequest.resource(),
            Webhook::ValidateRequest.group()
        );
    }
    Ok(passed)
}
