//! An OpenID provider for tests: the authorization code flow with PKCE, and refresh tokens that count once.
//!
//! A real kube-apiserver verifies its tokens by its keys. devhub does not verify such tokens: the test says which ones are good
//! ([`Issuer::tells`]).

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use berth_certs::issue::Authority;
use berth_certs::pem::sha256;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The client at the provider.
pub const CLIENT: &str = "berth";
/// Its secret, with a character that forms encode.
pub const CLIENT_SECRET: &str = "s3cr3t+/";

/// A running provider, which ends with this process.
#[derive(Clone)]
pub struct Issuer(Arc<Inner>);

type Told = Box<dyn Fn(&str, &str, &[String]) + Send + Sync>;

struct Inner {
    url: String,
    key: EcdsaKeyPair,
    state: Mutex<State>,
    folder: TempDir,
}

#[derive(Default)]
struct State {
    /// Codes that were not traded yet, with what the browser brought.
    codes: HashMap<String, Grant>,
    /// Refresh tokens that were not used yet.
    refreshes: HashMap<String, Grant>,
    told: Option<Told>,
    /// The user of browsers that come to the provider.
    at_once: Option<(String, Vec<String>)>,
    /// The time that a token lives.
    lives: i64,
    next: usize,
    is_away: bool,
}

#[derive(Clone)]
struct Grant {
    user: String,
    groups: Vec<String>,
    nonce: Option<String>,
    challenge: String,
}

