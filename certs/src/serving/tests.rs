use std::fs;
use std::path::{Path, PathBuf};

use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};

use super::*;
use crate::folder::Folder;
use crate::issue::{Authority, Issued};
use crate::pem::Problem;
use crate::testing::{Client, HOUR, KubeletVolume, authority, connect, leaf};

/// A server with a kubelet volume in a directory of its own, optionally with a client CA.
struct ServingFixture {
    authority: Authority,
    volume: KubeletVolume,
    tls: Arc<ServingTls>,
    seen: Arc<Mutex<Vec<(Part, ReloadOutcome)>>>,
    dir: tempfile::TempDir,
}

impl ServingFixture {
    fn new() -> Self {
        Self::with(TlsOptions::default(), None)
    }

    fn with(options: TlsOptions, client_auth: Option<(&Authority, &[&str])>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = authority();
        let mut volume = KubeletVolume::new(&dir.path().join("certs"));
        volume.swap(&leaf(&authority));
        let client_auth = client_auth.and_then(|(ca, names)| {
            let file = client_ca_file(dir.path());
            fs::write(&file, ca.certificate_pem()).unwrap();
            let names = names.iter().map(ToString::to_string).collect();
            ClientAuth::new(Some(file), names).unwrap()
        });
        let seen = Arc::new(Mutex::new(Vec::new()));
        let observed = Arc::clone(&seen);
        let observer = move |part, outcome: &ReloadOutcome| {
            observed.lock().unwrap().push((part, outcome.clone()))
        };
        let folder = Folder::new(dir.path().join("certs"));
        let tls =
            ServingTls::new(folder, options, client_auth, observer, Timestamp::now()).unwrap();
        Self {
            authority,
            volume,
            tls: Arc::new(tls),
            seen,
            dir,
        }
    }

    fn client(&self) -> Client {
        Client::new(self.authority.certificate_pem())
    }

    fn reload(&self) -> Reload {
        self.tls.reload_once(Timestamp::now())
    }

    /// The certificate of a new connection, DER.
    async fn served(&self) -> Vec<u8> {
        self.client()
            .connect(self.tls.current())
            .await
            .unwrap()
            .served
    }
}

fn client_ca_file(dir: &Path) -> PathBuf {
    dir.join("client-ca.crt")
}

fn der(issued: &Issued) -> Vec<u8> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes())
        .unwrap()
        .to_vec()
}

fn min13() -> TlsOptions {
    TlsOptions::parse::<&str>("VersionTLS13", &[]).unwrap().0
}

fn suites(list: &str) -> TlsOptions {
    TlsOptions::parse("", &[list]).unwrap().0
}

