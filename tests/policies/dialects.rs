//! Every setting of the policies compiles on the API servers that it is for.

use berth_policies::{Action, Kubernetes, Mode, Options};
use berth_rules::{FeatureGates, Settings};
use berth_testkit::cluster::{Cluster, path_of};
use berth_testkit::guarded::install;
use serde_json::Value;

use crate::hub::{Hub, printed};

/// All settings for a version.
fn settings(kubernetes: Kubernetes) -> Vec<Options> {
    let mut all = Vec::new();
    for mode in [Mode::Policies, Mode::WithWebhook] {
        for action in [Action::Deny, Action::Audit] {
            for gates in 0..8_u8 {
                let gates = FeatureGates {
                    default_cluster_set: gates & 1 == 0,
                    unguarded_denial: gates & 2 == 0,
                    guarded_selectors: gates & 4 == 0,
                    // No policy guards ManifestWorks.
                    nil_executor_validating: false,
                };
                all.push(Options {
                    settings: Settings::from(gates),
                    kubernetes,
                    mode,
                    action,
                });
            }
        }
    }
    all
}

/// Writes every document of every setting to this hub. The API server compiles expressions before it stores them.
async fn compile(cluster: &Cluster, kubernetes: Kubernetes) -> usize {
    let admin = cluster.admin().await;
    let mut known: Vec<Value> = Vec::new();
    for options in settings(kubernetes) {
        for document in printed(&options) {
            if known.contains(&document) {
                continue;
            }
            let path = format!("{}?dryRun=All", path_of(&document));
            let answer = admin.apply_as("proof", &path, &document).await.unwrap();
            assert!(answer.code < 300, "{options:?}: {answer:?}\n{document:#}");
            known.push(document);
        }
    }
    known.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_setting_compiles_on_each_version() {
    // Another test measures the processor time of API servers.
    let Some(_alone) = Hub::shared().await else {
        return;
    };
    for kubernetes in Kubernetes::ALL {
        let emulated = format!("--emulated-version=kube={kubernetes}");
        let cluster = Cluster::start_kubernetes(&[&emulated]).await.unwrap();
        install(&cluster).await;
        let number = compile(&cluster, kubernetes).await;
        println!("Kubernetes {kubernetes}: {number} policies and bindings");
    }
}
