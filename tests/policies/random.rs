//! Random writes: stored objects with a few random edits, and new objects.
//!
//! `BERTH_PROOF_WRITES` and `BERTH_PROOF_SEED` set their number and the seed. A difference prints the whole write and the stored object.

use std::collections::BTreeMap;

use berth_api::labels;
use berth_testkit::csr::user_of;
use fastrand::Rng;
use futures::StreamExt;
use serde_json::{Value, json};

use crate::compare::{Comparison, compare};
use crate::hub::Hub;
use crate::tables::content::{URLS, bundles};
use crate::tables::selectors::{selects, set};
use crate::tables::{
    ACCEPTED, Prepared, WORKSPACE, bindings, called, cluster, deleting, facts, requests,
};
use crate::users::{User, grant};
use crate::write::{Verb, Write};

/// The number of writes without the variable.
const WRITES: usize = 2_000;

/// The number of writes that are in flight.
const IN_FLIGHT: usize = 8;

/// The number of stored objects of each kind.
const STORED: usize = 24;

const SETS: [&str; 6] = ["a", "b", "default", "", "missing", "No_Set"];
const TIMES: [&str; 9] = [
    "2020-02-02T02:02:02Z",
    "2020-02-02T04:02:02+02:00",
    "2021-03-03T03:03:03Z",
    "2021-03-03T03:03:03.5Z",
    "0001-01-01T00:00:00Z",
    "@now",
    "@now-2",
    "@now-60",
    "@now+60",
];
const LEASES: [i64; 7] = [60, 0, 30, 86_400, 86_401, -1, -2];
const NAMES: [&str; 12] = [
    "new",
    "new-2",
    "kube-new",
    "openshift-new",
    "kube-public",
    "default",
    "work",
    "managed-clusters",
    "a.b",
    "c-accepted-2",
    "open-cluster-management-agent-x",
    "x234567890123456789012345678901234567890123456789012345678901234",
];

/// The users of clusters, sets and bindings.
const USERS: [&[&str]; 11] = [
    &[],
    &["accept"],
    &["join:a"],
    &["join:a", "join:default"],
    &["join:a", "join:b", "join:default"],
    &["join:b", "accept"],
    &["join:*"],
    &["join:*", "accept", "bind:*"],
    &["join:*", "accept", "bind:*"],
    &["bind:prod", "join:default"],
    &["bind:*"],
];

/// A source of random writes.
pub struct Source {
    rng: Rng,
    users: Vec<User>,
    bundles: [String; 4],
    clusters: Vec<Value>,
    sets: Vec<Value>,
    bindings: Vec<Value>,
    requests: Vec<Value>,
}

impl Source {
    /// A source that stores its own objects on the hub.
    pub async fn new(hub: &Hub, seed: u64) -> Self {
        facts::store(hub).await;
        let users: Vec<_> = USERS
            .iter()
            .map(|permissions| User::new(permissions))
            .collect();
        grant(&hub.admin, &users).await;
        let mut source = Self {
            rng: Rng::with_seed(seed),
            users,
            bundles: bundles(),
            clusters: Vec::new(),
            sets: Vec::new(),
            bindings: Vec::new(),
            requests: Vec::new(),
        };
        for i in 0..STORED {
            let mut stored = called(source.cluster(), &format!("stored-{seed}-{i}"));
            leave_to_the_schema(&mut stored);
            if i % 8 == 7 {
                stored = deleting(stored);
            }
            source.clusters.push(hub.store(&stored).await);
            let mut stored = called(source.set(), &format!("stored-{seed}-{i}"));
            if i % 8 == 7 {
                stored = deleting(stored);
            }
            source.sets.push(hub.store(&stored).await);
            let namespace = *source.pick(&[WORKSPACE, ACCEPTED]);
            let name = format!("stored-{seed}-{i}");
            let target = *source.pick(&[&*name, "prod", "test"]);
            source
                .bindings
                .push(hub.store(&bindings::bound(&name, target, namespace)).await);
            if i % 4 == 0 {
                let cluster = [None, Some("c1"), Some("c2")][source.rng.usize(..3)];
                let request = called(requests::labelled(cluster), &name);
                source.requests.push(hub.store(&request).await);
            }
        }
        source
    }

