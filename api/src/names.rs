//! Kubernetes' rules for names, label keys and label values.
//!
//! Each check returns the reasons why a value is invalid, with Kubernetes' own messages, so that a denial reads like the API
//! server's; an empty list means that the value is valid. Lengths are in bytes. The rules:
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/> and
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>; the
//! messages: `k8s.io/apimachinery` 0.36, `pkg/util/validation` (names) and `pkg/api/validate/content` (labels). These two packages
//! call the unit of a length "characters" and "bytes" respectively, and so does this module.

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const LABEL_SYNTAX: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
    regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const SUBDOMAIN_SYNTAX: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation \
    is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const KEY_SYNTAX: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const VALUE_SYNTAX: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Checks that `value` is a DNS label (RFC 1123), the rule for names of namespaces and so of managed clusters.
#[must_use]
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if value.len() > LABEL_MAX {
        reasons.push(format!("must be no more than {LABEL_MAX} characters"));
    }
    if !has_label_syntax(value) {
        // A subdomain that is not a label contains dots. Kubernetes does not check the subdomain's length here.
        reasons.push(
            if has_subdomain_syntax(value) {
                "must not contain dots"
            } else {
                LABEL_SYNTAX
            }
            .to_owned(),
        );
    }
    reasons
}

/// Returns whether `value` is a DNS label (RFC 1123) of at most 63 bytes.
#[must_use]
pub fn is_dns1123_label(value: &str) -> bool {
    value.len() <= LABEL_MAX && has_label_syntax(value)
}

/// Returns whether `value` is a DNS subdomain (RFC 1123) of at most 253 bytes, the rule for most object names.
#[must_use]
pub fn is_dns1123_subdomain(value: &str) -> bool {
    value.len() <= SUBDOMAIN_MAX && has_subdomain_syntax(value)
}

/// Checks that `value` is a DNS subdomain (RFC 1123), the rule for most object names.
#[must_use]
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        reasons.push(format!("must be no more than {SUBDOMAIN_MAX} characters"));
    }
    if !has_subdomain_syntax(value) {
        reasons.push(SUBDOMAIN_SYNTAX.to_owned());
    }
    reasons
}

/// Checks that `value` is a qualified name, the rule for keys of labels, annotations and taints: an optional DNS subdomain with `/`,
/// then a name of at most 63 bytes.
#[must_use]
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {KEY_SYNTAX} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                reasons.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_MAX {
                    reasons.push(format!(
                        "prefix part must be no more than {SUBDOMAIN_MAX} bytes"
                    ));
                }
                if !has_subdomain_syntax(prefix) {
                    reasons.push(format!("prefix part {SUBDOMAIN_SYNTAX}"));
                }
            }
            name
        }
    };
    if name.is_empty() {
        reasons.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        reasons.push(format!("name part must be no more than {LABEL_MAX} bytes"));
    }
    if !has_key_syntax(name) {
        reasons.push(format!("name part {KEY_SYNTAX}"));
    }
    reasons
}

