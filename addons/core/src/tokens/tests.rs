//! The steps of one add-on on one cluster, and a law: whatever happens in between, the objects follow the driver.

use std::time::Instant;

use berth_api::addon::{BaseSubject, KubeClientConfig, RegistrationType};
use proptest::prelude::*;

use super::*;

fn now() -> Now {
    Now {
        wall: "2026-03-01T00:00:00Z".parse().unwrap(),
        instant: Instant::now(),
    }
}

/// A hub with one ManagedClusterAddOn.
#[derive(Clone, Debug)]
struct Hub {
    managed: Option<Cluster>,
    on: Option<OnCluster>,
    /// The objects as they are stored, with the number of writes at their creation as uid.
    stored: [Option<Value>; 3],
    fault: Option<&'static str>,
    /// The finalizer of another controller keeps what is deleted.
    holds: bool,
    writes: usize,
}

fn registered(driver: &str) -> RegistrationConfig {
    RegistrationConfig {
        r#type: RegistrationType::KubeClient,
        custom_signer: None,
        kube_client: Some(KubeClientConfig {
            driver: driver.to_owned(),
            subject: BaseSubject::default(),
        }),
    }
}

// === impl Hub ===

impl Hub {
    fn new(driver: &str) -> Self {
        let managed = Cluster {
            is_accepted: true,
            ..Cluster::default()
        };
        let on = OnCluster {
            uid: "on".to_owned(),
            registrations: vec![registered(driver)],
            ..OnCluster::default()
        };
        Self {
            managed: Some(managed),
            on: Some(on),
            stored: [None, None, None],
            fault: None,
            holds: false,
            writes: 0,
        }
    }

    fn next(&self) -> Option<Write> {
        let read = |kind: Kind| {
            let object = self.stored[kind as usize].as_ref()?;
            Stored::read(kind, &object.to_string()).unwrap()
        };
        let stored = Kind::ALL.map(read);
        let facts = Facts {
            addon: "x",
            cluster: "c1",
            managed: self.managed.as_ref(),
            on: self.on.as_ref(),
            stored: stored.each_ref().map(Option::as_ref),
            fault: self.fault,
        };
        next(&facts, now())
    }

    /// Does a write as an API server does.
    fn carry_out(&mut self, write: Write) {
        self.writes += 1;
        let kind = (Kind::ALL.into_iter()).find(|it| it.resource() == write.target.resource);
        let Some(kind) = kind else {
            let Action::Patch { body, .. } = write.action else {
                panic!("{write:?}")
            };
            let conditions = serde_json::from_value(body["status"]["conditions"].clone());
            self.on.as_mut().unwrap().conditions = conditions.unwrap();
            return;
        };
        assert_eq!(write.target.namespace.as_deref(), Some("c1"));
        assert_eq!(write.target.name, kind.of("x"));
        let stored = &mut self.stored[kind as usize];
        match write.action {
            Action::Create { mut body } => {
                assert_eq!(*stored, None, "it is there");
                body["metadata"]["uid"] = json!(format!("{kind:?}{}", self.writes));
                body["metadata"]["resourceVersion"] = json!("1");
                *stored = Some(body);
            }
            Action::Replace { body, .. } => {
                let old = stored.as_ref().expect("it is there");
                assert_eq!(old["roleRef"], body["roleRef"], "roles are not changed");
                assert_eq!(old["metadata"], body["metadata"]);
                *stored = Some(body);
            }
            Action::Delete { uid, .. } => {
                let old = stored.as_mut().expect("it is there");
                assert_eq!(old["metadata"]["uid"], uid);
                let deleted = &mut old["metadata"]["deletionTimestamp"];
                assert!(deleted.is_null(), "it is being deleted already");
                *deleted = json!("2026-03-01T00:00:00Z");
                if !self.holds {
                    *stored = None;
                }
            }
            other => panic!("{other:?}"),
        }
    }

    /// Works until nothing is due. Returns the kinds that were written, or `status`.
    fn settle(&mut self) -> Vec<&'static str> {
        let mut written = Vec::new();
        while let Some(write) = self.next() {
            assert!(written.len() < 12, "it does not settle: {written:?}");
            let kinds = Kind::ALL.into_iter();
            let kind = kinds.map(|it| (it.resource(), it.name()));
            let kind = kind.filter(|(resource, _)| *resource == write.target.resource);
            let name = kind.map(|(_, name)| name).next();
            written.push(name.unwrap_or("status"));
            self.carry_out(write);
        }
        written
    }

    /// The other controller lets go what is being deleted.
    fn release(&mut self) {
        self.holds = false;
        for stored in &mut self.stored {
            let is_deleting = |it: &Value| !it["metadata"]["deletionTimestamp"].is_null();
            if stored.as_ref().is_some_and(is_deleting) {
                *stored = None;
            }
        }
    }

    fn condition(&self) -> Option<(&str, &str, &str)> {
        let on = self.on.as_ref()?;
        let found = condition_of(&on.conditions, addon::TOKEN_INFRASTRUCTURE_READY)?;
        Some((&found.status, &found.reason, &found.message))
    }

    fn on(&mut self) -> &mut OnCluster {
        self.on.as_mut().unwrap()
    }
}

