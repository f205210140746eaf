//! The hub that a cluster joins: verified first, then asked whether the token may register a cluster.

use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_api::{ManagedCluster, groups};
use berth_certs::managed::Root;
use berth_certs::served::Bundle;
use http::Uri;
use serde_json::{Value, json};

use super::authority::{self, ClusterInfo, keys_of};
use super::kubeconfig::Bootstrap;
use super::token::Token;
use crate::accept::fingerprint::Fingerprint;
use crate::failure::CommandError;
use crate::hub::{HubConnection, Wait};

/// How a user names a hub.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub(super) url: &'a str,
    pub(super) token: &'a Token,
    pub(super) ca_file: Option<&'a Path>,
    pub(super) ca_data: Option<&'a str>,
    pub(super) ca_hash: &'a [Fingerprint],
    pub(super) proxy: Option<&'a str>,
    /// The CA of an HTTPS proxy.
    pub(super) proxy_ca: Option<&'a Path>,
    /// The agent uses the address in the hub's `cluster-info`.
    pub(super) internal: bool,
    pub(super) wait: Option<Wait>,
}

/// A hub whose certificate is verified.
pub(super) struct VerifiedHub {
    pub(super) connection: HubConnection,
    /// The kubeconfig for the agent.
    pub(super) kubeconfig: Value,
    /// How it was verified, for a message.
    pub(super) by: String,
}

/// The CA of a hub.
struct Trust {
    /// PEM; None: the CAs of this machine.
    pem: Option<String>,
    by: String,
}

/// Checks the URL of a hub, and returns it without a slash at its end.
pub(crate) fn checked_url(text: &str) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("{why}; expected https://HOST[:PORT]"));
    let Ok(url) = text.trim().parse::<Uri>() else {
        return wrong("not a URL");
    };
    match (url.scheme_str(), url.authority()) {
        (Some("https"), Some(authority)) if !authority.as_str().contains('@') => {}
        (Some("https"), Some(_)) => return wrong("the URL contains a user"),
        (Some("http"), _) => return wrong("without TLS the hub cannot be verified"),
        _ => return wrong("not an https URL"),
    }
    if url.query().is_some() {
        return wrong("the URL contains a query");
    }
    Ok(text.trim().trim_end_matches('/').to_owned())
}

/// Verifies the hub, and connects to it. The token is sent only over a connection that was verified.
///
/// # Errors
/// The hub cannot be verified or reached.
pub(super) async fn verified(named: &Named<'_>) -> Result<VerifiedHub, CommandError> {
    let Trust { mut pem, by } = trust(named).await?;
    if let Some(path) = named.proxy_ca {
        let proxy = certificates(path, "--proxy-ca-file")?;
        pem = Some(pem.unwrap_or_default() + &proxy);
    }
    let mut bootstrap = Bootstrap {
        server: named.url,
        authorities: pem.as_deref(),
        token: Some(named.token),
        proxy: named.proxy,
    };
    let connection =
        HubConnection::of_kubeconfig(&bootstrap.kubeconfig(), "--hub-apiserver", named.wait)
            .await?;
    if let Err(failure) = connection.answers().await {
        return Err(not_verified(named, &by, failure).await);
    }
    let internal;
    if named.internal {
        let info = ClusterInfo::read(&connection).await?;
        let server = info.server.as_deref().ok_or("no server".to_owned());
        let server =
            server.and_then(|it| checked_url(it).map_err(|why| format!("server {it:?}: {why}")));
        internal = server.map_err(|why| {
            CommandError::Refused(format!(
                "ConfigMap kube-public/cluster-info of the hub names {why}: omit --force-internal-endpoint-lookup"
            ))
        })?;
        bootstrap.server = &internal;
    }
    Ok(VerifiedHub {
        kubeconfig: bootstrap.kubeconfig(),
        connection,
        by,
    })
}

