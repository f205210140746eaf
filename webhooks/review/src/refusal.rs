//! Refusals of reviews before the rules: the review cannot be decoded, or the gate lacks memory or time.

use berth_rules::display::{Plain, cut_bytes};

/// The refusal of a review before the rules examined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of the refusal.
    pub kind: RefusalKind,
    /// The message for the client.
    pub message: String,
}

/// The kinds of refusals: a closed list, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// 400: the review cannot be decoded, or the webhook does not serve its kind of object.
    Undecodable,
    /// 413: the body is larger than any review.
    TooLarge,
    /// 429: too many reviews are being decided.
    TooBusy,
    /// 500: the review did not arrive in time.
    TooSlow,
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
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Undecodable,
        Self::TooLarge,
        Self::TooBusy,
        Self::TooSlow,
    ];

    /// Returns the value of metric labels and audit annotations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Undecodable => "undecodable",
            Self::TooLarge => "too-large",
            Self::TooBusy => "too-busy",
            Self::TooSlow => "too-slow",
        }
    }

    /// Returns `malformed` or `undecided`, like the outcome of a decision.
    pub fn outcome(self) -> &'static str {
        match self {
            Self::Undecodable | Self::TooLarge => "malformed",
            Self::TooBusy | Self::TooSlow => "undecided",
        }
    }

    /// Returns the code and the reason of the response's status.
    pub(crate) fn code(self) -> (u16, &'static str) {
        match self {
            Self::Undecodable => (400, "BadRequest"),
            Self::TooLarge => (413, "RequestEntityTooLarge"),
            Self::TooBusy => (429, "TooManyRequests"),
            Self::TooSlow => (500, "InternalError"),
        }
    }
}

/// Escapes and cuts the message of a decoder. It quotes input and contains keys, which may be long, and may contain control
/// characters.
pub(crate) fn one_line(message: &str) -> String {
    let beginning = cut_bytes(message, 700);
    let more = if beginning.len() < message.len() {
        "..."
    } else {
        ""
    };
    format!("{}{more}", Plain(beginning))
}
