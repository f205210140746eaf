//! What a strict decoder reports about a readable document: unknown fields, and fields that occur twice.

use crate::writes::FieldValidation;

/// The most findings of a sort that are reported.
const TOLD_MAX: usize = 100;

/// Messages about duplicate and unknown fields. Fields below an unknown field are left out.
/// Fields that are unknown come first; of a custom object, where they are looked for later, last.
pub(crate) fn noticed(unknown: &[String], duplicates: &[String], custom: bool) -> Vec<String> {
    let is_known = |path: &&String| {
        let mut above = path.match_indices(['.', '[']).map(|(at, _)| &path[..at]);
        !unknown.contains(path) && !above.any(|path| unknown.iter().any(|field| field == path))
    };
    let duplicates = duplicates.iter().filter(is_known);
    let duplicates = duplicates.map(|path| duplicate(path));
    let unknown = unknown.iter().take(TOLD_MAX);
    let unknown = unknown.map(|path| format!("unknown field {path:?}"));
    match custom {
        true => duplicates.chain(unknown).collect(),
        false => unknown.chain(duplicates).collect(),
    }
}

/// Fields that are there more than once, in words.
pub(crate) fn told(duplicates: &[String]) -> Vec<String> {
    duplicates.iter().map(|path| duplicate(path)).collect()
}

/// The messages that are sent as warnings.
pub(crate) fn warned(noticed: Vec<String>, validation: FieldValidation) -> Vec<String> {
    match validation {
        FieldValidation::Warn => noticed,
        FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
    }
}

fn duplicate(path: &str) -> String {
    format!("duplicate field {path:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_not_looked_into() {
        let list = |paths: &[&str]| {
            paths
                .iter()
                .map(|&path| path.to_owned())
                .collect::<Vec<_>>()
        };
        let noticed = noticed(&list(&["z"]), &list(&["a", "z", "z.b"]), true);
        assert_eq!(noticed, ["duplicate field \"a\"", "unknown field \"z\""]);
    }
}
