//! Flags and files with which the server does not start: it ends at once, and the message names the flag or file and the
//! remedy.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use berth_certs::issue::{Authority, Issued};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use berth_testkit::in_process::{HOUR, leaf};
use berth_testkit::{berth, repository};

/// What the server says that is started with these arguments, and its exit code.
fn said(args: &[&str]) -> (i32, String) {
    let output = berth(&[&["webhook-server"][..], args].concat())
        .output()
        .unwrap();
    assert!(output.stdout.is_empty(), "{args:?}");
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// The flags with which it would start, but for what is added.
fn complete<'a>(certs: &'a Path, hub: &'a Path) -> Vec<&'a str> {
    let (certs, hub) = (certs.to_str().unwrap(), hub.to_str().unwrap());
    let ports = [
        "--port",
        "auto",
        "--metrics-port",
        "auto",
        "--health-probe-port",
        "auto",
    ];
    [
        &ports[..],
        &["--bind-address", "127.0.0.1"],
        &["--certdir", certs, "--hub-files", hub],
    ]
    .concat()
}

#[test]
fn bad_flags_are_named() {
    let certs = TempDir::new().unwrap();
    let authority = Authority::new("test", HOUR, Timestamp::now()).unwrap();
    leaf(&authority, HOUR).write_folder(certs.path()).unwrap();
    let missing = certs.path().join("missing");
    let missing = missing.to_str().unwrap();
    let hub = repository("examples/hub");
    for (args, code, message) in [
        // What the parser of the command line finds is 2, as everywhere.
        (
            &["--port", "http"][..],
            2,
            "error: invalid value 'http' for '--port <PORT>': expected a port number, or 'auto' for any free port",
        ),
        (
            &["--metrics-port", "65536"],
            2,
            "error: invalid value '65536' for '--metrics-port <METRICS_PORT>': the highest port is 65535",
        ),
        (
            &["--bind-address", "localhost"],
            2,
            "error: invalid value 'localhost' for '--bind-address <IP>': invalid IP address syntax",
        ),
        (
            &["--shutdown-delay", "soon"],
            2,
            "error: invalid value 'soon' for '--shutdown-delay <DURATION>'",
        ),
        (
            &["--log-format", "xml"],
            2,
            "error: invalid value 'xml' for '--log-format <LOG_FORMAT>'\n  [possible values: text, json]",
        ),
        (
            &["--no-such-flag"],
            2,
            "error: unexpected argument '--no-such-flag' found",
        ),
        (
            &["--kubeconfig", "x"],
            2,
            "error: the argument '--hub-files <PATH>' cannot be used with '--kubeconfig <FILE>'",
        ),
        (
            &["--shutdown-delay=-1s"],
            1,
            "Error: --shutdown-delay: cannot be negative",
        ),
        (
            &["--feature-gates", "DefaultClusterset=true"],
            1,
            "Error: --feature-gates: unknown gate \"DefaultClusterset\"; the gates of the webhooks are DefaultClusterSet, GuardedSelectors, \
             NilExecutorValidating and UnguardedDenial",
        ),
        (
            &["--feature-gates", "DefaultClusterSet"],
            1,
            "Error: --feature-gates: \"DefaultClusterSet\" is not of the form DefaultClusterSet=true or DefaultClusterSet=false",
        ),
        (
            &["--tls-min-version", "SSLv3"],
            1,
            "Error: --tls-min-version: unknown TLS version \"SSLv3\"; use one of",
        ),
        (
            &["--tls-cipher-suites", "TLS_NONE"],
            1,
            "Error: --tls-cipher-suites: ",
        ),
        (
            &["--client-names", "apiserver"],
            1,
            "Error: --client-names: names are checked only on certificates of a known CA; give --client-ca-file as well",
        ),
        (
            &["--client-ca-file", missing, "--client-names", ""],
            1,
            "Error: --client-names: a name is empty",
        ),
        (
            &["--client-ca-file", missing],
            1,
            "Error: MISSING: the file does not exist; write it, or correct the flag that names it",
        ),
        (
            &["--hub-files", missing],
            1,
            "Error: MISSING cannot be read: name a YAML or JSON file, or a folder of such files: No such file",
        ),
    ] {
        let before = if code == 2 {
            vec!["--hub-files", hub.to_str().unwrap()]
        } else {
            complete(certs.path(), &hub)
        };
        let args = [&before[..], args].concat();
        let (found, said) = said(&args);
        assert_eq!(found, code, "{args:?}: {said}");
        let message = message.replace("MISSING", missing);
        assert!(said.contains(&message), "{args:?}: {said}");
    }
}

#[test]
fn a_missing_or_broken_kubeconfig_is_named() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new("test", HOUR, Timestamp::now()).unwrap();
    leaf(&authority, HOUR).write_folder(folder.path()).unwrap();
    let certs = folder.path().to_str().unwrap();
    let broken = folder.path().join("broken");
    fs::write(&broken, "clusters: 7\n").unwrap();
    let broken = broken.to_str().unwrap();
    for (args, message) in [
        (
            &["--kubeconfig", "/nowhere"][..],
            "Error: --kubeconfig /nowhere: ",
        ),
        (
            &["--kubeconfig", broken],
            &*format!("Error: --kubeconfig {broken}: "),
        ),
        (
            &[],
            "Error: this does not run in a cluster: name the hub by --kubeconfig FILE or in $KUBECONFIG, or decide without a hub with --hub-files PATH",
        ),
    ] {
        let (code, said) = said(&[&["--certdir", certs][..], args].concat());
        assert_eq!(code, 1, "{said}");
        assert!(said.starts_with(message), "{said}");
    }
}

