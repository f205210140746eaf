//! devhub in this process.

use berth_devhub::{DevHub, Options, Snapshot};
use tokio::runtime::{Builder, Runtime};

/// It has its own runtime, as it outlives the test that starts it.
pub(crate) struct Devhub {
    /// `None` while it is being dropped.
    running: Option<(DevHub, Runtime)>,
}

impl Devhub {
    pub(crate) async fn start(options: Options) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("devhub")
            .enable_all()
            .build()
            .unwrap();
        let hub = runtime
            .spawn(DevHub::start(options))
            .await
            .unwrap()
            .unwrap();
        Self {
            running: Some((hub, runtime)),
        }
    }

    /// Restarts it with what it had at the snapshot.
    pub(crate) async fn restore(&mut self, snapshot: Snapshot) {
        let (hub, runtime) = self.running.take().expect("it is not dropped yet");
        let restored = runtime.spawn(hub.restore(snapshot)).await;
        self.running = Some((restored.unwrap().unwrap(), runtime));
    }

    pub(crate) fn hub(&self) -> &DevHub {
        &self.running.as_ref().expect("it is not dropped yet").0
    }
}

impl Drop for Devhub {
    fn drop(&mut self) {
        let Some((_hub, runtime)) = self.running.take() else {
            return;
        };
        // It does not wait: this may run within a runtime.
        runtime.shutdown_background();
    }
}