const READY: &str = "TokenInfrastructureReady";

const MADE: [&str; 4] = ["ServiceAccount", "Role", "RoleBinding", "status"];

const REMOVED: [&str; 4] = ["RoleBinding", "Role", "ServiceAccount", "status"];

#[test]
fn the_objects_follow_the_driver() {
    let mut hub = Hub::new("csr");
    assert_eq!(hub.settle(), [""; 0]);
    hub.on().registrations = vec![registered("token")];
    assert_eq!(hub.settle(), MADE);
    // The agent finds the uid in these words.
    let expected = "ServiceAccount c1/x-agent (UID: Account1) is ready";
    assert_eq!(hub.condition(), Some(("True", READY, expected)));

    // The account is made anew.
    hub.stored[0] = None;
    assert_eq!(hub.settle(), ["ServiceAccount", "status"]);
    let expected = "ServiceAccount c1/x-agent (UID: Account5) is ready";
    assert_eq!(hub.condition(), Some(("True", READY, expected)));

    hub.on().registrations = vec![registered("csr")];
    assert_eq!(hub.settle(), REMOVED);
    assert_eq!(hub.condition(), None);
    assert_eq!(hub.stored, [None, None, None]);
}

#[test]
fn only_the_first_registration_for_the_api_server_counts() {
    let custom = RegistrationConfig {
        r#type: RegistrationType::CustomSigner,
        kube_client: None,
        custom_signer: None,
    };
    for (registrations, expected) in [
        (vec![], false),
        (vec![custom.clone()], false),
        (vec![custom, registered("token")], true),
        (vec![registered("token"), registered("csr")], true),
        (vec![registered("csr"), registered("token")], false),
        (vec![registered("Token")], false),
        (vec![registered("")], false),
    ] {
        assert_eq!(uses_tokens(&registrations), expected, "{registrations:?}");
    }
}

#[test]
fn what_others_change_is_put_back() {
    for (kind, change, expected) in [
        (Kind::Account, json!({"secrets": [{"name": "s"}]}), &[][..]),
        (Kind::Role, json!({"rules": []}), &["Role"]),
        (Kind::Binding, json!({"subjects": []}), &["RoleBinding"]),
        (
            Kind::Binding,
            json!({"roleRef": {"name": "cluster-admin", "kind": "ClusterRole"}}),
            &["RoleBinding", "RoleBinding"],
        ),
    ] {
        let mut hub = Hub::new("token");
        hub.settle();
        let before = hub.stored.clone();
        let stored = hub.stored[kind as usize].as_mut().unwrap();
        json_patch::merge(stored, &change);
        stored["metadata"]["annotations"] = json!({"mine": "yes"});
        let is_made_anew = expected.len() == 2;
        assert_eq!(hub.settle(), expected, "{change}");
        let mended = hub.stored[kind as usize].as_ref().unwrap();
        let before = before[kind as usize].as_ref().unwrap();
        for field in ["rules", "subjects", "roleRef"] {
            assert_eq!(mended[field], before[field], "{change}");
        }
        let kept = &mended["metadata"]["annotations"]["mine"];
        assert_eq!(kept == "yes", !is_made_anew, "what others add stays");
    }
}

#[test]
fn a_cluster_that_is_not_accepted_gets_no_tokens() {
    let mut hub = Hub::new("token");
    let denied = Some(Cluster::default());
    let failed = "TokenInfrastructureApplyFailed";
    let why = "Failed to apply token infrastructure: the ManagedCluster is not accepted (spec.hubAcceptsClient)";
    hub.managed = denied.clone();
    assert_eq!(hub.settle(), ["status"]);
    assert_eq!(hub.condition(), Some(("False", failed, why)));
    hub.managed = Hub::new("").managed;
    assert_eq!(hub.settle(), MADE);
    for refused in [denied, None] {
        hub.managed = refused;
        assert_eq!(hub.settle(), REMOVED);
        assert_eq!(hub.condition(), Some(("False", failed, why)));
        hub.managed = Hub::new("").managed;
        assert_eq!(hub.settle(), MADE);
    }
}

#[test]
fn hooks_keep_what_they_have() {
    for is_cluster in [false, true] {
        let mut hub = Hub::new("token");
        hub.settle();
        match is_cluster {
            true => hub.managed.as_mut().unwrap().is_deleting = true,
            false => hub.on().is_deleting = true,
        }
        assert_eq!(hub.settle(), [""; 0], "{is_cluster}");
        hub.on = None;
        assert_eq!(hub.settle(), REMOVED[..3]);

        let mut hub = Hub::new("token");
        hub.managed.as_mut().unwrap().is_deleting = is_cluster;
        hub.on().is_deleting = !is_cluster;
        assert_eq!(hub.settle(), [""; 0], "nothing new: {is_cluster}");
    }
}

