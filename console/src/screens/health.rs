//! The screen Health. A plain function of the last run of the checks and of the Leases that are followed.

use std::sync::Arc;

use berth_admin::answers::{self, FindingOfHealth, LEADERS, Leader, RemedyPart};
use jiff::Timestamp;

use crate::answers::{
    CheckAnswer, CheckResult, ComponentAnswer, FindingAnswer, HealthAnswer, LeaderAnswer,
    RemedyAnswer, Text,
};
use crate::health::{Looked, State};
use crate::live::LeaseOfLeader;

/// Upper bound on the findings that are shown.
const MOST_FINDINGS: usize = 200;

/// Upper bound on the Deployments that are shown.
const MOST_COMPONENTS: usize = 50;

/// What else is known.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    /// The leaders now; None: the Leases are not followed.
    pub(crate) leaders: Option<Vec<Arc<LeaseOfLeader>>>,
    /// Deployments and registrations are followed.
    pub(crate) followed: bool,
    /// Dry runs of writes are sent.
    pub(crate) tries: bool,
    pub(crate) now: Timestamp,
}

/// Returns the answer of a run.
pub(crate) fn health(looked: &Looked, state: &State, around: &Around) -> HealthAnswer {
    let health = &looked.health;
    let mut notes: Vec<Text> = health.notes.iter().map(|it| it.as_str().into()).collect();
    let leaders = match &around.leaders {
        Some(leases) => {
            let leaders: Vec<&Leader> = leases.iter().map(|it| &it.0).collect();
            shown(&leaders, around.now)
        }
        None => {
            if !health.leaders.is_empty() {
                notes.push(
                    "The leaders are shown as of the last look: you may not watch the Leases."
                        .into(),
                );
            }
            // What was not renewed since the last look is not late for that.
            let leaders: Vec<&Leader> = health.leaders.iter().collect();
            shown(&leaders, looked.at)
        }
    };
    let components = health.components.iter().take(MOST_COMPONENTS);
    HealthAnswer {
        looked: looked.at,
        milliseconds: u64::try_from(looked.took.as_millis()).unwrap_or(u64::MAX),
        running: state.running,
        followed: around.followed,
        dry_runs: around.tries,
        failed: state.failed.as_ref().map(|it| it.message.as_str().into()),
        summary: health.summary.as_str().into(),
        checks: health.checks.iter().map(check).collect(),
        findings: health
            .findings
            .iter()
            .take(MOST_FINDINGS)
            .map(finding)
            .collect(),
        more: health.findings.len().saturating_sub(MOST_FINDINGS),
        leaders,
        components: components.map(component).collect(),
        kubernetes: health.kubernetes.as_deref().map(Text::line),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        notes,
    }
}

/// The leaders, in the order of [`LEADERS`].
fn shown(leaders: &[&Leader], now: Timestamp) -> Vec<LeaderAnswer> {
    let each = LEADERS.iter().filter_map(|(lease, controller)| {
        let leader = leaders.iter().find(|it| it.lease == *lease)?;
        Some(LeaderAnswer {
            controller: (*controller).to_owned(),
            lease: (*lease).to_owned(),
            holder: Text::line(&leader.holder),
            renewed: leader.renewed,
            late: leader.is_silent(now),
            transitions: leader.transitions,
        })
    });
    each.collect()
}

fn check(check: &answers::CheckOfHealth) -> CheckAnswer {
    CheckAnswer {
        id: check.id.to_owned(),
        title: check.title.to_owned(),
        result: check.result.into(),
    }
}

fn finding(finding: &FindingOfHealth) -> FindingAnswer {
    let remedy = finding.remedy.iter().map(|part| match part {
        RemedyPart::Words(words) => RemedyAnswer {
            text: words.as_str().into(),
            command: false,
        },
        RemedyPart::Command(command) => RemedyAnswer {
            text: command.as_str().into(),
            command: true,
        },
    });
    FindingAnswer {
        check: finding.check.to_owned(),
        severity: finding.severity.into(),
        object: finding.object.as_deref().map(Text::line),
        message: finding.message.as_str().into(),
        remedy: remedy.collect(),
    }
}

fn component(component: &answers::ComponentOfHub) -> ComponentAnswer {
    ComponentAnswer {
        name: Text::line(&component.name),
        version: component.version.as_deref().map(Text::line),
        image: Text::line(&component.image),
        available: component.available,
        replicas: component.replicas,
    }
}

// === impl CheckResult ===

impl From<answers::CheckResult> for CheckResult {
    fn from(result: answers::CheckResult) -> Self {
        match result {
            answers::CheckResult::Passed => Self::Passed,
            answers::CheckResult::Fault => Self::Fault,
            answers::CheckResult::Warning => Self::Warning,
            answers::CheckResult::Unknown => Self::Unknown,
            answers::CheckResult::Skipped => Self::Skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use berth_admin::answers::Health;

    use super::*;

    fn leader(holder: &str, renewed: i64) -> Leader {
        Leader {
            lease: LEADERS[1].0.to_owned(),
            holder: holder.to_owned(),
            renewed: Some(Timestamp::from_second(renewed).unwrap()),
            seconds: 15,
            transitions: 1,
        }
    }

    fn looked(health: Health) -> Looked {
        Looked {
            at: Timestamp::from_second(100).unwrap(),
            took: Duration::from_millis(1500),
            health,
        }
    }

    fn around(leaders: Option<Leader>, now: i64) -> Around {
        Around {
            leaders: leaders.map(|it| vec![Arc::new(LeaseOfLeader(it))]),
            followed: true,
            tries: true,
            now: Timestamp::from_second(now).unwrap(),
        }
    }

    #[test]
    fn leaders_are_those_of_now_or_those_of_the_look() {
        let looked = looked(Health {
            leaders: vec![leader("old", 95)],
            ..Health::default()
        });
        for (leaders, now, holder, late, notes) in [
            (Some(leader("new", 990)), 1000, "new", false, 0),
            (Some(leader("new", 900)), 1000, "new", true, 0),
            (None, 1000, "old", false, 1),
        ] {
            let answer = health(&looked, &State::default(), &around(leaders, now));
            let [shown] = answer.leaders.as_slice() else {
                panic!("{answer:?}");
            };
            let found = (shown.holder.as_str(), shown.late, answer.notes.len());
            assert_eq!(found, (holder, late, notes));
            assert_eq!(shown.controller, "placement");
            assert_eq!(answer.milliseconds, 1500);
        }
    }

    #[test]
    fn what_is_shown_is_escaped_and_bounded() {
        let finding = FindingOfHealth {
            check: "clock",
            severity: answers::CheckResult::Fault,
            object: Some("service/a\u{202e} in b".to_owned()),
            message: "m".to_owned(),
            remedy: vec![
                RemedyPart::Words("run ".to_owned()),
                RemedyPart::Command("kubectl x".to_owned()),
            ],
        };
        let looked = looked(Health {
            findings: vec![finding; MOST_FINDINGS + 2],
            ..Health::default()
        });
        let answer = health(&looked, &State::default(), &around(None, 1000));
        assert_eq!((answer.findings.len(), answer.more), (MOST_FINDINGS, 2));
        let shown = &answer.findings[0];
        assert_eq!(
            shown.object.as_ref().unwrap().as_str(),
            r"service/a\u{202e} in b"
        );
        let commands: Vec<_> = shown.remedy.iter().map(|it| it.command).collect();
        assert_eq!(commands, [false, true]);
    }
}
