//! What the facts say, for one screen.

use berth_agent_core::asked::Asked;
use berth_agent_core::held;
use berth_agent_core::identity::Identity;
use berth_agent_core::registered::HubStanding;
use berth_agent_core::registration::Held;
use berth_agent_core::rotation::Standing;
use berth_api::conditions::{FALSE, TRUE, UNKNOWN, cluster};
use berth_api::text::shorten;
use jiff::Timestamp;
use serde::Serialize;

use super::gather::{Facts, HubView};
use crate::join::objects::BOOTSTRAP_SECRET;
use crate::print::age;
use crate::work::applied::{AppliedWork, Hold};

/// Upper bound on the held works on the screen.
const SHOWN: usize = 20;
/// Upper bound on the bytes of an annotation's value, and of the name of a field manager.
const LONGEST: usize = 64;

/// How a cluster stands with its hub. Texts are for users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// The hub manages the cluster, and it is available.
    pub(super) is_managed: bool,
    /// The names of cluster and agent.
    pub(super) cluster: String,
    /// The URL of the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hub: Option<String>,
    pub(super) agent: String,
    pub(super) certificate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hub_says: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<String>,
    /// ManifestWorks that an admin of the cluster holds back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) held_works: Vec<HeldWork>,
    /// Why it is not known which ManifestWorks are held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) held_works_unknown: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// A ManifestWork that an admin of the cluster holds back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeldWork {
    pub(super) manifest_work: String,
    pub(super) applied_manifest_work: String,
    #[serde(flatten)]
    pub(super) hold: Hold,
}

// === impl HeldWork ===

impl HeldWork {
    fn of(work: &AppliedWork) -> Option<Self> {
        Some(Self {
            manifest_work: work.work.clone(),
            applied_manifest_work: work.name.clone(),
            hold: work.hold.clone()?,
        })
    }

    /// The line of the screen.
    fn line(&self, now: Timestamp) -> String {
        let Self {
            manifest_work,
            applied_manifest_work,
            hold,
        } = self;
        let since = match hold.since {
            Some(at) => format!(", {} ago", age(Some(at), now)),
            None => String::new(),
        };
        let by = match &hold.by {
            Some(by) => format!(", by field manager {}", shorten(by, LONGEST)),
            None => String::new(),
        };
        let value = shorten(&hold.value, LONGEST);
        format!("{manifest_work} ({value}{since}{by}), appliedmanifestwork/{applied_manifest_work}")
    }
}

// === impl Report ===

impl Report {
    /// Makes the report.
    pub(super) fn of(facts: &Facts, now: Timestamp) -> Self {
        let name = |key| facts.secret.as_ref().and_then(|it| held::name(it, key));
        let (own, agent) = (name(held::CLUSTER_NAME), name(held::AGENT_NAME));
        let (certificate, is_usable) = certificate(facts, now);
        let mut report = Self {
            cluster: match (own, agent) {
                (Some(own), Some(agent)) => format!("{own}, agent {agent}"),
                (Some(own), None) => own.to_owned(),
                (None, _) => "(not registered)".to_owned(),
            },
            hub: facts.hub.as_ref().map(|it| it.server.clone()),
            agent: match &facts.stopped {
                Some(why) => format!("does not run: {why}"),
                None => "runs".to_owned(),
            },
            certificate,
            ..Self::default()
        };
        match &facts.works {
            Ok(works) => report.held_works = works.iter().filter_map(HeldWork::of).collect(),
            Err(error) => report.held_works_unknown = Some(error.to_string()),
        }
        if let Some(why) = &facts.stopped {
            report.remedy = Some(format!("see why the agent does not run: {why}"));
        } else if facts.secret.is_none() && !facts.has_bootstrap && facts.warning.is_none() {
            report.remedy = Some(format!(
                "this cluster has not joined a hub: there is no Secret {}/{BOOTSTRAP_SECRET}; on the hub, run `berth get token`, and \
                 here the command that it prints",
                facts.namespace
            ));
        }
        if let (Some(hub), Some(own)) = (&facts.hub, own) {
            report.hub_view(hub, own, is_usable, now);
        }
        if !report.is_managed
            && let Some(warning) = &facts.warning
        {
            let at = age(warning.at, now);
            report.waits_for = Some(format!("{} ({at} ago): {}", warning.reason, warning.note));
            report.remedy.get_or_insert_with(|| warning.note.clone());
        }
        if !report.is_managed && report.remedy.is_none() {
            report.remedy.clone_from(&report.hub_says);
        }
        report
    }

