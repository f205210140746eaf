//! TLS versions and cipher suites, from the values of `--tls-min-version` and `--tls-cipher-suites`.
//!
//! The values are Go's, because manifests for OCM contain them. rustls does not support TLS 1.0 and 1.1, CBC, RC4 and RSA key
//! exchange. Unsupported values are ignored with a warning; a list of only unsupported values is an error. No value makes
//! the server weaker than rustls' defaults.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::version::{TLS12, TLS13};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

/// Names of Go's `crypto/tls` (`CipherSuites` and `InsecureCipherSuites`) that rustls does not support.
const ONLY_IN_GO: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// IANA names of the TLS 1.3 suites; rustls names them `TLS13_...`.
const OF_TLS13: [&str; 3] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
];

static TLS12_AND_TLS13: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
static TLS13_ALONE: &[&SupportedProtocolVersion] = &[&TLS13];

/// The oldest TLS version that a server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MinVersion {
    /// TLS 1.2 and 1.3.
    Tls12,
    /// TLS 1.3 only.
    Tls13,
}

/// Versions and cipher suites of a server. TLS 1.3 and its suites are always on.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsOptions {
    min_version: MinVersion,
    /// In rustls' order of preference, those of TLS 1.3 included.
    cipher_suites: Vec<SupportedCipherSuite>,
}

/// Errors in the flags of [`TlsOptions`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The value of `--tls-min-version` is unknown.
    #[error(
        "--tls-min-version: unknown TLS version {0:?}; use one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13 \
         (or TLSv1.0, TLSv1.1, TLSv1.2, TLSv1.3), or leave it empty for VersionTLS12"
    )]
    UnknownVersion(String),
    /// `--tls-cipher-suites` has unknown names.
    #[error("--tls-cipher-suites: unsupported cipher suites: [{}]; use IANA names such as {}", .0.join(" "), selectable().join(", "))]
    UnknownSuites(Vec<String>),
    /// `--tls-cipher-suites` has only names that rustls does not support.
    #[error("--tls-cipher-suites: none of the listed suites is available: [{}]; list at least one of {}", .0.join(" "), selectable().join(", "))]
    NoSuiteLeft(Vec<String>),
}

// === impl TlsOptions ===

impl TlsOptions {
    /// Parses the two flags. `cipher_suites` has one element for each occurrence of the flag; each may contain several names,
    /// separated by commas. Empty values mean the defaults: TLS 1.2 and all suites of rustls.
    ///
    /// Returns warnings for users about ignored values.
    ///
    /// # Errors
    /// An unknown version, a suite that neither Go nor rustls knows, or only suites that rustls does not support.
    pub fn parse<S: AsRef<str>>(
        min_version: &str,
        cipher_suites: &[S],
    ) -> Result<(Self, Vec<String>), OptionsError> {
        let mut warnings = Vec::new();
        let min_version = parse_version(min_version, &mut warnings)?;
        let names: Vec<&str> = cipher_suites
            .iter()
            .flat_map(|list| list.as_ref().split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        let cipher_suites = select_suites(&names, min_version, &mut warnings)?;
        let options = Self {
            min_version,
            cipher_suites,
        };
        Ok((options, warnings))
    }

    pub(crate) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider {
            cipher_suites: self.cipher_suites.clone(),
            ..ring::default_provider()
        })
    }

    pub(crate) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        match self.min_version {
            MinVersion::Tls12 => TLS12_AND_TLS13,
            MinVersion::Tls13 => TLS13_ALONE,
        }
    }
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            min_version: MinVersion::Tls12,
            cipher_suites: ring::ALL_CIPHER_SUITES.to_vec(),
        }
    }
}