#[tokio::test]
async fn versions_suites_and_protocols_are_negotiated() {
    const ECDSA: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    let any = rustls::ALL_VERSIONS;
    let v = |version: ProtocolVersion, alpn: Option<&str>| {
        Ok((version, alpn.map(|name| name.as_bytes().to_vec())))
    };
    let tls12 = ProtocolVersion::TLSv1_2;
    let tls13 = ProtocolVersion::TLSv1_3;
    static ONLY12: &[&rustls::SupportedProtocolVersion] = &[&TLS12];
    static ONLY13: &[&rustls::SupportedProtocolVersion] = &[&TLS13];
    type Alpn = &'static [&'static [u8]];
    const NONE: Alpn = &[];
    const HTTP1: Alpn = &[b"http/1.1"];
    const H2: Alpn = &[b"h2"];
    const BOTH: Alpn = &[b"http/1.1", b"h2"];
    // (sentence, options, client's versions, client's ALPN, agreed or the server's words)
    let table = [
        (
            "a client without ALPN",
            TlsOptions::default(),
            any,
            NONE,
            v(tls13, None),
        ),
        (
            "the API server speaks http/1.1 only",
            TlsOptions::default(),
            any,
            HTTP1,
            v(tls13, Some("http/1.1")),
        ),
        (
            "a client of h2 only",
            TlsOptions::default(),
            any,
            H2,
            v(tls13, Some("h2")),
        ),
        (
            "h2 is preferred",
            TlsOptions::default(),
            any,
            BOTH,
            v(tls13, Some("h2")),
        ),
        (
            "a client of TLS 1.2",
            TlsOptions::default(),
            ONLY12,
            HTTP1,
            v(tls12, Some("http/1.1")),
        ),
        (
            "a client of TLS 1.3",
            TlsOptions::default(),
            ONLY13,
            H2,
            v(tls13, Some("h2")),
        ),
        (
            "1.3 as minimum serves 1.3",
            min13(),
            any,
            NONE,
            v(tls13, None),
        ),
        (
            "1.3 as minimum refuses 1.2",
            min13(),
            ONLY12,
            NONE,
            Err("Tls12NotOfferedOrEnabled"),
        ),
        (
            "a selected suite of 1.2 is served",
            suites(ECDSA),
            ONLY12,
            NONE,
            v(tls12, None),
        ),
        (
            "an RSA suite is of no use to an ECDSA key",
            suites("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            ONLY12,
            NONE,
            Err("NoCipherSuitesInCommon"),
        ),
        (
            "only suites of 1.3 leave 1.3",
            suites("TLS_AES_128_GCM_SHA256"),
            any,
            NONE,
            v(tls13, None),
        ),
        (
            "only suites of 1.3 refuse 1.2",
            suites("TLS_AES_128_GCM_SHA256"),
            ONLY12,
            NONE,
            Err("Tls12NotOfferedOrEnabled"),
        ),
    ];
    for (sentence, options, versions, alpn, expected) in table {
        let hub = ServingFixture::with(options, None);
        let client = Client {
            versions,
            alpn,
            ..hub.client()
        };
        match (client.connect(hub.tls.current()).await, expected) {
            (Ok(agreed), Ok(expected)) => {
                assert_eq!((agreed.version, agreed.alpn), expected, "{sentence}");
            }
            (Err(text), Err(part)) => assert!(text.contains(part), "{sentence}: {text}"),
            (got, expected) => panic!("{sentence}: {got:?} instead of {expected:?}"),
        }
    }
}

#[tokio::test]
async fn a_swapped_folder_is_served_to_new_connections() {
    let mut hub = ServingFixture::new();
    let before = hub.served().await;
    assert_eq!(hub.reload().certificate, ReloadOutcome::Unchanged);
    assert_eq!(hub.served().await, before);

    let of_before = hub.tls.current();
    let renewed = hub
        .authority
        .leaf(&[crate::testing::NAME], &[], 2 * HOUR, Timestamp::now())
        .unwrap();
    hub.volume.swap(&renewed);
    assert_eq!(hub.served().await, before, "nothing changes by itself");
    let expected = ReloadOutcome::Reloaded {
        not_after: renewed.not_after,
    };
    assert_eq!(
        hub.reload(),
        Reload {
            certificate: expected.clone(),
            client_ca: None
        }
    );
    assert_eq!(hub.served().await, der(&renewed));
    assert_eq!(hub.tls.not_after(), renewed.not_after);
    assert_eq!(
        hub.client().connect(of_before).await.unwrap().served,
        before,
        "who began with the old one ends with it"
    );
    assert_eq!(
        *hub.seen.lock().unwrap(),
        [
            (Part::Certificate, ReloadOutcome::Unchanged),
            (Part::Certificate, expected)
        ]
    );
}

