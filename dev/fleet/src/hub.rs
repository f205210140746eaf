//! The hub, and the requests of its clusters' agents.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use berth_api::cluster::CLUSTER_LEASE;
use berth_hub::object_path;
use berth_manifests::Manifest;
use berth_manifests::files::CRDS;
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use jiff::Timestamp;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::devhub::DevHubProcess;

const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

/// Maximum number of concurrent requests of this tool.
pub(crate) const AT_ONCE: usize = 32;

const PATIENCE: Duration = Duration::from_secs(900);

/// A hub.
pub(crate) struct FleetHub {
    pub(crate) kubeconfig: PathBuf,
    client: Client,
    devhub: Option<DevHubProcess>,
}

impl FleetHub {
    /// Connects to the hub of this kubeconfig, or starts a devhub; installs Berth's CRDs if they are missing.
    pub(crate) async fn open(kubeconfig: Option<&Path>, folder: &Path) -> Result<Self> {
        let own = folder.join("hub.kubeconfig");
        let devhub = match kubeconfig {
            Some(given) => {
                std::fs::copy(given, &own).with_context(|| given.display().to_string())?;
                None
            }
            None => Some(DevHubProcess::start(&own).await?),
        };
        let config = Kubeconfig::read_from(&own)?;
        let config =
            kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let hub = Self {
            client: Client::try_from(config)?,
            kubeconfig: own,
            devhub,
        };
        hub.install(CRDS.iter().flat_map(Manifest::documents), CLUSTERS)
            .await?;
        Ok(hub)
    }

    /// Installs CustomResourceDefinitions if the hub does not serve this collection.
    pub(crate) async fn install(
        &self,
        definitions: impl IntoIterator<Item = Value>,
        collection: &str,
    ) -> Result<()> {
        if self.get(collection).await.is_ok() {
            return Ok(());
        }
        for definition in definitions {
            self.apply(&definition).await?;
        }
        let begun = Instant::now();
        while self.get(collection).await.is_err() {
            if begun.elapsed() > Duration::from_secs(30) {
                bail!("the hub does not serve {collection}");
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// The process of the hub, if this tool has started it.
    pub(crate) fn process(&self) -> Option<u32> {
        self.devhub.as_ref().map(DevHubProcess::id)
    }

    /// A token of a service account that may register clusters.
    pub(crate) async fn bootstrap_token(&self, name: &str) -> Result<String> {
        let rules = json!([
            {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get", "list", "watch"]},
            {"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"], "verbs": ["create", "get", "list", "watch"]},
        ]);
        let rbac = "rbac.authorization.k8s.io";
        let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
        let account = json!({"kind": "ServiceAccount", "name": name, "namespace": "default"});
        let binding = json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": [account],
        });
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        for (collection, object) in [
            (object_path((rbac, "v1", "clusterroles"), "", ""), role),
            (
                object_path((rbac, "v1", "clusterrolebindings"), "", ""),
                binding,
            ),
            (accounts.to_owned(), account),
        ] {
            match self.send("POST", &collection, &object).await {
                Err(error) if !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
        let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}});
        let token = self
            .send("POST", &format!("{accounts}/{name}/token"), &asked)
            .await?;
        let token = token["status"]["token"].as_str();
        Ok(token.context("the hub returned no token")?.to_owned())
    }

    /// Writes a kubeconfig with this token, and with this HTTP proxy.
    pub(crate) fn write_bootstrap(
        &self,
        token: &str,
        proxy: Option<&str>,
        path: &Path,
    ) -> Result<()> {
        let mut config: Value =
            serde_saphyr::from_str(&std::fs::read_to_string(&self.kubeconfig)?)?;
        for user in config["users"].as_array_mut().into_iter().flatten() {
            user["user"] = json!({"token": token});
        }
        for cluster in config["clusters"].as_array_mut().into_iter().flatten() {
            if let Some(proxy) = proxy {
                cluster["cluster"]["proxy-url"] = proxy.into();
            }
        }
        Ok(std::fs::write(path, config.to_string())?)
    }

    /// The number of CSRs.
    pub(crate) async fn requests(&self) -> Result<usize> {
        let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1";
        let list = self.get(path).await?;
        let more = list["metadata"]["remainingItemCount"].as_u64();
        let listed = list["items"].as_array().map_or(0, Vec::len);
        Ok(listed + usize::try_from(more.unwrap_or_default())?)
    }

