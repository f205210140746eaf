//! What tests of this room share.

use std::sync::Arc;

use crate::resources::schema::Schema;
use crate::resources::{Behaviour, Columns, Resource, Verb};
use crate::storage::StorageId;

#[derive(Debug)]
struct Ordinary;

impl Behaviour for Ordinary {}

/// A namespaced resource with nothing special about it.
pub(crate) fn resource(group: &str, version: &str, name: &str, kind: &str) -> Resource {
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        name: name.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Verb::ALL.to_vec(),
        subresources: Vec::new(),
        schema: Arc::new(Schema::default()),
        columns: Columns::Paths(Vec::new()),
        storage: StorageId(format!("{name}.{group}").into()),
        storage_version: api_version,
        custom: false,
        selectable_fields: Vec::new(),
        reading: None,
        name_errors: berth_api::names::dns1123_subdomain,
        needs_version: false,
        creates_on_update: false,
        takes_status_on_create: false,
        has_generation: false,
        behaviour: &Ordinary,
    }
}