    /// The next write.
    pub fn write(&mut self) -> Write {
        match self.rng.usize(..100) {
            0..64 => self.write_cluster(),
            64..84 => self.write_set(),
            84..94 => self.write_binding(),
            _ => self.write_request(),
        }
    }

    fn write_cluster(&mut self) -> Write {
        let user = self.user();
        if self.rng.usize(..4) == 0 {
            let name = *self.pick(&NAMES);
            let object = called(self.cluster(), name);
            return Write {
                user,
                verb: Verb::Create,
                object,
            };
        }
        let mut object = self.pick(&self.clusters.clone()).clone();
        for _ in 0..self.rng.usize(1..4) {
            self.edit_cluster(&mut object);
        }
        Write {
            user,
            verb: Verb::Replace,
            object,
        }
    }

    /// A cluster with random content, more often good than not.
    fn cluster(&mut self) -> Value {
        let mut object = cluster(json!({}), json!({}));
        for _ in 0..self.rng.usize(..5) {
            self.edit_cluster(&mut object);
        }
        object
    }

    fn edit_cluster(&mut self, object: &mut Value) {
        match self.rng.usize(..16) {
            0 | 1 => {
                let set = *self.pick(&SETS);
                object["metadata"]["labels"][labels::CLUSTER_SET] = set.into();
            }
            2 => remove(&mut object["metadata"]["labels"], labels::CLUSTER_SET),
            3 => {
                let set = *self.pick(&SETS);
                object["metadata"]["labels"][labels::RETIRED_CLUSTER_SET] = set.into();
            }
            4 | 5 => {
                let accepted = object["spec"]["hubAcceptsClient"] == true;
                object["spec"]["hubAcceptsClient"] = (!accepted).into();
            }
            6 => match self.rng.usize(..3) {
                0 => remove(&mut object["metadata"]["annotations"], labels::DENY_NOW),
                _ => {
                    let value = *self.pick(&["true", "false", ""]);
                    object["metadata"]["annotations"][labels::DENY_NOW] = value.into();
                }
            },
            7 | 10 => {
                let lease = *self.pick(&LEASES);
                object["spec"]["leaseDurationSeconds"] = lease.into();
            }
            8 | 11 | 12 => {
                let configs = &mut object["spec"]["managedClusterClientConfigs"];
                let config = self.config();
                self.edit_list(configs, config);
            }
            9 => object["metadata"]["labels"]["x"] = self.rng.u8(..).to_string().into(),
            _ => {
                let taints = &mut object["spec"]["taints"];
                let taint = self.taint();
                self.edit_list(taints, taint);
                self.edit_taint(taints);
            }
        }
    }

    /// Adds the item, repeats, removes or swaps one.
    fn edit_list(&mut self, list: &mut Value, item: Value) {
        if !list.is_array() {
            *list = json!([]);
        }
        let list = list.as_array_mut().unwrap();
        let number = list.len();
        match self.rng.usize(..6) {
            0 if number > 0 => drop(list.remove(self.rng.usize(..number))),
            1 if number > 1 => list.swap(0, self.rng.usize(..number)),
            2 if number > 0 => list.push(list[self.rng.usize(..number)].clone()),
            _ => list.push(item),
        }
    }

    fn config(&mut self) -> Value {
        let (_, url) = *self.pick(&URLS);
        let mut config = json!({ "url": url });
        if self.rng.usize(..3) == 0 {
            let bundle = self.rng.usize(..4);
            config["caBundle"] = self.bundles[bundle].clone().into();
        }
        config
    }

    fn taint(&mut self) -> Value {
        let key = *self.pick(&["k", "j", "example.com/i"]);
        let effect = *self.pick(&["NoSelect", "PreferNoSelect", "NoSelectIfNew"]);
        let mut taint = json!({ "key": key, "effect": effect });
        if self.rng.bool() {
            taint["value"] = (*self.pick(&["v", "w", ""])).into();
        }
        if self.rng.usize(..4) == 0 {
            taint["timeAdded"] = (*self.pick(&TIMES)).into();
        }
        taint
    }

