//! The flags of `berth console --serve`.

use std::path::PathBuf;

use anyhow::bail;
use http::HeaderName;

use crate::entry::Headers;
use crate::guard::PublicUrl;

/// The port, unless a flag names another one.
pub(super) const PORT: u16 = 8443;

/// Flags of a console for many users.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "For many users, in a pod")]
pub(crate) struct PublicArgs {
    /// Serve many users on all addresses, over TLS, on port 8443. Each signs in with the hub's own means, and sees and does what the hub
    /// allows. The console has no permissions of its own. Sessions are kept in memory: after a restart users sign in again
    #[arg(long)]
    pub(super) serve: bool,
    /// The address by which browsers reach the console: the only one that it answers to
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://localhost:8443",
        requires = "serve"
    )]
    pub(super) public_url: PublicUrl,
    /// Folder with tls.crt and tls.key, which are reloaded [default: a self-signed certificate, in memory]
    #[arg(long, value_name = "DIR", requires = "serve")]
    pub(super) cert_dir: Option<PathBuf>,
    /// Serve plain HTTP, behind an ingress that ends TLS: who reads the network between the two reads sessions
    #[arg(long, requires = "serve", conflicts_with = "cert_dir")]
    pub(super) insecure_http: bool,
    /// Port of /healthz and /readyz; 0 for no port
    #[arg(long, value_name = "PORT", default_value = "8000", requires = "serve")]
    pub(super) health_port: u16,
    /// Port of /metrics; 0 for no port
    #[arg(long, value_name = "PORT", default_value = "8080", requires = "serve")]
    pub(super) metrics_port: u16,
    /// Sessions of all users; one more ends the one that was idle for longest. A user with an open page costs memory for what the page
    /// shows: about 30 MiB with 10,000 clusters, much less with fewer
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = sessions, requires = "serve")]
    pub(super) max_sessions: usize,
    /// Users cannot sign in with a pasted token, only by --oidc-issuer-url
    #[arg(long, requires = "oidc_issuer_url")]
    pub(super) without_tokens: bool,
    /// OpenID provider by which users sign in; the hub's API server must trust it, with the same client ID
    #[arg(long, value_name = "URL", value_parser = issuer, requires_all = ["serve", "oidc_client_id"])]
    pub(super) oidc_issuer_url: Option<String>,
    /// Client ID at the provider
    #[arg(long, value_name = "ID", requires = "oidc_issuer_url")]
    pub(super) oidc_client_id: Option<String>,
    /// File with the client's secret [default: a public client, which has none]
    #[arg(long, value_name = "FILE", requires = "oidc_issuer_url")]
    pub(super) oidc_client_secret_file: Option<PathBuf>,
    /// File with the CA of the provider, PEM [default: the authorities of the system]
    #[arg(long, value_name = "FILE", requires = "oidc_issuer_url")]
    pub(super) oidc_ca_file: Option<PathBuf>,
    /// Scope to ask for besides openid, such as email, groups or offline_access (repeatable)
    #[arg(long, value_name = "SCOPE", requires = "oidc_issuer_url")]
    pub(super) oidc_extra_scope: Vec<String>,
    /// File with the CA of an authenticating proxy, PEM: the proxy names the user, and the console impersonates it. Who controls the proxy
    /// or its key is every user
    #[arg(long, value_name = "FILE", requires_all = ["serve", "requestheader_allowed_names"], conflicts_with_all = ["oidc_issuer_url", "insecure_http"])]
    pub(super) requestheader_client_ca_file: Option<PathBuf>,
    /// Common names or DNS names of the proxy's certificate, separated by commas
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "requestheader_client_ca_file"
    )]
    pub(super) requestheader_allowed_names: Vec<String>,
    /// Headers with the user's name; the first one that is there counts
    #[arg(
        long,
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-User",
        requires = "requestheader_client_ca_file"
    )]
    pub(super) requestheader_username_headers: Vec<HeaderName>,
    /// Headers with a group of the user; the first one that is there counts, and may be there for each group
    #[arg(
        long,
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-Group",
        requires = "requestheader_client_ca_file"
    )]
    pub(super) requestheader_group_headers: Vec<HeaderName>,
    /// What separates several groups in one header, such as a comma [default: one header has one group]
    #[arg(long, value_name = "TEXT", requires = "requestheader_client_ca_file")]
    pub(super) requestheader_group_separator: Option<String>,
}

// === impl PublicArgs ===

impl PublicArgs {
    /// Returns true if many users are served.
    pub(crate) fn is_chosen(&self) -> bool {
        self.serve
    }

    pub(super) fn is_behind_a_proxy(&self) -> bool {
        self.requestheader_client_ca_file.is_some()
    }

    pub(super) fn headers(&self) -> Headers {
        Headers {
            user: self.requestheader_username_headers.clone(),
            groups: self.requestheader_group_headers.clone(),
            separator: self.requestheader_group_separator.clone(),
        }
    }

    /// # Errors
    /// The flags contradict each other, beyond what the parser finds.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let names = &self.requestheader_allowed_names;
        if self.is_behind_a_proxy() && names.iter().all(|it| it.trim().is_empty()) {
            bail!(
                "--requestheader-allowed-names: name the proxy: every certificate of the CA could be every user"
            );
        }
        if self.requestheader_group_separator.as_deref() == Some("") {
            bail!("--requestheader-group-separator must not be empty");
        }
        Ok(())
    }
}

fn sessions(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err("expected a number from 1 to 10000".to_owned()),
    }
}

fn issuer(text: &str) -> Result<String, String> {
    match text.strip_prefix("https://") {
        Some(rest) if !rest.is_empty() && !rest.contains(['?', '#', '@', ' ']) => {
            Ok(text.to_owned())
        }
        _ => Err(
            "expected an https URL without query, as the API server's --oidc-issuer-url".to_owned(),
        ),
    }
}
