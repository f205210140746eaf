//! An agent on this cluster that manages another one.

use super::*;
use crate::account::{Account, content, good_until, secret};
use crate::credentials::Unprepared;
use crate::names::{AWAY_SINCE, HOSTED_FINALIZER};

const CREATED: &str = "2026-01-01T00:00:00Z";

/// A Klusterlet in mode Hosted, and its managed cluster.
struct Hosted {
    play: Play,
    there: Played,
    works: AppliedWorks,
    /// Why the managed cluster cannot be reached.
    unprepared: Option<Unprepared>,
    /// The two clusters are the same.
    is_same: bool,
}

impl Hosted {
    fn new() -> Self {
        Self::with(json!({"clusterName": "c1", "deployOption": {"mode": "Hosted"}}))
    }

    fn with(spec: Value) -> Self {
        Self {
            play: Play::new(spec),
            there: Played::new(Value::Null, "none"),
            works: AppliedWorks::new(),
            unprepared: None,
            is_same: false,
        }
    }

    fn installed() -> Self {
        let mut hosted = Self::new();
        hosted.settle();
        hosted.play.roll_out();
        hosted.settle();
        hosted
    }

    /// Carries out what is decided on both clusters, until nothing is due. Returns the steps; those on the managed cluster begin with `there`.
    fn settle(&mut self) -> Vec<Vec<String>> {
        let mut steps = Vec::new();
        for _ in 0..10 {
            let before = steps.len();
            steps.extend(self.play.settle());
            steps.extend(self.look());
            if steps.len() == before && self.play.decide() == Decision::default() {
                return steps;
            }
        }
        panic!("it does not settle: {:#?}", steps.last());
    }

    /// What the operator does on the managed cluster.
    fn look(&mut self) -> Vec<Vec<String>> {
        let klusterlet = self.play.klusterlet();
        let Some(task) = task(&klusterlet, None, &stored(&self.play.store)) else {
            self.play.managed = None;
            return Vec::new();
        };
        if let Some(unprepared) = self.unprepared.clone() {
            self.play.managed = Some(Managed {
                task,
                ready: Err(unprepared),
                outcome: Outcome::Nothing,
                is_here: self.is_same,
            });
            return Vec::new();
        }
        let known_here = stored(&self.play.store);
        let mut there = there(
            &klusterlet,
            &self.play.settings,
            &known_here,
            self.play.connection.as_ref(),
            &mut self.play.renderer.borrow_mut(),
        );
        there.is_here = self.is_same;
        let now = self.play.now();
        let mut steps = Vec::new();
        let outcome = loop {
            let known = stored(&self.there.store);
            let (writes, outcome) = match task {
                Task::Prepare => (Vec::new(), Outcome::Nothing),
                Task::Install => match there.due(&known) {
                    Ok(writes) if writes.is_empty() => (there.unwanted(&known, now), Outcome::Done),
                    Ok(writes) => (writes, Outcome::Done),
                    Err(failure) => break Outcome::Failed(vec![failure]),
                },
                Task::Clean => {
                    let (writes, waits_for) = there.clean(&known, Some(&self.works), false, now);
                    (writes, waits_for.map_or(Outcome::Done, Outcome::WaitsFor))
                }
            };
            if writes.is_empty() {
                break outcome;
            }
            steps.push(
                writes
                    .iter()
                    .map(|it| format!("there: {}", shown(it)))
                    .collect(),
            );
            for write in writes {
                if write.target.resource.resource == "appliedmanifestworks" {
                    self.works.remove(&write.target.name);
                } else {
                    self.there.carry_out(write);
                }
            }
        };
        if self.is_same {
            self.play.played.store.extend(self.there.store.clone());
        }
        if task == Task::Install && outcome == Outcome::Done {
            let content = BTreeMap::from([("token", "t".to_owned())]);
            let secret = secret(&there.secret(), &there.labels(), &content, |_| {
                String::new()
            });
            self.play.put(there.secret(), secret);
        }
        self.play.managed = Some(Managed {
            task,
            ready: Ok(format!("created at {CREATED}")),
            outcome,
            is_here: self.is_same,
        });
        steps
    }

