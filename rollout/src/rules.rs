//! A rollout strategy, checked once.

use std::fmt;

use berth_api::rollout::{MandatoryDecisionGroup, RolloutConfig, RolloutStrategy, RolloutType};
use berth_api::text::cut;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::duration::go_duration;

/// Upper bound on the characters of a value in a message.
const SHOWN: usize = 100;

/// A rollout strategy, ready to be applied.
#[derive(Clone, Debug)]
pub struct RolloutRules {
    pub(super) steps: Steps,
    /// How long a change may take; `None` is for ever.
    pub(super) deadline: Option<SignedDuration>,
    /// How long a cluster that succeeded keeps its place.
    pub(super) soak: SignedDuration,
    pub(super) max_failures: Share,
    mandatory: Vec<MandatoryDecisionGroup>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Steps {
    All,
    Progressive { concurrency: Share },
    PerGroup,
}

/// A part of a number of clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    Default,
    Number(usize),
    Percentage(f64),
}

/// A mistake in a rollout strategy. The message begins with OCM's, and names the field and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutError {
    /// There is no strategy of this type.
    Type(String),
    /// `progressDeadline` is not a duration.
    ProgressDeadline(String),
    /// `minSuccessTime` is not a duration.
    MinSuccessTime(String),
    /// `maxFailures` is a text that is not a percentage.
    MaxFailures(String),
    /// `maxConcurrency` is a text that is not a percentage.
    MaxConcurrency(String),
}

// === impl RolloutRules ===

impl RolloutRules {
    /// Checks a strategy. The settings of other types than its own are ignored.
    ///
    /// # Errors
    /// The first mistake, in OCM's order.
    pub fn new(strategy: &RolloutStrategy) -> Result<Self, RolloutError> {
        match &strategy.r#type {
            RolloutType::All => {
                let config = strategy.all.as_ref().map(|all| &all.config);
                let deadline = config.map_or("", |config| &config.progress_deadline);
                Ok(Self {
                    steps: Steps::All,
                    deadline: progress_deadline(deadline)?,
                    soak: SignedDuration::ZERO,
                    max_failures: Share::Default,
                    mandatory: Vec::new(),
                })
            }
            RolloutType::Progressive => {
                let settings = strategy.progressive.clone().unwrap_or_default();
                let mandatory = settings.mandatory_decision_groups;
                let rules = Self::limited(Steps::PerGroup, &settings.config, mandatory)?;
                let concurrency = Share::new(settings.max_concurrency.as_ref());
                let concurrency = concurrency.map_err(RolloutError::MaxConcurrency)?;
                let steps = Steps::Progressive { concurrency };
                Ok(Self { steps, ..rules })
            }
            RolloutType::ProgressivePerGroup => {
                let settings = strategy.progressive_per_group.clone().unwrap_or_default();
                let mandatory = settings.mandatory_decision_groups;
                Self::limited(Steps::PerGroup, &settings.config, mandatory)
            }
            RolloutType::Other(name) => Err(RolloutError::Type(name.clone())),
        }
    }

    fn limited(
        steps: Steps,
        config: &RolloutConfig,
        mandatory: Vec<MandatoryDecisionGroup>,
    ) -> Result<Self, RolloutError> {
        let deadline = progress_deadline(&config.progress_deadline)?;
        let max_failures = Share::new(config.max_failures.as_ref());
        Ok(Self {
            steps,
            deadline,
            soak: min_success_time(&config.min_success_time)?,
            max_failures: max_failures.map_err(RolloutError::MaxFailures)?,
            mandatory,
        })
    }

    /// Returns whether a change reaches the clusters in steps, and not all at once.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        !matches!(self.steps, Steps::All)
    }

    /// Returns whether a group is mandatory. The name of a mandatory group counts before its index.
    pub(super) fn is_mandatory(&self, index: i32, name: &str) -> bool {
        self.mandatory.iter().any(|it| {
            if it.group_name.is_empty() {
                it.group_index == index
            } else {
                it.group_name == name
            }
        })
    }
}

