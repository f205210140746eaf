//! ManifestWorks, ManifestWorkReplicaSets, and the decisions that these follow.

use berth_admin::answers::{
    self, Difference, DifferenceState, RolloutState, WorkState, differences_of, fields_of,
};
use berth_api::rollout::{RolloutStrategy, RolloutType};
use berth_api::text::shorten;
use berth_api::work::{ManifestWork, ManifestWorkReplicaSet, ManifestWorkReplicaSetSummary};
use berth_api::{groups, labels, lenient};
use berth_reconcile::{Item, Watched};
use berth_rollout::RolloutRules;
use berth_work_replicas::{Digest, Progress, ReplicaSet, Work, is_stopped, listed_clusters};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::{Fact, watched};
use crate::answers::{
    ConditionAnswer, ReportedWorks, RolloutCondition, SetName, Text, WorkCondition, WorkRow,
};

/// Upper bound on the ManifestWorks that are kept. Further ones are not shown.
const MOST_WORKS: usize = 200_000;

/// Upper bound on the ManifestWorkReplicaSets that are kept. Further ones are not shown.
const MOST_ROLLOUTS: usize = 5_000;

/// Upper bound on the PlacementDecisions of a namespace that are kept for a replica set. Clusters of further ones are not shown.
const MOST_DECIDED: usize = 5_000;

/// Upper bound on the differences of a ManifestWork that the list keeps.
const MOST_KEPT: usize = 20;

/// Upper bound on the bytes of a reason that the list keeps.
const LONGEST_WHY: usize = 512;

/// Upper bound on the placements of a replica set.
const MOST_PLACEMENTS: usize = 50;

/// Upper bound on the conditions of an object that are shown.
pub(crate) const MOST_CONDITIONS: usize = 50;

/// A ManifestWork of the list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkFact {
    pub(crate) row: WorkRow,
    /// The placement that it was made for; empty without a replica set.
    pub(crate) placement: Box<str>,
    /// For its rollout.
    pub(crate) progress: Option<Progress>,
    pub(crate) differences: Box<[WorkDifference]>,
}

/// What differs of a ManifestWork: a field, an object, or all of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkDifference {
    /// The kind, and the field.
    pub(crate) what: Text,
    pub(crate) state: WorkCondition,
    pub(crate) object: Option<Text>,
    pub(crate) found: Text,
    pub(crate) manager: Option<Text>,
}

/// A ManifestWork as a whole, without its manifests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WholeWork {
    pub(crate) work: ManifestWork,
    pub(crate) row: WorkRow,
    /// Why it cannot be read.
    pub(crate) unreadable: Option<Text>,
}

/// A ManifestWorkReplicaSet.
#[derive(Clone, Debug)]
pub(crate) struct RolloutFact {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) state: RolloutCondition,
    pub(crate) why: Text,
    pub(crate) since: Option<Timestamp>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) is_paused: bool,
    pub(crate) needs_approval: bool,
    /// Which clusters wait for an approval, if a step does.
    pub(crate) waits: Option<Text>,
    pub(crate) placements: Vec<RolloutPlacement>,
    pub(crate) conditions: Vec<ConditionAnswer>,
    /// Identifies the template; None if the object cannot be read.
    pub(crate) template: Option<Digest>,
    pub(crate) expects_progressing: bool,
}

/// A placement of a replica set.
#[derive(Clone, Debug)]
pub(crate) struct RolloutPlacement {
    pub(crate) name: String,
    /// None if the strategy has a mistake.
    pub(crate) rules: Option<RolloutRules>,
    pub(crate) strategy: Vec<Text>,
    pub(crate) is_stopped: bool,
    /// The number of clusters that it selects, by the status.
    pub(crate) selected: Option<usize>,
    /// The counts of the status.
    pub(crate) reported: Option<ReportedWorks>,
}

/// A PlacementDecision, for the rollouts that follow it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DecidedFact {
    pub(crate) placement: String,
    pub(crate) group_index: i32,
    pub(crate) group_name: String,
    pub(crate) clusters: Vec<String>,
}

