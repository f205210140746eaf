//! The verdict on a review, for logs, metrics, users and the response.

use berth_rules::object::Text;
use berth_rules::{Answer, Change, Decision, DecisionOutcome, Question};

use crate::header::Header;
use crate::salvage::salvage;
use crate::{Refusal, Webhook};

/// The verdict on a review.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    pub(crate) header: Header<'a>,
    /// The requested change; `None` if that part of the review could not be decoded.
    pub subject: Option<Subject<'a>>,
    /// The questions of the change, with their answers.
    pub answers: Vec<(Question, Answer)>,
    /// The evidence for each answer, in the same order.
    pub evidence: Vec<Evidence>,
    /// The decision of the rules, or the refusal before the rules.
    pub result: Result<Decision, Refusal>,
}

/// The requested change: requester, operation and object.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The webhook that the API server called.
    pub webhook: Webhook,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: Text<'a>,
    /// The name of the object.
    pub name: Text<'a>,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Text<'a>,
    /// The user name of the requester.
    pub user: Text<'a>,
    /// True if the change will not be stored.
    pub dry_run: bool,
}

/// The evidence for an answer.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// A description: for example the role and binding that grant a permission.
    pub because: Option<String>,
    /// The time that it took to get the answer.
    pub took: std::time::Duration,
}

/// The maximum number of lines of a message, besides a line that counts the others.
const MOST_LINES: usize = 21;

/// The maximum length of a message in bytes.
const LONGEST_MESSAGE: usize = 16 * 1024;

// === impl Subject ===

impl Subject<'_> {
    /// Returns the change, with these objects.
    pub(crate) fn change<O>(&self, new: O, old: Option<O>) -> Change<'_, O> {
        Change {
            name: self.name.as_str(),
            namespace: self.namespace.as_str(),
            user: self.user.as_str(),
            new,
            old,
        }
    }

    fn into_owned(self) -> Subject<'static> {
        Subject {
            webhook: self.webhook,
            operation: self.operation.into_owned(),
            name: self.name.into_owned(),
            namespace: self.namespace.into_owned(),
            user: self.user.into_owned(),
            dry_run: self.dry_run,
        }
    }
}

// === impl Verdict ===

impl<'a> Verdict<'a> {
    /// Makes the verdict on a review that the rules decided without a question.
    pub(crate) fn decided(header: Header<'a>, subject: Subject<'a>, decision: Decision) -> Self {
        let (answers, evidence) = (Vec::new(), Vec::new());
        Self {
            header,
            subject: Some(subject),
            answers,
            evidence,
            result: Ok(decision),
        }
    }

    /// Makes the verdict on a review that was refused before the rules.
    pub(crate) fn refused(
        header: Header<'a>,
        subject: Option<Subject<'a>>,
        refusal: Refusal,
    ) -> Self {
        Self {
            header,
            subject,
            answers: Vec::new(),
            evidence: Vec::new(),
            result: Err(refusal),
        }
    }

    /// Makes the verdict on a review that was not decoded. It gets the uid if `body` contains it.
    pub fn unread(body: &'a [u8], refusal: Refusal) -> Self {
        Self::refused(salvage(body), None, refusal)
    }

    /// Makes the verdict independent of the bytes of the review.
    pub fn into_owned(self) -> Verdict<'static> {
        let Self {
            header,
            subject,
            answers,
            evidence,
            result,
        } = self;
        let header = Header {
            api_version: header.api_version,
            uid: header.uid.into_owned(),
        };
        Verdict {
            header,
            subject: subject.map(Subject::into_owned),
            answers,
            evidence,
            result,
        }
    }

    /// Returns the uid of the review; empty if it is not known.
    pub fn uid(&self) -> &str {
        self.header.uid.as_str()
    }

    /// Returns `allowed`, `malformed`, `denied` or `undecided`.
    pub fn outcome(&self) -> &'static str {
        match &self.result {
            Ok(decision) => decision.outcome.as_str(),
            Err(refusal) => refusal.kind.outcome(),
        }
    }

    /// Returns the reason, from a closed list; empty if the change is admitted.
    pub fn reason(&self) -> &'static str {
        match &self.result {
            Ok(Decision {
                outcome: DecisionOutcome::Undecided(_),
                ..
            }) => "unanswered",
            Ok(decision) => decision
                .outcome
                .reason()
                .map_or("", berth_rules::Reason::as_str),
            Err(refusal) => refusal.kind.as_str(),
        }
    }

    /// Returns true if the change is admitted.
    pub fn is_allowed(&self) -> bool {
        matches!(&self.result, Ok(decision) if decision.outcome == DecisionOutcome::Allowed)
    }

    /// Returns the code of the response's status: 200, 400, 403, 413, 429 or 500.
    pub fn code(&self) -> u16 {
        match &self.result {
            Ok(decision) => match decision.outcome {
                DecisionOutcome::Allowed => 200,
                DecisionOutcome::Malformed(_) => 400,
                DecisionOutcome::Denied(_) => 403,
                DecisionOutcome::Undecided(_) => 500,
            },
            Err(refusal) => refusal.kind.code().0,
        }
    }

    /// Returns the message of the response's status, with one line for each finding; empty if the change is admitted.
    pub fn message(&self) -> String {
        let mut message = self.whole_message();
        if message.len() > LONGEST_MESSAGE {
            message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
            message.push_str("...");
        }
        message
    }

    fn whole_message(&self) -> String {
        match &self.result {
            Ok(decision) => match &decision.outcome {
                DecisionOutcome::Allowed => String::new(),
                DecisionOutcome::Malformed(faults) => {
                    lines(faults.iter().map(|fault| fault.message.as_str()))
                }
                DecisionOutcome::Denied(denials) => {
                    lines(denials.iter().map(|denial| denial.message.as_str()))
                }
                DecisionOutcome::Undecided(open) => {
                    lines(open.iter().map(|open| open.message.as_str()))
                }
            },
            Err(refusal) => refusal.message.clone(),
        }
    }
}

/// Joins messages as lines, and counts those over the limit.
fn lines<'m>(mut messages: impl Iterator<Item = &'m str>) -> String {
    let mut lines = messages
        .by_ref()
        .take(MOST_LINES)
        .collect::<Vec<_>>()
        .join("\n");
    let more = messages.count();
    if more > 0 {
        lines.push_str(&format!("\n... and {more} more"));
    }
    lines
}
