//! The kubeconfig that the agent writes for itself and for the work agent: OCM's, byte for byte.
//!
//! OCM's agent compares bytes, and asks for a new certificate when they differ; the work agent restarts when they change. So an agent that
//! replaces another on a running cluster must write the very same text: YAML as `sigs.k8s.io/yaml` writes it, with sorted keys.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};

/// Where the hub is, as the current context of a bootstrap kubeconfig says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubEndpoint {
    /// The name of the cluster in the bootstrap kubeconfig.
    pub cluster: String,
    /// `server`.
    pub server: String,
    /// `certificate-authority`: a path, copied as it is.
    pub certificate_authority: Option<String>,
    /// `certificate-authority-data`, in base64.
    pub certificate_authority_data: Option<String>,
    /// `proxy-url`.
    pub proxy_url: Option<String>,
}

/// A value of the kubeconfig has a control character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlCharacter {
    /// The field with the value.
    pub field: &'static str,
}

// === impl HubEndpoint ===

impl HubEndpoint {
    /// Returns the kubeconfig that uses `tls.crt` and `tls.key` beside it.
    ///
    /// # Errors
    /// A value has a control character, which no name and no URL needs.
    pub fn kubeconfig(&self) -> Result<String, ControlCharacter> {
        let mut cluster = String::new();
        for (field, value) in [
            (
                "certificate-authority",
                self.certificate_authority.as_deref(),
            ),
            (
                "certificate-authority-data",
                self.certificate_authority_data.as_deref(),
            ),
            ("proxy-url", self.proxy_url.as_deref()),
            ("server", Some(self.server.as_str())),
        ] {
            if let Some(value) = value.filter(|it| !it.is_empty()) {
                cluster.push_str(&format!("    {field}: {}\n", scalar(field, value)?));
            }
        }
        let name = scalar("name", &self.cluster)?;
        Ok(format!(
            "apiVersion: v1\n\
             clusters:\n\
             - cluster:\n\
             {cluster}  name: {name}\n\
             contexts:\n\
             - context:\n    \
                 cluster: {name}\n    \
                 namespace: configuration\n    \
                 user: default-auth\n  \
               name: default-context\n\
             current-context: default-context\n\
             kind: Config\n\
             users:\n\
             - name: default-auth\n  \
               user:\n    \
                 client-certificate: tls.crt\n    \
                 client-key: tls.key\n"
        ))
    }
}

/// Returns this kubeconfig with the pair in it, instead of the names of its files. The agent keeps it in memory.
#[must_use]
pub fn with_pair(kubeconfig: &str, certificate: &[u8], key: &[u8]) -> String {
    let field = |name: &str, pem: &[u8]| format!("{name}-data: {}", BASE64_STANDARD.encode(pem));
    kubeconfig
        .replace(
            "client-certificate: tls.crt",
            &field("client-certificate", certificate),
        )
        .replace("client-key: tls.key", &field("client-key", key))
}

impl std::error::Error for ControlCharacter {}

impl fmt::Display for ControlCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of the bootstrap kubeconfig has a control character",
            self.field
        )
    }
}

/// The string as go-yaml writes it: plain if that reads back as the string, else in quotes.
fn scalar(field: &'static str, text: &str) -> Result<String, ControlCharacter> {
    match () {
        () if text.chars().any(char::is_control) => Err(ControlCharacter { field }),
        () if is_other_type(text) => Ok(format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"")
        )),
        () if is_plain(text) => Ok(text.to_owned()),
        () => Ok(format!("'{}'", text.replace('\'', "''"))),
    }
}

/// Reports whether YAML 1.1 reads the plain text as null, a boolean, a number or a time.
fn is_other_type(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "y", "n", "yes", "no", "true", "false", "on", "off", "null", ".nan", ".inf", "+.inf",
    ];
    let lower = text.to_ascii_lowercase();
    let is_title_or_one_case = text == lower
        || text == text.to_ascii_uppercase()
        || text.chars().skip(1).eq(lower.chars().skip(1));
    let is_word = text.is_empty()
        || matches!(text, "~" | "<<")
        || is_title_or_one_case && (WORDS.contains(&lower.as_str()) || lower == "-.inf");
    is_word || is_number(text) || is_time(text)
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(&plain);
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    let prefixed = |prefix, radix| {
        unsigned
            .strip_prefix(prefix)
            .is_some_and(|it| digits(it, radix))
    };
    let is_sexagesimal = || {
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut parts = whole.split(':');
        parts.next().is_some_and(|it| digits(it, 10))
            && whole.contains(':')
            && parts.all(|it| digits(it, 10) && it.len() <= 2 && (it.len() == 1 || it < "60"))
            && (fraction.is_empty() || digits(fraction, 10))
    };
    let starts_as_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit());
    starts_as_number
        && (unsigned.parse::<f64>().is_ok()
            || prefixed("0x", 16)
            || prefixed("0b", 2)
            || prefixed("0o", 8)
            || is_sexagesimal())
}

