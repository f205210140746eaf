//! Laws of label selectors, as text and stored: parsing and printing agree, and matching follows the documentation.

use std::collections::BTreeMap;

use berth_api::selector::{Selector, text};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

type Labels = BTreeMap<String, String>;

/// Maximum length of an error for each field of a selector, because quoted values are truncated.
const LONGEST_ERROR: usize = 4096;

/// Maximum number of objects for a comparison of two selectors.
const MOST_OBJECTS: usize = 20_000;

/// Runs the laws on a selector, as text or JSON, and on the labels of an object on each further line: `key=value,key=value`.
///
/// # Panics
/// A law is broken.
pub fn selector(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (selector, labels) = text.split_once('\n').unwrap_or((&text, ""));
    let labels: Vec<Labels> = labels.lines().take(8).map(labels_of).collect();
    if let Ok(stored) = serde_json::from_str(selector) {
        stored_selector(&stored, &labels);
    }
    typed(selector, labels);
}

/// Runs the laws on two selectors, old and new: if the new one is not wider, the old one selects every object that the new one selects;
/// if it is wider, at least one selected object is new.
///
/// # Panics
/// A law is broken.
pub fn widening(old: &str, new: &str) {
    let read = |text: &str| {
        let stored: LabelSelector = serde_json::from_str(text).ok()?;
        Selector::parse(&stored).ok().map(|parsed| (stored, parsed))
    };
    let (Some((old, before)), Some((new, after))) = (read(old), read(new)) else {
        return;
    };
    let wider = after.is_wider_than(&before);
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, of_key) in words(&old).chain(words(&new)) {
        let known = values.entry(key).or_insert_with(|| vec!["", "another"]);
        known.extend(of_key.iter().map(String::as_str));
    }
    // Every object with some of the keys, each with a value of a selector or another value.
    let mut objects = vec![Labels::new()];
    for (key, mut of_key) in values {
        of_key.sort_unstable();
        of_key.dedup();
        let without = objects.clone();
        for value in of_key {
            objects.extend(without.iter().map(|object| {
                let mut object = object.clone();
                object.insert(key.to_owned(), value.to_owned());
                object
            }));
        }
        if objects.len() > MOST_OBJECTS {
            return;
        }
    }
    let gained = objects
        .iter()
        .find(|object| after.matches(object) && !before.matches(object));
    assert_eq!(gained.is_some(), wider, "{old:?} -> {new:?}: {gained:?}");
}

fn labels_of(line: &str) -> Labels {
    line.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the objects that a selector with these keys and values can distinguish.
fn probes<'s>(words: impl Iterator<Item = (&'s str, &'s [String])>) -> Vec<Labels> {
    let mut probes = vec![Labels::new()];
    for (key, values) in words.take(8) {
        let mut of_key: Vec<_> = values.iter().take(4).map(String::as_str).collect();
        of_key.extend(["", "other"]);
        for value in of_key {
            let mut labels = probes.last().cloned().unwrap_or_default();
            probes.push([(key.to_owned(), value.to_owned())].into());
            labels.insert(key.to_owned(), value.to_owned());
            probes.push(labels);
        }
    }
    probes
}

fn typed(selector: &str, mut labels: Vec<Labels>) {
    let Ok(requirements) = text::parse(selector) else {
        assert!(
            text::label_selector(selector).is_err(),
            "a selector that cannot be parsed cannot be stored"
        );
        return;
    };
    let compares =
        |it: &text::Requirement| matches!(it.test, text::Test::Greater(_) | text::Test::Less(_));
    let Ok(stored) = text::label_selector(selector) else {
        assert!(
            requirements.iter().any(compares),
            "a selector without comparisons can be stored: {selector:?}"
        );
        return;
    };
    assert!(
        !requirements.iter().any(compares),
        "a comparison cannot be stored: {selector:?}"
    );

    let written = text::written(&stored);
    assert_eq!(
        text::label_selector(&written).as_ref(),
        Ok(&stored),
        "printing and parsing changes the selector: {selector:?}, {written:?}"
    );
    let parsed = Selector::parse(&stored).expect("what was typed well is well stored");
    labels.extend(probes(requirements.iter().map(|it| {
        let values = match &it.test {
            text::Test::In(values) | text::Test::NotIn(values) => values.as_slice(),
            _ => &[],
        };
        (it.key.as_str(), values)
    })));
    for labels in &labels {
        let holds = requirements.iter().all(|it| {
            let value = labels.get(&it.key);
            match &it.test {
                text::Test::In(values) => value.is_some_and(|value| values.contains(value)),
                text::Test::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
                text::Test::Exists => value.is_some(),
                text::Test::DoesNotExist => value.is_none(),
                text::Test::Greater(_) | text::Test::Less(_) => unreachable!("none is stored"),
            }
        });
        assert_eq!(parsed.matches(labels), holds, "{selector:?} on {labels:?}");
    }
    stored_selector(&stored, &labels);
}

fn stored_selector(stored: &LabelSelector, labels: &[Labels]) {
    let written = text::written(stored);
    let parsed = match Selector::parse(stored) {
        Ok(parsed) => parsed,
        Err(errors) => {
            assert!(!errors.is_empty(), "a refusal has a reason");
            for error in errors {
                let error = error.to_string();
                assert!(error.len() <= LONGEST_ERROR, "{} bytes", error.len());
                assert!(!error.contains(char::is_control), "{error:?}");
            }
            return;
        }
    };
    let read = text::label_selector(&written).expect("a good selector can be typed");
    let read = Selector::parse(&read).expect("and stored again");
    let mut labels = labels.to_vec();
    labels.extend(probes(words(stored)));
    for labels in &labels {
        let matches = as_documented(stored, labels);
        assert_eq!(parsed.matches(labels), matches, "{stored:?} on {labels:?}");
        assert_eq!(
            read.matches(labels),
            matches,
            "written as {written:?}, on {labels:?}"
        );
    }
}

fn words(stored: &LabelSelector) -> impl Iterator<Item = (&str, &[String])> {
    let equal = stored.match_labels.iter().flatten();
    let expressions = stored.match_expressions.iter().flatten();
    equal
        .map(|(key, value)| (key.as_str(), std::slice::from_ref(value)))
        .chain(expressions.map(|it| (it.key.as_str(), it.values.as_deref().unwrap_or_default())))
}

/// From <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements>.
fn as_documented(selector: &LabelSelector, labels: &Labels) -> bool {
    let expression = |it: &LabelSelectorRequirement| {
        let values = it.values.clone().unwrap_or_default();
        match (it.operator.as_str(), labels.get(&it.key)) {
            ("In", Some(value)) => values.contains(value),
            ("NotIn", Some(value)) => !values.contains(value),
            ("Exists", value) => value.is_some(),
            ("DoesNotExist", value) => value.is_none(),
            ("NotIn", None) => true,
            _ => false,
        }
    };
    selector
        .match_labels
        .iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().flatten().all(expression)
}
