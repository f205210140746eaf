//! What the server answers, as JSON. The page's types are generated from these.
//!
//! Text of the fleet is escaped ([`Text`]). Times are RFC 3339. A field without a value is left out.

mod action;
mod cluster;
mod clusters;
mod failure;
mod fleet;
mod health;
mod hub;
mod placement;
mod requests;
mod rights;
mod session;
mod sets;
mod timeline;
mod typescript;
mod works;

pub use action::{Act, ActionAnswer, ActionRequest, LabelRequest, Offer};
pub use cluster::{
    Capacity, ClaimOrLabel, ClusterAnswer, ClusterEvent, ConditionAnswer, EventsAnswer, Handshake,
    LeaseAnswer, PlacedBy, Remedy, SetAnswer, Side, Step, StepKind, StepState, TaintAnswer,
    YamlAnswer,
};
pub use clusters::{ClusterRow, Counts, Delta, State, Window};
pub use failure::{ErrorAnswer, Failure, Missing};
pub use fleet::{FleetAnswer, FleetSet, Need, NeedSeverity, Share};
pub use health::{
    CheckAnswer, CheckResult, ComponentAnswer, FindingAnswer, HealthAnswer, LeaderAnswer,
    RemedyAnswer,
};
pub use hub::{Connection, HubAnswer};
pub use placement::{
    ChangedCluster, FunnelStep, GroupCount, PlacedCluster, PlacementAnswer, PlacementRequest,
    PlacementRow, PlacementState, PlacementsAnswer, ResultCount, Selection, WhatIfAnswer,
};
pub use requests::{CsrAnswer, CsrStanding, PendingCluster, RequestsAnswer};
pub use rights::{RightAnswer, RightsAnswer};
pub use session::{SessionAnswer, SignInAnswer, SignInRequest, Way};
pub use sets::{BoundTo, MoveRequest, SetRow, SetsAnswer};
pub use timeline::{Facet, TimelineAnswer, TimelineEntry, TimelineSource};
pub use typescript::typescript;
pub use works::{
    DifferenceGroup, DifferencePlace, FeedbackAnswer, FieldAnswer, ObjectState, PlacementStage,
    ReplicaSetAnswer, ReportedWorks, RolloutCondition, RolloutRow, SetName, Stage, StageAnswer,
    StageCluster, StageCount, StageFold, WorkAnswer, WorkCondition, WorkCount, WorkObject, WorkRow,
    WorksAnswer,
};

pub use crate::shown::Text;
