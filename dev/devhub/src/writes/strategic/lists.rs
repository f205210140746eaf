//! Lists in strategic merge patches.

use serde_json::{Map, Value};

use super::without_directives;
use super::{Merging, PATCH, Place, failed, merge_maps, unknown_directive};
use crate::status::ApiError;

/// A list, by what its schema says.
pub(super) struct Lists<'a> {
    place: Place<'a>,
    strategy: Merging<'a>,
}

/// What the items of lists are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    Maps,
    Scalars,
}

impl<'a> Lists<'a> {
    pub(super) fn new(place: Place<'a>) -> Self {
        Self {
            place,
            strategy: place.strategy(),
        }
    }

    fn key(&self) -> &'a str {
        match self.strategy {
            Merging::Merge(key) => key,
            Merging::Replace => "",
        }
    }

    /// The old list without some values.
    pub(super) fn without(
        &self,
        old: Vec<Value>,
        gone: Vec<Value>,
    ) -> Result<Vec<Value>, ApiError> {
        if old.is_empty() && gone.is_empty() {
            return Ok(old);
        }
        match items(&[&old, &gone])? {
            Items::Scalars => Ok(old
                .into_iter()
                .filter(|item| !gone.contains(item))
                .collect()),
            Items::Maps => self.merged_by_key(old, gone),
        }
    }

    /// The old list with the patch's items in it.
    pub(super) fn merged(
        &self,
        old: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<Vec<Value>, ApiError> {
        if matches!(self.strategy, Merging::Replace) {
            return Ok(patch);
        }
        if old.is_empty() && patch.is_empty() {
            return Ok(old);
        }
        match items(&[&old, &patch])? {
            Items::Maps => self.merged_by_key(old, patch),
            Items::Scalars => {
                let mut merged: Vec<Value> = Vec::new();
                for item in old.iter().chain(&patch) {
                    if !merged.contains(item) {
                        merged.push(item.clone());
                    }
                }
                self.in_order(merged, &patch, &old, Items::Scalars)
            }
        }
    }

    fn merged_by_key(&self, old: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, ApiError> {
        let key = self.key();
        if key.is_empty() {
            return Err(failed("cannot merge lists without merge key for struct"));
        }
        let (old, patch) = special_items(old, patch, key)?;
        let mut merged = old.clone();
        for item in &patch {
            let fields = expect_map(item)?;
            let value = key_of(item, key)?;
            match find(&merged, key, value)? {
                Some(index) => {
                    let found = expect_map(&merged[index])?.clone();
                    let fields = merge_maps(found, fields.clone(), self.place.item())?;
                    merged[index] = Value::Object(fields);
                }
                None => merged.push(item.clone()),
            }
        }
        self.in_order(merged, &patch, &old, Items::Maps)
    }

    /// The list in the order the patch sets, where either has it. The order comes before that of the patch's items, and
    /// that before the old list's.
    pub(super) fn ordered(
        &self,
        old: Option<Vec<Value>>,
        patch: Option<Vec<Value>>,
        order: &[Value],
    ) -> Result<Option<Vec<Value>>, ApiError> {
        let live = self.live_order(old.as_deref(), patch.as_deref())?;
        let merged = match (old, &patch) {
            (None, None) => return Ok(None),
            (Some(old), None) => old,
            (None, Some(patch)) => patch
                .iter()
                .cloned()
                .filter_map(without_directives)
                .collect(),
            (Some(old), Some(patch)) => self.merged(old, patch.clone())?,
        };
        let items = items(&[&live, patch.as_deref().unwrap_or_default()])?;
        self.in_order(merged, order, &live, items).map(Some)
    }

    /// The old list, for the places of its items. kube-apiserver has new items there in the places of the deleted ones, and
    /// what is seen is where they end up.
    fn live_order(
        &self,
        old: Option<&[Value]>,
        patch: Option<&[Value]>,
    ) -> Result<Vec<Value>, ApiError> {
        let old = old.unwrap_or_default();
        let patch = patch.unwrap_or_default();
        let key = self.key();
        if key.is_empty() || old.is_empty() || patch.is_empty() {
            return Ok(old.to_vec());
        }
        let (mut live, patch) = special_items(old.to_vec(), patch.to_vec(), key)?;
        for item in patch {
            let is_new = find(&live, key, key_of(&item, key)?)?.is_none();
            if is_new && live.len() < old.len() {
                live.push(item);
            }
        }
        Ok(live)
    }

    /// Items that the order names are sorted by it, the others by the old list; then the others are put where the old list
    /// has them, as far as the order allows.
    fn in_order(
        &self,
        merged: Vec<Value>,
        order: &[Value],
        old: &[Value],
        items: Items,
    ) -> Result<Vec<Value>, ApiError> {
        let by_key = items == Items::Maps && !self.key().is_empty();
        let identity = |item: &Value| -> Result<Value, ApiError> {
            if by_key {
                key_of(item, self.key()).cloned()
            } else {
                Ok(item.clone())
            }
        };
        let identities = |list: &[Value]| list.iter().map(identity).collect::<Result<Vec<_>, _>>();
        let (order, old) = (identities(order)?, identities(old)?);
        let place = |list: &[Value], id: &Value| list.iter().position(|other| other == id);

        let (mut named, mut others) = (Vec::new(), Vec::new());
        for item in merged {
            let id = identity(&item)?;
            match place(&order, &id) {
                Some(index) => named.push((index, id, item)),
                None => others.push((place(&old, &id).unwrap_or(usize::MAX), id, item)),
            }
        }
        named.sort_by_key(|(index, ..)| *index);
        others.sort_by_key(|(index, ..)| *index);

        let mut all = Vec::with_capacity(named.len() + others.len());
        let mut others = others.into_iter().peekable();
        for (_, id, item) in named {
            let limit = place(&old, &id);
            while let Some((_, _, other)) =
                others.next_if(|(index, ..)| limit.is_some_and(|limit| *index < limit))
            {
                all.push(other);
            }
            all.push(item);
        }
        all.extend(others.map(|(_, _, item)| item));
        Ok(all)
    }
}

/// Does what the directives in the patch's items say, and takes those out.
fn special_items(
    mut old: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut plain = Vec::new();
    let mut replaces = false;
    for item in patch {
        let fields = expect_map(&item)?;
        let Some(directive) = fields.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = key_of(&item, key)?;
                old.retain(|item| item.get(key) != Some(value));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(failed("merging lists cannot yet be specified in the patch"));
            }
            _ => return Err(unknown_directive(directive)),
        }
    }
    Ok(if replaces {
        (plain, Vec::new())
    } else {
        (old, plain)
    })
}

