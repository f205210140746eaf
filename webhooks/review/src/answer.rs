//! AdmissionReviews out: what came of a review, for logs and people, and as the answer on the wire.
//!
//! Documented at
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response>. The HTTP status
//! is always 200; verdicts, refusals included, are in the body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_rules::display::cut_bytes;
use berth_rules::object::Text;
use berth_rules::{Annotations, Answer, Answers, Decision, Denial, Outcome, Question};
use serde::Serialize;

use crate::Webhook;
use crate::envelope::Header;
use crate::salvage::salvage;

/// What came of a review.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    pub(crate) header: Header<'a>,
    /// Who wanted to do what; `None` when the review could not be read that far.
    pub subject: Option<Subject<'a>>,
    /// The questions the change raised, with their answers.
    pub answers: Vec<(Question, Answer)>,
    /// What each answer rests on, in the same order.
    pub evidence: Vec<Evidence>,
    /// The decision of the rules, or why they were not asked.
    pub result: Result<Decision, Refusal>,
}

/// Who wanted to do what.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// What the gate was asked to do about it.
    pub webhook: Webhook,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: Text<'a>,
    /// The name of the object.
    pub name: Text<'a>,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Text<'a>,
    /// The user name of the requester.
    pub user: Text<'a>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

/// What an answer rests on.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// In words: the role and binding that grant a permission, for example.
    pub because: Option<String>,
    /// How long it took to find out.
    pub took: std::time::Duration,
}

/// Why a review was not put to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of trouble it was.
    pub kind: RefusalKind,
    /// The sentence for the client.
    pub message: String,
}

/// The kinds of trouble: a closed list, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// 400: the review cannot be read, or is none that the webhook serves.
    Undecodable,
    /// 413: the body is larger than any review.
    TooLarge,
    /// 429: more reviews are being decided than the gate takes at once.
    TooBusy,
    /// 500: the review did not arrive in time.
    TooSlow,
}

/// A message has no more lines than these, and one that counts the others.
const MOST_LINES: usize = 21;

/// No message is longer.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// Longer names are cut in the details of an answer: no Kubernetes name has more bytes.
const LONGEST_NAME: usize = 253;

/// Seconds after which a client should try again what could not be decided.
const RETRY_AFTER_SECONDS: u32 = 1;

// === impl Subject ===

impl Subject<'_> {
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

// === impl Refusal ===

impl Refusal {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self {
            kind: RefusalKind::Undecodable,
            message: message.into(),
        }
    }
}

impl RefusalKind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Undecodable,
        Self::TooLarge,
        Self::TooBusy,
        Self::TooSlow,
    ];

    /// The value of metric labels and audit annotations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undecodable => "undecodable",
            Self::TooLarge => "too-large",
            Self::TooBusy => "too-busy",
            Self::TooSlow => "too-slow",
        }
    }

    /// `allowed`, `malformed`, `denied` or `undecided`, as the outcomes of decisions.
    pub fn outcome(self) -> &'static str {
        match self {
            Self::Undecodable | Self::TooLarge => "malformed",
            Self::TooBusy | Self::TooSlow => "undecided",
        }
    }

    fn code(self) -> (u16, &'static str) {
        match self {
            Self::Undecodable => (400, "BadRequest"),
            Self::TooLarge => (413, "RequestEntityTooLarge"),
            Self::TooBusy => (429, "TooManyRequests"),
            Self::TooSlow => (500, "InternalError"),
        }
    }
}

// === impl Verdict ===

impl<'a> Verdict<'a> {
    /// A review that the rules decided without a question.
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

    /// A review that was not put to the rules.
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

    /// A review that was not even read; its uid is saved if it is in `body`.
    pub fn unread(body: &'a [u8], refusal: Refusal) -> Self {
        Self::refused(salvage(body), None, refusal)
    }

    /// The verdict, independent of the review's bytes.
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

    /// The uid of the review; empty when it is not known.
    pub fn uid(&self) -> &str {
        self.header.uid.as_str()
    }

