//! An agent on this cluster that manages another one.

use berth_testkit::cluster::Private;

use super::*;

/// The namespace of the agent: it has the name of the Klusterlet.
const PLACE: &str = "/api/v1/namespaces/klusterlet";
const AGENT: &str = "/apis/apps/v1/namespaces/klusterlet/deployments/klusterlet-agent";
const MANAGED: &str = "external-managed-kubeconfig";
const FINALIZER: &str = "operator.open-cluster-management.io/klusterlet-hosted-cleanup";
const AWAY_SINCE: &str = "operator.open-cluster-management.io/managed-resources-eviction-timestamp";

/// A managed cluster, and an agent for it on another one.
struct Hosted {
    world: World,
    managed: Private,
    there: Person,
    operator: Operator,
    /// The namespace on the managed cluster.
    space: String,
}

// === impl Hosted ===

impl Hosted {
    /// `has_place`: the namespace of the agent is there before.
    async fn new(has_place: bool) -> Self {
        let world = World::new().await;
        if has_place {
            let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "klusterlet"}});
            let place = world.admin.post("/api/v1/namespaces", &place).await;
            place.unwrap().ok();
        }
        let managed = Cluster::private().await;
        let there = managed.admin().await;
        let manifests = [
            files::KLUSTERLET_OPERATOR_NAMESPACE,
            files::KLUSTERLET_OPERATOR_ACCOUNT,
            files::KLUSTERLET_OPERATOR_ROLE,
        ];
        managed.apply_manifests(&manifests.map(|it| it.path)).await;
        let operator = world.operator().await;
        let space = format!("open-cluster-management-{}", world.name);
        let spec = json!({
            "clusterName": world.name, "namespace": space, "deployOption": {"mode": "SingletonHosted"},
        });
        world.create("klusterlet", spec).await;
        Self {
            world,
            managed,
            there,
            operator,
            space,
        }
    }

    /// Gives the operator a kubeconfig of the managed cluster with the rights that it needs, and no others.
    async fn prepares(&self) {
        once(&self.world.admin, PLACE, "it is there", |_| true).await;
        let account = ("open-cluster-management", "berth-klusterlet-operator");
        let account = self.managed.service_account(account.0, account.1).await;
        let tokens = rule(&["create"], "", &["serviceaccounts/token"], &[]);
        self.managed.grant(&account, &[tokens]).await;
        let kubeconfig = std::fs::read(account.kubeconfig).unwrap();
        self.world.keeps(PLACE, MANAGED, &kubeconfig).await;
    }

    async fn installed() -> Self {
        let hosted = Self::new(false).await;
        hosted.prepares().await;
        let said = ("Applied", "True", "KlusterletApplied");
        hosted.world.said(said).await;
        hosted
    }

    /// Runs the agent with the credentials that the operator has made.
    async fn agent(&self) -> Operator {
        let world = &self.world;
        let user = world.user(&["get", "list", "watch", "create"]).await;
        let bootstrap = std::fs::read(user).unwrap();
        world
            .keeps(PLACE, "bootstrap-hub-kubeconfig", &bootstrap)
            .await;
        let secret = "external-managed-kubeconfig-agent";
        let kubeconfig = world.kept(PLACE, secret, "kubeconfig").await;
        let token = world.files.path().join("token");
        std::fs::write(&token, world.kept(PLACE, secret, "token").await).unwrap();
        let kubeconfig = String::from_utf8(kubeconfig).unwrap();
        let mounted = "/spoke/config/token";
        assert!(kubeconfig.contains(mounted), "{kubeconfig}");
        let kubeconfig = kubeconfig.replace(mounted, token.to_str().unwrap());
        let file = world.files.path().join("managed");
        std::fs::write(&file, kubeconfig).unwrap();
        let file = file.to_str().unwrap();
        let more = ["--spoke-kubeconfig", file, "--terminate-on-files", file];
        world.runs(AGENT, "klusterlet", &more).await
    }

    async fn finalizers(&self) -> Value {
        let klusterlet = self.world.admin.get(KLUSTERLET).await.unwrap();
        klusterlet.ok()["metadata"]["finalizers"].clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_joins_another_cluster_and_works_there() {
    let hosted = Hosted::new(true).await;
    let (world, there) = (&hosted.world, &hosted.there);
    let unprepared = ("ReadyToApply", "False", "KlusterletPrepareFailed");
    let message = world.said(unprepared).await;
    let what = "secret klusterlet/external-managed-kubeconfig does not exist; create it";
    assert!(message.contains(what), "{message}");
    assert!(!hosted.finalizers().await.to_string().contains(FINALIZER));

    hosted.prepares().await;
    world
        .said(("ReadyToApply", "True", "KlusterletPrepared"))
        .await;
    world.said(("Applied", "True", "KlusterletApplied")).await;
    let agent = hosted.agent().await;
    world.accepts().await;
    let functional = ("HubConnectionDegraded", "False", "HubConnectionFunctional");
    world.said(functional).await;
    world
        .said(("Available", "True", "KlusterletAvailable"))
        .await;

    // Its account there may do what it has to.
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"name": "w"},
        "spec": {"workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hosted", "namespace": "default"},
        }]}},
    });
    let works = format!(
        "/apis/work.open-cluster-management.io/v1/namespaces/{}/manifestworks",
        world.name
    );
    world.hub.admin.post(&works, &work).await.unwrap().ok();
    let made = "/api/v1/namespaces/default/configmaps/hosted";
    once(there, made, "it is there", |_| true).await;
    assert_eq!(world.admin.get(made).await.unwrap().code, 404);

    // A second operator finds everything right.
    let paths = related_to(&world.admin, KLUSTERLET).await;
    let (here, elsewhere): (Vec<_>, Vec<_>) = paths
        .into_iter()
        .partition(|it| it.contains("klusterlets/") || it.contains("/klusterlet/") || it == PLACE);
    assert_eq!(
        (here.len(), elsewhere.len()),
        (4, 15),
        "{here:#?} {elsewhere:#?}"
    );
    let secret = format!("{PLACE}/secrets/external-managed-kubeconfig-agent");
    let here: Vec<_> = here.into_iter().chain([secret.clone()]).collect();
    let before = (
        versions_of(&world.admin, here.clone()).await,
        versions_of(there, elsewhere.clone()).await,
    );
    let Hosted {
        world,
        managed,
        there,
        operator,
        space: _,
    } = hosted;
    drop(operator);
    let operator = world.operator().await;
    // Its credentials are put back, which shows that it has looked.
    let role =
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:klusterlet-agent";
    there.delete(role).await.unwrap().ok();
    world.admin.delete(&secret).await.unwrap().ok();
    once(&world.admin, &secret, "it is put back", |_| true).await;
    once(&there, role, "it is put back", |_| true).await;
    let kept = |paths: Vec<String>| {
        let paths = paths.into_iter();
        paths
            .filter(|it| it != role && *it != secret)
            .collect::<Vec<_>>()
    };
    let after = (
        versions_of(&world.admin, kept(here)).await,
        versions_of(&there, kept(elsewhere)).await,
    );
    assert!(after.0.iter().all(|it| before.0.contains(it)), "{after:#?}");
    assert!(after.1.iter().all(|it| before.1.contains(it)), "{after:#?}");

    // What the work made stays; nothing else.
    drop(agent);
    world.admin.delete(KLUSTERLET).await.unwrap().ok();
    gone(&world.admin, KLUSTERLET).await;
    assert_eq!(there.get(made).await.unwrap().code, 200);
    assert_eq!(there.get(role).await.unwrap().code, 404);
    assert_eq!(world.admin.get(AGENT).await.unwrap().code, 404);
    let works = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";
    let works = there.get(works).await.unwrap();
    let works = works.ok()["items"].as_array().unwrap();
    assert_eq!(works.len(), 1);
    assert!(works[0]["metadata"]["finalizers"].is_null(), "{works:#?}");
    let place = world.admin.get(PLACE).await.unwrap();
    let metadata = &place.ok()["metadata"];
    assert!(metadata["deletionTimestamp"].is_null(), "{metadata}");
    let credentials = format!("{PLACE}/secrets/hub-kubeconfig-secret");
    assert_eq!(world.admin.get(&credentials).await.unwrap().code, 404);
    drop((operator, managed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_waits_for_a_managed_cluster_that_refuses_and_not_for_one_that_is_gone() {
    let hosted = Hosted::installed().await;
    let world = &hosted.world;
    let nobody = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "h", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "nobody"}}],
        "clusters": [{"name": "h", "cluster": {"server": hosted.managed.url(), "insecure-skip-tls-verify": true}}],
    });
    world
        .keeps(PLACE, MANAGED, nobody.to_string().as_bytes())
        .await;
    world
        .said(("ReadyToApply", "False", "KlusterletPrepareFailed"))
        .await;
    world.admin.delete(KLUSTERLET).await.unwrap().ok();
    once(&world.admin, KLUSTERLET, "what to do", |it| {
        let conditions = it["status"]["conditions"].to_string();
        conditions.contains("Put a kubeconfig that works into the Secret")
    })
    .await;
    assert!(hosted.finalizers().await.to_string().contains(FINALIZER));

    // Nobody answers: since when is in an annotation, which says the same to OCM's operator.
    let mut away = nobody;
    away["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
    world
        .keeps(PLACE, MANAGED, away.to_string().as_bytes())
        .await;
    once(&world.admin, KLUSTERLET, "since when", |it| {
        !it["metadata"]["annotations"][AWAY_SINCE].is_null()
    })
    .await;
    let long = json!({"metadata": {"annotations": {AWAY_SINCE: "2026-01-01T00:00:00Z"}}});
    world.admin.merge(KLUSTERLET, &long).await.unwrap().ok();
    gone(&world.admin, KLUSTERLET).await;
    assert_eq!(world.admin.get(AGENT).await.unwrap().code, 404);
    // What was left there would be another Klusterlet's for one that comes after it.
    let space = format!("/api/v1/namespaces/{}", hosted.space);
    hosted.there.delete(&space).await.unwrap().ok();
    drop(hosted);
}