/// A condition, for an answer.
pub(crate) fn condition(
    it: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition,
) -> ConditionAnswer {
    ConditionAnswer {
        type_: Text::line(&it.type_),
        status: Text::line(&it.status),
        reason: Text::line(&it.reason),
        message: Text::lines(&it.message),
        since: Some(it.last_transition_time.0),
    }
}

/// The row of a ManifestWork.
fn row(work: &ManifestWork, manifests: usize) -> WorkRow {
    let how = answers::work_state(work);
    let set = work.metadata.labels.as_ref();
    let set = set
        .and_then(|it| it.get(labels::REPLICA_SET))
        .and_then(|it| it.split_once('.'));
    WorkRow {
        cluster: Text::line(work.metadata.namespace.as_deref().unwrap_or_default()),
        name: Text::line(work.metadata.name.as_deref().unwrap_or_default()),
        state: how.state.into(),
        why: Text::line(&shorten(&how.why, LONGEST_WHY)),
        since: how.since,
        manifests,
        set: set.map(|(namespace, name)| SetName {
            namespace: Text::line(namespace),
            name: Text::line(name),
        }),
    }
}

fn unreadable(item: &Item<'_>, error: &serde_json::Error) -> WorkRow {
    WorkRow {
        cluster: Text::line(&item.meta.namespace),
        name: Text::line(&item.meta.name),
        state: WorkCondition::Unknown,
        why: Text::line(&format!("it cannot be read: {error}")),
        since: None,
        manifests: 0,
        set: None,
    }
}

/// What differs: each field that is named, or else the object.
fn differences(work: &ManifestWork) -> Box<[WorkDifference]> {
    let all = differences_of(work);
    all.iter().flat_map(each).take(MOST_KEPT).collect()
}

fn each(difference: &Difference) -> Vec<WorkDifference> {
    let Difference {
        object,
        state,
        message,
        ..
    } = difference;
    let kind = object.as_ref().map_or_else(
        || "the whole ManifestWork".to_owned(),
        answers::DifferingObject::kind,
    );
    let title = object.as_ref().map(|it| Text::line(&it.title()));
    let whole = |found: &str| WorkDifference {
        what: Text::line(&kind),
        state: WorkState::from(*state).into(),
        object: title.clone(),
        found: Text::line(&shorten(found, LONGEST_WHY)),
        manager: None,
    };
    if *state != DifferenceState::Drifted {
        return vec![whole(message)];
    }
    let fields = fields_of(message).fields;
    if fields.is_empty() {
        return vec![whole(message)];
    }
    let fields = fields.iter().map(|field| {
        let found = match (&*field.ours, &*field.theirs) {
            ("", theirs) => format!("not in the manifest, found {theirs}"),
            (ours, "") => format!("prescribed {ours}, not found"),
            (ours, theirs) => format!("prescribed {ours}, found {theirs}"),
        };
        WorkDifference {
            what: Text::line(&format!("{kind}: {}", field.path)),
            manager: field.manager.as_deref().map(Text::line),
            ..whole(&found)
        }
    });
    fields.collect()
}

// === impl WorkFact ===

impl Fact for WorkFact {
    const RESOURCE: &'static str = "manifestworks.work.open-cluster-management.io";

    fn most() -> usize {
        MOST_WORKS
    }

    fn watched() -> Watched<()> {
        watched(
            "manifestworks",
            (groups::WORK, "v1", groups::MANIFEST_WORKS),
        )
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let of_set = Work::read(item.json).ok().flatten();
        let placement = of_set.as_ref().map_or("", |it| it.placement()).into();
        let progress = of_set.as_ref().map(Work::progress);
        let (row, differences) = match lenient::manifest_work(item.json) {
            Ok(read) => {
                let work = read.object;
                let manifests = work.spec.workload.manifests.len();
                (row(&work, manifests), differences(&work))
            }
            Err(error) => (unreadable(item, &error), Box::default()),
        };
        Some(Self {
            row,
            placement,
            progress,
            differences,
        })
    }
}

// === impl WholeWork ===

impl Fact for WholeWork {
    const RESOURCE: &'static str = WorkFact::RESOURCE;

    fn most() -> usize {
        1
    }

