//! The record in a Lease, and what an elector does about it: plain functions of what was seen and when.
//!
//! A record is judged by how long *this process* has seen it unchanged. The times in it are compared with each other only.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Upper bound on the time for which a record is respected without a change, whatever it says.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(60 * 60);

/// The part of a Lease's spec that elections use. Missing or invalid fields become None or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// holderIdentity. Empty: released, or never held.
    pub(crate) holder: String,
    /// leaseDurationSeconds
    pub(crate) duration_seconds: Option<i64>,
    /// acquireTime, as stored.
    pub(crate) acquire_time: Option<String>,
    /// renewTime, as stored.
    pub(crate) renew_time: Option<String>,
    /// leaseTransitions
    pub(crate) transitions: Option<i32>,
}

/// The stored version of the Lease, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// A write was refused because another version is stored: read first.
    Unsure,
    /// The Lease does not exist.
    Absent,
    /// Its resourceVersion.
    At(String),
}

/// What was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observation {
    /// The stored version.
    pub(crate) version: Version,
    /// The record, or the last one of a deleted Lease. None: no Lease was ever seen.
    pub(crate) record: Option<Record>,
    /// When this record, or its absence, was first seen, on our clock.
    pub(crate) since: Instant,
}

/// This process, as it stands for election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The value for holderIdentity.
    pub(crate) identity: String,
    /// The identity is that of our pod. Another process with it was killed.
    pub(crate) is_of_pod: bool,
    /// The acquireTime that we last wrote, or tried to write. A record with this and our identity is ours. A record with our
    /// identity alone belongs to another process, which may be alive.
    pub(crate) acquired: Option<String>,
    /// This process has a term that is not over.
    pub(crate) leading: bool,
    /// The value for leaseDurationSeconds.
    pub(crate) lease_duration: Duration,
}

/// The next step of an elector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read the Lease.
    Look,
    /// Create it, with [`Record::acquired`]; if the record was ours with [`Record::renewed`].
    Create,
    /// Replace it, with [`Record::acquired`].
    Acquire,
    /// Replace it, with [`Record::renewed`].
    Renew,
    /// Another process has it until then, if the record does not change.
    Wait(Instant),
}

/// Decides the next step.
pub(crate) fn decide(seen: Option<&Observation>, me: &Candidate, now: Instant) -> Action {
    let Some(seen) = seen else {
        return Action::Look;
    };
    let Some(record) = &seen.record else {
        return if seen.version == Version::Unsure {
            Action::Look
        } else {
            Action::Create
        };
    };
    let mine = record.is_of(me);
    match seen.version {
        Version::Unsure => Action::Look,
        // Processes that saw our Lease deleted leave us the time to create it again. The holder of another's Lease may not know
        // yet, or may have a successor that we have not seen: it gets a whole duration.
        Version::Absent if mine && me.leading => Action::Create,
        Version::Absent => match later(seen.since, record.patience(me).max(me.lease_duration)) {
            free if now >= free => Action::Create,
            free => Action::Wait(free),
        },
        Version::At(_) if mine => Action::Renew,
        Version::At(_) if record.holder.is_empty() || record.is_of_predecessor(me) => {
            Action::Acquire
        }
        Version::At(_) => match later(seen.since, record.patience(me)) {
            free if now >= free => Action::Acquire,
            free => Action::Wait(free),
        },
    }
}

/// Adds. The sum cannot overflow: an `Instant` reaches 292 billion years.
fn later(since: Instant, patience: Duration) -> Instant {
    since.checked_add(patience).unwrap_or(since)
}

// === impl Record ===

impl Record {
    /// Reads a spec. A field of a wrong type counts as missing.
    pub(crate) fn read(spec: &Value) -> Self {
        let text = |field: &str| spec[field].as_str().map(str::to_owned);
        Self {
            holder: text("holderIdentity").unwrap_or_default(),
            duration_seconds: spec["leaseDurationSeconds"].as_i64(),
            acquire_time: text("acquireTime"),
            renew_time: text("renewTime"),
            transitions: spec["leaseTransitions"]
                .as_i64()
                .and_then(|value| value.try_into().ok()),
        }
    }

