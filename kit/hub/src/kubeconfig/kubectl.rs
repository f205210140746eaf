//! What kubectl takes as a kubeconfig, each row against kubectl itself: both are asked for the version of a server that records requests.

use std::fs::{self, write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine};
use futures::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::tls::tests::AnyClient;
use crate::values::tests::ROWS;
use crate::{Call, HubApi};

mod rows;

/// Stands for a file that is missing.
const MISSING: &str = "MISSING";

/// What kubectl says when it can ask nobody for a name and a password.
const PROMPT: &str = "error: EOF\n";

/// Rows at a time.
const AT_ONCE: usize = 4;

/// A row of the table.
struct Row {
    config: Files,
    berth: Berth,
}

/// The kubeconfigs of a row, with placeholders: see `rows.txt`.
enum Files {
    /// The fields of a cluster and of a user.
    Of(&'static str, &'static str),
    /// As `--kubeconfig`.
    File(String),
    /// As `$KUBECONFIG`.
    Several(Vec<&'static str>),
}

/// What Berth does.
#[derive(Clone, Copy)]
enum Berth {
    /// As kubectl: both are refused, or send the same request.
    Same,
    /// kubectl sends a request. Berth refuses, with these words, which say why.
    Refuses(&'static str),
    /// kubectl refuses, and Berth sends a request; why.
    Takes(&'static str),
    /// Both send a request, and not the same; why.
    Differs(&'static str),
}

/// A request as a server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    /// `A`, `B` or `S`.
    server: char,
    path: String,
    /// Authorization and impersonation.
    headers: Vec<String>,
    has_certificate: bool,
    /// The name that TLS asked for.
    name: Option<String>,
}

/// The result of a kubeconfig: the request and the namespace, or the error.
type RequestOutcome = Result<(Asked, String), String>;

/// The servers of a row.
struct Servers {
    asked: Arc<Mutex<Vec<Asked>>>,
    ports: [u16; 3],
    ca: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_takes_is_taken() {
    let _ = default_provider().install_default();
    if !has_kubectl() {
        eprintln!("skipped: there is no kubectl");
        return;
    }
    let of_values = ROWS.iter().map(|&(cluster, user, _)| Row {
        config: Files::Of(cluster, user),
        berth: Berth::Same,
    });
    let rows: Vec<_> = of_values.chain(rows::all()).collect();
    let count = rows.len();
    let faults = futures::stream::iter(rows)
        .map(|row| async move { tokio::spawn(fault(row)).await.unwrap() })
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready);
    let faults: Vec<String> = faults.collect().await;
    let all = faults.join("\n\n");
    assert!(all.is_empty(), "{} of {count} rows:\n{all}", faults.len());
}

fn has_kubectl() -> bool {
    let mut command = Command::new("kubectl");
    command.args(["version", "--client"]).stdout(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

/// What is wrong with a row.
async fn fault(row: Row) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let servers = Servers::start().await;
    let files = servers.files(&folder, &row.config);
    let (paths, text) = &files;
    let kubectl = servers.kubectl(&folder, paths).await;
    let kubectl = with_namespace(kubectl, &folder, paths, text).await;
    let berth = servers.berth(paths).await;
    let is_right = match (&row.berth, &kubectl, &berth) {
        (Berth::Same, Err(_), Err(_)) => true,
        // kubectl asks for a name and a password, and there is nobody.
        (Berth::Same, Err(error), Ok((asked, _))) => error == PROMPT && asked.is_anonymous(),
        (Berth::Same, Ok(one), Ok(other)) => one == other,
        (Berth::Refuses(words), Ok(_), Err(error)) => error.contains(words),
        (Berth::Takes(_), Err(_), Ok(_)) => true,
        (Berth::Differs(_), Ok(one), Ok(other)) => one != other,
        _ => false,
    };
    let expected = match row.berth {
        Berth::Same => "the same".to_owned(),
        Berth::Refuses(words) => format!("Berth refuses: {words}"),
        Berth::Takes(why) => format!("Berth takes it: {why}"),
        Berth::Differs(why) => format!("Berth differs: {why}"),
    };
    (!is_right)
        .then(|| format!("{text}\n  expected {expected}\n  kubectl {kubectl:?}\n  Berth {berth:?}"))
}

// === impl Asked ===

impl Asked {
    fn is_anonymous(&self) -> bool {
        let has_header = self
            .headers
            .iter()
            .any(|it| it.starts_with("authorization"));
        self.server == 'S' && !has_header && !self.has_certificate
    }
}

// === impl Servers ===

impl Servers {
    async fn start() -> Self {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::default();
        ca.distinguished_name.push(DnType::CommonName, "ca");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let names = ["127.0.0.1", "localhost", "other.example"].map(str::to_owned);
        let leaf = CertificateParams::new(names).unwrap();
        let leaf = leaf.signed_by(&key, &Issuer::new(ca, &ca_key)).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .unwrap();
        let identity = CertifiedKey::new(vec![leaf.der().clone()], key);
        let config = ServerConfig::builder()
            .with_client_cert_verifier(Arc::new(AnyClient))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity)));
        let tls = TlsAcceptor::from(Arc::new(config));
        let asked = Arc::default();
        let mut ports = [0; 3];
        for (at, server) in ['A', 'B', 'S'].into_iter().enumerate() {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            ports[at] = listener.local_addr().unwrap().port();
            let tls = (server == 'S').then(|| tls.clone());
            tokio::spawn(serve(listener, server, tls, Arc::clone(&asked)));
        }
        Self {
            asked,
            ports,
            ca: BASE64_STANDARD.encode(ca_pem),
        }
    }

