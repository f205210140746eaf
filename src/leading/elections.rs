//! The thread of the leader elections: Leases are renewed on it however busy the reconcilers are.

use anyhow::Context;
use berth_hub::HubApi;
use tokio::runtime::{Builder, Handle, Runtime};

/// The thread, and the connections that only it uses. Elections on it end when this is dropped.
pub(crate) struct Elections {
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    api: HubApi,
}

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
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            api,
        })
    }

    /// The runtime of the elections, and its API server.
    pub(super) fn on(&self) -> (Handle, HubApi) {
        (self.handle.clone(), self.api.clone())
    }
}

impl Drop for Elections {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped by a task of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}
