//! Agents of add-ons that use tokens: the service account, and the right to ask for its tokens.

use berth_testkit::cluster::{AsAdmin, Identity, Person};
use berth_testkit::process::once;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::hub::Hub;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// An add-on on a cluster whose agents use tokens.
struct Addon<'a> {
    hub: &'a Hub,
    cluster: &'a str,
    name: String,
}

// === impl Addon ===

impl<'a> Addon<'a> {
    /// An add-on with a manager of its own: its ClusterManagementAddOn does not matter.
    async fn new(hub: &'a Hub, cluster: &'a str) -> Self {
        hub.enable(cluster, "x", json!({}), json!({})).await;
        let addon = Self {
            hub,
            cluster,
            name: hub.named("x"),
        };
        addon.driver("token").await;
        addon
    }

    fn path(&self) -> String {
        self.hub.on(self.cluster, "x")
    }

    /// The agent writes its driver.
    async fn driver(&self, driver: &str) {
        let registered = json!([{"type": "kubeClient", "kubeClient": {"driver": driver}}]);
        let path = format!("{}/status", self.path());
        let status = json!({"status": {"registrations": registered}});
        self.hub.patch(&path, status).await;
    }

    fn account(&self) -> String {
        let (cluster, name) = (self.cluster, &self.name);
        format!("/api/v1/namespaces/{cluster}/serviceaccounts/{name}-agent")
    }

    /// `roles` or `rolebindings`
    fn of_role(&self, resource: &str) -> String {
        let (cluster, name) = (self.cluster, &self.name);
        format!("{RBAC}/namespaces/{cluster}/{resource}/{name}-token-role")
    }

    /// Waits until the condition has this status and these words in its message, and returns that.
    async fn says(&self, status: &str, words: &str) -> String {
        let said = |on: &Value| {
            let mut conditions = on["status"]["conditions"].as_array()?.iter();
            let found = conditions.find(|it| it["type"] == "TokenInfrastructureReady")?;
            let message = found["message"].as_str()?;
            let is_it = found["status"] == status && message.contains(words);
            is_it.then(|| message.to_owned())
        };
        let what = format!("{status}: {words}");
        let on = once(&self.hub.admin, &self.path(), &what, |it| {
            said(it).is_some()
        })
        .await;
        said(&on).unwrap()
    }

    /// Lets the hub grant the tokens, as an admin does who applies what it says. Waits until the account is ready; returns its uid.
    async fn granted(&self) -> String {
        let words = "which it may not ask for itself";
        let message = self.says("False", words).await;
        self.hub.apply_what_it_says(&message).await;
        self.ready("").await
    }

    /// Waits until an account other than `former` is ready, and returns its uid.
    async fn ready(&self, former: &str) -> String {
        let account = self.account();
        let made = |it: &Value| {
            it["metadata"]["uid"]
                .as_str()
                .is_some_and(|it| it != former)
        };
        let account = once(&self.hub.admin, &account, "an account", made).await;
        let uid = account["metadata"]["uid"].as_str().unwrap().to_owned();
        let message = self.says("True", &uid).await;
        let (cluster, name) = (self.cluster, &self.name);
        let expected = format!("ServiceAccount {cluster}/{name}-agent (UID: {uid}) is ready");
        assert_eq!(message, expected);
        uid
    }

    /// Waits until nothing is left.
    async fn gone(&self) {
        for path in [
            self.of_role("rolebindings"),
            self.of_role("roles"),
            self.account(),
        ] {
            self.hub.gone(&path).await;
        }
    }

    /// The agent of a cluster.
    async fn agent(&self, of: &str) -> Person {
        let prefix = "system:open-cluster-management";
        let identity = Identity {
            user: &format!("{prefix}:{of}:agent"),
            groups: &[&format!("{prefix}:{of}")],
            ..Identity::default()
        };
        self.hub.admin.acting_as(&identity).await
    }

    /// The code that an agent gets that asks for a token of an account.
    async fn asks(&self, agent: &Person, account: &str) -> u16 {
        match self.token(agent, account).await {
            Ok(_) => 201,
            Err(code) => code,
        }
    }

    /// The token that an agent gets of an account, or the code of the refusal.
    async fn token(&self, agent: &Person, account: &str) -> Result<String, u16> {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600},
        });
        let path = format!("{account}/token");
        let answer = agent.post(&path, &request).await.unwrap();
        match answer.body["status"]["token"].as_str() {
            Some(token) if answer.code == 201 => Ok(token.to_owned()),
            _ => Err(answer.code),
        }
    }
}

