//! The update strategy of a manifest, checked once.

use std::cell::RefCell;

use berth_api::labels::CONFIG_SPEC_HASH;
use berth_api::work::{
    FIELD_MANAGER, IgnoreField, IgnoreFieldsCondition, UpdateStrategy, UpdateStrategyType,
};
use serde_json::{Map, Value};

use crate::differs::digest;
use crate::hash::config_spec_hash;
use crate::ignore::{self, Budget};
use crate::{Mapped, Unusable, exact};

/// How an object is updated.
#[derive(Debug)]
pub(super) enum Strategy {
    Update,
    CreateOnly,
    ReadOnly,
    ServerSide(ServerSide),
}

/// The settings of server-side apply.
#[derive(Debug)]
pub(super) struct ServerSide {
    pub(super) manager: String,
    pub(super) force: bool,
    pub(super) ignored: Option<Ignored>,
}

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

// === impl Strategy ===

impl Strategy {
    /// Reads the strategy. Absent means Update. `body` still has stringData.
    pub(super) fn of(
        strategy: Option<&UpdateStrategy>,
        object: &Mapped,
        body: &Value,
    ) -> Result<Self, Unusable> {
        let Some(strategy) = strategy else {
            return Ok(Self::Update);
        };
        match &strategy.r#type {
            UpdateStrategyType::Update => Ok(Self::Update),
            UpdateStrategyType::CreateOnly => Ok(Self::CreateOnly),
            UpdateStrategyType::ReadOnly => Ok(Self::ReadOnly),
            UpdateStrategyType::ServerSideApply => {
                let config = strategy.server_side_apply.as_ref();
                let manager = config.map(|config| config.field_manager.clone());
                let fields = config.map_or(&[][..], |config| &config.ignore_fields);
                let ignored = if fields.is_empty() {
                    None
                } else {
                    // One for all cuts.
                    let budget = RefCell::new(Budget::default());
                    let cut = |value: &Value, is: fn(&IgnoreFieldsCondition) -> bool| {
                        let mut value = value.clone();
                        ignore::cut(&mut value, fields, is, &mut budget.borrow_mut())
                            .map(|()| value)
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
                        Ok::<_, Unusable>(kept)
                    };
                    let annotated = |mut value: Value| {
                        annotate(&mut value, &hash);
                        value
                    };
                    Some(Ignored {
                        changed: annotated(kept(present)?),
                        unchanged: annotated(kept(|_| true)?),
                        hash,
                        fields: fields.to_vec(),
                    })
                };
                Ok(Self::ServerSide(ServerSide {
                    manager: manager
                        .filter(|manager| !manager.is_empty())
                        .unwrap_or_else(|| FIELD_MANAGER.to_owned()),
                    force: config.is_some_and(|config| config.force),
                    ignored,
                }))
            }
            UpdateStrategyType::Other(other) => Err(Unusable::Strategy(format!(
                "updateStrategy.type {other:?} is unknown: use Update, CreateOnly, ServerSideApply or ReadOnly"
            ))),
        }
    }

    /// Tells strategies apart. Force does not count, nor does what is ignored: a change of them writes nothing by itself.
    pub(super) fn digest(&self) -> u64 {
        match self {
            Self::Update => 0,
            Self::CreateOnly => 1,
            Self::ReadOnly => 2,
            Self::ServerSide(settings) => {
                let hash = settings.ignored.as_ref().map(|ignored| &ignored.hash);
                digest(&(&settings.manager, hash))
            }
        }
    }
}

/// Adds the annotation with the hash.
pub(super) fn annotate(body: &mut Value, hash: &str) {
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        let annotations = metadata
            .entry("annotations")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(annotations) = annotations {
            annotations.insert(CONFIG_SPEC_HASH.to_owned(), hash.into());
        }
    }
}
