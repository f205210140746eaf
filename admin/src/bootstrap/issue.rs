//! Issues tokens: of the bootstrap account, or bootstrap tokens.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::managed::Root;
use berth_hub::{Authorities, ServerAddress, object_path};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Secret;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Value, json};

use super::authorities;
use crate::failure::CommandError;
use crate::hub::{DryRun, HubConnection};
use crate::join::hub::missing_rights;
use crate::join::kubeconfig::Bootstrap;
use crate::join::token::Token;

const NAMESPACE: &str = "open-cluster-management";
const ACCOUNT: &str = "agent-registration-bootstrap";
const GROUP: &str = "system:bootstrappers:managedcluster";

/// The namespace of the Secrets of bootstrap tokens.
const KUBE_SYSTEM: &str = "kube-system";

/// The characters of a bootstrap token.
const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// How long to wait until an API server sees new RBAC objects, and between two looks.
const SETTLES: (u32, Duration) = (25, Duration::from_millis(200));

/// Issues tokens.
pub(super) struct Issuer<'a> {
    pub(super) hub: &'a HubConnection,
    pub(super) lifetime: Duration,
}

/// A token.
pub(super) struct Issued {
    pub(super) token: Token,
    /// When it expires, if the hub says so.
    pub(super) expires: Option<String>,
}

/// A bootstrap token, and its Secret.
struct BootstrapToken {
    token: Token,
    expires: Timestamp,
    object: Value,
}

// === impl Issuer ===

impl Issuer<'_> {
    /// Requests a token of the bootstrap account.
    pub(super) async fn account_token(&self) -> Result<Issued, CommandError> {
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": self.lifetime.as_secs()},
        });
        let path = object_path(("", "v1", "serviceaccounts"), NAMESPACE, ACCOUNT) + "/token";
        let answer = self.hub.post(path, &request).await?;
        let status = &answer["status"];
        let token = status["token"].as_str().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            CommandError::Unreadable("the TokenRequest has no token in its status".to_owned())
        })?;
        Ok(Issued {
            token: Token::from(token.to_owned()),
            expires: status["expirationTimestamp"].as_str().map(str::to_owned),
        })
    }

    /// Has the hub check the Secret of a bootstrap token, as this dry run does. Returns the name that it would have.
    ///
    /// # Errors
    /// The hub refuses the Secret.
    pub(super) async fn try_bootstrap_token(
        &self,
        dry_run: DryRun,
    ) -> Result<String, CommandError> {
        let BootstrapToken { object, .. } = self.new_bootstrap_token()?;
        self.hub
            .create::<Secret>(Some(KUBE_SYSTEM), &object, dry_run)
            .await?;
        let name = object["metadata"]["name"].as_str();
        Ok(name.unwrap_or_default().to_owned())
    }

    /// Creates a bootstrap token, and checks that the API server accepts it.
    pub(super) async fn bootstrap_token(
        &self,
        address: &ServerAddress,
    ) -> Result<Issued, CommandError> {
        let BootstrapToken {
            token,
            expires,
            object,
        } = self.new_bootstrap_token()?;
        self.hub
            .create::<Secret>(Some(KUBE_SYSTEM), &object, DryRun::None)
            .await?;
        if self.is_accepted(address, &token).await? {
            return Ok(Issued {
                token,
                expires: Some(expires.to_string()),
            });
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let removed = self.hub.remove(&object, DryRun::None).await;
        let left = match removed {
            Ok(_) => "the Secret was deleted again".to_owned(),
            Err(failure) => {
                format!("the Secret {KUBE_SYSTEM}/{name} could not be deleted: {failure}")
            }
        };
        Err(CommandError::Refused(format!(
            "the API server of the hub does not accept bootstrap tokens; {left}: omit --use-bootstrap-token, or start the API server with \
             --enable-bootstrap-token-auth"
        )))
    }

    /// Makes a bootstrap token. Nothing is sent.
    fn new_bootstrap_token(&self) -> Result<BootstrapToken, CommandError> {
        let (id, secret) = (random::<6>()?, random::<16>()?);
        let lifetime = SignedDuration::try_from(self.lifetime).unwrap_or(SignedDuration::MAX);
        let expires = Timestamp::now().saturating_add(lifetime);
        let expires = expires.unwrap_or(Timestamp::MAX).as_second();
        let expires = Timestamp::from_second(expires).unwrap_or(Timestamp::MAX);
        let name = format!("bootstrap-token-{id}");
        let data = [
            ("token-id", id.clone()),
            ("token-secret", secret.clone()),
            ("expiration", expires.to_string()),
            ("usage-bootstrap-authentication", "true".to_owned()),
            // Then kube-controller-manager signs kube-public/cluster-info with it.
            ("usage-bootstrap-signing", "true".to_owned()),
            ("auth-extra-groups", GROUP.to_owned()),
            (
                "description",
                "Registers managed clusters; created by 'berth get token'.".to_owned(),
            ),
        ];
        let data: serde_json::Map<_, _> = data
            .into_iter()
            .map(|(key, value)| (key.to_owned(), json!(BASE64_STANDARD.encode(value))))
            .collect();
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "bootstrap.kubernetes.io/token",
            // clusteradm finds it by this label.
            "metadata": {"name": name, "namespace": KUBE_SYSTEM, "labels": {"app": "cluster-manager"}},
            "data": data,
        });
        Ok(BootstrapToken {
            token: Token::from(format!("{id}.{secret}")),
            expires,
            object,
        })
    }

    /// Returns true if the API server knows the user of a token.
    async fn is_accepted(
        &self,
        address: &ServerAddress,
        token: &Token,
    ) -> Result<bool, CommandError> {
        // Whether it does cannot be found out without a verified connection; the checks that follow say so.
        let Some(hub) = connect(address, token).await? else {
            return Ok(true);
        };
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let (tries, pause) = SETTLES;
        for _ in 0..tries {
            match hub
                .create::<SelfSubjectReview>(None, &review, DryRun::None)
                .await
            {
                Ok(_) => return Ok(true),
                Err(failure) if failure.code() == Some(401) => tokio::time::sleep(pause).await,
                // An API server before 1.28 does not serve the review. It knows the user all the same.
                Err(CommandError::NoHub { .. }) => return Ok(true),
                Err(failure) => return Err(failure),
            }
        }
        Ok(false)
    }
}

