//! ClusterManagementAddOns.
//!
//! v1alpha1 lists the supported configs, some with a default; v1beta1 lists the defaults, each with a name.

use super::fields::{Fields, Problem};

/// In v1beta1, the name of the default of a config that has none. It is no valid name of an object.
const NO_DEFAULT: &str = "__reserved_no_default__";

/// The list of configs in v1alpha1 and in v1beta1.
const SUPPORTED: &str = "supportedConfigs";
const DEFAULTS: &str = "defaultConfigs";

/// The list of configs with their hashes in v1alpha1, where a letter differs, and in v1beta1.
const OLD_REFERENCES: &str = "defaultconfigReferences";
const REFERENCES: &str = "defaultConfigReferences";

pub(super) fn to_v1beta1(object: &mut Fields<'_>) -> Result<(), Problem> {
    object.edit("spec", |spec| {
        spec.take("addOnConfiguration");
        spec.edit_items(SUPPORTED, with_default_beside)?;
        spec.rename(SUPPORTED, DEFAULTS);
        Ok(())
    })?;
    object.edit("status", |status| {
        status.rename(OLD_REFERENCES, REFERENCES);
        Ok(())
    })
}

pub(super) fn to_v1alpha1(object: &mut Fields<'_>) -> Result<(), Problem> {
    object.edit("spec", |spec| {
        spec.edit_items(DEFAULTS, with_default_within)?;
        spec.rename(DEFAULTS, SUPPORTED);
        Ok(())
    })?;
    object.edit("status", |status| {
        status.rename(REFERENCES, OLD_REFERENCES);
        Ok(())
    })
}

/// `{group, resource, defaultConfig: {namespace, name}}` to `{group, resource, namespace, name}`.
fn with_default_beside(config: &mut Fields<'_>) -> Result<(), Problem> {
    let default = config.object("defaultConfig")?;
    let (name, namespace) = match &default {
        None => (Some(NO_DEFAULT.to_owned()), None),
        Some(default) => {
            let of = |field| default.text(field).map_err(|it| it.under("defaultConfig"));
            (of("name")?, of("namespace")?)
        }
    };
    config.take("defaultConfig");
    for (field, text) in [("name", name), ("namespace", namespace)] {
        config.take(field);
        if let Some(text) = text {
            config.set_text(field, &text);
        }
    }
    Ok(())
}

/// `{group, resource, namespace, name}` to `{group, resource, defaultConfig: {namespace, name}}`.
fn with_default_within(config: &mut Fields<'_>) -> Result<(), Problem> {
    let (name, namespace) = (config.text("name")?, config.text("namespace")?);
    for field in ["name", "namespace", "defaultConfig"] {
        config.take(field);
    }
    if let Some(name) = name.filter(|name| !name.is_empty() && name != NO_DEFAULT) {
        let mut default = Fields::default();
        default.set_text("name", &name);
        if let Some(namespace) = namespace {
            default.set_text("namespace", &namespace);
        }
        config.set("defaultConfig", default.to_json());
    }
    Ok(())
}
