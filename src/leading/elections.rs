//! The thread of the leader elections: Leases are renewed on it however busy the reconcilers are.

use std::sync::Arc;

use anyhow::Context;
use berth_hub::HubApi;
use tokio::runtime::{Builder, Handle, Runtime};

/// The thread, and the connections that only it uses. Elections on it end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Elections {
    thread: Arc<Thread>,
    api: HubApi,
}

/// `None` once it is dropped.
struct Thread(Option<Runtime>, Handle);

// === impl Elections ===

impl Elections {
    /// Starts the thread. `api`: the API server with the Leases, by connections that nothing else uses.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(api: HubApi) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("elections")
            .enable_all()
            .build()
            .context("the thread of the leader elections cannot be started")?;
        let handle = runtime.handle().clone();
        Ok(Self {
            thread: Arc::new(Thread(Some(runtime), handle)),
            api,
        })
    }

    /// The runtime of the elections, and its API server.
    pub(crate) fn on(&self) -> (Handle, HubApi) {
        (self.thread.1.clone(), self.api.clone())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // It may be dropped by a task of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}
