//! The times of taints: when each got its value and effect. Only the gate writes them.
//!
//! OCM refuses an update in which an unchanged taint lacks the stored time, so a manifest cannot be applied again. Here,
//! such a taint keeps the stored time.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::object::{Taint, Text};

/// A time that differs from now by at most this number of seconds counts as the gate's own, from an earlier pass over the
/// same change.
pub const OURS: u64 = 5;

/// The action for a taint's `timeAdded`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimeAdded {
    /// Keep it.
    Keep,
    /// Set it to this time, in RFC 3339.
    Set(String),
    /// Refuse the change: the requester set it.
    Refuse,
}

/// Returns the action for each taint of the submitted object, in their order.
pub(super) fn times<'t>(
    new: &'t [Taint<'_>],
    old: Option<&'t [Taint<'_>]>,
    now: Timestamp,
) -> impl Iterator<Item = TimeAdded> {
    // Most changes do not change taints.
    let unchanged = old == Some(new);
    let stored = old
        .filter(|_| !unchanged && !new.is_empty())
        .map(Stored::new);
    new.iter().map(move |taint| match &stored {
        _ if unchanged => TimeAdded::Keep,
        None => on_create(taint, now),
        Some(stored) => on_update(taint, stored, now),
    })
}

/// An index of the stored taints. Requesters choose their number, so that a search through all would be too slow.
struct Stored<'t> {
    /// The time of the first taint with a key, effect and value.
    first: HashMap<Identity<'t>, Option<&'t Text<'t>>>,
    /// The stored times of a key, effect and value.
    same: HashSet<(Identity<'t>, Given<'t>)>,
    /// The stored times of a key.
    times: HashSet<(&'t str, Given<'t>)>,
}

impl<'t> Stored<'t> {
    fn new(taints: &'t [Taint<'_>]) -> Self {
        let mut first = HashMap::with_capacity(taints.len());
        let mut same = HashSet::with_capacity(taints.len());
        let mut times = HashSet::with_capacity(taints.len());
        for taint in taints {
            let (identity, time) = (identity(taint), taint.time_added.as_ref());
            first.entry(identity).or_insert(time);
            same.insert((identity, given(time)));
            times.insert((taint.key.as_str(), given(time)));
        }
        Self { first, same, times }
    }
}

/// All taints of a new object are added now, whatever time the requester wrote.
fn on_create(taint: &Taint<'_>, now: Timestamp) -> TimeAdded {
    match given(taint.time_added.as_ref()) {
        Given::At(time) if is_ours(time, now) => TimeAdded::Keep,
        _ => TimeAdded::Set(rfc3339(now)),
    }
}

fn on_update(taint: &Taint<'_>, stored: &Stored<'_>, now: Timestamp) -> TimeAdded {
    let submitted = given(taint.time_added.as_ref());
    let identity = identity(taint);
    if let Some(time) = stored.first.get(&identity).copied() {
        return match (submitted, time) {
            (Given::Nothing, Some(time)) if !is_zero(time) => {
                TimeAdded::Set(time.as_str().to_owned())
            }
            (Given::Nothing, _) => TimeAdded::Keep,
            (submitted, _) if stored.same.contains(&(identity, submitted)) => TimeAdded::Keep,
            _ => TimeAdded::Refuse,
        };
    }
    match submitted {
        Given::Nothing => TimeAdded::Set(rfc3339(now)),
        Given::At(time) if is_ours(time, now) => TimeAdded::Keep,
        echoed if stored.times.contains(&(taint.key.as_str(), echoed)) => {
            TimeAdded::Set(rfc3339(now))
        }
        _ => TimeAdded::Refuse,
    }
}

/// The identity of a taint: key, effect and value.
type Identity<'t> = (&'t str, &'t str, &'t str);

fn identity<'t>(taint: &'t Taint<'_>) -> Identity<'t> {
    let Taint {
        key, effect, value, ..
    } = taint;
    (key.as_str(), effect.as_str(), value.as_str())
}

/// The time of a taint, as submitted or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Given<'t> {
    /// Absent, null, or Go's zero time.
    Nothing,
    At(Timestamp),
    /// Not a time in RFC 3339.
    Unreadable(&'t str),
}

fn given<'t>(time_added: Option<&'t Text<'_>>) -> Given<'t> {
    match time_added {
        None => Given::Nothing,
        Some(time) if is_zero(time) => Given::Nothing,
        Some(time) => time
            .as_str()
            .parse()
            .map_or(Given::Unreadable(time.as_str()), Given::At),
    }
}

/// Returns true for Go's zero time, which Kubernetes treats as absent.
fn is_zero(time: &Text<'_>) -> bool {
    time.as_str() == "0001-01-01T00:00:00Z"
}

fn is_ours(time: Timestamp, now: Timestamp) -> bool {
    // Times are written with whole seconds, so the fraction of now must not count.
    now.as_second().abs_diff(time.as_second()) <= OURS
}