    fn watched() -> Watched<()> {
        WorkFact::watched()
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let (work, row, unreadable) = match lenient::manifest_work(item.json) {
            Ok(lenient::Read {
                object: mut work,
                unreadable,
            }) => {
                let manifests = std::mem::take(&mut work.spec.workload.manifests).len();
                let row = row(&work, manifests);
                let fields = (!unreadable.is_empty())
                    .then(|| format!("These fields cannot be read: {unreadable}").into());
                (work, row, fields)
            }
            Err(error) => {
                let row = unreadable(item, &error);
                (ManifestWork::default(), row, None)
            }
        };
        Some(Self {
            work,
            row,
            unreadable,
        })
    }
}

// === impl RolloutFact ===

impl Fact for RolloutFact {
    const RESOURCE: &'static str = "manifestworkreplicasets.work.open-cluster-management.io";

    fn most() -> usize {
        MOST_ROLLOUTS
    }

    fn watched() -> Watched<()> {
        let kind = (groups::WORK, "v1alpha1", groups::MANIFEST_WORK_REPLICA_SETS);
        watched("manifestworkreplicasets", kind)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let (namespace, name) = (item.meta.namespace.clone(), item.meta.name.clone());
        match read_rollout(item) {
            Ok((set, object)) => Some(Self::of(&set, &object)),
            Err(error) => Some(Self {
                namespace,
                name,
                state: RolloutCondition::Unusable,
                why: Text::line(&format!("it cannot be read: {error}")),
                since: None,
                created: None,
                is_paused: false,
                needs_approval: false,
                waits: None,
                placements: Vec::new(),
                conditions: Vec::new(),
                template: None,
                expects_progressing: false,
            }),
        }
    }
}

/// Reads it as its controller does, and the whole of it.
fn read_rollout(
    item: &Item<'_>,
) -> Result<(ReplicaSet, ManifestWorkReplicaSet), serde_json::Error> {
    let set = ReplicaSet::read(item.json)?;
    let value: Value = item.parse()?;
    let object = lenient::with_conditions::<ManifestWorkReplicaSet>(&value)?.object;
    Ok((set, object))
}

impl RolloutFact {
    fn of(set: &ReplicaSet, object: &ManifestWorkReplicaSet) -> Self {
        let how = answers::rollout_state(object);
        let placement = |it: &berth_work_replicas::PlacementRef| {
            let mut refs = object.spec.placement_refs.iter();
            let strategy = refs.find(|stored| stored.name == it.name);
            let mut summaries = set.status.placement_summary.iter();
            let summary = summaries.find(|stored| stored.name == it.name);
            RolloutPlacement {
                name: it.name.clone(),
                rules: it.rules.as_ref().ok().cloned(),
                strategy: match &it.rules {
                    Ok(_) => strategy.map_or_else(Vec::new, |it| words(&it.rollout_strategy)),
                    Err(mistake) => vec![Text::line(&mistake.to_string())],
                },
                is_stopped: is_stopped(&set.status, &it.name),
                selected: summary.and_then(listed_clusters),
                reported: summary.map(|it| reported(&it.summary)),
            }
        };
        let conditions = set.status.conditions.iter().take(MOST_CONDITIONS);
        let created = object.metadata.creation_timestamp.as_ref();
        Self {
            namespace: set.namespace.clone(),
            name: set.name.clone(),
            state: how.state.into(),
            why: Text::lines(&how.why),
            since: how.since,
            created: created.map(|it| it.0),
            is_paused: set.paused.is_some(),
            needs_approval: set.approval.is_required,
            waits: answers::approval_pending(object).map(Text::from),
            placements: (set.placements.iter().take(MOST_PLACEMENTS))
                .map(placement)
                .collect(),
            conditions: conditions.map(condition).collect(),
            template: Some(set.template.digest()),
            expects_progressing: set.template.expects_progressing(),
        }
    }
}

fn reported(counts: &ManifestWorkReplicaSetSummary) -> ReportedWorks {
    ReportedWorks {
        total: counts.total,
        updated: counts.updated,
        available: counts.available,
        progressing: counts.progressing,
        degraded: counts.degraded,
    }
}

