//! What flags set in place of a kubeconfig's values, as kubectl's connection flags do.

use std::fmt;
use std::path::PathBuf;

use kube::config::{
    AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};

/// Values that win over those of the chosen context of a kubeconfig. Empty: nothing changes.
///
/// Names and meanings are those of `kubectl options`, except that credentials replace all credentials of the kubeconfig's user: kubectl
/// sends both.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The URL of the API server.
    pub server: Option<String>,
    /// The name that the API server's certificate has to have.
    pub tls_server_name: Option<String>,
    /// A file with the authorities of the API server's certificate, PEM.
    pub certificate_authority: Option<PathBuf>,
    /// The API server's certificate is not verified.
    pub insecure_skip_tls_verify: bool,
    /// The user of the kubeconfig, which has to have it.
    pub user: Option<String>,
    /// A bearer token.
    pub token: Option<String>,
    /// A file with a client certificate, PEM.
    pub client_certificate: Option<PathBuf>,
    /// A file with its key, PEM.
    pub client_key: Option<PathBuf>,
}

/// The name of entries that only flags make.
const OF_FLAGS: &str = "of-the-flags";

// === impl Overrides ===

impl Overrides {
    /// Returns true if nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the kubeconfig in which this context has these values. Other contexts stay as they are.
    pub(crate) fn applied(&self, mut kubeconfig: Kubeconfig, context: &str) -> Kubeconfig {
        if self.is_empty() {
            return kubeconfig;
        }
        let named = kubeconfig.contexts.iter().find(|it| it.name == context);
        let Some(mut chosen) = named.and_then(|it| it.context.clone()) else {
            return kubeconfig;
        };
        let mut cluster = kubeconfig
            .clusters
            .iter()
            .find(|it| it.name == chosen.cluster)
            .and_then(|it| it.cluster.clone())
            .unwrap_or_default();
        self.change_cluster(&mut cluster);
        let user = self.user.clone().or(chosen.user.take());
        let named = kubeconfig
            .auth_infos
            .iter()
            .find(|it| Some(&it.name) == user.as_ref());
        let info = named.and_then(|it| it.auth_info.clone());
        kubeconfig.auth_infos.insert(
            0,
            NamedAuthInfo {
                name: OF_FLAGS.to_owned(),
                auth_info: Some(self.changed_user(info.unwrap_or_default())),
                ..NamedAuthInfo::default()
            },
        );
        kubeconfig.clusters.insert(
            0,
            NamedCluster {
                name: OF_FLAGS.to_owned(),
                cluster: Some(cluster),
                ..NamedCluster::default()
            },
        );
        let changed = Context {
            cluster: OF_FLAGS.to_owned(),
            user: Some(OF_FLAGS.to_owned()),
            ..chosen
        };
        for it in &mut kubeconfig.contexts {
            if it.name == context {
                it.context = Some(changed.clone());
            }
        }
        kubeconfig
    }

    /// Returns a kubeconfig of these flags alone, if they name a server.
    pub(crate) fn alone(&self) -> Option<Kubeconfig> {
        self.server.as_ref()?;
        let context = Context {
            cluster: OF_FLAGS.to_owned(),
            ..Context::default()
        };
        Some(Kubeconfig {
            current_context: Some(OF_FLAGS.to_owned()),
            contexts: vec![NamedContext {
                name: OF_FLAGS.to_owned(),
                context: Some(context),
                ..NamedContext::default()
            }],
            ..Kubeconfig::default()
        })
    }

    fn change_cluster(&self, cluster: &mut Cluster) {
        let path = |path: &PathBuf| path.display().to_string();
        if let Some(server) = &self.server {
            cluster.server = Some(server.clone());
            // It was that of another server.
            cluster.tls_server_name = None;
        }
        if self.tls_server_name.is_some() {
            cluster.tls_server_name.clone_from(&self.tls_server_name);
        }
        if self.insecure_skip_tls_verify || self.certificate_authority.is_some() {
            cluster.certificate_authority_data = None;
            cluster.certificate_authority = self.certificate_authority.as_ref().map(path);
            cluster.insecure_skip_tls_verify = Some(self.insecure_skip_tls_verify);
        }
    }

    fn changed_user(&self, user: AuthInfo) -> AuthInfo {
        let path = |path: &PathBuf| path.display().to_string();
        if self.token.is_none() && self.client_certificate.is_none() && self.client_key.is_none() {
            return user;
        }
        AuthInfo {
            token: self.token.clone().map(Into::into),
            client_certificate: self.client_certificate.as_ref().map(path),
            client_key: self.client_key.as_ref().map(path),
            ..AuthInfo::default()
        }
    }
}

/// Without the token.
impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overrides")
            .field("server", &self.server)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
