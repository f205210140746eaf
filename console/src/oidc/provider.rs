//! Calls to an OpenID provider.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use berth_hub::{Call, CallError, HubApi};
use form_urlencoded::{Serializer, byte_serialize};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Uri};
use serde_json::json;
use tokio::sync::Mutex;

use super::{Claims, Client, ClientAuth, Discovery, Login, Tokens};
use crate::sessions::Secret;

/// The deadline of a call.
const WITHIN: Duration = Duration::from_secs(10);

/// Upper bound on the bytes of an answer.
const LARGEST: usize = 256 << 10;

/// The configuration is read again after this time.
const FRESH: Duration = Duration::from_secs(3600);

/// Upper bound on the bytes of a file.
const LARGEST_FILE: u64 = 1 << 20;

/// An OpenID provider, and the client at it.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) client: Client,
    /// The file with the client's secret. It is read for each call.
    client_secret_file: Option<PathBuf>,
    /// The file with the authorities of the provider's certificate. It is read for each call.
    ca_file: Option<PathBuf>,
    known: Mutex<Option<(Instant, Discovery)>>,
}

/// Why a sign-in by the provider failed. What the page shows is one word; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderError {
    /// The provider does not answer, or cannot be used.
    #[error("{0}")]
    Unavailable(String),
    /// The provider refuses the code or the refresh token, or its answer is not believed.
    #[error("{0}")]
    Refused(String),
}

/// The tokens of a user.
pub(crate) struct SignedIn {
    pub(crate) id_token: String,
    pub(crate) claims: Claims,
    pub(crate) refresh_token: Option<Secret>,
}

// === impl Provider ===

impl Provider {
    pub(crate) fn new(
        client: Client,
        client_secret_file: Option<PathBuf>,
        ca_file: Option<PathBuf>,
    ) -> Self {
        Self {
            client,
            client_secret_file,
            ca_file,
            known: Mutex::default(),
        }
    }

    /// The address at the provider to which the browser goes.
    ///
    /// # Errors
    /// The provider's configuration cannot be read.
    pub(crate) async fn authorize_url(&self, login: &Login) -> Result<String, ProviderError> {
        let discovery = self.discovery().await?;
        Ok(self.client.authorize_url(&discovery, login))
    }

    /// Trades a code for the tokens of a user.
    ///
    /// # Errors
    /// Those of the provider, or its answer is not believed.
    pub(crate) async fn exchange(
        &self,
        code: &str,
        login: &Login,
    ) -> Result<SignedIn, ProviderError> {
        let form = self.client.exchange_form(code, login);
        let signed_in = self.tokens(form).await?;
        let believed = self.client.believe(&signed_in.claims, login);
        believed.map_err(|why| ProviderError::Refused(why.to_owned()))?;
        Ok(signed_in)
    }

    /// Trades a refresh token for new tokens of the same user.
    ///
    /// # Errors
    /// Those of the provider, or its answer is not believed.
    pub(crate) async fn refresh(
        &self,
        refresh_token: &Secret,
        sub: &str,
    ) -> Result<SignedIn, ProviderError> {
        let form = self.client.refresh_form(refresh_token);
        let signed_in = self.tokens(form).await?;
        let believed = self.client.believe_again(&signed_in.claims, sub);
        believed.map_err(|why| ProviderError::Refused(why.to_owned()))?;
        Ok(signed_in)
    }

