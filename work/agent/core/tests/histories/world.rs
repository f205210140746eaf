//! The API servers of a history, and what it has.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::grants::{Grants, executor};
use crate::store::Store;
use crate::things::{self, DEFINITION, SECRET, WIDGET};

/// The ManifestWork.
pub(crate) const WORK: &str = "w";

/// A ManifestWork that prescribes an object in common with it.
pub(crate) const RIVAL: &str = "v";

/// The object that both prescribe.
pub(crate) const COMMON: &str = "c";

/// The annotation by which an admin of the cluster holds a work back.
pub(crate) const HOLD: &str = "berth.open-cluster-management.io/hold";

/// Objects, each with a value.
pub(crate) type Manifests = Vec<(&'static str, u32)>;

/// What a history has, besides one ManifestWork with ConfigMaps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    /// The objects are written by server-side apply.
    pub(crate) is_apply: bool,
    /// A second ManifestWork prescribes an object in common with the first one.
    pub(crate) rival: bool,
    /// In the end both prescribe another value for it.
    pub(crate) contest: bool,
    /// The ManifestWork has an executor, whose permissions change.
    pub(crate) executor: bool,
    /// Its objects stay when they leave the manifests.
    pub(crate) orphans: bool,
    /// It has a CustomResourceDefinition, and an object of its kind.
    pub(crate) definition: bool,
    /// It has a Secret, which has to be created anew for another value.
    pub(crate) secret: bool,
    /// Refusals are told apart.
    pub(crate) apart: bool,
    /// An admin of the cluster holds works back for a while.
    pub(crate) holds: bool,
}

/// A ManifestWork as its user wants it.
pub(crate) struct Wanted {
    pub(crate) name: &'static str,
    pub(crate) manifests: Manifests,
    pub(crate) is_deleted: bool,
}

/// The API servers.
pub(crate) struct World {
    pub(crate) traits: Traits,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) works: Store,
    pub(crate) applied: Store,
    pub(crate) cluster: Cluster,
    pub(crate) grants: Grants,
    /// The works that were held, and of which generation each was when the agent saw that.
    pub(crate) holds: BTreeMap<&'static str, Option<i64>>,
    /// Objects that a write without an answer may have made.
    pub(crate) doubtful: BTreeSet<String>,
    /// The law that was broken first.
    pub(crate) broken: Option<String>,
}

// === impl Traits ===

impl Traits {
    /// Most histories have none or one: they are cheap.
    pub(crate) fn by_chance(rng: &mut Rng) -> Self {
        let is_apply = rng.bool();
        let mut may = |of: u8| rng.u8(..of) == 0;
        let rival = may(10);
        let executor = may(10);
        let mut traits = Self {
            is_apply,
            rival,
            contest: rival && may(3),
            executor,
            orphans: executor && may(3),
            definition: may(16),
            secret: may(10),
            apart: may(5),
            holds: may(4),
        };
        // Whether an orphan may be created anew depends on its value: there is a script for that.
        traits.orphans &= !traits.secret;
        traits
    }

    /// The objects of the first work.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let mut names = vec!["a", "b", COMMON];
        if self.secret {
            names.push(SECRET);
        }
        if self.definition {
            names.extend([DEFINITION, WIDGET]);
        }
        names
    }
}

// === impl Wanted ===