#[tokio::test]
async fn an_invalid_reload_changes_nothing_and_the_next_valid_one_succeeds() {
    let now = Timestamp::now();
    let mut hub = ServingFixture::new();
    let served = hub.served().await;
    let not_after = hub.tls.not_after();
    let good = leaf(&hub.authority);
    let other = leaf(&hub.authority);
    let old = Authority::new("old", HOUR, now - 48 * HOUR).unwrap();
    let expired = old.leaf(&["a"], &[], HOUR, now - 48 * HOUR).unwrap();

    // (sentence, tls.crt, tls.key, part of the error)
    let table = [
        ("nothing", "", "", "holds no PEM certificate"),
        (
            "half a certificate",
            &good.certificate_pem[..100],
            good.key_pem.as_str(),
            "begins and does not end",
        ),
        (
            "a key of another",
            &good.certificate_pem,
            &other.key_pem,
            "does not match",
        ),
        (
            "an expired pair",
            &expired.certificate_pem,
            &expired.key_pem,
            "expired on",
        ),
    ];
    for (sentence, certificate, key, part) in table {
        hub.volume.swap_content(certificate, key);
        let ReloadOutcome::Failed { error } = hub.reload().certificate else {
            panic!("{sentence}: loaded");
        };
        assert!(error.to_string().contains(part), "{sentence}: {error}");
        assert_eq!(hub.served().await, served, "{sentence}");
        assert_eq!(hub.tls.not_after(), not_after, "{sentence}");
    }

    hub.volume.swap(&good);
    assert!(matches!(
        hub.reload().certificate,
        ReloadOutcome::Reloaded { .. }
    ));
    assert_eq!(hub.served().await, der(&good));
}

#[test]
fn a_served_certificate_that_expires_is_reported_and_stays() {
    let hub = ServingFixture::new();
    let later = hub.tls.not_after() + HOUR;
    assert!(hub.tls.is_valid_at(Timestamp::now()));
    let outcome = hub.tls.reload_once(later).certificate;
    let ReloadOutcome::Failed { error } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        error.problem,
        Problem::Expired {
            not_after: hub.tls.not_after()
        }
    );
    assert!(!hub.tls.is_valid_at(later));
    assert_eq!(hub.reload().certificate, ReloadOutcome::Unchanged);
}

#[test]
fn each_invalid_content_is_logged_once_and_always_counted() {
    let mut hub = ServingFixture::new();
    let good = leaf(&hub.authority);
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());

    // (sentence, content, warnings so far)
    let table = [
        ("the first time", Some("a"), 1),
        ("the same again", None, 1),
        ("another content with the same problem", Some("b"), 2),
        ("and again", None, 2),
        ("mended", Some(good.certificate_pem.as_str()), 2),
        ("invalid as before", Some("b"), 3),
    ];
    for (sentence, content, warnings) in table {
        if let Some(content) = content {
            hub.volume.swap_content(content, &good.key_pem);
        }
        hub.reload();
        assert_eq!(logged.warnings(), warnings, "{sentence}");
    }
    let failed =
        |(_, outcome): &&(Part, ReloadOutcome)| matches!(outcome, ReloadOutcome::Failed { .. });
    assert_eq!(hub.seen.lock().unwrap().iter().filter(failed).count(), 5);
}

#[tokio::test]
async fn clients_are_let_in_by_certificate_and_name() {
    let now = Timestamp::now();
    let clients = Authority::new("client authority", 24 * HOUR, now).unwrap();
    let strangers = Authority::new("client authority", 24 * HOUR, now).unwrap();
    let issue =
        |ca: &Authority, cn: &str, dns: &[&str]| ca.client(cn, &["group"], dns, HOUR, now).unwrap();
    let server_pair = clients.leaf(&["kube-apiserver"], &[], HOUR, now).unwrap();
    let named: &[&str] = &["kube-apiserver", "api.example.com"];
    let any: &[&str] = &[];
    // (sentence, names allowed, certificate, the server's words when refused)
    let table = [
        (
            "the right common name",
            named,
            Some(issue(&clients, "kube-apiserver", &[])),
            None,
        ),
        (
            "the right DNS name",
            named,
            Some(issue(&clients, "x", &["y.example.com", "api.example.com"])),
            None,
        ),
        (
            "any certificate of the CA",
            any,
            Some(issue(&clients, "x", &[])),
            None,
        ),
        (
            "no certificate",
            named,
            None,
            Some("peer sent no certificates"),
        ),
        (
            "no certificate where any would do",
            any,
            None,
            Some("peer sent no certificates"),
        ),
        (
            "the wrong names",
            named,
            Some(issue(&clients, "dev", &["dev.example.com"])),
            Some(
                "client certificate with common name [\"dev\"] and DNS names [\"dev.example.com\"] has none of the names in --client-names",
            ),
        ),
        (
            "part of a name",
            named,
            Some(issue(&clients, "kube-apiserver2", &["api.example.co"])),
            Some("has none of the names"),
        ),
        (
            "a name in other case",
            named,
            Some(issue(&clients, "Kube-Apiserver", &[])),
            Some("has none of the names"),
        ),
        (
            "a group is not a name",
            named,
            Some(
                clients
                    .client("x", &["kube-apiserver"], &[], HOUR, now)
                    .unwrap(),
            ),
            Some("has none of the names"),
        ),
        (
            "the right name from a stranger",
            named,
            Some(issue(&strangers, "kube-apiserver", &[])),
            Some("invalid peer certificate: BadSignature"),
        ),
        (
            "a serving certificate",
            named,
            Some(server_pair),
            Some("certificate does not allow extended key usage for client"),
        ),
    ];
    for (sentence, names, certificate, refused) in table {
        let hub = ServingFixture::with(TlsOptions::default(), Some((&clients, names)));
        for versions in [rustls::ALL_VERSIONS, TLS12_ONLY] {
            let client = Client {
                versions,
                certificate: certificate.clone(),
                ..hub.client()
            };
            match (client.connect(hub.tls.current()).await, refused) {
                (Ok(_), None) => {}
                (Err(text), Some(part)) => assert!(text.contains(part), "{sentence}: {text}"),
                (got, _) => panic!("{sentence}: {got:?}"),
            }
        }
    }
}

