use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::testing::{HOUR, NAME, authority, file, leaf};

#[test]
fn a_good_pair_tells_its_names_and_validity() {
    let now = Timestamp::now();
    let addresses = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
    let issued = authority()
        .leaf(&[NAME, "localhost"], &addresses, HOUR, now)
        .unwrap();
    let certificate = file("tls.crt", issued.certificate_pem.clone());
    let key = file("tls.key", issued.key_pem.clone());

    let pair = Pair::from_pem(&certificate, &key, now).unwrap();
    assert_eq!(pair.dns_names, [NAME, "localhost"]);
    assert_eq!(pair.ip_addresses, addresses);
    assert_eq!(
        (pair.not_before, pair.not_after),
        (issued.not_before, issued.not_after)
    );
    assert_eq!(
        pair.not_after.as_second(),
        (now + SignedDuration::from_hours(1)).as_second()
    );

    let again = Pair::from_pem(&certificate, &key, now).unwrap();
    assert_eq!(pair.digest, again.digest);
    let other = file("tls.crt", issued.certificate_pem.clone() + "\n");
    assert_ne!(
        pair.digest,
        Pair::from_pem(&other, &key, now).unwrap().digest
    );
}

#[test]
fn validity_has_both_ends_inclusive() {
    let now = Timestamp::now();
    let issued = leaf(&authority());
    let certificate = file("c", issued.certificate_pem);
    let pair = Pair::from_pem(&certificate, &file("k", issued.key_pem), now).unwrap();
    let second = SignedDuration::from_secs(1);
    let nanosecond = SignedDuration::from_nanos(1);
    // (sentence, moment, valid)
    let table = [
        (
            "just before the first moment",
            pair.not_before - nanosecond,
            false,
        ),
        ("the first moment", pair.not_before, true),
        ("the last second, at its beginning", pair.not_after, true),
        (
            "the last second, at its end",
            pair.not_after + second - nanosecond,
            true,
        ),
        ("the second after", pair.not_after + second, false),
    ];
    for (sentence, moment, valid) in table {
        assert_eq!(pair.is_valid_at(moment), valid, "{sentence}");
    }
}

