use std::collections::BTreeSet;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, client::WebPkiServerVerifier};
use x509_parser::prelude::{FromDer, ParsedExtension, X509Certificate};

use super::*;
use crate::testing::{HOUR, NAME, authority, leaf};

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn roots(authority: &Authority) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(der(authority.certificate_pem())).unwrap();
    Arc::new(roots)
}

fn at(now: Timestamp) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().unsigned_abs()))
}

/// Returns true if a TLS client (rustls) that trusts `authority` accepts `leaf` for `name`.
fn serves(
    authority: &Authority,
    leaf: &Issued,
    name: &str,
    now: Timestamp,
) -> Result<(), rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots(authority), provider)
        .build()
        .unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    use rustls::client::danger::ServerCertVerifier;
    verifier
        .verify_server_cert(&der(&leaf.certificate_pem), &[], &name, &[], at(now))
        .map(|_| ())
}

fn is_client(authority: &Authority, client: &Issued, now: Timestamp) -> Result<(), rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(authority), provider)
        .build()
        .unwrap();
    verifier
        .verify_client_cert(&der(&client.certificate_pem), &[], at(now))
        .map(|_| ())
}

/// The extensions, as `OID: critical?, value`, for comparison with what they must be.
fn extensions(pem: &str) -> Vec<String> {
    let der = der(pem);
    let (rest, certificate) = X509Certificate::from_der(&der).unwrap();
    assert!(rest.is_empty());
    let describe = |extension: &x509_parser::prelude::X509Extension<'_>| {
        let critical = if extension.critical { "critical " } else { "" };
        match extension.parsed_extension() {
            ParsedExtension::BasicConstraints(constraints) => {
                format!(
                    "{critical}CA {} {:?}",
                    constraints.ca, constraints.path_len_constraint
                )
            }
            ParsedExtension::KeyUsage(usage) => format!("{critical}usage {usage}"),
            ParsedExtension::ExtendedKeyUsage(usage) => {
                format!(
                    "{critical}server {} client {}",
                    usage.server_auth, usage.client_auth
                )
            }
            ParsedExtension::SubjectAlternativeName(names) => {
                format!("{critical}names {}", names.general_names.len())
            }
            ParsedExtension::AuthorityKeyIdentifier(_) => format!("{critical}authority key"),
            ParsedExtension::SubjectKeyIdentifier(_) => format!("{critical}subject key"),
            other => format!("{critical}{other:?}"),
        }
    };
    let mut found: Vec<_> = certificate.extensions().iter().map(describe).collect();
    found.sort();
    found
}

#[test]
fn certificates_have_the_extensions_of_their_purpose() {
    let now = Timestamp::now();
    let authority = authority();
    let leaf = leaf(&authority);
    let client = authority
        .client("dev", &[], &["dev.example"], HOUR, now)
        .unwrap();
    assert_eq!(
        extensions(authority.certificate_pem()),
        [
            "critical CA true Some(0)",
            "critical usage Key Cert Sign, CRL Sign",
            "subject key"
        ]
    );
    let of_leaves = [
        "authority key",
        "critical CA false None",
        "critical usage Digital Signature",
    ];
    let leaf_only = ["names 1", "server true client false", "subject key"];
    assert_eq!(
        extensions(&leaf.certificate_pem),
        [of_leaves, leaf_only].concat()
    );
    let client_only = ["names 1", "server false client true", "subject key"];
    assert_eq!(
        extensions(&client.certificate_pem),
        [&of_leaves[..], &client_only[..]].concat()
    );
}

#[test]
fn a_leaf_serves_its_names_and_no_others() {
    let now = Timestamp::now();
    let dir = tempfile::tempdir().unwrap();
    let authority = authority();
    let loopback = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    let long = "cluster-manager-registration-webhook.open-cluster-management-hub.svc";
    let leaf = authority
        .leaf(&[long, "localhost"], &loopback, HOUR, now)
        .unwrap();
    for name in [long, "localhost", "127.0.0.1", "::1"] {
        assert_eq!(serves(&authority, &leaf, name, now), Ok(()), "{name}");
    }
    let refused = |result: Result<(), rustls::Error>, text: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    refused(
        serves(&authority, &leaf, "other.svc", now),
        "not valid for name",
    );
    refused(
        serves(&authority, &leaf, "localhost", leaf.not_after + HOUR),
        "certificate expired",
    );
    refused(
        serves(&authority, &leaf, "localhost", leaf.not_before - HOUR),
        "certificate not valid yet",
    );
    refused(
        serves(&self::authority(), &leaf, "localhost", now),
        "BadSignature",
    );
    refused(
        is_client(&authority, &leaf, now),
        "extended key usage for client",
    );

    let issued = write_self_signed(dir.path(), HOUR, now).unwrap();
    let ca = fs::read_to_string(dir.path().join(CA_FILE)).unwrap();
    assert_eq!(ca, issued.ca_pem);
    assert_eq!(
        fs::read_to_string(dir.path().join(CERTIFICATE_FILE)).unwrap(),
        issued.certificate_pem
    );
}

