//! What the service account may do that is the executor of a ManifestWork: one ClusterRole and its binding.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_work_agent_core::RbacKind;
use berth_work_core::grants::{self, Rbac, RbacName};
use fastrand::Rng;
use serde_json::{Value, json};

/// What is asked before an object is written.
const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

/// All of them, as bits.
const ALL: u8 = 0b11111;

/// How late the authorizer of an API server knows of a change, at most.
const LATE: Duration = Duration::from_secs(4);

/// For so long an answer counts that the agent has got.
const VALID: Duration = Duration::from_secs(60);

/// The permissions, and what watches report of them.
pub(crate) struct Grants {
    /// Since when they are so, the present ones last.
    past: Vec<(Duration, State)>,
    /// The authorizer knows all that was so at this time, or later.
    known: Duration,
    pub(crate) log: Vec<(RbacKind, Option<Rbac>)>,
}

#[derive(Clone, Default)]
struct State {
    /// The verbs for each object, as bits.
    verbs: BTreeMap<&'static str, u8>,
    is_bound: bool,
}

/// The executor in a ManifestWork.
pub(crate) fn executor() -> Value {
    json!({"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "x"}}})
}

/// The name of the role, and of its binding.
pub(crate) fn name() -> RbacName {
    RbacName {
        namespace: "".into(),
        name: "r".into(),
    }
}

// === impl Grants ===

impl Grants {
    /// All is allowed.
    pub(crate) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        let state = State {
            verbs: names.map(|it| (it, ALL)).collect(),
            is_bound: true,
        };
        Self {
            past: vec![(Duration::ZERO, state)],
            known: Duration::ZERO,
            log: Vec::new(),
        }
    }

    fn now(&self) -> &State {
        &self.past.last().unwrap().1
    }

    /// Role and binding as they are.
    pub(crate) fn present(&self, kind: RbacKind) -> Option<Rbac> {
        let state = self.now();
        match kind {
            RbacKind::ClusterRoles => Some(state.role()),
            RbacKind::ClusterRoleBindings => state.is_bound.then(binding),
            RbacKind::Roles | RbacKind::RoleBindings => None,
        }
    }

    /// A user changes the role or the binding.
    pub(crate) fn change(&mut self, now: Duration, rng: &mut Rng) {
        let mut state = self.now().clone();
        if rng.u8(..4) == 0 {
            state.is_bound = !state.is_bound;
        }
        for verbs in state.verbs.values_mut() {
            *verbs = match rng.u8(..4) {
                0 => ALL & !(1 << rng.u8(..5)),
                1 => rng.u8(..) & ALL,
                _ => ALL,
            };
        }
        self.turn(now, state);
    }

    /// The verbs of an object become these.
    pub(crate) fn set(&mut self, now: Duration, name: &'static str, verbs: &[&str]) {
        let mut state = self.now().clone();
        let bits = (0..).zip(VERBS).filter(|(_, verb)| verbs.contains(verb));
        let verbs = bits.map(|(at, _)| 1 << at).sum();
        state.verbs.insert(name, verbs);
        self.turn(now, state);
    }

    fn turn(&mut self, now: Duration, state: State) {
        let before = self.now().clone();
        if before.verbs != state.verbs {
            self.log.push((RbacKind::ClusterRoles, Some(state.role())));
        }
        if before.is_bound != state.is_bound {
            let binding = state.is_bound.then(binding);
            self.log.push((RbacKind::ClusterRoleBindings, binding));
        }
        self.past.push((now, state));
    }

    /// The authorizer is not late: what a first list shows, it knows.
    pub(crate) fn is_known(&mut self, now: Duration) {
        self.known = now;
    }

    /// What the API server says at this time. It may not know of the last changes yet.
    pub(crate) fn answers(&self, now: Duration, name: &str, verb: &str, rng: &mut Rng) -> bool {
        let known = self.since(self.known.max(now.saturating_sub(LATE)));
        let known: Vec<_> = known.collect();
        known[rng.usize(..known.len())].allows(name, verb)
    }

    /// Returns true if the executor may write the object.
    pub(crate) fn allow(&self, name: &str, deletes: bool) -> bool {
        let verbs = VERBS.iter().filter(|it| deletes || **it != "delete");
        let mut verbs = verbs;
        verbs.all(|verb| self.now().allows(name, verb))
    }

    /// Returns the verb that the executor had at no time at which the agent can have been told so.
    pub(crate) fn lacks(&self, now: Duration, name: &str, deletes: bool) -> Option<&'static str> {
        let since = now.saturating_sub(VALID + LATE);
        let verbs = VERBS.iter().filter(|it| deletes || **it != "delete");
        let mut verbs = verbs.copied();
        verbs.find(|verb| !self.since(since).any(|it| it.allows(name, verb)))
    }

    /// What was so at this time, and later.
    fn since(&self, time: Duration) -> impl Iterator<Item = &State> {
        let later = self.past.iter().rev().take_while(move |(at, _)| *at > time);
        let count = later.count();
        let first = self.past.len().saturating_sub(count + 1);
        self.past[first..].iter().map(|(_, it)| it)
    }
}

// === impl State ===

impl State {
    fn allows(&self, name: &str, verb: &str) -> bool {
        let at = VERBS.iter().position(|it| *it == verb).unwrap();
        self.is_bound && self.verbs.get(name).is_some_and(|it| it & 1 << at != 0)
    }

    fn role(&self) -> Rbac {
        grants::role(&json!({"rules": self.verbs}).to_string()).unwrap()
    }
}

fn binding() -> Rbac {
    let binding = json!({
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "x"}],
    });
    grants::binding(&binding.to_string()).unwrap()
}
