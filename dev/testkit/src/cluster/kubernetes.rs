//! A real etcd and kube-apiserver, and kube-controller-manager if it is installed.
//!
//! RBAC authorizes; users have certificates of a separate CA, service accounts have tokens signed with a separate key, and
//! anonymous requests are refused. All files are in one temporary folder.

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use jiff::Timestamp;
use tempfile::TempDir;

use super::http::Answer;
use super::janitor::{self, Process};
use super::person::{Credentials, Person};
use crate::eventually_within;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The time that a program may take until it responds, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The controllers that tests need: those of namespaces, garbage collection, service accounts and certificates.
const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,serviceaccount-controller,\
    serviceaccount-token-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller,\
    certificatesigningrequest-approving-controller,certificatesigningrequest-signing-controller";

/// The programs, while they run.
pub(crate) struct Kubernetes {
    port: u16,
    serving: Issued,
    users: Authority,
    controller_manager: Option<Process>,
    admin: Person,
    apiserver: Started,
    etcd: Started,
    folder: TempDir,
}

/// The reason why a program did not start.
enum StartError {
    /// Another process took its port after it was found free.
    PortTaken,
    Other(String),
}

impl Kubernetes {
    /// Starts the programs of a folder, with these flags of kube-apiserver besides the usual ones.
    pub(crate) async fn start(assets: &Path, flags: &[&str]) -> Self {
        for _ in 0..5 {
            match Self::attempt(assets, flags).await {
                Ok(kubernetes) => return kubernetes,
                Err(StartError::PortTaken) => {}
                Err(StartError::Other(why)) => panic!("{why}"),
            }
        }
        panic!("somebody always takes the ports that were found free");
    }

    async fn attempt(assets: &Path, flags: &[&str]) -> Result<Self, StartError> {
        let folder = TempDir::with_prefix("berth-hub-").unwrap();
        janitor::remove_at_the_end(folder.path());
        let path = |file: &str| folder.path().join(file).display().to_string();
        let now = Timestamp::now();
        let authority = |name: &str| Authority::new(name, DAY, now).unwrap();
        let users = authority("users");
        let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
        let serving = authority("hub")
            .leaf(&["localhost", "kubernetes"], &[loopback], DAY, now)
            .unwrap();
        let accounts = authority("accounts")
            .leaf(&["accounts"], &[], DAY, now)
            .unwrap();
        // The CA that signs CSRs needs its key in a file, which an Authority does not export.
        let (signer, signer_key) = signer();
        for (file, content) in [
            ("tls.crt", &serving.certificate_pem),
            ("tls.key", &serving.key_pem),
            ("hub-ca.crt", &serving.ca_pem),
            // kube-apiserver also reads public keys from certificates.
            ("accounts.crt", &accounts.certificate_pem),
            ("accounts.key", &accounts.key_pem),
            ("signer.crt", &signer),
            ("signer.key", &signer_key),
            (
                "clients-ca.crt",
                &format!("{}{signer}", users.certificate_pem()),
            ),
        ] {
            fs::write(path(file), content).unwrap();
        }

        let [client_port, peer_port, port] = free_ports();
        let [client_url, peer_url] =
            [client_port, peer_port].map(|port| format!("http://127.0.0.1:{port}"));
        let mut etcd = start(
            &assets.join("etcd"),
            folder.path(),
            &[
                format!("--data-dir={}", path("etcd")),
                format!("--listen-client-urls={client_url}"),
                format!("--advertise-client-urls={client_url}"),
                format!("--listen-peer-urls={peer_url}"),
                format!("--initial-advertise-peer-urls={peer_url}"),
                format!("--initial-cluster=default={peer_url}"),
                "--unsafe-no-fsync".to_owned(),
                "--log-level=warn".to_owned(),
            ],
        );
        let mut apiserver = start(
            &assets.join("kube-apiserver"),
            folder.path(),
            &[
                vec![
                    format!("--etcd-servers={client_url}"),
                    "--bind-address=127.0.0.1".to_owned(),
                    "--advertise-address=127.0.0.1".to_owned(),
                    "--endpoint-reconciler-type=none".to_owned(),
                    "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
                    format!("--secure-port={port}"),
                    format!("--cert-dir={}", path("apiserver")),
                    format!("--tls-cert-file={}", path("tls.crt")),
                    format!("--tls-private-key-file={}", path("tls.key")),
                    format!("--client-ca-file={}", path("clients-ca.crt")),
                    "--anonymous-auth=false".to_owned(),
                    "--authorization-mode=RBAC".to_owned(),
                    "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                    format!("--service-account-key-file={}", path("accounts.crt")),
                    format!(
                        "--service-account-signing-key-file={}",
                        path("accounts.key")
                    ),
                    "--profiling=false".to_owned(),
                ],
                flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ]
            .concat(),
        );
        let url = format!("https://127.0.0.1:{port}");
        let admin = users.client("setup", &["system:masters"], &[], DAY, now);
        let admin = Credentials::Certificate(admin.unwrap());
        let admin = Person::new("setup", &url, &serving.ca_pem, &admin, folder.path()).await;
        ready(&admin, &mut [&mut etcd, &mut apiserver]).await?;

        let manager = assets.join("kube-controller-manager");
        let controller_manager = manager.exists().then(|| {
            let flags = [
                format!("--kubeconfig={}", admin.kubeconfig.display()),
                "--secure-port=0".to_owned(),
                "--leader-elect=false".to_owned(),
                format!("--controllers={CONTROLLERS}"),
                format!(
                    "--service-account-private-key-file={}",
                    path("accounts.key")
                ),
                format!("--root-ca-file={}", path("hub-ca.crt")),
                format!("--cluster-signing-cert-file={}", path("signer.crt")),
                format!("--cluster-signing-key-file={}", path("signer.key")),
            ];
            start(&manager, folder.path(), &flags).process
        });
        let controller_manager = controller_manager.flatten();
        Ok(Self {
            port,
            serving,
            users,
            controller_manager,
            admin,
            apiserver,
            etcd,
            folder,
        })
    }