#[test]
fn a_client_has_its_name_and_all_its_groups() {
    let now = Timestamp::now();
    let authority = authority();
    let many: Vec<String> = (0..40)
        .map(|number| format!("system:group-{number}"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    // (sentence, common name, organizations)
    let table: [(_, &str, &[&str]); 5] = [
        ("no group", "dev", &[]),
        ("one group", "admin", &["system:masters"]),
        (
            "an agent of OCM",
            "system:open-cluster-management:cluster1:agent1",
            &[
                "system:open-cluster-management:cluster1",
                "system:open-cluster-management:managed-clusters",
            ],
        ),
        ("so many that lengths take two bytes", "x", &many),
        ("not only ASCII", "Jürgen", &["Entwicklung – West"]),
    ];
    for (sentence, common_name, organizations) in table {
        let client = authority
            .client(common_name, organizations, &[], HOUR, now)
            .unwrap();
        assert_eq!(
            is_client(&authority, &client, now),
            Ok(()),
            "{sentence}: the signature holds"
        );
        let der = der(&client.certificate_pem);
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        let subject = certificate.subject();
        let names: Vec<_> = subject
            .iter_common_name()
            .map(|name| name.as_str().unwrap())
            .collect();
        let groups: Vec<_> = subject
            .iter_organization()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(
            (names.as_slice(), groups.as_slice()),
            (&[common_name][..], organizations),
            "{sentence}"
        );
    }
}

#[test]
fn nothing_is_valid_outside_the_authoritys_validity() {
    let start = Timestamp::from_second(1_800_000_000).unwrap();
    let authority = Authority::new("ca", 10 * HOUR, start).unwrap();
    assert_eq!(authority.not_after(), start + 10 * HOUR);
    let late = start + 9 * HOUR;
    // (sentence, issued at, asked for, not before, not after)
    let table = [
        (
            "within",
            start + HOUR,
            HOUR,
            start + HOUR - CLOCK_SKEW,
            start + 2 * HOUR,
        ),
        (
            "cut at the end",
            late,
            5 * HOUR,
            late - CLOCK_SKEW,
            authority.not_after(),
        ),
        (
            "cut at the beginning",
            start - Duration::from_secs(60),
            HOUR,
            start - CLOCK_SKEW,
            start + Duration::from_secs(3540),
        ),
        (
            "for ever",
            late,
            Duration::MAX,
            late - CLOCK_SKEW,
            authority.not_after(),
        ),
        (
            "fractions of a second are dropped",
            start + Duration::from_millis(1500),
            HOUR,
            start + Duration::from_secs(1) - CLOCK_SKEW,
            start + Duration::from_secs(3601),
        ),
    ];
    for (sentence, now, validity, not_before, not_after) in table {
        let issued = authority.leaf(&[NAME], &[], validity, now).unwrap();
        assert_eq!(
            (issued.not_before, issued.not_after),
            (not_before, not_after),
            "{sentence}"
        );
        let der = der(&issued.certificate_pem);
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(
            crate::pem::validity(&certificate),
            (not_before, not_after),
            "{sentence}"
        );
    }
    let error = authority
        .leaf(&[NAME], &[], HOUR, start + 11 * HOUR)
        .unwrap_err();
    assert!(
        matches!(error, IssueError::AuthorityExpired { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("make a new one"), "{error}");
}

#[test]
fn an_authority_may_be_valid_for_ever() {
    let now = Timestamp::now();
    let authority = Authority::new("ca", Duration::MAX, now).unwrap();
    let leaf = authority.leaf(&[NAME], &[], Duration::MAX, now).unwrap();
    assert_eq!(serves(&authority, &leaf, NAME, now), Ok(()));
}

#[test]
fn invalid_names_are_refused() {
    let now = Timestamp::now();
    let authority = authority();
    for name in [
        "",
        "a b",
        "-a",
        "a..b",
        "é.example",
        "a:9443",
        &"a".repeat(64),
    ] {
        for result in [
            authority.leaf(&[name], &[], HOUR, now),
            authority.client("x", &[], &[name], HOUR, now),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(&error, IssueError::InvalidDnsName(named) if named == name),
                "{error:?}"
            );
            assert!(error.to_string().contains("correct the name"), "{error}");
        }
    }
    for error in [
        authority.client("", &[], &[], HOUR, now).unwrap_err(),
        Authority::new("", HOUR, now).unwrap_err(),
    ] {
        assert!(matches!(error, IssueError::EmptyCommonName), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("give the name of the certificate's owner"),
            "{error}"
        );
    }
}

#[test]
fn serial_numbers_are_random() {
    let authority = authority();
    let serials: BTreeSet<Vec<u8>> = (0..20)
        .map(|_| {
            let der = der(&leaf(&authority).certificate_pem);
            let (_, certificate) = X509Certificate::from_der(&der).unwrap();
            certificate.raw_serial().to_vec()
        })
        .collect();
    assert_eq!(serials.len(), 20);
    assert!(serials.iter().all(|serial| serial.len() == 16));
}

#[test]
fn debug_output_shows_no_key() {
    let authority = authority();
    let shown = format!("{authority:?}");
    assert!(shown.contains("test authority"));
    assert!(!shown.contains("key"), "{shown}");
}