#[test]
fn a_fault_is_said_until_it_is_mended() {
    let mut hub = Hub::new("token");
    hub.fault = Some("because");
    assert_eq!(hub.settle(), ["status"]);
    let failed = "TokenInfrastructureApplyFailed";
    let why = "Failed to apply token infrastructure: because";
    assert_eq!(hub.condition(), Some(("False", failed, why)));
    hub.fault = None;
    assert_eq!(hub.settle(), MADE);
    // What cannot be deleted is said, too, and not tried again and again.
    hub.on().registrations = vec![registered("csr")];
    hub.fault = Some("because");
    assert_eq!(hub.settle(), ["status"]);
    assert_eq!(hub.condition(), Some(("False", failed, why)));
    hub.fault = None;
    assert_eq!(hub.settle(), REMOVED);
}

#[test]
fn what_others_hold_back_is_deleted_once_and_waited_for() {
    let mut hub = Hub::new("token");
    hub.settle();
    hub.holds = true;
    hub.on().registrations = vec![registered("csr")];
    assert_eq!(hub.settle(), REMOVED);
    hub.on().registrations = vec![registered("token")];
    assert_eq!(hub.settle(), ["status"]);
    let failed = "TokenInfrastructureApplyFailed";
    let why = "Failed to apply token infrastructure: ServiceAccount c1/x-agent is being deleted";
    assert_eq!(hub.condition(), Some(("False", failed, why)));
    hub.release();
    assert_eq!(hub.settle(), MADE);
}

/// What may happen between two writes.
#[derive(Clone, Debug)]
enum Event {
    Driver(&'static str),
    Accepted(bool),
    Gone(usize),
    Held(bool),
    Spoilt(usize),
    NoCluster,
    Ends,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        prop::sample::select(vec!["token", "csr", ""]).prop_map(Event::Driver),
        any::<bool>().prop_map(Event::Accepted),
        (0_usize..3).prop_map(Event::Gone),
        any::<bool>().prop_map(Event::Held),
        (0_usize..3).prop_map(Event::Spoilt),
        Just(Event::NoCluster),
        Just(Event::Ends),
    ]
}

fn happens(hub: &mut Hub, event: &Event) {
    match *event {
        Event::Driver(driver) => {
            if let Some(on) = &mut hub.on {
                on.registrations = vec![registered(driver)];
            }
        }
        Event::Accepted(is_accepted) => {
            hub.managed = Some(Cluster {
                is_accepted,
                ..Cluster::default()
            });
        }
        Event::Gone(kind) => hub.stored[kind] = None,
        Event::Held(true) => hub.holds = true,
        Event::Held(false) => hub.release(),
        Event::Spoilt(kind) => {
            if let Some(stored) = &mut hub.stored[kind] {
                stored["rules"] = json!([]);
                stored["subjects"] = json!([]);
                stored["roleRef"] = json!({"name": "other"});
            }
        }
        Event::NoCluster => hub.managed = None,
        Event::Ends => hub.on = None,
    }
}

proptest! {
    /// The hub may be killed after any write: what a successor finds is all that it knows.
    #[test]
    fn whatever_happens_the_objects_follow_the_driver(
        story in prop::collection::vec((event(), 0_usize..6), 0..20)
    ) {
        let mut hub = Hub::new("token");
        for (event, writes) in story {
            happens(&mut hub, &event);
            for _ in 0..writes {
                if let Some(write) = hub.next() {
                    hub.carry_out(write);
                }
            }
        }
        hub.settle();
        hub.release();
        hub.settle();
        let uses = hub.on.as_ref().is_some_and(|on| uses_tokens(&on.registrations));
        let is_accepted = hub.managed.as_ref().is_some_and(|it| it.is_accepted);
        let expected: [Option<Value>; 3] = match uses && is_accepted {
            true => Hub::settled().stored,
            false => [None, None, None],
        };
        for (stored, expected) in hub.stored.iter().zip(&expected) {
            prop_assert_eq!(stored.is_some(), expected.is_some());
            if let (Some(stored), Some(expected)) = (stored, expected) {
                for (kind, field) in [("Role", "rules"), ("RoleBinding", "subjects"), ("RoleBinding", "roleRef")] {
                    if stored["kind"] == kind {
                        prop_assert_eq!(&stored[field], &expected[field]);
                    }
                }
            }
        }
        let status = hub.condition().map(|(status, ..)| status);
        let expected = uses.then_some(if is_accepted { "True" } else { "False" });
        prop_assert_eq!(status, expected);
        if status == Some("True") {
            let uid = hub.stored[0].as_ref().unwrap()["metadata"]["uid"].as_str().unwrap();
            let expected = format!("(UID: {uid})");
            prop_assert!(hub.condition().unwrap().2.contains(&expected));
        }
    }
}

impl Hub {
    fn settled() -> Self {
        let mut hub = Self::new("token");
        hub.settle();
        hub
    }
}
