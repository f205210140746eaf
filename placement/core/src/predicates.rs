//! The predicates of a placement: a cluster must match one of them, and of that one every selector.
//!
//! CEL expressions are evaluated only if labels and claims match. One that exceeds its budget on a cluster neither matches nor fails to: unless
//! another predicate matches, it is not known whether the cluster matches.

use std::collections::BTreeMap;

use berth_api::placement::{ClusterClaimSelector, ClusterPredicate};
use berth_api::selector::{Selector, SelectorError};
use berth_api::text::cut;
use berth_cel::{BUDGET, EvaluationError, Expression};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::cel::{self, CLUSTER_BUDGET, ENVIRONMENT};
use crate::facts::{Cluster, Scores};
use crate::misconfigured::{Misconfiguration, Part, expression_field};

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

/// Why a cluster does not match a predicate, or why that is not known.
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

/// A CEL expression that exceeds its budget on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The index of the predicate.
    pub predicate: usize,
    /// The index of the expression that was stopped.
    pub expression: usize,
    /// The budget, in steps.
    pub budget: u64,
    /// The budget is that of all expressions of the predicate, which have spent it together.
    pub is_shared: bool,
}

/// Whether a cluster matches the predicates of a placement, and what it took to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// An error if it is not known: an expression exceeds its budget, and no other predicate matches.
    pub(crate) result: Result<bool, Excess>,
    /// The steps that CEL expressions took.
    pub steps: u64,
}

/// What the expressions of a predicate make of a cluster.
enum Evaluated<'a> {
    /// All of them are true.
    Selected,
    /// The first one that is not true, with its error if it has one.
    Unselected(&'a Expression, Option<String>),
    /// One was stopped.
    Stopped(Excess),
}

/// A requirement that a cluster does not meet.
struct Unmet {
    part: Part,
    requirement: String,
    key: String,
    found: Option<String>,
}

// === impl Matched ===

impl Matched {
    /// What stands for a cluster that was not matched, because others exceeded the budget of the placement: so does an evaluation with it.
    #[must_use]
    pub fn beyond_budget() -> Self {
        Self {
            result: Ok(false),
            steps: u64::MAX,
        }
    }
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

    /// Matches the cluster, and counts the steps that CEL expressions take. More than `most` steps end it: then the result is not known.
    pub(crate) fn matched<'s>(
        &self,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
        most: u64,
    ) -> Matched {
        let mut steps = 0;
        let mut excess = None;
        for (index, predicate) in self.0.iter().enumerate() {
            match predicate.matches(index, cluster, scores, &mut steps) {
                Ok(true) => {
                    return Matched {
                        result: Ok(true),
                        steps,
                    };
                }
                Ok(false) => {}
                Err(it) => excess = excess.or(Some(it)),
            }
            if steps > most {
                break;
            }
        }
        Matched {
            result: excess.map_or(Ok(self.0.is_empty()), Err),
            steps,
        }
    }

    /// Returns whether the cluster matches predicates without CEL expressions.
    pub(crate) fn matches_without_cel(&self, cluster: &Cluster) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it.selectors.matches(cluster))
    }

    /// Returns for each predicate why the cluster does not match it; nothing if it matches one.
    pub(crate) fn mismatches<'s>(
        &self,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
    ) -> Vec<Mismatch> {
        let predicates = self.0.iter().enumerate();
        let mismatches = predicates.map(|(index, it)| it.mismatch(index, cluster, scores));
        mismatches.collect::<Option<_>>().unwrap_or_default()
    }

    /// The comparisons that a cluster takes at most, without CEL expressions.
    pub(crate) fn tests(&self) -> u64 {
        self.0.iter().map(|it| it.selectors.tests()).sum()
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

    fn matches<'s>(
        &self,
        predicate: usize,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
        steps: &mut u64,
    ) -> Result<bool, Excess> {
        if !self.selectors.matches(cluster) {
            return Ok(false);
        }
        match self.evaluate(predicate, cluster, scores, steps) {
            Evaluated::Selected => Ok(true),
            Evaluated::Unselected(..) => Ok(false),
            Evaluated::Stopped(excess) => Err(excess),
        }
    }

    fn mismatch<'s>(
        &self,
        predicate: usize,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
    ) -> Option<Mismatch> {
        if let Some(unmet) = self.selectors.unmet(cluster) {
            return Some(Mismatch {
                predicate,
                part: unmet.part,
                requirement: unmet.requirement,
                key: Some(unmet.key),
                found: unmet.found,
                error: None,
            });
        }
        let (expression, error) = match self.evaluate(predicate, cluster, scores, &mut 0) {
            Evaluated::Selected => return None,
            Evaluated::Unselected(expression, error) => (expression, error),
            Evaluated::Stopped(excess) => {
                (&self.expressions[excess.expression], Some(excess.limit()))
            }
        };
        let (shown, is_cut) = cut(expression.text(), SHOWN);
        let rest = if is_cut { "..." } else { "" };
        Some(Mismatch {
            predicate,
            part: Part::Cel,
            requirement: format!("{shown}{rest}"),
            key: None,
            found: None,
            error,
        })
    }

    /// Evaluates the expressions until one of them does not select the cluster, and adds the steps that they took.
    fn evaluate<'s>(
        &self,
        predicate: usize,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
        steps: &mut u64,
    ) -> Evaluated<'_> {
        let mut budget = CLUSTER_BUDGET;
        let mut evaluated = Evaluated::Selected;
        for (index, expression) in self.expressions.iter().enumerate() {
            let Some(object) = &cluster.object else {
                let message = "the cluster's object is not known".to_owned();
                evaluated = Evaluated::Unselected(expression, Some(message));
                break;
            };
            let is_shared = budget < BUDGET;
            evaluated = match cel::selects(expression, object, scores, &mut budget) {
                Ok(true) => continue,
                Ok(false) => Evaluated::Unselected(expression, None),
                Err(EvaluationError::Error(message)) => {
                    Evaluated::Unselected(expression, Some(message))
                }
                Err(EvaluationError::TooCostly) => Evaluated::Stopped(Excess {
                    predicate,
                    expression: index,
                    budget: if is_shared { CLUSTER_BUDGET } else { BUDGET },
                    is_shared,
                }),
            };
            break;
        }
        *steps = steps.saturating_add(CLUSTER_BUDGET - budget);
        evaluated
    }
}

// === impl Excess ===

impl Excess {
    /// The path of the field of the expression.
    #[must_use]
    pub fn field(self) -> String {
        expression_field(self.predicate, self.expression)
    }

    /// The budget that is exceeded.
    pub(crate) fn limit(self) -> String {
        let of = if self.is_shared {
            "all expressions of a predicate"
        } else {
            "an expression"
        };
        format!(
            "it exceeds the limit of {} steps for {of} on a cluster",
            self.budget
        )
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

    /// The comparisons that a cluster takes at most.
    pub(crate) fn tests(&self) -> u64 {
        1 + self.labels.tests() + self.claims.tests()
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
