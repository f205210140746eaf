//! Add-ons of the hub as a [`World`].

mod permissions;
mod requests;
mod signing;
mod tokens;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_addons_core::registration::{PERMISSIONS, REQUESTS};
use berth_addons_core::tokens::TOKENS;
use berth_addons_core::{ADD_ON, ON_CLUSTER};
use berth_api::Now;
use berth_api::plan::{Plan, Write};
use berth_reconcile::queue::Next;
use berth_reconcile::{
    Handle, Lane, Meta, Report, Wake, WatchError, World, WriteOutcome, failed, never_settled, now,
};

use super::add_ons;
use super::deploy;
use super::keys::{Key, Place, place};
use super::kinds::{Fact, Kind};
use super::metrics::{Counted, Metrics};
use super::settings::Settings;
use super::view::{Due, View};

/// Add-ons that are worked on at the same time.
const ADD_ONS_AT_ONCE: usize = 2;

/// ManagedClusterAddOns that are worked on at the same time.
const ON_CLUSTERS_AT_ONCE: usize = 16;

/// Upper bound on the steps of a reconcile of an add-on on a cluster. It is installed, registered, deployed and reported step by step, and
/// meanwhile its agent reports, too.
const MOST_STEPS: usize = 64;

/// CertificateSigningRequests that are worked on at the same time.
const REQUESTS_AT_ONCE: usize = 16;

/// The longest time until a key with a timer is decided again: the clock may be set in the meantime.
pub(super) const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// The view of the hub.
#[derive(Debug)]
pub(super) struct AddOns {
    pub(super) view: View,
    pub(super) metrics: Metrics,
    listed: BTreeSet<Kind>,
    /// The kinds that the hub does not serve, or does not let this controller list.
    missing: BTreeSet<Kind>,
}

// === impl AddOns ===

impl AddOns {
    pub(super) fn new(settings: Settings, metrics: Metrics) -> Self {
        Self {
            view: View::new(settings),
            metrics,
            listed: BTreeSet::new(),
            missing: BTreeSet::new(),
        }
    }

    /// Returns whether everything that a decision reads has been seen.
    pub(super) fn is_ready(&self) -> bool {
        let mut kinds = Kind::ALL.iter().filter(|it| !it.is_of_rights());
        kinds.all(|it| self.knows(*it))
    }

    /// Returns whether everything that decides about permissions has been seen.
    pub(super) fn knows_bindings(&self) -> bool {
        self.is_ready() && self.knows(Kind::Binding)
    }

    /// Returns whether a request may be for an add-on from a template.
    pub(super) fn judges(&self, request: &str) -> bool {
        let known = self.view.requests.get(request);
        self.is_ready() && known.is_some_and(|it| self.view.judged(it).is_some())
    }

    /// Returns whether everything that decides about tokens has been seen.
    ///
    /// # Errors
    /// The hub never let this controller list this kind.
    fn knows_tokens(&self) -> Result<bool, Kind> {
        let mut kinds = berth_addons_core::tokens::Kind::ALL
            .map(Kind::Token)
            .into_iter();
        let never = |it: &Kind| self.missing.contains(it) && !self.listed.contains(it);
        match kinds.clone().find(never) {
            Some(kind) => Err(kind),
            None => Ok(self.is_ready() && kinds.all(|it| self.knows(it))),
        }
    }

    fn knows(&self, kind: Kind) -> bool {
        self.listed.contains(&kind) && !self.missing.contains(&kind)
    }
}

