//! The screen Fleet. A plain function of what is followed.

use std::collections::BTreeMap;

use berth_api::path::segment;
use jiff::{SignedDuration, Timestamp};

use crate::answers::{
    Counts, FleetAnswer, FleetSet, Need, NeedSeverity, PlacementState, RolloutCondition, Share,
    State, Text, WorkCondition,
};
use crate::fact::ClusterFact;
use crate::live::{Objects, PlacementFact, RolloutFact, WorkFact};
use crate::search::Version;
use crate::table::Table;

/// Upper bound on the sentences.
const MOST_NEEDS: usize = 10;

/// Upper bound on the sentences about one kind of need. Further ones become one sentence.
const MOST_ALIKE: usize = 3;

/// Upper bound on the sets that are shown.
const MOST_SETS: usize = 50;

/// Upper bound on the versions, and on the regions that are shown.
const MOST_SHARES: usize = 12;

/// A step of a cluster's life that takes longer needs a person.
const LONG: SignedDuration = SignedDuration::from_mins(15);

const REGION: &str = "region.open-cluster-management.io";

/// Needs of one kind.
struct Alike {
    severity: NeedSeverity,
    /// Continues "3 more clusters".
    words: &'static str,
    /// The page of all of them.
    link: &'static str,
    needs: Vec<Need>,
}

/// What is followed besides clusters. None: the user may not list it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Others<'a> {
    pub(crate) placements: Option<&'a Objects<PlacementFact>>,
    pub(crate) works: Option<&'a Objects<WorkFact>>,
    pub(crate) rollouts: Option<&'a Objects<RolloutFact>>,
}

/// Makes the answer.
pub(crate) fn fleet(
    table: &Table,
    others: Others<'_>,
    notes: Vec<Text>,
    now: Timestamp,
) -> FleetAnswer {
    let mut counts = Counts::default();
    let mut cordoned = 0;
    let mut sets: BTreeMap<(bool, &str), Counts> = BTreeMap::new();
    let mut versions: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let mut regions: BTreeMap<&str, usize> = BTreeMap::new();
    for fact in table.iter() {
        *counts.of(fact.row.state) += 1;
        cordoned += usize::from(fact.row.cordoned);
        // Those without a set come last.
        let set = sets.entry((fact.set.is_empty(), &fact.set)).or_default();
        *set.of(fact.row.state) += 1;
        if let Some(minor) = fact.version.as_ref().and_then(Version::minor) {
            *versions.entry(minor).or_default() += 1;
        }
        let region = fact.claims.iter().find(|(name, _)| &**name == REGION);
        if let Some((_, region)) = region {
            *regions.entry(region).or_default() += 1;
        }
    }
    let (needs, more) = needs(table, others, now);
    let more_sets = sets.len().saturating_sub(MOST_SETS);
    let sets = sets.into_iter().take(MOST_SETS);
    FleetAnswer {
        total: table.len(),
        counts,
        cordoned,
        needs,
        more,
        sets: sets
            .map(|((_, name), counts)| FleetSet {
                name: Text::line(name),
                total: counts.sum(),
                counts,
            })
            .collect(),
        more_sets,
        versions: (versions.into_iter().rev().take(MOST_SHARES))
            .map(|((major, minor), clusters)| Share {
                name: format!("{major}.{minor}").into(),
                query: format!("version:{major}.{minor}").into(),
                clusters,
            })
            .collect(),
        regions: shares_of_regions(regions),
        notes,
    }
}

fn shares_of_regions(regions: BTreeMap<&str, usize>) -> Vec<Share> {
    let mut regions: Vec<_> = regions.into_iter().collect();
    regions.sort_unstable_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
    let regions = regions.into_iter().take(MOST_SHARES);
    regions
        .map(|(region, clusters)| Share {
            name: Text::line(region),
            query: Text::line(&format!("claim:{REGION}=\"{region}\"")),
            clusters,
        })
        .collect()
}

