//! A hub for tests: devhub in this process, or, if `KUBEBUILDER_ASSETS` names a folder with
//! `etcd` and `kube-apiserver` (and optionally `kube-controller-manager`), a real one.
//!
//! Tests do not depend on which it is. [`Cluster::shared`] is one hub for all tests of a process: each test uses its own names
//! ([`fresh`]). [`Cluster::private`] is for tests whose changes would affect the others. A user is a [`Person`], with a
//! client of `kube` and with `kubectl`. However the process ends, [`janitor`] removes its processes and files.

mod access;
mod as_admin;
mod devhub;
pub mod http;
mod in_force;
pub mod janitor;
mod kubectl;
mod kubernetes;
mod manifests;
mod person;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use berth_certs::issue::Issued;
use berth_devhub::{Options, Snapshot};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use devhub::Devhub;
use kubernetes::Kubernetes;

pub use access::rule;
pub use as_admin::AsAdmin;
pub use in_force::wait_until_in_force;
pub use kubectl::{Output, finish, kubectl_is_there};
pub use kubernetes::free_ports;
pub use manifests::{CRDS, collection_of, documents_of, kind_of, path_of, shipped_registrations};
pub use person::{Credentials, Identity, Person};

/// The variable that names the folder with the programs of a real hub.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A running hub.
pub struct Cluster {
    server: Server,
    /// Kubeconfigs, and kubectl's cache.
    folder: TempDir,
}

/// What a hub stored at some moment.
pub enum Saved {
    /// A snapshot of devhub.
    Devhub(Snapshot),
    /// A copy of etcd's folder.
    Kubernetes(TempDir),
}

enum Server {
    Devhub(Box<Devhub>),
    Kubernetes(Box<Kubernetes>),
}

/// A hub that no other test uses at the same time. It may have been used before.
pub enum Private {
    /// A new devhub, which starts in milliseconds.
    Own(Box<Cluster>),
    /// A real hub takes long to start, so that tests share one; the test that uses it holds the lock.
    Lent(&'static Cluster, MutexGuard<'static, ()>),
}

/// A name that no other test of this process has: `<prefix>-<number>`.
pub fn fresh(prefix: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Prints, also when the output of tests is captured, that a test was skipped.
pub fn say_skipped(why: &str) {
    use std::io::Write;
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

// === impl Cluster ===

impl Cluster {
    /// The hub that all tests of this process share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    /// A hub for this test alone, until the test drops it.
    pub async fn private() -> Private {
        static SPARE: OnceCell<Cluster> = OnceCell::const_new();
        static LENT: Mutex<()> = Mutex::const_new(());
        if assets().is_none() {
            return Private::Own(Box::new(Self::start().await));
        }
        let lent = LENT.lock().await;
        let cluster = SPARE.get_or_init(Self::start).await;
        in_force::remove_registrations(cluster).await;
        in_force::remove_leases(cluster).await;
        Private::Lent(cluster, lent)
    }

    /// A new hub; if it is devhub, with these options.
    pub async fn start_devhub(options: Options) -> Self {
        crypto_provider();
        Self::with(Server::Devhub(Box::new(Devhub::start(options).await)))
    }

    /// A new real hub, with these flags of kube-apiserver besides the usual ones; `None` if its programs are not named.
    pub async fn start_kubernetes(flags: &[&str]) -> Option<Self> {
        crypto_provider();
        let kubernetes = Kubernetes::start(&assets()?, flags).await;
        Some(Self::with(Server::Kubernetes(Box::new(kubernetes))))
    }

    /// A new hub, for a test that restarts it.
    pub async fn start() -> Self {
        crypto_provider();
        match Self::start_kubernetes(&[]).await {
            None => Self::start_devhub(Options::default()).await,
            Some(cluster) => cluster,
        }
    }

    fn with(server: Server) -> Self {
        let folder = TempDir::new().unwrap();
        janitor::remove_at_the_end(folder.path());
        Self { server, folder }
    }

    /// `https://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        match &self.server {
            Server::Devhub(devhub) => devhub.hub().url(),
            Server::Kubernetes(kubernetes) => kubernetes.url(),
        }
    }

    /// The CA of the hub's serving certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        match &self.server {
            Server::Devhub(devhub) => devhub.hub().ca_pem(),
            Server::Kubernetes(kubernetes) => kubernetes.ca_pem(),
        }
    }

    /// devhub accepts this token of a user from now on. A real hub verifies it by the keys of its issuer.
    pub fn accept_token(&self, token: &str, user: &str, groups: &[String]) {
        if let Server::Devhub(devhub) = &self.server {
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            let user = berth_devhub::User::new(user, &groups);
            devhub.hub().accept_token(token, user);
        }
    }

    /// A snapshot of what the hub stores. A real hub is stopped for it.
    pub async fn snapshot(&mut self) -> Saved {
        match &mut self.server {
            Server::Devhub(devhub) => Saved::Devhub(devhub.hub().snapshot()),
            Server::Kubernetes(kubernetes) => {
                kubernetes.stop();
                let saved = kubernetes.saved();
                kubernetes.start_again().await;
                Saved::Kubernetes(saved)
            }
        }
    }

    /// Restarts the hub with what it stored at the snapshot, as after a restore of its etcd.
    pub async fn restore(&mut self, saved: Saved) {
        match (&mut self.server, saved) {
            (Server::Devhub(devhub), Saved::Devhub(snapshot)) => devhub.restore(snapshot).await,
            (Server::Kubernetes(kubernetes), Saved::Kubernetes(saved)) => {
                kubernetes.stop();
                kubernetes.put_back(&saved);
                kubernetes.start_again().await;
            }
            _ => panic!("a snapshot of another hub"),
        }
    }

    /// Returns true if new hubs are real ones.
    pub(crate) fn is_real_asked_for() -> bool {
        assets().is_some()
    }

    /// Returns true for a real hub, for tests that take another way there.
    pub fn is_real(&self) -> bool {
        matches!(self.server, Server::Kubernetes(_))
    }

    /// Returns true for a real hub; otherwise prints that the test was skipped.
    #[must_use]
    pub fn only_real(&self, why: &str) -> bool {
        let real = self.is_real();
        if !real {
            say_skipped(&format!("only on a real hub ({ASSETS}): {why}"));
        }
        real
    }

    /// Returns true for devhub; otherwise prints that the test was skipped.
    #[must_use]
    pub fn only_devhub(&self, why: &str) -> bool {
        let devhub = !self.is_real();
        if !devhub {
            say_skipped(&format!("only on devhub: {why}"));
        }
        devhub
    }

    /// Returns true if the hub removes deleted namespaces, and objects without an owner.
    pub fn has_background_work(&self) -> bool {
        match &self.server {
            Server::Devhub(_) => true,
            Server::Kubernetes(kubernetes) => kubernetes.has_controller_manager(),
        }
    }

    fn client_certificate(&self, user: &str, groups: &[&str]) -> Issued {
        match &self.server {
            Server::Devhub(devhub) => devhub.hub().client_certificate(user, groups).unwrap(),
            Server::Kubernetes(kubernetes) => kubernetes.client_certificate(user, groups),
        }
    }
}

impl Deref for Private {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        match self {
            Self::Own(cluster) => cluster,
            Self::Lent(cluster, _) => cluster,
        }
    }
}

fn assets() -> Option<PathBuf> {
    std::env::var_os(ASSETS)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The hub of this process, which the first caller starts.
fn crypto_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