    /// The number of requests that the hub has answered; `None` if it does not count them.
    pub(crate) async fn served(&self) -> Result<Option<f64>> {
        let request = Request::get("/metrics").body(Vec::new())?;
        let text = self.client.request_text(request).await.unwrap_or_default();
        Ok(sum(&text, "apiserver_request_total"))
    }

    /// Sets the duration of the clusters' Leases.
    pub(crate) async fn set_lease(&self, clusters: usize, seconds: u32) -> Result<()> {
        let change = &json!({"spec": {"leaseDurationSeconds": seconds}});
        each(clusters, async |name| {
            let path = format!("{CLUSTERS}/{name}");
            self.send("PATCH", &path, change).await.map(drop)
        })
        .await
    }

    /// Passes on every change of a cluster. Returns only an error.
    pub(crate) async fn follow_clusters(&self, tell: impl Fn(&Value)) -> anyhow::Error {
        let tell = |object: &Value, is_gone: bool| {
            if !is_gone {
                tell(object);
            }
        };
        self.follow(CLUSTERS, tell).await
    }

    /// Passes on every change of an object of a collection from now on, and whether it is gone. Returns only an error.
    pub(crate) async fn follow(
        &self,
        collection: &str,
        tell: impl Fn(&Value, bool),
    ) -> anyhow::Error {
        let followed = async {
            let mut version = self.version().await?.to_string();
            loop {
                let path = format!(
                    "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion={version}"
                );
                let request = Request::get(path).body(Vec::new())?;
                let mut events = self.client.request_events::<Value>(request).await?.boxed();
                while let Some(event) = events.try_next().await? {
                    use kube::core::WatchEvent::{Added, Bookmark, Deleted, Error, Modified};
                    let (object, is_gone) = match event {
                        Added(object) | Modified(object) => (object, false),
                        Deleted(object) => (object, true),
                        Bookmark(bookmark) => {
                            version = bookmark.metadata.resource_version;
                            continue;
                        }
                        Error(status) => bail!("the watch of {collection}: {}", status.message),
                    };
                    if let Some(newer) = object["metadata"]["resourceVersion"].as_str() {
                        newer.clone_into(&mut version);
                    }
                    tell(&object, is_gone);
                }
            }
        };
        let ended: Result<()> = followed.await;
        ended.err().unwrap_or_else(|| unreachable!("it loops"))
    }

