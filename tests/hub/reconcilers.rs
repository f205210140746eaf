//! A controller of the hub in this process, and what it counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use berth_hub::HubApi;
use berth_reconcile::{Controller, Ended};
use kube::config::{KubeConfigOptions, Kubeconfig};
use prometheus::Registry;
use prometheus::proto::MetricFamily;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A controller that runs until this is dropped or stopped.
pub struct Reconcilers {
    /// `None` if another owner stops it.
    stop: Option<CancellationToken>,
    running: Option<JoinHandle<Result<(), Ended>>>,
    registry: Registry,
}

impl Reconcilers {
    /// Starts the controller with the account of this kubeconfig, on a runtime that lives as long as the process. `make` gets the
    /// registry of its metrics.
    pub fn start(account: PathBuf, make: impl FnOnce(&Registry) -> Controller) -> Self {
        static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
        let registry = Registry::new();
        let controller = make(&registry);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let running = RUNTIME.spawn(async move {
            let kubeconfig = Kubeconfig::read_from(account).unwrap();
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
            let mut config = config.await.unwrap();
            // As in the program: the caller has its own deadline.
            config.default_retry = false;
            let api = HubApi::of(config).await.unwrap();
            let running = controller.start(api, "tests", None, None);
            running.run(stopped).await
        });
        Self {
            stop: Some(stop),
            running: Some(running),
            registry,
        }
    }

    /// No controller in this process.
    pub fn none() -> Self {
        Self {
            stop: None,
            running: None,
            registry: Registry::new(),
        }
    }

    /// A copy that does not stop the controller when it is dropped.
    pub fn lent(&self) -> Self {
        Self {
            stop: None,
            running: None,
            registry: self.registry.clone(),
        }
    }

    /// Stops the controller, and returns when its writes have ended.
    pub async fn stop(&mut self) {
        self.stop.as_ref().unwrap().cancel();
        if let Some(running) = self.running.take() {
            running.await.unwrap().unwrap();
        }
    }

    /// Aborts the controller at any point, with the requests in flight.
    pub async fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
            let _ = running.await;
        }
    }

    /// The number of writes so far.
    pub fn writes(&self) -> u64 {
        self.writes_by_kind().values().sum()
    }

    /// The number of writes so far, by reconciler, resource, verb and code.
    pub fn writes_by_kind(&self) -> BTreeMap<String, u64> {
        let labels = ["reconciler", "resource", "verb", "code"];
        self.counts("berth_writes_total", &labels)
    }

    /// How often the hub had gone back to an earlier version, by kind.
    pub fn rewinds(&self) -> BTreeMap<String, u64> {
        self.counts("berth_watch_rewinds_total", &["resource"])
    }

    /// How often the watch of a resource has failed.
    pub fn watch_errors(&self, resource: &str) -> u64 {
        let errors = self.counts("berth_watch_errors_total", &["resource"]);
        errors.get(resource).copied().unwrap_or_default()
    }

    /// The values of a counter, by the values of its labels, which are separated by spaces.
    fn counts(&self, counter: &str, labels: &[&str]) -> BTreeMap<String, u64> {
        let families = self.registry.gather();
        let families = families.iter().filter(|family| family.name() == counter);
        families
            .flat_map(MetricFamily::get_metric)
            .map(|metric| {
                let of = |name: &&str| {
                    let mut labels = metric.get_label().iter();
                    labels.find(|label| label.name() == *name).unwrap().value()
                };
                let words: Vec<_> = labels.iter().map(of).collect();
                (words.join(" "), metric.get_counter().get_value() as u64)
            })
            .collect()
    }
}

impl Drop for Reconcilers {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.cancel();
        }
    }
}
