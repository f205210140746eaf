//! The search language of the table of clusters.
//!
//! A query is terms joined by AND. A term with `!` before it is negated.
//!
//! | Term | Matches clusters |
//! |---|---|
//! | `eu` | whose name contains the word, in either case |
//! | `name:eu` | the same, for words that mean something else |
//! | `set:prod` | whose label names this ManagedClusterSet |
//! | `version<1.33` | by their version of Kubernetes, as far as it is written: also `<=`, `>`, `>=`, `=` |
//! | `claim:KEY=VALUE`, `claim:KEY` | with this ClusterClaim |
//! | `label:KEY=VALUE`, `label:KEY` | with this label |
//! | `pending`, `denied`, `accepted`, `joined`, `available`, `unavailable`, `unknown`, `deleting` | in this state |
//! | `cordoned` | that placements are kept away from |
//!
//! A value in double quotes may contain spaces.

mod parse;
mod version;

use crate::answers::State;
use crate::fact::ClusterFact;

pub(crate) use parse::BadQuery;
use version::Compared;
pub(crate) use version::Version;

/// A query. The empty query matches all clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    terms: Vec<Term>,
}

/// A term, and whether it is negated.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    negated: bool,
    asks: Asks,
}

#[derive(Clone, Debug, PartialEq)]
enum Asks {
    /// The name contains this, in lower case.
    Name(String),
    Set(String),
    State(State),
    Cordoned,
    Version(Compared, Version),
    Claim(String, Option<String>),
    Label(String, Option<String>),
}

// === impl Query ===

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// A term cannot be read; the error says where.
    pub(crate) fn parse(text: &str) -> Result<Self, BadQuery> {
        parse::query(text)
    }

    /// Returns true if all terms match the cluster.
    pub(crate) fn matches(&self, cluster: &ClusterFact) -> bool {
        self.terms
            .iter()
            .all(|term| term.asks.matches(cluster) != term.negated)
    }
}

// === impl Asks ===

impl Asks {
    fn matches(&self, cluster: &ClusterFact) -> bool {
        let has = |pairs: &[(Box<str>, Box<str>)], key: &str, value: &Option<String>| {
            pairs.iter().any(|(own, stored)| {
                **own == *key && value.as_ref().is_none_or(|value| **stored == **value)
            })
        };
        match self {
            Self::Name(part) => cluster.name.to_lowercase().contains(part),
            Self::Set(set) => cluster.set == *set,
            Self::State(state) => cluster.row.state == *state,
            Self::Cordoned => cluster.row.cordoned,
            Self::Version(compared, version) => (cluster.version.as_ref())
                .is_some_and(|own| compared.holds(own.compare_as_written(version))),
            Self::Claim(key, value) => has(&cluster.claims, key, value),
            Self::Label(key, value) => has(&cluster.labels, key, value),
        }
    }
}

#[cfg(test)]
mod tests;
