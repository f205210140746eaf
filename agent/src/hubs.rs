//! The hubs that the agent can belong to: one, or several of which it has chosen one.

pub(crate) mod look;

use std::path::PathBuf;
use std::time::Duration;

use crate::bootstrap::{Bootstrap, Hub};

/// The flags that name one hub, and several.
const FLAGS: [&str; 2] = ["--bootstrap-kubeconfig", "--bootstrap-kubeconfigs"];

/// The bootstrap kubeconfigs, in order of preference, and the one in use.
#[derive(Debug)]
pub(crate) struct Hubs {
    files: Vec<Bootstrap>,
    current: usize,
}

// === impl Hubs ===

impl Hubs {
    pub(crate) fn new(paths: &[PathBuf]) -> Self {
        let flag = FLAGS[usize::from(paths.len() > 1)];
        let file = |path: &PathBuf| Bootstrap::new(path.clone(), flag);
        Self {
            files: paths.iter().map(file).collect(),
            current: 0,
        }
    }

    /// Reads all files. Returns those whose content has changed.
    pub(crate) async fn refresh(&mut self) -> Vec<usize> {
        let mut changed = Vec::new();
        for (at, file) in self.files.iter_mut().enumerate() {
            if file.refresh().await {
                changed.push(at);
            }
        }
        changed
    }

    /// The hub in use, as its file named it when it was last read.
    pub(crate) fn hub(&self) -> Result<&Hub, &str> {
        self.files[self.current].hub()
    }

    /// The same of any hub.
    pub(crate) fn hub_at(&self, at: usize) -> Result<&Hub, &str> {
        self.files[at].hub()
    }

    /// How long until the files are to be read again.
    pub(crate) fn period(&self) -> Duration {
        let periods = self.files.iter().map(Bootstrap::period);
        periods.min().unwrap_or_default()
    }

    pub(crate) fn current(&self) -> usize {
        self.current
    }

    pub(crate) fn go(&mut self, to: usize) {
        self.current = to;
    }

    /// The URLs, as far as the files could be read.
    pub(crate) fn servers(&self) -> Vec<&str> {
        let hubs = self.files.iter().filter_map(|it| it.hub().ok());
        hubs.map(|hub| hub.endpoint.server.as_str()).collect()
    }

    /// The hub with this URL.
    pub(crate) fn with_server(&self, server: &str) -> Option<usize> {
        self.files
            .iter()
            .position(|it| it.hub().is_ok_and(|hub| hub.endpoint.server == server))
    }
}
