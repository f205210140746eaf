//! The approval of the steps of a rollout, by two annotations.
//!
//! One says that each step needs an approval. The other one says what was approved: a template, by its hash, and how many clusters of each
//! placement may have it, such as `1f2e3d4c5b6a7988:app=4,db=2`. So an approval does not count for another template, and to write it twice
//! changes nothing.

use std::collections::BTreeMap;
use std::fmt;

use berth_api::labels::{ROLLOUT_APPROVAL, ROLLOUT_APPROVED};

use crate::template::Digest;

/// How a message begins to say how to approve.
const APPROVE: &str = "approve with ";

/// What comes before the value of the annotation in a message.
const OFFER: &str = ", or set the annotation berth.open-cluster-management.io/rollout-approved to ";

/// What was approved of the rollouts of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval {
    /// Each step needs an approval.
    pub is_required: bool,
    /// How many clusters of each placement may have the present template.
    counts: BTreeMap<String, usize>,
    /// The annotation is not of the form of an approval.
    pub is_invalid: bool,
}

/// The value of the annotation, to approve a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalOffer {
    template: String,
    counts: BTreeMap<String, usize>,
}

// === impl Approval ===

impl Approval {
    /// Reads the annotations of a replica set with this template and these placements. What they say of others does not count.
    pub(super) fn read<'p>(
        annotations: Option<&BTreeMap<String, String>>,
        template: Digest,
        placements: impl Iterator<Item = &'p str>,
    ) -> Self {
        let of = |key| annotations.and_then(|it| it.get(key)).map(|it| it.trim());
        let is_required = of(ROLLOUT_APPROVAL) == Some("required");
        let Some(text) = of(ROLLOUT_APPROVED).filter(|it| is_required && !it.is_empty()) else {
            return Self {
                is_required,
                ..Self::default()
            };
        };
        let Some(approved) = ApprovalOffer::read(text) else {
            return Self {
                is_required,
                is_invalid: true,
                ..Self::default()
            };
        };
        let mut counts = approved.counts;
        if approved.template != template.short() {
            counts.clear();
        }
        Self {
            is_required,
            counts: placements
                .filter_map(|name| counts.remove_entry(name))
                .collect(),
            is_invalid: false,
        }
    }

    /// How many clusters of a placement may have the template.
    pub fn of(&self, placement: &str) -> usize {
        self.counts.get(placement).copied().unwrap_or_default()
    }

    /// Returns true if nothing more is offered than was approved.
    pub fn covers(&self, offer: &ApprovalOffer) -> bool {
        let mut counts = offer.counts.iter();
        counts.all(|(placement, count)| *count <= self.of(placement))
    }

    /// The approval of these counts, and of what was approved of other placements.
    pub(super) fn offer<'p>(
        &self,
        template: Digest,
        more: impl Iterator<Item = (&'p str, usize)>,
    ) -> ApprovalOffer {
        let mut counts = self.counts.clone();
        counts.extend(more.map(|(name, count)| (name.to_owned(), count)));
        ApprovalOffer {
            template: template.short(),
            counts,
        }
    }
}

// === impl ApprovalOffer ===

impl ApprovalOffer {
    /// Finds the offer in the message of a condition ApprovalPending; `None` without one.
    pub fn of_message(message: &str) -> Option<Self> {
        let (_, text) = message.rsplit_once(OFFER)?;
        Self::read(text)
    }

    /// What a message says to have this approved, for its end.
    pub(super) fn words(&self, namespace: &str, name: &str) -> String {
        format!("{APPROVE}'berth approve replicaset {name} -n {namespace}'{OFFER}{self}")
    }

    /// Returns the part of a message before the offer: which clusters wait.
    pub fn who_waits(message: &str) -> &str {
        let before = message.rsplit_once(OFFER).map_or(message, |(it, _)| it);
        let who = before.rsplit_once(APPROVE).map_or(before, |(it, _)| it);
        who.trim_end_matches("; ")
    }

