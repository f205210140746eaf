//! Writes through an API server. The latency includes the webhooks that it calls; failed webhook calls are counted.
//!
//! All objects have the label `loadtest=RUN` and names that begin with `loadtest-RUN`, so that runs do not conflict and all objects can be
//! found. [`TestedHub::clean_up`] deletes them, also after a failure.

mod objects;
mod writer;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderName, HeaderValue, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::generate::User;
use objects::{Names, NewObject};
pub(crate) use writer::{Plan, Writer};

/// A hub, and the objects of this run there.
#[derive(Clone)]
pub(crate) struct TestedHub {
    client: Client,
    pub(crate) url: String,
    names: Names,
}

/// Time limit of a request that is not part of the load.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum number of concurrent requests that are not part of the load.
const AT_ONCE: usize = 8;

/// A request without a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    method: &'static str,
    path: String,
    /// Null without a body.
    body: Value,
}

impl TestedHub {
    /// # Errors
    /// The kubeconfig cannot be read or has no usable server.
    pub(crate) async fn open(kubeconfig: &Path) -> Result<Self> {
        let named = || format!("--kubeconfig {}", kubeconfig.display());
        let read = Kubeconfig::read_from(kubeconfig).with_context(named)?;
        let mut config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
            .await
            .with_context(named)?;
        // Failed calls must be counted, not retried.
        config.default_retry = false;
        let url = config.cluster_url.to_string();
        Ok(Self {
            client: Client::try_from(config).with_context(named)?,
            url,
            names: Names::new(format!("{:05x}", fastrand::u32(..0x10_0000))),
        })
    }

    /// Creates the objects of the writers: two sets, and for each writer a cluster and a namespace.
    ///
    /// # Errors
    /// An object cannot be created. The objects that were created before must be cleaned up.
    pub(crate) async fn set_up(&self, writers: usize) -> Result<()> {
        for set in &self.names.sets {
            self.create(&self.names.set(set)).await?;
        }
        let objects = (0..writers).flat_map(|writer| {
            [
                self.names.namespace(writer),
                self.names.cluster(&self.names.own_cluster(writer)),
            ]
        });
        stream::iter(objects)
            .map(async |object| self.create(&object).await)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Deletes the objects of this run, and those that the hub created for them, and waits for the deletion.
    ///
    /// # Errors
    /// An object remains; the message says how to delete it by hand.
    pub(crate) async fn clean_up(&self, writers: usize) -> Result<()> {
        let cleaned = async {
            for collection in self.names.collections() {
                let names = self.delete_all(&collection).await?;
                // The hub's controllers need time.
                self.wait_until_gone(&collection, names).await?;
            }
            let namespaces = self.names.namespaces(writers);
            self.delete(namespaces).await
        };
        cleaned.await.with_context(|| {
            let run = &self.names.run;
            format!(
                "not all is cleaned up; what is left: kubectl get \
                 managedclusters,managedclustersets,managedclustersetbindings,namespaces -A -l loadtest={run}"
            )
        })
    }

    async fn create(&self, object: &NewObject) -> Result<()> {
        let call = Call {
            method: "POST",
            path: object.collection.clone(),
            body: object.body.clone(),
        };
        match self.ask(&call).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot create {}", object.name())),
        }
    }

    /// Deletes the objects of this run, and returns the paths of those that remain.
    async fn delete_all(&self, collection: &str) -> Result<usize> {
        let there = self.list(collection).await?;
        let number = there.len();
        self.delete(there).await?;
        Ok(number)
    }

    async fn delete(&self, paths: Vec<String>) -> Result<()> {
        stream::iter(paths)
            .map(async |path| {
                let call = Call {
                    method: "DELETE",
                    path,
                    body: Value::Null,
                };
                match self.ask(&call).await {
                    Ok(_) => Ok(()),
                    Err(error) if is_not_found(&error) => Ok(()),
                    Err(error) => Err(error).context(format!("cannot delete {}", call.path)),
                }
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    async fn wait_until_gone(&self, collection: &str, mut left: usize) -> Result<()> {
        let begun = Instant::now();
        while left > 0 {
            if begun.elapsed() > PATIENCE {
                bail!("{left} of {collection} are still there after {PATIENCE:?}");
            }
            sleep(Duration::from_millis(100)).await;
            left = self.list(collection).await?.len();
        }
        Ok(())
    }

    /// Returns the paths of the objects of this run.
    async fn list(&self, collection: &str) -> Result<Vec<String>> {
        let call = Call {
            method: "GET",
            path: format!("{collection}?labelSelector=loadtest%3D{}", self.names.run),
            body: Value::Null,
        };
        let text = self
            .ask(&call)
            .await
            .with_context(|| format!("cannot list {collection}"))?;
        let list: Value = serde_json::from_str(&text)?;
        let items = list["items"].as_array().into_iter().flatten();
        let paths = items.filter_map(|item| objects::path_of(collection, &item["metadata"]));
        Ok(paths.collect())
    }

    async fn ask(&self, call: &Call) -> Result<String> {
        match timeout(PATIENCE, self.send(call, &[])).await {
            Ok(answer) => Ok(answer?),
            Err(_) => bail!("no response within {PATIENCE:?}"),
        }
    }

    /// Sends a request, once.
    async fn send(
        &self,
        call: &Call,
        headers: &[(HeaderName, HeaderValue)],
    ) -> Result<String, kube::Error> {
        let content_type = match call.method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = match &call.body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        let mut request = Request::builder()
            .method(call.method)
            .uri(&call.path)
            .header("content-type", content_type)
            .header("user-agent", "loadtest");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        self.client.request_text(request).await
    }
}

/// Returns the impersonation headers of a request.
fn impersonation(user: &User) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let header = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(value);
        let value =
            value.with_context(|| format!("--user {}: cannot be sent in a header", user.name));
        value.map(|value| (HeaderName::from_static(name), value))
    };
    let groups = user.groups.iter();
    [header("impersonate-user", &user.name)]
        .into_iter()
        .chain(groups.map(|group| header("impersonate-group", group)))
        .collect()
}

fn is_not_found(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 404)
}
