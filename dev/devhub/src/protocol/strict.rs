//! What a strict decoder notices in a document that can be read: fields that nobody knows, and fields that are there twice.

use std::collections::{HashMap, HashSet};

use crate::protocol::json;
use crate::writes::FieldValidation;

/// So many of a sort are told.
const TOLD_MAX: usize = 100;

/// What was noticed in a document of a built-in type, in words and in the order of the document. Of what a client sent as
/// something else than JSON, the order is that of the lists.
pub(crate) fn of_built_in(
    bytes: &[u8],
    mut unknown: Vec<String>,
    duplicates: &[String],
) -> Vec<String> {
    unknown.truncate(TOLD_MAX);
    // What nobody knows is not looked into.
    let is_known = |path: &&String| {
        let mut above = path.match_indices(['.', '[']).map(|(at, _)| &path[..at]);
        !unknown.contains(path) && !above.any(|path| unknown.iter().any(|field| field == path))
    };
    let duplicates: Vec<&String> = duplicates.iter().filter(is_known).collect();
    let mut noticed: Vec<(&str, bool)> = Vec::new();
    noticed.extend(unknown.iter().map(|path| (path.as_str(), false)));
    noticed.extend(duplicates.iter().map(|path| (path.as_str(), true)));
    if noticed.len() > 1 {
        let wanted: HashSet<&str> = noticed.iter().map(|(path, _)| *path).collect();
        let mut places: HashMap<(&str, bool), usize> = HashMap::new();
        json::fields(bytes, &mut |path, again| {
            if let Some(&path) = wanted.get(path) {
                let place = places.len();
                places.entry((path, again)).or_insert(place);
            }
        });
        noticed.sort_by_key(|field| places.get(field).copied());
    }
    let told = noticed.into_iter();
    told.map(|(path, again)| {
        if again {
            duplicate(path)
        } else {
            unknown_field(path)
        }
    })
    .collect()
}

/// What was noticed in a custom object, in words: its fields are looked for when it has been read.
pub(crate) fn of_custom(unknown: &[String], duplicates: &[String]) -> Vec<String> {
    let unknown = unknown.iter().map(|path| unknown_field(path));
    told(duplicates).into_iter().chain(unknown).collect()
}

/// Fields that are there more than once, in words.
pub(crate) fn told(duplicates: &[String]) -> Vec<String> {
    duplicates.iter().map(|path| duplicate(path)).collect()
}

/// What of this is to be warned of.
pub(crate) fn warned(noticed: Vec<String>, validation: FieldValidation) -> Vec<String> {
    match validation {
        FieldValidation::Warn => noticed,
        FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
    }
}

fn duplicate(path: &str) -> String {
    format!("duplicate field {path:?}")
}

fn unknown_field(path: &str) -> String {
    format!("unknown field {path:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_document() {
        let text = r#"{"z": {"a": 1, "a": 2}, "a": {"b": 1, "b": 2}, "y": 1, "a": {}, "z": 1}"#;
        let list = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (unknown, duplicates) = (list(&["y", "z"]), list(&["z.a", "a.b", "a", "z"]));
        let expected = [
            "unknown field \"z\"",
            "duplicate field \"a.b\"",
            "unknown field \"y\"",
            "duplicate field \"a\"",
        ];
        let noticed = of_built_in(text.as_bytes(), unknown.clone(), &duplicates);
        assert_eq!(noticed, expected);
        let noticed = of_built_in(b"y: 1\nz: 1\n", unknown.clone(), &[]);
        assert_eq!(noticed, ["unknown field \"y\"", "unknown field \"z\""]);
        let noticed = of_custom(&unknown, &list(&["a"]));
        assert_eq!(
            noticed,
            [
                "duplicate field \"a\"",
                "unknown field \"y\"",
                "unknown field \"z\""
            ]
        );
    }
}
