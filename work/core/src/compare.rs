//! Comparison of a manifest with the object on the cluster.
//!
//! [`Comparison::covers`] asks whether the object has all that the manifest has; defaults and the fields of others do not matter.
//! [`Comparison::equals`] asks whether a field is equal, but for known defaults. What the API server normalizes is equal: quantities,
//! values that it stores as absent, `1` and `1.0`.

mod absent;
pub(crate) mod branches;
pub(crate) mod whole;

use std::collections::HashMap;

use berth_api::quantity;
use serde_json::{Map, Value};

use crate::differs::Findings;
use crate::managed::{Entry, KEY_DEFAULT, Segment, has_key, text};
use crate::path::{Part, Path};
use whole::Whole;

/// A manager's entry, and the node of its fields at the current path.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    entry: Entry<'a>,
    fields: &'a Value,
}

/// A default: the path of a field, and its value as JSON text.
pub(crate) type Default = (&'static str, &'static str);

/// One comparison.
pub(crate) struct Comparison<'f, 's, 'm> {
    pub(crate) findings: &'f mut Findings<'s>,
    pub(crate) path: Path,
    /// Values that the API server fills in.
    pub(crate) defaults: &'static [Default],
    /// Values that are compared exactly although others are not.
    pub(crate) whole: Option<Whole<'m>>,
    /// The kind is Kubernetes' own.
    pub(crate) is_built_in: bool,
}

/// The roots of the fields of all managers.
pub(crate) fn roots<'a>(entries: &[Entry<'a>]) -> Vec<Node<'a>> {
    entries
        .iter()
        .map(|entry| Node {
            entry: *entry,
            fields: entry.fields,
        })
        .collect()
}

// === impl Comparison ===