/// Reads a deadline: digits and a unit, which Go's other units may follow.
fn progress_deadline(text: &str) -> Result<Option<SignedDuration>, RolloutError> {
    if text.is_empty() || text == "None" {
        return Ok(None);
    }
    // The pattern of the CRD has no end, so that 1h30m passes it, and no fraction.
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_form = unit.len() < text.len() && unit.starts_with(['h', 'm', 's']);
    let deadline = go_duration(text).filter(|_| has_form);
    let mistake = || RolloutError::ProgressDeadline(text.to_owned());
    deadline.ok_or_else(mistake).map(Some)
}

fn min_success_time(text: &str) -> Result<SignedDuration, RolloutError> {
    if text.is_empty() {
        return Ok(SignedDuration::ZERO);
    }
    go_duration(text).ok_or_else(|| RolloutError::MinSuccessTime(text.to_owned()))
}

// === impl Share ===

impl Share {
    fn new(value: Option<&IntOrString>) -> Result<Self, String> {
        match value {
            None => Ok(Self::Default),
            Some(IntOrString::Int(number)) => {
                Ok(usize::try_from(*number).map_or(Self::Default, Self::Number))
            }
            Some(IntOrString::String(text)) => {
                let percentage = text.strip_suffix('%').and_then(|it| it.parse().ok());
                percentage.map(Self::Percentage).ok_or_else(|| text.clone())
            }
        }
    }

    /// Returns the part of a total, rounded up; the default if it is zero, below, or above the total.
    pub(super) fn of(self, total: usize, default: usize) -> usize {
        let part = match self {
            Self::Default => 0,
            Self::Number(number) => number,
            // The cast saturates on purpose: a percentage out of bounds means the default.
            Self::Percentage(percentage) => (percentage / 100.0 * total as f64).ceil() as usize,
        };
        if part == 0 || part > total {
            default
        } else {
            part
        }
    }
}

// === impl RolloutError ===

impl fmt::Display for RolloutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text| cut(text, SHOWN).0;
        let share = |field: &str, text, f: &mut fmt::Formatter<'_>| {
            let text = shown(text);
            write!(
                f,
                "failed to parse the provided {field}: '{text}' is an invalid maximum threshold value: string is not a percentage"
            )
        };
        match self {
            Self::Type(name) => write!(f, "incorrect rollout strategy type {}", shown(name)),
            Self::ProgressDeadline(text) => write!(
                f,
                "invalid timeout format: progressDeadline is '{}', and must be None or a duration such as 90s or 1h30m",
                shown(text)
            ),
            Self::MinSuccessTime(text) => write!(
                f,
                "minSuccessTime is '{}', and must be a duration such as 90s or 1h30m",
                shown(text)
            ),
            Self::MaxFailures(text) => share("maxFailures", text, f),
            Self::MaxConcurrency(text) => share("maxConcurrency", text, f),
        }
    }
}

impl std::error::Error for RolloutError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_total_is_that_of_ocm() {
        let text = |text: &str| IntOrString::String(text.to_owned());
        for (value, total, expected) in [
            (IntOrString::Int(50), 100, 50),
            (text("30%"), 100, 30),
            (text("33%"), 100, 33),
            (text("10%"), 6, 1),
            (text("50%"), 5, 3),
            (text("7.5%"), 100, 8),
            (IntOrString::Int(0), 100, 100),
            (IntOrString::Int(-1), 100, 100),
            (IntOrString::Int(101), 100, 100),
            (text("0%"), 100, 100),
            (text("-5%"), 100, 100),
            (text("200%"), 100, 100),
            (text("NaN%"), 100, 100),
            (text("inf%"), 100, 100),
            (text("50%"), 0, 0),
        ] {
            let share = Share::new(Some(&value)).expect("valid");
            assert_eq!(share.of(total, total), expected, "{value:?} of {total}");
        }
        let more = Share::Number(7);
        assert_eq!(more.of(6, 0), 0, "more failures than clusters: none");
    }
}