/// Finds the CA of the hub.
async fn trust(named: &Named<'_>) -> Result<Trust, CommandError> {
    let by_pem = |pem: String, by: String| Trust { pem: Some(pem), by };
    if let Some(path) = named.ca_file {
        let pem = certificates(path, "--ca-file")?;
        return Ok(by_pem(pem, format!("the CA in {}", path.display())));
    }
    if let Some(data) = named.ca_data {
        let wrong = |why: &str| CommandError::Config(format!("--ca-data: {why}"));
        let pem = BASE64_STANDARD.decode(data.trim());
        let pem = pem.map_err(|_| wrong("not base64"))?;
        let pem = checked(&pem).map_err(|why| wrong(&why))?;
        return Ok(by_pem(pem, "the CA in --ca-data".to_owned()));
    }
    let pem_of = |roots: &[Root]| roots.iter().map(Root::pem).collect::<String>();
    if !named.ca_hash.is_empty() {
        let offer = authority::offered(named.url, named.proxy, named.wait).await;
        let roots = offer.with_keys(named.url, named.ca_hash)?;
        return Ok(by_pem(
            pem_of(&roots),
            format!("its CA with the key {}", keys_of(&roots)),
        ));
    }
    if let Some(token) = named.token.as_bootstrap() {
        let offer = authority::offered(named.url, named.proxy, named.wait).await;
        if let Some(roots) = offer.signed_by(token) {
            let by = "its ConfigMap kube-public/cluster-info, which the token signed".to_owned();
            return Ok(by_pem(pem_of(&roots), by));
        }
    }
    Ok(Trust {
        pem: None,
        by: "the CAs of this machine".to_owned(),
    })
}

