//! `berth console --serve`: many users, each as itself. It is started with the kubeconfig of an admin of the hub, whose credentials must
//! not count.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{CRDS, Cluster, Person, free_ports, fresh, rule};
use berth_testkit::issuer::{CLIENT, Issuer};
use berth_testkit::{Logged, berth, eventually, port, when};
use jiff::Timestamp;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

use super::{Answer, Port, blocking};
use crate::house::House;
use crate::people::role;

/// The address by which the console is asked.
const PUBLIC: &str = "console.test";

/// A running console.
pub(super) struct Many {
    pub(super) process: Logged,
    pub(super) port: Port,
}

impl Many {
    pub(super) fn start(kubeconfig: &Path, flags: &[&str]) -> Self {
        let flags = [&["--insecure-http"], flags].concat();
        Self::start_with(kubeconfig, &format!("https://{PUBLIC}"), &flags)
    }

    pub(super) fn start_with(kubeconfig: &Path, url: &str, flags: &[&str]) -> Self {
        // That of the URL, if it names one.
        let named = url
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse::<u16>().ok());
        let listen = named.unwrap_or(0).to_string();
        let mut command = berth(&["console", "--serve", "--port", &listen, "--public-url", url]);
        command
            .args(["--kubeconfig", kubeconfig.to_str().unwrap()])
            .args([
                "--health-port",
                "0",
                "--metrics-port",
                "0",
                "--log-format",
                "json",
            ])
            .args(flags);
        let mut process = Logged::start(command);
        let serving = process.logged(|line| line["message"] == "serving");
        let port = Port {
            address: format!("127.0.0.1:{}", port(&serving["console"])),
            host: url.split("//").nth(1).unwrap().to_owned(),
        };
        Self { process, port }
    }

    fn write(&self, cookie: &str, path: &str, body: &Value) -> Answer {
        blocking(|| self.port.write(cookie, path, body))
    }

    fn get(&self, cookie: &str, path: &str) -> Answer {
        blocking(|| self.port.get(cookie, path))
    }

    fn signs_in(&self, token: &str) -> String {
        let answer = self.write("", "/api/session", &json!({"token": token}));
        assert_eq!(answer.code, 204, "{} {}", answer.head, answer.body);
        let (cookie, rest) = answer.cookie();
        assert!(cookie.starts_with("__Host-berth-console="), "{cookie}");
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Strict; Secure");
        cookie
    }
}

/// A token of a new service account, and the account.
async fn token(cluster: &Cluster, prefix: &str) -> (String, Person) {
    let name = fresh(prefix);
    let person = cluster.service_account("default", &name).await;
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = format!("/api/v1/namespaces/default/serviceaccounts/{name}/token");
    let answer = cluster.admin().await.post(&path, &request).await.unwrap();
    let token = answer.ok()["status"]["token"].as_str().unwrap().to_owned();
    (token, person)
}

/// The paths of a cluster at the console.
fn paths(name: &str) -> [String; 2] {
    let cluster = format!("/api/clusters/{name}");
    [format!("{cluster}/accept"), cluster]
}

