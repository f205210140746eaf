//! What is to be on a managed cluster that is not the one of its agent.

use std::collections::BTreeSet;

use berth_api::Now;
use berth_api::operator::Klusterlet;
use berth_api::plan::Write;
use serde_json::{Map, Value, json};

use super::choice::{Choice, Settings, choice};
use super::connection::Connection;
use super::decide::{can_have_an_agent, unless_later};
use super::facts::{AppliedWorks, subject};
use super::found::Task;
use super::place::{is_hosted, managed_namespace};
use super::removal::{Remains, clean};
use super::render::{ADDON_NAMESPACE, Objects, Renderer, is_in_reach, shared};
use super::secret::secret_name;
use crate::decision::{Failure, Store, are_rolled_out};
use crate::names::{CREATED_BY_KLUSTERLET, HOSTED_FINALIZER, KLUSTERLET_UID};
use crate::objects::{Id, Kind, Stored};

/// What is to be on the managed cluster of a Klusterlet.
#[derive(Clone, Debug)]
pub struct There {
    /// The managed cluster may be this one.
    pub is_here: bool,
    klusterlet: Klusterlet,
    choice: Choice,
    objects: Objects,
    /// The Deployment here runs as it should: nobody needs what its predecessor needed there.
    is_replaced: bool,
    /// The agent has come to its hub: nobody needs a namespace that the Klusterlet named before.
    is_connected: bool,
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

/// The kinds of the objects of a Klusterlet on the cluster of its agent.
pub fn kinds_here() -> impl Iterator<Item = Kind> {
    KINDS_THERE.into_iter().chain([Kind::Deployment])
}

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

/// What is to be on the managed cluster of a Klusterlet. `stored`: what is here. `connection`: of its agent, if that is known.
pub fn there(
    klusterlet: &Klusterlet,
    settings: &Settings,
    stored: &Store,
    connection: Option<&Connection>,
    renderer: &mut Renderer,
) -> There {
    let mut choice = choice(klusterlet, settings);
    // One that has another mode now, and something to clean up there, has the names that it had there.
    let place = managed_namespace(klusterlet);
    choice.managed = Some(place.to_owned());
    let rendered = renderer.render(&choice, subject(klusterlet).name());
    There {
        is_here: true,
        is_replaced: are_rolled_out(stored, &rendered.here.workloads),
        is_connected: connection.is_some_and(Connection::is_functional),
        klusterlet: klusterlet.clone(),
        choice,
        objects: rendered.there,
        has_addon_namespace: settings.has_addon_namespace,
    }
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

    /// Returns whether an object of the managed cluster is in reach. If that is this cluster, the agent's own namespace is not.
    fn is_there(&self, id: &Id) -> bool {
        let namespace = match id.kind {
            Kind::Namespace => &id.name,
            _ => &id.namespace,
        };
        is_in_reach(id) && !(self.is_here && namespace == self.name())
    }

    /// A namespace there that another Klusterlet has: one of another name, or one of the same name on another cluster.
    fn rival<'s>(&self, stored: &'s Store) -> Option<(&'s Id, &'s Stored)> {
        let namespaces = stored.iter();
        // OCM's operators label that of add-ons, too, which all share.
        let mut namespaces = namespaces.filter(|(id, it)| {
            let is_namespace = id.kind == Kind::Namespace && !it.is_deleting();
            is_namespace && self.is_there(id) && !is_shared(id)
        });
        namespaces.find(|(id, it)| {
            let is_place = id.name == self.namespace();
            let is_own = it.created_by.as_deref() == Some(self.name());
            match &it.created_by {
                // OCM's operator writes no uid.
                Some(_) if is_own && uid(it).is_null() => !is_place,
                Some(_) if is_own => !self.is_of_this(it),
                Some(_) => is_place,
                None => false,
            }
        })
    }

    /// Returns whether a namespace has the uid of this Klusterlet.
    fn is_of_this(&self, namespace: &Stored) -> bool {
        uid(namespace) == *self.uid()
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
    /// [`There::ids`].
    ///
    /// # Errors
    /// Another Klusterlet has the names.
    pub fn due(&self, stored: &Store) -> Result<Vec<Write>, Failure> {
        let subject = subject(&self.klusterlet);
        if let Some((id, rival)) = self.rival(stored) {
            let maker = rival.created_by.as_deref().unwrap_or_default();
            let what = match maker == self.name() {
                true => format!(
                    "of the same name, on another cluster, has it: create one with another name; or if that one is gone, take the annotation {KLUSTERLET_UID} from the namespace"
                ),
                false => "has it: set another spec.namespace".to_owned(),
            };
            return Err(Failure {
                kind: Kind::Namespace,
                message: format!(
                    "the namespace {} of the managed cluster: a Klusterlet {maker} {what}",
                    id.name
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
        Ok(Vec::new())
    }

    /// The objects there that nobody needs any more, once the agent runs with what is wanted: those of OCM's operator, and of a namespace that
    /// the Klusterlet named before.
    #[must_use]
    pub fn unwanted(&self, stored: &Store, now: Now) -> Vec<Write> {
        if !self.is_replaced {
            return Vec::new();
        }
        let subject = subject(&self.klusterlet);
        let wanted: BTreeSet<Id> = self.ids().collect();
        let gone = subject.own(stored, |id| self.is_there(id) && !wanted.contains(id));
        let gone = gone.into_iter().filter(|(id, stored)| {
            let is_former = id.kind == Kind::Namespace && self.is_connected && !is_shared(id);
            id.kind.is_pruned() || is_former && self.is_of_this(stored)
        });
        subject.prune(gone.collect(), now, "the Klusterlet does not ask for it")
    }

    /// The writes that are due to take everything away, and what is waited for if there are none. `works`: those there; `None`: not read
    /// yet. `has_others`: other Klusterlets have agents of that cluster.
    #[must_use]
    pub fn clean(
        &self,
        stored: &Store,
        works: Option<&AppliedWorks>,
        has_others: bool,
        now: Now,
    ) -> (Vec<Write>, Option<String>) {
        if self.rival(stored).is_some() {
            // Nothing there is of this one.
            return (Vec::new(), None);
        }
        let there: Store = (stored.iter())
            .filter(|(id, _)| self.is_there(id))
            .map(|(id, it)| (id.clone(), it.clone()))
            .collect();
        let remains = Remains {
            stored: &there,
            works,
            takes_addon_namespace: !has_others && self.has_addon_namespace,
            addon_spaces: &BTreeSet::new(),
        };
        clean(&self.klusterlet, &remains, now)
    }
}

/// The uid of the Klusterlet that has a namespace.
fn uid(namespace: &Stored) -> Value {
    namespace.object()["metadata"]["annotations"][KLUSTERLET_UID].take()
}

/// Returns whether a namespace is that of add-ons, which all Klusterlets share.
#[must_use]
pub fn is_shared(id: &Id) -> bool {
    shared().contains(id)
}
