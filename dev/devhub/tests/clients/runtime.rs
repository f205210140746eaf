//! What `kube` and its runtime do with a hub: watchers, reflectors, controllers, finalizers, events, pages.

mod controllers;
mod crowds;
mod objects;
mod pages;
mod watches;

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use serde_json::json;

use crate::desk::Desk;

/// How long something may take to happen, also on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fails when it takes too long.
#[track_caller]
fn soon<T>(what: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let done = tokio::time::timeout(PATIENCE, what).await;
        done.unwrap_or_else(|_| panic!("it takes too long at {caller}"))
    }
}

impl Desk {
    fn configmaps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.admin.client.clone(), &self.namespace)
    }

    fn widgets(&self) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: "clients.berth.test".to_owned(),
            version: "v1".to_owned(),
            api_version: "clients.berth.test/v1".to_owned(),
            kind: "Widget".to_owned(),
            plural: "widgets".to_owned(),
        };
        Api::namespaced_with(self.admin.client.clone(), &self.namespace, &resource)
    }

    /// Makes ConfigMaps with these names, labelled `desk=ours`: others may be about.
    async fn ours(&self, names: &[&str]) {
        for name in names {
            let metadata = json!({ "name": name, "labels": { "desk": "ours" } });
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
            let path = self.core("configmaps");
            self.admin.post(&path, &object).await.unwrap().ok();
        }
    }
}
