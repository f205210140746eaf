//! What was seen of the policies, and the state of each.

use std::collections::{BTreeMap, BTreeSet};

use berth_policies::Options;
use berth_policies::installed::{Installed, PolicyKind, PolicyName, State, Stored};
use serde_json::Value;

/// A policy or a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Policy,
    Binding,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    stored: Stored,
    /// Objects that are watched, and not yet seen or found missing.
    open: BTreeSet<(PolicyName, Part)>,
    /// The options of the policies when some were last seen. `None` if none has been seen.
    options: Option<Options>,
    /// The states that were reported last.
    reported: BTreeMap<PolicyName, State>,
}

/// The states of the policies now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) states: BTreeMap<PolicyName, State>,
    /// The policies whose state differs from that of the last report.
    pub(crate) changes: Vec<Installed>,
}

// === impl Sight ===

impl Sight {
    /// Begins to watch the policies of these kinds, and returns the objects to watch. Objects of other kinds do not exist.
    pub(crate) fn begin(&mut self, kinds: &[PolicyKind]) -> Vec<(PolicyName, Part)> {
        self.open.clear();
        let mut watched = Vec::new();
        for name in PolicyName::all() {
            if kinds.contains(&name.kind) {
                watched.extend([Part::Policy, Part::Binding].map(|part| (name.clone(), part)));
            } else {
                self.stored.set_policy(name, None);
                self.stored.set_binding(name, None);
            }
        }
        self.open.extend(watched.iter().cloned());
        watched
    }

    /// An object was seen, or does not exist.
    pub(crate) fn saw(&mut self, name: &PolicyName, part: Part, object: Option<Value>) {
        self.open.remove(&(name.clone(), part));
        match part {
            Part::Policy => self.stored.set_policy(name, object),
            Part::Binding => self.stored.set_binding(name, object),
        }
    }

    /// Returns the states, or `None` if not every object has been seen or found missing, or if there have never been policies.
    pub(crate) fn report(&mut self) -> Option<Report> {
        if !self.open.is_empty() {
            return None;
        }
        match self.stored.options() {
            Some(Ok(options)) => self.options = Some(options),
            // Policies without flags of this version differ from all that it prints.
            _ if !self.stored.is_empty() && self.options.is_none() => {
                self.options = Some(Options::default());
            }
            _ => {}
        }
        let rows = self.stored.compare(self.options.as_ref()?);
        let states = rows
            .iter()
            .map(|row| (row.policy.clone(), row.state))
            .collect();
        let reported = std::mem::replace(&mut self.reported, states);
        let is_new = |row: &Installed| reported.get(&row.policy) != Some(&row.state);
        Some(Report {
            states: self.reported.clone(),
            changes: rows.into_iter().filter(is_new).collect(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use berth_policies::{Action, policies};

    use super::*;

    type Objects = Vec<(PolicyName, Part, Option<Value>)>;

    /// Each object that these options print; those that they do not print do not exist.
    fn objects(options: &Options) -> Objects {
        let mut objects = BTreeMap::new();
        for name in PolicyName::all() {
            objects.insert((name.clone(), Part::Policy), None);
            objects.insert((name.clone(), Part::Binding), None);
        }
        for document in policies(options) {
            let object = serde_json::to_value(document).unwrap();
            let is_binding = object["spec"]["policyName"].is_string();
            let part = if is_binding {
                Part::Binding
            } else {
                Part::Policy
            };
            let is_it = |name: &&PolicyName| object["metadata"]["name"] == *name.name;
            let name = PolicyName::all().iter().find(is_it).unwrap().clone();
            objects.insert((name, part), Some(object));
        }
        let each = objects.into_iter();
        each.map(|((name, part), object)| (name, part, object))
            .collect()
    }

    fn sight_of(objects: Objects) -> Sight {
        let mut sight = Sight::default();
        sight.begin(&PolicyKind::ALL);
        for (name, part, object) in objects {
            sight.saw(&name, part, object);
        }
        sight
    }

    fn states(report: &Report) -> BTreeSet<&'static str> {
        report.states.values().map(|state| state.as_str()).collect()
    }

    #[test]
    fn nothing_is_reported_until_all_is_seen_and_something_exists() {
        let mut sight = Sight::default();
        let watched = sight.begin(&PolicyKind::ALL);
        assert_eq!(watched.len(), 2 * PolicyName::all().len());
        let mut all = objects(&Options::default());
        let (name, part, last) = all.pop().unwrap();
        for (name, part, object) in all {
            sight.saw(&name, part, object);
        }
        assert_eq!(sight.report(), None);
        sight.saw(&name, part, last);
        let report = sight.report().unwrap();
        assert_eq!(states(&report), BTreeSet::from(["enforced"]));
        assert_eq!(report.changes.len(), PolicyName::all().len());
        // The same again.
        assert_eq!(sight.report().unwrap().changes, []);

        let absent = PolicyName::all()
            .iter()
            .flat_map(|name| [Part::Policy, Part::Binding].map(|part| (name.clone(), part, None)));
        assert_eq!(sight_of(absent.collect()).report(), None);
    }

    #[test]
    fn a_trial_run_reports_the_policies_that_it_has() {
        let audit = Options {
            action: Action::Audit,
            ..Options::default()
        };
        let report = sight_of(objects(&audit)).report().unwrap();
        assert_eq!(states(&report), BTreeSet::from(["audited"]));
        assert_eq!(report.states.len(), PolicyName::all().len() - 3);
    }

    #[test]
    fn what_goes_is_missing_even_if_all_goes() {
        let all = objects(&Options::default());
        let mut sight = sight_of(all.clone());
        sight.report().unwrap();
        let (gone, part, _) = &all[0];
        sight.saw(gone, *part, None);
        let report = sight.report().unwrap();
        assert_eq!(report.states[gone], State::Missing);
        assert_eq!(report.changes.len(), 1);
        for (name, part, _) in &all {
            sight.saw(name, *part, None);
        }
        let report = sight.report().unwrap();
        assert_eq!(states(&report), BTreeSet::from(["missing"]));
        assert_eq!(report.states.len(), PolicyName::all().len());
    }

    #[test]
    fn what_is_no_longer_served_is_missing() {
        let mut sight = sight_of(objects(&Options::default()));
        sight.report().unwrap();
        for (name, part) in sight.begin(&[PolicyKind::Validating]) {
            let all = objects(&Options::default());
            let (_, _, object) = all
                .into_iter()
                .find(|it| (&it.0, it.1) == (&name, part))
                .unwrap();
            sight.saw(&name, part, object);
        }
        let report = sight.report().unwrap();
        let missing = report.changes.iter().map(|row| row.policy.kind);
        assert_eq!(
            missing.collect::<Vec<_>>(),
            [PolicyKind::Mutating, PolicyKind::Mutating]
        );
    }

    #[test]
    fn policies_without_readable_flags_have_changed() {
        let mut all = objects(&Options::default());
        for (_, _, object) in &mut all {
            let object = object.as_mut().unwrap();
            object["metadata"]["annotations"] =
                serde_json::json!({berth_policies::ANNOTATION: "--new"});
            object["spec"]["other"] = serde_json::json!(1);
        }
        let report = sight_of(all).report().unwrap();
        assert_eq!(states(&report), BTreeSet::from(["changed"]));
    }
}
