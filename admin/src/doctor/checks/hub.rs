//! The hub itself: its clock, and its controllers.

use jiff::{SignedDuration, Timestamp};

use crate::doctor::checks::crds;
use crate::doctor::facts::{Election, Facts};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation;
use crate::doctor::objects::LeaseSpec;
use crate::hub::Answered;

/// The largest difference of the clocks that is not reported.
const APART: SignedDuration = SignedDuration::from_secs(60);
/// The Lease may be free for this time during a handover.
const HANDOVER: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = clock(&facts.answered);
    if installation::runs_without_election(facts) {
        let why = "the Deployment runs without leader election (--disable-leader-election)";
        findings.push(Check::Controller.skipped(why));
        return findings;
    }
    let registration = ("controller", installation::LOCK);
    findings.extend(controller(facts, registration, &facts.election));
    if crds::PLACEMENT.exists(facts) {
        let placement = ("placement controller", installation::PLACEMENT_LOCK);
        findings.extend(controller(facts, placement, &facts.placement_election));
    }
    // A hub may have works without the controller of their replica sets, which OCM does not install by default. And it may have add-ons that
    // users create, without the controller of add-ons.
    for (part, named, election) in [
        (
            crds::WORK,
            ("work controller", installation::WORK_LOCK),
            &facts.work_election,
        ),
        (
            crds::ADDONS,
            ("add-on controller", installation::ADDON_LOCK),
            &facts.addon_election,
        ),
    ] {
        if part.exists(facts) && !matches!(election.lease, Ok(None)) {
            findings.extend(controller(facts, named, election));
        }
    }
    findings
}

fn clock(answered: &Answered) -> Vec<Finding> {
    const CHECK: Check = Check::Clock;
    let Some(its) = answered.its_time else {
        return vec![CHECK.note("the hub does not report its time")];
    };
    // The Date header has whole seconds, and is of a time between request and response.
    let (before, after) = answered.ours;
    let ahead = its.duration_since(after);
    let behind = before.duration_since(its) - SignedDuration::from_secs(1);
    let (by, which) = if ahead > behind {
        (ahead, "ahead of")
    } else {
        (behind, "behind")
    };
    if by <= APART {
        return Vec::new();
    }
    let message = format!(
        "the hub's clock is {} s {which} this machine's: the hub checks heartbeats and certificates by its own clock",
        by.as_secs()
    );
    vec![
        CHECK.warning(message).remedy(
            "set the clock that is wrong: timedatectl status, here and on the hub's machines",
        ),
    ]
}

