//! Where a test works: a namespace of its own on the hub that all share, and somebody who may do everything.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::cluster::{Cluster, Output, Person};
use crate::transcript::{Stage, words};

/// A namespace of its own, and an admin.
pub struct Desk {
    pub cluster: &'static Cluster,
    pub admin: Person,
    pub namespace: String,
}

impl Desk {
    pub async fn new() -> Self {
        let cluster = Cluster::shared().await;
        let admin = cluster.admin().await;
        let namespace = next();
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        admin
            .post("/api/v1/namespaces", &object)
            .await
            .unwrap()
            .ok();
        Self {
            cluster,
            admin,
            namespace,
        }
    }

    /// kubectl in this namespace, with a line of arguments.
    pub async fn kubectl(&self, line: &str) -> Output {
        self.kubectl_reading("", line).await
    }

    /// The same, with something to read.
    pub async fn kubectl_reading(&self, stdin: &str, line: &str) -> Output {
        let words = words(line);
        let mut args = vec!["-n", &self.namespace];
        args.extend(words.iter().map(String::as_str));
        self.admin.kubectl_reading(stdin, &args).await
    }

    /// What kubectl printed, if it was content.
    pub async fn says(&self, line: &str) -> String {
        self.kubectl(line).await.ok().to_owned()
    }

    /// Plays a transcript of kubectl, in which `{ns}` is the namespace.
    #[track_caller]
    pub fn plays(&self, transcript: &str) -> impl Future<Output = ()> {
        self.stage().plays(transcript)
    }

    /// To play transcripts with more names in them.
    pub fn stage(&self) -> Stage<'_> {
        Stage::new(&self.admin, &self.namespace)
    }

    /// `/api/v1/namespaces/<namespace>/<rest>`
    pub fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// The same in a group.
    pub fn in_group(&self, group_version: &str, rest: &str) -> String {
        format!("/apis/{group_version}/namespaces/{}/{rest}", self.namespace)
    }

    /// A ConfigMap with a value, as it was stored.
    pub async fn configmap(&self, name: &str) -> Value {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "key": "value" },
        });
        let path = self.core("configmaps");
        self.admin.post(&path, &object).await.unwrap().ok().clone()
    }
}

/// Names of one width: it decides that of columns.
fn next() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("desk-{:03}", NEXT.fetch_add(1, Ordering::Relaxed))
}
