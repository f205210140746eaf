//! Which API server to call, and as which user.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use crate::overrides::Overrides;

/// Which API server to call, and as which user.
///
/// Searched in this order: [`Access::kubeconfig`], the files of `$KUBECONFIG` (merged as kubectl merges them; missing files are
/// skipped), `~/.kube/config` if [`Access::home`] is set, the cluster in which this process runs.
#[derive(Clone, Debug)]
pub struct Access {
    /// The file that a flag names.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the kubeconfig's current one.
    pub context: Option<String>,
    /// Values of flags that win over the kubeconfig's.
    pub overrides: Overrides,
    /// Impersonation.
    pub act_as: Option<ActAs>,
    /// Without the credentials of the kubeconfig or of the pod: each [`Identity`](crate::Identity) brings its own.
    pub anonymous: bool,
    /// Use `~/.kube/config`, as commands do and servers do not.
    pub home: bool,
    /// Time limits of connections.
    pub timing: Timing,
    /// How calls share connections.
    pub sharing: Sharing,
}

/// The user to impersonate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActAs {
    /// Name of the user.
    pub user: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// The user's UID.
    pub uid: Option<String>,
}

/// Time limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long connecting may take.
    pub connect: Duration,
    /// A peer that acknowledges nothing for this time counts as gone.
    pub silence: Duration,
}

/// How calls to an API server share connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// HTTP/1.1: a connection carries one call at a time, and a watch occupies its connection. A late call takes its connection with
    /// it, so that the next call meets another one, and perhaps another replica of the API server.
    #[default]
    OneEach,
    /// HTTP/2, where the API server offers it: one connection carries all calls and watches.
    All,
    /// As [`Sharing::All`], for a few calls: the connection closes soon after the last one.
    AllBriefly,
}

/// Why connections to an API server cannot be made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No kubeconfig was found, and this does not run in a cluster.
    #[error("{}", missing(*.home))]
    NoKubeconfig {
        /// `~/.kube/config` was searched, too.
        home: bool,
    },
    /// A context was named, but there is no kubeconfig.
    #[error(
        "--context needs a kubeconfig, and none was found: name one by --kubeconfig FILE or in $KUBECONFIG"
    )]
    ContextWithoutKubeconfig,
    /// The kubeconfig lacks this context.
    #[error("the kubeconfig has no context {context:?}")]
    NoContext {
        /// The context that is missing.
        context: String,
        /// The contexts that it has.
        contexts: Vec<String>,
    },
    /// The kubeconfig has no current context, and none was named.
    #[error(
        "the kubeconfig has no current context: choose one by --context (it has: {})",
        .contexts.join(", ")
    )]
    NoCurrentContext {
        /// The contexts that it has.
        contexts: Vec<String>,
    },
    /// A file cannot be read, or is not a kubeconfig.
    #[error("{source_name}: {why}")]
    Kubeconfig {
        /// The file, after the flag that named it.
        source_name: String,
        /// The error.
        why: String,
    },
    /// The configuration cannot be used.
    #[error("{server}: {why}")]
    Unusable {
        /// The server's URL without secrets.
        server: String,
        /// The error, and what to do.
        why: String,
    },
}

// === impl Access ===

impl Access {
    /// The access of a server: short time limits, and no `~/.kube/config`.
    pub fn of_server(kubeconfig: Option<PathBuf>) -> Self {
        Self {
            kubeconfig,
            context: None,
            overrides: Overrides::default(),
            act_as: None,
            anonymous: false,
            home: false,
            timing: Timing::SERVER,
            sharing: Sharing::OneEach,
        }
    }

    /// The access of an agent to its hub: one connection, and longer time limits than a server's. A hub has many agents.
    pub fn of_agent(kubeconfig: Option<PathBuf>) -> Self {
        Self {
            timing: Timing::AGENT,
            sharing: Sharing::All,
            ..Self::of_server(kubeconfig)
        }
    }

    /// The access of an agent for its first calls, with a bootstrap kubeconfig.
    pub fn of_bootstrap(kubeconfig: Option<PathBuf>) -> Self {
        Self {
            sharing: Sharing::AllBriefly,
            ..Self::of_agent(kubeconfig)
        }
    }

    /// The access of a command.
    pub fn of_command(kubeconfig: Option<PathBuf>) -> Self {
        Self {
            home: true,
            timing: Timing::COMMAND,
            ..Self::of_server(kubeconfig)
        }
    }
}

// === impl Timing ===

impl Timing {
    /// A review has seconds: a silent peer is detected while it can still be answered over another connection.
    pub const SERVER: Self = Self {
        connect: Duration::from_secs(2),
        silence: Duration::from_secs(2),
    };

    /// A Lease has minutes. Behind a hub that has too much to do, an agent that gives up soon would add another handshake.
    pub const AGENT: Self = Self {
        connect: Duration::from_secs(10),
        silence: Duration::from_secs(15),
    };

    /// A user waits, perhaps behind a slow line.
    pub const COMMAND: Self = Self {
        connect: Duration::from_secs(30),
        silence: Duration::from_secs(30),
    };
}

fn missing(home: bool) -> &'static str {
    if home {
        "no kubeconfig: name the hub's by --kubeconfig FILE or in $KUBECONFIG (~/.kube/config is not there, and this does not \
         run in a cluster)"
    } else {
        "this does not run in a cluster: name the hub by --kubeconfig FILE or in $KUBECONFIG"
    }
}

/// The URL without its path and the parts that may be secret.
pub(crate) fn shown(url: &Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{}://{host}", url.scheme_str().unwrap_or("https"))
}
