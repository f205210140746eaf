//! Laws of writes of clusters, generated from the few values that matter to the mutating path.

use arbitrary::{Arbitrary, Unstructured};
use berth_api::labels;
use berth_review::Webhook;
use fastrand::Rng;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::gate::{FakeHub, ask_json, now};
use crate::review;

#[derive(Arbitrary, Debug)]
struct Write {
    old: Option<Cluster>,
    new: Cluster,
    seed: u64,
}

#[derive(Arbitrary, Debug)]
struct Cluster {
    labels: Option<Labels>,
    taints: Option<Vec<Taint>>,
    accepted: Option<bool>,
    lease: Option<i64>,
    deleted: bool,
    unknown: Option<String>,
}

#[derive(Arbitrary, Debug)]
struct Labels {
    set: Option<Set>,
    retired: bool,
    other: Option<String>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Set {
    Null,
    Empty,
    Default,
    A,
    B,
}

#[derive(Arbitrary, Debug)]
struct Taint {
    key: Word,
    value: Option<Word>,
    effect: Effect,
    time: Time,
    unknown: bool,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Word {
    Empty,
    K,
    L,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Effect {
    NoSelect,
    PreferNoSelect,
    NoSelectIfNew,
}

#[derive(Arbitrary, Debug)]
enum Time {
    Absent,
    Null,
    Zero,
    /// Milliseconds from now.
    Near(i16),
    /// Seconds from now, in another time zone.
    Elsewhere(i16),
    Unreadable(String),
}

/// Runs the laws on two states of a cluster, old and new, that are generated from the bytes.
///
/// # Panics
/// A law is broken.
pub fn mutate(bytes: &[u8]) {
    let Ok(write) = Write::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let mut dice = Rng::with_seed(write.seed);
    let request = write.review();
    review::laws(Webhook::MutateCluster, &request, &mut dice);
    review::laws(Webhook::ValidateCluster, &request, &mut dice);
    if !write.new.deleted && write.old.as_ref().is_none_or(|old| !old.deleted) {
        what_is_stored_may_be_written_again(&request);
    }
}

/// A user who may write the cluster applies a manifest without times.
fn what_is_stored_may_be_written_again(request: &Value) {
    let said = ask_json(FakeHub::Open, Webhook::MutateCluster, request, now());
    if !said.allowed {
        return;
    }
    let stored = crate::gate::patched(&request["request"]["object"], &said.patch);
    let mut again = request.clone();
    again["request"]["operation"] = json!("UPDATE");
    again["request"]["oldObject"] = stored.clone();
    let mut manifest = stored.clone();
    for taint in manifest["spec"]["taints"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if let Value::Object(taint) = taint {
            taint.remove("timeAdded");
        }
    }
    let twins = has_twins(&stored);
    again["request"]["object"] = manifest;
    let later = now() + SignedDuration::from_hours(1);
    let said = ask_json(FakeHub::Closed, Webhook::MutateCluster, &again, later);
    assert!(
        said.allowed,
        "a manifest without times of taints is refused: {}",
        said.json
    );
    let kept = crate::gate::patched(&again["request"]["object"], &said.patch);
    // Identical taints, which no validated object has, cannot be distinguished.
    assert!(
        twins || same_times(&kept, &stored),
        "the times are kept: {kept} {stored}"
    );
}

fn taints(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["taints"].as_array().into_iter().flatten()
}

fn has_twins(object: &Value) -> bool {
    let identities: Vec<_> = taints(object)
        .map(|taint| ["key", "value", "effect"].map(|key| taint[key].as_str().unwrap_or_default()))
        .collect();
    identities
        .iter()
        .enumerate()
        .any(|(i, identity)| identities[..i].contains(identity))
}

fn same_times(left: &Value, right: &Value) -> bool {
    let time = |taint: &Value| match taint["timeAdded"].as_str() {
        None | Some("0001-01-01T00:00:00Z") => None,
        Some(time) => Some(time.to_owned()),
    };
    taints(left).map(time).eq(taints(right).map(time))
}

// === impl Write ===

impl Write {
    fn review(&self) -> Value {
        let mut request = json!({
            "uid": "d9aa8994-4567-4772-a1d3-0cc8781c9478",
            "resource": {
                "group": Webhook::MutateCluster.group(),
                "version": Webhook::MutateCluster.version(),
                "resource": Webhook::MutateCluster.resource(),
            },
            "name": "c1",
            "operation": "CREATE",
            "userInfo": {"username": "alice"},
            "object": self.new.object(),
        });
        if let Some(old) = &self.old {
            request["operation"] = json!("UPDATE");
            request["oldObject"] = old.object();
        }
        json!({
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": request,
        })
    }
}

// === impl Cluster ===

impl Cluster {
    fn object(&self) -> Value {
        let mut metadata = json!({"name": "c1"});
        if let Some(labels) = &self.labels {
            metadata["labels"] = labels.object();
        }
        if self.deleted {
            metadata["deletionTimestamp"] = json!("2026-11-21T11:00:00Z");
        }
        let mut spec = Map::new();
        if let Some(taints) = &self.taints {
            let taints = taints.iter().map(Taint::object);
            spec.insert("taints".to_owned(), taints.collect());
        }
        if let Some(accepted) = self.accepted {
            spec.insert("hubAcceptsClient".to_owned(), accepted.into());
        }
        if let Some(seconds) = self.lease {
            spec.insert("leaseDurationSeconds".to_owned(), seconds.into());
        }
        if let Some(unknown) = &self.unknown {
            spec.insert("unknown".to_owned(), json!([unknown]));
        }
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": metadata,
            "spec": spec,
        })
    }
}

// === impl Labels ===

impl Labels {
    fn object(&self) -> Value {
        let mut object = Map::new();
        if let Some(set) = self.set {
            let set = match set {
                Set::Null => Value::Null,
                Set::Empty => "".into(),
                Set::Default => labels::DEFAULT_SET.into(),
                Set::A => "set-a".into(),
                Set::B => "set-b".into(),
            };
            object.insert(labels::CLUSTER_SET.to_owned(), set);
        }
        if self.retired {
            object.insert(labels::RETIRED_CLUSTER_SET.to_owned(), "set-a".into());
        }
        if let Some(other) = &self.other {
            object.insert(format!("other/{other}"), other.as_str().into());
        }
        object.into()
    }
}

// === impl Taint ===

impl Taint {
    fn object(&self) -> Value {
        let word = |word| match word {
            Word::Empty => "",
            Word::K => "k",
            Word::L => "l",
        };
        let effect = match self.effect {
            Effect::NoSelect => "NoSelect",
            Effect::PreferNoSelect => "PreferNoSelect",
            Effect::NoSelectIfNew => "NoSelectIfNew",
        };
        let mut taint = json!({"key": word(self.key), "effect": effect});
        if let Some(value) = self.value {
            taint["value"] = word(value).into();
        }
        let near = |milliseconds| now() + SignedDuration::from_millis(milliseconds);
        let time = match &self.time {
            Time::Absent => None,
            Time::Null => Some(Value::Null),
            Time::Zero => Some("0001-01-01T00:00:00Z".into()),
            Time::Near(milliseconds) => Some(near(i64::from(*milliseconds)).to_string().into()),
            Time::Elsewhere(seconds) => {
                let time = near(3_600_000 + i64::from(*seconds) * 1000)
                    .strftime("%Y-%m-%dT%H:%M:%S+01:00");
                Some(time.to_string().into())
            }
            Time::Unreadable(text) => Some(text.as_str().into()),
        };
        if let Some(time) = time {
            taint["timeAdded"] = time;
        }
        if self.unknown {
            taint["unknown"] = json!({"a": null});
        }
        taint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_patched_passed_and_refused() {
        let mut dice = Rng::with_seed(1);
        let (mut patched, mut passed, mut refused) = (0, 0, 0);
        for _ in 0..1000 {
            let bytes: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(200).collect();
            let write = Write::arbitrary(&mut Unstructured::new(&bytes)).expect("enough bytes");
            let said = ask_json(
                FakeHub::Open,
                Webhook::MutateCluster,
                &write.review(),
                now(),
            );
            match (said.allowed, said.patch.0.is_empty()) {
                (true, false) => patched += 1,
                (true, true) => passed += 1,
                (false, _) => refused += 1,
            }
        }
        assert!(
            patched.min(passed).min(refused) > 20,
            "{patched}, {passed}, {refused}"
        );
    }
}