    fn delete(&mut self) {
        self.play.object["metadata"]["deletionTimestamp"] = json!(CREATED);
        let work = |agent: &str| AppliedWork {
            finalizers: vec![
                "cluster.open-cluster-management.io/applied-manifest-work-cleanup".to_owned(),
            ],
            agent: agent.to_owned(),
            ..AppliedWork::default()
        };
        self.works = BTreeMap::from([("mine".to_owned(), work("u1"))]);
        self.play.works = Some(AppliedWorks::new());
    }

    fn is_away(&mut self, is_away: bool) {
        self.unprepared = Some(Unprepared {
            is_away,
            why: "no route".to_owned(),
        });
    }

    fn finalizers(&self) -> Vec<String> {
        serde_json::from_value(self.play.object["metadata"]["finalizers"].clone())
            .unwrap_or_default()
    }

    fn away_since(&self) -> &Value {
        &self.play.object["metadata"]["annotations"][AWAY_SINCE]
    }
}

fn first(steps: &[Vec<String>]) -> Vec<&str> {
    steps.iter().map(|it| &*it[0]).collect()
}

#[test]
fn the_managed_cluster_comes_before_the_agent() {
    let mut hosted = Hosted::new();
    let steps = hosted.settle();
    assert_eq!(
        first(&steps),
        [
            "patch klusterlets klusterlet",
            "apply namespaces klusterlet",
            // The finalizer, before anything is written there.
            "patch klusterlets klusterlet",
            "there: apply customresourcedefinitions clusterclaims.cluster.open-cluster-management.io",
            "there: apply namespaces open-cluster-management-agent",
            "there: apply serviceaccounts klusterlet-work-sa",
            "there: apply roles klusterlet-agent-addons",
            "apply serviceaccounts klusterlet-work-sa",
            "apply deployments klusterlet-registration-agent",
            "patch klusterlets klusterlet",
        ],
        "{steps:#?}"
    );
    hosted.play.roll_out();
    hosted.settle();
    let play = &hosted.play;
    assert_eq!(
        play.said("ReadyToApply"),
        pair("True", "KlusterletPrepared")
    );
    assert_eq!(play.said("Applied"), pair("True", "KlusterletApplied"));
    assert_eq!(
        play.deployments(),
        ["klusterlet/klusterlet-registration-agent"]
    );
    let args = play.args("klusterlet-registration-agent");
    for flag in ["--spoke-kubeconfig", "--terminate-on-files"] {
        assert!(
            args.contains(&format!("{flag}=/spoke/config/kubeconfig")),
            "{args:?}"
        );
    }
    let deployment = play
        .stored(Kind::Deployment, "klusterlet-registration-agent")
        .unwrap();
    let volumes = &deployment["spec"]["template"]["spec"]["volumes"];
    assert_eq!(
        volumes[2]["secret"]["secretName"],
        "external-managed-kubeconfig-work"
    );
    // What the agent keeps is here, and what it may do is there.
    let (here, there) = (&play.played, &hosted.there);
    for (kind, count_here, count_there) in [
        (Kind::Definition, 0, 2),
        (Kind::Namespace, 1, 2),
        (Kind::Account, 1, 1),
        (Kind::Role, 1, 1),
        (Kind::RoleBinding, 1, 1),
        (Kind::ClusterRole, 0, 4),
        (Kind::ClusterRoleBinding, 0, 4),
        (Kind::Deployment, 1, 0),
    ] {
        assert_eq!(
            (here.count(kind), there.count(kind)),
            (count_here, count_there),
            "{kind:?}"
        );
    }
    let binding = there.stored(
        Kind::ClusterRoleBinding,
        "open-cluster-management:klusterlet-agent",
    );
    let subject = &binding.unwrap()["subjects"][0];
    assert_eq!(subject["name"], "klusterlet-work-sa");
    assert_eq!(subject["namespace"], "open-cluster-management-agent");
    let related = play.object["status"]["relatedResources"]
        .as_array()
        .unwrap();
    assert_eq!(related.len(), 5 + 18 - 4 + 1, "{related:?}");
}

#[test]
fn a_managed_cluster_that_cannot_be_reached_gets_nothing() {
    let mut hosted = Hosted::new();
    hosted.is_away(true);
    hosted.settle();
    let (status, reason, message) = hosted.play.condition("ReadyToApply");
    assert_eq!((&*status, &*reason), ("False", "KlusterletPrepareFailed"));
    assert_eq!(message, "Failed to build managed cluster clients: no route");
    assert_eq!(
        hosted.play.count(Kind::Namespace),
        1,
        "where its kubeconfig belongs"
    );
    assert_eq!(hosted.play.store.len(), 1);
    assert!(!hosted.finalizers().contains(&HOSTED_FINALIZER.to_owned()));
    // It can be deleted.
    hosted.delete();
    hosted.settle();
    assert!(hosted.finalizers().is_empty());
}