/// A strategy in words.
fn words(strategy: &RolloutStrategy) -> Vec<Text> {
    let number = |value: &IntOrString| match value {
        IntOrString::Int(number) => format!("{number}"),
        IntOrString::String(text) => text.clone(),
    };
    let (mut said, config) = match &strategy.r#type {
        RolloutType::All => {
            let config = strategy.all.as_ref().map(|it| &it.config);
            (vec!["all clusters at once".to_owned()], config)
        }
        RolloutType::Progressive => {
            let settings = strategy.progressive.as_ref();
            let most = settings.and_then(|it| it.max_concurrency.as_ref());
            let steps = most.map_or_else(
                || "step by step".to_owned(),
                |most| format!("at most {} of the clusters at a time", number(most)),
            );
            (vec![steps], settings.map(|it| &it.config))
        }
        RolloutType::ProgressivePerGroup => {
            let settings = strategy.progressive_per_group.as_ref();
            let steps = "one decision group after the other".to_owned();
            (vec![steps], settings.map(|it| &it.config))
        }
        RolloutType::Other(name) => (vec![format!("unknown strategy {name}")], None),
    };
    if let Some(config) = config {
        if !["", "0"].contains(&&*config.min_success_time) && strategy.r#type != RolloutType::All {
            said.push(format!("each must work for {}", config.min_success_time));
        }
        if !["", "None"].contains(&&*config.progress_deadline) {
            said.push(format!("each may take {}", config.progress_deadline));
        }
        if let Some(failures) = &config.max_failures
            && strategy.r#type != RolloutType::All
        {
            said.push(match &*number(failures) {
                "0" | "0%" => "none may fail".to_owned(),
                most => format!("{most} may fail"),
            });
        }
    }
    said.iter().map(|it| Text::line(it)).collect()
}

// === impl DecidedFact ===

impl Fact for DecidedFact {
    const RESOURCE: &'static str = "placementdecisions.cluster.open-cluster-management.io";

    fn most() -> usize {
        MOST_DECIDED
    }

    fn watched() -> Watched<()> {
        let kind = (groups::CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS);
        watched("placementdecisions", kind)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let object: Value = item.parse().ok()?;
        let label = |key: &str| object["metadata"]["labels"][key].as_str();
        let decisions = object["status"]["decisions"].as_array();
        let decisions = decisions.into_iter().flatten();
        Some(Self {
            placement: label(labels::PLACEMENT)?.to_owned(),
            group_index: label(labels::DECISION_GROUP_INDEX)
                .and_then(|it| it.parse().ok())
                .unwrap_or(0),
            group_name: label(labels::DECISION_GROUP_NAME)
                .unwrap_or_default()
                .to_owned(),
            clusters: decisions
                .filter_map(|it| Some(it["clusterName"].as_str()?.to_owned()))
                .collect(),
        })
    }
}

// === impl WorkCondition ===

impl From<WorkState> for WorkCondition {
    fn from(state: WorkState) -> Self {
        match state {
            WorkState::NotApplied => Self::NotApplied,
            WorkState::Missing => Self::Missing,
            WorkState::Unknown => Self::Unknown,
            WorkState::Degraded => Self::Degraded,
            WorkState::Drifted => Self::Drifted,
            WorkState::Held => Self::Held,
            WorkState::NotReported => Self::NotReported,
            WorkState::Progressing => Self::Progressing,
            WorkState::Deleting => Self::Deleting,
            WorkState::AsPrescribed => Self::AsPrescribed,
        }
    }
}

// === impl RolloutCondition ===

impl From<RolloutState> for RolloutCondition {
    fn from(state: RolloutState) -> Self {
        match state {
            RolloutState::Unusable => Self::Unusable,
            RolloutState::Stopped => Self::Stopped,
            RolloutState::Failing => Self::Failing,
            RolloutState::Paused => Self::Paused,
            RolloutState::ApprovalPending => Self::ApprovalPending,
            RolloutState::Progressing => Self::Progressing,
            RolloutState::New => Self::New,
            RolloutState::Deleting => Self::Deleting,
            RolloutState::Complete => Self::Complete,
        }
    }
}