/// What the items of all the lists are; it is an error if they are not of one type.
fn items(lists: &[&[Value]]) -> Result<Items, ApiError> {
    let mut all = lists.iter().copied().flatten();
    let Some(first) = all.next() else {
        return Err(failed("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(ApiError::rejected());
    }
    if all.any(|item| std::mem::discriminant(item) != std::mem::discriminant(first)) {
        return Err(failed("list element types are not identical"));
    }
    Ok(if first.is_object() {
        Items::Maps
    } else {
        Items::Scalars
    })
}

/// Where in a list the item with this key is.
fn find(list: &[Value], key: &str, value: &Value) -> Result<Option<usize>, ApiError> {
    for (index, item) in list.iter().enumerate() {
        if expect_map(item)?.get(key) == Some(value) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, ApiError> {
    let fields = expect_map(item)?;
    fields.get(key).ok_or_else(|| {
        failed(format!(
            "an item does not contain declared merge key: {key}"
        ))
    })
}

fn expect_map(value: &Value) -> Result<&Map<String, Value>, ApiError> {
    value.as_object().ok_or_else(|| wrong_type("an object"))
}

pub(super) fn expect_list(value: Value) -> Result<Vec<Value>, ApiError> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(wrong_type("a list")),
    }
}

fn wrong_type(expected: &str) -> ApiError {
    failed(format!("expected {expected}"))
}
