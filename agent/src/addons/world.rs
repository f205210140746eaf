//! The facts of the add-ons, and what follows from them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use berth_agent_core::addons::fact::Addon;
use berth_agent_core::addons::health::{self, Lease};
use berth_agent_core::addons::status::{self, Rotation};
use berth_agent_core::addons::wanted::{self, Invalid, Registration};
use berth_agent_core::addons::{Driver, Place, token};
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::{GroupVersionResource, Now, groups, names};
use berth_reconcile::{Lane, Meta, Report, Wake, World};
use jiff::Timestamp;
use tokio::sync::watch;

use super::RESOURCE;

/// The reconciler's name, in metrics and logs.
const NAME: &str = "addons";

/// How long the status of an add-on waits after a write, so that what changes at the same time is written together.
const PAUSE: Duration = Duration::from_secs(1);

/// The only kind that is watched on the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind;

/// What the facts ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The certificates of add-ons.
    pub(super) registrations: Vec<Registration>,
    /// The Leases of add-ons.
    pub(super) leases: BTreeSet<(String, Place)>,
    /// Add-ons that are being deleted.
    pub(super) deleting: BTreeSet<String>,
    /// The hub has listed the add-ons of the cluster.
    pub(super) is_complete: bool,
}

/// The facts of the add-ons.
pub(super) struct Addons {
    cluster: String,
    expiration_seconds: Option<i32>,
    driver: Driver,
    /// The hub manages the cluster. Until then it says itself how add-ons stand.
    is_managed: bool,
    addons: BTreeMap<String, Addon>,
    leases: HashMap<(String, Place), Lease>,
    rotations: HashMap<Registration, Rotation>,
    invalid: Vec<Invalid>,
    is_complete: bool,
    wanted: watch::Sender<Wanted>,
}

// === impl Addons ===

impl Addons {
    pub(super) fn new(
        cluster: &str,
        expiration_seconds: Option<i32>,
        driver: Driver,
    ) -> (Self, watch::Receiver<Wanted>) {
        let (wanted, receiver) = watch::channel(Wanted::default());
        let addons = Self {
            cluster: cluster.to_owned(),
            expiration_seconds,
            driver,
            is_managed: true,
            addons: BTreeMap::new(),
            leases: HashMap::new(),
            rotations: HashMap::new(),
            invalid: Vec::new(),
            is_complete: false,
            wanted,
        };
        (addons, receiver)
    }

    /// Notes whether the hub manages the cluster.
    pub(super) fn is_managed(&mut self, is: bool, wakes: &mut Wake<Self>) {
        if std::mem::replace(&mut self.is_managed, is) != is {
            wakes.extend(self.all());
        }
    }

    /// Notes the Lease of an add-on.
    pub(super) fn renewed(
        &mut self,
        addon: &str,
        place: &Place,
        lease: Lease,
        wakes: &mut Wake<Self>,
    ) {
        self.leases.insert((addon.to_owned(), place.clone()), lease);
        wakes.wake(addon.to_owned());
    }

    /// Notes the state of a registration.
    pub(super) fn rotates(
        &mut self,
        registration: &Registration,
        rotation: Rotation,
        wakes: &mut Wake<Self>,
    ) {
        self.rotations.insert(registration.clone(), rotation);
        wakes.wake(registration.addon.clone());
    }

    /// Tells the supervisor what the facts ask for.
    fn refresh(&mut self) {
        let named = self
            .addons
            .iter()
            .map(|(name, addon)| (name.as_str(), addon));
        let (registrations, invalid) =
            wanted::registrations(&self.cluster, self.expiration_seconds, self.driver, named);
        for Invalid { addon, why } in &invalid {
            if !self.invalid.iter().any(|it| it.why == *why) {
                tracing::warn!(addon, why, "a registration of an add-on cannot be made");
            }
        }
        self.invalid = invalid;
        let has_lease = |it: &&Addon| !it.is_customized && names::is_dns1123_label(&it.namespace);
        let leases = self.addons.iter().filter(|(_, it)| has_lease(it));
        let leases = leases.map(|(name, addon)| (name.clone(), addon.place()));
        let leases: BTreeSet<_> = leases.collect();
        let deleting = self.addons.iter().filter(|(_, it)| it.is_deleting);
        self.rotations.retain(|it, _| registrations.contains(it));
        self.leases.retain(|it, _| leases.contains(it));
        let wanted = Wanted {
            deleting: deleting.map(|(name, _)| name.clone()).collect(),
            is_complete: self.is_complete,
            registrations,
            leases,
        };
        self.wanted.send_if_modified(|it| {
            let differs = *it != wanted;
            *it = wanted;
            differs
        });
    }
}

impl World for Addons {
    type Kind = Kind;
    type Key = String;
    type Fact = Addon;

    const LANES: &'static [Lane] = &[Lane::new(NAME, 4)];

    fn apply(
        &mut self,
        _: Kind,
        object: &Meta,
        mut fact: Addon,
        _: Report,
        wakes: &mut Wake<Self>,
    ) {
        // Its agent may need the Secrets to clean up.
        if fact.is_deleting
            && let Some(before) = self.addons.remove(&object.name)
            && before.uid == fact.uid
        {
            fact.registrations = before.registrations;
            fact.namespace = before.namespace;
            fact.hosting_cluster = before.hosting_cluster;
        }
        self.addons.insert(object.name.clone(), fact);
        self.refresh();
        wakes.wake(object.name.clone());
    }