/// `2026-08-11`, or with a time after it.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let year = bytes.iter().take_while(|it| it.is_ascii_digit()).count();
    let mut parts = text.splitn(3, '-');
    let is_short = |part: Option<&str>| {
        part.is_some_and(|it| matches!(it.len(), 1 | 2) && it.bytes().all(|c| c.is_ascii_digit()))
    };
    year == 4 && parts.next().is_some_and(|it| it.len() == 4) && is_short(parts.next()) && {
        let rest = parts.next().unwrap_or_default();
        let day = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        matches!(day, 1 | 2) && (day == rest.len() || rest[day..].starts_with(['T', 't', ' ']))
    }
}

/// Reports whether a block mapping may hold the text without quotes.
fn is_plain(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let second = text.chars().nth(1);
    let is_indicator = "#,[]{}&*!|>'\"%@`".contains(first)
        || matches!(first, '-' | '?' | ':') && second.is_none_or(|c| c == ' ');
    !(is_indicator
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(' ')
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_ocm() {
        let endpoint = HubEndpoint {
            cluster: "hub".to_owned(),
            server: "https://hub.example.com:6443".to_owned(),
            certificate_authority_data: Some("LS0tLS1CRUdJTg==".to_owned()),
            ..HubEndpoint::default()
        };
        let expected = "\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://hub.example.com:6443
  name: hub
contexts:
- context:
    cluster: hub
    namespace: configuration
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
users:
- name: default-auth
  user:
    client-certificate: tls.crt
    client-key: tls.key
";
        assert_eq!(endpoint.kubeconfig().unwrap(), expected);
    }

    #[test]
    fn path_and_proxy_are_copied_as_they_are() {
        let endpoint = HubEndpoint {
            cluster: "c".to_owned(),
            server: "https://h".to_owned(),
            certificate_authority: Some("../ca.crt".to_owned()),
            proxy_url: Some("http://proxy:3128".to_owned()),
            certificate_authority_data: Some(String::new()),
        };
        let text = endpoint.kubeconfig().unwrap();
        assert!(text.contains("- cluster:\n    certificate-authority: ../ca.crt\n    proxy-url: http://proxy:3128\n    server: https://h\n  name: c\n"), "{text}");
    }

    #[test]
    fn strings_are_quoted_as_go_quotes_them() {
        for (text, expected) in [
            ("kubernetes", "kubernetes"),
            ("https://[::1]:6443", "https://[::1]:6443"),
            (
                "arn:aws:eks:eu-west-1:1:cluster/c",
                "arn:aws:eks:eu-west-1:1:cluster/c",
            ),
            ("", "\"\""),
            ("true", "\"true\""),
            ("Yes", "\"Yes\""),
            ("y", "\"y\""),
            ("yEs", "yEs"),
            ("null", "\"null\""),
            ("~", "\"~\""),
            ("1234", "\"1234\""),
            ("1_000", "\"1_000\""),
            ("0x1f", "\"0x1f\""),
            ("1e3", "\"1e3\""),
            (".5", "\".5\""),
            ("1.2.3", "1.2.3"),
            ("12:30", "\"12:30\""),
            ("10.0.0.1:6443", "10.0.0.1:6443"),
            ("2026-08-11", "\"2026-08-11\""),
            ("2026-08-cluster", "2026-08-cluster"),
            ("inf", "inf"),
            ("nan", "nan"),
            ("@hub", "'@hub'"),
            ("it's", "it's"),
            ("'it", "'''it'"),
            ("a: b", "'a: b'"),
            ("a:", "'a:'"),
            ("a #b", "'a #b'"),
            (" a", "' a'"),
            ("-", "'-'"),
            ("-a", "-a"),
            ("hüb", "hüb"),
            ("Übersee", "Übersee"),
        ] {
            assert_eq!(scalar("name", text).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn control_characters_are_refused() {
        let endpoint = HubEndpoint {
            server: "https://h\nusers: []".to_owned(),
            ..HubEndpoint::default()
        };
        assert_eq!(
            endpoint.kubeconfig(),
            Err(ControlCharacter { field: "server" })
        );
    }
}