#[test]
fn an_agent_goes_on_while_its_managed_cluster_is_away() {
    let mut hosted = Hosted::installed();
    hosted.is_away(true);
    hosted.settle();
    assert_eq!(
        hosted.play.said("ReadyToApply"),
        pair("False", "KlusterletPrepareFailed")
    );
    assert_eq!(
        hosted.play.said("Available"),
        pair("True", "KlusterletAvailable")
    );
    hosted.play.store.retain(|id, _| id.kind != Kind::Role);
    hosted.settle();
    assert_eq!(hosted.play.count(Kind::Role), 1, "what is here is put back");
}

#[test]
fn one_of_the_same_name_on_another_cluster_keeps_what_it_has() {
    // The managed cluster's own, and one that another cluster hosts.
    let mut own = Play::new(json!({}));
    own.object["metadata"]["uid"] = json!("u3");
    own.settle();
    let own = own.played.store.clone();
    let mut other = Hosted::new();
    other.play.object["metadata"]["uid"] = json!("u2");
    other.settle();
    for (store, namespace) in [
        (own.clone(), "open-cluster-management-c1"),
        (own, "open-cluster-management-agent"),
        (other.there.store.clone(), "open-cluster-management-c1"),
        (other.there.store, "open-cluster-management-agent"),
    ] {
        let spec = json!({"namespace": namespace, "deployOption": {"mode": "Hosted"}});
        let mut hosted = Hosted::with(spec);
        hosted.there.store = store.clone();
        hosted.settle();
        let (status, _, message) = hosted.play.condition("Applied");
        assert_eq!(status, "False");
        assert!(
            message.contains("create one with another name"),
            "{message}"
        );
        hosted.delete();
        hosted.works.clear();
        hosted.settle();
        assert!(hosted.finalizers().is_empty());
        assert_eq!(hosted.there.store, store);
    }
}

#[test]
fn one_that_managed_this_cluster_before_leaves_it() {
    let mut hosted = Hosted::with(json!({"clusterName": "c1"}));
    hosted.play.settle();
    hosted.play.roll_out();
    hosted.play.settle();
    hosted.play.object["spec"]["deployOption"] = json!({"mode": "SingletonHosted"});
    hosted.play.object["metadata"]["generation"] = json!(2);
    hosted.settle();
    hosted.play.roll_out();
    hosted.play.connect();
    hosted.settle();
    assert_eq!(hosted.play.deployments(), ["klusterlet/klusterlet-agent"]);
    let play = &hosted.play;
    assert_eq!(
        play.count(Kind::ClusterRole) + play.count(Kind::ClusterRoleBinding),
        0
    );
    let place = play.stored(Kind::Namespace, "open-cluster-management-agent");
    assert!(place.is_none());
}

#[test]
fn credentials_of_another_mode_go() {
    let mut hosted = Hosted::installed();
    hosted.play.object["spec"]["deployOption"] = json!({"mode": "SingletonHosted"});
    hosted.play.object["metadata"]["generation"] = json!(2);
    hosted.settle();
    hosted.play.roll_out();
    hosted.settle();
    let secrets: Vec<_> = hosted
        .play
        .store
        .keys()
        .filter(|it| it.kind == Kind::Secret)
        .collect();
    assert_eq!(secrets.len(), 1);
    assert_eq!(secrets[0].name, "external-managed-kubeconfig-agent");
}

#[test]
fn in_another_namespace_there_it_leaves_the_former_one_when_it_is_connected() {
    let mut hosted = Hosted::installed();
    hosted.play.object["spec"]["namespace"] = json!("open-cluster-management-c1");
    hosted.play.object["metadata"]["generation"] = json!(2);
    hosted.settle();
    let former = "open-cluster-management-agent";
    assert!(hosted.there.stored(Kind::Namespace, former).is_some());
    hosted.play.connect();
    hosted.look();
    assert!(hosted.there.stored(Kind::Namespace, former).is_none());
    assert_eq!(hosted.there.count(Kind::Namespace), 2);
    assert_eq!(hosted.there.count(Kind::Account), 1);
}