impl Comparison<'_, '_, '_> {
    /// Finds what the object lacks.
    pub(crate) fn covers(&mut self, ours: &Value, theirs: Option<&Value>, nodes: &[Node<'_>]) {
        match (ours, theirs) {
            (Value::Null, _) => {}
            (ours, None) if self.is_absent(ours) => {}
            (ours, Some(theirs)) if self.is_exact(ours, theirs, nodes) => {
                self.equals(Some(ours), Some(theirs), nodes);
            }
            (Value::Object(wanted), Some(Value::Object(found))) => {
                for (name, value) in wanted {
                    let below = below(nodes, name);
                    self.at(name.as_str().into(), |it| {
                        it.covers(value, found.get(name), &below);
                    });
                }
            }
            (Value::Array(wanted), Some(Value::Array(found))) => {
                match ListKind::of(wanted, found, nodes) {
                    ListKind::Keyed(names) => self.covers_keyed(wanted, found, &names, nodes),
                    ListKind::Set => {
                        for item in wanted.iter().filter(|item| !found.contains(item)) {
                            self.at(Part::Member(item.clone()), |it| {
                                it.found(Some(item), None, nodes);
                            });
                        }
                    }
                    // The API server adds tolerations to Pods.
                    ListKind::Whole
                        if self.findings.muted
                            && self.path.matches("spec.tolerations")
                            && wanted.iter().all(|item| found.contains(item)) => {}
                    ListKind::Whole if wanted.len() == found.len() => {
                        for (index, (ours, theirs)) in wanted.iter().zip(found).enumerate() {
                            self.at(Part::Index(index), |it| {
                                it.covers(ours, Some(theirs), nodes)
                            });
                        }
                    }
                    ListKind::Whole => self.found(Some(ours), theirs, nodes),
                }
            }
            (ours, Some(theirs)) if self.is_same(ours, theirs) => {}
            (ours, theirs) => self.found(Some(ours), theirs, nodes),
        }
    }

    fn covers_keyed(
        &mut self,
        ours: &[Value],
        theirs: &[Value],
        names: &[String],
        nodes: &[Node<'_>],
    ) {
        let keys = keyed_below(nodes);
        // By their whole key; what is looked for may lack fields of it.
        let mut left: HashMap<String, &Value> = theirs
            .iter()
            .map(|item| (text(&key(item, names)), item))
            .collect();
        for (index, item) in ours.iter().enumerate() {
            let key = key(item, names);
            let whole = if key.len() == names.len() {
                Some(text(&key))
            } else {
                left.iter()
                    .filter(|(_, theirs)| !key.is_empty() && has_key(theirs, &key))
                    .map(|(whole, _)| whole.clone())
                    .min()
            };
            let matched = whole.and_then(|whole| Some((left.remove(&whole)?, whole)));
            let (matched, whole) = matched.unzip();
            let below = whole.and_then(|whole| keys.get(&whole).cloned());
            let below = below.unwrap_or_default();
            let part = if key.is_empty() {
                Part::Index(index)
            } else {
                Part::Key(key.clone())
            };
            self.at(part, |it| match matched {
                Some(theirs) => it.covers(item, Some(theirs), &below),
                None => it.found(Some(item), None, nodes),
            });
        }
    }

    /// Finds where two values differ. Fields of theirs only are no difference if they are defaults.
    pub(crate) fn equals(
        &mut self,
        ours: Option<&Value>,
        theirs: Option<&Value>,
        nodes: &[Node<'_>],
    ) {
        match (ours.filter(|ours| !ours.is_null()), theirs) {
            (None, None) => {}
            (Some(value), None) | (None, Some(value)) if self.is_absent(value) => {}
            (None, Some(theirs)) => {
                if !self.is_default(theirs) {
                    self.found(None, Some(theirs), nodes);
                }
            }
            (Some(Value::Object(wanted)), Some(Value::Object(found))) => {
                let more = found.keys().filter(|name| !wanted.contains_key(*name));
                for name in wanted.keys().chain(more) {
                    let below = below(nodes, name);
                    self.at(name.as_str().into(), |it| {
                        it.equals(wanted.get(name), found.get(name), &below);
                    });
                }
            }
            (Some(Value::Array(wanted)), Some(Value::Array(found)))
                if wanted.len() == found.len() =>
            {
                for (index, (ours, theirs)) in wanted.iter().zip(found).enumerate() {
                    self.at(Part::Index(index), |it| {
                        it.equals(Some(ours), Some(theirs), nodes)
                    });
                }
            }
            (Some(ours), Some(theirs)) if self.is_same(ours, theirs) => {}
            (ours, theirs) => self.found(ours, theirs, nodes),
        }
    }

    /// As [`Comparison::covers`], for one field of the object.
    pub(crate) fn covers_field(
        &mut self,
        name: &str,
        ours: &Value,
        theirs: Option<&Value>,
        roots: &[Node<'_>],
    ) {
        let below = below(roots, name);
        self.at(name.into(), |it| it.covers(ours, theirs, &below));
    }

    /// As [`Comparison::equals`], for one field of the object.
    pub(crate) fn equals_field(
        &mut self,
        name: &str,
        ours: &Value,
        theirs: Option<&Value>,
        roots: &[Node<'_>],
    ) {
        let below = below(roots, name);
        self.at(name.into(), |it| it.equals(Some(ours), theirs, &below));
    }

    fn at<R>(&mut self, part: Part, compare: impl FnOnce(&mut Self) -> R) -> R {
        self.path.0.push(part);
        let result = compare(self);
        self.path.0.pop();
        result
    }

    fn found(&mut self, ours: Option<&Value>, theirs: Option<&Value>, nodes: &[Node<'_>]) {
        let last = nodes.iter().max_by_key(|node| node.entry.time);
        let manager = last.map(|node| node.entry.manager);
        self.findings.differs(&self.path, ours, theirs, manager);
    }

    fn is_default(&self, theirs: &Value) -> bool {
        let mut defaults = self.defaults.iter();
        defaults.any(|(pattern, value)| self.path.matches(pattern) && is_json(theirs, value))
            || self.whole.is_some() && whole::is_default(&self.path, theirs)
    }

    fn is_same(&self, ours: &Value, theirs: &Value) -> bool {
        ours == theirs
            || is_same_number(ours, theirs)
            || is_quantity(&self.path) && is_same_quantity(ours, theirs)
            || is_void(ours) && is_void(theirs)
    }
}

/// Is this the value of a JSON text?
fn is_json(value: &Value, text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|it: Value| it == *value)
}

/// Is nothing in the value?
pub(crate) fn is_void(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(object) => object.values().all(is_void),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn is_same_number(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            (ours.is_f64() || theirs.is_f64()) && ours.as_f64() == theirs.as_f64()
        }
        _ => false,
    }
}

/// Fields that hold quantities, and maps of quantities.
const QUANTITIES: [&str; 3] = ["sizeLimit", "divisor", "averageValue"];
const QUANTITY_MAPS: [&str; 12] = [
    "limits",
    "requests",
    "hard",
    "capacity",
    "allocatable",
    "overhead",
    "podFixed",
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];

fn is_quantity(path: &Path) -> bool {
    let mut fields = path.fields_from_last();
    let last = fields.next().unwrap_or_default();
    let above = fields.next().unwrap_or_default();
    QUANTITIES.contains(&last)
        || QUANTITY_MAPS.contains(&above)
        || last == "value" && above == "target"
}

fn is_same_quantity(ours: &Value, theirs: &Value) -> bool {
    let amount = |value: &Value| match value {
        Value::String(text) => quantity::exact(text),
        Value::Number(number) => quantity::exact(&number.to_string()),
        _ => None,
    };
    amount(ours).is_some_and(|ours| amount(theirs) == Some(ours))
}

/// The nodes of a field.
pub(crate) fn below<'a>(nodes: &[Node<'a>], field: &str) -> Vec<Node<'a>> {
    let key = format!("f:{field}");
    let found = nodes.iter().filter_map(|node| {
        Some(Node {
            entry: node.entry,
            fields: node.fields.get(&key)?,
        })
    });
    found.collect()
}

