//! `status.clusterClaims`: what the managed cluster says about itself.
//!
//! The order and the cut are those of OCM's agent: reserved claims first, by name; then custom ones by name, up to a maximum.
//! ClusterClaims are documented at <https://open-cluster-management.io/docs/concepts/cluster-inventory/clusterclaim/>.

use std::collections::BTreeMap;

use berth_api::cluster::ManagedClusterClaim;

/// The names that OCM defines. A custom maximum does not cut them.
const RESERVED: [&str; 4] = [
    "id.k8s.io",
    "kubeversion.open-cluster-management.io",
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
];

/// The version of the agent, such as `v0.1.0`. Not in OCM, whose agent replaces all claims when it takes over.
///
/// The hub learns it from nothing else: field managers and Leases have no versions. It counts as reserved, and wins over an object of this
/// name.
pub const AGENT_VERSION: &str = "agent-version.berth.open-cluster-management.io";

/// The longest name in characters, from the schema of ManagedCluster.
const LONGEST_NAME: usize = 253;

/// The longest value in characters, from the schema of ManagedCluster.
const LONGEST_VALUE: usize = 1024;

/// Which claims are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSettings {
    /// The most custom claims. Zero reports none of them. OCM's default is 20.
    pub max_custom: usize,
    /// Claims whose names end so count as reserved.
    pub reserved_suffixes: Vec<String>,
    /// The value of [`AGENT_VERSION`]. `None`: the agent adds no claim of its own.
    pub agent_version: Option<String>,
}

/// A ClusterClaim or a ClusterProperty of the managed cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `spec.value`.
    pub value: &'a str,
    /// Reports whether the object has the label `open-cluster-management.io/spoke-only`, with any value. Such a claim is not reported.
    pub is_spoke_only: bool,
}

/// What is reported, and what is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// For `status.clusterClaims`.
    pub reported: Vec<ManagedClusterClaim>,
    /// Names of claims that the hub's schema does not allow, with the reason. OCM's agent sends them, and the hub refuses its whole report.
    pub invalid: Vec<(String, &'static str)>,
    /// Names of custom claims over the maximum.
    pub over_maximum: Vec<String>,
}

impl Default for ClaimSettings {
    fn default() -> Self {
        Self {
            max_custom: 20,
            reserved_suffixes: Vec::new(),
            agent_version: None,
        }
    }
}

/// Chooses the claims to report. A property wins over a claim of its name, and the agent's version over both.
#[must_use]
pub fn choose<'a>(
    properties: impl IntoIterator<Item = Claim<'a>>,
    claims: impl IntoIterator<Item = Claim<'a>>,
    settings: &ClaimSettings,
) -> Claims {
    let shown = |claim: &Claim<'_>| !claim.is_spoke_only;
    let mut by_name: BTreeMap<&str, &str> = BTreeMap::new();
    for claim in properties.into_iter().chain(claims).filter(shown) {
        by_name.entry(claim.name).or_insert(claim.value);
    }
    if let Some(version) = &settings.agent_version {
        by_name.insert(AGENT_VERSION, version);
    }

    let mut chosen = Claims::default();
    let mut custom = Vec::new();
    for (name, value) in by_name {
        if let Some(why) = fault(name, value) {
            chosen.invalid.push((name.to_owned(), why));
        } else if settings.is_reserved(name) {
            chosen.reported.push(claim_of(name, value));
        } else {
            custom.push((name, value));
        }
    }
    let over = custom.split_off(settings.max_custom.min(custom.len()));
    let custom = custom
        .into_iter()
        .map(|(name, value)| claim_of(name, value));
    chosen.reported.extend(custom);
    chosen.over_maximum = over.into_iter().map(|(name, _)| name.to_owned()).collect();
    chosen
}

// === impl ClaimSettings ===

impl ClaimSettings {
    fn is_reserved(&self, name: &str) -> bool {
        RESERVED.contains(&name)
            || name == AGENT_VERSION
            || self
                .reserved_suffixes
                .iter()
                .any(|suffix| name.ends_with(suffix.as_str()))
    }
}

/// Why the schema of ManagedCluster refuses this claim.
fn fault(name: &str, value: &str) -> Option<&'static str> {
    let is_longer = |text: &str, longest| text.len() > longest && text.chars().count() > longest;
    match () {
        () if name.is_empty() => Some("its name is empty"),
        () if is_longer(name, LONGEST_NAME) => Some("its name has more than 253 characters"),
        () if value.is_empty() => Some("its value is empty"),
        () if is_longer(value, LONGEST_VALUE) => Some("its value has more than 1024 characters"),
        () => None,
    }
}

