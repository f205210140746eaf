//! Sets of fields, and `FieldsV1`, their form in `managedFields`.
//! <https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.33/#fieldsv1-v1-meta>

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::{BadElement, PathElement};

/// A path from the root of an object.
pub(crate) type Path = Vec<PathElement>;

/// A set of paths. A path in it says nothing about the paths above and below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeMap<PathElement, Node>);

/// What a set says about one step. Never empty: it is a member, or has members below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    member: bool,
    below: FieldSet,
}

static EMPTY: FieldSet = FieldSet(BTreeMap::new());

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of these paths of fields.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Path = path.iter().copied().map(PathElement::field).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path is the whole object, which has no owner.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let node = self.0.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// Returns true if no path is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if this one step is a path in it.
    pub(crate) fn has(&self, element: &PathElement) -> bool {
        self.0.get(element).is_some_and(|node| node.member)
    }

    /// Returns true if the path is in it.
    pub(crate) fn has_path(&self, path: &[PathElement]) -> bool {
        match path.split_last() {
            None => false,
            Some((last, parents)) => parents
                .iter()
                .fold(self, |set, element| set.below(element))
                .has(last),
        }
    }

    /// The paths that begin with this step, without it.
    pub(crate) fn below(&self, element: &PathElement) -> &Self {
        self.0.get(element).map_or(&EMPTY, |node| &node.below)
    }

    /// The first steps of all paths, with whether each is a path by itself, and what is below it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&PathElement, bool, &Self)> {
        let steps = self.0.iter();
        steps.map(|(element, node)| (element, node.member, &node.below))
    }

    /// Every path; those that end here before those that lead on.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Path, paths: &mut Vec<Path>) {
        for (element, _) in self.0.iter().filter(|(_, node)| node.member) {
            let mut path = prefix.clone();
            path.push(element.clone());
            paths.push(path);
        }
        for (element, node) in &self.0 {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// Puts a step in place, with what is below it.
    pub(crate) fn put(&mut self, element: PathElement, member: bool, below: Self) {
        let node = Node { member, below };
        if !node.is_empty() {
            self.0.insert(element, node);
        }
    }

    /// The union of both sets.
    pub(crate) fn union(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    /// Adds what is in another one.
    pub(crate) fn add(&mut self, other: &Self) {
        for (element, node) in &other.0 {
            let mine = self.0.entry(element.clone()).or_default();
            mine.member |= node.member;
            mine.below.add(&node.below);
        }
    }

    /// The intersection of both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut set = Self::default();
        for (element, node) in &self.0 {
            if let Some(theirs) = other.0.get(element) {
                let below = node.below.intersection(&theirs.below);
                set.put(element.clone(), node.member && theirs.member, below);
            }
        }
        set
    }

    /// This set without the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut set = Self::default();
        for (element, node) in &self.0 {
            let member = node.member && !other.has(element);
            let below = node.below.difference(other.below(element));
            set.put(element.clone(), member, below);
        }
        set
    }

    /// This set without the other, and without everything below a path of the other.
    pub(crate) fn without_trees(&self, other: &Self) -> Self {
        let mut set = Self::default();
        for (element, node) in &self.0 {
            if !other.has(element) {
                let below = node.below.without_trees(other.below(element));
                set.put(element.clone(), node.member, below);
            }
        }
        set
    }

    /// Reads `FieldsV1`.
    pub(crate) fn parse(fields: &Map<String, Value>) -> Result<Self, BadElement> {
        Ok(Self::parse_node(fields)?.below)
    }

    fn parse_node(fields: &Map<String, Value>) -> Result<Node, BadElement> {
        let mut node = Node::default();
        for (key, value) in fields {
            if key == "." {
                node.member = true;
                continue;
            }
            let Some(element) = PathElement::parse(key)? else {
                continue;
            };
            let children = match value {
                Value::Object(fields) => Self::parse_node(fields)?,
                Value::Null => Node {
                    member: true,
                    below: Self::default(),
                },
                _ => return Err(BadElement::Malformed(key.clone())),
            };
            // The same step can be spelt in several ways.
            let known = node.below.0.entry(element).or_default();
            known.member |= children.member;
            known.below.add(&children.below);
        }
        // `{}` is the end of a path.
        node.member |= node.below.is_empty();
        Ok(node)
    }

    /// Writes `FieldsV1`.
    pub(crate) fn print(&self) -> Map<String, Value> {
        let steps = self.0.iter().map(|(element, node)| {
            let mut below = node.below.print();
            if node.member && !node.below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            (element.print(), Value::Object(below))
        });
        steps.collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::element::{Scalar, path_in_words};
    use super::*;

    fn read(value: &Value) -> FieldSet {
        FieldSet::parse(value.as_object().unwrap()).unwrap()
    }

    #[test]
    fn fields_are_written_as_they_were_read() {
        for value in [
            json!({}),
            json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}),
            json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}),
            json!({"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}}}}),
            json!({"f:list": {"i:3": {}}}),
        ] {
            assert_eq!(Value::Object(read(&value).print()), value);
        }
    }

    #[test]
    fn unknown_sorts_of_steps_are_skipped() {
        assert_eq!(
            read(&json!({"x:new": {}, "f:a": {}})),
            FieldSet::of_fields(&[&["a"]])
        );
    }

    #[test]
    fn what_is_no_step_is_refused() {
        for (key, words) in [
            ("f", "key must be 2 characters long:"),
            ("data", "missing colon: data"),
            ("v:x", "cannot read v:x"),
            ("k:[]", "cannot read k:[]"),
            ("i:x", "cannot read i:x"),
            ("é", "missing colon: é"),
        ] {
            let fields = json!({ key: {} });
            let error = FieldSet::parse(fields.as_object().unwrap()).unwrap_err();
            assert_eq!(error.to_string(), words);
        }
    }

    #[test]
    fn a_tree_is_taken_away_as_a_whole() {
        let set = FieldSet::of_fields(&[&["a"], &["a", "b"], &["c", "d"]]);
        let away = FieldSet::of_fields(&[&["a"]]);
        assert_eq!(
            set.without_trees(&away),
            FieldSet::of_fields(&[&["c", "d"]])
        );
        let rest = FieldSet::of_fields(&[&["a", "b"], &["c", "d"]]);
        assert_eq!(set.difference(&away), rest);
    }

    #[test]
    fn paths_are_told_as_people_write_them() {
        let set = read(&json!({
            "f:spec": {"f:ports": {"k:{\"protocol\":\"TCP\",\"port\":80}": {".": {}, "f:name": {}}}},
            "f:set": {"v:1": {}, "v:\"x\"": {}},
            "f:a": {},
        }));
        let paths: Vec<String> = set.paths().iter().map(|path| path_in_words(path)).collect();
        assert_eq!(
            paths,
            [
                ".a",
                ".set[=1]",
                ".set[=\"x\"]",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].name",
            ]
        );
    }

    fn scalar() -> impl Strategy<Value = Scalar> {
        prop_oneof![
            "[a-z<&\"]{0,3}".prop_map(|text| Scalar(text.into())),
            any::<i64>().prop_map(|number| Scalar(number.into())),
            any::<bool>().prop_map(|yes| Scalar(yes.into())),
        ]
    }

    fn element() -> impl Strategy<Value = PathElement> {
        prop_oneof![
            4 => "[a-c.:\"<]{0,2}".prop_map(PathElement::field),
            1 => proptest::collection::btree_map("[a-c]", scalar(), 1..3)
                .prop_map(|fields| PathElement::key(fields.into_iter().collect())),
            1 => scalar().prop_map(PathElement::Value),
            1 => any::<i64>().prop_map(PathElement::Index),
        ]
    }

    fn set() -> impl Strategy<Value = FieldSet> {
        let path = proptest::collection::vec(element(), 1..5);
        proptest::collection::vec(path, 0..12).prop_map(|paths| {
            let mut set = FieldSet::default();
            for path in &paths {
                set.insert(path);
            }
            set
        })
    }

    proptest! {
        #[test]
        fn every_set_can_be_written_and_read(set in set()) {
            prop_assert_eq!(FieldSet::parse(&set.print()).unwrap(), set);
        }

        #[test]
        fn union_difference_and_intersection_fit_together(one in set(), other in set()) {
            let both = one.intersection(&other);
            prop_assert_eq!(one.difference(&other).union(&both), one.clone());
            prop_assert!(both.difference(&other).is_empty());
            prop_assert_eq!(one.clone().union(&other).difference(&other), one.difference(&other));
            prop_assert_eq!(one.paths().len(), one.difference(&other).paths().len() + both.paths().len());
        }
    }
}