static TLS12_ONLY: &[&rustls::SupportedProtocolVersion] = &[&TLS12];

#[tokio::test]
async fn the_client_ca_is_reloaded_apart_from_the_certificate() {
    let now = Timestamp::now();
    let old = Authority::new("client authority 1", 24 * HOUR, now).unwrap();
    let new = Authority::new("client authority 2", 24 * HOUR, now).unwrap();
    let mut hub = ServingFixture::with(TlsOptions::default(), Some((&old, &[])));
    let file = client_ca_file(hub.dir.path());
    let by_old = hub
        .client()
        .with_certificate(&old.client("a", &[], &[], HOUR, now).unwrap());
    let by_new = hub
        .client()
        .with_certificate(&new.client("a", &[], &[], HOUR, now).unwrap());
    let lets_in = async |client: &Client, hub: &ServingFixture| {
        client.connect(hub.tls.current()).await.is_ok()
    };
    assert!(lets_in(&by_old, &hub).await && !lets_in(&by_new, &hub).await);
    assert_eq!(hub.reload().client_ca, Some(ReloadOutcome::Unchanged));

    fs::write(
        &file,
        format!("{}{}", old.certificate_pem(), new.certificate_pem()),
    )
    .unwrap();
    let first = old.not_after().min(new.not_after());
    assert_eq!(
        hub.reload().client_ca,
        Some(ReloadOutcome::Reloaded { not_after: first })
    );
    assert!(
        lets_in(&by_old, &hub).await && lets_in(&by_new, &hub).await,
        "the union lets in both"
    );

    // (sentence, content, part of the error)
    let cut = &old.certificate_pem()[..200];
    let table = [
        ("nothing", "", "holds no PEM certificate"),
        ("half a bundle", cut, "begins and does not end"),
        (
            "no certificate inside",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "certificate 1 of the file cannot be decoded",
        ),
    ];
    for (sentence, content, part) in table {
        fs::write(&file, content).unwrap();
        let renewed = leaf(&hub.authority);
        hub.volume.swap(&renewed);
        let reload = hub.reload();
        let Some(ReloadOutcome::Failed { error }) = &reload.client_ca else {
            panic!("{sentence}: {reload:?}")
        };
        assert_eq!(error.file, file.display().to_string(), "{sentence}");
        assert!(error.to_string().contains(part), "{sentence}: {error}");
        assert!(
            matches!(reload.certificate, ReloadOutcome::Reloaded { .. }),
            "{sentence}: {reload:?}"
        );
        assert_eq!(
            by_old.connect(hub.tls.current()).await.unwrap().served,
            der(&renewed),
            "{sentence}"
        );
    }

    hub.volume.swap_content("", "");
    fs::write(&file, new.certificate_pem()).unwrap();
    let reload = hub.reload();
    assert_eq!(
        reload.client_ca,
        Some(ReloadOutcome::Reloaded {
            not_after: new.not_after()
        })
    );
    assert!(
        matches!(reload.certificate, ReloadOutcome::Failed { .. }),
        "{reload:?}"
    );
    assert!(
        !lets_in(&by_old, &hub).await && lets_in(&by_new, &hub).await,
        "the old one is out"
    );
}

