//! What `berth doctor` finds, as data; the leaders of the controllers, and the versions of the hub's Deployments.

use jiff::Timestamp;
use serde_json::Value;

use super::{Failure, Hub};
use crate::doctor::{
    self, ADDON_LOCK, Check, CheckResult, Deployment, Election, Facts, Finding, LOCK, Lease,
    PLACEMENT_LOCK, RemedyPart, Severity, WORK_LOCK, examine, silent_for, worst,
};
use crate::version::tag;

/// The namespace of the hub's components, unless a flag names another one.
pub const HUB_NAMESPACE: &str = berth_manifests::HUB_NAMESPACE;

/// The Leases of the elections, and which controllers hold them.
pub const LEADERS: [(&str, &str); 4] = [
    (LOCK, "registration"),
    (PLACEMENT_LOCK, "placement"),
    (WORK_LOCK, "work"),
    (ADDON_LOCK, "addon"),
];

/// What `berth doctor` finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The numbers of findings, as a sentence.
    pub summary: String,
    /// The version of Kubernetes, such as `1.36`, if the user may read it.
    pub kubernetes: Option<String>,
    /// All checks, in the order of the report.
    pub checks: Vec<CheckOfHealth>,
    /// All findings, the worst first.
    pub findings: Vec<FindingOfHealth>,
    /// The leaders, of the Leases that exist.
    pub leaders: Vec<Leader>,
    /// The Deployments in the namespace of the hub's components.
    pub components: Vec<ComponentOfHub>,
    /// What could not be read for leaders and components, and why.
    pub notes: Vec<String>,
}

/// A check, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOfHealth {
    /// Such as `webhook-service`.
    pub id: &'static str,
    /// The sentence that is true if the check passes.
    pub title: &'static str,
    /// The result.
    pub result: CheckResult,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingOfHealth {
    /// The check.
    pub check: &'static str,
    /// Its severity. `Passed` stands for a note.
    pub severity: CheckResult,
    /// Such as `service/a in b`.
    pub object: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: Vec<RemedyPart>,
}

/// The leader of a controller's election: its Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leader {
    /// The Lease.
    pub lease: String,
    /// The holder; empty if the Lease is free.
    pub holder: String,
    /// spec.renewTime
    pub renewed: Option<Timestamp>,
    /// spec.leaseDurationSeconds
    pub seconds: i32,
    /// How often the leader has changed.
    pub transitions: i32,
}

/// A Deployment of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentOfHub {
    /// Its name.
    pub name: String,
    /// The image of its first container.
    pub image: String,
    /// The tag of the image.
    pub version: Option<String>,
    /// Available replicas.
    pub available: i32,
    /// Wanted replicas.
    pub replicas: i32,
}

// === impl Hub ===

impl Hub {
    /// Runs the checks of `berth doctor` on the installation in this namespace. Nothing is changed. Without `tries`, no write is sent, also
    /// not as a dry run.
    ///
    /// # Errors
    /// The hub does not answer, does not know the user, or lets the user read nothing; or the API server is not a hub.
    pub async fn health(&self, namespace: &str, tries: bool) -> Result<Health, Failure> {
        let (facts, findings) = examine(&self.0, namespace, tries).await?;
        Ok(Health::of(&facts, &findings))
    }
}

// === impl Health ===

impl Health {
    fn of(facts: &Facts, findings: &[Finding]) -> Self {
        let checks = Check::ALL.into_iter().map(|check| CheckOfHealth {
            id: check.id(),
            title: check.title(),
            result: worst(findings, check),
        });
        let mut notes = Vec::new();
        let mut leaders = Vec::new();
        let elections = [
            &facts.election,
            &facts.placement_election,
            &facts.work_election,
            &facts.addon_election,
        ];
        for ((name, _), Election { lease, .. }) in LEADERS.into_iter().zip(elections) {
            match lease {
                Ok(Some(lease)) => leaders.push(Leader::of(name, lease)),
                Ok(None) => {}
                Err(unread) => notes.push(format!("the Lease {name} cannot be shown: {unread}")),
            }
        }
        let mut components = Vec::new();
        match &facts.deployments {
            Ok(deployments) => components.extend(deployments.iter().map(component)),
            Err(unread) => notes.push(format!("the Deployments cannot be shown: {unread}")),
        }
        Self {
            summary: doctor::summary(findings),
            kubernetes: (facts.answered.version).map(|(major, minor)| format!("{major}.{minor}")),
            checks: checks.collect(),
            findings: findings.iter().map(finding).collect(),
            leaders,
            components,
            notes,
        }
    }
}

