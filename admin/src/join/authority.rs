//! Finds out the CA of a hub before the hub is trusted.
//!
//! A server that is not verified yet is asked for its CA without credentials: it shows certificates in the TLS handshake, and has
//! a ConfigMap that clients without credentials may read (`kube-public/cluster-info`). Nothing of this is believed unless the user
//! named the key of the CA ([`Offer::with_keys`]), or the ConfigMap is signed with the user's bootstrap token
//! ([`Offer::signed_by`]).

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::managed::Root;
use berth_certs::served;
use http::Uri;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::kubeconfig::Bootstrap;
use super::signature::{self, KEY_PREFIX};
use super::token::BootstrapToken;
use crate::accept::fingerprint::Fingerprint;
use crate::failure::CommandError;
use crate::hub::{HubConnection, Wait};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What a server that is not verified offers as its CA.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The certificates of the handshake.
    shown: Vec<Root>,
    /// The ConfigMap, or why it cannot be read.
    info: Option<Result<ClusterInfo, String>>,
}

/// The ConfigMap `kube-public/cluster-info`.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterInfo {
    /// The URL of the API server as its own cluster reaches it.
    pub(crate) server: Option<String>,
    roots: Vec<Root>,
    /// The kubeconfig, of which the two above were read.
    text: String,
    /// The signatures: the id of a token, and the signature.
    signatures: Vec<(String, String)>,
}

/// Asks a server for its CA, without credentials. What cannot be found out is left out.
pub(crate) async fn offered(url: &str, proxy: Option<&str>, wait: Option<Wait>) -> Offer {
    let shown = match proxy {
        None => shown(url).await,
        Some(_) => Vec::new(),
    };
    let unverified = Bootstrap {
        server: url,
        authorities: None,
        token: None,
        proxy,
    };
    let info = async {
        let hub =
            HubConnection::of_kubeconfig(&unverified.unverified(), "--hub-apiserver", wait).await?;
        ClusterInfo::read(&hub).await
    };
    Offer {
        shown,
        info: Some(info.await.map_err(|failure| failure.to_string())),
    }
}

/// Returns the certificates that a server shows in a TLS handshake, or none.
async fn shown(url: &str) -> Vec<Root> {
    let Ok(uri) = url.parse::<Uri>() else {
        return Vec::new();
    };
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(443);
    let handshake = async {
        let stream = TcpStream::connect((host, port)).await.ok()?;
        served::seen_at(stream, host).await.ok()
    };
    let chain = timeout(HANDSHAKE, handshake).await.ok().flatten();
    chain.map_or_else(Vec::new, |chain| Root::all_in(chain.pem().as_bytes()))
}

// === impl Offer ===

impl Offer {
    /// Returns the certificates with one of these keys.
    ///
    /// # Errors
    /// No certificate has one of these keys.
    pub(crate) fn with_keys(
        &self,
        url: &str,
        keys: &[Fingerprint],
    ) -> Result<Vec<Root>, CommandError> {
        let offered = || self.shown.iter().chain(self.roots());
        let mut named: Vec<Root> = Vec::new();
        for root in offered().filter(|root| keys.contains(&Fingerprint::of_root(root))) {
            if !named.contains(root) {
                named.push(root.clone());
            }
        }
        if !named.is_empty() {
            return Ok(named);
        }
        let why = match &self.info {
            Some(Err(why)) => format!(
                "clients without credentials cannot read its ConfigMap kube-public/cluster-info ({why}), and it does not show its CA in \
                 the TLS handshake"
            ),
            _ => format!("its CA has the key {}", keys_of(self.roots())),
        };
        Err(CommandError::Refused(format!(
            "the hub at {url} cannot be verified by --ca-hash: {why}; check the hash, or pass the CA itself: --ca-file FILE"
        )))
    }

    /// Returns the certificates in the ConfigMap, if this token signed it.
    pub(crate) fn signed_by(&self, token: BootstrapToken<'_>) -> Option<Vec<Root>> {
        let Some(Ok(info)) = &self.info else {
            return None;
        };
        let mut signatures = info.signatures.iter();
        let (_, by_token) = signatures.find(|(id, _)| id == token.id)?;
        let is_signed = signature::is_signed(&info.text, by_token, token) && !info.roots.is_empty();
        is_signed.then(|| info.roots.clone())
    }

    /// Returns the keys in the ConfigMap, for messages; empty if it cannot be read.
    pub(crate) fn keys(&self) -> String {
        keys_of(self.roots())
    }

    fn roots(&self) -> &[Root] {
        match &self.info {
            Some(Ok(info)) => &info.roots,
            _ => &[],
        }
    }
}