impl Wanted {
    /// The manifests that count: none, if the work is deleted.
    pub(crate) fn manifests(&self) -> &[(&'static str, u32)] {
        match self.is_deleted {
            true => &[],
            false => &self.manifests,
        }
    }

    pub(crate) fn prescribes(&self, name: &str) -> bool {
        self.manifests().iter().any(|(of, _)| *of == name)
    }
}

// === impl World ===

impl World {
    /// API servers with these works.
    pub(crate) fn new(traits: Traits, works: &[(&'static str, Manifests)]) -> Self {
        let names = works.iter().flat_map(|(_, it)| it.iter().map(|it| it.0));
        let names: BTreeSet<_> = names.chain(traits.names()).chain(["d"]).collect();
        let mut world = Self {
            traits,
            wanted: Vec::new(),
            works: Store::default(),
            applied: Store::default(),
            cluster: Cluster::new(names.iter().copied()),
            grants: Grants::new(names.iter().copied()),
            holds: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            broken: None,
        };
        for (name, manifests) in works {
            world.create(name, manifests.clone());
        }
        world
    }

    /// A user creates a work.
    pub(crate) fn create(&mut self, name: &'static str, manifests: Manifests) {
        let work = json!({
            "metadata": {"name": name, "namespace": "cluster1"},
            "spec": self.spec(name, &manifests),
        });
        self.works.create(name, work);
        self.wanted.push(Wanted {
            name,
            manifests,
            is_deleted: false,
        });
    }

    /// A user replaces the manifests of a work.
    pub(crate) fn replace(&mut self, name: &str, manifests: Manifests) {
        let spec = self.spec(name, &manifests);
        self.works.edit(name, |it| it["spec"] = spec);
        self.wanted(name).manifests = manifests;
    }

    /// A user deletes a work.
    pub(crate) fn delete(&mut self, name: &str) {
        self.works.delete(name);
        self.wanted(name).is_deleted = true;
    }

    /// An admin of the cluster holds a work, if it has an AppliedManifestWork, or (`None`) ends the hold.
    pub(crate) fn hold(&mut self, work: &'static str, value: Option<&str>) {
        let Some(applied) = self.applied_of(work) else {
            return;
        };
        let was_held = applied["metadata"]["annotations"][HOLD].is_string();
        if value.is_some() && !was_held {
            self.holds.insert(work, None);
        }
        self.applied.annotate(&format!("hash-{work}"), HOLD, value);
    }

    fn wanted(&mut self, name: &str) -> &mut Wanted {
        let mut wanted = self.wanted.iter_mut();
        wanted.find(|it| it.name == name).unwrap()
    }

    fn spec(&self, work: &str, manifests: &Manifests) -> Value {
        let all = manifests.iter();
        let all: Vec<_> = all
            .map(|(name, value)| things::manifest(name, *value))
            .collect();
        let strategy = match self.traits.is_apply {
            true => json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
            false => json!({"type": "Update"}),
        };
        let mut spec = json!({
            "workload": {"manifests": all},
            "manifestConfigs": [{
                "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "*", "name": "*"},
                "updateStrategy": strategy,
            }],
        });
        if work == WORK && self.traits.executor {
            spec["executor"] = executor();
        }
        if work == WORK && self.traits.orphans {
            spec["deleteOption"] = json!({"propagationPolicy": "Orphan"});
        }
        spec
    }

    /// The name, as all have it.
    pub(crate) fn named(&self, name: &str) -> &'static str {
        let mut names = self.cluster.names();
        names.find(|it| *it == name).unwrap()
    }

    /// The AppliedManifestWork of a work, if it exists.
    pub(crate) fn applied_of(&self, work: &str) -> Option<&Value> {
        self.applied.get(&format!("hash-{work}"))
    }

    /// Notes that a law was broken.
    pub(crate) fn breaks(&mut self, law: String) {
        self.broken.get_or_insert(law);
    }

    /// Returns true if a work prescribes the object and has it, other than the one of this owner.
    pub(crate) fn is_shared(&self, name: &str, owner: &str) -> bool {
        let Some(live) = self.cluster.live(name) else {
            return false;
        };
        let others = self.wanted.iter().filter(|it| it.prescribes(name));
        let others = others.filter_map(|it| self.applied_of(it.name));
        let mut others = others.filter(|it| it["metadata"]["deletionTimestamp"].is_null());
        others.any(|it| it["metadata"]["uid"] != owner && is_owned(live, it))
    }

    /// Objects that the agent has made, and that are not in the list. If it is killed now, and their manifests are gone when it begins again,
    /// they stay until their owner goes, as with OCM's agent: nothing but the owner reference says whose they are.
    pub(crate) fn unlisted(&self) -> Vec<String> {
        let unlisted = |applied: &Value| {
            let entries = applied["status"]["appliedResources"].as_array();
            let listed: Vec<_> = entries.into_iter().flatten().map(|it| &it["uid"]).collect();
            let ours = self.cluster.all().filter(|(_, it)| {
                is_owned(&it.value, applied) && !listed.contains(&&it.value["metadata"]["uid"])
            });
            ours.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        let applied = self.applied.all();
        applied.flat_map(|(_, it)| unlisted(it)).collect()
    }
}

/// Returns true if the object names this AppliedManifestWork as an owner.
pub(crate) fn is_owned(object: &Value, applied: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    owners.any(|it| it["uid"] == applied["metadata"]["uid"])
}
