//! A RoleBinding that was made from a template.

use berth_api::labels;
use k8s_openapi::api::rbac::v1::RoleBinding;

use crate::registration::permissions::ADDON_TEMPLATE;

/// Reads a RoleBinding with its metadata: an update repeats them.
///
/// # Errors
/// It cannot be read.
pub fn binding(json: &str) -> Result<RoleBinding, serde_json::Error> {
    let mut binding: RoleBinding = serde_json::from_str(json)?;
    binding.metadata.managed_fields = None;
    Ok(binding)
}

/// The add-on whose binding it is; `None` without the labels of a template's binding.
#[must_use]
pub fn add_on_of(binding: &RoleBinding) -> Option<&str> {
    let labels = binding.metadata.labels.as_ref()?;
    labels.get(ADDON_TEMPLATE)?;
    labels.get(labels::ADDON_NAME).map(String::as_str)
}