#[tokio::test(flavor = "multi_thread")]
async fn users_with_tokens_see_and_do_what_the_hub_allows_them() {
    let house = House::shared().await;
    let name = fresh("many");
    house.managed_cluster(&name, &[]).await;
    let (token_of_reader, reader) = token(house.cluster, "reader").await;
    house.cluster.grant(&reader, &role("console-reader")).await;
    let (token_of_nobody, nobody) = token(house.cluster, "nobody").await;
    let console = Many::start(&house.admin.kubeconfig, &[]);
    let [accept, cluster] = paths(&name);

    // Without a session there is nothing, whatever the kubeconfig may do.
    let ways = console.get("", "/api/sign-in");
    assert_eq!((ways.code, ways.body), (200, json!({"ways": ["token"]})));
    for path in ["/api/session", "/api/stream?screen=fleet", &cluster] {
        assert_eq!(
            console.get("", path).refused(),
            (401, "NotSignedIn"),
            "{path}"
        );
    }
    let tried = console.write("", &accept, &json!({"dryRun": false}));
    assert_eq!(tried.refused(), (401, "NotSignedIn"));
    for (body, expected) in [
        (json!({"token": "wrong"}), (401, "WrongToken")),
        (json!({"token": ""}), (401, "WrongToken")),
        (json!({"token": "a\nb"}), (401, "WrongToken")),
        (json!({"code": "code"}), (400, "NoSuchWay")),
        (json!({}), (400, "NoSuchWay")),
        (json!({"token": "a".repeat(30_000)}), (413, "TooLarge")),
    ] {
        let refused = console.write("", "/api/session", &body);
        assert_eq!(refused.refused(), expected, "{body}");
    }

    // One who may look.
    let cookie = console.signs_in(&token_of_reader);
    let session = console.get(&cookie, "/api/session").body;
    assert_eq!(session["user"], reader.user, "{session}");
    assert_eq!(session["way"], "token", "{session}");
    assert!(session["until"].is_string(), "{session}");
    assert_eq!(console.get(&cookie, &cluster).code, 200);
    let refused = console.write(&cookie, &accept, &json!({"dryRun": false}));
    assert_eq!(refused.refused(), (403, "Forbidden"), "{}", refused.body);
    let words = refused.body["error"]["message"].as_str().unwrap();
    assert!(words.contains(&reader.user), "{words}");
    // One who may nothing, at the same time.
    let other = console.signs_in(&token_of_nobody);
    let session = console.get(&other, "/api/session").body;
    assert_eq!(session["user"], nobody.user, "{session}");
    let refused = console.get(&other, &cluster);
    assert_eq!(refused.refused(), (403, "Forbidden"), "{}", refused.body);
    assert_eq!(console.get(&cookie, &cluster).code, 200);

    // Sign-out: streams end, and a stolen cookie is worth nothing.
    let mut table = blocking(|| console.port.events(&cookie, "screen=clusters"));
    blocking(|| table.until("window", |_| true));
    let headers = [("cookie", &*cookie), ("x-berth-console", "1")];
    let out = blocking(|| console.port.ask("DELETE", "/api/session", &headers, ""));
    assert_eq!(out.code, 204);
    assert!(blocking(|| table.ends()));
    assert_eq!(
        console.get(&cookie, "/api/session").refused(),
        (401, "NotSignedIn")
    );

    // The account is deleted: the hub's 401 ends the session.
    let account = nobody.user.rsplit(':').next().unwrap();
    let path = format!("/api/v1/namespaces/default/serviceaccounts/{account}");
    house.admin.delete(&path).await.unwrap().ok();
    eventually("the end of the session", async || {
        when(console.get(&other, &cluster), |it| it.code == 401)
    })
    .await;
    let log = format!("{:?}", console.process.log());
    for secret in [&token_of_reader, &token_of_nobody, &cookie] {
        assert!(!log.contains(secret.as_str()), "a secret is in the log");
    }
}

/// A hub that trusts a provider, and a console where users sign in at it.
struct AtProvider {
    issuer: Issuer,
    console: Many,
    cluster: Arc<Cluster>,
}

impl AtProvider {
    async fn start() -> Self {
        let url = format!("https://{PUBLIC}");
        Self::start_at(&url, &["--insecure-http", "--without-tokens"]).await
    }

    async fn start_at(url: &str, flags: &[&str]) -> Self {
        let console = flags;
        let issuer = Issuer::start().await;
        let flags = issuer.flags_of_kubernetes();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let cluster = match Cluster::start_kubernetes(&flags).await {
            Some(cluster) => cluster,
            None => Cluster::start().await,
        };
        let cluster = Arc::new(cluster);
        let hub = Arc::clone(&cluster);
        issuer.tells(move |token, user, groups| hub.accept_token(token, user, groups));
        let admin = cluster.admin().await;
        let [secret, ca] = [issuer.secret_file(), issuer.ca_file()];
        let flags = [
            console,
            &[
                "--oidc-issuer-url",
                issuer.url(),
                "--oidc-client-id",
                CLIENT,
                "--oidc-client-secret-file",
                secret.to_str().unwrap(),
                "--oidc-ca-file",
                ca.to_str().unwrap(),
                "--oidc-extra-scope=groups",
            ],
        ];
        let console = Many::start_with(&admin.kubeconfig, url, &flags.concat());
        Self {
            issuer,
            console,
            cluster,
        }
    }

    /// Begins a sign-in. Returns the address at the provider, and the cookie.
    fn begins(&self, to: &str) -> (String, String) {
        let start = self.console.get("", &format!("/oidc/start?to={to}"));
        assert_eq!(start.code, 303, "{} {}", start.head, start.body);
        let (cookie, rest) = start.cookie();
        assert!(
            cookie.starts_with("__Host-berth-console-login="),
            "{cookie}"
        );
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600");
        (start.header("location").to_owned(), cookie)
    }