/// Checks that `value` is a label value: empty, or at most 63 bytes of letters, digits, `-`, `_` and `.` that begin and end with a
/// letter or digit.
#[must_use]
pub fn label_value(value: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if value.len() > LABEL_MAX {
        reasons.push(format!("must be no more than {LABEL_MAX} bytes"));
    }
    if !value.is_empty() && !has_key_syntax(value) {
        reasons.push(VALUE_SYNTAX.to_owned());
    }
    reasons
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn has_label_syntax(value: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_framed(value, outer, |byte| outer(byte) || byte == b'-')
}

/// Labels joined by dots.
fn has_subdomain_syntax(value: &str) -> bool {
    value.split('.').all(has_label_syntax)
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn has_key_syntax(value: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_alphanumeric();
    is_framed(value, outer, |byte| {
        outer(byte) || matches!(byte, b'-' | b'_' | b'.')
    })
}

/// Returns whether `value` is not empty, its first and last byte satisfy `outer`, and all others satisfy `inner`.
fn is_framed(value: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    match value.as_bytes() {
        [] => false,
        [only] => outer(*only),
        [first, middle @ .., last] => {
            outer(*first) && outer(*last) && middle.iter().all(|byte| inner(*byte))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_invalid_name_gets_the_messages_of_kubernetes() {
        let long = "a".repeat(64);
        let long_dotted = format!("{long}.b");
        // Written out, because users read these messages.
        let syntax = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                      start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                      validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        let too_long = "must be no more than 63 characters";
        let rows: &[(&str, &str, &[&str])] = &[
            ("a word is valid", "cluster1", &[]),
            ("one character is valid", "a", &[]),
            ("digits at the ends are valid", "1-2", &[]),
            ("63 characters are valid", &long[..63], &[]),
            ("64 are too long, with no other error", &long, &[too_long]),
            (
                "a subdomain has dots",
                "my.cluster",
                &["must not contain dots"],
            ),
            (
                "a long subdomain is both",
                &long_dotted,
                &[too_long, "must not contain dots"],
            ),
            ("the empty string is not a label", "", &[syntax]),
            ("capitals are refused", "Cluster", &[syntax]),
            (
                "a capital in a subdomain is not reported as a dot",
                "my.Cluster",
                &[syntax],
            ),
            ("an underscore is refused", "my_cluster", &[syntax]),
            ("a hyphen at the end is refused", "cluster-", &[syntax]),
            ("a hyphen at the start is refused", "-cluster", &[syntax]),
            ("a dot at the end is refused", "cluster.", &[syntax]),
            ("letters beyond ASCII are refused", "größe", &[syntax]),
            ("a line feed at the end is refused", "cluster\n", &[syntax]),
        ];
        for (sentence, value, expected) in rows {
            assert_eq!(dns1123_label(value), *expected, "{sentence}: {value:?}");
            assert_eq!(
                is_dns1123_label(value),
                expected.is_empty(),
                "{sentence}: {value:?}"
            );
        }
    }

    #[test]
    fn a_subdomain_is_labels_joined_by_dots() {
        let of_253 = format!("{}.a", "a".repeat(251));
        let of_254 = format!("{}.a", "a".repeat(252));
        for (sentence, value, expected) in [
            ("a label is a subdomain", "c1", true),
            ("dots join labels", "c1.example.com", true),
            ("a part may exceed 63 bytes", &of_253, true),
            ("254 bytes are too long", &of_254, false),
            ("an empty part is refused", "a..b", false),
            ("each part follows the rule of labels", "a.-b", false),
            ("the empty string is not a subdomain", "", false),
        ] {
            assert_eq!(
                is_dns1123_subdomain(value),
                expected,
                "{sentence}: {value:?}"
            );
            assert_eq!(
                dns1123_subdomain(value).is_empty(),
                expected,
                "{sentence}: {value:?}"
            );
        }
        assert_eq!(
            dns1123_subdomain(&of_254),
            ["must be no more than 253 characters"]
        );
        assert_eq!(dns1123_subdomain("A"), [SUBDOMAIN_SYNTAX]);
    }

    #[test]
    fn an_invalid_qualified_name_gets_the_messages_of_kubernetes() {
        let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                    an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
                    is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let prefix = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
                      '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                      used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        let slashes = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                       end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
                       for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain \
                       prefix and '/' (e.g. 'example.com/MyName')";
        let long_name = "a".repeat(64);
        let long_prefix = format!("{}/a", "a".repeat(254));
        let rows: &[(&str, &str, &[&str])] = &[
            ("a plain name is valid", "env", &[]),
            (
                "capitals, dots and underscores are valid in a name",
                "My_env.V2",
                &[],
            ),
            ("a subdomain may stand before it", "example.com/env", &[]),
            (
                "the prefix is not empty",
                "/env",
                &["prefix part must be non-empty"],
            ),
            ("the prefix is a subdomain", "Example.com/env", &[prefix]),
            (
                "the prefix has at most 253 bytes",
                &long_prefix,
                &["prefix part must be no more than 253 bytes"],
            ),
            (
                "the empty string is not a name",
                "",
                &["name part must be non-empty", name],
            ),
            (
                "a prefix alone is not a name",
                "example.com/",
                &["name part must be non-empty", name],
            ),
            (
                "the name has at most 63 bytes",
                &long_name,
                &["name part must be no more than 63 bytes"],
            ),
            ("the name has its syntax", "env!", &[name]),
            (
                "errors of prefix and name are both reported",
                "a_b/-",
                &[prefix, name],
            ),
            ("at most one slash is allowed", "a/b/c", &[slashes]),
        ];
        for (sentence, value, expected) in rows {
            assert_eq!(qualified_name(value), *expected, "{sentence}: {value:?}");
        }
    }

    #[test]
    fn an_invalid_label_value_gets_the_messages_of_kubernetes() {
        let syntax = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                      and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                      '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        let long = "a".repeat(64);
        let rows: &[(&str, &str, &[&str])] = &[
            ("the empty string is valid", "", &[]),
            ("letters, digits and signs are valid", "A_b-c.9", &[]),
            (
                "64 bytes are too long",
                &long,
                &["must be no more than 63 bytes"],
            ),
            ("a sign at the start is refused", "-a", &[syntax]),
            ("a slash is refused", "a/b", &[syntax]),
        ];
        for (sentence, value, expected) in rows {
            assert_eq!(label_value(value), *expected, "{sentence}: {value:?}");
        }
    }

    /// A second implementation of the rules, as a walk over the characters.
    mod reference {
        fn walk(value: &str, outer: fn(char) -> bool, inner: fn(char) -> bool) -> bool {
            let last = value.chars().count().wrapping_sub(1);
            let allowed = |(at, c)| outer(c) || (at != 0 && at != last && inner(c));
            !value.is_empty() && value.chars().enumerate().all(allowed)
        }

        pub(super) fn label(value: &str) -> bool {
            walk(value, |c| matches!(c, 'a'..='z' | '0'..='9'), |c| c == '-')
        }

        pub(super) fn key(value: &str) -> bool {
            walk(
                value,
                |c| matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9'),
                |c| "-_.".contains(c),
            )
        }

        pub(super) fn subdomain(value: &str) -> bool {
            // The ends, and the characters beside a dot, must be letters or digits.
            !value.is_empty()
                && !value.starts_with('.')
                && !value.ends_with('.')
                && !value.contains("..")
                && value.replace('.', " ").split_whitespace().all(label)
                && !value.contains(char::is_whitespace)
        }
    }

    proptest! {
        /// Short strings of the characters in the rules, and some that are always invalid.
        #[test]
        fn checks_agree_with_the_reference(value in "[a-cA-B01._/ \u{e4}\n-]{0,8}") {
            prop_assert_eq!(is_dns1123_label(&value), reference::label(&value));
            prop_assert_eq!(dns1123_label(&value).is_empty(), reference::label(&value));
            prop_assert_eq!(is_dns1123_subdomain(&value), reference::subdomain(&value));
            prop_assert_eq!(label_value(&value).is_empty(), value.is_empty() || reference::key(&value));
            let parts: Vec<&str> = value.split('/').collect();
            let qualified = match parts[..] {
                [name] => reference::key(name),
                [prefix, name] => reference::subdomain(prefix) && reference::key(name),
                _ => false,
            };
            prop_assert_eq!(qualified_name(&value).is_empty(), qualified);
        }

        /// No input causes a panic, and a long input is never valid.
        #[test]
        fn checks_take_any_string(value in any::<String>()) {
            let long = format!("{value}{}", "a".repeat(64));
            prop_assert!(!is_dns1123_label(&long));
            prop_assert!(!label_value(&long).is_empty());
            let _ = (dns1123_label(&value), qualified_name(&value), is_dns1123_subdomain(&value));
        }
    }
}