/// Connects to the hub with a token, over a verified connection. None: the kubeconfig turns verification off.
async fn connect(
    address: &ServerAddress,
    token: &Token,
) -> Result<Option<HubConnection>, CommandError> {
    if address.authorities == Authorities::Unverified {
        return Ok(None);
    }
    let pem = authorities(address).map(|roots| roots.iter().map(Root::pem).collect::<String>());
    let bootstrap = Bootstrap {
        server: &address.url,
        authorities: pem.as_deref(),
        token: Some(token),
        proxy: address.proxy.as_deref(),
    };
    let hub = HubConnection::of_kubeconfig(&bootstrap.kubeconfig(), "the hub", None).await?;
    Ok(Some(hub))
}

/// Checks that a token may register clusters. Returns what the user should know.
pub(super) async fn check(address: &ServerAddress, token: &Token) -> Vec<String> {
    let not_checked = |why: String| vec![format!("the token's rights could not be checked: {why}")];
    let hub = match connect(address, token).await {
        Ok(Some(hub)) => hub,
        Ok(None) => {
            return not_checked("the kubeconfig turns the verification of the hub off".to_owned());
        }
        Err(failure) => return not_checked(failure.to_string()),
    };
    let (tries, pause) = SETTLES;
    let mut missing = Vec::new();
    for _ in 0..tries {
        missing = match missing_rights(&hub).await {
            Ok(missing) if missing.is_empty() => return Vec::new(),
            Ok(missing) => missing,
            Err(failure) => return not_checked(failure.to_string()),
        };
        tokio::time::sleep(pause).await;
    }
    vec![format!(
        "the token may not register clusters: it needs {}; compare ClusterRole open-cluster-management:bootstrap with \
         manifests/bootstrap/cluster-role.yaml",
        missing.join(", ")
    )]
}

/// Returns random characters of a bootstrap token, each equally likely.
fn random<const N: usize>() -> Result<String, CommandError> {
    let random = SystemRandom::new();
    let mut text = String::with_capacity(N);
    while text.len() < N {
        let mut byte = [0; 1];
        random
            .fill(&mut byte)
            .map_err(|_| CommandError::Config("the system returns no random numbers".to_owned()))?;
        // Bytes from 252 on would make some characters likelier than others.
        if let 0..252 = byte[0] {
            text.push(char::from(ALPHABET[usize::from(byte[0] % 36)]));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_tokens_are_random_and_well_formed() {
        let token = || {
            Token::from(format!(
                "{}.{}",
                random::<6>().unwrap(),
                random::<16>().unwrap()
            ))
        };
        let (one, other) = (token(), token());
        assert!(one.as_bootstrap().is_some());
        assert!(one != other);
    }
}