    /// Stops etcd and kube-apiserver.
    pub(crate) fn stop(&mut self) {
        self.apiserver.process = None;
        self.etcd.process = None;
    }

    /// Starts them again, at the same addresses, and returns when they are ready.
    pub(crate) async fn start_again(&mut self) {
        let Self {
            apiserver, etcd, ..
        } = self;
        for program in [&mut *etcd, &mut *apiserver] {
            *program = start(&program.path, self.folder.path(), &program.flags);
        }
        if let Err(StartError::Other(why)) = ready(&self.admin, &mut [etcd, apiserver]).await {
            panic!("{why}");
        }
    }

    /// A copy of what etcd stores, while it is stopped.
    pub(crate) fn saved(&self) -> TempDir {
        let copy = TempDir::with_prefix("berth-etcd-").unwrap();
        janitor::remove_at_the_end(copy.path());
        copy_all(&self.folder.path().join("etcd"), &copy.path().join("etcd"));
        copy
    }

    /// Puts the copy in the place of what etcd stores, while it is stopped.
    pub(crate) fn put_back(&self, copy: &TempDir) {
        let etcd = self.folder.path().join("etcd");
        fs::remove_dir_all(&etcd).unwrap();
        copy_all(&copy.path().join("etcd"), &etcd);
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) fn ca_pem(&self) -> &str {
        &self.serving.ca_pem
    }

    pub(crate) fn has_controller_manager(&self) -> bool {
        self.controller_manager.is_some()
    }

    pub(crate) fn client_certificate(&self, user: &str, groups: &[&str]) -> Issued {
        self.users
            .client(user, groups, &[], DAY, Timestamp::now())
            .unwrap()
    }
}

/// A program, and the path of its log.
struct Started {
    path: PathBuf,
    flags: Vec<String>,
    /// `None` while it is stopped.
    process: Option<Process>,
    log: PathBuf,
}

fn start(program: &Path, folder: &Path, flags: &[String]) -> Started {
    let name = program.file_name().unwrap().to_str().unwrap();
    let log = folder.join(format!("{name}.log"));
    let stdout = File::create(&log).unwrap();
    let stderr = stdout.try_clone().unwrap();
    let process = Process::spawn(
        Command::new(program)
            .args(flags)
            .current_dir(folder)
            .stdout(stdout)
            .stderr(stderr),
    );
    Started {
        path: program.to_owned(),
        flags: flags.to_owned(),
        process: Some(process),
        log,
    }
}

/// Waits until the hub is ready.
async fn ready(admin: &Person, programs: &mut [&mut Started]) -> Result<(), StartError> {
    eventually_within(PATIENCE, "a hub that is ready", async || {
        let answer = admin.get("/readyz").await;
        if matches!(&answer, Ok(Answer { code: 200, .. })) {
            return Ok(Ok(()));
        }
        match programs.iter_mut().find_map(|program| program.ended()) {
            Some(failure) => Ok(Err(failure)),
            None => Err(answer),
        }
    })
    .await
}

impl Started {
    /// The reason why it ended, if it has ended.
    fn ended(&mut self) -> Option<StartError> {
        let status = self.process.as_mut()?.child.try_wait().unwrap()?;
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        if log.contains("address already in use") {
            return Some(StartError::PortTaken);
        }
        let start = log.len().saturating_sub(4000);
        let tail = log.get(start..).unwrap_or(&log);
        Some(StartError::Other(format!(
            "a program ended, {status}: {tail}"
        )))
    }
}

/// A CA as files: certificate and key, PEM.
fn signer() -> (String, String) {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "signer");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn copy_all(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success(), "{}", from.display());
}

/// Different ports that are free now.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
