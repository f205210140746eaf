//! A law of executors: for random RBAC objects, executors and manifests, no sequence of works gives an account a permission that the
//! executor could not have given it.
//!
//! `BERTH_MODEL_CASES` and `BERTH_MODEL_SEED` set the number of cases and the first seed. A violation prints its seed and its works.

use std::collections::BTreeSet;

use berth_rbac::{Policy, Request, Subject, implied_groups};
use berth_testkit::cluster::{Cluster, fresh, rule};
use fastrand::Rng;
use futures::{StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::world::{World, condition, namespace};

const CASES: u64 = 40;

/// The cases that are tried at the same time.
const IN_FLIGHT: usize = 6;

const GROUP: &str = "rbac.authorization.k8s.io";
const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

/// What can be granted: resources and verbs of the core group.
const GRANTS: [(&str, &str); 3] = [("configmaps", "get"), ("secrets", "get"), ("pods", "list")];

/// The first grants nothing.
const ROLES: [&str; 4] = ["r0", "r1", "r2", "r3"];
const BINDINGS: [&str; 2] = ["b0", "b1"];
/// The first is the executor.
const ACCOUNTS: [&str; 3] = ["executor", "friend", "other"];

/// A case: a namespace with random RBAC objects, and the accounts in it.
struct Case<'a> {
    world: &'a World,
    namespace: String,
    random: Rng,
}

/// Permissions of an account, as places in [`GRANTS`].
type Permissions = BTreeSet<usize>;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |it| it.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sequence_of_works_grants_what_the_executor_could_not() {
    let world = World::new().await;
    let _agent = world.agent();
    let (first, cases) = (
        number("BERTH_MODEL_SEED", 1),
        number("BERTH_MODEL_CASES", CASES),
    );
    let written: Vec<usize> = futures::stream::iter(first..first + cases)
        .map(|seed| try_case(&world, seed))
        .buffer_unordered(IN_FLIGHT)
        .try_collect()
        .await
        .unwrap_or_else(|violation: String| panic!("{violation}"));
    // The law would hold for an agent that writes nothing.
    let written: usize = written.into_iter().sum();
    assert!(written as u64 > cases / 2, "{written} works were applied");
}

/// Returns the number of works that were applied, or the violation of the law.
async fn try_case(world: &World, seed: u64) -> Result<usize, String> {
    let mut case = Case {
        world,
        namespace: fresh("model"),
        random: Rng::with_seed(seed),
    };
    let bindable = case.begin().await;
    let before = case.permissions().await;
    let mut grantable = before[0].clone();
    for role in bindable {
        grantable.extend(case.granted_by(role).await);
    }
    let (mut works, mut applied) = (Vec::new(), 0);
    for at in 0..case.random.usize(2..=4) {
        let spec = case.work();
        let name = format!("{}-{at}", case.namespace);
        applied += usize::from(case.carried_out(&name, &spec).await);
        works.push(spec);
    }
    let after = case.permissions().await;
    for (at, account) in ACCOUNTS.iter().enumerate() {
        let more: Vec<_> = (after[at].difference(&before[at]))
            .filter(|it| !grantable.contains(it))
            .map(|it| GRANTS[*it])
            .collect();
        if !more.is_empty() {
            let works = serde_json::to_string_pretty(&works).unwrap();
            return Err(format!(
                "seed {seed}: {account} got {more:?}, which the executor did not have, by {works}"
            ));
        }
    }
    Ok(applied)
}

// === impl Case ===