/// Returns the keys of these certificates, separated by commas, as `--ca-hash` takes them.
pub(crate) fn keys_of(roots: &[Root]) -> String {
    let mut keys: Vec<String> = Vec::new();
    for root in roots {
        let key = Fingerprint::of_root(root).to_string();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.join(",")
}

// === impl ClusterInfo ===

impl ClusterInfo {
    /// Reads it.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub(crate) async fn read(hub: &HubConnection) -> Result<Self, CommandError> {
        let found = hub
            .get_value::<ConfigMap>(Some("kube-public"), "cluster-info")
            .await?;
        let found = found.ok_or_else(|| {
            let message =
                "configmaps \"cluster-info\" not found in namespace kube-public".to_owned();
            CommandError::NotFound {
                message,
                near: String::new(),
            }
        })?;
        Self::of(&found["data"]).ok_or_else(|| {
            let why = "ConfigMap kube-public/cluster-info holds no kubeconfig";
            CommandError::Unreadable(why.to_owned())
        })
    }

    fn of(data: &Value) -> Option<Self> {
        let text = data["kubeconfig"].as_str()?;
        let kubeconfig: Value = serde_saphyr::from_str(text).ok()?;
        let cluster = &kubeconfig["clusters"][0]["cluster"];
        let authority = cluster["certificate-authority-data"].as_str();
        let pem = authority.and_then(|text| BASE64_STANDARD.decode(text.trim()).ok());
        let signatures = data.as_object()?.iter().filter_map(|(key, value)| {
            let id = key.strip_prefix(KEY_PREFIX)?;
            Some((id.to_owned(), value.as_str()?.to_owned()))
        });
        Some(Self {
            server: cluster["server"].as_str().map(str::to_owned),
            roots: pem.map_or_else(Vec::new, |pem| Root::all_in(&pem)),
            text: text.to_owned(),
            signatures: signatures.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use berth_certs::issue::Authority;
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::token::Token;
    use super::*;

    fn authority() -> Authority {
        Authority::new("hub", Duration::from_secs(3600), Timestamp::now()).unwrap()
    }

    fn info(authority: &Authority, token: Option<&Token>) -> Offer {
        let data = BASE64_STANDARD.encode(authority.certificate_pem());
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: ''\n  cluster:\n    server: https://internal:6443\n    certificate-authority-data: {data}\n"
        );
        let mut map = json!({"kubeconfig": kubeconfig});
        if let Some(token) = token {
            let token = token.as_bootstrap().unwrap();
            let key = format!("{KEY_PREFIX}{}", token.id);
            map[key] = json!(signature::sign(&kubeconfig, token));
        }
        Offer {
            shown: Vec::new(),
            info: Some(Ok(ClusterInfo::of(&map).unwrap())),
        }
    }

    #[test]
    fn only_a_ca_whose_key_was_named_is_believed() {
        let [ours, other] = [authority(), authority()];
        let key = Fingerprint::of_root(&Root::of(&ours).unwrap());
        let found = info(&ours, None).with_keys("https://hub", &[key]).unwrap();
        assert_eq!(found, [Root::of(&ours).unwrap()]);
        let refused = info(&other, None).with_keys("https://hub", &[key]);
        let refused = refused.unwrap_err().to_string();
        let seen = info(&other, None).keys();
        assert!(
            refused.contains(&format!("its CA has the key {seen}; check the hash")),
            "{refused}"
        );
        let away = Offer {
            info: Some(Err("Unauthorized".to_owned())),
            ..Offer::default()
        };
        let refused = away
            .with_keys("https://hub", &[key])
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("cannot read its ConfigMap kube-public/cluster-info (Unauthorized)"),
            "{refused}"
        );
        let shown = Offer {
            shown: vec![Root::of(&ours).unwrap()],
            ..away
        };
        assert_eq!(shown.with_keys("https://hub", &[key]).unwrap().len(), 1);
    }

    #[test]
    fn a_ca_that_the_token_signed_is_believed() {
        let token = |text: &str| Token::from(text.to_owned());
        let (ours, other) = (
            token("abcdef.0123456789abcdef"),
            token("abcdef.fedcba9876543210"),
        );
        let hub = authority();
        let offer = info(&hub, Some(&ours));
        let roots = offer.signed_by(ours.as_bootstrap().unwrap());
        assert_eq!(roots.unwrap(), [Root::of(&hub).unwrap()]);
        assert_eq!(offer.signed_by(other.as_bootstrap().unwrap()), None);
        let unsigned = info(&hub, None);
        assert_eq!(unsigned.signed_by(ours.as_bootstrap().unwrap()), None);
    }

    #[test]
    fn what_is_no_kubeconfig_offers_nothing() {
        for data in [
            json!({}),
            json!({"kubeconfig": 7}),
            json!({"kubeconfig": "]"}),
        ] {
            assert!(ClusterInfo::of(&data).is_none(), "{data}");
        }
        let empty = ClusterInfo::of(&json!({"kubeconfig": "a: b"})).unwrap();
        assert!(empty.roots.is_empty() && empty.server.is_none());
    }
}
