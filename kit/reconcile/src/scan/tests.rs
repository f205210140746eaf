#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What is found in these chunks: items as text, or their size; and the shell.
fn items<'a>(
    largest: usize,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Result<String, usize>>, Vec<u8>) {
    let (mut scan, mut all) = (Items::new(largest), Vec::new());
    for chunk in chunks {
        scan.feed(chunk, &mut |found| all.push(kept(found)));
    }
    (all, scan.shell().unwrap_or_default().to_vec())
}

fn lines<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Result<String, usize>> {
    let (mut scan, mut all) = (Lines::new(20), Vec::new());
    for chunk in chunks {
        scan.feed(chunk, &mut |found| all.push(kept(found)));
    }
    all
}

fn kept(found: Found<'_>) -> Result<String, usize> {
    match found {
        Found::Item(item) => Ok(String::from_utf8_lossy(item).into_owned()),
        Found::TooLarge(size) => Err(size),
    }
}

#[test]
fn items_are_found_wherever_the_list_has_them() {
    let shell = r#"{"items":[],"kind":"L"}"#;
    for (sentence, list, expected) in [
        (
            "first",
            r#"{"items":[{"a":1},{"b":[2]}],"kind":"L"}"#,
            vec![r#"{"a":1}"#, r#"{"b":[2]}"#],
        ),
        ("none", shell, vec![]),
        (
            "spaced",
            "{ \"items\" : [ \n {\"a\": 1} \n , {} ] }\n",
            vec![r#"{"a": 1}"#, "{}"],
        ),
        (
            "brackets in texts",
            r#"{"items":[{"a":"]},{\"["},"x,]"]}"#,
            vec![r#"{"a":"]},{\"["}"#, r#""x,]""#],
        ),
        (
            "nested items are not the list's",
            r#"{"items":[{"items":[1,2]}]}"#,
            vec![r#"{"items":[1,2]}"#],
        ),
        (
            "items of metadata are not, either",
            r#"{"metadata":{"items":[1]},"items":[2]}"#,
            vec!["2"],
        ),
        (
            "another key that ends so",
            r#"{"x\"items":[1],"items":[2]}"#,
            vec!["2"],
        ),
        ("null", r#"{"items":null}"#, vec![]),
        ("no list", "<html>[1,2]</html>", vec![]),
    ] {
        let (found, _) = items(1000, [list.as_bytes()]);
        let expected: Vec<_> = expected
            .into_iter()
            .map(|item| Ok(item.to_owned()))
            .collect();
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn an_item_over_the_bound_is_told_by_its_size_and_passed_over() {
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(100));
    let list = format!(r#"{{"items":[{long},{{"b":1}},{long}],"kind":"L"}}"#);
    let (found, shell) = items(20, [list.as_bytes()]);
    assert_eq!(found, [Err(108), Ok(r#"{"b":1}"#.to_owned()), Err(108)]);
    assert_eq!(shell, br#"{"items":[],"kind":"L"}"#);
    let watch = format!("{long}\n{{}}\n\n{long}\nunfinished");
    assert_eq!(
        lines([watch.as_bytes()]),
        [Err(108), Ok("{}".to_owned()), Err(108)]
    );
}

#[test]
fn what_is_much_longer_than_a_lists_shell_has_none() {
    let mut scan = Items::new(10);
    for _ in 0..SHELL {
        scan.feed(b"<h1>", &mut |found| panic!("{found:?}"));
    }
    assert_eq!(scan.shell(), None);
    assert!(scan.shell.bytes.is_empty());
}

/// Any JSON value, with texts that look like structure.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        r#"[\[\]{},:"\\a\né]{0,6}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let key = prop_oneof![
            Just("items".to_owned()),
            r#"[a"\\]{1,3}"#.prop_map(String::from)
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    /// Every list gives its items, however it is cut.
    #[test]
    fn any_chunking_gives_the_same_items(
        all in prop::collection::vec(value(), 0..6),
        before in value(),
        pretty in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let list = json!({"a": before, "items": all, "metadata": {"continue": "x"}});
        let text = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) }.unwrap();
        let (found, shell) = items(usize::MAX, cut(text.as_bytes(), &cuts));
        let found: Vec<Value> = found.iter().map(|item| serde_json::from_str(item.as_ref().unwrap()).unwrap()).collect();
        prop_assert_eq!(&found, &all);
        let shell: Value = serde_json::from_slice(&shell).unwrap();
        prop_assert_eq!(&shell["a"], &before);
        prop_assert_eq!(&shell["items"], &json!([]));
        prop_assert_eq!(&shell["metadata"]["continue"], "x");
    }

    /// No bytes panic, and where they are cut makes no difference.
    #[test]
    fn any_chunking_of_anything_gives_the_same(
        text in r#"[\[\]{},:"\\a\n ]{0,40}|\{"items":\[[\[\]{},:"\\a\n ]{0,40}"#,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let text = text.as_bytes();
        prop_assert_eq!(items(20, cut(text, &cuts)), items(20, [text]));
        prop_assert_eq!(lines(cut(text, &cuts)), lines([text]));
    }
}

fn cut<'a>(text: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    places.sort_unstable();
    places.push(text.len());
    let mut start = 0;
    let parts = places.into_iter().map(|end| {
        let part = &text[start..end];
        start = end;
        part
    });
    parts.collect()
}
