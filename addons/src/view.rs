//! The last observed state of the hub, and the keys that a change of it concerns.

mod decide;
mod rights;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use berth_addons_core::config::Configs;
use berth_addons_core::deploy::{Made, Part};
use berth_addons_core::facts::{AddOn, Cluster, OnCluster, Selection, Work};
use berth_addons_core::works::Digest;
use berth_api::addon::AddOnConfig;
use berth_api::groups;
use berth_api::plan::Plan;

use super::bindings::Bindings;
use super::deployments::Deployments;
use super::job::Job;
use super::keys::{Key, Place, place};
use super::kinds::{DecisionFact, Fact, Kind};
use super::pending::Requests;
use super::placements::Placements;
use super::settings::Settings;
use super::tokens::Tokens;

/// The last observed state of the hub.
#[derive(Debug)]
pub(super) struct View {
    settings: Settings,
    add_ons: BTreeMap<String, AddOn>,
    /// The ManagedClusterAddOns of each add-on, by cluster. The add-on may not exist.
    on_clusters: HashMap<String, BTreeMap<String, OnCluster>>,
    /// The ManifestWorks of each ManagedClusterAddOn, which may not exist.
    works: HashMap<Place, BTreeMap<Place, Work>>,
    /// The ManagedClusterAddOn of each ManifestWork.
    owner_of: HashMap<Place, Place>,
    clusters: HashMap<String, Cluster>,
    placements: Placements,
    configs: Configs,
    deployments: Deployments,
    /// Since when the ManagedClusterAddOns that may be deleted are not selected, and why.
    away: HashMap<Place, (Selection, Instant)>,
    pub(super) bindings: Bindings,
    pub(super) requests: Requests,
    tokens: Tokens,
    /// ClusterManagementAddOns and ManagedClusterAddOns that cannot be read: nothing is written for them.
    unreadable: HashSet<Place>,
}

/// What is due for an add-on on a cluster.
#[derive(Debug)]
pub(super) enum Due {
    Plan(Plan),
    Make(Box<Job>),
}

// === impl Due ===

