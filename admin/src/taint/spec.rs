//! The changes of taints on the command line, in the syntax of `kubectl taint`.

use berth_api::cluster::TaintEffect;
use berth_api::names;

/// Upper bound on the characters of a value, as the CRD has it.
const LONGEST_VALUE: usize = 1024;

/// A taint to add, without its time: the hub sets that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewTaint {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: TaintEffect,
}

/// Taints to remove: those with the key, and with the effect if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) key: String,
    pub(crate) effect: Option<TaintEffect>,
}

/// What a command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) add: Vec<NewTaint>,
    pub(crate) remove: Vec<Removal>,
    /// Taints that have the key of a new one are replaced.
    pub(crate) overwrite: bool,
}

/// Parses an effect of a taint.
pub(crate) fn effect(text: &str) -> Result<TaintEffect, String> {
    match text {
        "NoSelect" => Ok(TaintEffect::NoSelect),
        "PreferNoSelect" => Ok(TaintEffect::PreferNoSelect),
        "NoSelectIfNew" => Ok(TaintEffect::NoSelectIfNew),
        other => Err(format!(
            "the effect is NoSelect, PreferNoSelect or NoSelectIfNew, not {other:?}"
        )),
    }
}

/// Returns true for a word that changes taints. No name of a cluster looks so.
pub(super) fn is_change(word: &str) -> bool {
    word.ends_with('-') || word.contains([':', '='])
}

// === impl Changes ===

impl Changes {
    /// Parses words such as `KEY=VALUE:EFFECT` and `KEY-`.
    pub(super) fn parse(words: &[String], overwrite: bool) -> Result<Self, String> {
        let mut changes = Self {
            overwrite,
            ..Self::default()
        };
        for word in words {
            let invalid = |why: String| format!("invalid taint spec: {word}, {why}");
            match word.strip_suffix('-') {
                Some(word) => changes.remove.push(removal(word).map_err(invalid)?),
                None => {
                    let new = new_taint(word).map_err(invalid)?;
                    if changes.add.iter().any(|it| it.key == new.key) {
                        return Err(format!("duplicated taints with the same key: {}", new.key));
                    }
                    changes.add.push(new);
                }
            }
        }
        let both = |new: &&NewTaint| changes.remove.iter().any(|it| it.key == new.key);
        if let Some(new) = changes.add.iter().find(both) {
            return Err(format!(
                "can not both modify and remove the taint {} in the same command; --overwrite replaces it",
                new.key
            ));
        }
        Ok(changes)
    }
}

// === impl Removal ===

impl Removal {
    /// The taint as the command line names it.
    pub(super) fn words(&self) -> String {
        match &self.effect {
            None => self.key.clone(),
            Some(effect) => format!("{}:{}", self.key, effect.as_str()),
        }
    }
}

/// Parses `KEY[=VALUE]:EFFECT`.
fn new_taint(text: &str) -> Result<NewTaint, String> {
    let (rest, effect_text) = text
        .rsplit_once(':')
        .ok_or("a new taint is KEY=VALUE:EFFECT or KEY:EFFECT")?;
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    check_key(key)?;
    if value.chars().count() > LONGEST_VALUE {
        return Err(format!(
            "the value has more than {LONGEST_VALUE} characters"
        ));
    }
    Ok(NewTaint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect(effect_text)?,
    })
}

/// Parses `KEY` or `KEY[=VALUE]:EFFECT`. As in kubectl, the value does not matter.
fn removal(text: &str) -> Result<Removal, String> {
    let (rest, effect) = match text.rsplit_once(':') {
        None => (text, None),
        Some((rest, text)) => (rest, Some(effect(text)?)),
    };
    let key = rest.split_once('=').map_or(rest, |(key, _)| key);
    check_key(key)?;
    Ok(Removal {
        key: key.to_owned(),
        effect,
    })
}

fn check_key(key: &str) -> Result<(), String> {
    match names::qualified_name(key).first() {
        None => Ok(()),
        Some(why) => Err(format!("the key {key:?}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let changes = Changes::parse(&words, false)?;
        let add = changes.add.iter().map(|it| {
            let NewTaint { key, value, effect } = it;
            format!("+{key}={value}:{}", effect.as_str())
        });
        let remove = changes.remove.iter().map(|it| format!("-{}", it.words()));
        Ok(add.chain(remove).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn changes_are_written_as_in_kubectl() {
        for (line, expected) in [
            ("k=v:NoSelect", "+k=v:NoSelect"),
            ("k:PreferNoSelect", "+k=:PreferNoSelect"),
            ("a.b/k=:NoSelectIfNew", "+a.b/k=:NoSelectIfNew"),
            ("k=a:b=c:NoSelect", "+k=a:b=c:NoSelect"),
            ("k-", "-k"),
            ("k:NoSelect-", "-k:NoSelect"),
            ("k=v:NoSelect-", "-k:NoSelect"),
            ("k=v:NoSelect j-", "+k=v:NoSelect -j"),
            ("k- k:NoSelect-", "-k -k:NoSelect"),
        ] {
            assert_eq!(parsed(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn invalid_changes_are_refused_with_the_reason() {
        let long = format!("k={}:NoSelect", "v".repeat(LONGEST_VALUE + 1));
        for (line, words) in [
            (
                "k=v:NoSchedule",
                "the effect is NoSelect, PreferNoSelect or NoSelectIfNew, not \"NoSchedule\"",
            ),
            ("k=v:", "not \"\""),
            (
                "k=v",
                "invalid taint spec: k=v, a new taint is KEY=VALUE:EFFECT",
            ),
            ("=v:NoSelect", "the key \"\": "),
            ("a/b/c:NoSelect", "the key \"a/b/c\": "),
            ("-", "the key \"\": "),
            ("k:Other-", "not \"Other\""),
            (&long, "the value has more than 1024 characters"),
            (
                "k:NoSelect k:PreferNoSelect",
                "duplicated taints with the same key: k",
            ),
            (
                "k:NoSelect k:PreferNoSelect-",
                "can not both modify and remove the taint k",
            ),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn names_of_clusters_are_no_changes() {
        for (word, expected) in [
            ("cluster1", false),
            ("a-b.c", false),
            ("k-", true),
            ("k:NoSelect", true),
            ("k=v", true),
        ] {
            assert_eq!(is_change(word), expected, "{word}");
        }
    }
}