impl Issuer {
    /// Starts it on a port of its own.
    pub async fn start() -> Self {
        let now = Timestamp::now();
        let authority = Authority::new("issuer", DAY, now).unwrap();
        let leaf = authority
            .leaf(&["localhost"], &[Ipv4Addr::LOCALHOST.into()], DAY, now)
            .unwrap();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("ca.crt"), authority.certificate_pem()).unwrap();
        std::fs::write(folder.path().join("secret"), format!("{CLIENT_SECRET}\n")).unwrap();
        let chain = CertificateDer::pem_slice_iter(leaf.certificate_pem.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(leaf.key_pem.as_bytes()).unwrap();
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(chain, key)
                .unwrap();
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let issuer = Self(Arc::new(Inner {
            url: format!("https://localhost:{port}/realm"),
            key: new_key(),
            state: Mutex::new(State {
                lives: 3600,
                ..State::default()
            }),
            folder,
        }));
        let (serving, tls) = (issuer.clone(), TlsAcceptor::from(Arc::new(config)));
        tokio::spawn(async move {
            loop {
                let (tcp, _) = tcp.accept().await.unwrap();
                let (issuer, tls) = (serving.clone(), tls.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = tls.accept(tcp).await else {
                        return;
                    };
                    let Some((head, body)) = read(&mut stream).await else {
                        return;
                    };
                    let (code, body) = issuer.answer(&head, &body);
                    // A redirect has an address.
                    let location = match body.as_str() {
                        Some(address) => format!("location: {address}\r\n"),
                        None => String::new(),
                    };
                    let body = body.to_string();
                    let text = format!(
                        "HTTP/1.1 {code} X\r\n{location}content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    let _ = stream.write_all(text.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        issuer
    }

    /// The issuer.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The file with the CA of its certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.0.folder.path().join("ca.crt")
    }

    /// The file with the client's secret.
    pub fn secret_file(&self) -> PathBuf {
        self.0.folder.path().join("secret")
    }

    /// The flags by which a kube-apiserver trusts it.
    pub fn flags_of_kubernetes(&self) -> Vec<String> {
        vec![
            format!("--oidc-issuer-url={}", self.url()),
            format!("--oidc-ca-file={}", self.ca_file().display()),
            format!("--oidc-client-id={CLIENT}"),
            "--oidc-username-claim=sub".to_owned(),
            "--oidc-username-prefix=-".to_owned(),
            "--oidc-groups-claim=groups".to_owned(),
            "--oidc-signing-algs=ES256".to_owned(),
        ]
    }

    /// From now on, each ID token is told before it is given: with its user and groups.
    pub fn tells(&self, told: impl Fn(&str, &str, &[String]) + Send + Sync + 'static) {
        self.0.state.lock().unwrap().told = Some(Box::new(told));
    }

    /// From now on, ID tokens live for this many seconds.
    pub fn tokens_live(&self, seconds: i64) {
        self.0.state.lock().unwrap().lives = seconds;
    }

    /// From now on, no refresh token counts.
    pub fn forgets(&self) {
        self.0.state.lock().unwrap().refreshes.clear();
    }

    /// From now on, it answers with 503, or not any more.
    pub fn is_away(&self, is_away: bool) {
        self.0.state.lock().unwrap().is_away = is_away;
    }

    /// From now on, browsers that come to the provider are signed in as this user.
    pub fn signs_in_at_once(&self, user: &str, groups: &[&str]) {
        let groups = groups.iter().map(|it| (*it).to_owned()).collect();
        self.0.state.lock().unwrap().at_once = Some((user.to_owned(), groups));
    }

    /// The user signs in at this address, to which the console has sent the browser. Returns the address to which it is sent back.
    pub fn signs_in(&self, address: &str, user: &str, groups: &[&str]) -> String {
        let (endpoint, query) = address.split_once('?').unwrap();
        assert_eq!(endpoint, format!("{}/authorize", self.url()));
        let query = pairs(query);
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["client_id"], CLIENT);
        assert_eq!(query["code_challenge_method"], "S256");
        assert!(query["scope"].split(' ').any(|it| it == "openid"));
        let mut state = self.0.state.lock().unwrap();
        state.next += 1;
        let code = format!("code-{}", state.next);
        state.codes.insert(
            code.clone(),
            Grant {
                user: user.to_owned(),
                groups: groups.iter().map(|it| (*it).to_owned()).collect(),
                nonce: Some(query["nonce"].clone()),
                challenge: query["code_challenge"].clone(),
            },
        );
        let back = &query["redirect_uri"];
        format!("{back}?code={code}&state={}", query["state"])
    }

    fn answer(&self, head: &str, body: &str) -> (u16, Value) {
        let line = head.lines().next().unwrap_or_default();
        if let Some(path) = line.strip_prefix("GET /realm/authorize?") {
            let query = path.split(' ').next().unwrap();
            let at_once = self.0.state.lock().unwrap().at_once.clone();
            let (user, groups) = at_once.expect("the test names the user");
            let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
            let address = format!("{}/authorize?{query}", self.url());
            return (303, json!(self.signs_in(&address, &user, &groups)));
        }
        let mut state = self.0.state.lock().unwrap();
        if state.is_away {
            return (503, json!({"error": "temporarily_unavailable"}));
        }
        let url = self.url();
        match line.split(' ').take(2).collect::<Vec<_>>()[..] {
            ["GET", "/realm/.well-known/openid-configuration"] => (
                200,
                json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
                    "response_types_supported": ["code"], "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["ES256"],
                }),
            ),
            ["GET", "/realm/keys"] => {
                // An uncompressed point: 4, x, y.
                let point = self.0.key.public_key().as_ref();
                let part = |from: usize| BASE64_URL_SAFE_NO_PAD.encode(&point[from..from + 32]);
                let key = json!({
                    "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1",
                    "x": part(1), "y": part(33),
                });
                (200, json!({"keys": [key]}))
            }
            ["POST", "/realm/token"] => self.token(&mut state, head, body),
            _ => (404, json!({"error": "not_found"})),
        }
    }

    fn token(&self, state: &mut State, head: &str, body: &str) -> (u16, Value) {
        let refused = |error: &str| (400, json!({"error": error}));
        let encoded = CLIENT_SECRET.replace('+', "%2B").replace('/', "%2F");
        let basic = BASE64_STANDARD.encode(format!("{CLIENT}:{encoded}"));
        let is_client = head.lines().any(|line| {
            let line = line.split_once(": ");
            line.is_some_and(|(name, value)| {
                name.eq_ignore_ascii_case("authorization") && value == format!("Basic {basic}")
            })
        });
        if !is_client {
            return (401, json!({"error": "invalid_client"}));
        }
        let form = pairs(body);
        let grant = match form.get("grant_type").map(String::as_str) {
            Some("authorization_code") => {
                let grant = state.codes.remove(&form["code"]);
                let verifier = sha256(form["code_verifier"].as_bytes());
                let challenge = BASE64_URL_SAFE_NO_PAD.encode(verifier);
                grant.filter(|it| it.challenge == challenge)
            }
            Some("refresh_token") => state.refreshes.remove(&form["refresh_token"]),
            _ => return refused("unsupported_grant_type"),
        };
        let Some(mut grant) = grant else {
            return refused("invalid_grant");
        };
        state.next += 1;
        let now = Timestamp::now().as_second();
        let claims = json!({
            "iss": self.url(), "aud": CLIENT, "sub": grant.user, "groups": grant.groups,
            "nonce": grant.nonce.take(), "iat": now, "exp": now + state.lives,
            // No two tokens are equal.
            "jti": state.next.to_string(),
        });
        let token = self.signed(&claims);
        // No hub accepts one that has ended.
        if state.lives > 0
            && let Some(told) = &state.told
        {
            told(&token, &grant.user, &grant.groups);
        }
        let refresh = format!("refresh-{}", state.next);
        state.refreshes.insert(refresh.clone(), grant);
        let answer = json!({"token_type": "Bearer", "id_token": token, "refresh_token": refresh});
        (200, answer)
    }

    fn signed(&self, claims: &Value) -> String {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "ES256", "kid": "1", "typ": "JWT"});
        let text = format!("{}.{}", part(&header), part(claims));
        let signature = self.0.key.sign(&SystemRandom::new(), text.as_bytes());
        format!(
            "{text}.{}",
            BASE64_URL_SAFE_NO_PAD.encode(signature.unwrap())
        )
    }
}

fn new_key() -> EcdsaKeyPair {
    let (way, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let key = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(way, key.as_ref(), &random).unwrap()
}

/// The pairs of a form.
fn pairs(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

async fn read(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
