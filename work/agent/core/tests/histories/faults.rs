//! What may become of a request.

use std::time::Duration;

use berth_work_agent_core::NoAnswer;
use berth_work_core::Refusal;
use fastrand::Rng;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// 429: the API server is busy.
    Busy,
    /// 503: nobody responds for an aggregated API, or for the API server.
    Away,
    /// 500: an admission webhook fails, for example.
    Broken,
    /// 409: other clients are faster.
    Conflict,
    /// 403: nobody may do this now.
    Forbidden,
    /// The connection is lost before the request is sent.
    Cut,
    /// Nothing may be sent now.
    Unsent,
    /// It is done, and the connection is lost before the response.
    Lost,
}

impl Fault {
    /// `apart`: refusals are told apart.
    pub(crate) fn by_chance(rng: &mut Rng, may_fail: bool, apart: bool) -> Self {
        if !may_fail {
            return Self::None;
        }
        let chance = rng.u8(..if apart { 24 } else { 12 });
        match (apart, chance) {
            (_, 0) => Self::Lost,
            (false, 1) if rng.bool() => Self::Busy,
            (_, 1) => Self::Cut,
            (true, 2) => Self::Busy,
            (true, 3) => Self::Away,
            (true, 4) => Self::Broken,
            (true, 5) => Self::Conflict,
            (true, 6) => Self::Forbidden,
            (true, 7) if rng.bool() => Self::Unsent,
            _ => Self::None,
        }
    }

    /// Returns true if the request is carried out.
    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::None | Self::Lost)
    }

    /// What the agent makes of it, if there is no usable response.
    pub(crate) fn nothing(self) -> Option<NoAnswer> {
        let error = match self {
            Self::None | Self::Broken | Self::Conflict | Self::Forbidden => return None,
            Self::Busy => "429 TooManyRequests",
            Self::Away => "503 ServiceUnavailable",
            Self::Cut | Self::Lost => "no response",
            Self::Unsent => "not sent",
        };
        Some(NoAnswer {
            error: error.to_owned(),
            is_silent: !matches!(self, Self::Busy | Self::Away),
            is_unsent: self == Self::Unsent,
        })
    }

    /// The refusal of a request about an object, if it is one.
    pub(crate) fn refusal(self) -> Option<Refusal> {
        let (code, reason, message) = match self {
            Self::Broken => (
                500,
                "InternalError",
                "failed calling webhook \"example.com\"",
            ),
            Self::Conflict => (409, "Conflict", "the object has been modified"),
            Self::Forbidden => (403, "Forbidden", "user cannot patch resource, not now"),
            _ => return None,
        };
        Some(Refusal {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            causes: Vec::new(),
        })
    }

    /// How long the key waits. A busy API server may say so.
    pub(crate) fn wait(self, rng: &mut Rng) -> Duration {
        let seconds = match self {
            Self::Busy if rng.bool() => 30,
            _ => 1,
        };
        Duration::from_secs(seconds)
    }
}