    /// Writes the files of a row. Returns the paths of its kubeconfigs, and their text.
    fn files(&self, folder: &TempDir, files: &Files) -> (Vec<PathBuf>, String) {
        let at = |name: &str| folder.path().join(name);
        let key = KeyPair::generate().unwrap();
        let client = CertificateParams::default().self_signed(&key).unwrap();
        let (client, key) = (client.pem(), key.serialize_pem());
        // Without arguments it is that of the reader's own table.
        let plugin = "#!/bin/sh\ntest $# = 0 && MORE='\\\\n' && set v1\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/%s\",\"kind\":\"ExecCredential\",\
                      \"status\":{\"token\":\"from-exec%s\"}}' \"$1\" \"$MORE\"";
        fs::create_dir(at("home")).unwrap();
        for (name, content) in [
            ("good", "abc\n"),
            ("two", "a\nb"),
            ("empty", " \n"),
            ("plugin", plugin),
            ("client.crt", &client),
            ("client.key", &key),
        ] {
            write(at(name), content).unwrap();
        }
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(at("plugin"), executable).unwrap();
        write(at("ca.crt"), BASE64_STANDARD.decode(&self.ca).unwrap()).unwrap();
        let [a, b, s] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let fill = |text: &str| {
            text.replace("https://127.0.0.1:1'", &format!("https://{s}'"))
                .replace("127.0.0.1:1'", &format!("{a}'"))
                .replace("127.0.0.1:1/", &format!("{a}/"))
                .replace("[::1]:1'", &format!("{a}'"))
                .replace("[plugin]", &format!("['{}']", at("plugin").display()))
                .replace("{A}", &format!("http://{a}"))
                .replace("{B}", &format!("http://{b}"))
                .replace("{S}", &format!("https://{s}"))
                .replace("{HOST}", &a)
                .replace("{CA}", &self.ca)
                .replace("{CERT}", &BASE64_STANDARD.encode(&client))
                .replace("{KEY}", &BASE64_STANDARD.encode(&key))
                .replace("{DIR}", folder.path().to_str().unwrap())
        };
        let texts = match files {
            Files::Of(cluster, user) => vec![format!(
                "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
                 clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
            )],
            Files::File(text) => vec![text.clone()],
            Files::Several(texts) => texts.iter().map(|&it| it.to_owned()).collect(),
        };
        let paths = texts.iter().enumerate().map(|(number, text)| {
            let path = at(&format!("kubeconfig-{number}"));
            if text != MISSING {
                write(&path, fill(text)).unwrap();
            }
            path
        });
        (paths.collect(), texts.join("\n  and "))
    }

    async fn kubectl(&self, folder: &TempDir, paths: &[PathBuf]) -> Result<Asked, String> {
        let output = kubectl(
            folder,
            paths,
            &["version", "-o", "json", "--request-timeout=5s"],
        );
        let (is_ok, _, stderr) = output.await;
        match self.last() {
            Some(asked) if is_ok => Ok(asked),
            _ => Err(stderr),
        }
    }

