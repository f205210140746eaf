//! Why a request was not put to the rules: it cannot be read, or there is no room or time for it.

use berth_rules::display::{Plain, cut_bytes};

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

    /// The code of the response's status, and its reason.
    pub(crate) fn code(self) -> (u16, &'static str) {
        match self {
            Self::Undecodable => (400, "BadRequest"),
            Self::TooLarge => (413, "RequestEntityTooLarge"),
            Self::TooBusy => (429, "TooManyRequests"),
            Self::TooSlow => (500, "InternalError"),
        }
    }
}

/// Decoders quote what they stumble over, and name the keys on the way there as they are: that may be long, and may hold
/// what a terminal would obey.
pub(crate) fn one_line(message: &str) -> String {
    let beginning = cut_bytes(message, 700);
    let more = if beginning.len() < message.len() {
        "..."
    } else {
        ""
    };
    format!("{}{more}", Plain(beginning))
}