impl Due {
    /// What is due, for the log: without any content.
    pub(super) fn named(&self) -> String {
        match self {
            Self::Make(job) => format!("make {:?}", job.part),
            Self::Plan(plan) => {
                let targets = plan.writes.iter().map(|it| &it.target);
                let named = targets.map(|it| format!("{} {}", it.resource.resource, it.name));
                format!("write {}", named.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

// === impl View ===

impl View {
    /// The number of ClusterManagementAddOns whose life cycle is the hub's.
    pub(super) fn managed_add_ons(&self) -> usize {
        self.add_ons.values().filter(|it| it.is_managed).count()
    }

    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            add_ons: BTreeMap::new(),
            on_clusters: HashMap::new(),
            works: HashMap::new(),
            owner_of: HashMap::new(),
            clusters: HashMap::new(),
            placements: Placements::default(),
            configs: Configs::default(),
            deployments: Deployments::default(),
            away: HashMap::new(),
            bindings: Bindings::default(),
            requests: Requests::default(),
            tokens: Tokens::default(),
            unreadable: HashSet::new(),
        }
    }

    /// The states of all ManagedClusterAddOns, each as often as one is in it.
    pub(super) fn states(&self) -> impl Iterator<Item = &'static str> {
        let all = self.on_clusters.values().flat_map(BTreeMap::values);
        all.flat_map(OnCluster::states)
    }

    /// Applies an object, and returns the keys that the change concerns.
    pub(super) fn apply(&mut self, at: &Place, fact: Fact) -> Vec<Key> {
        match fact {
            Fact::AddOn(add_on) => {
                let was_unreadable = self.unreadable.remove(at);
                let old = self.add_ons.insert(at.1.clone(), (*add_on).clone());
                // Nothing on a cluster depends on its status, which is written often.
                if was_unreadable || old.is_none_or(|old| old.differs(&add_on)) {
                    self.of_add_on(&at.1)
                } else {
                    vec![Key::AddOn(at.1.clone())]
                }
            }
            Fact::OnCluster(on) => {
                let was_unreadable = self.unreadable.remove(at);
                let all = self.on_clusters.entry(at.1.clone()).or_default();
                let old = all.get(&at.0);
                let differs = old.is_none_or(|old| old.differs(&on));
                let has_other_rights =
                    differs && old.is_none_or(|old| old.differs_beyond_conditions(&on));
                all.insert(at.0.clone(), *on);
                let mut keys = Vec::new();
                if differs || was_unreadable {
                    keys.extend([Key::AddOn(at.1.clone()), Key::OnCluster(at.clone())]);
                }
                if has_other_rights || was_unreadable {
                    keys.push(Key::Permissions(at.1.clone()));
                }
                keys
            }
            Fact::DeploymentConfig(config) => {
                let is_new = self
                    .configs
                    .set_deployment_config(&at.0, &at.1, Some(config));
                self.of_config(is_new, groups::ADDON_DEPLOYMENT_CONFIGS, at)
            }
            Fact::Template(template) => {
                let is_new = self.configs.set_template(&at.1, Some(template));
                self.of_config(is_new, groups::ADDON_TEMPLATES, at)
            }
            Fact::Cluster(cluster) => self.cluster_changed(&at.1, Some(cluster)),
            Fact::Placement(placement) => {
                let is_new = self.placements.set(at, Some(placement));
                self.placement_changed(at, is_new)
            }
            Fact::Decision(decision) => self.decision_changed(at, Some(decision)),
            Fact::Work(work) => self.work_changed(at, work),
            Fact::Binding(binding) => self.binding_changed(at, Some(*binding)),
            Fact::Request(request) => self.request_changed(&at.1, request),
            Fact::Token(kind, stored) => self.token_changed(kind, at, stored),
        }
    }

    /// Removes an object, and returns the keys that the change concerns.
    pub(super) fn remove(&mut self, kind: Kind, at: &Place) -> Vec<Key> {
        match kind {
            Kind::AddOn => {
                self.unreadable.remove(at);
                let keys = self.of_add_on(&at.1);
                self.add_ons.remove(&at.1);
                self.away.retain(|(_, name), _| *name != at.1);
                self.bindings.forget(&at.1);
                keys
            }
            Kind::OnCluster => {
                self.unreadable.remove(at);
                self.away.remove(at);
                self.deployments.forget(at);
                if let Some(all) = self.on_clusters.get_mut(&at.1) {
                    all.remove(&at.0);
                    if all.is_empty() {
                        self.on_clusters.remove(&at.1);
                    }
                }
                let name = || at.1.clone();
                vec![
                    Key::AddOn(name()),
                    Key::OnCluster(at.clone()),
                    Key::Permissions(name()),
                ]
            }
            Kind::DeploymentConfig => {
                let is_new = self.configs.set_deployment_config(&at.0, &at.1, None);
                self.of_config(is_new, groups::ADDON_DEPLOYMENT_CONFIGS, at)
            }
            Kind::Template => {
                let is_new = self.configs.set_template(&at.1, None);
                self.of_config(is_new, groups::ADDON_TEMPLATES, at)
            }
            Kind::Cluster => self.cluster_changed(&at.1, None),
            Kind::Placement => {
                let is_new = self.placements.set(at, None);
                self.placement_changed(at, is_new)
            }
            Kind::Decision => self.decision_changed(at, None),
            Kind::Work => self.work_changed(at, None),
            Kind::Binding => self.binding_changed(at, None),
            Kind::Request => self.request_changed(&at.1, None),
            Kind::Token(kind) => self.token_changed(kind, at, None),
        }
    }

    /// Notes an object that cannot be read. What was known of it stays, and nothing is written for it, or deleted because of it.
    pub(super) fn unreadable(&mut self, kind: Kind, at: Place) {
        match kind {
            Kind::AddOn | Kind::OnCluster => {
                self.unreadable.insert(at);
            }
            Kind::Placement => self.placements.unreadable(at, false),
            Kind::Decision => self.placements.unreadable(at, true),
            // Bindings and what gives tokens stay what they were; a request that cannot be read gets no certificate.
            Kind::DeploymentConfig
            | Kind::Template
            | Kind::Cluster
            | Kind::Work
            | Kind::Binding
            | Kind::Request
            | Kind::Token(_) => {}
        }
    }

    /// The hub was restored to an earlier state: what is missing now may come back. Every grace begins anew.
    pub(super) fn begin_graces_anew(&mut self) {
        self.away.clear();
        self.placements.forget_missing();
    }

    /// All keys.
    pub(super) fn all(&self) -> Vec<Key> {
        let names: BTreeSet<_> = self.add_ons.keys().chain(self.on_clusters.keys()).collect();
        let keys = names.into_iter().flat_map(|name| self.of_add_on(name));
        keys.chain(self.all_rights())
            .chain(self.all_tokens())
            .collect()
    }

    /// Notes what the template of a job makes.
    pub(super) fn made(&mut self, job: &Job, made: Result<Made, String>) {
        self.deployments.made(&job.at, job.inputs.clone(), made);
    }

    /// Notes that the works of a job's part are as they should be.
    pub(super) fn done(&mut self, job: &Job, part: Part, digests: BTreeMap<String, Digest>) {
        self.deployments.done(&job.at, &job.inputs, part, digests);
    }

    /// Notes why the works of an add-on cannot be written; `None` before they are tried again.
    pub(super) fn set_fault(&mut self, at: &Place, fault: Option<String>) {
        self.deployments.set_fault(at, fault);
    }

    /// Returns whether an add-on is known as it is.
    fn is_readable(&self, name: &str) -> bool {
        !self.unreadable.contains(&place("", name))
    }

    /// The keys of an add-on.
    fn of_add_on(&self, name: &str) -> Vec<Key> {
        let placements = self
            .add_ons
            .get(name)
            .into_iter()
            .flat_map(|it| &it.placements);
        let selected = placements.flat_map(|it| {
            let placement = place(&it.namespace, &it.name);
            let clusters = self.placements.clusters(&placement);
            clusters.cloned().collect::<Vec<_>>()
        });
        let existing = self
            .on_clusters
            .get(name)
            .into_iter()
            .flat_map(BTreeMap::keys);
        let clusters: BTreeSet<_> = existing.cloned().chain(selected).collect();
        let on_clusters = clusters
            .into_iter()
            .map(|it| Key::OnCluster((it, name.to_owned())));
        [Key::AddOn(name.to_owned())]
            .into_iter()
            .chain(on_clusters)
            .collect()
    }

    /// The add-ons from templates that name a config whose hash is new; and the ManagedClusterAddOns that name it and are being deleted, which
    /// have the latest one.
    fn of_config(&self, is_new: bool, resource: &str, at: &Place) -> Vec<Key> {
        if !is_new {
            return Vec::new();
        }
        let is_it = |it: &AddOnConfig| {
            (&*it.group, &*it.resource) == (groups::ADDON, resource)
                && (&it.namespace, &it.name) == (&at.0, &at.1)
        };
        let mut keys = Vec::new();
        for add_on in self.add_ons.values().filter(|it| it.has_template()) {
            let clusters = self.on_clusters.get(&add_on.name);
            let mut own = clusters.into_iter().flat_map(BTreeMap::values);
            if add_on.configs().any(is_it) || own.any(|it| it.configs.iter().any(is_it)) {
                keys.push(Key::AddOn(add_on.name.clone()));
            }
        }
        for (name, all) in &self.on_clusters {
            let ending = all.iter().filter(|(_, it)| it.is_deleting);
            let ending = ending.filter(|(_, it)| {
                let mut references = it.references.iter();
                references.any(|it| it.resource == resource)
            });
            keys.extend(ending.map(|(cluster, _)| Key::OnCluster(place(cluster, name))));
        }
        keys
    }

    fn cluster_changed(&mut self, cluster: &str, fact: Option<Cluster>) -> Vec<Key> {
        let new = fact.clone();
        let old = match fact {
            Some(fact) => self.clusters.insert(cluster.to_owned(), fact),
            None => self.clusters.remove(cluster),
        };
        if old == new {
            return Vec::new();
        }
        let add_ons = self.add_ons.keys().map(|it| place(cluster, it));
        let can_host = |it: &Option<Cluster>| it.as_ref().is_some_and(|it| !it.is_deleting);
        let is_new_host = can_host(&old) != can_host(&new);
        let hosted = self.on_clusters.iter().filter(|_| is_new_host);
        let hosted = hosted.flat_map(|(name, all)| {
            let of = all.iter().filter(|(_, on)| on.hosting() == Some(cluster));
            of.map(|(namespace, _)| place(namespace, name))
        });
        let tokens = self.tokens_on(cluster);
        (add_ons.chain(hosted).map(Key::OnCluster))
            .chain(tokens)
            .collect()
    }

    /// The keys of the add-ons that name a Placement.
    fn placement_changed(&self, at: &Place, is_new: bool) -> Vec<Key> {
        let readers = self.readers(at).filter(|_| is_new);
        readers.flat_map(|it| self.of_add_on(&it.name)).collect()
    }

    fn decision_changed(&mut self, at: &Place, decision: Option<DecisionFact>) -> Vec<Key> {
        if self.placements.is_unreadable_decision(at) {
            self.placements.decide(at, decision);
            return self.all();
        }
        let changed = self.placements.decide(at, decision);
        let mut keys = BTreeSet::new();
        for (placement, clusters) in changed {
            for add_on in self.readers(&placement) {
                let name = &add_on.name;
                keys.insert(Key::AddOn(name.clone()));
                let of = |it: &String| Key::OnCluster((it.clone(), name.clone()));
                keys.extend(clusters.iter().map(of));
                // Whether these are to go depends on all PlacementDecisions.
                let existing = self
                    .on_clusters
                    .get(name)
                    .into_iter()
                    .flat_map(BTreeMap::keys);
                let unlisted = existing.filter(|it| !self.placements.lists(&placement, it));
                keys.extend(unlisted.map(of));
            }
        }
        keys.into_iter().collect()
    }

    /// The add-ons that name a Placement.
    fn readers<'a>(&'a self, placement: &'a Place) -> impl Iterator<Item = &'a AddOn> {
        self.add_ons.values().filter(move |add_on| {
            let mut placements = add_on.placements.iter();
            placements.any(|it| (&it.namespace, &it.name) == (&placement.0, &placement.1))
        })
    }

    fn work_changed(&mut self, at: &Place, work: Option<Work>) -> Vec<Key> {
        let of = work
            .as_ref()
            .map(|it| (it.cluster.clone(), it.add_on.clone()));
        let old = match &of {
            Some(of) => self.owner_of.insert(at.clone(), of.clone()),
            None => self.owner_of.remove(at),
        };
        let known = old.as_ref().and_then(|old| {
            let works = self.works.get_mut(old)?;
            let known = works.remove(at);
            if works.is_empty() {
                self.works.remove(old);
            }
            known
        });
        let is_same = known.is_some() && known == work;
        if let (Some(of), Some(work)) = (&of, work) {
            let works = self.works.entry(of.clone()).or_default();
            works.insert(at.clone(), work);
        }
        if is_same {
            return Vec::new();
        }
        let concerned: BTreeSet<_> = old.into_iter().chain(of).collect();
        concerned.into_iter().map(Key::OnCluster).collect()
    }
}
