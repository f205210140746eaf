//! A load of writes. Each write calls the gate, and must not fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;

use crate::cluster::http::Answer;
use crate::cluster::{Cluster, Person, collection_of, fresh, path_of};
use crate::guarded::{developer, may_accept, may_join};
use crate::objects::cluster;
use crate::{eventually, when};

const WRITERS: usize = 4;

/// Writers that run until [`stop`](Self::stop).
pub struct Writers {
    stopped: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
    writers: JoinSet<Result<(), String>>,
}

impl Writers {
    /// Each writer accepts and denies its own cluster in turn, and creates another one as a dry run.
    pub async fn start(hub: &Cluster) -> Self {
        let (stopped, written) = (Arc::default(), Arc::default());
        let mut writers = JoinSet::new();
        for _ in 0..WRITERS {
            let name = fresh("busy");
            let rules = [may_join("default"), may_accept(&name)];
            let dev = developer(hub, &fresh("writer"), &rules).await;
            let object = cluster(&name);
            let answer = dev.post(&collection_of(&object), &object).await.unwrap();
            answer.ok();
            let (stopped, written) = (Arc::clone(&stopped), Arc::clone(&written));
            writers.spawn(write(dev, name, stopped, written));
        }
        Self {
            stopped,
            written,
            writers,
        }
    }

    /// Waits until this number of further calls was made, or a writer has ended; [`stop`](Self::stop) reports why.
    pub async fn go_on(&mut self, calls: usize) {
        let enough = self.written.load(Ordering::Relaxed) + calls;
        eventually("more calls of the writers", async || {
            if let Some(ended) = self.writers.try_join_next() {
                ended.unwrap().unwrap();
            }
            when(self.written.load(Ordering::Relaxed), |it| *it >= enough)
        })
        .await;
    }

    /// Stops the writers, and returns the number of their calls. Panics if a call has failed.
    pub async fn stop(mut self) -> usize {
        self.stopped.store(true, Ordering::Relaxed);
        while let Some(ended) = self.writers.join_next().await {
            ended.unwrap().unwrap();
        }
        self.written.load(Ordering::Relaxed)
    }
}

async fn write(
    dev: Person,
    name: String,
    stopped: Arc<AtomicBool>,
    written: Arc<AtomicUsize>,
) -> Result<(), String> {
    let (object, other) = (cluster(&name), cluster(&fresh("other")));
    let dry_run = format!("{}?dryRun=All", collection_of(&other));
    let mut accept = false;
    while !stopped.load(Ordering::Relaxed) {
        accept = !accept;
        let patch = json!({ "spec": { "hubAcceptsClient": accept } });
        for answer in [
            dev.merge(&path_of(&object), &patch).await,
            dev.post(&dry_run, &other).await,
        ] {
            match answer {
                Ok(Answer {
                    code: 200 | 201, ..
                }) => written.fetch_add(1, Ordering::Relaxed),
                failed => return Err(format!("a call has failed: {failed:?}")),
            };
        }
    }
    Ok(())
}