/// `kind` and `lock`: the controller's name in messages, and its Lease.
fn controller(
    facts: &Facts,
    (kind, lock): (&str, &'static str),
    election: &Election,
) -> Vec<Finding> {
    const CHECK: Check = Check::Controller;
    let namespace = &facts.namespace;
    let object = FindingObject::within("lease", namespace, lock);
    let run = "run berth hub, or berth controller: kubectl apply -k manifests/server";
    let lease = match &election.lease {
        Ok(Some(lease)) => lease,
        Ok(None) => {
            let message = format!(
                "it does not exist, so no {kind} is active, unless one runs without leader election; or the installation is in \
                 another namespace (--namespace)"
            );
            return vec![CHECK.warning(message).of(object).remedy(run)];
        }
        Err(unread) => {
            let what = format!("whether a {kind} is active");
            return vec![CHECK.unknown(&what, unread).of(object)];
        }
    };
    let spec = &lease.spec;
    let hub_time = facts.answered.its_time.unwrap_or_else(|| facts.now());
    let silent = silence(spec, hub_time).filter(|_| !election.is_renewed);
    let Some(silent) = silent else {
        return Vec::new();
    };
    let message = match spec.holder_identity.as_deref() {
        None | Some("") => format!("it has no holder: no {kind} is active"),
        Some(holder) => format!(
            "its holder {holder:?} has not renewed it for {} s: no {kind} is active",
            silent.as_secs()
        ),
    };
    vec![
        CHECK
            .fault(message)
            .of(object)
            .remedy(format!("kubectl -n {namespace} get pods; {run}")),
    ]
}

/// Returns how long ago the Lease was renewed, if that is too long. The holder's clock may be wrong, so only a second read shows
/// whether the Lease is renewed.
pub(crate) fn silence(spec: &LeaseSpec, now: Timestamp) -> Option<SignedDuration> {
    let held = spec
        .holder_identity
        .as_deref()
        .is_some_and(|it| !it.is_empty());
    let seconds = spec.lease_duration_seconds.unwrap_or(15);
    let renewed = spec.renew_time.as_ref().map(|it| it.0);
    silent_for(held, seconds, renewed, now)
}

/// As [`silence`], by the fields of the Lease.
pub(crate) fn silent_for(
    held: bool,
    seconds: i32,
    renewed: Option<Timestamp>,
    now: Timestamp,
) -> Option<SignedDuration> {
    let duration = SignedDuration::from_secs(seconds.into());
    let silent = renewed.map_or(SignedDuration::MAX, |renewed| now.duration_since(renewed));
    let patience = if held { duration * 2 } else { HANDOVER };
    (silent > patience).then_some(silent)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;
    use crate::doctor::checks::testing::{NOW, told, with};

    #[test]
    fn clocks_may_differ_by_a_minute() {
        let seconds = SignedDuration::from_secs;
        // (sentence, the hub's clock before ours in seconds, how long the answer took, what is found)
        let table: [(&str, i64, i64, &[&str]); 6] = [
            ("the same", 0, 0, &[]),
            ("a minute", 60, 0, &[]),
            ("a slow answer", 0, 100, &[]),
            (
                "ahead",
                90,
                0,
                &["warning: the hub's clock is 90 s ahead of"],
            ),
            (
                "behind",
                -91,
                0,
                &["warning: the hub's clock is 90 s behind"],
            ),
            (
                "far behind, and slow",
                -3600,
                10,
                &["warning: the hub's clock is 3599 s behind"],
            ),
        ];
        for (sentence, ahead, took, expected) in table {
            let answered = Answered {
                its_time: Some(NOW + seconds(ahead)),
                ours: (NOW, NOW + seconds(took)),
                version: None,
            };
            assert_eq!(told(&clock(&answered), expected), expected, "{sentence}");
        }
    }

    #[test]
    fn somebody_must_hold_the_lease() {
        // (sentence, holder, seconds since it was renewed, what is found)
        let table: [(&str, &str, i64, &[&str]); 5] = [
            ("renewed just now", "pod_1", 2, &[]),
            ("a little late", "pod_1", 29, &[]),
            (
                "silent",
                "pod_1",
                31,
                &["fault: its holder \"pod_1\" has not renewed it for 31 s"],
            ),
            ("handed on", "", 10, &[]),
            ("left", "", 60, &["fault: it has no holder"]),
        ];
        for (sentence, holder, ago, expected) in table {
            let facts = with(|facts| {
                let lease = facts.election.lease.as_mut().unwrap().as_mut().unwrap();
                lease.spec = LeaseSpec {
                    holder_identity: Some(holder.to_owned()),
                    lease_duration_seconds: Some(15),
                    renew_time: Some(MicroTime(NOW - SignedDuration::from_secs(ago))),
                    lease_transitions: None,
                };
            });
            assert_eq!(told(&check(&facts), expected), expected, "{sentence}");
        }
        // The holder's clock may be wrong: a holder that renews the Lease is active.
        let mut facts = with(|facts| {
            let lease = facts.election.lease.as_mut().unwrap().as_mut().unwrap();
            lease.spec.renew_time = Some(MicroTime(NOW - SignedDuration::from_hours(1)));
        });
        assert_eq!(check(&facts).len(), 1);
        facts.election.is_renewed = true;
        assert_eq!(check(&facts), []);
        let facts = with(|facts| facts.election.lease = Ok(None));
        let expected = ["warning: it does not exist"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn who_is_not_elected_needs_no_lease() {
        let facts = with(|facts| {
            facts.election.lease = Ok(None);
            let container = &mut crate::doctor::checks::testing::container(facts);
            container.args = Some(vec![
                "hub".to_owned(),
                "--disable-leader-election".to_owned(),
            ]);
        });
        let expected = ["skipped: the Deployment runs without leader election"];
        assert_eq!(told(&check(&facts), &expected), expected);
    }

    #[test]
    fn other_controllers_are_checked_where_their_kinds_are_installed() {
        let without = |facts: &mut Facts, names: &[&str]| {
            for (name, crd) in &mut facts.crds {
                if names.iter().any(|it| name.starts_with(it)) {
                    *crd = Ok(None);
                }
            }
        };
        let missing = |facts: &mut Facts| facts.placement_election.lease = Ok(None);
        let expected = ["warning: it does not exist, so no placement controller is active"];
        assert_eq!(told(&check(&with(missing)), &expected), expected);
        let facts = with(|facts| {
            missing(facts);
            without(facts, &["placement", "addonplacement"]);
        });
        assert_eq!(check(&facts), []);

        let released = |facts: &mut Facts| {
            let lease = facts.work_election.lease.as_mut().unwrap();
            let spec = &mut lease.as_mut().unwrap().spec;
            spec.holder_identity = None;
            spec.renew_time = Some(MicroTime(NOW - SignedDuration::from_secs(60)));
        };
        let expected = ["fault: it has no holder: no work controller is active"];
        assert_eq!(told(&check(&with(released)), &expected), expected);
        let facts = with(|facts| {
            released(facts);
            without(facts, &["manifestwork"]);
        });
        assert_eq!(check(&facts), []);
        let absent = with(|facts| facts.work_election.lease = Ok(None));
        assert_eq!(check(&absent), []);

        let held = |facts: &mut Facts| facts.addon_election = facts.election.clone();
        assert_eq!(check(&with(held)), []);
        let released = |facts: &mut Facts| {
            held(facts);
            let lease = facts.addon_election.lease.as_mut().unwrap();
            let spec = &mut lease.as_mut().unwrap().spec;
            spec.renew_time = Some(MicroTime(NOW - SignedDuration::from_secs(60)));
        };
        let [found] = &check(&with(released))[..] else {
            panic!("one finding");
        };
        assert!(found.message.ends_with("no add-on controller is active"));
        let facts = with(|facts| {
            released(facts);
            without(
                facts,
                &[
                    "clustermanagementaddons",
                    "managedclusteraddons",
                    "addondeploy",
                    "addontemplates",
                ],
            );
        });
        assert_eq!(check(&facts), []);
    }
}