    /// Returns true if this is the template that it is about.
    pub fn is_about(&self, template: Digest) -> bool {
        self.template == template.short()
    }

    fn read(text: &str) -> Option<Self> {
        let (template, counts) = text.split_once(':')?;
        let count = |it: &str| {
            let (name, count) = it.split_once('=')?;
            let is_count = !count.is_empty() && count.bytes().all(|it| it.is_ascii_digit());
            let count = is_count.then(|| count.parse().ok())?;
            Some((name.to_owned(), count?))
        };
        let counts: Option<_> = counts.split(',').map(|it| count(it.trim())).collect();
        Some(Self {
            template: template.trim().to_owned(),
            counts: counts?,
        })
    }
}

impl fmt::Display for ApprovalOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.template)?;
        for (at, (name, count)) in self.counts.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{name}={count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(required: &str, approved: &str) -> BTreeMap<String, String> {
        BTreeMap::from([
            (ROLLOUT_APPROVAL.to_owned(), required.to_owned()),
            (ROLLOUT_APPROVED.to_owned(), approved.to_owned()),
        ])
    }

    #[test]
    fn only_an_approval_of_this_template_and_these_placements_counts() {
        let template = Digest::of_spec(None);
        let hash = template.short();
        for (sentence, approved, counts, is_invalid) in [
            ("nothing", String::new(), [0, 0], false),
            ("one placement", format!("{hash}:app=4"), [4, 0], false),
            ("both", format!("{hash}:app=4,db=2"), [4, 2], false),
            (
                "with spaces",
                format!(" {hash}: app=4, db=2 "),
                [4, 2],
                false,
            ),
            ("another one", format!("{hash}:other=9"), [0, 0], false),
            (
                "another template",
                "0123456789abcdef:app=4".to_owned(),
                [0, 0],
                false,
            ),
            ("no template", "app=4".to_owned(), [0, 0], true),
            ("no count", format!("{hash}:app"), [0, 0], true),
            ("a sign", format!("{hash}:app=+4"), [0, 0], true),
            ("below zero", format!("{hash}:app=-4"), [0, 0], true),
            ("half a list", format!("{hash}:app=4,"), [0, 0], true),
            (
                "too much",
                format!("{hash}:app=99999999999999999999999"),
                [0, 0],
                true,
            ),
        ] {
            let annotations = annotations("required", &approved);
            let read = Approval::read(Some(&annotations), template, ["app", "db"].into_iter());
            assert!(read.is_required, "{sentence}");
            assert_eq!(["app", "db"].map(|it| read.of(it)), counts, "{sentence}");
            assert_eq!(read.is_invalid, is_invalid, "{sentence}");
        }
        for other in ["", "true", "Required", "false"] {
            let annotations = annotations(other, &format!("{hash}:app=4"));
            let read = Approval::read(Some(&annotations), template, ["app"].into_iter());
            assert_eq!(read, Approval::default(), "{other:?}");
        }
    }

    #[test]
    fn an_offer_is_read_as_it_is_written() {
        let template = Digest::of_spec(None);
        let hash = template.short();
        let annotations = annotations("required", &format!("{hash}:app=4,db=2"));
        let approval = Approval::read(Some(&annotations), template, ["app", "db"].into_iter());
        let offer = approval.offer(template, [("app", 6)].into_iter());
        assert_eq!(offer.to_string(), format!("{hash}:app=6,db=2"));
        assert!(!approval.covers(&offer) && offer.is_about(template));
        let message = format!("2 wait; {}", offer.words("ns", "web"));
        assert_eq!(ApprovalOffer::of_message(&message), Some(offer));
        for other in [
            "",
            "2 wait",
            &message[..message.len() - 1].replace("db=", "db"),
        ] {
            assert_eq!(ApprovalOffer::of_message(other), None, "{other}");
        }
    }
}
