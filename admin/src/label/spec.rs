//! The changes of labels on the command line, in the syntax of `kubectl label`.

use std::collections::BTreeMap;

use berth_api::{labels, names};

/// Prefix of the keys that Berth gives a meaning.
const OURS: &str = "berth.open-cluster-management.io/";

/// What a command line asks for: each key with its new value, or with `None` if it is to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes(BTreeMap<String, Option<String>>);

/// Returns true for a word that changes labels. No name of a cluster looks so.
pub(super) fn is_change(word: &str) -> bool {
    word.ends_with('-') || word.contains('=')
}

// === impl Changes ===

impl Changes {
    /// Parses words such as `KEY=VALUE` and `KEY-`.
    ///
    /// # Errors
    /// A key or a value is invalid, two words differ about a key, or the label is not written by users.
    pub(super) fn parse(words: &[String]) -> Result<Self, String> {
        let mut changes = BTreeMap::new();
        for word in words {
            let (key, value) = change(word)?;
            if let Some(why) = of_the_hub(key, value) {
                return Err(format!("label {key} is not written by users: {why}"));
            }
            let value = value.map(str::to_owned);
            match changes.insert(key.to_owned(), value.clone()) {
                Some(before) if before != value => {
                    return Err(match (before, value) {
                        (Some(one), Some(other)) => {
                            format!("label {key} cannot be both {one:?} and {other:?}")
                        }
                        _ => format!(
                            "can not both modify and remove a label in the same command: {key}"
                        ),
                    });
                }
                _ => {}
            }
        }
        Ok(Self(changes))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        (self.0.iter()).map(|(key, value)| (key.as_str(), value.as_deref()))
    }
}

/// Parses `KEY=VALUE` or `KEY-`.
fn change(word: &str) -> Result<(&str, Option<&str>), String> {
    let (key, value) = match word.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (word.strip_suffix('-').unwrap_or(word), None),
    };
    if let Some(why) = names::qualified_name(key).first() {
        return Err(format!("invalid label key: {word:?}: {why}"));
    }
    match value.map(names::label_value).unwrap_or_default().first() {
        Some(why) => Err(format!("invalid label value: {word:?}: {why}")),
        None => Ok((key, value)),
    }
}

/// Returns what to do instead, if the label is written by the hub, or by a command that checks more. Some may be removed all the same.
fn of_the_hub(key: &str, value: Option<&str>) -> Option<String> {
    if key.starts_with(labels::ADDON_FEATURE_PREFIX) {
        return Some("the hub keeps it as the add-on's state".to_owned());
    }
    let value = value?;
    match key {
        labels::CLUSTER_SET if value.is_empty() => Some(format!(
            "to take a cluster out of its set, remove the label: {key}-"
        )),
        labels::CLUSTER_SET | labels::RETIRED_CLUSTER_SET => {
            let set = if value.is_empty() { "SET" } else { value };
            Some(format!("use berth clusterset set {set} --clusters CLUSTER"))
        }
        labels::TAINT_UNSCHEDULABLE => {
            Some("it is the key of a taint: use berth cordon or berth drain".to_owned())
        }
        _ if key.starts_with(OURS) => Some(format!("Berth gives no label with {OURS} a meaning")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changes = Changes::parse(&words)?;
        let shown = changes.iter().map(|(key, value)| match value {
            Some(value) => format!("+{key}={value}"),
            None => format!("-{key}"),
        });
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn changes_are_written_as_in_kubectl() {
        for (line, expected) in [
            ("k=v", "+k=v"),
            ("a.b/k=", "+a.b/k="),
            ("k-", "-k"),
            ("b=1 a- c.d/e=f", "-a +b=1 +c.d/e=f"),
            ("k=v k=v", "+k=v"),
            ("k- k-", "-k"),
            (
                "cluster.open-cluster-management.io/clusterset-",
                "-cluster.open-cluster-management.io/clusterset",
            ),
            (
                "open-cluster-management.io/clusterset-",
                "-open-cluster-management.io/clusterset",
            ),
            (
                "berth.open-cluster-management.io/x-",
                "-berth.open-cluster-management.io/x",
            ),
        ] {
            assert_eq!(parsed(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn invalid_changes_are_refused_with_the_reason() {
        for (line, words) in [
            (
                "=v",
                "invalid label key: \"=v\": name part must be non-empty",
            ),
            ("-", "invalid label key: \"-\": name part must be non-empty"),
            ("a/b/c=v", "invalid label key: \"a/b/c=v\": "),
            (
                "k=not/good",
                "invalid label value: \"k=not/good\": a valid label must be",
            ),
            ("k=v-", "invalid label value: \"k=v-\": "),
            ("k=a=b", "invalid label value: \"k=a=b\": "),
            ("k=v k=w", "label k cannot be both \"v\" and \"w\""),
            (
                "k=v k-",
                "can not both modify and remove a label in the same command: k",
            ),
            (
                "k- k=",
                "can not both modify and remove a label in the same command: k",
            ),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.starts_with(words), "{line}: {error}");
        }
    }

    #[test]
    fn labels_that_users_do_not_write_name_what_does() {
        for (line, words) in [
            (
                "cluster.open-cluster-management.io/clusterset=prod",
                "label cluster.open-cluster-management.io/clusterset is not written by users: use berth clusterset set prod --clusters CLUSTER",
            ),
            (
                "cluster.open-cluster-management.io/clusterset=",
                "label cluster.open-cluster-management.io/clusterset is not written by users: to take a cluster out of its set, remove the \
                 label: cluster.open-cluster-management.io/clusterset-",
            ),
            (
                "open-cluster-management.io/clusterset=prod",
                "label open-cluster-management.io/clusterset is not written by users: use berth clusterset set prod --clusters CLUSTER",
            ),
            (
                "a=b feature.open-cluster-management.io/addon-x=available",
                "label feature.open-cluster-management.io/addon-x is not written by users: the hub keeps it as the add-on's state",
            ),
            (
                "feature.open-cluster-management.io/addon-x-",
                "label feature.open-cluster-management.io/addon-x is not written by users: the hub keeps it as the add-on's state",
            ),
            (
                "berth.open-cluster-management.io/unschedulable=true",
                "label berth.open-cluster-management.io/unschedulable is not written by users: it is the key of a taint: use berth cordon \
                 or berth drain",
            ),
            (
                "berth.open-cluster-management.io/x=y",
                "label berth.open-cluster-management.io/x is not written by users: Berth gives no label with \
                 berth.open-cluster-management.io/ a meaning",
            ),
        ] {
            assert_eq!(parsed(line).unwrap_err(), words, "{line}");
        }
    }
}
