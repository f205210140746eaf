//! The predicates of a placement: a cluster must match one of them, and of that one every selector.
//!
//! CEL expressions are evaluated only if labels and claims match.

use std::collections::BTreeMap;

use berth_api::placement::{ClusterClaimSelector, ClusterPredicate};
use berth_api::selector::{Selector, SelectorError};
use berth_api::text::cut;
use berth_cel::{Expression, Failure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::cel::{self, CLUSTER_BUDGET, ENVIRONMENT};
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
    /// The key of the label, or the name of the claim, that the requirement is about.
    pub key: Option<String>,
    /// Its value on the cluster; `None` if the cluster does not have it.
    pub found: Option<String>,
    /// Why the expression has no value, if it has none.
    pub error: Option<String>,
}

/// A requirement that a cluster does not meet.
struct Unmet {
    part: Part,
    requirement: String,
    key: String,
    found: Option<String>,
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
    /// Checks the predicates, and reports their mistakes. Predicates with a mistake are left out.
    pub(crate) fn new(
        predicates: &[ClusterPredicate],
        mistakes: &mut Vec<Misconfiguration>,
    ) -> Self {
        let predicates = predicates.iter().enumerate();
        let predicates = predicates.filter_map(|(index, it)| Predicate::new(index, it, mistakes));
        Self(predicates.collect())
    }

    /// Returns true if the cluster matches, and adds the steps that CEL expressions took.
    pub(crate) fn matches(&self, cluster: &Cluster, hub: &dyn Hub, steps: &mut u64) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it.matches(cluster, hub, steps))
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
    fn new(
        index: usize,
        predicate: &ClusterPredicate,
        mistakes: &mut Vec<Misconfiguration>,
    ) -> Option<Self> {
        let selector = &predicate.required_cluster_selector;
        let report = |part, errors| {
            mistakes.push(Misconfiguration::PredicateSelector {
                predicate: index,
                part,
                errors,
            });
        };
        let selectors = Selectors::new(&selector.label_selector, &selector.claim_selector, report);
        let mut expressions = Vec::new();
        let texts = &selector.cel_selector.cel_expressions;
        for (expression, text) in texts.iter().enumerate() {
            match Expression::new(text, ENVIRONMENT) {
                Ok(expression) => expressions.push(expression),
                Err(mistake) => mistakes.push(Misconfiguration::Expression {
                    predicate: index,
                    expression,
                    mistake: mistake.to_string(),
                }),
            }
        }
        (expressions.len() == texts.len()).then_some(Self {
            selectors: selectors?,
            expressions,
        })
    }

    fn matches(&self, cluster: &Cluster, hub: &dyn Hub, steps: &mut u64) -> bool {
        self.selectors.matches(cluster) && self.unselecting(cluster, hub, steps).is_none()
    }

    fn mismatch(&self, predicate: usize, cluster: &Cluster, hub: &dyn Hub) -> Option<Mismatch> {
        let (part, requirement, error) = match self.selectors.unmet(cluster) {
            Some(Unmet {
                part,
                requirement,
                key,
                found,
            }) => {
                return Some(Mismatch {
                    predicate,
                    part,
                    requirement,
                    key: Some(key),
                    found,
                    error: None,
                });
            }
            None => {
                let (expression, failure) = self.unselecting(cluster, hub, &mut 0)?;
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
            key: None,
            found: None,
            error,
        })
    }

    /// Returns the first expression that does not select the cluster, with its error if it has one.
    fn unselecting(
        &self,
        cluster: &Cluster,
        hub: &dyn Hub,
        steps: &mut u64,
    ) -> Option<(&Expression, Option<Failure>)> {
        let mut budget = CLUSTER_BUDGET;
        let scores = |cluster: &str, name: &str| hub.scores(cluster, name);
        let found = self.expressions.iter().find_map(|expression| {
            let Some(object) = &cluster.object else {
                let message = "the cluster's object is not known".to_owned();
                return Some((expression, Some(Failure::Error(message))));
            };
            match cel::selects(expression, object, &scores, &mut budget) {
                Ok(true) => None,
                Ok(false) => Some((expression, None)),
                Err(failure) => Some((expression, Some(failure))),
            }
        });
        *steps = steps.saturating_add(CLUSTER_BUDGET - budget);
        found
    }
}

// === impl Part ===

impl Part {
    /// The name of the field of the selector.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Labels => "labelSelector",
            Self::Claims => "claimSelector",
            Self::Cel => "celSelector",
        }
    }
}

// === impl Selectors ===

impl Selectors {
    /// Checks the selectors, and reports the errors of each one that has some.
    pub(crate) fn new(
        labels: &LabelSelector,
        claims: &ClusterClaimSelector,
        mut report: impl FnMut(Part, Vec<SelectorError>),
    ) -> Option<Self> {
        let claims = LabelSelector {
            match_expressions: Some(claims.match_expressions.clone()),
            match_labels: None,
        };
        let mut parse = |part, selector| {
            let parsed = Selector::parse(selector);
            parsed.map_err(|errors| report(part, errors)).ok()
        };
        let (labels, claims) = (parse(Part::Labels, labels), parse(Part::Claims, &claims));
        Some(Self {
            labels: labels?,
            claims: claims?,
        })
    }

    pub(crate) fn matches(&self, cluster: &Cluster) -> bool {
        self.labels.matches(&cluster.labels) && self.claims.matches(&cluster.claims)
    }

    /// Returns the selectors that no cluster can match, each with a key whose requirements exclude each other.
    pub(crate) fn contradictions(&self) -> impl Iterator<Item = (Part, &str)> {
        let both = [(Part::Labels, &self.labels), (Part::Claims, &self.claims)];
        let both = both.into_iter();
        both.filter_map(|(part, selector)| Some((part, selector.contradiction()?)))
    }

    fn unmet(&self, cluster: &Cluster) -> Option<Unmet> {
        let unmet = |part, selector: &Selector, values: &BTreeMap<String, String>| {
            let key = selector.unmet_key(values)?;
            Some(Unmet {
                part,
                requirement: selector.unmet(values)?,
                key: key.to_owned(),
                found: values.get(key).map(|value| {
                    let (shown, is_cut) = cut(value, SHOWN);
                    format!("{shown}{}", if is_cut { "..." } else { "" })
                }),
            })
        };
        unmet(Part::Labels, &self.labels, &cluster.labels)
            .or_else(|| unmet(Part::Claims, &self.claims, &cluster.claims))
    }
}