/// What needs a person, the worst first, and the number of what is left out.
fn needs(table: &Table, others: Others<'_>, now: Timestamp) -> (Vec<Need>, usize) {
    let mut silent = alike(NeedSeverity::Broken, "are unknown", "/clusters?q=unknown");
    let mut broken = alike(
        NeedSeverity::Broken,
        "are unavailable",
        "/clusters?q=unavailable",
    );
    let mut stuck = alike(
        NeedSeverity::Broken,
        "are being deleted for long",
        "/clusters?q=deleting",
    );
    let mut wrong = alike(NeedSeverity::Broken, "cannot be evaluated", "/placements");
    let mut short = alike(
        NeedSeverity::Broken,
        "select too few clusters",
        "/placements",
    );
    let mut rollouts = alike(NeedSeverity::Broken, "have failed", "/works");
    let mut works = alike(NeedSeverity::Broken, "are not as prescribed", "/works");
    let mut approvals = alike(NeedSeverity::Waits, "wait for an approval", "/works");
    let mut pending = alike(NeedSeverity::Waits, "wait to be accepted", "/requests");
    let mut absent = alike(
        NeedSeverity::Waits,
        "are accepted for long, and their agents have not joined",
        "/clusters?q=accepted",
    );
    for fact in table.iter() {
        let since = fact.row.since.or(fact.row.created);
        let is_long = since.is_some_and(|it| now.duration_since(it) > LONG);
        match fact.row.state {
            State::Unknown => silent.cluster(fact, "is unknown", true),
            State::Unavailable => broken.cluster(fact, "is unavailable", true),
            State::Deleting if is_long => stuck.cluster(fact, "is being deleted", true),
            State::Pending => pending.cluster(fact, "waits to be accepted", false),
            State::Accepted if is_long => {
                absent.cluster(fact, "is accepted, and its agent has not joined", false);
            }
            _ => {}
        }
    }
    for fact in others.placements.into_iter().flat_map(Objects::iter) {
        match fact.row.state {
            PlacementState::Misconfigured => wrong.placement(fact, "cannot be evaluated"),
            PlacementState::Unsatisfied => short.placement(fact, "selects too few clusters"),
            PlacementState::New | PlacementState::Satisfied => {}
        }
    }
    for fact in others.rollouts.into_iter().flat_map(Objects::iter) {
        match fact.state {
            RolloutCondition::Unusable | RolloutCondition::Stopped | RolloutCondition::Failing => {
                rollouts.rollout(fact, "has failed");
            }
            RolloutCondition::ApprovalPending => approvals.rollout(fact, "waits for an approval"),
            _ => {}
        }
    }
    for fact in others.works.into_iter().flat_map(Objects::iter) {
        // The first states are those that stay as they are until somebody does something.
        if fact.row.state <= WorkCondition::Drifted {
            works.work(fact);
        }
    }
    let all = [
        ("clusters", silent),
        ("clusters", broken),
        ("clusters", stuck),
        ("placements", wrong),
        ("placements", short),
        ("rollouts", rollouts),
        ("works", works),
        ("rollouts", approvals),
        ("clusters", pending),
        ("clusters", absent),
    ];
    let each = all.into_iter();
    let mut needs: Vec<Need> = each.flat_map(|(of, it)| it.sentences(of)).collect();
    needs.sort_by_key(|it| it.severity);
    let more = needs.len().saturating_sub(MOST_NEEDS);
    needs.truncate(MOST_NEEDS);
    (needs, more)
}

fn alike(severity: NeedSeverity, words: &'static str, link: &'static str) -> Alike {
    Alike {
        severity,
        words,
        link,
        needs: Vec::new(),
    }
}

// === impl Alike ===

impl Alike {
    fn cluster(&mut self, fact: &ClusterFact, is: &str, says_why: bool) {
        let why = fact.row.why.as_str();
        let why = match says_why && !why.is_empty() {
            true => format!(": {why}"),
            false => String::new(),
        };
        self.add(
            format!("Cluster {} {is}{why}", fact.name),
            format!("/clusters/{}", segment(&fact.name)),
            fact.row.since.or(fact.row.created),
        );
    }

    fn placement(&mut self, fact: &PlacementFact, is: &str) {
        let (namespace, name) = (&fact.namespace, &fact.name);
        self.add(
            format!(
                "Placement {namespace}/{name} {is}: {}",
                fact.row.why.as_str()
            ),
            format!("/placements/{}/{}", segment(namespace), segment(name)),
            fact.row.since,
        );
    }

    fn rollout(&mut self, fact: &RolloutFact, is: &str) {
        let (namespace, name) = (&fact.namespace, &fact.name);
        self.add(
            format!(
                "The rollout of {namespace}/{name} {is}: {}",
                fact.why.as_str()
            ),
            format!("/replicasets/{}/{}", segment(namespace), segment(name)),
            fact.since,
        );
    }