    /// The browser comes back to this address, as browsers do from another site.
    fn comes_back(&self, address: &str, cookie: &str) -> Answer {
        let path = address.strip_prefix(&format!("https://{PUBLIC}")).unwrap();
        let headers = [
            ("cookie", cookie),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        blocking(|| self.console.port.ask("GET", path, &headers, ""))
    }

    fn signs_in(&self, user: &str, groups: &[&str]) -> String {
        let (address, login) = self.begins("/clusters");
        let back = self.issuer.signs_in(&address, user, groups);
        let answer = self.comes_back(&back, &login);
        assert_eq!(
            (answer.code, answer.header("location")),
            (303, "/clusters"),
            "{}",
            answer.head
        );
        let (cookie, rest) = answer.cookie();
        assert_eq!(rest, "Path=/; HttpOnly; SameSite=Strict; Secure");
        cookie
    }

    fn session(&self, cookie: &str) -> Answer {
        self.console.get(cookie, "/api/session")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_sign_in_at_an_openid_provider() {
    let at = AtProvider::start().await;
    let ways = at.console.get("", "/api/sign-in").body;
    assert_eq!(ways, json!({"ways": ["oidc"], "issuer": at.issuer.url()}));
    let token = at.console.write("", "/api/session", &json!({"token": "t"}));
    assert_eq!(token.refused(), (400, "NoSuchWay"));

    let cookie = at.signs_in("ada", &["fleet-admins"]);
    let session = at.session(&cookie);
    assert_eq!(session.code, 200, "{}", session.body);
    assert_eq!(session.body["user"], "ada", "{}", session.body);
    let groups = session.body["groups"].to_string();
    assert!(groups.contains("fleet-admins"), "{groups}");
    assert_eq!(session.body["way"], "oidc");
    // The hub decides for ada: nothing is granted to her.
    let refused = at.console.get(&cookie, "/api/clusters/c1");
    assert_eq!(refused.refused(), (403, "Forbidden"), "{}", refused.body);

    // Attacks and failures come back to the page with one word.
    let word = |answer: &Answer| {
        assert_eq!(answer.code, 303, "{} {}", answer.head, answer.body);
        let set = answer.cookie();
        assert!(
            set.0.starts_with("__Host-berth-console-login=") && set.1.ends_with("Max-Age=0"),
            "{set:?}"
        );
        answer.header("location").to_owned()
    };
    let (address, login) = at.begins("//evil.example");
    let back = at.issuer.signs_in(&address, "ada", &[]);
    // Another browser, which has no sign-in, or one of its own.
    assert_eq!(word(&at.comes_back(&back, "")), "/#sign-in=expired");
    let (_, another) = at.begins("/");
    assert_eq!(word(&at.comes_back(&back, &another)), "/#sign-in=expired");
    // A page of another server is not shown then.
    let answer = at.comes_back(&back, &login);
    assert_eq!(answer.header("location"), "/", "{}", answer.head);
    // A code counts once.
    assert_eq!(word(&at.comes_back(&back, &login)), "/#sign-in=failed");
    let (address, login) = at.begins("/");
    let back = at.issuer.signs_in(&address, "ada", &[]);
    let denied = back.replace("code=", "error=access_denied&x=");
    assert_eq!(word(&at.comes_back(&denied, &login)), "/#sign-in=denied");
    at.issuer.is_away(true);
    assert_eq!(word(&at.comes_back(&back, &login)), "/#sign-in=unavailable");
    at.issuer.is_away(false);
    // A token that the hub does not accept: it has ended already.
    at.issuer.tokens_live(-3600);
    let (address, login) = at.begins("/");
    let back = at.issuer.signs_in(&address, "ada", &[]);
    assert_eq!(word(&at.comes_back(&back, &login)), "/#sign-in=untrusted");
    // A sign-in begins at the page only.
    let headers = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    let start = blocking(|| at.console.port.ask("GET", "/oidc/start", &headers, ""));
    assert_eq!(start.refused(), (403, "ForeignOrigin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_renewed_at_the_provider_and_ends_when_that_refuses() {
    let at = AtProvider::start().await;
    at.issuer.tokens_live(10);
    let cookie = at.signs_in("ada", &[]);
    let until = |answer: &Answer| answer.body["until"].as_str().unwrap_or_default().to_owned();
    let first = at.session(&cookie);
    assert_ne!(until(&first), "", "{}", first.body);
    at.issuer.tokens_live(20);
    let renewed = eventually("another token", async || {
        when(at.session(&cookie), |it| until(it) > until(&first))
    })
    .await;
    assert_eq!(renewed.body["user"], "ada", "{}", renewed.body);
    // The provider does not know the session any more.
    at.issuer.forgets();
    eventually("the end of the session", async || {
        when(at.session(&cookie), |it| {
            it.refused() == (401, "NotSignedIn")
        })
    })
    .await;
}

/// Sends a GET over TLS, with a client certificate or none. The error is that of the handshake.
async fn over_tls(
    port: &Port,
    authority: &Authority,
    client: Option<&Issued>,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<(u16, Value), String> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes());
    roots.add(ca.unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        None => config.with_no_client_auth(),
        Some(issued) => {
            let chain = CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes());
            let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
            let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let tcp = tokio::net::TcpStream::connect(&port.address).await.unwrap();
    let name = ServerName::try_from(PUBLIC).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = connector.connect(name, tcp).await.map_err(failed)?;
    let mut text = format!("GET {path} HTTP/1.0\r\nhost: {PUBLIC}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    // In TLS 1.3 a refusal of the client's certificate comes with the first read.
    let read = stream.read_to_end(&mut answer).await;
    if answer.is_empty() {
        return Err(format!("{read:?}"));
    }
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok((code, serde_json::from_str(body).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticating_proxy_names_the_user_and_nobody_else_does() {
    let house = House::shared().await;
    let name = fresh("proxied");
    house.managed_cluster(&name, &[]).await;
    // What the overlay grants the console's account.
    let account = house
        .cluster
        .service_account("default", &fresh("console"))
        .await;
    let impersonate = rule(&["impersonate"], "", &["users", "groups"], &[]);
    house.cluster.grant(&account, &[impersonate]).await;
    let ada = house.developer(&fresh("ada"), &[]).await;

    let folder = tempfile::tempdir().unwrap();
    let (day, now) = (Duration::from_secs(24 * 3600), Timestamp::now());
    let authority = Authority::new("proxies", day, now).unwrap();
    let served = authority.leaf(&[PUBLIC], &[], day, now).unwrap();
    served.write_folder(folder.path()).unwrap();
    let ca_file = folder.path().join("clients.crt");
    std::fs::write(&ca_file, authority.certificate_pem()).unwrap();
    let certificate = |name: &str| authority.client(name, &[], &[], day, now).unwrap();
    let [proxy, other] = ["proxy", "other"].map(certificate);
    let console = Many::start_with(
        &account.kubeconfig,
        &format!("https://{PUBLIC}"),
        &[
            "--cert-dir",
            folder.path().to_str().unwrap(),
            "--requestheader-client-ca-file",
            ca_file.to_str().unwrap(),
            "--requestheader-allowed-names=proxy",
            "--requestheader-group-separator=,",
        ],
    );
    let ask = async |client: Option<&Issued>, path: &str, headers: &[(&str, &str)]| {
        over_tls(&console.port, &authority, client, path, headers).await
    };
    let named = [
        ("x-remote-user", &*ada.user),
        ("x-remote-group", "developers, b"),
    ];

    // Only the proxy reaches the console.
    for client in [None, Some(&other)] {
        let refused = ask(client, "/api/session", &named).await.unwrap_err();
        assert!(refused.contains("ertificate"), "{refused}");
    }
    let (code, session) = ask(Some(&proxy), "/api/session", &named).await.unwrap();
    assert_eq!(
        (code, &session["user"]),
        (200, &json!(ada.user)),
        "{session}"
    );
    assert_eq!(session["way"], "proxy");
    let groups = session["groups"].to_string();
    assert!(
        groups.contains("\"b\"") && groups.contains("\"developers\""),
        "{groups}"
    );
    // ada sees the cluster; a user to whom nothing is granted does not.
    let path = format!("/api/clusters/{name}");
    let seen = ask(Some(&proxy), &path, &named).await.unwrap();
    assert_eq!(seen.0, 200, "{}", seen.1);
    let nobody = [("x-remote-user", "nobody")];
    let unseen = ask(Some(&proxy), &path, &nobody).await.unwrap();
    let reason = &unseen.1["error"]["reason"];
    assert_eq!(
        (unseen.0, reason),
        (403, &json!("Forbidden")),
        "{}",
        unseen.1
    );
    // The proxy cannot be talked into more.
    for headers in [
        &[][..],
        &[("x-remote-group", "developers")],
        &[("x-remote-user", "system:admin")],
        &[
            ("x-remote-user", "ada"),
            ("x-remote-group", "a,system:masters"),
        ],
        &[("x-remote-user", "ada"), ("x-remote-user", "bob")],
    ] {
        let (code, body) = ask(Some(&proxy), "/api/session", headers).await.unwrap();
        let reason = &body["error"]["reason"];
        assert_eq!(
            (code, reason),
            (403, &json!("BadUser")),
            "{headers:?} {body}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_at_the_provider_again_over_the_page_and_by_token() {
    let Some(web) = stage() else {
        return;
    };
    // The console is asked by this address only, so that it has to be known before.
    let [port] = free_ports();
    let url = format!("https://localhost:{port}");
    let at = AtProvider::start_at(&url, &[]).await;
    at.cluster.apply_manifests(&CRDS).await;
    at.issuer.signs_in_at_once("ada", &["fleet-admins"]);
    let ada = at.cluster.user("ada", &[]).await;
    at.cluster.grant(&ada, &role("console-reader")).await;
    let (token, bot) = token(&at.cluster, "bot").await;
    play(
        &web.join("tests/provider.mjs"),
        &[
            ("CONSOLE", &url),
            ("ISSUER", at.issuer.url()),
            ("TOKEN", &token),
            ("BOT", &bot.user),
        ],
    )
    .await;
}
