//! What is left out of the report is logged once: not again at every change of what is reported.

use std::collections::{BTreeSet, HashSet};

use berth_agent_core::claims::Claims;
use tracing::warn;

/// What is left out of the report, and was logged.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    amounts: BTreeSet<String>,
    invalid: HashSet<String>,
    is_over_maximum: bool,
}

/// Claims that the hub does not allow, and that were not logged before.
#[derive(Debug, PartialEq, Eq)]
struct Invalid<'a> {
    count: usize,
    first: &'a str,
    why: &'static str,
}

// === impl LeftOut ===

impl LeftOut {
    /// Notes the resources of which some node reports an amount that cannot be read.
    pub(super) fn amounts(&mut self, unreadable: &BTreeSet<String>) {
        if !unreadable.is_subset(&self.amounts) {
            warn!(resources = ?unreadable, "some nodes report amounts that cannot be read; they do not count");
        }
        self.amounts.clone_from(unreadable);
    }

    /// Notes the claims that are not reported.
    pub(super) fn claims(&mut self, chosen: &Claims) {
        if let Some(Invalid { count, first, why }) = self.invalid(chosen) {
            warn!(
                count,
                claim = first,
                why,
                "the hub does not allow this claim; it is not reported"
            );
        }
        if self.over_maximum(chosen) {
            warn!(
                count = chosen.over_maximum.len(),
                first = chosen.over_maximum[0],
                "there are more custom claims than --max-custom-cluster-claims; the last ones by name are not reported"
            );
        }
    }

    fn invalid<'a>(&mut self, chosen: &'a Claims) -> Option<Invalid<'a>> {
        let is_new = |(name, _): &&(String, _)| !self.invalid.contains(name);
        let mut new = chosen.invalid.iter().filter(is_new);
        let invalid = new.next().map(|(first, why)| Invalid {
            count: 1 + new.count(),
            first,
            why,
        });
        self.invalid = chosen
            .invalid
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        invalid
    }

    fn over_maximum(&mut self, chosen: &Claims) -> bool {
        let is_over = !chosen.over_maximum.is_empty();
        let is_news = is_over && !self.is_over_maximum;
        self.is_over_maximum = is_over;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use berth_agent_core::claims::{Claim, ClaimSettings, choose};

    use super::*;

    fn chosen(claims: &[(&str, &str)]) -> Claims {
        let claims = claims.iter().map(|(name, value)| Claim {
            name,
            value,
            is_spoke_only: false,
        });
        let settings = ClaimSettings {
            max_custom: 1,
            ..ClaimSettings::default()
        };
        choose([], claims, &settings)
    }

    #[test]
    fn a_claim_that_is_left_out_is_logged_once_while_others_change() {
        let mut left_out = LeftOut::default();
        let news = |count, first| {
            Some(Invalid {
                count,
                first,
                why: "its value is empty",
            })
        };
        for (claims, expected) in [
            (&[("a", ""), ("b", ""), ("c", "1")][..], news(2, "a")),
            (&[("a", ""), ("b", ""), ("c", "2")], None),
            (&[("a", ""), ("c", "2")], None),
            (&[("a", ""), ("b", ""), ("c", "2"), ("d", "")], news(2, "b")),
        ] {
            assert_eq!(left_out.invalid(&chosen(claims)), expected, "{claims:?}");
        }
    }

    #[test]
    fn more_claims_than_the_maximum_are_logged_once_until_there_are_fewer() {
        let mut left_out = LeftOut::default();
        let (few, many) = ([("a", "1")], [("a", "1"), ("b", "1"), ("c", "1")]);
        for (claims, expected) in [
            (&few[..], false),
            (&many[..], true),
            (&many[..2], false),
            (&few, false),
            (&many, true),
        ] {
            assert_eq!(
                left_out.over_maximum(&chosen(claims)),
                expected,
                "{claims:?}"
            );
        }
    }
}
