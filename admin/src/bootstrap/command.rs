//! The command that a cluster's admin runs.

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::managed::Root;
use berth_hub::{Authorities, ServerAddress};
use berth_rules::display::ShellWord;
use http::Uri;
use serde_json::{Value, json};

use super::{Wanted, authorities};
use crate::accept::fingerprint::Fingerprint;
use crate::join::authority::{self, keys_of};
use crate::join::token::Token;

/// A `berth join`.
pub(crate) struct JoinCommand<'a> {
    url: String,
    token: Token,
    cluster: Option<&'a str>,
    image: Option<&'a str>,
    ca: HubCa,
    notes: Vec<String>,
}

/// The CA of the hub, as the command names it.
enum HubCa {
    /// The keys of its certificates. A cluster gets the certificates from the hub.
    Keys(Vec<Root>),
    /// The certificates.
    Data(Vec<Root>),
    /// Nothing is named: managed clusters trust the hub's certificate, as this machine does.
    Public,
    /// The kubeconfig does not verify the hub.
    Unknown,
}

// === impl JoinCommand ===

impl<'a> JoinCommand<'a> {
    /// Finds out how a cluster can get the hub's CA.
    pub(super) async fn of(wanted: Wanted<'a>, address: &ServerAddress, token: Token) -> Self {
        let url = wanted.hub_apiserver.map(str::to_owned);
        let named = url.is_some();
        let url = url.unwrap_or_else(|| address.url.clone());
        let ca = match (&address.authorities, authorities(address)) {
            (_, Some(roots)) => {
                let keys: Vec<_> = roots.iter().map(Fingerprint::of_root).collect();
                // The address in the kubeconfig, which can be reached from here. It has the same ConfigMap.
                let offer = authority::offered(&address.url, address.proxy.as_deref(), None).await;
                match offer.with_keys(&address.url, &keys) {
                    Ok(found) => HubCa::Keys(found),
                    _ => HubCa::Data(roots),
                }
            }
            (Authorities::Unverified, _) => HubCa::Unknown,
            _ => HubCa::Public,
        };
        let mut notes = Vec::new();
        if !named && is_local(&url) {
            notes.push(format!(
                "managed clusters may not reach the hub at {url}; --hub-apiserver sets the address in the command"
            ));
        }
        if url != address.url && matches!(ca, HubCa::Keys(_) | HubCa::Data(_)) {
            notes.push(format!(
                "the command names the CA of {}; if the certificate at {url} is of another CA, replace it by --ca-file FILE",
                address.url
            ));
        }
        if matches!(ca, HubCa::Unknown) {
            notes.push(
                "the kubeconfig does not verify the hub, so its CA is not known here: add --ca-file FILE to the command".to_owned(),
            );
        }
        Self {
            url,
            token,
            cluster: wanted.cluster_name,
            image: wanted.image,
            ca,
            notes,
        }
    }

    /// Returns what the user should know.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    /// Returns the command in one line.
    pub(crate) fn line(&self) -> String {
        let ca = match &self.ca {
            HubCa::Keys(roots) => format!(" --ca-hash {}", keys_of(roots)),
            HubCa::Data(roots) => format!(" --ca-data {}", data(roots)),
            HubCa::Public | HubCa::Unknown => String::new(),
        };
        let cluster = match self.cluster {
            Some(name) => ShellWord(name).to_string(),
            None => "<cluster_name>".to_owned(),
        };
        let (url, token) = (ShellWord(&self.url), self.token.reveal());
        let image = self
            .image
            .map_or_else(String::new, |it| format!(" --image {}", ShellWord(it)));
        format!(
            "berth join --hub-token {token} --hub-apiserver {url}{ca}{image} --cluster-name {cluster}"
        )
    }

    /// Returns the same for a program. The first two fields are clusteradm's.
    pub(super) fn json(&self, expires: Option<&str>) -> Value {
        let mut object = json!({
            "hub-token": self.token.reveal(),
            "hub-apiserver": self.url,
            "join-command": self.line(),
        });
        if let HubCa::Keys(roots) | HubCa::Data(roots) = &self.ca {
            object["ca-hash"] = json!(keys_of(roots));
            object["ca-data"] = json!(data(roots));
        }
        if let Some(expires) = expires {
            object["expires"] = json!(expires);
        }
        object
    }
}

/// Returns the certificates as `--ca-data` takes them.
fn data(roots: &[Root]) -> String {
    BASE64_STANDARD.encode(roots.iter().map(Root::pem).collect::<String>())
}

/// Returns true for an address that leads elsewhere on another machine, or that only pods of the hub reach.
fn is_local(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host
        .parse::<std::net::IpAddr>()
        .is_ok_and(|it| it.is_loopback());
    is_loopback || host == "localhost" || host == "kubernetes.default.svc" || host.ends_with(".svc")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use berth_certs::issue::Authority;
    use jiff::Timestamp;

    use super::*;

    fn command(token: &Token, ca: HubCa) -> JoinCommand<'static> {
        JoinCommand {
            url: "https://hub:6443".to_owned(),
            token: token.clone(),
            cluster: None,
            image: None,
            ca,
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_command_names_the_ca_if_it_is_known() {
        let token = Token::from("t".to_owned());
        let authority = Authority::new("hub", Duration::from_secs(3600), Timestamp::now()).unwrap();
        let roots = || vec![Root::of(&authority).unwrap()];
        let start = "berth join --hub-token t --hub-apiserver https://hub:6443";
        let key = keys_of(&roots());
        for (ca, between) in [
            (HubCa::Public, String::new()),
            (HubCa::Unknown, String::new()),
            (HubCa::Keys(roots()), format!(" --ca-hash {key}")),
            (
                HubCa::Data(roots()),
                format!(" --ca-data {}", data(&roots())),
            ),
        ] {
            let line = command(&token, ca).line();
            assert_eq!(
                line,
                format!("{start}{between} --cluster-name <cluster_name>")
            );
        }
        let own = JoinCommand {
            image: Some("r/berth:v1"),
            cluster: Some("c1"),
            ..command(&token, HubCa::Public)
        };
        assert_eq!(
            own.line(),
            format!("{start} --image r/berth:v1 --cluster-name c1")
        );
        let object = command(&token, HubCa::Keys(roots())).json(Some("soon"));
        assert_eq!(
            (&object["hub-token"], &object["ca-hash"]),
            (&json!("t"), &json!(key))
        );
        assert_eq!(object["expires"], "soon");
        assert!(command(&token, HubCa::Public).json(None)["ca-data"].is_null());
    }

    #[test]
    fn addresses_that_other_machines_do_not_reach_are_recognized() {
        for (url, local) in [
            ("https://127.0.0.1:6443", true),
            ("https://[::1]:6443", true),
            ("https://localhost", true),
            ("https://kubernetes.default.svc", true),
            ("https://hub.example.com", false),
            ("https://10.0.0.1:6443", false),
        ] {
            assert_eq!(is_local(url), local, "{url}");
        }
    }
}
