//! The condition `ManagedClusterConditionAvailable`: does the managed cluster's API server work?
//!
//! The agent asks `/livez`, and `/healthz` where the API server answers 403 or 404. A failure is reported once it has lasted for 20
//! seconds, as by OCM's agent: until then the probe is repeated every 5 seconds, and the condition keeps its value.

use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::conditions::{self, FALSE, TRUE, cluster};
use berth_api::text::{cut_bytes, is_plain};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// How long a failure lasts before it is reported.
const GRACE: Duration = Duration::from_secs(20);

/// The time between probes until then.
const REPEAT: Duration = Duration::from_secs(5);

/// The most bytes of an error in the message of the condition.
const LONGEST_ERROR: usize = 512;

/// The response to a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Status 200.
    Ok,
    /// Anything else.
    Failed {
        /// The status; 0 without a response.
        code: u16,
        /// What the client says about it.
        error: String,
    },
}

/// How long the API server has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    failing_since: Option<Instant>,
}

/// What follows from a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The condition to report; `None` keeps what is reported.
    pub condition: Option<Condition>,
    /// Probe again after this time, if that is sooner than the period.
    pub again: Option<Duration>,
}

/// Returns true if the agent should ask `/healthz` after `/livez` was answered with this status.
#[must_use]
pub fn falls_back_to_healthz(livez: u16) -> bool {
    matches!(livez, 403 | 404)
}

// === impl Availability ===

impl Availability {
    /// Judges a probe. `reported` is the condition as the hub has it.
    pub fn judge(&mut self, health: &Health, reported: Option<&Condition>, now: Now) -> Judgement {
        match health {
            Health::Ok => {
                self.failing_since = None;
                Judgement {
                    condition: changed(
                        reported,
                        TRUE,
                        "ManagedClusterAvailable",
                        "Managed cluster is available".to_owned(),
                        now,
                    ),
                    again: None,
                }
            }
            Health::Failed { code, error } => {
                let since = *self.failing_since.get_or_insert(now.instant);
                if now.instant.saturating_duration_since(since) < GRACE {
                    return Judgement {
                        condition: None,
                        again: Some(REPEAT),
                    };
                }
                let start = format!("The kube-apiserver is not ok, status code: {code}, ");
                // An error may name something that differs each time, such as a port. Only another status is news.
                let is_known =
                    reported.is_some_and(|it| it.status == FALSE && it.message.starts_with(&start));
                let message = start + &shown(error);
                Judgement {
                    condition: changed(
                        reported,
                        FALSE,
                        "ManagedClusterKubeAPIServerUnavailable",
                        message,
                        now,
                    )
                    .filter(|_| !is_known),
                    again: None,
                }
            }
        }
    }
}

fn changed(
    reported: Option<&Condition>,
    status: &str,
    reason: &str,
    message: String,
    now: Now,
) -> Option<Condition> {
    let is_same = |it: &Condition| {
        (it.status.as_str(), it.reason.as_str(), &it.message) == (status, reason, &message)
    };
    if reported.is_some_and(is_same) {
        return None;
    }
    Some(conditions::new(
        cluster::AVAILABLE,
        (status, reason),
        message,
        now.wall,
    ))
}

/// The error as it may stand in a condition: bounded, without control characters.
fn shown(error: &str) -> String {
    let mut shown: String = error
        .chars()
        .map(|c| if is_plain(c) { c } else { ' ' })
        .collect();
    if shown.len() > LONGEST_ERROR {
        shown.truncate(cut_bytes(&shown, LONGEST_ERROR).len());
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn down(code: u16, error: &str) -> Health {
        Health::Failed {
            code,
            error: error.to_owned(),
        }
    }

    /// Times are seconds after the start.
    struct Bench {
        start: Instant,
        availability: Availability,
        reported: Option<Condition>,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                start: Instant::now(),
                availability: Availability::default(),
                reported: None,
            }
        }

        /// Judges, and reports: the status now on the hub, if it was written; and when to probe again.
        fn at(&mut self, seconds: u64, health: &Health) -> (Option<String>, Option<Duration>) {
            let now = Now {
                instant: self.start + Duration::from_secs(seconds),
                wall: Timestamp::UNIX_EPOCH + Duration::from_secs(seconds),
            };
            let Judgement { condition, again } =
                self.availability.judge(health, self.reported.as_ref(), now);
            let written = condition
                .as_ref()
                .map(|it| format!("{}: {}", it.status, it.message));
            self.reported = condition.or(self.reported.take());
            (written, again)
        }
    }

    #[test]
    fn a_healthy_cluster_is_reported_once() {
        let mut bench = Bench::new();
        let (written, again) = bench.at(0, &Health::Ok);
        assert_eq!(
            written.as_deref(),
            Some("True: Managed cluster is available")
        );
        assert_eq!(again, None);
        assert_eq!(bench.at(60, &Health::Ok), (None, None));
        let reported = bench.reported.unwrap();
        assert_eq!(
            (reported.type_.as_str(), reported.reason.as_str()),
            (
                "ManagedClusterConditionAvailable",
                "ManagedClusterAvailable"
            )
        );
    }

    #[test]
    fn a_short_failure_is_not_reported_and_probed_again_soon() {
        let mut bench = Bench::new();
        bench.at(0, &Health::Ok);
        for seconds in [60, 65, 70, 75, 79] {
            assert_eq!(
                bench.at(seconds, &down(500, "")),
                (None, Some(REPEAT)),
                "{seconds}"
            );
        }
        assert_eq!(bench.at(79, &Health::Ok), (None, None));
        // The time counts from the first failure after a success.
        assert_eq!(bench.at(81, &down(500, "")), (None, Some(REPEAT)));
    }

    #[test]
    fn a_failure_that_lasts_is_reported_once_for_each_status() {
        let mut bench = Bench::new();
        bench.at(0, &Health::Ok);
        bench.at(60, &down(0, "dial tcp 10.0.0.1:40001: refused"));
        let (written, again) = bench.at(80, &down(0, "dial tcp 10.0.0.1:40002: refused"));
        assert_eq!(
            written.as_deref(),
            Some(
                "False: The kube-apiserver is not ok, status code: 0, dial tcp 10.0.0.1:40002: refused"
            )
        );
        assert_eq!(again, None);
        // Another port is no news; another status is.
        assert_eq!(
            bench.at(140, &down(0, "dial tcp 10.0.0.1:40003: refused")),
            (None, None)
        );
        let (written, _) = bench.at(200, &down(500, "etcd failed"));
        assert_eq!(
            written.as_deref(),
            Some("False: The kube-apiserver is not ok, status code: 500, etcd failed")
        );
        let (written, _) = bench.at(260, &Health::Ok);
        assert_eq!(
            written.as_deref(),
            Some("True: Managed cluster is available")
        );
    }

    #[test]
    fn an_error_is_cut_and_shown_without_control_characters() {
        let mut bench = Bench::new();
        let error = format!("a\u{1b}[31m\n{}", "ä".repeat(1000));
        bench.at(0, &down(500, &error));
        let (written, _) = bench.at(20, &down(500, &error));
        let written = written.unwrap();
        assert!(written.len() < 600, "{written}");
        assert!(written.chars().all(is_plain), "{written:?}");
    }

    #[test]
    fn only_403_and_404_lead_to_healthz() {
        let asked: Vec<u16> = [0, 200, 401, 403, 404, 429, 500, 503]
            .into_iter()
            .filter(|it| falls_back_to_healthz(*it))
            .collect();
        assert_eq!(asked, [403, 404]);
    }
}