    /// Changes a field of one taint, or of none.
    fn edit_taint(&mut self, taints: &mut Value) {
        let taints = taints.as_array_mut().unwrap();
        if taints.is_empty() {
            return;
        }
        let at = self.rng.usize(..taints.len());
        let taint = &mut taints[at];
        match self.rng.usize(..8) {
            0 => remove(taint, "timeAdded"),
            1 => taint["timeAdded"] = Value::Null,
            2 => taint["timeAdded"] = (*self.pick(&TIMES)).into(),
            3 => taint["value"] = (*self.pick(&["v", "w", ""])).into(),
            4 => taint["effect"] = (*self.pick(&["NoSelect", "PreferNoSelect"])).into(),
            _ => {}
        }
    }

    fn write_set(&mut self) -> Write {
        let user = self.user();
        if self.rng.usize(..4) == 0 {
            let name = *self.pick(&["new-set", "global", "default-2", NAMES[11]]);
            let object = called(self.set(), name);
            return Write {
                user,
                verb: Verb::Create,
                object,
            };
        }
        let mut object = self.pick(&self.sets.clone()).clone();
        let selector = &mut object["spec"]["clusterSelector"];
        match self.rng.usize(..8) {
            0 => *selector = self.set()["spec"]["clusterSelector"].take(),
            1 => object["metadata"]["labels"]["x"] = "y".into(),
            _ => self.edit_selector(selector),
        }
        Write {
            user,
            verb: Verb::Replace,
            object,
        }
    }

    fn set(&mut self) -> Value {
        if self.rng.usize(..4) == 0 {
            return set(json!({ "selectorType": "ExclusiveClusterSetLabel" }));
        }
        let mut object = selects(json!({}));
        for _ in 0..self.rng.usize(..4) {
            self.edit_selector(&mut object["spec"]["clusterSelector"]);
        }
        object
    }

    /// Changes a selector a little, so that old and new are often comparable.
    fn edit_selector(&mut self, selector: &mut Value) {
        let known = if self.rng.u8(..8) == 0 { 4 } else { 3 };
        let key = *self.pick(&["env", "env", "region", "a b"][..known]);
        let value = *self.pick(&["a", "b", "c", "d e"][..known]);
        match self.rng.usize(..8) {
            0 => {
                let to = *self.pick(&["LabelSelector", "ExclusiveClusterSetLabel"]);
                selector["selectorType"] = to.into();
            }
            1 => selector["labelSelector"]["matchLabels"][key] = value.into(),
            2 => remove(&mut selector["labelSelector"]["matchLabels"], key),
            3 => remove(selector, "labelSelector"),
            kind => {
                let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Like"];
                let known = if self.rng.u8(..12) == 0 { 5 } else { 4 };
                let operator = *self.pick(&operators[..known]);
                let values = match operator {
                    "Exists" | "DoesNotExist" => json!([]),
                    _ => json!([value]),
                };
                let new = json!({ "key": key, "operator": operator, "values": values });
                let expressions = &mut selector["labelSelector"]["matchExpressions"];
                if kind < 6 {
                    self.edit_list(expressions, new);
                } else if let Some(first) = expressions.get_mut(0) {
                    self.edit_list(&mut first["values"], value.into());
                }
            }
        }
    }

    fn write_binding(&mut self) -> Write {
        let user = self.user();
        let target = *self.pick(&["prod", "test", "stored"]);
        if self.rng.bool() {
            let name = *self.pick(&[target, target, target, "other"]);
            let namespace = *self.pick(&[WORKSPACE, WORKSPACE, ACCEPTED]);
            let object = bindings::bound(name, target, namespace);
            return Write {
                user,
                verb: Verb::Create,
                object,
            };
        }
        let mut object = self.pick(&self.bindings.clone()).clone();
        let own = object["metadata"]["name"].as_str().unwrap().to_owned();
        match self.rng.usize(..3) {
            0 => object["metadata"]["labels"]["x"] = "y".into(),
            1 => object["spec"]["clusterSet"] = own.into(),
            _ => object["spec"]["clusterSet"] = target.into(),
        }
        Write {
            user,
            verb: Verb::Replace,
            object,
        }
    }

