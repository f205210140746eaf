//! Label selectors and field selectors of a query.

mod fields;
mod labels;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;

use crate::object::Object;
use crate::resources::Resource;

/// Both selectors of a request; the default ones select everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Returns true if it selects everything.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns true if it selects the stored object.
    pub(crate) fn matches(&self, resource: &Resource, stored: &Object) -> bool {
        self.labels.matches(stored)
            && (self.fields.is_empty()
                || if resource.presents_as_stored(stored) {
                    self.fields.matches(resource, stored)
                } else {
                    self.fields.matches(resource, &resource.present(stored))
                })
    }
}