#[test]
fn what_the_agent_before_needed_there_goes_when_this_one_runs() {
    let mut hosted = Hosted::new();
    let id = Id {
        kind: Kind::Account,
        namespace: "open-cluster-management-agent".to_owned(),
        name: "klusterlet-registration-sa".to_owned(),
    };
    let of_ocm = json!({"metadata": {"labels": {CREATED_BY_KLUSTERLET: "klusterlet"}}});
    hosted.there.put(id.clone(), of_ocm.clone());
    // It labels what all share, too.
    for name in ["open-cluster-management-agent", ADDON_NAMESPACE] {
        let place = Id {
            kind: Kind::Namespace,
            namespace: String::new(),
            name: name.to_owned(),
        };
        hosted.there.put(place, of_ocm.clone());
    }
    hosted.settle();
    assert!(hosted.there.store.contains_key(&id));
    hosted.play.roll_out();
    hosted.settle();
    assert!(!hosted.there.store.contains_key(&id));
}

#[test]
fn another_klusterlet_may_have_the_namespace_there() {
    let mut hosted = Hosted::new();
    let mut other = Hosted::new();
    other.play.object["metadata"]["name"] = json!("other");
    other.settle();
    hosted.there.store = other.there.store;
    hosted.settle();
    let (status, reason, message) = hosted.play.condition("Applied");
    assert_eq!(
        (&*status, &*reason),
        ("False", "ManagedClusterResourceApplyFailed")
    );
    assert!(message.contains("a Klusterlet other has it"), "{message}");
    assert_eq!(hosted.play.count(Kind::Deployment), 0);
}

#[test]
fn the_agent_goes_before_what_it_has_on_the_managed_cluster() {
    let mut hosted = Hosted::installed();
    hosted.delete();
    let steps = hosted.settle();
    assert_eq!(
        first(&steps),
        [
            "end deployments klusterlet-registration-agent",
            "delete rolebindings klusterlet-agent",
            "patch klusterlets klusterlet",
            "there: delete clusterrolebindings open-cluster-management:klusterlet-agent",
            "there: patch appliedmanifestworks mine",
            "there: delete clusterroles open-cluster-management:klusterlet-agent-work",
            "there: delete serviceaccounts klusterlet-work-sa",
            "there: delete namespaces open-cluster-management-agent",
            "delete serviceaccounts klusterlet-work-sa",
            "delete namespaces klusterlet",
            "patch klusterlets klusterlet",
        ],
        "{steps:#?}"
    );
    assert!(hosted.finalizers().is_empty());
    assert!(
        hosted.play.store.is_empty(),
        "{:?}",
        hosted.play.store.keys()
    );
    assert!(
        hosted
            .there
            .store
            .keys()
            .all(|it| it.kind == Kind::Definition)
    );
}

#[test]
fn a_managed_cluster_that_is_away_holds_up_the_removal_for_a_time() {
    let mut hosted = Hosted::installed();
    hosted.delete();
    hosted.is_away(true);
    hosted.settle();
    assert_eq!(*hosted.away_since(), json!(CREATED));
    let (_, _, message) = hosted.play.condition("Applied");
    assert!(
        message.contains("if it is away for 5 minutes: no route"),
        "{message}"
    );
    hosted.play.wall = "2026-01-01T00:04:59Z";
    hosted.settle();
    assert_eq!(hosted.finalizers().len(), 2);
    // It answers meanwhile, but does not let the operator in.
    hosted.is_away(false);
    hosted.settle();
    assert!(hosted.away_since().is_null());
    let (_, _, message) = hosted.play.condition("Applied");
    assert!(
        message.contains(
            "Put a kubeconfig that works into the Secret klusterlet/external-managed-kubeconfig"
        ),
        "{message}"
    );
    hosted.play.wall = "2026-01-02T00:00:00Z";
    hosted.settle();
    assert_eq!(hosted.finalizers().len(), 2);
    hosted.is_away(true);
    hosted.settle();
    hosted.play.wall = "2026-01-02T00:05:00Z";
    hosted.settle();
    assert!(hosted.finalizers().is_empty());
    assert!(
        hosted.play.store.is_empty(),
        "{:?}",
        hosted.play.store.keys()
    );
    assert!(!hosted.there.store.is_empty());
}