    fn gone(&mut self, _: Kind, _: &str, name: &str, _: &mut Wake<Self>) {
        self.addons.remove(name);
        self.refresh();
    }

    fn all(&self) -> Vec<String> {
        self.addons.keys().cloned().collect()
    }

    fn listed(&mut self, _: Kind, _: Now, _: &mut Wake<Self>) {
        self.is_complete = true;
        self.refresh();
    }

    fn pause(_: &String) -> Duration {
        PAUSE
    }

    fn decide(&self, key: &String, now: Now) -> Plan {
        let Some(addon) = self.addons.get(key) else {
            return Plan::default();
        };
        let invalid = self.invalid.iter().filter(|it| it.addon == *key);
        let invalid: Vec<_> = invalid.map(|it| Rotation::not_asked(&it.why)).collect();
        let mut own: Vec<_> = self
            .rotations
            .iter()
            .filter(|(it, _)| it.addon == *key)
            .collect();
        own.sort_unstable_by_key(|(it, _)| &it.secret);
        let own = own.into_iter().map(|(_, rotation)| rotation);
        let own: Vec<_> = own.chain(&invalid).collect();
        let rotation = status::rotation(own.iter().copied(), now);
        let refreshed = status::refreshed(own, now);
        let lease = self.leases.get(&(key.clone(), addon.place()));
        let health = lease
            .filter(|_| self.is_managed)
            .and_then(|lease| health::available(key, addon, *lease, now));
        let again = health.as_ref().and_then(|(_, again)| *again);
        let available = health.map(|(condition, _)| condition);
        let mut plan = Plan::default();
        if let Some(again) = again {
            plan.look_again(now.instant + until(again, now.wall));
        }
        let user = token::user(&self.cluster, key);
        let conditions = [rotation, refreshed, available].into_iter().flatten();
        if let Some(body) = status::patch(addon, (self.driver, &user), conditions) {
            plan.writes.push(Write {
                target: Target {
                    resource: GroupVersionResource::new(groups::ADDON, &addon.version, RESOURCE),
                    namespace: Some(self.cluster.clone()),
                    name: key.clone(),
                },
                action: Action::Patch {
                    subresource: Some("status"),
                    body,
                },
                reconciler: NAME,
                events: Vec::new(),
            });
        }
        plan
    }
}

fn until(time: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(time.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use berth_agent_core::addons::fact;
    use berth_reconcile::{Source, now};

    use super::*;

    fn addon(uid: &str, user: &str, is_deleting: bool) -> Addon {
        Addon {
            version: "v1beta1".to_owned(),
            uid: uid.to_owned(),
            is_deleting,
            namespace: "n".to_owned(),
            registrations: vec![fact::Registration {
                signer: Some("example.com/s".to_owned()),
                user: user.to_owned(),
                ..fact::Registration::default()
            }],
            ..Addon::default()
        }
    }

    fn see(world: &mut Addons, fact: Addon) -> Vec<String> {
        let object = Meta {
            name: "x".to_owned(),
            ..Meta::default()
        };
        let sight = Report {
            source: Source::Watch,
            is_listing: false,
            now: now(),
        };
        world.apply(Kind, &object, fact, sight, &mut Wake::default());
        let wanted = world.wanted.borrow();
        let users = wanted.registrations.iter();
        users.map(|it| it.asked.subject.user.clone()).collect()
    }

    #[test]
    fn an_add_on_that_is_being_deleted_keeps_its_registrations() {
        let (mut world, wanted) = Addons::new("c1", None, Driver::Csr);
        assert_eq!(see(&mut world, addon("1", "u", false)), ["u"]);
        assert!(!wanted.borrow().is_complete);
        assert_eq!(see(&mut world, addon("1", "v", false)), ["v"]);
        assert_eq!(see(&mut world, addon("1", "w", true)), ["v"]);
        assert!(wanted.borrow().deleting.contains("x"));
        assert_eq!(see(&mut world, addon("1", "w", true)), ["v"]);
        // It was deleted, and made again, while the agent did not look.
        assert_eq!(see(&mut world, addon("2", "w", true)), ["w"]);
        world.gone(Kind, "c1", "x", &mut Wake::default());
        assert_eq!(wanted.borrow().registrations, []);
        world.listed(Kind, now(), &mut Wake::default());
        assert!(wanted.borrow().is_complete);
    }

    #[test]
    fn health_is_reported_while_the_hub_manages_the_cluster() {
        let (mut world, _wanted) = Addons::new("c1", None, Driver::Csr);
        see(&mut world, addon("1", "u", false));
        let key = "x".to_owned();
        assert!(world.decide(&key, now()).is_empty());
        let place = addon("1", "u", false).place();
        let lease = Lease::Renewed(Some(Timestamp::now()));
        world.renewed("x", &place, lease, &mut Wake::default());
        let plan = world.decide(&key, now());
        assert_eq!(plan.writes.len(), 1);
        assert!(plan.again.is_some());
        world.is_managed(false, &mut Wake::default());
        assert!(world.decide(&key, now()).is_empty());
    }
}
