//! The taints of a cluster after a change.
//!
//! Taints that a change does not concern stay as the hub sent them, with their times and with fields that this version does not know: the gate
//! refuses another time for a taint that stays.

use serde_json::{Value, json};

use super::spec::{Changes, NewTaint, Removal};
use crate::failure::CommandError;

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The cluster already has these taints.
    Nothing,
    /// All taints that the cluster is to have.
    Taints {
        taints: Vec<Value>,
        added: usize,
        removed: usize,
    },
}

/// Applies a change to the taints of the cluster.
///
/// # Errors
/// A new taint has the key of another one and does not replace it, or a taint to remove does not exist.
pub(crate) fn changed(
    cluster: &str,
    taints: &[Value],
    changes: &Changes,
) -> Result<Changed, CommandError> {
    let mut kept = taints.to_vec();
    for removal in &changes.remove {
        let before = kept.len();
        kept.retain(|taint| !is_removed(taint, removal));
        // Two removals may name the same taint.
        if kept.len() == before && !taints.iter().any(|it| is_removed(it, removal)) {
            return Err(CommandError::Refused(format!(
                "taint {:?} not found",
                removal.words()
            )));
        }
    }
    let removed = taints.len() - kept.len();
    let mut added = 0;
    for new in &changes.add {
        let has_key = |taint: &Value| taint["key"] == new.key.as_str();
        let others = kept.iter().filter(|it| has_key(it)).count();
        if others == 1 && kept.iter().any(|it| is_same(it, new)) {
            continue;
        }
        if others > 0 && !changes.overwrite {
            return Err(CommandError::Refused(format!(
                "managed cluster {cluster} already has the taint {} with another value or effect, and --overwrite is false",
                new.key
            )));
        }
        kept.retain(|taint| !has_key(taint));
        kept.push(new.to_json());
        added += 1;
    }
    if added == 0 && removed == 0 {
        return Ok(Changed::Nothing);
    }
    Ok(Changed::Taints {
        taints: kept,
        added,
        removed,
    })
}

fn is_removed(taint: &Value, removal: &Removal) -> bool {
    let has_effect = |effect: &str| taint["effect"] == effect;
    let effect = removal.effect.as_ref();
    taint["key"] == removal.key.as_str() && effect.is_none_or(|it| has_effect(it.as_str()))
}

fn is_same(taint: &Value, new: &NewTaint) -> bool {
    let value = taint["value"].as_str().unwrap_or_default();
    taint["key"] == new.key.as_str() && value == new.value && taint["effect"] == new.effect.as_str()
}

// === impl NewTaint ===

impl NewTaint {
    /// The taint as it is written: the hub adds the time.
    fn to_json(&self) -> Value {
        let mut taint = json!({"key": self.key, "effect": self.effect.as_str()});
        if !self.value.is_empty() {
            taint["value"] = self.value.as_str().into();
        }
        taint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: &str = "2026-01-01T00:00:00Z";

    fn stored(text: &str) -> Value {
        let (key, rest) = text.split_once('=').unwrap();
        let (value, effect) = rest.split_once(':').unwrap();
        json!({"key": key, "value": value, "effect": effect, "timeAdded": T, "later": 1})
    }

    fn after(before: &[&str], line: &str, overwrite: bool) -> Result<String, String> {
        let before: Vec<Value> = before.iter().map(|it| stored(it)).collect();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changes = Changes::parse(&words, overwrite).unwrap();
        match changed("c1", &before, &changes) {
            Err(why) => Err(why.to_string()),
            Ok(Changed::Nothing) => Ok("nothing".to_owned()),
            Ok(Changed::Taints { taints, .. }) => {
                let shown = taints.iter().map(|it| {
                    let text = |field: &str| it[field].as_str().unwrap_or_default().to_owned();
                    // A taint that stays is the stored one, to the last field.
                    let mark = if before.contains(it) { "" } else { "new " };
                    assert_eq!(it.get("timeAdded").is_none(), !mark.is_empty());
                    format!("{mark}{}={}:{}", text("key"), text("value"), text("effect"))
                });
                Ok(shown.collect::<Vec<_>>().join(", "))
            }
        }
    }

    #[test]
    fn a_change_concerns_its_own_taints_only() {
        for (sentence, before, line, overwrite, expected) in [
            (
                "the first taint",
                &[][..],
                "k=v:NoSelect",
                false,
                "new k=v:NoSelect",
            ),
            (
                "others stay",
                &["a=b:NoSelect", "c=:X"],
                "k:NoSelect",
                false,
                "a=b:NoSelect, c=:X, new k=:NoSelect",
            ),
            (
                "it is there",
                &["a=b:NoSelect", "k=v:NoSelect"],
                "k=v:NoSelect",
                false,
                "nothing",
            ),
            (
                "it is there, and needs no new time",
                &["k=v:NoSelect"],
                "k=v:NoSelect",
                true,
                "nothing",
            ),
            (
                "another value is replaced",
                &["k=v:NoSelect", "a=b:NoSelect"],
                "k=w:NoSelect",
                true,
                "a=b:NoSelect, new k=w:NoSelect",
            ),
            (
                "another effect is replaced",
                &["k=v:NoSelect"],
                "k=v:NoSelectIfNew",
                true,
                "new k=v:NoSelectIfNew",
            ),
            (
                "all with the key are replaced",
                &["k=v:NoSelect", "k=v:PreferNoSelect"],
                "k=v:NoSelect",
                true,
                "new k=v:NoSelect",
            ),
            (
                "all effects of the key are removed",
                &["k=v:NoSelect", "a=b:NoSelect", "k=w:NoSelectIfNew"],
                "k-",
                false,
                "a=b:NoSelect",
            ),
            (
                "one effect of the key is removed",
                &["k=v:NoSelect", "k=w:NoSelectIfNew"],
                "k:NoSelect-",
                false,
                "k=w:NoSelectIfNew",
            ),
            ("the last one", &["k=v:NoSelect"], "k-", false, ""),
            (
                "two removals may name the same taint",
                &["k=v:NoSelect"],
                "k- k:NoSelect-",
                false,
                "",
            ),
            (
                "added and removed",
                &["a=b:NoSelect"],
                "k:NoSelect a-",
                false,
                "new k=:NoSelect",
            ),
        ] {
            let after = after(before, line, overwrite);
            assert_eq!(after.as_deref(), Ok(expected), "{sentence}");
        }
    }

    #[test]
    fn what_would_change_another_taint_is_refused() {
        for (before, line, overwrite, expected) in [
            (
                &["k=v:NoSelect"][..],
                "k=w:NoSelect",
                false,
                "managed cluster c1 already has the taint k with another value or effect, and --overwrite is false",
            ),
            (
                &["k=v:NoSelect"],
                "k=v:PreferNoSelect",
                false,
                "managed cluster c1 already has the taint k with another value or effect, and --overwrite is false",
            ),
            (&["a=b:NoSelect"], "k-", false, "taint \"k\" not found"),
            (
                &["k=v:NoSelect"],
                "k:PreferNoSelect-",
                true,
                "taint \"k:PreferNoSelect\" not found",
            ),
        ] {
            let after = after(before, line, overwrite);
            assert_eq!(after.unwrap_err(), expected, "{line}");
        }
    }
}
