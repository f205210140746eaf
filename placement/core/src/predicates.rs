//! The predicates of a placement: a cluster must match one of them, and of that one every selector.

use berth_api::placement::{ClusterClaimSelector, ClusterPredicate};
use berth_api::selector::{Selector, listed};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::facts::Cluster;
use crate::misconfigured::Misconfiguration;

/// The predicates, ready to match. Without any, every cluster matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Predicates(Vec<Selectors>);

/// A label selector and a claim selector, both of which must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selectors {
    labels: Selector,
    claims: Selector,
}

/// Why a cluster does not match a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The index of the predicate.
    pub predicate: usize,
    /// The selector that does not match, the first of them.
    pub part: Part,
    /// The requirement of the selector that the cluster does not meet, such as `region in (eu)`.
    pub requirement: String,
}

/// A selector of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The label selector.
    Labels,
    /// The claim selector.
    Claims,
}

// === impl Predicates ===

impl Predicates {
    pub(crate) fn new(predicates: &[ClusterPredicate]) -> Result<Self, Misconfiguration> {
        let selectors = predicates.iter().enumerate().map(|(index, predicate)| {
            let selector = &predicate.required_cluster_selector;
            let path = format!("spec.predicates[{index}].requiredClusterSelector");
            Selectors::new(&path, &selector.label_selector, &selector.claim_selector).map_err(
                |mistakes| Misconfiguration::PredicateSelector {
                    predicate: index,
                    mistakes,
                },
            )
        });
        Ok(Self(selectors.collect::<Result<_, _>>()?))
    }

    pub(crate) fn matches(&self, cluster: &Cluster) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it.matches(cluster))
    }

    /// Returns for each predicate why the cluster does not match it; nothing if it matches one.
    pub(crate) fn mismatches(&self, cluster: &Cluster) -> Vec<Mismatch> {
        let mismatches = self.0.iter().enumerate().map(|(predicate, selectors)| {
            let (part, requirement) = selectors.unmet(cluster)?;
            Some(Mismatch {
                predicate,
                part,
                requirement,
            })
        });
        mismatches.collect::<Option<_>>().unwrap_or_default()
    }
}

// === impl Selectors ===

impl Selectors {
    /// Checks the selectors of the object at a path.
    ///
    /// # Errors
    /// The mistakes of the first selector that has some, with their paths.
    pub(crate) fn new(
        path: &str,
        labels: &LabelSelector,
        claims: &ClusterClaimSelector,
    ) -> Result<Self, String> {
        let claims = LabelSelector {
            match_expressions: Some(claims.match_expressions.clone()),
            match_labels: None,
        };
        let parse = |field, selector| {
            Selector::parse(selector).map_err(|errors| listed(&format!("{path}.{field}"), &errors))
        };
        Ok(Self {
            labels: parse("labelSelector", labels)?,
            claims: parse("claimSelector", &claims)?,
        })
    }

    pub(crate) fn matches(&self, cluster: &Cluster) -> bool {
        self.labels.matches(&cluster.labels) && self.claims.matches(&cluster.claims)
    }

    fn unmet(&self, cluster: &Cluster) -> Option<(Part, String)> {
        let labels = || Some((Part::Labels, self.labels.unmet(&cluster.labels)?));
        let claims = || Some((Part::Claims, self.claims.unmet(&cluster.claims)?));
        labels().or_else(claims)
    }
}