#[tokio::test]
async fn a_session_does_not_outlive_the_client_ca_that_let_it_in() {
    let now = Timestamp::now();
    let old = Authority::new("client authority 1", 24 * HOUR, now).unwrap();
    let new = Authority::new("client authority 2", 24 * HOUR, now).unwrap();
    let hub = ServingFixture::with(TlsOptions::default(), Some((&old, &[])));
    let client = Client {
        // In TLS 1.2, the client has the session after the handshake; in TLS 1.3, it arrives later.
        versions: TLS12_ONLY,
        ..hub
            .client()
            .with_certificate(&old.client("a", &[], &[], HOUR, now).unwrap())
    };
    let client = client.config();
    for resumed in [false, true] {
        let agreed = connect(Arc::clone(&client), hub.tls.current())
            .await
            .unwrap();
        assert_eq!(agreed.resumed, resumed);
    }
    fs::write(client_ca_file(hub.dir.path()), new.certificate_pem()).unwrap();
    hub.reload();
    let refused = connect(client, hub.tls.current()).await.unwrap_err();
    assert!(
        refused.contains("invalid peer certificate: UnknownIssuer"),
        "{refused}"
    );
}

#[test]
fn a_server_does_not_start_without_a_valid_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let start = |client_auth| {
        let folder = Folder::new(dir.path());
        ServingTls::new(
            folder,
            TlsOptions::default(),
            client_auth,
            |_, _| {},
            Timestamp::now(),
        )
    };
    let error = start(None).unwrap_err();
    assert_eq!(error.problem, Problem::Missing);
    assert_eq!(error.file, dir.path().join("tls.crt").display().to_string());

    leaf(&authority()).write_folder(dir.path()).unwrap();
    assert!(start(None).is_ok());
    let error =
        start(ClientAuth::new(Some(client_ca_file(dir.path())), vec![]).unwrap()).unwrap_err();
    assert_eq!(error.problem, Problem::Missing);
    assert_eq!(error.file, client_ca_file(dir.path()).display().to_string());
}

#[tokio::test]
async fn the_watch_reloads_after_a_swap_and_ends_when_cancelled() {
    let mut hub = ServingFixture::new();
    let cancel = CancellationToken::new();
    let watch = tokio::spawn(Arc::clone(&hub.tls).watch(Duration::from_millis(5), cancel.clone()));
    let renewed = leaf(&hub.authority);
    hub.volume.swap(&renewed);
    let picked_up = async {
        while hub.served().await != der(&renewed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), picked_up)
        .await
        .unwrap();
    cancel.cancel();
    tokio::time::timeout(Duration::from_secs(10), watch)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_panicking_observer_ends_the_watch() {
    let dir = tempfile::tempdir().unwrap();
    leaf(&authority()).write_folder(dir.path()).unwrap();
    let folder = Folder::new(dir.path());
    let observer = |_, _: &ReloadOutcome| panic!("observed");
    let tls = ServingTls::new(
        folder,
        TlsOptions::default(),
        None,
        observer,
        Timestamp::now(),
    )
    .unwrap();
    let watch = tokio::spawn(Arc::new(tls).watch(Duration::ZERO, CancellationToken::new()));
    assert!(watch.await.unwrap_err().is_panic());
}

/// Counts warnings.
#[derive(Clone, Default)]
struct Logged(Arc<std::sync::atomic::AtomicUsize>);

impl Logged {
    fn warnings(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl tracing::Subscriber for Logged {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
