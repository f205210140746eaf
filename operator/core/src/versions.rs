//! The versions of CustomResourceDefinitions, in an annotation that OCM's operator has, too.

use serde_json::{Value, json};

use crate::names::{API_VERSION_OF_OCM, DEFINITION_VERSION};

/// Gives a definition its version: that of OCM's API, which OCM's operator compares, and this program's.
pub(crate) fn annotate(definition: &mut Value, program: &str) {
    let version = format!("{API_VERSION_OF_OCM}+berth.{program}");
    definition["metadata"]["annotations"][DEFINITION_VERSION] = json!(version);
    // The API server does not store what v1 demands anyway.
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.remove("preserveUnknownFields");
    }
}

/// Returns whether a stored definition has a later version than the one that is wanted.
pub(crate) fn is_later(stored: &Value, wanted: &Value) -> bool {
    let version = |it: &Value| version(it["metadata"]["annotations"][DEFINITION_VERSION].as_str());
    version(stored) > version(wanted)
}

/// The numbers of a version: those of OCM's API, and those of Berth. A definition without one is older than any.
fn version(text: Option<&str>) -> (Vec<u64>, Vec<u64>) {
    let text = text.unwrap_or_default();
    let (ocm, berth) = text.split_once("+berth.").unwrap_or((text, ""));
    let numbers = |text: &str| -> Vec<u64> {
        let text = text.trim_start_matches('v');
        let end = text.find(|it: char| !it.is_ascii_digit() && it != '.');
        let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        let parts = text.split('.').map_while(|it| it.parse().ok());
        parts.collect()
    };
    (numbers(ocm), numbers(berth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let all = [
            None,
            Some("0.0.0"),
            Some("v0.16.1"),
            Some("1.3.0"),
            Some("1.3.1"),
            Some("1.3.1+berth.0.1.0"),
            Some("1.3.1+berth.0.2.0"),
            Some("1.3.1+berth.0.10.0"),
            Some("1.4.0-12-gabc"),
            Some("1.10.0"),
        ];
        for pair in all.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }
}