#[test]
fn a_namespace_that_was_there_before_stays() {
    let mut hosted = Hosted::new();
    let id = |kind, namespace: &str, name: &str| Id {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let theirs = json!({"kind": "Namespace", "metadata": {"name": "klusterlet"}});
    hosted
        .play
        .put(id(Kind::Namespace, "", "klusterlet"), theirs.clone());
    hosted.settle();
    hosted.play.roll_out();
    hosted.settle();
    let secret = id(Kind::Secret, "klusterlet", "hub-kubeconfig-secret");
    hosted.play.put(
        secret,
        json!({"kind": "Secret", "metadata": {"name": "hub-kubeconfig-secret"}}),
    );
    hosted.delete();
    hosted.settle();
    assert!(hosted.finalizers().is_empty());
    let left: Vec<_> = hosted.play.store.keys().map(Id::shown).collect();
    assert_eq!(left, ["Namespace klusterlet"], "without credentials");
}

#[test]
fn in_another_mode_it_leaves_its_managed_cluster_first() {
    let mut hosted = Hosted::installed();
    hosted.play.object["spec"]["deployOption"] = json!({"mode": "Default"});
    hosted.play.object["metadata"]["generation"] = json!(2);
    hosted.settle();
    hosted.play.roll_out();
    hosted.play.connect();
    hosted.settle();
    assert!(
        hosted
            .there
            .store
            .keys()
            .all(|it| it.kind == Kind::Definition)
    );
    let deployment = "open-cluster-management-agent/klusterlet-registration-agent";
    assert_eq!(hosted.play.deployments(), [deployment]);
    assert_eq!(hosted.finalizers().len(), 1);
    assert!(hosted.play.stored(Kind::Namespace, "klusterlet").is_none());
    // The last look at the managed cluster says nothing any more.
    assert_eq!(hosted.play.said("ReadyToApply"), pair("", ""));
}

#[test]
fn the_managed_cluster_may_be_this_one() {
    let mut hosted = Hosted::new();
    hosted.is_same = true;
    hosted.settle();
    hosted.play.roll_out();
    hosted.play.connect();
    hosted.settle();
    // What is here for the managed cluster is not taken for what nobody wants.
    assert_eq!(hosted.play.count(Kind::ClusterRole), 4);
    assert_eq!(hosted.play.count(Kind::Namespace), 3);
    assert_eq!(
        hosted.play.said("Applied"),
        pair("True", "KlusterletApplied")
    );
}

#[test]
fn credentials_are_good_for_one_account_and_server() {
    use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
    let claims = json!({
        "iat": 0, "exp": 1000, "kubernetes.io": {"serviceaccount": {"name": "a", "uid": "1"}},
    });
    let token = format!("h.{}.s", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()));
    let account = |uid: &str| Account {
        namespace: "n".to_owned(),
        name: "a".to_owned(),
        uid: uid.to_owned(),
        token_file: TOKEN_FILE,
    };
    let server = json!({"server": "https://s", "certificate-authority-data": "QQ=="});
    let kept = |cluster: &Value| {
        let content = content(cluster, &account("1"), &token, None);
        let content = content.into_iter();
        let data = content.map(|(key, value)| (key.to_owned(), value.into_bytes()));
        data.collect::<BTreeMap<_, _>>()
    };
    let with = |field: &str, value: Value| {
        let mut server = server.clone();
        server[field] = value;
        server
    };
    for (sentence, stored, uid, second, expected) in [
        ("good", server.clone(), "1", 799, true),
        (
            "a fifth of the time is left",
            server.clone(),
            "1",
            800,
            false,
        ),
        ("another account", server.clone(), "2", 0, false),
        (
            "another server",
            with("server", json!("https://t")),
            "1",
            0,
            false,
        ),
        (
            "another authority",
            with("certificate-authority-data", json!("Qg==")),
            "1",
            0,
            false,
        ),
        (
            "trusts anybody",
            with("insecure-skip-tls-verify", json!(true)),
            "1",
            0,
            false,
        ),
        (
            "says the default",
            with("insecure-skip-tls-verify", json!(false)),
            "1",
            0,
            true,
        ),
    ] {
        let now = jiff::Timestamp::from_second(second).unwrap();
        assert_eq!(
            good_until(&kept(&stored), &server, &account(uid), now).is_some(),
            expected,
            "{sentence}"
        );
    }
    let now = jiff::Timestamp::from_second(0).unwrap();
    assert_eq!(
        good_until(&BTreeMap::new(), &server, &account("1"), now),
        None
    );
}