#[test]
fn certificates_that_cannot_be_served_are_refused() {
    let now = Timestamp::now();
    let authority = Authority::new("test", 24 * HOUR, now).unwrap();
    let day_before = now - SignedDuration::from_hours(24);
    let old_authority = Authority::new("old", 48 * HOUR, day_before).unwrap();
    let expired = old_authority
        .leaf(&["localhost"], &[], Duration::from_secs(60), day_before)
        .unwrap();
    let good = leaf(&authority, HOUR);
    let with = |certificate: &str, key: &str| Issued {
        certificate_pem: certificate.to_owned(),
        key_pem: key.to_owned(),
        ..good.clone()
    };
    let spoilt = good.certificate_pem.replace("MII", "MIJ");
    let other_key = leaf(&authority, HOUR).key_pem;
    for (sentence, pair, message) in [
        (
            "no PEM",
            with("x", &good.key_pem),
            "tls.crt: the file holds no PEM certificate; it needs a block -----BEGIN CERTIFICATE-----",
        ),
        (
            "no certificate in it",
            with(&spoilt, &good.key_pem),
            "tls.crt: certificate 1 of the file",
        ),
        (
            "cut off",
            with(&good.certificate_pem[..300], &good.key_pem),
            "tls.crt: a PEM block begins and does not end; write the file again",
        ),
        (
            "no key",
            with(&good.certificate_pem, ""),
            "tls.key: the file holds no PEM private key",
        ),
        (
            "another's key",
            with(&good.certificate_pem, &other_key),
            "tls.key: the private key does not match the first certificate of",
        ),
        ("expired", expired, "tls.crt: the certificate expired on"),
    ] {
        let certs = TempDir::new().unwrap();
        pair.write_folder(certs.path()).unwrap();
        let (code, said) = said(&complete(certs.path(), &repository("examples/hub")));
        assert_eq!(code, 1, "{sentence}: {said}");
        let expected = format!("Error: {}/{message}", certs.path().display());
        assert!(said.starts_with(&expected), "{sentence}: {said}");
        assert!(said.contains(';'), "{sentence} names no remedy: {said}");
    }
    let certs = TempDir::new().unwrap();
    let (code, said) = said(&complete(certs.path(), &repository("examples/hub")));
    let path = certs.path().display();
    assert_eq!(
        (code, said),
        (
            1,
            format!(
                "Error: {path}/tls.crt: the file does not exist; write it, or correct the flag that names it\n"
            )
        )
    );
}

/// Nor does it overwrite what it did not make.
#[test]
fn self_signed_keeps_its_hands_off_foreign_certificates() {
    let certs = TempDir::new().unwrap();
    let hub = repository("examples/hub");
    fs::write(certs.path().join("tls.crt"), "mine").unwrap();
    let args = [&complete(certs.path(), &hub)[..], &["--self-signed"]].concat();
    let (code, said) = said(&args);
    let path = certs.path().display();
    let message =
        "contains an invalid tls.crt that --self-signed did not create; name another --certdir";
    assert_eq!((code, said), (1, format!("Error: {path}: {message}\n")));
    assert_eq!(
        fs::read_to_string(certs.path().join("tls.crt")).unwrap(),
        "mine"
    );
}

#[test]
fn a_port_in_use_is_named_with_its_flag() {
    let certs = TempDir::new().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let hub = repository("examples/hub");
    for flag in ["--port", "--metrics-port", "--health-probe-port"] {
        let ports = ["--port", "--metrics-port", "--health-probe-port"];
        let ports = ports
            .into_iter()
            .flat_map(|other| [other, if other == flag { &*port } else { "auto" }]);
        let mut args: Vec<_> = ports.collect();
        args.extend([
            "--bind-address",
            "127.0.0.1",
            "--self-signed",
            "--certdir",
            certs.path().to_str().unwrap(),
            "--hub-files",
            hub.to_str().unwrap(),
        ]);
        let (code, said) = said(&args);
        assert_eq!(code, 1, "{said}");
        let expected = format!(
            "Error: {flag} {port}: cannot listen on 127.0.0.1; choose another port, or 'auto' for any free one: Address already in \
             use (os error 98)"
        );
        assert!(said.contains(&expected), "{said}");
    }
}