/// Reads the certificates in a file.
fn certificates(path: &Path, flag: &str) -> Result<String, CommandError> {
    let wrong = |why: String| CommandError::Config(format!("{flag} {}: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    checked(&pem).map_err(wrong)
}

/// Returns the certificates of a PEM text, without anything else that it contains.
fn checked(pem: &[u8]) -> Result<String, String> {
    Bundle::from_pem(pem).map_err(|problem| problem.to_string())?;
    Ok(Root::all_in(pem).iter().map(Root::pem).collect())
}

/// Explains why the first request failed: the certificate, the token, or the connection.
async fn not_verified(named: &Named<'_>, by: &str, failure: CommandError) -> CommandError {
    let url = named.url;
    match &failure {
        CommandError::Unreachable { why, .. } if why.contains(CERTIFICATE_REFUSED) => {
            let remedy = remedy(named, why).await;
            CommandError::Refused(format!(
                "the hub at {url} cannot be verified by {by}, so the token was not sent: {why}; {remedy}"
            ))
        }
        CommandError::Api(status) if status.code == 401 => CommandError::Refused(format!(
            "the hub at {url} does not accept the token: it has expired, was revoked, or is for another hub; 'berth get token' on the hub \
             prints a new one"
        )),
        _ => failure,
    }
}

/// rustls' words for a certificate that it does not accept.
const CERTIFICATE_REFUSED: &str = "invalid peer certificate";

/// Returns what to do about a certificate that was not accepted.
async fn remedy(named: &Named<'_>, why: &str) -> String {
    if why.contains("not valid for name") {
        return "use an --hub-apiserver that the certificate names".to_owned();
    }
    if named.ca_file.is_some() || named.ca_data.is_some() || !named.ca_hash.is_empty() {
        return "pass the CA of this hub: 'berth get token' on the hub prints it".to_owned();
    }
    let offer = authority::offered(named.url, named.proxy, named.wait).await;
    let keys = offer.keys();
    let seen = match named.token.as_bootstrap() {
        _ if keys.is_empty() => String::new(),
        None => format!(
            " (the server at this address claims --ca-hash {keys}: use it only if the hub's admin confirms it)"
        ),
        Some(_) => format!(
            " (the server at this address claims --ca-hash {keys}, but did not sign that with the token: use it only if the hub's admin \
             confirms it)"
        ),
    };
    format!(
        "name its CA by --ca-file or --ca-hash, which 'berth get token' on the hub prints{seen}"
    )
}

// === impl VerifiedHub ===

impl VerifiedHub {
    /// Checks that the token may register a cluster.
    ///
    /// # Errors
    /// It may not, or the hub does not answer.
    pub(super) async fn check_rights(&self) -> Result<(), CommandError> {
        let missing = missing_rights(&self.connection).await?;
        if missing.is_empty() {
            return Ok(());
        }
        Err(CommandError::Refused(format!(
            "the token may not register a cluster: it needs {}; on the hub: kubectl apply -k manifests/bootstrap, and 'berth get token'",
            missing.join(", ")
        )))
    }

    /// Checks that the cluster can have this name. Returns a note about a ManagedCluster that already exists.
    ///
    /// # Errors
    /// The ManagedCluster is being deleted.
    pub(super) async fn check_name(&self, name: &str) -> Result<Option<String>, CommandError> {
        let found = match self
            .connection
            .get_value::<ManagedCluster>(None, name)
            .await
        {
            Ok(found) => found,
            Err(failure) if failure.is_forbidden() => None,
            Err(failure) => return Err(failure),
        };
        let Some(cluster) = found else {
            return Ok(None);
        };
        if !cluster["metadata"]["deletionTimestamp"].is_null() {
            return Err(CommandError::Refused(format!(
                "managed cluster {name} is being deleted on the hub: wait until it is gone, or use another --cluster-name"
            )));
        }
        let accepted = match cluster["spec"]["hubAcceptsClient"].as_bool() {
            Some(true) => "is already accepted",
            _ => "already waits to be accepted",
        };
        Ok(Some(format!(
            "Note: managed cluster {name} exists on the hub and {accepted}; if that is another cluster, use another --cluster-name"
        )))
    }
}

/// Returns the permissions that the user of this connection lacks to register a cluster.
pub(crate) async fn missing_rights(hub: &HubConnection) -> Result<Vec<String>, CommandError> {
    let mut missing = Vec::new();
    for (verb, group, resource) in [
        ("create", groups::CLUSTER, groups::MANAGED_CLUSTERS),
        ("create", groups::CERTIFICATES, "certificatesigningrequests"),
        ("get", groups::CERTIFICATES, "certificatesigningrequests"),
    ] {
        let attributes = json!({"verb": verb, "group": group, "resource": resource});
        if hub.review_self(&attributes).await?["allowed"] != true {
            missing.push(format!("{verb} on {resource}.{group}"));
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_hub_is_an_https_url() {
        for (text, expected) in [
            ("https://hub:6443", Ok("https://hub:6443")),
            (
                "https://hub/k8s/clusters/c1/",
                Ok("https://hub/k8s/clusters/c1"),
            ),
            ("https://[::1]:6443/", Ok("https://[::1]:6443")),
            ("http://hub", Err("without TLS")),
            ("hub:6443", Err("not an https URL")),
            ("https://me:secret@hub", Err("contains a user")),
            ("https://hub?a=b", Err("contains a query")),
            ("", Err("not a URL")),
        ] {
            match (checked_url(text), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url, expected),
                (Err(why), Err(words)) => assert!(why.contains(words), "{text}: {why}"),
                (other, _) => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn only_certificates_of_a_file_are_used() {
        let authority = berth_certs::issue::Authority::new(
            "hub",
            Duration::from_secs(3600),
            jiff::Timestamp::now(),
        );
        let authority = authority.unwrap();
        let pem = authority.certificate_pem();
        let text = format!("# the hub\n{pem}");
        assert_eq!(checked(text.as_bytes()).unwrap(), pem);
        assert!(checked(b"none").unwrap_err().contains("no PEM certificate"));
        let cut = &pem.as_bytes()[..pem.len() - 40];
        assert!(checked(cut).is_err());
        let path = PathBuf::from("/nowhere/ca.crt");
        let failure = certificates(&path, "--ca-file").unwrap_err().to_string();
        assert!(
            failure.starts_with("--ca-file /nowhere/ca.crt: "),
            "{failure}"
        );
    }
}
