//! The kubeconfig with which a cluster asks a hub to register it.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use super::token::Token;

/// Its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bootstrap<'a> {
    /// The URL of the hub's API server.
    pub(crate) server: &'a str,
    /// The CA of the hub, PEM. None: the CAs of the machine that connects.
    pub(crate) authorities: Option<&'a str>,
    /// None: the client has no credentials.
    pub(crate) token: Option<&'a Token>,
    /// The URL of an HTTP proxy.
    pub(crate) proxy: Option<&'a str>,
}

// === impl Bootstrap ===

impl Bootstrap<'_> {
    /// Returns it, with clusteradm's names of cluster, context and user.
    pub(crate) fn kubeconfig(&self) -> Value {
        let mut cluster = json!({"server": self.server});
        if let Some(pem) = self.authorities {
            cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(pem));
        }
        if let Some(proxy) = self.proxy {
            cluster["proxy-url"] = json!(proxy);
        }
        let user = match self.token {
            Some(token) => json!({"token": token.reveal()}),
            None => json!({}),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "hub", "cluster": cluster}],
            "contexts": [{
                "name": "bootstrap",
                "context": {"cluster": "hub", "namespace": "default", "user": "bootstrap"},
            }],
            "current-context": "bootstrap",
            "users": [{"name": "bootstrap", "user": user}],
        })
    }

    /// Returns a kubeconfig without credentials for a server that is not verified.
    pub(super) fn unverified(&self) -> Value {
        let mut kubeconfig = Self {
            token: None,
            authorities: None,
            ..*self
        }
        .kubeconfig();
        kubeconfig["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = json!(true);
        kubeconfig
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_verified_gets_no_token() {
        let token = Token::from("secret".to_owned());
        let bootstrap = Bootstrap {
            server: "https://hub",
            authorities: Some("PEM"),
            token: Some(&token),
            proxy: Some("http://proxy"),
        };
        assert!(bootstrap.kubeconfig().to_string().contains("secret"));
        let unverified = bootstrap.unverified();
        assert!(!unverified.to_string().contains("secret"));
        let cluster = &unverified["clusters"][0]["cluster"];
        assert_eq!(cluster["insecure-skip-tls-verify"], true);
        assert_eq!(cluster["proxy-url"], "http://proxy");
        assert!(cluster["certificate-authority-data"].is_null());
    }
}
