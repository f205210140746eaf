//! What flags make of a table: other columns, more columns, another order.

use std::cmp::Ordering;

use berth_work_core::jsonpath::Path;
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use super::screen::View;
use crate::hub::Item;
use crate::print::{Template, Visits, text_of};

/// The most columns of `-o custom-columns`.
const MOST_COLUMNS: usize = 50;

/// The cell of a path that finds nothing, as kubectl prints it.
const NONE: &str = "<none>";

/// A format that the user describes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Described {
    /// `custom-columns=TITLE:PATH,...`
    Columns(Vec<(String, Path)>),
    /// `jsonpath=TEMPLATE`
    Template(Template),
}

/// The columns of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// Instead of those of the kind.
    pub(super) described: Option<Vec<(String, Path)>>,
    /// Labels that get a column each.
    pub(super) labels: Vec<String>,
    /// A column with all labels.
    pub(super) show_labels: bool,
}

// === impl Described ===

impl Described {
    /// Parses `-o custom-columns=...` and `-o jsonpath=...`. None: another format.
    ///
    /// # Errors
    /// A path or a template is wrong.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let (format, argument) = text.split_once('=').unwrap_or((text, ""));
        match format {
            "jsonpath" if !argument.is_empty() => Template::parse(argument).map(Self::Template),
            "custom-columns" if !argument.is_empty() => columns(argument).map(Self::Columns),
            "jsonpath" => Err("expected jsonpath=TEMPLATE, such as jsonpath={.items[*].metadata.name}".to_owned()),
            "custom-columns" => Err("expected custom-columns=TITLE:PATH,..., such as custom-columns=NAME:.metadata.name".to_owned()),
            "go-template" | "go-template-file" | "jsonpath-file" | "jsonpath-as-json" | "custom-columns-file" => Err(format!(
                "{format} is not supported: use jsonpath=TEMPLATE, custom-columns=TITLE:PATH,..., or -o json with a program such as jq"
            )),
            _ => return Ok(None),
        }
        .map(Some)
    }
}

fn columns(text: &str) -> Result<Vec<(String, Path)>, String> {
    let mut columns = Vec::new();
    for column in split(text) {
        let (title, path) = column
            .split_once(':')
            .filter(|(title, _)| !title.is_empty())
            .ok_or_else(|| format!("{column:?} is not TITLE:PATH"))?;
        columns.push((title.to_owned(), path_of(path)?));
    }
    match columns.len() {
        0 => Err("there are no columns".to_owned()),
        count if count > MOST_COLUMNS => {
            Err(format!("{count} columns are more than {MOST_COLUMNS}"))
        }
        _ => Ok(columns),
    }
}

/// Splits at commas that are not in brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// Parses a path, with or without braces and the dot at its beginning, as kubectl does.
pub(super) fn path_of(text: &str) -> Result<Path, String> {
    let inner = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    let inner = inner.unwrap_or(text);
    match inner.starts_with(['.', '[', '$', '@']) {
        true => Path::parse(inner),
        false => Path::parse(&format!(".{inner}")),
    }
}

// === impl Columns ===

impl Columns {
    pub(super) fn titles<V: View>(&self, view: &V) -> Vec<String> {
        let mut titles: Vec<String> = match &self.described {
            Some(columns) => columns.iter().map(|(title, _)| title.clone()).collect(),
            None => view.titles().into_iter().map(str::to_owned).collect(),
        };
        // The last part of the key, as in kubectl.
        let titled = |key: &String| key.rsplit('/').next().unwrap_or(key).to_uppercase();
        titles.extend(self.labels.iter().map(titled));
        if self.show_labels {
            titles.push("LABELS".to_owned());
        }
        titles
    }

    pub(super) fn cells<V: View>(
        &self,
        view: &V,
        item: &Item<V::Kind>,
        now: Timestamp,
    ) -> Vec<String> {
        let mut cells = match &self.described {
            Some(columns) => {
                let mut visits = Visits::default();
                let cell = |(_, path): &(String, Path)| cell(&mut visits, path, &item.value);
                columns.iter().map(cell).collect()
            }
            None => view.cells(item, now),
        };
        let labels = item.object.labels();
        for key in &self.labels {
            cells.push(labels.get(key).cloned().unwrap_or_default());
        }
        if self.show_labels {
            let pairs: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            cells.push(match pairs.is_empty() {
                true => NONE.to_owned(),
                false => pairs.join(","),
            });
        }
        cells
    }
}