    /// Returns `spec` with this record in it. Its other fields stay.
    pub(crate) fn write(&self, spec: Value) -> Value {
        let mut spec = match spec {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let mut set = |field: &str, value: Value| spec.insert(field.to_owned(), value);
        set("holderIdentity", json!(self.holder));
        set("leaseDurationSeconds", json!(self.duration_seconds));
        set("acquireTime", json!(self.acquire_time));
        set("renewTime", json!(self.renew_time));
        set("leaseTransitions", json!(self.transitions));
        Value::Object(spec)
    }

    /// The record with which `me` takes over from `previous`. A new Lease has no transitions.
    pub(crate) fn acquired(previous: Option<&Self>, me: &Candidate, now: Timestamp) -> Self {
        let time = micro_time(now);
        Self {
            holder: me.identity.clone(),
            duration_seconds: Some(whole_seconds(me.lease_duration)),
            acquire_time: me.acquired.clone().or_else(|| Some(time.clone())),
            renew_time: Some(time),
            transitions: Some(previous.map_or(0, |record| {
                record.transitions.unwrap_or(0).max(0).saturating_add(1)
            })),
        }
    }

    /// The record with which `me` continues. It differs from this one even if the wall clock stands still, because other
    /// processes see by changes that the leader is alive.
    pub(crate) fn renewed(&self, me: &Candidate, now: Timestamp) -> Self {
        let mut time = micro_time(now);
        if Some(&time) == self.renew_time.as_ref() {
            time = micro_time(
                now.checked_add(Duration::from_micros(1))
                    .unwrap_or(Timestamp::UNIX_EPOCH),
            );
        }
        Self {
            duration_seconds: Some(whole_seconds(me.lease_duration)),
            renew_time: Some(time),
            transitions: Some(self.transitions.unwrap_or(0).max(0)),
            ..self.clone()
        }
    }

    /// The record that releases the Lease, as client-go writes it: a duration of zero would be invalid.
    pub(crate) fn released(&self, now: Timestamp) -> Self {
        let time = Some(micro_time(now));
        Self {
            holder: String::new(),
            duration_seconds: Some(1),
            acquire_time: time.clone(),
            renew_time: time,
            transitions: Some(self.transitions.unwrap_or(0).max(0)),
        }
    }

    /// Returns true if this process has written the record.
    pub(crate) fn is_of(&self, me: &Candidate) -> bool {
        match (&self.acquire_time, &me.acquired) {
            (Some(theirs), Some(ours)) if self.holder == me.identity => is_same_time(theirs, ours),
            _ => false,
        }
    }

    /// Returns true if the container of our pod before this one has written the record. Only a process that has just started
    /// believes that: later, the other one would be its successor.
    fn is_of_predecessor(&self, me: &Candidate) -> bool {
        me.is_of_pod && me.acquired.is_none() && self.holder == me.identity
    }

    /// How long the record has to be seen unchanged before it expires. Without a valid duration it is ours.
    fn patience(&self, me: &Candidate) -> Duration {
        match self
            .duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
        {
            None | Some(0) => me.lease_duration,
            Some(seconds) => Duration::from_secs(seconds),
        }
        .min(MAX_DURATION)
    }
}

/// Formats a time as the API server formats a MicroTime.
pub(crate) fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// Returns true for the same time, in any format.
fn is_same_time(one: &str, other: &str) -> bool {
    let time = |text: &str| text.parse::<Timestamp>().ok();
    one == other || time(one).is_some_and(|one| time(other) == Some(one))
}

fn whole_seconds(duration: Duration) -> i64 {
    let parts = i64::from(duration.subsec_nanos() > 0);
    i64::try_from(duration.as_secs())
        .unwrap_or(i64::MAX)
        .saturating_add(parts)
}

// === impl Observation ===

impl Observation {
    /// The observation after a response that arrived `now`: the record and its resourceVersion, or None without a Lease.
    pub(crate) fn after(
        previous: Option<Self>,
        answer: Option<(Record, String)>,
        now: Instant,
    ) -> Self {
        let since = match (&previous, &answer) {
            // The resourceVersion does not count: a label may change it.
            (
                Some(Self {
                    record: Some(old),
                    since,
                    ..
                }),
                Some((new, _)),
            ) if old == new => *since,
            (
                Some(Self {
                    version: Version::Absent,
                    since,
                    ..
                }),
                None,
            ) => *since,
            _ => now,
        };
        match answer {
            Some((record, version)) => Self {
                version: Version::At(version),
                record: Some(record),
                since,
            },
            None => Self {
                version: Version::Absent,
                record: previous.and_then(|previous| previous.record),
                since,
            },
        }
    }
}

#[cfg(test)]
mod tests;