/// The nodes of the items of a list, by the text of their key.
pub(crate) fn keyed_below<'a>(nodes: &[Node<'a>]) -> HashMap<String, Vec<Node<'a>>> {
    let mut all: HashMap<String, Vec<Node<'a>>> = HashMap::new();
    for node in nodes {
        for (key, fields) in node.fields.as_object().into_iter().flatten() {
            if let Segment::Key(key) = Segment::of(key) {
                let entry = node.entry;
                all.entry(text(&key))
                    .or_default()
                    .push(Node { entry, fields });
            }
        }
    }
    all
}

/// How the items of a list are told apart.
pub(crate) enum ListKind {
    /// By these fields.
    Keyed(Vec<String>),
    /// By their values.
    Set,
    /// The list is one value.
    Whole,
}

// === impl ListKind ===

impl ListKind {
    /// The API server writes it into managedFields. Without these, items that all have a distinct `name` are told apart by it.
    pub(crate) fn of(ours: &[Value], theirs: &[Value], nodes: &[Node<'_>]) -> Self {
        let keys = nodes
            .iter()
            .filter_map(|node| node.fields.as_object())
            .flat_map(Map::keys);
        for key in keys {
            match Segment::of(key) {
                Segment::Key(key) => return Self::Keyed(key.keys().cloned().collect()),
                Segment::Member(_) => return Self::Set,
                _ => {}
            }
        }
        if nodes.is_empty() && are_named(ours) && are_named(theirs) {
            return Self::Keyed(vec!["name".to_owned()]);
        }
        Self::Whole
    }
}

fn are_named(items: &[Value]) -> bool {
    let names: Option<Vec<&str>> = items
        .iter()
        .map(|item| item.get("name")?.as_str())
        .collect();
    names.is_some_and(|mut names| {
        names.sort_unstable();
        names.windows(2).all(|pair| pair[0] != pair[1])
    })
}

/// The fields of the key that an item has, or gets.
pub(crate) fn key(item: &Value, names: &[String]) -> Map<String, Value> {
    let of = |name: &String| match item.get(name) {
        None if name == KEY_DEFAULT.0 => Some(KEY_DEFAULT.1.into()),
        value => value.cloned(),
    };
    let fields = names.iter();
    let fields = fields.filter_map(|name| Some((name.clone(), of(name)?)));
    fields.collect()
}