#[test]
fn a_bad_pair_is_refused_with_file_reason_and_remedy() {
    let now = Timestamp::now();
    let authority = authority();
    let good = leaf(&authority);
    let other = leaf(&authority);
    let cert = good.certificate_pem.as_str();
    let key = good.key_pem.as_str();
    let ca = authority.certificate_pem();
    let leaf_after_ca = format!("{ca}{cert}");
    let second_cut = format!("{cert}{}", &ca[..ca.len() / 2]);
    let in_one_line = key.replace('\n', " ");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let old_encrypted = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
    let no_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let no_base64 = "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n";
    let no_key_inside = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let (not_before, not_after) = (good.not_before, good.not_after);
    let day = SignedDuration::from_hours(24);
    let mismatch = || Problem::KeyMismatch {
        certificate: "tls.crt".to_owned(),
    };
    let undecodable = || Problem::Malformed("a PEM block of the file cannot be decoded".to_owned());

    // (sentence, tls.crt, tls.key, when, file blamed, problem, remedy)
    let table = [
        (
            "an empty certificate file",
            "",
            key,
            now,
            "tls.crt",
            Problem::NoCertificate,
            "-----BEGIN CERTIFICATE-----",
        ),
        (
            "no PEM at all",
            "hello",
            key,
            now,
            "tls.crt",
            Problem::NoCertificate,
            "it needs a block",
        ),
        (
            "a key instead of a certificate",
            key,
            key,
            now,
            "tls.crt",
            Problem::NoCertificate,
            "holds no PEM certificate",
        ),
        (
            "a certificate cut short",
            &cert[..cert.len() / 2],
            key,
            now,
            "tls.crt",
            Problem::Truncated,
            "write the file again, whole",
        ),
        (
            "a certificate whose last line is cut",
            &cert[..cert.len() - 4],
            key,
            now,
            "tls.crt",
            Problem::Truncated,
            "begins and does not end",
        ),
        (
            "a chain whose second certificate is cut",
            &second_cut,
            key,
            now,
            "tls.crt",
            Problem::Truncated,
            "begins and does not end",
        ),
        (
            "no base64",
            no_base64,
            key,
            now,
            "tls.crt",
            undecodable(),
            "replace the file",
        ),
        (
            "a key in one line, as a certificate",
            &in_one_line,
            key,
            now,
            "tls.crt",
            Problem::Truncated,
            "with its line breaks",
        ),
        (
            "an empty key file",
            cert,
            "",
            now,
            "tls.key",
            Problem::NoKey,
            "-----BEGIN PRIVATE KEY-----",
        ),
        (
            "a certificate instead of a key",
            cert,
            cert,
            now,
            "tls.key",
            Problem::NoKey,
            "holds no PEM private key",
        ),
        (
            "a key cut short",
            cert,
            &key[..key.len() / 2],
            now,
            "tls.key",
            Problem::Truncated,
            "write the file again, whole",
        ),
        (
            "a key in one line",
            cert,
            &in_one_line,
            now,
            "tls.key",
            Problem::Truncated,
            "with its line breaks",
        ),
        (
            "an encrypted key",
            cert,
            &encrypted,
            now,
            "tls.key",
            Problem::EncryptedKey,
            "without a passphrase",
        ),
        (
            "a key encrypted in OpenSSL's older form",
            cert,
            old_encrypted,
            now,
            "tls.key",
            Problem::EncryptedKey,
            "openssl pkey",
        ),
        (
            "a key that is none",
            cert,
            no_key_inside,
            now,
            "tls.key",
            Problem::UnusableKey,
            "use ECDSA P-256",
        ),
        (
            "the key of another certificate",
            cert,
            &other.key_pem,
            now,
            "tls.key",
            mismatch(),
            "first certificate of tls.crt",
        ),
        (
            "the leaf after its CA",
            &leaf_after_ca,
            key,
            now,
            "tls.key",
            mismatch(),
            "put the server's own certificate first",
        ),
        (
            "an expired certificate",
            cert,
            key,
            now + day,
            "tls.crt",
            Problem::Expired { not_after },
            "renew it",
        ),
        (
            "a certificate of the future",
            cert,
            key,
            now - day,
            "tls.crt",
            Problem::NotYetValid { not_before },
            "check the clock",
        ),
    ];
    let secret = key.lines().nth(1).unwrap();
    for (sentence, tls_crt, tls_key, when, blamed, problem, remedy) in table {
        let error =
            Pair::from_pem(&file("tls.crt", tls_crt), &file("tls.key", tls_key), when).unwrap_err();
        assert_eq!(error.problem, problem, "{sentence}");
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("{blamed}: ")),
            "{sentence}: {text}"
        );
        assert!(text.contains(remedy), "{sentence}: {text}");
        assert!(
            !format!("{text}{error:?}").contains(secret),
            "{sentence}: shows the key"
        );
    }

    let error = Pair::from_pem(&file("tls.crt", no_der), &file("tls.key", key), now).unwrap_err();
    assert!(matches!(error.problem, Problem::Malformed(_)), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with("tls.crt: certificate 1 of the file cannot be decoded"),
        "{error}"
    );

    let expired = Problem::Expired { not_after }.to_string();
    assert!(
        expired.contains(&not_after.to_string()),
        "names the date: {expired}"
    );
}

#[test]
fn debug_output_shows_no_key() {
    let issued = leaf(&authority());
    let key = file("tls.key", issued.key_pem.clone());
    let pair = Pair::from_pem(
        &file("tls.crt", issued.certificate_pem.clone()),
        &key,
        Timestamp::now(),
    )
    .unwrap();
    let secret = issued.key_pem.lines().nth(1).unwrap();
    let bytes = format!("{:?}", &key.content[30..40]);
    for shown in [
        format!("{pair:?}"),
        format!("{key:?}"),
        format!("{issued:?}"),
    ] {
        assert!(
            !shown.contains(secret) && !shown.contains(bytes.trim_matches(['[', ']'])),
            "{shown}"
        );
    }
}

proptest! {
    #[test]
    fn no_content_makes_the_reader_panic_or_pass(
        certificate in proptest::collection::vec(any::<u8>(), 0..200),
        der in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let wrapped = [&b"-----BEGIN CERTIFICATE-----\n"[..], &der, b"\n-----END CERTIFICATE-----\n"].concat();
        for content in [certificate, wrapped] {
            prop_assert!(Pair::from_pem(&file("c", content.clone()), &file("k", content), Timestamp::UNIX_EPOCH).is_err());
        }
    }

    #[test]
    fn a_pair_with_any_byte_changed_is_read_or_refused(at in 0usize..2000, byte: u8, in_key: bool) {
        let issued = leaf(&authority());
        let mut files = [issued.certificate_pem.into_bytes(), issued.key_pem.into_bytes()];
        let changed = &mut files[usize::from(in_key)];
        let at = at % changed.len();
        changed[at] = byte;
        let [certificate, key] = files;
        let _ = Pair::from_pem(&file("c", certificate), &file("k", key), Timestamp::now());
    }
}
