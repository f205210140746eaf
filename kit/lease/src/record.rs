//! What a Lease says, and what is to be done about it: plain functions of what was seen and when.
//!
//! A record is judged by how long *we* have seen it unchanged. What it says of times is compared, never believed.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The longest that a record is left alone, whatever it says: a holder that is silent for an hour is not there.
pub const MAX_DURATION: Duration = Duration::from_secs(60 * 60);

/// The part of a Lease's spec that elections are about. What is missing or makes no sense is none, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// holderIdentity. Empty: released, or never held.
    pub holder: String,
    /// leaseDurationSeconds
    pub duration_seconds: Option<i64>,
    /// acquireTime, as it is written.
    pub acquire_time: Option<String>,
    /// renewTime, as it is written.
    pub renew_time: Option<String>,
    /// leaseTransitions
    pub transitions: Option<i32>,
}

/// What is known about how the Lease is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// A write met something else: look first.
    Unsure,
    /// There is no Lease.
    Absent,
    /// Its resourceVersion.
    At(String),
}

/// What was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// How it is stored.
    pub version: Version,
    /// What it says, or said last. None: there never was a Lease.
    pub record: Option<Record>,
    /// When the record was first seen so, or first seen gone, on our clock.
    pub since: Instant,
}

/// Who wants to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is written as holderIdentity.
    pub identity: String,
    /// The acquireTime that we last wrote, or tried to: a record with both is ours. One with our identity alone is that of
    /// another process, which may be alive.
    pub acquired: Option<String>,
    /// A term of ours is going on.
    pub leading: bool,
    /// What is written as leaseDurationSeconds.
    pub lease_duration: Duration,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Get the Lease.
    Look,
    /// Create it, with [`Record::acquired`]; if the record was ours with [`Record::renewed`].
    Create,
    /// Replace it, with [`Record::acquired`].
    Acquire,
    /// Replace it, with [`Record::renewed`].
    Renew,
    /// It is another's until then, if it does not change.
    Wait(Instant),
}

/// What is to be done, after what was seen.
pub fn decide(seen: Option<&Observation>, me: &Candidate, now: Instant) -> Action {
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
        // Who saw ours go leaves us the time to make it anew. Others' holder may not know yet, or may have been followed by
        // one that we have not seen: it gets a whole duration.
        Version::Absent if mine && me.leading => Action::Create,
        Version::Absent => match later(seen.since, record.patience(me).max(me.lease_duration)) {
            free if now >= free => Action::Create,
            free => Action::Wait(free),
        },
        Version::At(_) if mine => Action::Renew,
        Version::At(_) if record.holder.is_empty() => Action::Acquire,
        Version::At(_) => match later(seen.since, record.patience(me)) {
            free if now >= free => Action::Acquire,
            free => Action::Wait(free),
        },
    }
}

/// No clock comes within an hour of its end, which is 292 billion years away.
fn later(since: Instant, patience: Duration) -> Instant {
    since.checked_add(patience).unwrap_or(since)
}

// === impl Record ===

impl Record {
    /// What the spec says. Whatever is of another type than it ought to be is as good as missing.
    pub fn read(spec: &Value) -> Self {
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

    /// `spec` with this record in it; its other fields stay.
    pub fn write(&self, spec: Value) -> Value {
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

    /// The record with which `me` takes over from this one. A new Lease has seen no transition.
    pub fn acquired(previous: Option<&Self>, me: &Candidate, now: Timestamp) -> Self {
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

    /// The record with which `me` goes on. It differs from this one even if the wall clock stands still: others see a leader
    /// by its changes.
    pub fn renewed(&self, me: &Candidate, now: Timestamp) -> Self {
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

    /// The record that leaves the Lease to whoever comes, as client-go writes it: a duration of zero would not be valid.
    pub fn released(&self, now: Timestamp) -> Self {
        let time = Some(micro_time(now));
        Self {
            holder: String::new(),
            duration_seconds: Some(1),
            acquire_time: time.clone(),
            renew_time: time,
            transitions: Some(self.transitions.unwrap_or(0).max(0)),
        }
    }

    /// It was written by this very process.
    pub fn is_of(&self, me: &Candidate) -> bool {
        match (&self.acquire_time, &me.acquired) {
            (Some(theirs), Some(ours)) if self.holder == me.identity => is_same_time(theirs, ours),
            _ => false,
        }
    }

    /// How long it has to be seen unchanged. What says nothing sensible gets what we take for ourselves.
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

/// As the API server writes a MicroTime, so that it comes back as it was sent.
pub fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// However a server may write it.
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
    /// What is known after a look, or an answer to a write, that arrived `now`: the record and its resourceVersion, or that
    /// there is none.
    pub fn after(previous: Option<Self>, answer: Option<(Record, String)>, now: Instant) -> Self {
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