fn finding(finding: &Finding) -> FindingOfHealth {
    FindingOfHealth {
        check: finding.check.id(),
        severity: match finding.severity {
            Severity::Fault => CheckResult::Fault,
            Severity::Warning => CheckResult::Warning,
            Severity::Unknown => CheckResult::Unknown,
            Severity::Skipped => CheckResult::Skipped,
            Severity::Note => CheckResult::Passed,
        },
        object: finding.object.as_ref().map(ToString::to_string),
        message: finding.message.clone(),
        remedy: doctor::parts(finding.remedy.as_deref().unwrap_or_default()),
    }
}

fn component(deployment: &Deployment) -> ComponentOfHub {
    let containers = &deployment.spec.template.spec.containers;
    let image = containers.first().and_then(|it| it.image.clone());
    let image = image.unwrap_or_default();
    ComponentOfHub {
        name: deployment.metadata.name.clone().unwrap_or_default(),
        version: tag(&image).map(str::to_owned),
        image,
        available: deployment.status.available_replicas.unwrap_or(0),
        replicas: deployment.spec.replicas.unwrap_or(1),
    }
}

// === impl Leader ===

impl Leader {
    /// Reads a Lease, as the hub sent it. `None`: it is malformed.
    pub fn read(name: &str, lease: &Value) -> Option<Self> {
        let lease: Lease = serde::Deserialize::deserialize(lease).ok()?;
        Some(Self::of(name, &lease))
    }

    fn of(name: &str, lease: &Lease) -> Self {
        let spec = &lease.spec;
        Self {
            lease: name.to_owned(),
            holder: spec.holder_identity.clone().unwrap_or_default(),
            renewed: spec.renew_time.as_ref().map(|it| it.0),
            seconds: spec.lease_duration_seconds.unwrap_or(15),
            transitions: spec.lease_transitions.unwrap_or(0),
        }
    }

    /// Returns true if the Lease was not renewed for too long, as `berth doctor` judges it.
    pub fn is_silent(&self, now: Timestamp) -> bool {
        let held = !self.holder.is_empty();
        silent_for(held, self.seconds, self.renewed, now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::testing::with;

    #[test]
    fn the_report_names_all_checks_and_who_leads() {
        let mut facts = with(|_| {});
        let health = Health::of(&facts, &doctor::check(&facts));
        assert_eq!(health.checks.len(), Check::ALL.len());
        let failed = |it: &&CheckOfHealth| it.result == CheckResult::Fault;
        assert_eq!(health.checks.iter().find(failed), None);
        assert_eq!(health.leaders.len(), LEADERS.len());
        assert!(health.notes.is_empty(), "{:?}", health.notes);
        // Without dry runs the check does not pass, and says why.
        facts.tries = false;
        facts.tried.clear();
        let health = Health::of(&facts, &doctor::check(&facts));
        let of_dry_runs = |it: &&CheckOfHealth| it.id == "dry-run";
        let result = health.checks.iter().find(of_dry_runs).unwrap().result;
        assert_eq!(result, CheckResult::Skipped);
    }

    #[test]
    fn a_leader_is_silent_as_the_doctor_judges_it() {
        let lease = |holder: &str| {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 60, "renewTime": "2026-01-01T00:00:00.000000Z"});
            Leader::read("l", &json!({"metadata": {"name": "l"}, "spec": spec})).unwrap()
        };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (holder, now, silent) in [
            ("a", "2026-01-01T00:02:00Z", false),
            ("a", "2026-01-01T00:02:01Z", true),
            ("", "2026-01-01T00:00:30Z", false),
            ("", "2026-01-01T00:00:31Z", true),
        ] {
            assert_eq!(lease(holder).is_silent(at(now)), silent, "{holder} {now}");
        }
        assert_eq!(Leader::read("l", &json!({"spec": 7})), None);
    }
}
