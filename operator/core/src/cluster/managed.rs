//! A managed cluster that is not the one of its agent: what is to be there, and what was found.

use std::collections::BTreeSet;

use berth_api::operator::Klusterlet;
use berth_api::plan::Write;
use serde_json::{Map, Value, json};

use super::choice::{Choice, Settings, choice};
use super::decide::{can_have_an_agent, unless_later};
use super::facts::{AppliedWorks, subject};
use super::place::{is_hosted, managed_namespace};
use super::removal::{Remains, clean};
use super::render::{ADDON_NAMESPACE, Objects, Renderer, is_in_reach, shared};
use super::secret::secret_name;
use crate::decision::{Failure, Store};
use crate::names::{CREATED_BY_KLUSTERLET, HOSTED_FINALIZER};
use crate::objects::{Id, Kind};

/// What is to be done on the managed cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Look whether it can be reached. The finalizer is set before anything is written there.
    Prepare,
    /// Make everything as it should be, and the credentials of the agent.
    Install,
    /// Take everything away.
    Clean,
}

/// What was found on the managed cluster, and what became of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// The task.
    pub task: Task,
    /// Whether it can be reached; if it can, a text that says so.
    pub ready: Result<String, Unprepared>,
    /// What became of the task.
    pub outcome: Outcome,
}

/// Why a managed cluster cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprepared {
    /// Nobody answers there, or there is no kubeconfig: it may not exist any more.
    pub is_away: bool,
    /// For users.
    pub why: String,
}

/// What became of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was done.
    Nothing,
    /// These could not be written.
    Failed(Vec<Failure>),
    /// It waits for this.
    WaitsFor(String),
    /// It is done.
    Done,
}

/// What is to be on the managed cluster of a Klusterlet.
#[derive(Clone, Debug)]
pub struct There {
    klusterlet: Klusterlet,
    choice: Choice,
    objects: Objects,
    has_addon_namespace: bool,
}

/// The kinds of the objects there.
pub const KINDS_THERE: [Kind; 6] = [
    Kind::Namespace,
    Kind::Account,
    Kind::ClusterRole,
    Kind::ClusterRoleBinding,
    Kind::Role,
    Kind::RoleBinding,
];

/// What is to be done on the managed cluster; `None`: there is none but this one, or it is not time yet.
#[must_use]
pub fn task(klusterlet: &Klusterlet, holder: Option<&str>, stored: &Store) -> Option<Task> {
    let subject = subject(klusterlet);
    let has_written = subject.has_finalizer(HOSTED_FINALIZER);
    if is_hosted(klusterlet) && !subject.is_deleting() {
        let is_able = can_have_an_agent(klusterlet) && holder.is_none();
        let task = if has_written {
            Task::Install
        } else {
            Task::Prepare
        };
        return is_able.then_some(task);
    }
    // The agent would go on writing there.
    let agent = subject.own(stored, |id| {
        id.namespace == subject.name() && matches!(id.kind, Kind::Deployment | Kind::RoleBinding)
    });
    (has_written && agent.is_empty()).then_some(Task::Clean)
}

/// What is to be on the managed cluster of a Klusterlet.
pub fn there(klusterlet: &Klusterlet, settings: &Settings, renderer: &mut Renderer) -> There {
    let mut choice = choice(klusterlet, settings);
    // One that has another mode now, and something to clean up there, has the names that it had there.
    let managed = choice
        .managed
        .get_or_insert_with(|| managed_namespace(klusterlet).to_owned());
    choice.namespace.clone_from(managed);
    let rendered = renderer.render(&choice, subject(klusterlet).name());
    There {
        klusterlet: klusterlet.clone(),
        choice,
        objects: rendered.there,
        has_addon_namespace: settings.has_addon_namespace,
    }
}

/// Returns whether an object of the managed cluster is in reach. It may be the cluster of the agent, too: the agent's own namespace is not.
fn is_there(id: &Id, agent: &str) -> bool {
    let of_agent = match id.kind {
        Kind::Namespace => &id.name,
        _ => &id.namespace,
    };
    is_in_reach(id) && of_agent != agent
}

// === impl There ===

impl There {
    /// The name of the Klusterlet.
    #[must_use]
    pub fn name(&self) -> &str {
        subject(&self.klusterlet).name()
    }