fn cell(visits: &mut Visits, path: &Path, object: &Value) -> String {
    match visits.find(path, object) {
        Ok(found) if found.is_empty() => NONE.to_owned(),
        Ok(found) => found.into_iter().map(text_of).collect::<Vec<_>>().join(","),
        Err(why) => format!("<{why}>"),
    }
}

/// Sorts objects by the value of a path. Those without one come first, as in kubectl.
pub(super) fn sort_by<K>(items: &mut [Item<K>], path: &Path) {
    let mut visits = Visits::default();
    items.sort_by_cached_key(|item| {
        let found = visits.find(path, &item.value);
        Key(found.ok().and_then(|it| it.first().map(|it| (*it).clone())))
    });
}

/// A value to sort by: nothing, then booleans, numbers and texts.
#[derive(PartialEq)]
struct Key(Option<Value>);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |key: &Self| match key.0 {
            None | Some(Value::Null) => 0,
            Some(Value::Bool(_)) => 1,
            Some(Value::Number(_)) => 2,
            Some(Value::String(_)) => 3,
            Some(_) => 4,
        };
        match (&self.0, &other.0) {
            (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
            (Some(Value::Number(a)), Some(Value::Number(b))) => {
                let number = |it: &serde_json::Number| it.as_f64().unwrap_or_default();
                number(a).total_cmp(&number(b))
            }
            (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_api::ManagedCluster;
    use serde_json::json;

    use super::*;

    fn item(name: &str, spec: &Value) -> Item<ManagedCluster> {
        Item::of(json!({"metadata": {"name": name, "labels": {"a/b": name}}, "spec": spec}))
    }

    #[test]
    fn columns_have_titles_and_paths() {
        let Ok(Some(Described::Columns(columns))) = Described::parse(
            "custom-columns=NAME:.metadata.name,X:{.spec.x[?(@.k==\"a,b\")]},Y:spec.y",
        ) else {
            panic!("they are columns");
        };
        let titles: Vec<&str> = columns.iter().map(|(title, _)| &**title).collect();
        assert_eq!(titles, ["NAME", "X", "Y"]);
        let object = json!({"metadata": {"name": "a"}, "spec": {"y": [1, 2]}});
        let mut visits = Visits::default();
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, path)| cell(&mut visits, path, &object))
            .collect();
        assert_eq!(cells, ["a", NONE, "[1,2]"]);
    }

    #[test]
    fn what_is_no_format_is_refused_with_what_is_one() {
        for (text, words) in [
            ("custom-columns", "expected custom-columns=TITLE:PATH"),
            ("custom-columns=NAME", "is not TITLE:PATH"),
            ("custom-columns=:x", "is not TITLE:PATH"),
            ("jsonpath=", "expected jsonpath=TEMPLATE"),
            ("jsonpath={.a", "a { has no }"),
            (
                "go-template={{.a}}",
                "go-template is not supported: use jsonpath",
            ),
        ] {
            let error = Described::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(Described::parse("yaml"), Ok(None));
    }

    #[test]
    fn objects_are_sorted_by_a_value() {
        let mut items = vec![
            item("c", &json!({"leaseDurationSeconds": 20})),
            item("a", &json!({"leaseDurationSeconds": 100})),
            item("b", &json!({})),
        ];
        let names = |items: &[Item<ManagedCluster>]| -> Vec<String> {
            items.iter().map(Item::name).collect()
        };
        sort_by(
            &mut items,
            &path_of("{.spec.leaseDurationSeconds}").unwrap(),
        );
        assert_eq!(names(&items), ["b", "c", "a"]);
        sort_by(&mut items, &path_of(".metadata.name").unwrap());
        assert_eq!(names(&items), ["a", "b", "c"]);
    }
}
