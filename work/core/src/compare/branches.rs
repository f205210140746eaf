//! The branches of an object in which it differs from the manifest, and what stands in them that the manifest does not have.
//!
//! Server-side apply adds what is prescribed and leaves what others wrote. Where only one of both may be (a handler, a kind of volume, a port of
//! a name), the API server refuses that. Then such a branch is replaced: a map, a list with keys, or an item of it.

use serde_json::Value;

use super::whole::is_leaf;
use super::{Comparison, ListKind, Node, below, is_void, key, keyed_below};
use crate::differs::{Findings, Settled};
use crate::managed::{has_key, text};
use crate::path::{Part, Path};
use crate::step::Cause;

/// Left alone: an autoscaler may set it, and no other field contradicts it.
pub(crate) const REPLICAS: &str = "spec.replicas";

/// The largest number of values that are removed from one object.
const MAX_STRAYS: usize = 256;

/// A map or a list with keys that differs, or in which something differs.
#[derive(Debug, PartialEq)]
struct Branch {
    path: Path,
    /// How far above the next difference it is. 0: a field or an item of it differs.
    height: usize,
    /// Nothing below it could be replaced instead.
    is_innermost: bool,
    /// What the manifest does not have.
    strays: Vec<Stray>,
}

#[derive(Debug, PartialEq)]
struct Stray {
    path: Path,
    /// An item with the `name` of a prescribed one.
    has_our_name: bool,
}

/// What is known of a value after its walk.
#[derive(Clone, Copy, Default)]
struct Found {
    /// How far below the next difference is. 0: the value itself differs.
    depth: Option<usize>,
    /// A branch in it could be replaced.
    has_branch: bool,
}

