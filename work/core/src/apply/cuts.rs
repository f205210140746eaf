//! Manifests without the fields to ignore: made once, and kept for the next time that the object is looked at.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use berth_api::work::{IgnoreField, IgnoreFieldsCondition};
use serde_json::Value;

use super::strategy::annotate;
use crate::hash::config_spec_hash;
use crate::ignore::{self, Budget};
use crate::kept::Kept;
use crate::{Mapped, Unusable, exact};

/// How many bytes of cut manifests are kept in each of two generations. A larger one is made each time.
const GENERATION: usize = 2 * 1024 * 1024;

/// A manifest with fields to ignore.
#[derive(Debug)]
pub(super) struct Ignored {
    /// OCM's hash of the manifest, without the fields that are ignored once the object exists.
    pub(super) hash: String,
    /// What to apply if the manifest has changed.
    pub(super) changed: Value,
    /// What to apply if the manifest has not changed.
    pub(super) unchanged: Value,
    /// What is ignored.
    pub(super) fields: Vec<IgnoreField>,
}

/// What the fields to ignore make of a manifest, or why they cannot be used.
pub(super) type Cut = Result<Arc<Ignored>, Unusable>;

/// A ManifestWork, and what tells its manifests and their strategies apart.
type Key = (Arc<str>, u64);

/// The manifests that were cut lately.
#[derive(Debug)]
pub struct Cuts(Mutex<Kept<Key, Cut>>);

/// The cut of one manifest: kept, or made and its cost noted.
#[derive(Debug)]
pub struct Cutting<'a> {
    cuts: &'a Cuts,
    key: Key,
    cost: u64,
}

// === impl Ignored ===

impl Ignored {
    /// Makes the cuts. `body` still has stringData. Returns their cost, too.
    pub(super) fn of(fields: &[IgnoreField], object: &Mapped, body: &Value) -> (Cut, u64) {
        // One for all cuts.
        let budget = RefCell::new(Budget::default());
        let ignored = Self::within(&budget, fields, object, body);
        let cost = budget.borrow().spent() as u64;
        (ignored.map(Arc::new), cost)
    }

    fn within(
        budget: &RefCell<Budget>,
        fields: &[IgnoreField],
        object: &Mapped,
        body: &Value,
    ) -> Result<Self, Unusable> {
        let cut = |value: &Value, is: fn(&IgnoreFieldsCondition) -> bool| {
            let mut value = value.clone();
            ignore::cut(&mut value, fields, is, &mut budget.borrow_mut()).map(|()| value)
        };
        let present: fn(&IgnoreFieldsCondition) -> bool =
            |it| *it == IgnoreFieldsCondition::OnSpokePresent;
        let hash = config_spec_hash(&cut(&object.prescribed.object, present)?);
        // A field of a Secret may be named in stringData, which the manifest has, or in data, which the object has.
        let kept = |is: fn(&IgnoreFieldsCondition) -> bool| {
            let mut kept = cut(body, is)?;
            if exact::fold_string_data(object, &mut kept)? {
                kept = match cut(&kept, is) {
                    Ok(kept) => kept,
                    Err(error) if budget.borrow().is_spent() => return Err(error),
                    // An expression may need what is no longer there.
                    Err(_) => kept,
                };
            }
            annotate(&mut kept, &hash);
            Ok::<_, Unusable>(kept)
        };
        Ok(Self {
            changed: kept(present)?,
            unchanged: kept(|_| true)?,
            hash,
            fields: fields.to_vec(),
        })
    }
}

// === impl Cuts ===

impl Default for Cuts {
    fn default() -> Self {
        Self(Mutex::new(Kept::new(GENERATION)))
    }
}

impl Cuts {
    /// The cut of a manifest. `stamp` differs when the manifest, its strategy or its resource differs.
    pub fn of(&self, work: &Arc<str>, stamp: u64) -> Cutting<'_> {
        Cutting {
            cuts: self,
            key: (Arc::clone(work), stamp),
            cost: 0,
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<Key, Cut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Cutting ===

impl Cutting<'_> {
    /// What the cuts cost, in steps; 0 if they were kept.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Returns whether the cuts are kept, so that they cost nothing.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.cuts.kept().find(&self.key).is_some()
    }

