//! Replaces `{{NAME}}` in the strings of a manifest, its keys included.
//!
//! A name is what stands between the braces, to the letter: ` NAME ` with spaces is another name. OCM replaces names in the JSON text of a
//! manifest, where a value with a quote breaks the manifest, and an unclosed `{{` ends the process. Here each string is replaced by
//! itself: a value cannot end its string, and a placeholder cannot reach into the next one.
//!
//! A name that is not a variable gives empty text, as in OCM, because a running fleet must not change when Berth takes it over. It is
//! reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use berth_api::text::shorten;
use serde_json::{Map, Value};

/// Upper bound on the unknown names of a manifest that are reported.
const NAMES: usize = 10;

/// Upper bound on the bytes of a name, or of the path of a field, in a message.
const LONGEST: usize = 120;

/// Replaces variables, and counts the bytes of the result.
pub(super) struct Replacement<'a> {
    variables: &'a BTreeMap<String, String>,
    /// How many more bytes the result may have.
    room: usize,
    largest: usize,
    /// Keys get their values. Without the values of a cluster, two keys may become one that differ on every cluster.
    renames_keys: bool,
    unknown: BTreeSet<Unknown>,
}

/// A name in braces that is not a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unknown {
    name: String,
    /// The variable that has the name without spaces.
    meant: Option<String>,
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path of the field, such as `spec.containers[0].image`.
    path: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// `{{` without `}}` in the same string.
    Unclosed,
    /// A key occurs twice after replacement.
    Twice,
    /// All strings together have more bytes than this.
    TooLarge(usize),
}

// === impl Replacement ===

impl<'a> Replacement<'a> {
    pub(super) fn new(variables: &'a BTreeMap<String, String>, largest: usize) -> Self {
        Self {
            variables,
            room: largest,
            largest,
            renames_keys: true,
            unknown: BTreeSet::new(),
        }
    }

    /// For a check without the values of a cluster: keys are read, and keep their names.
    pub(super) fn of_check(variables: &'a BTreeMap<String, String>, largest: usize) -> Self {
        Self {
            renames_keys: false,
            ..Self::new(variables, largest)
        }
    }

    /// Replaces the variables of a manifest. Returns its names that are no variables.
    pub(super) fn object(
        &mut self,
        object: &mut Map<String, Value>,
    ) -> Result<BTreeSet<Unknown>, Problem> {
        let mut path = String::new();
        self.unknown.clear();
        self.fields(object, &mut path)
            .map_err(|what| Problem { path, what })?;
        Ok(std::mem::take(&mut self.unknown))
    }

    /// On failure, `path` is that of the field. The recursion is bounded by that of the parser, which made the value.
    fn value(&mut self, value: &mut Value, path: &mut String) -> Result<(), What> {
        match value {
            Value::String(text) => {
                if let Some(replaced) = self.text(text)? {
                    *text = replaced;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let length = path.len();
                    path.push_str(&format!("[{index}]"));
                    self.value(item, path)?;
                    path.truncate(length);
                }
            }
            Value::Object(fields) => self.fields(fields, path)?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, path: &mut String) -> Result<(), What> {
        let mut renamed = Vec::new();
        for (key, value) in fields.iter_mut() {
            let length = path.len();
            if length > 0 {
                path.push('.');
            }
            path.push_str(key);
            if let Some(name) = self.text(key)?
                && self.renames_keys
            {
                renamed.push((key.clone(), name));
            }
            self.value(value, path)?;
            path.truncate(length);
        }
        // All old names go first: the new name of one may be the old name of another.
        let taken: Vec<_> = renamed
            .into_iter()
            .filter_map(|(key, name)| Some((name, fields.remove(&key)?)))
            .collect();
        for (name, value) in taken {
            if fields.contains_key(&name) {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
                return Err(What::Twice);
            }
            fields.insert(name, value);
        }
        Ok(())
    }

    /// Returns the text with values in place of names. `None` if it has no names.
    fn text(&mut self, text: &str) -> Result<Option<String>, What> {
        if !text.contains("{{") {
            self.spend(text.len())?;
            return Ok(None);
        }
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else {
                return Err(What::Unclosed);
            };
            let value = match self.variables.get(name) {
                Some(value) => value.as_str(),
                None => {
                    self.report(name);
                    ""
                }
            };
            self.spend(before.len() + value.len())?;
            replaced.push_str(before);
            replaced.push_str(value);
            rest = after;
        }
        self.spend(rest.len())?;
        replaced.push_str(rest);
        Ok(Some(replaced))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), What> {
        let left = self.room.checked_sub(bytes);
        self.room = left.ok_or(What::TooLarge(self.largest))?;
        Ok(())
    }

    fn report(&mut self, name: &str) {
        if self.unknown.len() < NAMES {
            let meant = self.variables.get_key_value(name.trim());
            self.unknown.insert(Unknown {
                name: shorten(name, LONGEST).into_owned(),
                meant: meant.map(|(name, _)| name.clone()),
            });
        }
    }
}

// === impl Unknown ===

impl Unknown {
    /// Returns true if a config can define a variable of this name.
    pub(super) fn may_be_defined(&self) -> bool {
        let mut bytes = self.name.bytes();
        let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        bytes.next().is_some_and(is_letter)
            && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{{{{{}}}}}", self.name);
        write!(
            f,
            "{name:?} is not a variable and is replaced by empty text"
        )?;
        match &self.meant {
            Some(meant) => write!(f, "; write {{{{{meant}}}}}, without spaces"),
            None => Ok(()),
        }
    }
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shorten(&self.path, LONGEST);
        match self.what {
            What::Unclosed => write!(f, "unclosed {{{{ in {path}: }}}} is missing"),
            What::Twice => write!(f, "{path} occurs twice after variables were replaced"),
            What::TooLarge(largest) => write!(
                f,
                "with variables replaced, the manifests have more than {largest} bytes; reached in {path}"
            ),
        }
    }
}