    /// The provider's configuration: that of the last hour, or a new one.
    async fn discovery(&self) -> Result<Discovery, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some((at, discovery)) = &*known
            && at.elapsed() < FRESH
        {
            return Ok(discovery.clone());
        }
        let issuer = &self.client.issuer;
        let url = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let (api, path) = self.api(&url).await?;
        let answer = api.call(bounded(Call::get(path))).await;
        let discovery: Discovery = answer.and_then(|it| it.json()).map_err(unavailable)?;
        (discovery.check(issuer)).map_err(|why| {
            ProviderError::Unavailable(format!("the OpenID provider cannot be used: {why}"))
        })?;
        *known = Some((Instant::now(), discovery.clone()));
        Ok(discovery)
    }

    async fn tokens(
        &self,
        mut form: Vec<(&'static str, String)>,
    ) -> Result<SignedIn, ProviderError> {
        let discovery = self.discovery().await?;
        let secret = match &self.client_secret_file {
            Some(file) => Some(secret_of(file).await?),
            None => None,
        };
        let mut basic = None;
        if let Some(secret) = secret {
            match discovery.client_auth() {
                ClientAuth::Basic => basic = Some(basic_auth(&self.client.id, &secret)?),
                ClientAuth::Post => form.push(("client_secret", secret.reveal().to_owned())),
            }
        }
        let (api, path) = self.api(&discovery.token_endpoint).await?;
        let form = Serializer::new(String::new()).extend_pairs(form).finish();
        let mut call = bounded(Call::post_form(path, form));
        if let Some(basic) = basic {
            call = call.header(AUTHORIZATION, basic);
        }
        let answer = api.call(call).await;
        let tokens: Tokens = answer.and_then(|it| it.json()).map_err(failed)?;
        let refused = |why: &str| ProviderError::Refused(why.to_owned());
        let id_token = tokens.id_token;
        let id_token = id_token.ok_or_else(|| refused("the provider gave no ID token"))?;
        let claims = Claims::of(&id_token);
        Ok(SignedIn {
            claims: claims.ok_or_else(|| refused("the provider gave a malformed ID token"))?,
            refresh_token: tokens.refresh_token.map(Secret::new),
            id_token,
        })
    }

    /// A client of the server of this URL, and the path there.
    async fn api(&self, url: &str) -> Result<(HubApi, String), ProviderError> {
        let unusable = |why: String| ProviderError::Unavailable(format!("{url}: {why}"));
        let uri: Uri = url.parse().map_err(|_| unusable("not a URL".to_owned()))?;
        let authority = uri.authority();
        let authority = authority.ok_or_else(|| unusable("it has no host".to_owned()))?;
        let mut cluster = json!({"server": format!("https://{authority}")});
        if let Some(file) = &self.ca_file {
            let authorities = read(file).await?;
            cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(authorities));
        }
        // The client of an API server does what is needed here: deadlines, bounds, proxies of the environment.
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "provider",
            "clusters": [{"name": "provider", "cluster": cluster}],
            "contexts": [{"name": "provider", "context": {"cluster": "provider", "user": ""}}],
        });
        let kubeconfig = kubeconfig.to_string();
        let api = HubApi::of_kubeconfig(&kubeconfig, "--oidc-issuer-url").await;
        let api = api.map_err(|error| unusable(error.to_string()))?;
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        Ok((api, path.to_owned()))
    }
}

fn bounded(call: Call) -> Call {
    call.within(WITHIN).at_most(LARGEST)
}

/// RFC 6749, 2.3.1: both are encoded as in a form.
fn basic_auth(id: &str, secret: &Secret) -> Result<HeaderValue, ProviderError> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    let value = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| ProviderError::Unavailable("the client's secret is malformed".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

async fn secret_of(file: &PathBuf) -> Result<Secret, ProviderError> {
    let bytes = read(file).await?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| {
        ProviderError::Unavailable(format!("{}: the secret is not text", file.display()))
    })?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}

async fn read(file: &PathBuf) -> Result<Vec<u8>, ProviderError> {
    use tokio::io::AsyncReadExt;
    let failed =
        |error: std::io::Error| ProviderError::Unavailable(format!("{}: {error}", file.display()));
    let opened = tokio::fs::File::open(file).await.map_err(failed)?;
    let mut bytes = Vec::new();
    let mut bounded = opened.take(LARGEST_FILE);
    bounded.read_to_end(&mut bytes).await.map_err(failed)?;
    Ok(bytes)
}

fn unavailable(error: CallError) -> ProviderError {
    ProviderError::Unavailable(format!("the OpenID provider does not answer: {error}"))
}

/// RFC 6749, 5.2: a refusal of the token endpoint is a 400, or a 401 of the client.
fn failed(error: CallError) -> ProviderError {
    match error.code() {
        400 | 401 => ProviderError::Refused(format!("the OpenID provider refuses: {error}")),
        _ => unavailable(error),
    }
}