/// Returns what could be removed from an object, so that the API server takes the manifest: the least first, all in the end. `causes` are those
/// of its refusal.
pub(crate) fn attempts(
    ours: &Value,
    live: &Value,
    roots: &[Node<'_>],
    is_built_in: bool,
    causes: &[Cause],
) -> Vec<Vec<Path>> {
    let settled = Settled::default();
    let mut walk = Walk {
        comparison: Comparison {
            findings: &mut Findings::new(&settled, true),
            path: Path::default(),
            defaults: &[],
            whole: None,
            is_built_in,
        },
        branches: Vec::new(),
    };
    walk.object(ours, live, roots);
    let branches = walk.branches;
    let is_inner = |it: &Branch| it.height == 0 && it.is_innermost;
    let is_named = |it: &Branch| causes.iter().any(|cause| is_about(&cause.field, &it.path));
    let all = |is: &dyn Fn(&Branch) -> bool| -> Vec<&Stray> {
        branches
            .iter()
            .filter(|it| is(it))
            .flat_map(|it| &it.strays)
            .collect()
    };
    let narrow = all(&|it| is_inner(it) && is_named(it));
    let mut attempts: Vec<Vec<Path>> = Vec::new();
    for strays in [
        narrow
            .iter()
            .copied()
            .filter(|it| it.has_our_name)
            .collect(),
        narrow,
        all(&is_inner),
        all(&|it| it.height <= 1),
        all(&|_| true),
    ] {
        let paths = strays.iter().map(|it| it.path.clone());
        let paths: Vec<_> = paths.filter(|it| !it.matches(REPLICAS)).collect();
        let is_new = !attempts.contains(&paths);
        if is_new && !paths.is_empty() && paths.len() <= MAX_STRAYS {
            attempts.push(paths);
        }
    }
    attempts
}

/// Is a cause, such as `spec.ports[1].name`, about a value at or above the path, or below it?
fn is_about(field: &str, path: &Path) -> bool {
    let names = field
        .split('.')
        .map(|part| part.split('[').next().unwrap_or(part));
    let fields = path.0.iter().filter_map(|part| match part {
        Part::Field(name) => Some(name.as_str()),
        _ => None,
    });
    !field.is_empty() && names.zip(fields).all(|(name, field)| name == field)
}

struct Walk<'f, 's> {
    comparison: Comparison<'f, 's, 'static>,
    branches: Vec<Branch>,
}

// === impl Walk ===

impl Walk<'_, '_> {
    /// Metadata and status are left alone.
    fn object(&mut self, ours: &Value, live: &Value, roots: &[Node<'_>]) {
        let is_content = |name: &str| !["apiVersion", "kind", "metadata", "status"].contains(&name);
        let of = |value: &Value| {
            let fields = value.as_object().into_iter().flatten();
            let content = fields.filter(|(name, _)| is_content(name));
            Value::Object(
                content
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            )
        };
        self.value(&of(ours), Some(&of(live)), roots);
    }

    fn value(&mut self, ours: &Value, theirs: Option<&Value>, nodes: &[Node<'_>]) -> Found {
        let is_atomic = is_leaf(nodes) && theirs.is_some_and(|it| !is_void(it));
        match (ours, theirs) {
            (Value::Object(wanted), Some(Value::Object(found))) if !is_atomic => {
                let mut all = Found::default();
                for (name, value) in wanted {
                    let below = below(nodes, name);
                    all.add(self.at(name.as_str().into(), |it| {
                        it.value(value, found.get(name), &below)
                    }));
                }
                let is_stray = |name: &&String| wanted.get(*name).is_none_or(Value::is_null);
                let strays = found.keys().filter(is_stray);
                let strays = strays.map(|name| self.stray(Some(Part::Field(name.clone()))));
                let strays = strays.collect();
                self.branch(all, strays)
            }
            // Nobody owns anything of the list, so its keys are not known.
            (Value::Array(_), Some(Value::Array(found))) if nodes.is_empty() => {
                let all = self.leaf(ours, theirs, nodes);
                let whole = (!found.is_empty()).then(|| self.stray(None));
                self.branch(all, whole.into_iter().collect())
            }
            (Value::Array(wanted), Some(Value::Array(found))) if !is_atomic => {
                match ListKind::of(wanted, found, nodes) {
                    ListKind::Keyed(names) => self.keyed(wanted, found, &names, nodes),
                    ListKind::Set | ListKind::Whole => self.leaf(ours, theirs, nodes),
                }
            }
            _ => self.leaf(ours, theirs, nodes),
        }
    }

    fn keyed(
        &mut self,
        ours: &[Value],
        theirs: &[Value],
        names: &[String],
        nodes: &[Node<'_>],
    ) -> Found {
        let keys = keyed_below(nodes);
        let mut left: Vec<(&Value, bool)> = theirs.iter().map(|item| (item, true)).collect();
        let mut all = Found::default();
        for item in ours {
            let wanted = key(item, names);
            let mut candidates = left.iter_mut();
            let matched = candidates.find(|(theirs, is_left)| *is_left && has_key(theirs, &wanted));
            let theirs = matched.map(|(theirs, is_left)| {
                *is_left = false;
                *theirs
            });
            // The manifest may lack a part of the key that has a default.
            let key = theirs.map_or(wanted, |theirs| key(theirs, names));
            let below = keys.get(&text(&key)).map_or(&[][..], Vec::as_slice);
            all.add(self.at(Part::Key(key), |it| it.value(item, theirs, below)));
        }
        let is_ours = |name: Option<&Value>| {
            name.is_some() && ours.iter().any(|item| item.get("name") == name)
        };
        let strays = left.into_iter().filter(|(_, is_left)| *is_left);
        let strays = strays.map(|(item, _)| Stray {
            has_our_name: is_ours(item.get("name")),
            ..self.stray(Some(Part::Key(key(item, names))))
        });
        let strays = strays.collect();
        self.branch(all, strays)
    }

    /// A value that is prescribed as a whole.
    fn leaf(&mut self, ours: &Value, theirs: Option<&Value>, nodes: &[Node<'_>]) -> Found {
        self.comparison.findings.due = false;
        self.comparison.covers(ours, theirs, nodes);
        Found {
            depth: self.comparison.findings.due.then_some(0),
            has_branch: false,
        }
    }

    /// Notes a branch, given what was found in its fields or items.
    fn branch(&mut self, mut found: Found, strays: Vec<Stray>) -> Found {
        let Some(height) = found.depth else {
            return found;
        };
        if !strays.is_empty() {
            self.branches.push(Branch {
                path: self.comparison.path.clone(),
                height,
                is_innermost: !found.has_branch,
                strays,
            });
            found.has_branch |= height == 0;
        }
        found.depth = Some(height + 1);
        found
    }

    /// A stray at this path, or below it.
    fn stray(&self, part: Option<Part>) -> Stray {
        let above = self.comparison.path.0.iter().cloned();
        Stray {
            path: Path(above.chain(part).collect()),
            has_our_name: false,
        }
    }

    fn at<R>(&mut self, part: Part, walk: impl FnOnce(&mut Self) -> R) -> R {
        self.comparison.path.0.push(part);
        let result = walk(self);
        self.comparison.path.0.pop();
        result
    }
}

// === impl Found ===

impl Found {
    /// Adds what was found in a field or an item.
    fn add(&mut self, below: Self) {
        self.depth = self.depth.into_iter().chain(below.depth).min();
        self.has_branch |= below.has_branch;
    }
}