    /// The uid of the Klusterlet, which AppliedManifestWorks have as that of their agent.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.klusterlet.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The account of the agent there.
    #[must_use]
    pub fn account(&self) -> Id {
        let name = format!("{}-work-sa", self.name());
        self.id(Kind::Account, self.namespace(), &name)
    }

    /// The Secret here with the credentials of this account.
    #[must_use]
    pub fn secret(&self) -> Id {
        let name = secret_name(self.choice.is_single);
        self.id(Kind::Secret, self.name(), name)
    }

    /// The labels of what is written for the Klusterlet.
    #[must_use]
    pub fn labels(&self) -> Map<String, Value> {
        let labels = self.choice.labels.iter();
        let labels = labels.map(|(label, value)| (label.clone(), json!(value)));
        let mut labels: Map<String, Value> = labels.collect();
        labels.insert(CREATED_BY_KLUSTERLET.to_owned(), json!(self.name()));
        labels
    }

    fn namespace(&self) -> &str {
        self.choice.managed.as_deref().unwrap_or_default()
    }

    fn id(&self, kind: Kind, namespace: &str, name: &str) -> Id {
        Id {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The names of what is to be there.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.objects.ids()
    }

    /// The writes of the first step that is not done. `stored`: the objects there with the label of this Klusterlet, and those of
    /// [`There::ids`]. `prunes`: objects that are not wanted any more are deleted.
    ///
    /// # Errors
    /// Another Klusterlet has the namespace.
    pub fn due(&self, stored: &Store, prunes: bool) -> Result<Vec<Write>, Failure> {
        let subject = subject(&self.klusterlet);
        let place = self.id(Kind::Namespace, "", self.namespace());
        let maker = stored.get(&place).and_then(|it| it.created_by.as_deref());
        if let Some(maker) = maker.filter(|it| *it != subject.name()) {
            return Err(Failure {
                kind: Kind::Namespace,
                message: format!(
                    "the namespace {} of the managed cluster is that of the Klusterlet {maker}: set another spec.namespace",
                    self.namespace()
                ),
            });
        }
        let of_add_ons = |it: &&Value| it["metadata"]["namespace"] == ADDON_NAMESPACE;
        let foundation = self.objects.foundation.iter();
        let (add_ons, foundation): (Vec<_>, Vec<_>) = foundation.partition(of_add_ons);
        let definitions = self.objects.definitions.iter();
        for step in [
            definitions.filter(|it| unless_later(it, stored)).collect(),
            self.objects.namespaces.iter().collect(),
            foundation,
            add_ons,
        ] {
            let writes = subject.due(stored, step);
            if !writes.is_empty() {
                return Ok(writes);
            }
        }
        if !prunes {
            return Ok(Vec::new());
        }
        let wanted: BTreeSet<Id> = self.ids().collect();
        let gone = subject.own(stored, |id| {
            id.kind.is_pruned() && is_there(id, subject.name()) && !wanted.contains(id)
        });
        let gone = gone.into_iter().filter(|(_, stored)| !stored.is_deleting);
        let why = "the Klusterlet does not ask for it";
        Ok(gone
            .map(|(id, stored)| subject.delete(id, stored, why))
            .collect())
    }

    /// The writes that are due to take everything away, and what is waited for if there are none. `works`: those there; `None`: not read
    /// yet. `has_others`: other Klusterlets have agents of that cluster.
    #[must_use]
    pub fn clean(
        &self,
        stored: &Store,
        works: Option<&AppliedWorks>,
        has_others: bool,
    ) -> (Vec<Write>, Option<String>) {
        let name = subject(&self.klusterlet).name();
        let there: Store = (stored.iter())
            .filter(|(id, _)| is_there(id, name))
            .map(|(id, it)| (id.clone(), it.clone()))
            .collect();
        let remains = Remains {
            stored: &there,
            works,
            takes_addon_namespace: !has_others && self.has_addon_namespace,
        };
        clean(&self.klusterlet, &remains)
    }
}

/// Returns whether a namespace is that of add-ons, which all Klusterlets share.
#[must_use]
pub fn is_shared(id: &Id) -> bool {
    shared().contains(id)
}