fn parse_version(value: &str, warnings: &mut Vec<String>) -> Result<MinVersion, OptionsError> {
    match value {
        "" | "VersionTLS12" | "TLSv1.2" => Ok(MinVersion::Tls12),
        "VersionTLS13" | "TLSv1.3" => Ok(MinVersion::Tls13),
        "VersionTLS10" | "TLSv1.0" | "VersionTLS11" | "TLSv1.1" => {
            warnings.push(format!(
                "--tls-min-version: {value} is not available, TLS 1.2 is the oldest version that is served"
            ));
            Ok(MinVersion::Tls12)
        }
        unknown => Err(OptionsError::UnknownVersion(unknown.to_owned())),
    }
}

fn select_suites(
    names: &[&str],
    min_version: MinVersion,
    warnings: &mut Vec<String>,
) -> Result<Vec<SupportedCipherSuite>, OptionsError> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();

    // Go's former names, which Kubernetes still accepts.
    let canonical = |name| match name {
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305" => "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305" => "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        name => name,
    };
    let (mut wanted, mut of_tls13, mut lacking, mut unknown) = (vec![], vec![], vec![], vec![]);
    let selectable = selectable();
    for &name in names {
        if selectable.contains(&canonical(name)) {
            wanted.push(canonical(name));
        } else if OF_TLS13.contains(&name) {
            of_tls13.push(name);
        } else if ONLY_IN_GO.contains(&name) {
            lacking.push(name);
        } else {
            unknown.push(name);
        }
    }

    if !unknown.is_empty() {
        return Err(OptionsError::UnknownSuites(owned(&unknown)));
    }
    if names.is_empty() {
        return Ok(ring::ALL_CIPHER_SUITES.to_vec());
    }
    if min_version == MinVersion::Tls13 {
        warnings.push(
            "--tls-cipher-suites: ignored, because the suites of TLS 1.3 cannot be selected and --tls-min-version allows \
             no older version"
                .to_owned(),
        );
        return Ok(ring::ALL_CIPHER_SUITES.to_vec());
    }
    if wanted.is_empty() && of_tls13.is_empty() {
        return Err(OptionsError::NoSuiteLeft(owned(&lacking)));
    }
    if !lacking.is_empty() {
        warnings.push(format!(
            "--tls-cipher-suites: not available, and left out: {}",
            lacking.join(", ")
        ));
    }
    if !of_tls13.is_empty() {
        warnings.push(format!(
            "--tls-cipher-suites: the suites of TLS 1.3 cannot be selected and are all offered; listed were: {}",
            of_tls13.join(", ")
        ));
    }
    if wanted.is_empty() {
        warnings.push(
            "--tls-cipher-suites: no suite of TLS 1.2 is left, so clients need TLS 1.3".to_owned(),
        );
    }
    let offered = |suite: &SupportedCipherSuite| match suite {
        SupportedCipherSuite::Tls13(_) => true,
        SupportedCipherSuite::Tls12(_) => suite
            .suite()
            .as_str()
            .is_some_and(|name| wanted.contains(&name)),
    };
    Ok(ring::ALL_CIPHER_SUITES
        .iter()
        .copied()
        .filter(offered)
        .collect())
}