fn claim_of(name: &str, value: &str) -> ManagedClusterClaim {
    ManagedClusterClaim {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim<'a>(name: &'a str, value: &'a str) -> Claim<'a> {
        Claim {
            name,
            value,
            is_spoke_only: false,
        }
    }

    fn names(claims: &Claims) -> Vec<&str> {
        claims.reported.iter().map(|it| it.name.as_str()).collect()
    }

    #[test]
    fn reserved_claims_come_first_and_each_part_is_sorted() {
        let claims = [
            "b",
            "product.open-cluster-management.io",
            "a",
            "id.k8s.io",
            "c.corp",
        ]
        .map(|it| claim(it, "v"));
        let settings = ClaimSettings {
            reserved_suffixes: vec![".corp".to_owned()],
            ..ClaimSettings::default()
        };
        let chosen = choose([], claims, &settings);
        let expected = [
            "c.corp",
            "id.k8s.io",
            "product.open-cluster-management.io",
            "a",
            "b",
        ];
        assert_eq!(names(&chosen), expected);
    }

    #[test]
    fn the_maximum_cuts_custom_claims_only() {
        let claims = ["id.k8s.io", "a", "b", "c"].map(|it| claim(it, "v"));
        for (max_custom, expected, over) in [
            (0, &["id.k8s.io"][..], &["a", "b", "c"][..]),
            (2, &["id.k8s.io", "a", "b"], &["c"]),
            (3, &["id.k8s.io", "a", "b", "c"], &[]),
            (usize::MAX, &["id.k8s.io", "a", "b", "c"], &[]),
        ] {
            let settings = ClaimSettings {
                max_custom,
                ..ClaimSettings::default()
            };
            let chosen = choose([], claims, &settings);
            assert_eq!(names(&chosen), expected, "{max_custom}");
            assert_eq!(chosen.over_maximum, over, "{max_custom}");
        }
    }

    #[test]
    fn the_version_of_the_agent_is_reported_whatever_else_is() {
        let settings = |max_custom| ClaimSettings {
            max_custom,
            agent_version: Some("v1.2.3".to_owned()),
            ..ClaimSettings::default()
        };
        for (claims, max_custom, expected) in [
            (
                &[][..],
                20,
                &["agent-version.berth.open-cluster-management.io=v1.2.3"][..],
            ),
            (
                &[claim("id.k8s.io", "c1"), claim("a", "b")],
                0,
                &[
                    "agent-version.berth.open-cluster-management.io=v1.2.3",
                    "id.k8s.io=c1",
                ],
            ),
            (
                &[claim(AGENT_VERSION, "of a user"), claim("a", "b")],
                1,
                &[
                    "agent-version.berth.open-cluster-management.io=v1.2.3",
                    "a=b",
                ],
            ),
        ] {
            let chosen = choose([], claims.iter().copied(), &settings(max_custom));
            let pairs = chosen.reported.iter();
            let pairs: Vec<_> = pairs
                .map(|it| format!("{}={}", it.name, it.value))
                .collect();
            assert_eq!(pairs, expected, "{claims:?}");
        }
    }

    #[test]
    fn a_property_wins_over_a_claim_and_a_label_hides_both() {
        let hidden = Claim {
            is_spoke_only: true,
            ..claim("id.k8s.io", "hidden")
        };
        let chosen = choose(
            [claim("a", "property"), hidden],
            [claim("a", "claim"), claim("id.k8s.io", "claim")],
            &ClaimSettings::default(),
        );
        let pairs: Vec<_> = chosen
            .reported
            .iter()
            .map(|it| (it.name.as_str(), it.value.as_str()))
            .collect();
        assert_eq!(pairs, [("id.k8s.io", "claim"), ("a", "property")]);
    }

    #[test]
    fn a_claim_that_the_hub_would_refuse_drops_only_itself() {
        let long = "ä".repeat(1024);
        let longer = "ä".repeat(1025);
        let name = "n".repeat(254);
        let claims = [
            claim("long", &long),
            claim("longer", &longer),
            claim("empty", ""),
            claim(&name, "v"),
            claim("", "v"),
        ];
        let chosen = choose(claims, [], &ClaimSettings::default());
        assert_eq!(names(&chosen), ["long"]);
        let invalid: Vec<_> = chosen
            .invalid
            .iter()
            .map(|(name, why)| (name.as_str(), *why))
            .collect();
        let expected = [
            ("", "its name is empty"),
            ("empty", "its value is empty"),
            ("longer", "its value has more than 1024 characters"),
            (name.as_str(), "its name has more than 253 characters"),
        ];
        assert_eq!(invalid, expected);
    }

    proptest! {
        /// Nothing depends on the order in which objects come, and no name is lost or reported twice.
        #[test]
        fn the_report_depends_on_the_set_of_claims_only(
            mut claims in prop::collection::vec(("[a-c]{0,2}(\\.corp)?", "[x-z]{1,2}"), 0..12),
            max_custom in 0_usize..6,
        ) {
            claims.sort();
            claims.dedup_by(|one, other| one.0 == other.0);
            let settings = ClaimSettings { max_custom, reserved_suffixes: vec![".corp".to_owned()], agent_version: None };
            let forward = choose([], claims.iter().map(|(name, value)| claim(name, value)), &settings);
            let backward = choose([], claims.iter().rev().map(|(name, value)| claim(name, value)), &settings);
            prop_assert_eq!(&forward, &backward);
            let parts = forward.reported.len() + forward.invalid.len() + forward.over_maximum.len();
            prop_assert_eq!(parts, claims.len());
        }
    }
}
