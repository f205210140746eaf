//! Events about a Placement whose PlacementDecisions were written: for one evaluation at most one of each reason, and only about writes that
//! succeeded. The reasons are OCM's.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Event, Target, Write, WriteFailure};
use berth_reconcile::{Reference, Refusal, Regarding};

use crate::doubt::listed;
use crate::facts::{DecisionFacts, PlacementFacts};
use crate::kinds::Kind;

/// Names of PlacementDecisions in a note. It counts the others.
const NAMED: usize = 5;

/// The PlacementDecisions that were written, by name.
#[derive(Debug, Default)]
pub(crate) struct Written {
    created: Vec<String>,
    updated: Vec<String>,
    deleted: Vec<String>,
}

/// What a write does to a PlacementDecision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Created,
    Updated,
    Deleted,
}

/// A write of a PlacementDecision that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    name: String,
    change: Change,
}

// === impl Pending ===

impl Pending {
    /// The change by a write, if it is one of a PlacementDecision's clusters. Its labels, and scores alone, are no news.
    ///
    /// `stored`: the PlacementDecisions of the namespace.
    pub(crate) fn of(
        write: &Write,
        stored: Option<&BTreeMap<String, DecisionFacts>>,
    ) -> Option<Self> {
        if write.target.resource != Kind::Decision.resource() {
            return None;
        }
        let change = match &write.action {
            Action::Create { .. } => Change::Created,
            Action::Delete { .. } => Change::Deleted,
            Action::Patch {
                subresource: Some(_),
                body,
            } => {
                let stored = stored.and_then(|all| all.get(&write.target.name));
                if stored.is_some_and(|it| listed(body).eq(it.clusters())) {
                    return None;
                }
                Change::Updated
            }
            _ => return None,
        };
        Some(Self {
            name: write.target.name.clone(),
            change,
        })
    }
}

// === impl Written ===

impl Written {
    /// Adds the writes that did not fail.
    pub(crate) fn add(&mut self, writes: Vec<Pending>, failures: &[(WriteFailure, Refusal)]) {
        for Pending { name, change } in writes {
            let is_it = |it: &Target| it.resource == Kind::Decision.resource() && it.name == name;
            let names = match change {
                Change::Created => &mut self.created,
                Change::Updated => &mut self.updated,
                Change::Deleted => &mut self.deleted,
            };
            if !names.contains(&name) && !failures.iter().any(|(failure, _)| is_it(&failure.target))
            {
                names.push(name);
            }
        }
    }

    /// The Events about all of them.
    pub(crate) fn events(&self) -> Vec<Event> {
        let all = [
            ("DecisionCreate", "created", &self.created),
            ("DecisionUpdate", "updated", &self.updated),
            ("DecisionDelete", "deleted", &self.deleted),
        ];
        let some = all.into_iter().filter(|(_, _, names)| !names.is_empty());
        let events = some.map(|(reason, verb, names)| Event {
            warning: false,
            reason,
            note: note(verb, names),
            namespace: None,
        });
        events.collect()
    }
}

fn note(verb: &str, names: &[String]) -> String {
    let mut sorted: Vec<_> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let more = sorted.len().saturating_sub(NAMED);
    sorted.truncate(NAMED);
    let named = sorted.join(", ");
    if more == 0 {
        format!("{verb} PlacementDecisions: {named}")
    } else {
        format!("{verb} PlacementDecisions: {named} and {more} more")
    }
}

/// The object that the Events are about.
pub(crate) fn regarding(placement: &PlacementFacts) -> Regarding {
    Regarding {
        api_version: "cluster.open-cluster-management.io/v1beta1".to_owned(),
        kind: "Placement".to_owned(),
        metadata: Reference {
            name: placement.rules.name().to_owned(),
            namespace: Some(placement.rules.namespace().to_owned()),
            uid: Some(placement.uid.clone()),
            resource_version: Some(placement.resource_version.clone()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(name: &str) -> (WriteFailure, Refusal) {
        let failure = WriteFailure {
            reconciler: "placements",
            target: Target {
                resource: Kind::Decision.resource(),
                namespace: Some("ns".to_owned()),
                name: name.to_owned(),
            },
            code: 500,
            message: String::new(),
        };
        (failure, Refusal::unreadable("a test"))
    }

    #[test]
    fn an_evaluation_has_one_event_of_each_reason_and_names_a_few_objects() {
        let pending = |name: &str, change| Pending {
            name: name.to_owned(),
            change,
        };
        let mut written = Written::default();
        assert_eq!(written.events(), []);
        let created = (1..9).map(|it| pending(&format!("p-decision-{it}"), Change::Created));
        written.add(created.collect(), &[failure("p-decision-8")]);
        for _ in 0..2 {
            written.add(vec![pending("b", Change::Updated)], &[]);
        }
        written.add(vec![pending("c", Change::Deleted)], &[failure("c")]);
        let events = written.events().into_iter();
        let notes: Vec<_> = events.map(|it| (it.reason, it.note)).collect();
        let many = "created PlacementDecisions: p-decision-1, p-decision-2, p-decision-3, p-decision-4, p-decision-5 and 2 more";
        let updated = "updated PlacementDecisions: b";
        assert_eq!(
            notes,
            [
                ("DecisionCreate", many.to_owned()),
                ("DecisionUpdate", updated.to_owned()),
            ]
        );
    }
}
