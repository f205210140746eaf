//! The predicates of a placement: a cluster must match one of them, and of that one every selector.
//!
//! CEL expressions are evaluated only if labels and claims match.

use berth_api::placement::{ClusterClaimSelector, ClusterPredicate};
use berth_api::selector::{Selector, listed};
use berth_api::text::cut;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::cel::{self, Expression, Failure};
use crate::facts::Cluster;
use crate::misconfigured::Misconfiguration;
use crate::schedule::Hub;

/// Upper bound on the characters of an expression in a reason.
const SHOWN: usize = 100;

/// The predicates, ready to match. Without any, every cluster matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Predicates(Vec<Predicate>);

/// Selectors and expressions, all of which must match.
#[derive(Clone, Debug, Default)]
struct Predicate {
    selectors: Selectors,
    expressions: Vec<Expression>,
}

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
    /// The requirement of the selector that the cluster does not meet, such as `region in (eu)`; or the expression.
    pub requirement: String,
    /// Why the expression has no value, if it has none.
    pub error: Option<String>,
}

/// A selector of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The label selector.
    Labels,
    /// The claim selector.
    Claims,
    /// A CEL expression.
    Cel,
}

// === impl Predicates ===

impl Predicates {
    pub(crate) fn new(predicates: &[ClusterPredicate]) -> Result<Self, Misconfiguration> {
        let predicates = predicates.iter().enumerate();
        let predicates = predicates.map(|(index, it)| Predicate::new(index, it));
        Ok(Self(predicates.collect::<Result<_, _>>()?))
    }

    pub(crate) fn matches(&self, cluster: &Cluster, hub: &dyn Hub) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it.matches(cluster, hub))
    }

    /// Returns for each predicate why the cluster does not match it; nothing if it matches one.
    pub(crate) fn mismatches(&self, cluster: &Cluster, hub: &dyn Hub) -> Vec<Mismatch> {
        let predicates = self.0.iter().enumerate();
        let mismatches = predicates.map(|(index, it)| it.mismatch(index, cluster, hub));
        mismatches.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns whether a predicate has CEL expressions.
    pub(crate) fn use_cel(&self) -> bool {
        self.0.iter().any(|it| !it.expressions.is_empty())
    }
}

// === impl Predicate ===

impl Predicate {
    fn new(index: usize, predicate: &ClusterPredicate) -> Result<Self, Misconfiguration> {
        let selector = &predicate.required_cluster_selector;
        let path = format!("spec.predicates[{index}].requiredClusterSelector");
        let selectors = Selectors::new(&path, &selector.label_selector, &selector.claim_selector);
        let selectors = selectors.map_err(|mistakes| Misconfiguration::PredicateSelector {
            predicate: index,
            mistakes,
        })?;
        let expressions = selector.cel_selector.cel_expressions.iter().enumerate();
        let expressions = expressions.map(|(expression, text)| {
            Expression::new(text).map_err(|mistake| Misconfiguration::Expression {
                predicate: index,
                expression,
                mistake: mistake.to_string(),
            })
        });
        Ok(Self {
            selectors,
            expressions: expressions.collect::<Result<_, _>>()?,
        })
    }

    fn matches(&self, cluster: &Cluster, hub: &dyn Hub) -> bool {
        self.selectors.matches(cluster) && self.unselecting(cluster, hub).is_none()
    }

    fn mismatch(&self, predicate: usize, cluster: &Cluster, hub: &dyn Hub) -> Option<Mismatch> {
        let (part, requirement, error) = match self.selectors.unmet(cluster) {
            Some((part, requirement)) => (part, requirement, None),
            None => {
                let (expression, failure) = self.unselecting(cluster, hub)?;
                let (shown, is_cut) = cut(expression.text(), SHOWN);
                let rest = if is_cut { "..." } else { "" };
                let error = failure.map(|failure| failure.to_string());
                (Part::Cel, format!("{shown}{rest}"), error)
            }
        };
        Some(Mismatch {
            predicate,
            part,
            requirement,
            error,
        })
    }

    /// Returns the first expression that does not select the cluster, with its error if it has one.
    fn unselecting(
        &self,
        cluster: &Cluster,
        hub: &dyn Hub,
    ) -> Option<(&Expression, Option<Failure>)> {
        let mut budget = cel::CLUSTER_BUDGET;
        let scores = |cluster: &str, name: &str| hub.scores(cluster, name);
        self.expressions.iter().find_map(|expression| {
            let Some(object) = &cluster.object else {
                let message = "the cluster's object is not known".to_owned();
                return Some((expression, Some(Failure::Error(message))));
            };
            match expression.selects(object, &scores, &mut budget) {
                Ok(true) => None,
                Ok(false) => Some((expression, None)),
                Err(failure) => Some((expression, Some(failure))),
            }
        })
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