    /// The lines of the screen.
    pub(super) fn rows(&self, now: Timestamp) -> impl Iterator<Item = (&'static str, String)> {
        let rows = [
            ("Cluster", Some(&self.cluster)),
            ("Hub", self.hub.as_ref()),
            ("Agent", Some(&self.agent)),
            ("Certificate", Some(&self.certificate)),
            ("Hub says", self.hub_says.as_ref()),
            ("Last warning", self.waits_for.as_ref()),
        ];
        let rows = rows.into_iter();
        let rows = rows.filter_map(|(what, text)| Some((what, text?.clone())));
        let unknown = self.held_works_unknown.as_ref();
        let unknown = unknown.map(|why| ("Held works", format!("not known: {why}")));
        let held = self.held_works.iter().take(SHOWN).enumerate();
        let held = held.map(move |(at, work)| {
            let what = if at == 0 { "Held works" } else { "" };
            (what, work.line(now))
        });
        let more = self.held_works.len().saturating_sub(SHOWN);
        let more = (more > 0).then(|| ("", format!("and {more} more: -o yaml shows all")));
        rows.chain(unknown).chain(held).chain(more)
    }

    fn hub_view(&mut self, hub: &HubView, own: &str, is_usable: bool, now: Timestamp) {
        let standing = match &hub.cluster {
            Ok(cluster) => HubStanding::of(cluster.as_ref()),
            Err(error) => {
                HubStanding::of_failure(error.code().unwrap_or_default(), &error.to_string())
            }
        };
        let message = standing.message(own).to_string();
        let Ok(Some(stored)) = &hub.cluster else {
            // The agent then asks for another certificate, and its own warning says what that waits for.
            if standing != HubStanding::Refused {
                self.remedy.get_or_insert_with(|| message.clone());
            }
            self.hub_says = Some(message);
            return;
        };
        let available = stored.condition(cluster::AVAILABLE);
        let words = [
            if stored.is_accepted {
                "accepted"
            } else {
                "not accepted"
            },
            if stored.has(cluster::JOINED, TRUE) {
                "joined"
            } else {
                "not joined"
            },
            match available.map(|it| it.status.as_str()) {
                Some(TRUE) => "available",
                Some(FALSE) => "not available",
                Some(UNKNOWN) => "not heard of",
                _ => "not reported",
            },
        ];
        let lease = match hub.renewed {
            Some(at) => format!("; Lease renewed {} ago", age(Some(at), now)),
            None => String::new(),
        };
        self.hub_says = Some(words.join(", ") + &lease);
        let is_available = available.is_some_and(|it| it.status == TRUE);
        self.is_managed = standing == HubStanding::Managed && is_available && is_usable;
        if standing != HubStanding::Managed {
            self.remedy.get_or_insert(message);
        } else if let Some(condition) = available.filter(|it| it.status != TRUE) {
            self.remedy.get_or_insert(match condition.status.as_str() {
                UNKNOWN => {
                    "the hub does not hear of the agent: check that it runs, and its log".to_owned()
                }
                _ => format!(
                    "check the API server of this cluster: {}",
                    condition.message
                ),
            });
        }
    }
}

/// What the certificate is worth, and whether it can be used.
fn certificate(facts: &Facts, now: Timestamp) -> (String, bool) {
    let Some(secret) = &facts.secret else {
        return ("there is none yet".to_owned(), false);
    };
    let name = |key| held::name(secret, key).unwrap_or_default();
    let identity = Identity::new(name(held::CLUSTER_NAME), name(held::AGENT_NAME));
    let identity = match identity {
        Ok(identity) => identity,
        Err(error) => return (format!("cannot be judged: {error}"), false),
    };
    let judged = held::judge(secret, &Asked::of_cluster(&identity, None), now);
    let until = judged
        .not_after
        .map(|it| it.to_string())
        .unwrap_or_default();
    let in_time = |at: Timestamp| age(Some(now), at);
    match judged.held {
        Held::Unusable(fault) => (fault.to_string(), false),
        Held::Certificate(Standing::Expired) => (format!("has expired at {until}"), false),
        Held::Certificate(Standing::NotYetValid) => (
            "is not valid yet: the clocks of hub and cluster differ".to_owned(),
            false,
        ),
        Held::Certificate(Standing::Due) => (format!("valid until {until}, renewal is due"), true),
        Held::Certificate(Standing::Fresh { renew_at }) => (
            format!("valid until {until}, renewed in {}", in_time(renew_at)),
            true,
        ),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