impl World for AddOns {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[
        Lane::new(ADD_ON, ADD_ONS_AT_ONCE),
        Lane::new(ON_CLUSTER, ON_CLUSTERS_AT_ONCE),
        Lane::new(PERMISSIONS, ADD_ONS_AT_ONCE),
        Lane::new(REQUESTS, REQUESTS_AT_ONCE),
        Lane::new(TOKENS, ON_CLUSTERS_AT_ONCE),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::AddOn(_) => 0,
            Key::OnCluster(_) => 1,
            Key::Permissions(_) => 2,
            Key::Request(_) => 3,
            Key::Tokens(_) => 4,
        }
    }

    /// The clusters of one add-on do not delay those of another.
    fn group(key: &Key) -> &str {
        match key {
            Key::AddOn(name)
            | Key::OnCluster((_, name))
            | Key::Permissions(name)
            | Key::Tokens((_, name)) => name,
            Key::Request(_) => "",
        }
    }

    fn apply(&mut self, kind: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        // A write of one key concerns the other one, too.
        let keys = self.view.apply(&place(&it.namespace, &it.name), fact);
        wakes.extend(self.view.with_rights(kind, keys));
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        let keys = self.view.remove(kind, &place(namespace, name));
        wakes.extend(self.view.with_rights(kind, keys));
    }

    fn unreadable(&mut self, kind: Kind, object: &Meta, error: &serde_json::Error) {
        let Meta {
            namespace, name, ..
        } = object;
        tracing::warn!(resource = kind.name(), namespace, name, %error, "an object cannot be read");
        self.view.unreadable(kind, place(namespace, name));
    }

    fn went_back(&mut self, _: Kind, _: u64, _: u64) {
        self.view.begin_graces_anew();
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        let is_first = self.listed.insert(kind);
        if self.missing.remove(&kind) || is_first {
            match kind {
                Kind::Token(_) => wakes.extend(self.view.all_tokens()),
                _ => wakes.extend(self.view.all()),
            }
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, wakes: &mut Wake<Self>) {
        if error.code == 403 && kind.is_of_rights() && self.missing.insert(kind) {
            tracing::warn!(
                resource = kind.name(),
                %error,
                "agents of add-ons get no certificates, permissions or tokens; grant the controller the ClusterRole of manifests/addons"
            );
            // Without the first list, conditions say so. A later failure may pass.
            if !self.listed.contains(&kind) {
                wakes.extend(self.view.all_tokens());
            }
        }
        if error.code == 404 && self.missing.insert(kind) {
            tracing::info!(
                resource = kind.name(),
                "the hub does not serve this kind: waiting for it"
            );
        }
    }

    /// The permission is back: what the watch had reported still holds.
    fn regained_sight(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        if self.missing.remove(&kind) {
            wakes.extend(self.view.all());
        }
    }

    /// Kinds that the hub serves and that have not been listed yet.
    fn unprimed(&self) -> Vec<&'static str> {
        let kinds = Kind::ALL.iter();
        let unprimed = kinds.filter(|it| !self.listed.contains(it) && !self.missing.contains(it));
        unprimed.map(|it| it.name()).collect()
    }

    fn begun(on: &Arc<Handle<Self>>) {
        let counted = Arc::downgrade(on);
        on.world().metrics.begun(counted);
    }

    fn over(on: &Handle<Self>) {
        on.world().metrics.over();
    }

    fn all(&self) -> Vec<Key> {
        self.view.all()
    }

    /// Decisions note since when a cluster is not selected: see [`World::reconcile`].
    fn decide(&self, _: &Key, _: Now) -> Plan {
        Plan::default()
    }

    /// RoleBindings are watched twice, by different labels.
    fn kind(write: &Write) -> Option<Kind> {
        let mut kinds = Kind::ALL.into_iter();
        kinds.find(|it| {
            let is_of_tokens = matches!(it, Kind::Token(_));
            it.resource() == write.target.resource && is_of_tokens == (write.reconciler == TOKENS)
        })
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::AddOn(name) => add_ons::reconcile(on, key, name).await,
            Key::OnCluster(at) => on_cluster(on, key, at).await,
            Key::Permissions(name) => permissions::reconcile(on, key, name).await,
            Key::Request(name) => requests::reconcile(on, name).await,
            Key::Tokens(at) => tokens::reconcile(on, key, at).await,
        }
    }
}

impl Counted for Handle<AddOns> {
    fn states(&self, count: &mut dyn FnMut(&'static str)) {
        self.world().view.states().for_each(count);
    }

    fn refused(&self, count: &mut dyn FnMut(&'static str)) {
        self.world().view.requests.reported().for_each(count);
    }
}

/// Decides for an add-on on a cluster and writes, until nothing is due.
async fn on_cluster(on: &Handle<AddOns>, key: &Key, at: &Place) -> Next {
    let mut latest = None;
    let mut end = None;
    // What a user had to mend may be mended.
    on.world().view.set_fault(at, None);
    for step in 0..MOST_STEPS {
        let due = {
            let mut world = on.world();
            match world.is_ready() {
                true => world.view.decide_on_cluster(at, now()),
                false => Due::Plan(Plan::default()),
            }
        };
        if step + 1 == MOST_STEPS {
            tracing::error!(
                addon = at.1,
                cluster = at.0,
                last = due.named(),
                "too many steps"
            );
        }
        let plan = match due {
            Due::Plan(plan) => plan,
            Due::Make(job) => {
                match deploy::make(on, &job, &mut latest).await {
                    Ok(failed) => end = failed.or(end),
                    Err(failed) => return failed,
                }
                continue;
            }
        };
        match on.carry_out(plan.writes).await {
            WriteOutcome::Nothing => {
                return end.unwrap_or(Next::again(plan.again));
            }
            WriteOutcome::Written => {}
            WriteOutcome::Failed(failures) => return failed(&failures),
        }
    }
    never_settled(key)
}
