//! The annotation that pauses the rollouts of a replica set.

use std::borrow::Cow;
use std::collections::BTreeMap;

use berth_api::labels::ROLLOUT_PAUSED;
use berth_api::text::shorten;

/// Upper bound on the bytes of the reason of a pause that are kept and reported.
pub const LONGEST_PAUSE_REASON: usize = 256;

/// Returns why the annotations pause the rollouts, shortened; empty if they give no reason. `None` if the rollouts are not paused.
pub fn pause_reason(annotations: Option<&BTreeMap<String, String>>) -> Option<Cow<'_, str>> {
    let value = annotations?.get(ROLLOUT_PAUSED)?.trim();
    match value {
        "false" => None,
        "true" => Some(Cow::Borrowed("")),
        reason => Some(shorten(reason, LONGEST_PAUSE_REASON)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_false_and_no_annotation_do_not_pause() {
        let long = "ü".repeat(1000);
        for (value, expected) in [
            (None, None),
            (Some("false"), None),
            (Some(" false "), None),
            (Some("true"), Some("")),
            (Some(""), Some("")),
            (Some("False"), Some("False")),
            (Some(" the disks of rack 7 \n"), Some("the disks of rack 7")),
        ] {
            let value = value.map(|it| (ROLLOUT_PAUSED.to_owned(), it.to_owned()));
            let annotations: BTreeMap<_, _> = value.into_iter().collect();
            let reason = pause_reason(Some(&annotations));
            assert_eq!(reason.as_deref(), expected, "{annotations:?}");
        }
        assert_eq!(pause_reason(None), None);
        let annotations = BTreeMap::from([(ROLLOUT_PAUSED.to_owned(), long)]);
        let reason = pause_reason(Some(&annotations)).unwrap();
        assert!(reason.len() <= LONGEST_PAUSE_REASON, "{}", reason.len());
    }
}
