//! The values of the console in a pod, and what contradicts itself among them. The chart refuses it in the same words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pods;

/// Hosts whose traffic does not leave the user's machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The console in a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Console {
    /// Install the console. Its account may do nothing: users sign in, and see and do what the hub allows them.
    pub enabled: bool,
    /// The address under which browsers reach the console, and the only one that it answers to. The default is for kubectl port-forward.
    #[schemars(regex(pattern = "^https?://[^/?#@ ]+/?$"))]
    pub public_url: String,
    /// Refuse all actions, whatever users may do.
    pub read_only: bool,
    /// Let users sign in with a token of the hub.
    pub tokens: bool,
    /// Secret in the namespace of the release, with tls.crt and tls.key for the host of publicUrl. The console loads a renewed one without
    /// a restart. Empty: a self-signed certificate, which is made at each start.
    pub tls_secret_name: String,
    /// Serve plain HTTP, behind an ingress that ends TLS. Whoever reads the network between the two reads sessions.
    pub insecure_http: bool,
    /// Sign-in at an OpenID provider that the hub's API server trusts.
    pub oidc: Oidc,
    /// Sign-in at an authenticating proxy, which names users to the console; the console impersonates them. Whoever controls the proxy, or
    /// its key, is every user (docs/console.md).
    pub impersonation: Impersonation,
    /// The pods of the console. At most one replica: sessions are in its memory.
    pub pods: Pods,
}

/// An OpenID provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Oidc {
    /// Address of the provider, exactly as the API server has it. Empty: no provider.
    #[schemars(regex(pattern = "^(https://[^?#@ ]+)?$"))]
    pub issuer_url: String,
    /// Client ID at the provider, which is an audience that the API server accepts.
    pub client_id: String,
    /// Secret in the namespace of the release, with the client's secret as client-secret. Empty: a public client.
    pub client_secret_name: String,
    /// ConfigMap in the namespace of the release, with the CA of the provider as ca.crt. Empty: the authorities of the image.
    pub ca_config_map: String,
    /// Scopes to ask for besides openid, such as email, groups or offline_access.
    pub extra_scopes: Vec<String>,
}

/// An authenticating proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Impersonation {
    /// Serve only the proxy, and impersonate the users that it names. The console's account may then act as any user in any groups.
    pub enabled: bool,
    /// Secret in the namespace of the release, with the CA of the proxy's client certificate as ca.crt. The pod gets no other key of it.
    pub client_ca_secret: String,
    /// Common names or DNS names in the proxy's client certificate.
    #[schemars(inner(regex(pattern = "^[^,]*[^, ][^,]*$")))]
    pub allowed_names: Vec<String>,
    /// Headers with the name of the user. The first one in a request counts.
    #[schemars(inner(regex(pattern = "^[A-Za-z0-9_-]+$")))]
    pub username_headers: Vec<String>,
    /// Headers with the groups of the user. The first one in a request counts.
    #[schemars(inner(regex(pattern = "^[A-Za-z0-9_-]+$")))]
    pub group_headers: Vec<String>,
    /// What separates several groups in one header, such as a comma. Empty: a header has one group, and may be there for each.
    pub group_separator: String,
    /// The users that the console may impersonate. Empty: all.
    pub users: Vec<String>,
    /// The groups that the console may impersonate. Empty: all, also system:masters.
    pub groups: Vec<String>,
}

impl Default for Console {
    fn default() -> Self {
        Self {
            enabled: false,
            public_url: "https://localhost:8443".to_owned(),
            read_only: false,
            tokens: true,
            tls_secret_name: String::new(),
            insecure_http: false,
            oidc: Oidc::default(),
            impersonation: Impersonation::default(),
            pods: Pods::default(),
        }
    }
}

impl Default for Impersonation {
    fn default() -> Self {
        Self {
            enabled: false,
            client_ca_secret: String::new(),
            allowed_names: Vec::new(),
            username_headers: vec!["X-Remote-User".to_owned()],
            group_headers: vec!["X-Remote-Group".to_owned()],
            group_separator: String::new(),
            users: Vec::new(),
            groups: Vec::new(),
        }
    }
}

// === impl Console ===

impl Console {
    /// Returns the port on the user's machine if the public address is one of that machine: `kubectl port-forward` leads to it. `None` for
    /// an address of an ingress or a load balancer.
    pub fn local_port(&self) -> Option<u16> {
        let (scheme, authority) = parsed(&self.public_url)?;
        let port = local(authority)?;
        match (port, scheme) {
            ("", "https") => Some(443),
            ("", _) => Some(80),
            (port, _) => port.parse().ok(),
        }
    }