impl Case<'_> {
    /// Creates the RBAC objects, and returns the roles that the executor may bind whatever they grant.
    async fn begin(&mut self) -> Vec<&'static str> {
        namespace(&self.world.managed, &self.namespace).await;
        for role in ROLES {
            let role = self.role(role);
            self.create("roles", &role).await;
        }
        for binding in BINDINGS {
            let binding = self.binding(binding);
            self.create("rolebindings", &binding).await;
        }
        let bindable: Vec<_> = (ROLES.into_iter())
            .filter(|_| self.random.u8(..) < 32)
            .collect();
        let mut rules = vec![rule(&VERBS, GROUP, &["roles", "rolebindings"], &[])];
        if !bindable.is_empty() {
            rules.push(rule(&["bind"], GROUP, &["roles"], &bindable));
        }
        rules.extend(self.rules());
        let cluster = Cluster::shared().await;
        let account = cluster.service_account(&self.namespace, ACCOUNTS[0]).await;
        cluster.grant_in(&self.namespace, &account, &rules).await;
        bindable
    }

    async fn create(&self, resource: &str, object: &Value) {
        let created = self.world.managed.post(&self.path(resource), object).await;
        assert_eq!(created.unwrap().code, 201, "{object}");
    }

    fn path(&self, resource: &str) -> String {
        format!("/apis/{GROUP}/v1/namespaces/{}/{resource}", self.namespace)
    }

    fn rules(&mut self) -> Vec<Value> {
        let granted = GRANTS.iter().filter(|_| self.random.bool());
        granted
            .map(|(resource, verb)| rule(&[verb], "", &[resource], &[]))
            .collect()
    }

    fn role(&mut self, name: &str) -> Value {
        let rules = if name == ROLES[0] {
            Vec::new()
        } else {
            self.rules()
        };
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "Role",
            "metadata": {"name": name, "namespace": self.namespace},
            "rules": rules,
        })
    }

    fn binding(&mut self, name: &str) -> Value {
        let accounts: Vec<_> = (ACCOUNTS.iter())
            .filter(|_| self.random.bool())
            .map(|it| json!({"kind": "ServiceAccount", "name": it, "namespace": self.namespace}))
            .collect();
        // A role that grants nothing may be bound by each executor.
        let role = if self.random.u8(..3) == 0 {
            ROLES[0]
        } else {
            self.random.choice(ROLES).unwrap()
        };
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": self.namespace},
            "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": role},
            "subjects": accounts,
        })
    }

    /// The spec of a work of the executor: roles and bindings, each by a random strategy.
    fn work(&mut self) -> Value {
        let (mut manifests, mut configs) = (Vec::new(), Vec::new());
        let mut names: Vec<_> = (BINDINGS.into_iter())
            .map(|it| ("rolebindings", it))
            .collect();
        if self.random.u8(..4) == 0 {
            names.extend(ROLES.into_iter().map(|it| ("roles", it)));
        }
        self.random.shuffle(&mut names);
        for (resource, name) in names.into_iter().take(self.random.usize(1..=2)) {
            manifests.push(match resource {
                "roles" => self.role(name),
                _ => self.binding(name),
            });
            configs.push(json!({
                "resourceIdentifier": {"group": GROUP, "resource": resource, "name": name, "namespace": self.namespace},
                "updateStrategy": self.strategy(),
            }));
        }
        let account = json!({"namespace": self.namespace, "name": ACCOUNTS[0]});
        let mut spec = json!({
            "executor": {"subject": {"type": "ServiceAccount", "serviceAccount": account}},
            "manifestConfigs": configs,
            "workload": {"manifests": manifests},
        });
        if self.random.bool() {
            spec["deleteOption"] = json!({"propagationPolicy": "Orphan"});
        }
        spec
    }

    fn strategy(&mut self) -> Value {
        let kind = match self.random.u8(..8) {
            0 => return json!({"type": "CreateOnly"}),
            1 => return json!({"type": "Update"}),
            _ => "ServerSideApply",
        };
        let ignored = [
            ".roleRef",
            ".roleRef",
            ".roleRef.name",
            ".subjects",
            ".rules",
        ];
        let conditions = ["OnSpokePresent", "OnSpokeChange"];
        let ignored: Vec<_> = (conditions.iter())
            .filter_map(|condition| {
                let path = self.random.choice(ignored)?;
                let is_there = self.random.bool();
                is_there.then(|| json!({"condition": condition, "jqPathExpressions": [path]}))
            })
            .collect();
        json!({"type": kind, "serverSideApply": {"force": self.random.u8(..4) > 0, "ignoreFields": ignored}})
    }

    /// Creates a work, waits until each of its manifests has been tried, and returns whether one was applied.
    async fn carried_out(&self, name: &str, spec: &Value) -> bool {
        let manifests = spec["workload"]["manifests"].as_array().unwrap();
        self.world.create_with(name, manifests, spec.clone()).await;
        let statuses = |work: &Value| -> Vec<String> {
            let all = work["status"]["resourceStatus"]["manifests"].as_array();
            let applied = |it| {
                condition(it, "Applied")["status"]
                    .as_str()
                    .map(str::to_owned)
            };
            all.into_iter().flatten().filter_map(applied).collect()
        };
        let work = self
            .world
            .work_has(name, "has been tried", |it| {
                statuses(it).len() == manifests.len()
            })
            .await;
        statuses(&work).contains(&"True".to_owned())
    }

    /// The permissions of the accounts, by the stored RBAC objects.
    async fn permissions(&self) -> Vec<Permissions> {
        let mut policy = Policy::new();
        for object in self.stored("roles").await {
            policy.upsert_role(object).unwrap();
        }
        for object in self.stored("rolebindings").await {
            policy.upsert_role_binding(object).unwrap();
        }
        let of = |account: &&str| {
            let user = format!("system:serviceaccount:{}:{account}", self.namespace);
            let subject = Subject {
                user: &user,
                groups: &implied_groups(&user),
            };
            let may = |(resource, verb): (&str, &str)| {
                let request = Request::Resource {
                    verb,
                    api_group: "",
                    resource,
                    subresource: "",
                    namespace: &self.namespace,
                    name: "",
                };
                policy.evaluate(&subject, &request).is_allowed()
            };
            (0..GRANTS.len()).filter(|it| may(GRANTS[*it])).collect()
        };
        ACCOUNTS.iter().map(of).collect()
    }

    async fn stored<T: serde::de::DeserializeOwned>(&self, resource: &str) -> Vec<T> {
        let list = self.world.managed.get(&self.path(resource)).await.unwrap();
        let items = list.ok()["items"].as_array().unwrap().clone();
        let mut items = items.into_iter();
        let read = |it: Value| serde_json::from_value(it).unwrap();
        items.by_ref().map(read).collect()
    }

    /// What a role grants.
    async fn granted_by(&self, role: &str) -> Permissions {
        let path = format!("{}/{role}", self.path("roles"));
        let role = self.world.managed.get(&path).await.unwrap();
        let rules = role.ok()["rules"].as_array().cloned().unwrap_or_default();
        let has =
            |(resource, _): (&str, &str)| rules.iter().any(|it| it["resources"][0] == resource);
        (0..GRANTS.len()).filter(|it| has(GRANTS[*it])).collect()
    }
}
