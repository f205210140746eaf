//! The screen Timeline: what happened on the hub.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::Text;

/// The event `answer` of `screen=timeline`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineAnswer {
    /// Those that match, the newest first.
    pub entries: Vec<TimelineEntry>,
    /// Number of those that match.
    pub matched: usize,
    /// Number of all that are kept.
    pub total: usize,
    /// Older ones are not kept.
    pub cut: bool,
    /// The sets of all entries.
    pub sets: Vec<Facet>,
    /// The kinds of all entries.
    pub kinds: Vec<Facet>,
    /// The reasons of all entries.
    pub reasons: Vec<Facet>,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// A value to filter by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Facet {
    /// The value.
    pub name: Text,
    /// Number of entries with it.
    pub count: usize,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// Distinguishes it from all others.
    pub id: Text,
    /// What it is.
    pub source: TimelineSource,
    /// When it happened last.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// When it happened first, if it happened more than once.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// How often it happened.
    pub count: i32,
    /// It is a warning, or a condition for the worse.
    pub warning: bool,
    /// The kind of its object.
    pub kind: Text,
    /// The namespace of its object; empty for cluster-scoped kinds.
    pub namespace: Text,
    /// The name of its object.
    pub name: Text,
    /// The cluster that it is about; empty if it is about none.
    pub cluster: Text,
    /// The ManagedClusterSet that it is about, or that its cluster belongs to; empty without one.
    pub set: Text,
    /// The reason of an Event, the type of a condition, or `Written`.
    pub reason: Text,
    /// As a sentence.
    pub note: Text,
    /// The controller that reports it, or the field manager that wrote it; empty if the object does not say.
    pub by: Text,
}

/// Where an entry is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TimelineSource {
    /// An Event.
    Event,
    /// The last transition of a condition.
    Condition,
    /// The last write of a field manager.
    Write,
}