    /// Returns what contradicts itself, each with the remedy; nothing if the console is not installed.
    pub(super) fn contradictions(&self) -> Vec<String> {
        if !self.enabled {
            return Vec::new();
        }
        let mut all = self.contradictions_of_the_address();
        all.extend(self.oidc.contradictions());
        all.extend(self.impersonation.contradictions());
        let has_a_provider = self.oidc != Oidc::default();
        if self.impersonation.enabled {
            for (contradicts, why) in [
                (
                    self.tokens,
                    "console.impersonation names every user, so nobody signs in with a token: set console.tokens to false",
                ),
                (
                    has_a_provider,
                    "console.impersonation and console.oidc both name users: remove one of them",
                ),
                (
                    self.insecure_http,
                    "console.impersonation needs the certificate of the proxy, and console.insecureHttp has no TLS: remove one of them",
                ),
            ] {
                all.extend(contradicts.then(|| why.to_owned()));
            }
        } else if !self.tokens && !has_a_provider {
            all.push(
                "console.tokens is false, and there is no other way to sign in: set it to true, or set console.oidc or \
                 console.impersonation"
                    .to_owned(),
            );
        }
        if let Some(replicas) = self.pods.replicas.filter(|it| *it > 1) {
            all.push(format!(
                "console.pods.replicas is {replicas}, and sessions are in the memory of one process: set it to 1, or to 0 to stop the console"
            ));
        }
        all
    }

    fn contradictions_of_the_address(&self) -> Vec<String> {
        let mut all = Vec::new();
        let url = &self.public_url;
        match parsed(url) {
            None => all.push(format!(
                "console.publicUrl {url:?} is not https:// with a host, and a port if it is not 443, such as https://console.example.com"
            )),
            Some(("http", authority)) if local(authority).is_none() => all.push(format!(
                "console.publicUrl {url}: who reads the network would read sessions: it has to begin with https:// unless its host is localhost"
            )),
            Some(_) => {}
        }
        if self.insecure_http && !self.tls_secret_name.is_empty() {
            all.push(
                "console.insecureHttp has no TLS, and console.tlsSecretName is for TLS: remove one of them"
                    .to_owned(),
            );
        }
        all
    }
}

/// The scheme and the authority of an address without a path.
fn parsed(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let is_one = !authority.is_empty() && !authority.contains(['/', '?', '#', '@', ' ']);
    (is_one && ["http", "https"].contains(&scheme)).then_some((scheme, authority))
}

/// The port of an authority of the user's machine, empty if it names none.
fn local(authority: &str) -> Option<&str> {
    let rest = LOCAL.iter().find_map(|host| authority.strip_prefix(host))?;
    match rest {
        "" => Some(""),
        rest => rest.strip_prefix(':'),
    }
}

// === impl Oidc ===

impl Oidc {
    fn contradictions(&self) -> Vec<String> {
        let mut all = Vec::new();
        let url = &self.issuer_url;
        if url.is_empty() {
            all.extend(self.first_set().map(|name| {
                format!(
                    "console.oidc.{name} is of a provider, and console.oidc.issuerUrl is missing: set it, or remove {name}"
                )
            }));
            return all;
        }
        let host = url.strip_prefix("https://");
        if host.is_none_or(|it| it.is_empty() || it.contains(['?', '#', '@', ' '])) {
            all.push(format!(
                "console.oidc.issuerUrl {url:?} is not an https:// address, as the API server has it"
            ));
        }
        if self.client_id.is_empty() {
            all.push(
                "console.oidc.clientId is missing: the client ID at the provider, which is an audience that the API server accepts"
                    .to_owned(),
            );
        }
        all
    }

    /// Returns the name of the first value that is set, besides the provider's address.
    fn first_set(&self) -> Option<&'static str> {
        [
            ("caConfigMap", !self.ca_config_map.is_empty()),
            ("clientId", !self.client_id.is_empty()),
            ("clientSecretName", !self.client_secret_name.is_empty()),
            ("extraScopes", !self.extra_scopes.is_empty()),
        ]
        .into_iter()
        .find_map(|(name, is_set)| is_set.then_some(name))
    }
}

// === impl Impersonation ===

impl Impersonation {
    fn contradictions(&self) -> Vec<String> {
        if !self.enabled {
            let set = [
                ("allowedNames", !self.allowed_names.is_empty()),
                ("clientCaSecret", !self.client_ca_secret.is_empty()),
                ("groupSeparator", !self.group_separator.is_empty()),
                ("groups", !self.groups.is_empty()),
                ("users", !self.users.is_empty()),
            ];
            let set = set.into_iter().filter(|(_, is_set)| *is_set).take(1);
            let why = |name: &str| {
                format!(
                    "console.impersonation.{name} is of a proxy, and console.impersonation.enabled is false: set it to true, or remove {name}"
                )
            };
            return set.map(|(name, _)| why(name)).collect();
        }
        let is_name = |it: &String| !it.trim().is_empty() && !it.contains(',');
        let is_header = |it: &String| {
            !it.is_empty()
                && it
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
        };
        let missing = |names: &[String], is: &dyn Fn(&String) -> bool| {
            names.is_empty() || !names.iter().all(is)
        };
        [
            (
                self.client_ca_secret.is_empty(),
                "clientCaSecret is missing: the Secret with the CA of the proxy's client certificate, as ca.crt",
            ),
            (
                missing(&self.allowed_names, &is_name),
                "allowedNames is missing: the names in the proxy's certificate; without them every certificate of the CA would be every user",
            ),
            (
                missing(&self.username_headers, &is_header),
                "usernameHeaders is missing: the headers in which the proxy names the user",
            ),
            (
                missing(&self.group_headers, &is_header),
                "groupHeaders is missing: the headers in which the proxy names the groups",
            ),
        ]
        .into_iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, why)| format!("console.impersonation.{why}"))
        .collect()
    }
}
