//! Mistakes in the spec of a placement. The messages of the condition are OCM's where OCM has one.

use std::fmt;

use berth_api::selector::{SelectorError, listed};
use berth_api::text::cut;

/// Upper bound on the characters of a value in a message.
const SHOWN: usize = 100;

/// A mistake in the spec of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misconfiguration {
    /// A label or claim selector of a predicate is invalid.
    PredicateSelector {
        /// The index of the predicate.
        predicate: usize,
        /// The selector: labels or claims.
        part: Part,
        /// The errors in it; at least one.
        errors: Vec<SelectorError>,
    },
    /// A CEL expression of a predicate is invalid.
    Expression {
        /// The index of the predicate.
        predicate: usize,
        /// The index of the expression.
        expression: usize,
        /// The mistake, and where it is.
        mistake: String,
    },
    /// A toleration without a key whose operator is not Exists.
    TolerationWithoutKey {
        /// The index of the toleration.
        toleration: usize,
    },
    /// A toleration with a value whose operator is Exists.
    TolerationWithValue {
        /// The index of the toleration.
        toleration: usize,
    },
    /// The mode of the prioritizer policy is neither Additive nor Exact.
    Mode(String),
    /// A configuration has no score coordinate.
    NoCoordinate {
        /// The index of the configuration.
        configuration: usize,
    },
    /// There is no prioritizer of this name.
    UnknownPrioritizer {
        /// The index of the configuration.
        configuration: usize,
        /// The name.
        name: String,
    },
    /// A configuration of the type AddOn does not say which score.
    NoAddOn {
        /// The index of the configuration.
        configuration: usize,
    },
    /// The number of clusters is negative.
    NegativeNumber(i32),
    /// The number of clusters per group is a text that is not a percentage.
    GroupSize(String),
    /// The number of clusters per group is a percentage that is not a whole number from 1 to 100.
    GroupPercentage(String),
    /// The selector of a decision group is invalid.
    GroupSelector {
        /// The index of the group.
        group: usize,
        /// The selector: labels or claims.
        part: Part,
        /// The errors in it; at least one.
        errors: Vec<SelectorError>,
    },
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

// === impl Misconfiguration ===

impl Misconfiguration {
    /// The field and the message of each mistake, which are several if a selector has several.
    pub fn each(&self) -> impl Iterator<Item = (String, String)> {
        let field = self.field();
        let (errors, message) = match self {
            Self::PredicateSelector { errors, .. } | Self::GroupSelector { errors, .. } => {
                (&errors[..], None)
            }
            other => (&[][..], Some((field.clone(), other.to_string()))),
        };
        let errors = errors.iter().map(move |error| {
            let SelectorError {
                field: part,
                reason,
            } = error;
            (format!("{field}.{part}"), reason.clone())
        });
        errors.chain(message)
    }

    /// The step that found the mistake, by OCM's name of it; empty for steps without a name.
    #[must_use]
    pub fn step(&self) -> &'static str {
        match self {
            Self::PredicateSelector { .. } | Self::Expression { .. } => "Predicate",
            Self::TolerationWithoutKey { .. } | Self::TolerationWithValue { .. } => {
                "TaintToleration"
            }
            _ => "",
        }
    }

    /// The path of the field with the mistake.
    #[must_use]
    pub fn field(&self) -> String {
        match self {
            Self::PredicateSelector {
                predicate, part, ..
            } => {
                let part = part.field();
                format!("spec.predicates[{predicate}].requiredClusterSelector.{part}")
            }
            Self::Expression {
                predicate,
                expression,
                ..
            } => expression_field(*predicate, *expression),
            Self::TolerationWithoutKey { toleration } => {
                format!("spec.tolerations[{toleration}].operator")
            }
            Self::TolerationWithValue { toleration } => {
                format!("spec.tolerations[{toleration}].value")
            }
            Self::Mode(_) => "spec.prioritizerPolicy.mode".to_owned(),
            Self::NoCoordinate { configuration } => {
                format!("spec.prioritizerPolicy.configurations[{configuration}].scoreCoordinate")
            }
            Self::UnknownPrioritizer { configuration, .. } => format!(
                "spec.prioritizerPolicy.configurations[{configuration}].scoreCoordinate.builtIn"
            ),
            Self::NoAddOn { configuration } => format!(
                "spec.prioritizerPolicy.configurations[{configuration}].scoreCoordinate.addOn"
            ),
            Self::NegativeNumber(_) => "spec.numberOfClusters".to_owned(),
            Self::GroupSize(_) | Self::GroupPercentage(_) => {
                "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup".to_owned()
            }
            Self::GroupSelector { group, part, .. } => {
                let part = part.field();
                format!(
                    "spec.decisionStrategy.groupStrategy.decisionGroups[{group}].groupClusterSelector.{part}"
                )
            }
        }
    }
}

/// The message without the step.
impl fmt::Display for Misconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text| cut(text, SHOWN).0;
        match self {
            Self::PredicateSelector { errors, .. } | Self::GroupSelector { errors, .. } => {
                f.write_str(&listed(&self.field(), errors))
            }
            Self::Expression { mistake, .. } => f.write_str(mistake),
            Self::TolerationWithoutKey { .. } => {
                f.write_str("If the key is empty, operator must be Exists.")
            }
            Self::TolerationWithValue { .. } => {
                f.write_str("If the operator is Exists, the value should be empty.")
            }
            Self::Mode(mode) => write!(f, "incorrect prioritizer policy mode: {}", shown(mode)),
            Self::NoCoordinate { .. } => f.write_str("scoreCoordinate field is required"),
            Self::UnknownPrioritizer { name, .. } => {
                write!(f, "incorrect builtin prioritizer: {}", shown(name))
            }
            Self::NoAddOn { .. } => f.write_str("addOn should not be empty"),
            Self::NegativeNumber(number) => {
                write!(f, "numberOfClusters is {number}, and must not be negative")
            }
            Self::GroupPercentage(size) => write!(
                f,
                "clustersPerDecisionGroup is {}, and must be a whole percentage from 1% to 100%",
                shown(size)
            ),
            Self::GroupSize(size) => {
                write!(
                    f,
                    "{} invalid type: string is not a percentage",
                    shown(size)
                )
            }
        }
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

/// The path of the field of a CEL expression.
pub(crate) fn expression_field(predicate: usize, expression: usize) -> String {
    format!(
        "spec.predicates[{predicate}].requiredClusterSelector.celSelector.celExpressions[{expression}]"
    )
}
