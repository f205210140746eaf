//! What the API server said of the permissions of executors, for a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use berth_work_core::Mapped;
use berth_work_core::executor::Account;

/// How long an answer counts, as long as OCM's agent waits after a refusal.
const VALID: Duration = Duration::from_secs(60);

/// Upper bound on the answers that are kept.
const MOST: usize = 10_000;

/// The answers, and when the questions were sent.
#[derive(Debug, Default)]
pub(crate) struct Answers(HashMap<Question, (bool, Instant)>);

/// May this account do this with this object?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    account: Account,
    verb: String,
    path: String,
}

// === impl Answers ===

impl Answers {
    /// The answer, if it counts still. Those to questions that were sent before `since` do not.
    pub(crate) fn known(
        &self,
        question: &Question,
        since: Option<Instant>,
        now: Instant,
    ) -> Option<bool> {
        let (allowed, sent) = self.0.get(question)?;
        let is_valid = now.saturating_duration_since(*sent) < VALID;
        let is_new_enough = since.is_none_or(|since| *sent >= since);
        (is_valid && is_new_enough).then_some(*allowed)
    }

    /// Notes the answer to a question that was sent at this time.
    pub(crate) fn learn(&mut self, question: Question, allowed: bool, sent: Instant, now: Instant) {
        let all = &mut self.0;
        if all.len() >= MOST {
            all.retain(|_, (_, sent)| now.saturating_duration_since(*sent) < VALID);
        }
        let is_known = all.contains_key(&question);
        if is_known || all.len() < MOST {
            all.insert(question, (allowed, sent));
        }
    }
}

// === impl Question ===

impl Question {
    /// May the account do this?
    pub(crate) fn new(account: &Account, object: &Mapped, verb: &str) -> Self {
        let prescribed = &object.prescribed;
        Self {
            account: account.clone(),
            verb: verb.to_owned(),
            path: format!(
                "{}/{}/{}/{}",
                prescribed.api_version, object.resource, object.namespace, prescribed.name
            ),
        }
    }
}