    /// Waits until the controller works, that is, until it has created the default set.
    pub(crate) async fn wait_for_the_controller(&self) -> Result<()> {
        let set = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/global";
        let begun = Instant::now();
        while self.get(set).await.is_err() {
            if begun.elapsed() > Duration::from_secs(60) {
                let log = std::fs::read_to_string(self.kubeconfig.with_extension("log"));
                bail!(
                    "the controller did not create the default set: {}",
                    log.unwrap_or_default()
                );
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Returns the hub's resourceVersion, which increases by one with every write. Reading it is not a write.
    pub(crate) async fn version(&self) -> Result<i64> {
        let list = self.get("/api/v1/namespaces?limit=1").await?;
        let version = list["metadata"]["resourceVersion"].as_str();
        Ok(version.context("no resourceVersion")?.parse()?)
    }

    /// Returns the number of objects that the hub itself created in namespaces: an account and a ConfigMap in each.
    pub(crate) async fn made_by_itself(&self) -> Result<i64> {
        let mut made = 0;
        for kind in ["serviceaccounts", "configmaps"] {
            let list = self.get(&object_path(("", "v1", kind), "", "")).await?;
            made += i64::try_from(list["items"].as_array().map_or(0, Vec::len))?;
        }
        Ok(made)
    }

    pub(crate) async fn create(&self, clusters: usize) -> Result<()> {
        each(clusters, async |name| {
            let object = json!({
                "apiVersion": "cluster.open-cluster-management.io/v1",
                "kind": "ManagedCluster",
                "metadata": {"name": name},
                "spec": {"hubAcceptsClient": true},
            });
            self.send("POST", CLUSTERS, &object).await.map(drop)
        })
        .await
    }

    /// Reports all clusters as joined, as their agents do.
    pub(crate) async fn join(&self, clusters: usize) -> Result<()> {
        each(clusters, async |name| {
            let joined = json!({
                "type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined", "message": "",
                "lastTransitionTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            });
            let patch = json!({"status": {"conditions": [joined]}});
            let path = format!("{CLUSTERS}/{name}/status");
            self.send("PATCH", &path, &patch).await.map(drop)
        })
        .await
    }

    pub(crate) async fn wait_until_accepted(&self, clusters: usize) -> Result<()> {
        self.wait(clusters, "accepted", |object| {
            condition(object, "HubAcceptedManagedCluster") == Some("True")
        })
        .await?;
        let leases = "/apis/coordination.k8s.io/v1/leases?labelSelector=open-cluster-management.io/cluster-name";
        let begun = Instant::now();
        loop {
            let list = self.get(leases).await?;
            let there = list["items"].as_array().map_or(0, Vec::len);
            if there >= clusters {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{there} of {clusters} leases");
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Renews the lease of every agent, evenly over this time.
    pub(crate) async fn renew(&self, clusters: usize, within: Duration) -> Result<()> {
        let begun = Instant::now();
        let pace = within / u32::try_from(clusters)?;
        for number in 0..clusters {
            let due = begun + pace * u32::try_from(number)?;
            tokio::time::sleep_until(due.into()).await;
            self.renew_one(&name(number)).await?;
        }
        tokio::time::sleep_until((begun + within).into()).await;
        Ok(())
    }

    /// Reports every cluster as available.
    pub(crate) async fn turn(&self, clusters: usize, available: &str) -> Result<()> {
        each(clusters, async |name| self.report(&name, available).await).await
    }

    pub(crate) async fn wait_until_untainted(&self, clusters: usize) -> Result<()> {
        self.wait(clusters, "free of taints", |object| {
            object["spec"]["taints"]
                .as_array()
                .is_none_or(Vec::is_empty)
        })
        .await
    }

    /// Lets this many agents renew once more and then stop. Returns, for the slowest, the times from the expiry of the lease until
    /// Unknown and until the taint. A watch measures them, from the event of the last renewal to the event of the change.
    pub(crate) async fn fall_silent(&self, clusters: usize) -> Result<(Duration, Duration)> {
        let leases = "/apis/coordination.k8s.io/v1/leases?labelSelector=open-cluster-management.io/cluster-name";
        let told = &Told::default();
        let agents = stream::iter(0..clusters).map(|number| async move {
            let name = name(number);
            // Otherwise the lease would already be expired when it becomes short.
            self.renew_one(&name).await?;
            let short = json!({"spec": {"leaseDurationSeconds": 1}});
            self.send("PATCH", &format!("{CLUSTERS}/{name}"), &short)
                .await?;
            // Spread the agents over time.
            sleep(Duration::from_millis(130) * u32::try_from(number)?).await;
            told.fall_silent(&name);
            self.renew_one(&name).await
        });
        let agents = agents.buffer_unordered(clusters.max(1)).try_collect::<()>();
        let until_tainted = async {
            loop {
                if let Some(slowest) = told.slowest(clusters) {
                    return slowest;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            ended = self.tell(leases, |lease| told.lease(lease)) => ended.map(|()| Default::default()),
            ended = self.tell(CLUSTERS, |cluster| told.cluster(cluster)) => ended.map(|()| Default::default()),
            slowest = async { agents.await?; anyhow::Ok(until_tainted.await) } => slowest,
            () = sleep(Duration::from_secs(120)) => bail!("some clusters are never Unknown and tainted"),
        }
    }

    /// Watches changes from now on, until the hub ends the watch.
    async fn tell(&self, path: &str, tell: impl Fn(&Value)) -> Result<()> {
        self.tell_since(path, self.version().await?, tell).await
    }

    /// Watches changes after this resourceVersion, until the hub ends the watch.
    pub(crate) async fn tell_since(
        &self,
        path: &str,
        version: i64,
        tell: impl Fn(&Value),
    ) -> Result<()> {
        let more = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{more}watch=true&resourceVersion={version}");
        let request = Request::get(path).body(Vec::new())?;
        let mut events = self.client.request_events::<Value>(request).await?.boxed();
        while let Some(event) = events.try_next().await? {
            if let kube::core::WatchEvent::Modified(object) = event {
                tell(&object);
            }
        }
        bail!("the hub has ended a watch")
    }

    /// Returns the median time of sequential writes to a ManagedCluster's spec.
    pub(crate) async fn one_write(&self) -> Result<Duration> {
        let path = format!("{CLUSTERS}/{}", name(0));
        let mut times = Vec::new();
        for number in 0..31 {
            let change = json!({"spec": {"leaseDurationSeconds": 100 + number}});
            let begun = Instant::now();
            self.send("PATCH", &path, &change).await?;
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    /// Deletes the objects that were created, with their finalizers.
    pub(crate) async fn clean_up(&self, clusters: usize) -> Result<()> {
        each(clusters, async |name| {
            let path = format!("{CLUSTERS}/{name}");
            let free = json!({"metadata": {"finalizers": null}});
            self.send("PATCH", &path, &free).await?;
            self.send("DELETE", &path, &Value::Null).await?;
            let role = format!("open-cluster-management:managedcluster:{name}");
            let rbac = |resource| ("rbac.authorization.k8s.io", "v1", resource);
            let work = object_path(rbac("rolebindings"), &name, &format!("{role}:work"));
            let _ = self.send("PATCH", &work, &free).await;
            for path in [
                object_path(rbac("clusterroles"), "", &role),
                object_path(rbac("clusterrolebindings"), "", &role),
                object_path(("", "v1", "namespaces"), "", &name),
            ] {
                let _ = self.send("DELETE", &path, &Value::Null).await;
            }
            Ok(())
        })
        .await
    }

    async fn renew_one(&self, name: &str) -> Result<()> {
        let leases = ("coordination.k8s.io", "v1", "leases");
        let path = object_path(leases, name, CLUSTER_LEASE);
        let now = Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
            .to_string();
        let renewed = json!({"spec": {"renewTime": now}});
        self.send("PATCH", &path, &renewed).await.map(drop)
    }

    /// Writes all conditions with the resourceVersion, as an agent does.
    async fn report(&self, name: &str, status: &str) -> Result<()> {
        let path = format!("{CLUSTERS}/{name}");
        loop {
            let object = self.get(&path).await?;
            let mut conditions = object["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let type_ = "ManagedClusterConditionAvailable";
            conditions.retain(|condition| condition["type"] != type_);
            conditions.push(json!({
                "type": type_, "status": status, "reason": "ManagedClusterAvailable", "message": "",
                "lastTransitionTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }));
            let patch = json!({
                "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
                "status": {"conditions": conditions},
            });
            match self.send("PATCH", &format!("{path}/status"), &patch).await {
                Err(kube_error) if is_conflict(&kube_error) => {}
                other => return other.map(drop),
            }
        }
    }

    /// Waits, by a watch, until all clusters meet the condition.
    async fn wait(&self, clusters: usize, what: &str, is: impl Fn(&Value) -> bool) -> Result<()> {
        let begun = Instant::now();
        let mut so = HashMap::new();
        let list = self.get(CLUSTERS).await?;
        for object in list["items"].as_array().into_iter().flatten() {
            so.insert(object["metadata"]["name"].to_string(), is(object));
        }
        let mut version = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        while so.values().filter(|so| **so).count() < clusters {
            let path = format!("{CLUSTERS}?watch=true&resourceVersion={version}&timeoutSeconds=60");
            let request = Request::get(path).body(Vec::new())?;
            let mut events = self.client.request_events::<Value>(request).await?.boxed();
            while let Ok(Some(event)) = events.try_next().await {
                let (kube::core::WatchEvent::Added(object)
                | kube::core::WatchEvent::Modified(object)) = event
                else {
                    continue;
                };
                if let Some(newer) = object["metadata"]["resourceVersion"].as_str() {
                    newer.clone_into(&mut version);
                }
                so.insert(object["metadata"]["name"].to_string(), is(&object));
                if so.values().filter(|so| **so).count() >= clusters {
                    return Ok(());
                }
            }
            if begun.elapsed() > PATIENCE {
                let there = so.values().filter(|so| **so).count();
                bail!("{there} of {clusters} clusters are {what}");
            }
        }
        Ok(())
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        let request = Request::get(path).body(Vec::new())?;
        Ok(self.client.request(request).await?)
    }

    /// Sends requests with these bodies, several concurrently. `path` returns the path of the request with this number.
    pub(crate) async fn send_all(
        &self,
        method: &str,
        bodies: Vec<Value>,
        path: impl Fn(usize) -> String,
    ) -> Result<()> {
        let requests = bodies.into_iter().enumerate().map(|(number, body)| {
            let path = path(number);
            async move { self.send(method, &path, &body).await.map(drop) }
        });
        stream::iter(requests)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let content_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(bytes)?;
        Ok(self.client.request(request).await?)
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=fleet&force=true"
        );
        let request = Request::patch(path)
            .header("content-type", "application/apply-patch+yaml")
            .body(object.to_string().into_bytes())?;
        self.client.request::<Value>(request).await?;
        Ok(())
    }
}

/// Events of a watch on silent clusters, with their times.
#[derive(Default)]
struct Told(Mutex<HashMap<String, Silent>>);

/// Times since an agent's last renewal.
#[derive(Default)]
struct Silent {
    renewed: Option<Instant>,
    unknown: Option<Instant>,
    tainted: Option<Instant>,
}

impl Told {
    /// The next renewal is the last one.
    fn fall_silent(&self, name: &str) {
        let silent = Silent::default();
        lock(&self.0).insert(name.to_owned(), silent);
    }

    fn lease(&self, lease: &Value) {
        let name = lease["metadata"]["namespace"].as_str().unwrap_or_default();
        if let Some(silent) = lock(&self.0).get_mut(name) {
            silent.renewed.get_or_insert_with(Instant::now);
        }
    }

    fn cluster(&self, cluster: &Value) {
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        let mut told = lock(&self.0);
        let Some(silent) = told.get_mut(name) else {
            return;
        };
        if condition(cluster, "ManagedClusterConditionAvailable") != Some("Unknown") {
            return;
        }
        silent.unknown.get_or_insert_with(Instant::now);
        let taints = cluster["spec"]["taints"].as_array();
        if taints.is_some_and(|taints| !taints.is_empty()) {
            silent.tainted.get_or_insert_with(Instant::now);
        }
    }

    /// Returns the times from the expiry of a lease (five times its duration of one second) until Unknown and until the taint, once this
    /// many clusters are tainted.
    fn slowest(&self, clusters: usize) -> Option<(Duration, Duration)> {
        let told = lock(&self.0);
        let times: Option<Vec<_>> = told
            .values()
            .map(|silent| {
                let ends = silent.renewed? + Duration::from_secs(5);
                let after = |time: Instant| time.saturating_duration_since(ends);
                Some((after(silent.unknown?), after(silent.tainted?)))
            })
            .collect();
        let times = times.filter(|times| times.len() == clusters)?;
        let unknown = times.iter().map(|times| times.0).max()?;
        let tainted = times.iter().map(|times| times.1).max()?;
        Some((unknown, tainted))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn name(number: usize) -> String {
    format!("fleet-{number}")
}

/// Runs a task for the name of each cluster, several concurrently.
/// Does this for each cluster, for several at the same time.
pub(crate) async fn each(clusters: usize, work: impl AsyncFn(String) -> Result<()>) -> Result<()> {
    stream::iter(0..clusters)
        .map(|number| work(name(number)))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a str> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == type_)?["status"]
        .as_str()
}

/// The sum of a metric over all labels; `None` if the text lacks it.
fn sum(metrics: &str, name: &str) -> Option<f64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_it = rest.starts_with(['{', ' ']);
        rest.rsplit_once(' ')
            .filter(|_| is_it)?
            .1
            .parse::<f64>()
            .ok()
    });
    values.reduce(|sum, value| sum + value)
}

fn is_conflict(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 409)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels() {
        let text = "# HELP a_total x\na_total{b=\"c d\"} 2\na_total{b=\"e\"} 3\na_total_more 7\n";
        assert_eq!(sum(text, "a_total"), Some(5.0));
        assert_eq!(sum(text, "b_total"), None);
    }
}