/// Formats a time as Kubernetes does: UTC, whole seconds.
fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-21T12:00:00Z";

    fn taint<'a>(text: &'a str) -> Taint<'a> {
        let mut words = text.split(' ');
        let mut word = || Text::from(words.next().unwrap());
        Taint {
            key: word(),
            value: word(),
            effect: word(),
            time_added: words.next().map(Text::from),
            says_more: false,
        }
    }

    fn outcome(new: &str, old: Option<&[&str]>) -> String {
        let new = [taint(new)];
        let old: Option<Vec<_>> = old.map(|taints| taints.iter().map(|text| taint(text)).collect());
        match times(&new, old.as_deref(), NOW.parse().unwrap())
            .next()
            .unwrap()
        {
            TimeAdded::Keep => "keep".to_owned(),
            TimeAdded::Set(time) => time,
            TimeAdded::Refuse => "refuse".to_owned(),
        }
    }

    #[test]
    fn times_belong_to_the_gate() {
        const T10: &str = "2026-11-21T11:59:50Z";
        for (case, new, old, expected) in [
            (
                "a new object's taint is added now",
                "k v NoSelect",
                None,
                NOW,
            ),
            (
                "a time given on CREATE is overwritten",
                "k v NoSelect 2020-01-01T00:00:00Z",
                None,
                NOW,
            ),
            (
                "a second pass on CREATE changes nothing",
                "k v NoSelect 2026-11-21T11:59:57Z",
                None,
                "keep",
            ),
            (
                "an added taint is added now",
                "k v NoSelect",
                Some(&["j v NoSelect"][..]),
                NOW,
            ),
            (
                "an added taint with a time is refused",
                "k v NoSelect 2026-11-21T11:00:00Z",
                Some(&[]),
                "refuse",
            ),
            (
                "a future time is refused",
                "k v NoSelect 2026-11-21T12:00:06Z",
                Some(&[]),
                "refuse",
            ),
            (
                "a second pass on UPDATE changes nothing",
                "k v NoSelect 2026-11-21T11:59:55Z",
                Some(&[]),
                "keep",
            ),
            (
                "another zone's name for now is still now",
                "k v NoSelect 2026-11-21T13:00:00+01:00",
                Some(&[]),
                "keep",
            ),
            (
                "the zero time counts as none",
                "k v NoSelect 0001-01-01T00:00:00Z",
                Some(&[]),
                NOW,
            ),
            (
                "an unchanged taint without a time keeps it",
                "k v E",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                T10,
            ),
            (
                "an unchanged taint with its time is kept",
                "k v E 2026-11-21T11:59:50Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                "keep",
            ),
            (
                "an unchanged taint with another time is refused",
                "k v E 2026-11-21T11:59:40Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                "refuse",
            ),
            (
                "an unchanged taint cannot be made young",
                "k v E 2026-11-21T12:00:00Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                "refuse",
            ),
            (
                "an unchanged taint that never had a time stays so",
                "k v E",
                Some(&["k v E"]),
                "keep",
            ),
            (
                "a time cannot be given to it later",
                "k v E 2026-11-21T11:59:40Z",
                Some(&["k v E"]),
                "refuse",
            ),
            (
                "a changed effect is added now",
                "k v F",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                NOW,
            ),
            (
                "a changed effect with the old time echoed gets a new one",
                "k v F 2026-11-21T11:59:50Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                NOW,
            ),
            (
                "a changed value with the old time echoed gets a new one",
                "k w E 2026-11-21T11:59:50Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                NOW,
            ),
            (
                "a changed value with a made-up time is refused",
                "k w E 2026-11-21T11:59:40Z",
                Some(&["k v E 2026-11-21T11:59:50Z"]),
                "refuse",
            ),
            (
                "two taints of one key are told apart by their effect",
                "k v F 2026-11-21T11:59:50Z",
                Some(&["k v E 2026-11-21T11:00:00Z", "k v F 2026-11-21T11:59:50Z"]),
                "keep",
            ),
            (
                "of twins each keeps its time",
                "k v E 2026-11-21T11:59:50Z",
                Some(&["k v E 2026-11-21T11:00:00Z", "k v E 2026-11-21T11:59:50Z"]),
                "keep",
            ),
            (
                "no time at all is refused",
                "k v E yesterday",
                Some(&[]),
                "refuse",
            ),
            (
                "no time at all is overwritten on CREATE",
                "k v E yesterday",
                None,
                NOW,
            ),
            (
                "any stored time may be echoed",
                "k v E x",
                Some(&["k v E x"]),
                "keep",
            ),
        ] {
            assert_eq!(outcome(new, old), expected, "{case}");
        }
    }

    #[test]
    fn a_second_pass_comes_up_to_five_seconds_later() {
        let first = "2026-11-21T12:00:00.9Z".parse().unwrap();
        let text = format!("k v E {}", rfc3339(first));
        for (after, expected) in [
            (0, TimeAdded::Keep),
            (5_000, TimeAdded::Keep),
            (6_000, TimeAdded::Refuse),
        ] {
            let now = first + jiff::SignedDuration::from_millis(after);
            let taints = [taint(&text)];
            assert_eq!(
                times(&taints, Some(&[]), now).next(),
                Some(expected),
                "after {after} ms"
            );
        }
    }

    #[test]
    fn the_work_is_proportional_to_the_number_of_taints() {
        let keys = |prefix: &str| {
            (0..50_000)
                .map(|i| format!("{prefix}{i} v E"))
                .collect::<Vec<_>>()
        };
        let (new, old) = (keys("new"), keys("old"));
        let taints =
            |keys: &'static [String]| keys.iter().map(|text| taint(text)).collect::<Vec<_>>();
        let (new, old) = (taints(new.leak()), taints(old.leak()));
        let begun = std::time::Instant::now();
        let set = times(&new, Some(&old), NOW.parse().unwrap());
        assert!(
            set.into_iter()
                .all(|time| time == TimeAdded::Set(NOW.to_owned()))
        );
        // Each with each would take minutes.
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