    pub(super) fn get(&mut self, make: impl FnOnce() -> (Cut, u64)) -> Cut {
        if let Some(cut) = self.cuts.kept().find(&self.key) {
            return cut;
        }
        // Not under the lock: it takes long.
        let (cut, cost) = make();
        self.cost = cost;
        let bytes = match &cut {
            Ok(ignored) => {
                let texts = ignored.fields.iter().flat_map(|it| {
                    let paths = it.json_paths.iter().chain(&it.json_pointers);
                    paths.chain(&it.jq_path_expressions)
                });
                let texts: usize = texts.map(|it| size_of::<String>() + it.len()).sum();
                bytes(&ignored.changed) + bytes(&ignored.unchanged) + texts
            }
            Err(unusable) => unusable.to_string().len(),
        };
        if bytes <= GENERATION {
            (self.cuts.kept()).keep(self.key.clone(), cut.clone(), KEY + bytes);
        }
        cut
    }
}

/// What a kept cut takes besides its values, estimated.
const KEY: usize = 256;

/// The memory of a value, estimated: a node of an object has room for eleven fields.
fn bytes(value: &Value) -> usize {
    const VALUE: usize = size_of::<Value>();
    match value {
        Value::String(text) => VALUE + text.len(),
        Value::Array(items) => VALUE + items.iter().map(bytes).sum::<usize>(),
        Value::Object(fields) => {
            let of_fields = fields.iter().map(|(key, value)| {
                let node = size_of::<String>() + key.len();
                2 * node + VALUE + bytes(value)
            });
            VALUE + 640 + of_fields.sum::<usize>()
        }
        _ => VALUE,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::mapped;

    fn secret() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "n", "name": "a"},
            "stringData": {"k": "v"},
        })
    }

    fn expressions(count: usize) -> Vec<IgnoreField> {
        let all: Vec<_> = (0..count).map(|it| format!(".data.f{it}")).collect();
        let fields = json!([{"condition": "OnSpokePresent", "jqPathExpressions": all}]);
        serde_json::from_value(fields).unwrap()
    }

    /// stringData is folded into data, and a Secret is cut five times in all.
    #[test]
    fn the_last_cut_of_a_secret_counts_in_the_budget() {
        for (sentence, count, is_over) in [
            ("five cuts have room", 39, false),
            ("the fifth is over", 45, true),
            ("the third is over", 80, true),
            ("the first is over", 210, true),
        ] {
            let (object, fields) = (mapped(&secret()), expressions(count));
            let (cut, cost) = Ignored::of(&fields, &object, &object.body());
            let error = cut.err().map(|it| it.to_string()).unwrap_or_default();
            let words = "all ignored fields of a manifest may cost 4000000 together";
            assert_eq!(error.contains(words), is_over, "{sentence}: {error}");
            assert_eq!(cost == 4_000_000, is_over, "{sentence}: {cost}");
        }
    }

    #[test]
    fn a_manifest_is_cut_once_also_in_vain() {
        let cuts = Cuts::default();
        let (work, object) = (Arc::from("w"), mapped(&secret()));
        for (stamp, count, is_over) in [(1, 3, false), (2, 210, true)] {
            let fields = expressions(count);
            let make = || Ignored::of(&fields, &object, &object.body());
            let mut first = cuts.of(&work, stamp);
            assert!(!first.is_kept());
            assert_eq!(first.get(make).is_err(), is_over);
            assert!(first.cost() >= 20_000 * 3, "{}", first.cost());
            let mut again = cuts.of(&work, stamp);
            let cut = again.get(|| unreachable!("it is kept"));
            assert_eq!((cut.is_err(), again.cost()), (is_over, 0));
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let cuts = Cuts::default();
        let work = Arc::from("w");
        let of = |length: usize| {
            let value = json!("x".repeat(length));
            let (changed, unchanged) = (value.clone(), value);
            let ignored = Ignored {
                hash: String::new(),
                fields: Vec::new(),
                changed,
                unchanged,
            };
            (Ok(Arc::new(ignored)), 1)
        };
        for stamp in 0..100 {
            assert!(cuts.of(&work, stamp).get(|| of(100_000)).is_ok());
        }
        let bytes: usize = cuts.kept().all().map(|(_, bytes)| bytes).sum();
        assert!(bytes > GENERATION && bytes < 3 * GENERATION, "{bytes}");
        let mut large = cuts.of(&work, 100);
        assert!(large.get(|| of(GENERATION)).is_ok());
        assert!(!large.is_kept());
    }
}
