//! The update strategy of a manifest, checked once.

use std::sync::Arc;

use berth_api::labels::CONFIG_SPEC_HASH;
use berth_api::work::{FIELD_MANAGER, UpdateStrategy, UpdateStrategyType};
use serde_json::{Map, Value};

use super::cuts::{Cutting, Ignored};
use crate::differs::digest;
use crate::{Mapped, Unusable};

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
    pub(super) ignored: Option<Arc<Ignored>>,
}

// === impl Strategy ===

impl Strategy {
    /// Reads the strategy. Absent means Update. `body` still has stringData. `cutting`: where the cuts are kept.
    pub(super) fn of(
        strategy: Option<&UpdateStrategy>,
        object: &Mapped,
        body: &Value,
        cutting: Option<&mut Cutting<'_>>,
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
                    let make = || Ignored::of(fields, object, body);
                    Some(match cutting {
                        Some(cutting) => cutting.get(make),
                        None => make().0,
                    }?)
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
