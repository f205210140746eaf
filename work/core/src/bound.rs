//! Bounds the status of a ManifestWork with very many manifests, which the API server would not store, and its messages.

use berth_api::conditions::{FALSE, TRUE, condition_of, manifest, manifest_work};
use berth_api::text::shorten;
use berth_api::work::{ManifestCondition, ManifestWork};

/// What an API server stores of an object at most, in bytes: <https://etcd.io/docs/v3.5/dev-guide/limit/>.
pub(crate) const STORED: usize = 3 << 19;

/// Upper bound on the states of the objects, in bytes as JSON, if the manifests take no more than the 512,000 bytes that the gate lets through.
const LARGEST: usize = 900_000;

/// What metadata and conditions of a ManifestWork take at most, as a rule. One with more gets a shorter status once the API server has refused
/// the first.
const REST: usize = STORED - LARGEST - 512_000;

/// Fewer states are never too large.
const FEW: usize = 64;

/// Upper bound on the states of the objects of this work, in bytes as JSON.
pub(crate) fn room(work: &ManifestWork) -> usize {
    let manifests = work.spec.workload.manifests.iter();
    let manifests: usize = manifests.map(|it| it.text().len() + 1).sum();
    let configs = &work.spec.manifest_configs;
    let configs = serde_json::to_vec(configs).map_or(0, |it| it.len());
    STORED
        .saturating_sub(REST + manifests + configs)
        .min(LARGEST)
}

/// Leaves out states until the others fit. States that say more than that an object is as prescribed are left out last. Returns the number
/// of those that were left out.
pub(crate) fn bound(states: &mut Vec<ManifestCondition>, largest: impl Fn() -> usize) -> usize {
    if states.len() <= FEW {
        return 0;
    }
    let largest = largest();
    let sizes: Vec<_> = states.iter().map(size).collect();
    if sizes.iter().sum::<usize>() <= largest {
        return 0;
    }
    let (first, last): (Vec<_>, Vec<_>) = (0..states.len()).partition(|at| says_more(&states[*at]));
    let mut room = largest;
    let mut fits = vec![false; states.len()];
    for at in first.into_iter().chain(last) {
        let Some(rest) = room.checked_sub(sizes[at]) else {
            break;
        };
        room = rest;
        fits[at] = true;
    }
    let before = states.len();
    let mut fits = fits.into_iter();
    states.retain(|_| fits.next() == Some(true));
    before - states.len()
}

/// The object is not as prescribed, or is finished, or has values that were asked for.
fn says_more(state: &ManifestCondition) -> bool {
    let status = |type_| condition_of(&state.conditions, type_).map(|it| it.status.as_str());
    let is = |type_, value| status(type_) == Some(value);
    let fails = |type_| status(type_).is_some_and(|it| it != TRUE);
    fails(manifest::APPLIED)
        || fails(manifest::AVAILABLE)
        || is(manifest::STATUS_FEEDBACK_SYNCED, FALSE)
        || is(manifest_work::COMPLETE, TRUE)
        || is(manifest_work::DEGRADED, TRUE)
        || is(manifest_work::DRIFTED, TRUE)
        || !state.status_feedback.values.is_empty()
}

fn size(state: &ManifestCondition) -> usize {
    // A state is plain data, and serializing it cannot fail.
    serde_json::to_vec(state).map_or(0, |it| it.len() + 1)
}

/// The message with its middle left out if it is longer than this number of bytes; see [`shorten`].
pub(crate) fn shortened(message: String, longest: usize) -> String {
    if message.len() <= longest {
        return message;
    }
    shorten(&message, longest).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn state(name: usize, applied: &str) -> ManifestCondition {
        let condition = |type_: &str, status: &str| {
            json!({
                "type": type_, "status": status, "reason": "R", "message": "m",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        serde_json::from_value(json!({
            "resourceMeta": {"ordinal": name, "kind": "ConfigMap", "name": format!("{name:05}"), "group": "", "namespace": "a", "resource": "configmaps", "version": "v1"},
            "conditions": [condition("Applied", applied), condition("Available", "True")],
        }))
        .unwrap()
    }

    #[test]
    fn what_fits_stays() {
        let all: Vec<_> = (0..100).map(|at| state(at, "True")).collect();
        let mut states = all.clone();
        let size = all.iter().map(size).sum();
        assert_eq!(bound(&mut states, || size), 0);
        assert_eq!(states, all);
        assert_eq!(bound(&mut states, || size - 1), 1);
        assert_eq!(states, all[..99]);
    }

    #[test]
    fn what_is_not_as_prescribed_stays_longest() {
        let of = |at| state(at, if at % 10 == 9 { "False" } else { "True" });
        let mut states: Vec<_> = (0..100).map(of).collect();
        let one = size(&states[0]);
        let left_out = bound(&mut states, || one * 12);
        assert_eq!(left_out + states.len(), 100);
        let ordinals = states.iter().map(|it| it.resource_meta.ordinal);
        let ordinals: Vec<_> = ordinals.collect();
        assert!(ordinals.is_sorted());
        assert_eq!(
            ordinals.iter().filter(|it| **it % 10 == 9).count(),
            10,
            "{ordinals:?}"
        );
        assert_eq!(ordinals[0], 0);
    }

    #[test]
    fn a_few_large_states_stay() {
        let mut states: Vec<_> = (0..FEW).map(|at| state(at, "True")).collect();
        assert_eq!(bound(&mut states, || 0), 0);
    }

    #[test]
    fn a_long_message_keeps_its_reason() {
        let message = format!(
            "rollout failed: {} the quota is exceeded",
            "x".repeat(2_000)
        );
        let short = shortened(message, 256);
        assert!(short.len() <= 256);
        assert!(short.starts_with("rollout failed: ") && short.ends_with(" the quota is exceeded"));
    }
}