    async fn berth(&self, paths: &[PathBuf]) -> RequestOutcome {
        let (access, environment) = match paths {
            [path] => (
                Access::of_command(Some(path.clone())),
                Environment::default(),
            ),
            paths => {
                let environment = Environment {
                    kubeconfig: Some(env::join_paths(paths).unwrap()),
                    home: None,
                };
                (Access::of_command(None), environment)
            }
        };
        let loaded = load(&access, &environment).map_err(|it| it.to_string())?;
        let namespace = loaded.config.default_namespace.clone();
        let hub = HubApi::of(loaded.config)
            .await
            .map_err(|it| it.to_string())?;
        let answer = hub.call(Call::get("/version")).await;
        answer.map_err(|it| it.to_string())?;
        let asked = self.last().ok_or("another server answered")?;
        Ok((asked, namespace))
    }

    /// The last request. Forgets all.
    fn last(&self) -> Option<Asked> {
        noted(&self.asked).drain(..).next_back()
    }
}

fn noted(asked: &Mutex<Vec<Asked>>) -> MutexGuard<'_, Vec<Asked>> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The namespace that kubectl reads of files that have one.
async fn with_namespace(
    asked: Result<Asked, String>,
    folder: &TempDir,
    paths: &[PathBuf],
    text: &str,
) -> RequestOutcome {
    let asked = asked?;
    let mut namespace = String::new();
    if text.contains("namespace") {
        let args = ["config", "view", "--minify", "-o", "jsonpath={..namespace}"];
        let (is_ok, stdout, stderr) = kubectl(folder, paths, &args).await;
        if !is_ok {
            return Err(stderr);
        }
        namespace = stdout;
    }
    if namespace.is_empty() {
        namespace = "default".to_owned();
    }
    Ok((asked, namespace))
}

/// Runs kubectl. Returns whether it succeeded, and what it wrote.
async fn kubectl(folder: &TempDir, paths: &[PathBuf], args: &[&str]) -> (bool, String, String) {
    let mut command = Command::new("kubectl");
    command
        .args(args)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path().join("home"))
        .stdin(Stdio::null());
    match paths {
        [path] => command.arg("--kubeconfig").arg(path),
        paths => command.env("KUBECONFIG", env::join_paths(paths).unwrap()),
    };
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (output.status.success(), stdout, stderr)
}

async fn serve(
    listener: TcpListener,
    server: char,
    tls: Option<TlsAcceptor>,
    asked: Arc<Mutex<Vec<Asked>>>,
) {
    while let Ok((tcp, _)) = listener.accept().await {
        let (tls, asked) = (tls.clone(), Arc::clone(&asked));
        tokio::spawn(async move {
            let Some(tls) = tls else {
                return answer(tcp, |path, headers| {
                    noted(&asked).push(Asked {
                        server,
                        path,
                        headers,
                        has_certificate: false,
                        name: None,
                    });
                })
                .await;
            };
            let Ok(stream) = tls.accept(tcp).await else {
                return;
            };
            let peer = stream.get_ref().1;
            let has_certificate = peer.peer_certificates().is_some();
            let name = peer.server_name().map(str::to_owned);
            answer(stream, |path, headers| {
                noted(&asked).push(Asked {
                    server,
                    path,
                    headers,
                    has_certificate,
                    name: name.clone(),
                });
            })
            .await;
        });
    }
}

/// Answers each request with a version, and notes its path and headers.
async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    note: impl Fn(String, Vec<String>),
) {
    const BODY: &str = r#"{"major": "1", "minor": "32", "gitVersion": "v1.32.4"}"#;
    let mut read = Vec::new();
    loop {
        while let Some(end) = read.windows(4).position(|it| it == b"\r\n\r\n") {
            let head: Vec<u8> = read.drain(..end + 4).collect();
            let head = String::from_utf8_lossy(&head).into_owned();
            let mut lines = head.lines();
            let path = lines.next().and_then(|it| it.split(' ').nth(1));
            let path = path.unwrap_or_default().split('?').next();
            let is_about_user = |line: &&str| {
                let line = line.to_lowercase();
                line.starts_with("authorization:") || line.starts_with("impersonate")
            };
            let headers = lines.filter(is_about_user).map(|line| {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                format!("{}:{value}", name.to_lowercase())
            });
            let mut headers: Vec<_> = headers.collect();
            headers.sort();
            note(path.unwrap_or_default().to_owned(), headers);
            let length = BODY.len();
            let response = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{BODY}"
            );
            if stream.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(count @ 1..) => read.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
}
