//! Compares lists over the limit with the stored ones.
//!
//! Without a gate, an object may have been stored with a list over the limit. A change may keep such a list or make it
//! shorter. To check this, the JSON texts of both lists are compared, as the API server wrote them. This needs a second pass
//! over the body, but no copy of it.

use std::collections::HashMap;
use std::fmt;

use berth_rules::object::GuardedObject;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The maximum length of lists that are compared item by item. A longer list must stay equal, or come within the limit.
const LONGEST_COMPARED: usize = 100_000;

#[derive(serde::Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    request: Request<'a>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, default)]
    object: Option<Parts<'a>>,
    #[serde(borrow, default)]
    old_object: Option<Parts<'a>>,
}

#[derive(serde::Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    spec: Option<Spec<'a>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec<'a> {
    #[serde(borrow)]
    taints: Option<&'a RawValue>,
    #[serde(borrow)]
    managed_cluster_client_configs: Option<&'a RawValue>,
    #[serde(borrow)]
    cluster_selector: Option<&'a RawValue>,
}

/// Marks each list of the new object whose items are all stored. Lists that are complete on both sides are not compared.
pub(crate) fn compare<'a, O: GuardedObject<'a>>(body: &[u8], new: &mut O, old: &mut O) {
    if new.is_whole() && old.is_whole() {
        return;
    }
    // If this fails, the lists are not marked.
    let Ok(Review { request }) = serde_json::from_slice::<Review<'_>>(body) else {
        return;
    };
    let [new_spec, old_spec] = [request.object, request.old_object]
        .map(|parts| parts.and_then(|parts| parts.spec).unwrap_or_default());
    for (new, old) in new.compared().into_iter().zip(old.compared()) {
        if new.is_whole && old.is_whole {
            continue;
        }
        let [submitted, stored] = [&new_spec, &old_spec].map(|spec| spec.field(new.field));
        *new.stays = match (submitted, stored) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(submitted), Some(stored)) if submitted == stored => true,
            (Some(submitted), Some(stored)) => {
                new.length <= old.length
                    && old.length <= LONGEST_COMPARED
                    && is_part_of(submitted, stored)
            }
        };
    }
}

impl<'a> Spec<'a> {
    fn field(&self, name: &str) -> Option<&'a str> {
        let value = match name {
            "taints" => self.taints,
            "managedClusterClientConfigs" => self.managed_cluster_client_configs,
            "clusterSelector" => self.cluster_selector,
            _ => None,
        };
        value.map(RawValue::get)
    }
}

/// Returns true if the other list contains each item of the list, at least as often.
fn is_part_of(list: &str, other: &str) -> bool {
    let mut stored: HashMap<&str, usize> = HashMap::new();
    let counted = each(other, |item| {
        *stored.entry(item).or_default() += 1;
        true
    });
    counted
        && each(list, |item| match stored.get_mut(item) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        })
}

/// Calls `take` with the text of each item of a list until it returns false. Returns true if it returned true for all.
fn each<'a>(list: &'a str, take: impl FnMut(&'a str) -> bool) -> bool {
    struct Items<F>(F);

    impl<'de, F: FnMut(&'de str) -> bool> DeserializeSeed<'de> for Items<F> {
        type Value = bool;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
            deserializer.deserialize_seq(self)
        }
    }

    impl<'de, F: FnMut(&'de str) -> bool> Visitor<'de> for Items<F> {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<bool, A::Error> {
            let mut all = true;
            while let Some(item) = items.next_element::<&RawValue>()? {
                all = all && self.0(item.get());
            }
            Ok(all)
        }
    }

    let mut decoder = serde_json::Deserializer::from_str(list);
    Items(take).deserialize(&mut decoder).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_part_of_another_if_each_item_is_in_it() {
        for (list, other, expected) in [
            ("[]", "[]", true),
            ("[]", r#"[{"a":1}]"#, true),
            (r#"[{"a":1}]"#, r#"[{"b":2},{"a":1}]"#, true),
            (r#"[{"a":1}]"#, r#"[{"b":2}]"#, false),
            (r#"[1,1]"#, "[1,2]", false),
            (r#"[1,1]"#, "[1,2,1]", true),
            ("{}", "[1]", false),
            ("[1]", "{}", false),
        ] {
            assert_eq!(is_part_of(list, other), expected, "{list} in {other}");
        }
    }
}
