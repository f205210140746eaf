//! The values of a kubeconfig, read as kubectl reads them and checked before a library uses them.
//!
//! kube, hyper and http panic on some values that YAML allows, such as a server without a scheme or a token with a line end.

use std::fmt;
use std::path::{Path, PathBuf};

use http::{HeaderValue, Uri};
use kube::Config;
use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};
use rustls::pki_types::ServerName;
use serde_json::Value;

use crate::error::causes;

/// Upper bound on the bytes of a URL. The path of a request is added to it, and http refuses URLs of 64 KiB.
const LONGEST_URL: usize = 2048;

/// A field of a kubeconfig whose value cannot be used, and why. Its text has no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    field: String,
    why: String,
}

// === impl Fault ===

impl Fault {
    pub(crate) fn new(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            why: why.into(),
        }
    }

    /// The field that kube's error is about. `None`: not about a single field.
    pub(crate) fn of(error: &KubeconfigError) -> Option<Self> {
        let field = match error {
            KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => "server",
            KubeconfigError::ParseProxyUrl(_) => "proxy-url, or else HTTPS_PROXY",
            KubeconfigError::ParseNoProxy(_) => "NO_PROXY",
            KubeconfigError::LoadCertificateAuthority(_)
            | KubeconfigError::ParseCertificates(_) => "certificate-authority",
            KubeconfigError::LoadClientCertificate(_) => "client-certificate",
            KubeconfigError::LoadClientKey(_) => "client-key",
            _ => return None,
        };
        Some(Self::new(field, causes(error)))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// Removes empty values, which count as missing, and line ends in base64. `folder`: that of the file, to which kube has made
/// paths absolute, the empty ones too.
pub(crate) fn tidy(kubeconfig: &mut Kubeconfig, folder: Option<&Path>) {
    let text = |value: &mut Option<String>| drop(value.take_if(|it| it.is_empty()));
    let base64 = |value: &mut Option<String>| {
        if let Some(value) = value {
            value.retain(|c| !matches!(c, '\r' | '\n'));
        }
        text(value);
    };
    let file = |value: &mut Option<String>| {
        let is_folder = |it: &str| folder.is_some_and(|at| Path::new(it) == at);
        drop(value.take_if(|it| it.is_empty() || is_folder(it)));
    };
    text(&mut kubeconfig.current_context);
    for context in kubeconfig
        .contexts
        .iter_mut()
        .flat_map(|it| &mut it.context)
    {
        text(&mut context.namespace);
    }
    for cluster in kubeconfig
        .clusters
        .iter_mut()
        .flat_map(|it| &mut it.cluster)
    {
        let Cluster {
            server,
            certificate_authority,
            certificate_authority_data,
            proxy_url,
            tls_server_name,
            ..
        } = cluster;
        for value in [server, proxy_url, tls_server_name] {
            text(value);
        }
        file(certificate_authority);
        base64(certificate_authority_data);
    }
    for user in kubeconfig
        .auth_infos
        .iter_mut()
        .flat_map(|it| &mut it.auth_info)
    {
        let key = secret(user, "client-key-data");
        if let Some(key) = key {
            let key: String = key.split(['\r', '\n']).collect();
            user.client_key_data = (!key.is_empty()).then(|| key.into());
        }
        if secret(user, "token").is_some_and(|it| it.is_empty()) {
            user.token = None;
        }
        base64(&mut user.client_certificate_data);
        for value in [
            &mut user.username,
            &mut user.impersonate,
            &mut user.impersonate_uid,
        ] {
            text(value);
        }
        for value in [
            &mut user.client_certificate,
            &mut user.client_key,
            &mut user.token_file,
        ] {
            file(value);
        }
        // kube sends no name without a password.
        if user.username.is_some() && user.password.is_none() {
            user.password = Some(String::new().into());
        }
    }
}

/// Forgets the credentials of a user whose server has no TLS: as kubectl, which sends them to no such server. Impersonation stays.
pub(crate) fn forget_unprotected(config: &mut Config) {
    if config.cluster_url.scheme_str() == Some("http") {
        let user = std::mem::take(&mut config.auth_info);
        config.auth_info = AuthInfo {
            impersonate: user.impersonate,
            impersonate_uid: user.impersonate_uid,
            impersonate_groups: user.impersonate_groups,
            impersonate_user_extra: user.impersonate_user_extra,
            ..AuthInfo::default()
        };
    }
}

/// Reads the token file in place of kube, which keeps its line end. Returns the file: its content is compared with that of the
/// other files. It wins over `token`, if it can be read.
///
/// # Errors
/// The file cannot be read or has no token, and `token` is missing.
pub(crate) fn take_token(user: &mut AuthInfo) -> Result<Option<PathBuf>, Fault> {
    let Some(file) = user.token_file.take().map(PathBuf::from) else {
        return Ok(None);
    };
    let read = std::fs::read_to_string(&file).map_err(|error| error.to_string());
    let token = read.and_then(|text| match text.trim() {
        "" => Err("it is empty".to_owned()),
        token => Ok(token.to_owned()),
    });
    let fault = |why: &str| Fault::new("tokenFile", format!("{}: {why}", file.display()));
    match token {
        Ok(token) if bearer(&token).is_none() => Err(fault(NO_HEADER)),
        Ok(token) => {
            user.token = Some(token.into());
            Ok(Some(file))
        }
        Err(_) if user.token.is_some() => Ok(Some(file)),
        Err(why) => Err(fault(&why)),
    }
}

const NO_HEADER: &str = "its value has a line end or another control character, which no HTTP header can have: remove it";

/// Checks each value that a request or a connection is made of.
///
/// # Errors
/// The first field whose value cannot be used.
pub(crate) fn check(config: &Config) -> Result<(), Fault> {
    url(&config.cluster_url, false).map_err(|why| Fault::new("server", why))?;
    if let Some(proxy) = &config.proxy_url
        && proxy.scheme().is_some()
    {
        url(proxy, true).map_err(|why| Fault::new("proxy-url, or else HTTPS_PROXY", why))?;
    }
    if let Some(name) = &config.tls_server_name {
        ServerName::try_from(name.as_str())
            .map_err(|_| Fault::new("tls-server-name", format!("{name:?} is not a host name")))?;
    }
    let user = &config.auth_info;
    let header = |field: &str, value: &str| match bearer(value) {
        Some(_) => Ok(()),
        None => Err(Fault::new(field, NO_HEADER)),
    };
    if let Some(token) = secret(user, "token") {
        header("token", &token)?;
    }
    header("as", user.impersonate.as_deref().unwrap_or_default())?;
    header(
        "as-uid",
        user.impersonate_uid.as_deref().unwrap_or_default(),
    )?;
    for group in user.impersonate_groups.iter().flatten() {
        header("as-groups", group)?;
    }
    for value in user
        .impersonate_user_extra
        .iter()
        .flatten()
        .flat_map(|it| it.1)
    {
        header("as-user-extra", value)?;
    }
    for name in ["id-token", "access-token"] {
        let provider = user.auth_provider.as_ref();
        if let Some(token) = provider.and_then(|it| it.config.get(name)) {
            header(&format!("auth-provider.config.{name}"), token)?;
        }
    }
    Ok(())
}

fn bearer(token: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {token}")).ok()
}

/// Checks a URL. `is_proxy`: its scheme is checked where it is used.
fn url(url: &Uri, is_proxy: bool) -> Result<(), String> {
    let authority = url.authority().map_or("", |it| it.as_str());
    let host = authority.rsplit('@').next().unwrap_or_default();
    match url.scheme_str() {
        Some("http" | "https") => {}
        _ if is_proxy => {}
        Some(scheme) => {
            return Err(format!(
                "scheme {scheme:?} is not supported: write https://"
            ));
        }
        None if host.is_empty() => {
            return Err(
                "no URL: write one with scheme and host, such as https://hub.example.com:6443"
                    .to_owned(),
            );
        }
        None => return Err(format!("{host:?} has no scheme: write https://{host}")),
    }
    // The colons of an IPv6 address are in brackets.
    let (_, after) = host.rsplit_once(']').unwrap_or(("", host));
    let port = after.split_once(':').map_or("", |(_, port)| port);
    let name = host
        .strip_suffix(port)
        .unwrap_or(host)
        .trim_end_matches(':');
    if name.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err(format!("port {port:?} is not a number up to 65535"));
    }
    let length = url.path().len() + authority.len();
    if length > LONGEST_URL {
        return Err(format!(
            "the URL has {length} bytes, more than {LONGEST_URL}"
        ));
    }
    Ok(())
}

/// A secret value of the user. Only serde can read it.
pub(crate) fn secret(user: &AuthInfo, field: &str) -> Option<String> {
    match serde_json::to_value(user).ok()?.get_mut(field)?.take() {
        Value::String(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