impl Hub {
    /// Returns whether a token is valid.
    async fn accepts(&self, token: &str) -> bool {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        self.create(path, &review).await["status"]["authenticated"] == true
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_ask_for_tokens_of_their_own_account_once_an_admin_lets_the_hub_grant_them() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let [one, two] = &clusters[..] else { panic!() };
    let mut managing = hub.start().await;
    let addon = Addon::new(&hub, one).await;
    let uid = addon.granted().await;

    // Only the agents of the cluster, and only tokens of this account.
    let own = addon.agent(one).await;
    assert_eq!(addon.asks(&own, &addon.account()).await, 201);
    let other = format!("/api/v1/namespaces/{one}/serviceaccounts/default");
    assert_eq!(addon.asks(&own, &other).await, 403);
    let foreign = addon.agent(two).await;
    assert_eq!(addon.asks(&foreign, &addon.account()).await, 403);

    // What others change is put back, what they add stays.
    let binding = addon.of_role("rolebindings");
    let eve = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "eve"});
    let patch = json!({"metadata": {"annotations": {"mine": "yes"}}, "subjects": [eve]});
    hub.patch(&binding, patch).await;
    let mended = once(&hub.admin, &binding, "mended", |it| {
        it["subjects"][0]["name"] != "eve"
    })
    .await;
    assert_eq!(mended["metadata"]["annotations"]["mine"], "yes");
    hub.admin.delete(&addon.of_role("roles")).await.unwrap();
    once(&hub.admin, &addon.of_role("roles"), "made", |it| {
        it["rules"].is_array()
    })
    .await;

    // The account is made anew: agents find its uid in the condition.
    hub.admin.delete(&addon.account()).await.unwrap();
    addon.ready(&uid).await;

    // A successor finds everything as it should be.
    managing.kill().await;
    let before = hub.read(&addon.path()).await;
    let mut managing = hub.start().await;
    hub.enable(two, "x", json!({}), json!({})).await;
    let on_two = Addon {
        cluster: two,
        name: addon.name.clone(),
        hub: &hub,
    };
    on_two.driver("token").await;
    on_two.ready("").await;
    // It has looked at the other one, too.
    hub.admin.delete(&addon.of_role("roles")).await.unwrap();
    once(&hub.admin, &addon.of_role("roles"), "made", |it| {
        it["rules"].is_array()
    })
    .await;
    let version = |it: &Value| it["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&hub.read(&addon.path()).await), version(&before));

    // It does not use tokens any more.
    addon.driver("csr").await;
    addon.gone().await;
    once(&hub.admin, &addon.path(), "no condition", |it| {
        let conditions = it["status"]["conditions"].as_array();
        let mut types = conditions.into_iter().flatten().map(|it| &it["type"]);
        !types.any(|it| it == "TokenInfrastructureReady")
    })
    .await;

    // The other one goes while nobody looks.
    managing.kill().await;
    hub.admin.delete(&on_two.path()).await.unwrap().ok();
    let _successor = hub.start().await;
    on_two.gone().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_denied_loses_its_tokens() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let _managing = hub.start().await;
    let addon = Addon::new(&hub, &clusters[0]).await;
    let uid = addon.granted().await;
    let agent = addon.agent(&clusters[0]).await;
    let token = addon.token(&agent, &addon.account()).await.unwrap();
    assert!(hub.accepts(&token).await);
    let path = hub.managed_cluster(&clusters[0]);
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": false}}))
        .await;
    addon
        .says("False", "is not accepted (spec.hubAcceptsClient)")
        .await;
    addon.gone().await;
    eventually("its token is void", async || {
        when(hub.accepts(&token).await, |it| !it)
    })
    .await;
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": true}}))
        .await;
    addon.ready(&uid).await;
}

/// An admin's account has the name of the agent's: the agents would get its rights.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_of_others_is_not_used() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let name = format!("{}-agent", hub.named("x"));
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let path = format!("/api/v1/namespaces/{cluster}/serviceaccounts");
    let created = hub.create(&path, &account).await;
    let _managing = hub.start().await;
    let addon = Addon::new(&hub, cluster).await;
    let words = format!("another ServiceAccount {cluster}/{name} exists; delete it");
    addon.says("False", &words).await;
    for resource in ["roles", "rolebindings"] {
        let answer = hub.admin.get(&addon.of_role(resource)).await.unwrap();
        assert_eq!(answer.code, 404);
    }
    let agent = addon.agent(cluster).await;
    assert_eq!(addon.asks(&agent, &addon.account()).await, 403);
    hub.admin.delete(&addon.account()).await.unwrap();
    addon.granted().await;
    let made = hub.read(&addon.account()).await;
    assert_ne!(made["metadata"]["uid"], created["metadata"]["uid"]);
}