/// Returns the names of the suites that a user can select: those of TLS 1.2.
fn selectable() -> Vec<&'static str> {
    ring::ALL_CIPHER_SUITES
        .iter()
        .filter(|suite| suite.tls13().is_none())
        .filter_map(|suite| suite.suite().as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RSA_AES: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    const ALL_OF_TLS12: usize = 6;

    /// The TLS 1.2 suites that remain.
    fn tls12(options: &TlsOptions) -> Vec<&'static str> {
        let suites = options.cipher_suites.iter();
        suites
            .filter(|suite| suite.tls13().is_none())
            .filter_map(|suite| suite.suite().as_str())
            .collect()
    }

    #[test]
    fn versions_are_gos() {
        // (sentence, value, served, part of a warning)
        let table = [
            ("no value means 1.2", "", MinVersion::Tls12, None),
            ("1.2", "VersionTLS12", MinVersion::Tls12, None),
            (
                "1.2, as OpenSSL spells it",
                "TLSv1.2",
                MinVersion::Tls12,
                None,
            ),
            ("1.3", "VersionTLS13", MinVersion::Tls13, None),
            (
                "1.3, as OpenSSL spells it",
                "TLSv1.3",
                MinVersion::Tls13,
                None,
            ),
            (
                "1.0 is served as 1.2",
                "VersionTLS10",
                MinVersion::Tls12,
                Some("VersionTLS10 is not available"),
            ),
            (
                "1.0, as OpenSSL spells it",
                "TLSv1.0",
                MinVersion::Tls12,
                Some("TLSv1.0 is not available"),
            ),
            (
                "1.1 is served as 1.2",
                "VersionTLS11",
                MinVersion::Tls12,
                Some("VersionTLS11 is not available"),
            ),
            (
                "1.1, as OpenSSL spells it",
                "TLSv1.1",
                MinVersion::Tls12,
                Some("TLSv1.1 is not available"),
            ),
        ];
        for (sentence, value, served, warning) in table {
            let (options, warnings) = TlsOptions::parse::<&str>(value, &[]).expect(sentence);
            assert_eq!(options.min_version, served, "{sentence}");
            assert_eq!(options.cipher_suites.len(), ALL_OF_TLS12 + 3, "{sentence}");
            assert_eq!(
                warnings.len(),
                usize::from(warning.is_some()),
                "{sentence}: {warnings:?}"
            );
            assert!(
                warning.is_none_or(|text| warnings[0].contains(text)),
                "{sentence}: {warnings:?}"
            );
        }
    }

    #[test]
    fn unknown_versions_are_refused_with_the_list_of_known_ones() {
        for value in [
            "VersionTLS14",
            "versiontls12",
            "1.2",
            "VersionSSL30",
            " VersionTLS12",
        ] {
            let error = TlsOptions::parse::<&str>(value, &[]).unwrap_err();
            assert_eq!(error, OptionsError::UnknownVersion(value.to_owned()));
            let text = error.to_string();
            assert!(
                text.contains(&format!("unknown TLS version {value:?}")),
                "{text}"
            );
            for known in [
                "VersionTLS10",
                "VersionTLS11",
                "VersionTLS12",
                "VersionTLS13",
                "TLSv1.3",
            ] {
                assert!(text.contains(known), "{text}");
            }
        }
    }

    #[test]
    fn suites_are_selected_by_gos_names() {
        struct Row {
            sentence: &'static str,
            version: &'static str,
            flags: &'static [&'static str],
            remain: &'static [&'static str],
            /// One part of each warning, in order.
            warnings: &'static [&'static str],
        }
        const RSA_CHACHA: &str = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";
        const ECDSA_CHACHA: &str = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256";
        let table = [
            Row {
                sentence: "one suite remains alone",
                version: "",
                flags: &[RSA_AES],
                remain: &[RSA_AES],
                warnings: &[],
            },
            Row {
                sentence: "spaces, empty names and repeated names do not matter",
                version: "",
                flags: &[
                    " TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 ,,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,",
                ],
                remain: &[RSA_AES],
                warnings: &[],
            },
            Row {
                sentence: "the flag may be given several times; the order is ours",
                version: "",
                flags: &[RSA_CHACHA, RSA_AES],
                remain: &[RSA_AES, RSA_CHACHA],
                warnings: &[],
            },
            Row {
                sentence: "Go's old names are aliases",
                version: "VersionTLS12",
                flags: &[
                    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
                ],
                remain: &[ECDSA_CHACHA, RSA_CHACHA],
                warnings: &[],
            },
            Row {
                sentence: "what rustls lacks is left out with a warning",
                version: "",
                flags: &[
                    "TLS_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA",
                ],
                remain: &[RSA_AES],
                warnings: &["left out: TLS_RSA_WITH_AES_128_CBC_SHA, TLS_RSA_WITH_RC4_128_SHA"],
            },
            Row {
                sentence: "suites of TLS 1.3 cannot be selected",
                version: "",
                flags: &["TLS_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"],
                remain: &[RSA_AES],
                warnings: &["all offered; listed were: TLS_AES_128_GCM_SHA256"],
            },
            Row {
                sentence: "suites of TLS 1.3 alone turn TLS 1.2 off",
                version: "",
                flags: &["TLS_AES_256_GCM_SHA384"],
                remain: &[],
                warnings: &[
                    "listed were: TLS_AES_256_GCM_SHA384",
                    "clients need TLS 1.3",
                ],
            },
            Row {
                sentence: "with 1.3 as minimum the list is ignored",
                version: "VersionTLS13",
                flags: &["TLS_RSA_WITH_RC4_128_SHA"],
                remain: &["all"],
                warnings: &["ignored"],
            },
            Row {
                sentence: "an empty list means all",
                version: "",
                flags: &["", " , "],
                remain: &["all"],
                warnings: &[],
            },
        ];
        for row in table {
            let Row {
                sentence,
                version,
                flags,
                remain,
                warnings: expected,
            } = row;
            let (options, warnings) = TlsOptions::parse(version, flags).expect(sentence);
            if remain == ["all"] {
                assert_eq!(tls12(&options).len(), ALL_OF_TLS12, "{sentence}");
            } else {
                assert_eq!(tls12(&options), remain, "{sentence}");
            }
            let tls13 = options
                .cipher_suites
                .iter()
                .filter(|suite| suite.tls13().is_some());
            assert_eq!(tls13.count(), 3, "{sentence}");
            assert_eq!(warnings.len(), expected.len(), "{sentence}: {warnings:?}");
            for (warning, part) in warnings.iter().zip(expected) {
                assert!(warning.contains(part), "{sentence}: {warning}");
            }
        }
    }

    #[test]
    fn lists_that_cannot_be_served_are_refused() {
        // (sentence, version, flag, is the list of unknown ones, part of the text)
        let table = [
            (
                "a name nobody knows",
                "",
                "TLS_FOO,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_BAR",
                true,
                "unsupported cipher suites: [TLS_FOO TLS_BAR]",
            ),
            (
                "a name nobody knows, even where the list is ignored",
                "VersionTLS13",
                "TLS_FOO",
                true,
                "unsupported cipher suites: [TLS_FOO]",
            ),
            (
                "names are case-sensitive, as in Go",
                "",
                "tls_ecdhe_rsa_with_aes_128_gcm_sha256",
                true,
                "unsupported cipher suites: [tls_ecdhe_rsa_with_aes_128_gcm_sha256]",
            ),
            (
                "rustls' own spelling of TLS 1.3 suites",
                "",
                "TLS13_AES_128_GCM_SHA256",
                true,
                "unsupported cipher suites: [TLS13_AES_128_GCM_SHA256]",
            ),
            (
                "nothing remains",
                "",
                "TLS_RSA_WITH_AES_128_CBC_SHA",
                false,
                "none of the listed suites is available: [TLS_RSA_WITH_AES_128_CBC_SHA]",
            ),
        ];
        for (sentence, version, flag, unknown, text) in table {
            let error = TlsOptions::parse(version, &[flag]).unwrap_err();
            assert_eq!(
                matches!(error, OptionsError::UnknownSuites(_)),
                unknown,
                "{sentence}: {error:?}"
            );
            assert!(error.to_string().contains(text), "{sentence}: {error}");
            assert!(
                error.to_string().contains(RSA_AES),
                "{sentence}: says what can be listed: {error}"
            );
        }
    }

    #[test]
    fn every_name_go_has_is_known() {
        for name in ONLY_IN_GO {
            let list = format!("{name},{RSA_AES}");
            let (_, warnings) = TlsOptions::parse("", &[list]).expect(name);
            assert!(warnings[0].ends_with(name), "{warnings:?}");
        }
    }

    proptest! {
        #[test]
        fn any_flag_value_is_answered(version in ".{0,16}", list in "[A-Z0-9_, é]{0,40}") {
            if let Ok((options, _)) = TlsOptions::parse(&version, &[list]) {
                prop_assert!(options.cipher_suites.len() >= 3);
            }
        }
    }
}