    fn write_request(&mut self) -> Write {
        let names = [
            user_of("c1", "agent"),
            user_of("c2", "agent"),
            user_of("c1", ""),
            "robot".to_owned(),
        ];
        let name = self.pick(&names).clone();
        let user = match self.rng.usize(..4) {
            0 => User::new(&[]).called(&name),
            _ => requests::agent(&name),
        };
        let cluster = *self.pick(&[Some("c1"), Some("c1"), Some("c2"), Some(""), None]);
        if self.rng.bool() {
            let object = called(requests::labelled(cluster), "new-request");
            return Write {
                user,
                verb: Verb::Create,
                object,
            };
        }
        let mut object = self.pick(&self.requests.clone()).clone();
        match cluster {
            Some(cluster) => object["metadata"]["labels"][labels::CLUSTER_NAME] = cluster.into(),
            None => remove(&mut object["metadata"]["labels"], labels::CLUSTER_NAME),
        }
        Write {
            user,
            verb: Verb::Replace,
            object,
        }
    }

    fn user(&mut self) -> User {
        self.pick(&self.users.clone()).clone()
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.rng.usize(..from.len())]
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(field);
    }
}

/// Stored times are fixed, so that the same seed gives the same writes.
fn leave_to_the_schema(object: &mut Value) {
    let taints = object["spec"]["taints"].as_array_mut();
    for taint in taints.into_iter().flatten() {
        if taint["timeAdded"]
            .as_str()
            .is_some_and(|time| time.starts_with('@'))
        {
            taint["timeAdded"] = TIMES[0].into();
        } else if taint["timeAdded"].is_null() {
            remove(taint, "timeAdded");
        }
    }
}

/// A number from the environment, or this one.
fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number")),
        Err(_) => otherwise,
    }
}

/// Random writes for other tests.
pub async fn prepared(hub: &Hub, number: usize, seed: u64) -> Vec<Prepared> {
    let mut source = Source::new(hub, seed).await;
    (0..number)
        .map(|i| Prepared {
            sentence: format!("random write {i}"),
            write: source.write(),
            expected: "",
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_writes_are_decided_equally() {
    let Some(hub) = Hub::shared().await else {
        return;
    };
    let writes = usize::try_from(number("BERTH_PROOF_WRITES", WRITES as u64)).unwrap();
    let seed = number("BERTH_PROOF_SEED", 1);
    let mut source = Source::new(&hub, seed).await;
    let begun = std::time::Instant::now();
    let (mut mix, mut found) = (BTreeMap::<String, usize>::new(), Vec::new());
    let mut recognised_in_all = BTreeMap::<&str, usize>::new();
    let hub = &hub;
    let mut compared = futures::stream::iter((0..writes).map(|_| source.write()))
        .map(|write| async move {
            let [mut gate, policies] = hub.outcomes(&write).await;
            let mut comparison = compare(&write, &gate, &policies);
            if write.is_timed() && matches!(comparison, Comparison::Different(_)) {
                let policies;
                [gate, policies] = hub.outcomes(&write).await;
                comparison = compare(&write, &gate, &policies);
            }
            (write, gate, comparison)
        })
        .buffer_unordered(IN_FLIGHT);
    while let Some((write, gate, comparison)) = compared.next().await {
        let kind = write.object["kind"].as_str().unwrap();
        let decision = gate.short();
        let decision = decision.split(" ~").next().unwrap();
        *mix.entry(format!("{kind} {decision}")).or_default() += 1;
        match comparison {
            Comparison::Equal(recognised) => {
                for name in &recognised {
                    *recognised_in_all.entry(name).or_default() += 1;
                }
            }
            Comparison::Different(text) => found.push(text),
        }
        if found.len() >= 20 {
            break;
        }
    }
    println!(
        "{writes} random writes, seed {seed}, {:.1} s: {mix:#?}; documented differences: {recognised_in_all:#?}",
        begun.elapsed().as_secs_f64()
    );
    assert!(
        found.is_empty(),
        "{} failures:\n{}",
        found.len(),
        found.join("\n\n")
    );
}