    /// `allowed`, `malformed`, `denied` or `undecided`.
    pub fn outcome(&self) -> &'static str {
        match &self.result {
            Ok(decision) => decision.outcome.as_str(),
            Err(refusal) => refusal.kind.outcome(),
        }
    }

    /// Why, as one of a closed list; empty for what was admitted.
    pub fn reason(&self) -> &'static str {
        match &self.result {
            Ok(Decision {
                outcome: Outcome::Undecided(_),
                ..
            }) => "unanswered",
            Ok(decision) => decision
                .outcome
                .reason()
                .map_or("", berth_rules::Reason::as_str),
            Err(refusal) => refusal.kind.as_str(),
        }
    }

    /// Whether it is admitted.
    pub fn is_allowed(&self) -> bool {
        matches!(&self.result, Ok(decision) if decision.outcome == Outcome::Allowed)
    }

    /// The code of the answer's status: 200, 400, 403, 413, 429 or 500.
    pub fn code(&self) -> u16 {
        match &self.result {
            Ok(decision) => match decision.outcome {
                Outcome::Allowed => 200,
                Outcome::Malformed(_) => 400,
                Outcome::Denied(_) => 403,
                Outcome::Undecided(_) => 500,
            },
            Err(refusal) => refusal.kind.code().0,
        }
    }

    /// The message of the answer's status, one line for each finding; empty for what was admitted.
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
                Outcome::Allowed => String::new(),
                Outcome::Malformed(faults) => {
                    lines(faults.iter().map(|fault| fault.message.as_str()))
                }
                Outcome::Denied(denials) => {
                    lines(denials.iter().map(|denial| denial.message.as_str()))
                }
                Outcome::Undecided(open) => lines(open.iter().map(|open| open.message.as_str())),
            },
            Err(refusal) => refusal.message.clone(),
        }
    }

    /// The answer, as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(512);
        let review = Review {
            kind: "AdmissionReview",
            api_version: self.header.api_version.as_str(),
            response: self.response(),
        };
        serde_json::to_writer(&mut json, &review)
            .expect("writing strings and numbers to memory cannot fail");
        json
    }

    fn response(&self) -> Response<'_> {
        let mut response = Response {
            uid: self.uid(),
            allowed: self.is_allowed(),
            status: self.status(),
            patch: None,
            patch_type: None,
            warnings: &[],
            audit_annotations: Annotations {
                outcome: self.outcome(),
                reason: None,
                requirements: None,
            },
        };
        match &self.result {
            Ok(decision) => {
                if !decision.patch.0.is_empty() && response.allowed {
                    let patch = serde_json::to_vec(&decision.patch)
                        .expect("a patch of strings is always JSON");
                    response.patch = Some(STANDARD.encode(patch));
                    response.patch_type = Some("JSONPatch");
                }
                response.warnings = &decision.warnings;
                response.audit_annotations = decision.annotations(Answers::new(&self.answers));
            }
            Err(refusal) => response.audit_annotations.reason = Some(refusal.kind.as_str()),
        }
        response
    }

    fn status(&self) -> Status<'_> {
        if self.is_allowed() {
            return Status {
                code: 200,
                ..Status::default()
            };
        }
        let mut details = None;
        let reason = match &self.result {
            Ok(Decision {
                outcome: Outcome::Denied(denials),
                ..
            }) => {
                details = denials.first().map(Details::of);
                "Forbidden"
            }
            Ok(Decision {
                outcome: Outcome::Undecided(_),
                ..
            }) => {
                details = Some(Details::retry());
                "InternalError"
            }
            Ok(_) => "BadRequest",
            Err(refusal) => {
                details = (refusal.kind.outcome() == "undecided").then(Details::retry);
                refusal.kind.code().1
            }
        };
        Status {
            status: Some("Failure"),
            message: self.message(),
            reason: Some(reason),
            details,
            code: self.code(),
        }
    }
}

/// Many lines help nobody.
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'v> {
    kind: &'static str,
    api_version: &'static str,
    response: Response<'v>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'v> {
    uid: &'v str,
    allowed: bool,
    status: Status<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'v [String],
    audit_annotations: Annotations,
}

#[derive(Default, Serialize)]
struct Status<'v> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'v>>,
    code: u16,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'v> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'v str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

impl<'v> Details<'v> {
    fn of(denial: &'v Denial) -> Self {
        Self {
            name: cut_bytes(&denial.name, LONGEST_NAME),
            group: denial.group,
            kind: denial.resource,
            retry_after_seconds: None,
        }
    }

    fn retry() -> Self {
        Self {
            retry_after_seconds: Some(RETRY_AFTER_SECONDS),
            ..Self::default()
        }
    }
}