    fn work(&mut self, fact: &WorkFact) {
        let (cluster, name) = (fact.row.cluster.as_str(), fact.row.name.as_str());
        let why = fact.row.why.as_str();
        self.add(
            format!("Work {name} of cluster {cluster} is not as prescribed: {why}"),
            format!("/works/{}/{}", segment(cluster), segment(name)),
            fact.row.since,
        );
    }

    fn add(&mut self, text: String, link: String, since: Option<Timestamp>) {
        self.needs.push(Need {
            severity: self.severity,
            text: Text::line(&text),
            link,
            since,
        });
    }

    /// The newest ones, and one sentence about the others.
    fn sentences(mut self, of: &str) -> Vec<Need> {
        self.needs.sort_by_key(|it| std::cmp::Reverse(it.since));
        let more = self.needs.len().saturating_sub(MOST_ALIKE);
        // One more takes no more room than the sentence that counts it.
        if more > 1 {
            self.needs.truncate(MOST_ALIKE);
            self.needs.push(Need {
                severity: self.severity,
                text: format!("{more} more {of} {}", self.words).into(),
                link: self.link.to_owned(),
                since: None,
            });
        }
        self.needs
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-02T00:00:00Z";

    fn cluster(name: &str, set: &str, accepted: bool, available: Option<&str>) -> ClusterFact {
        let mut conditions = Vec::new();
        let mut add = |type_: &str, status: &str| {
            conditions.push(json!({"type": type_, "status": status, "reason": "", "message": "its agent is gone", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
        };
        if accepted {
            add("HubAcceptedManagedCluster", "True");
        }
        if let Some(status) = available {
            add("ManagedClusterJoined", "True");
            add("ManagedClusterConditionAvailable", status);
        }
        ClusterFact::read(&json!({
            "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"hubAcceptsClient": accepted},
            "status": {
                "conditions": conditions,
                "version": {"kubernetes": "v1.33.2+k3s1"},
                "clusterClaims": [{"name": REGION, "value": "eu west"}],
            },
        }))
    }

    fn told(clusters: Vec<ClusterFact>) -> FleetAnswer {
        let mut table = Table::default();
        clusters.into_iter().for_each(|it| table.insert(it));
        fleet(&table, Others::default(), Vec::new(), NOW.parse().unwrap())
    }

    #[test]
    fn what_needs_a_person_is_said_the_worst_first() {
        let answer = told(vec![
            cluster("well", "prod", true, Some("True")),
            cluster("absent", "prod", true, None),
            cluster("new", "", false, None),
            cluster("silent/1", "prod", true, Some("Unknown")),
        ]);
        let needs = answer.needs.iter();
        let needs: Vec<_> = needs.map(|it| (it.text.as_str(), &*it.link)).collect();
        assert_eq!(
            needs,
            [
                (
                    "Cluster silent/1 is unknown: its agent is gone",
                    "/clusters/silent%2F1"
                ),
                ("Cluster new waits to be accepted", "/clusters/new"),
                (
                    "Cluster absent is accepted, and its agent has not joined",
                    "/clusters/absent"
                ),
            ]
        );
        let sets = answer.sets.iter();
        let sets: Vec<_> = sets.map(|it| (it.name.as_str(), it.total)).collect();
        assert_eq!(sets, [("prod", 3), ("", 1)]);
        let version = &answer.versions[0];
        assert_eq!((version.name.as_str(), version.clusters), ("1.33", 4));
        let region = &answer.regions[0];
        assert_eq!((region.name.as_str(), region.clusters), ("eu west", 4));
    }

    #[test]
    fn the_queries_of_the_shares_find_their_clusters() {
        let fact = cluster("c1", "prod", true, Some("True"));
        let answer = told(vec![fact.clone()]);
        for share in answer.versions.iter().chain(&answer.regions) {
            let query = crate::search::Query::parse(share.query.as_str()).unwrap();
            assert!(query.matches(&fact), "{}", share.query.as_str());
        }
    }

    #[test]
    fn needs_of_one_kind_are_counted() {
        let many = (0..40).map(|at| cluster(&format!("c{at:02}"), "", false, None));
        let silent = (0..4).map(|at| cluster(&format!("s{at}"), "", true, Some("Unknown")));
        let answer = told(many.chain(silent).collect());
        let texts: Vec<_> = answer.needs.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts.len(), 4 + 4);
        assert_eq!(texts[3], "Cluster s3 is unknown: its agent is gone");
        assert_eq!(texts[7], "37 more clusters wait to be accepted");
        assert_eq!(answer.needs[7].link, "/requests");
    }
}
