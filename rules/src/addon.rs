//! Add-ons: templates and configs that cannot work are refused, and doubtful parts get a warning.
//!
//! OCM has no such webhooks. Its add-on manager ends when a template has an unclosed `{{`, and reports other mistakes in a condition of
//! each cluster's ManagedClusterAddOn.
//!
//! What is a mistake is decided where templates are rendered ([`berth_addons_core::template::check`]). No rule needs an answer of the
//! hub: whether the placements of an add-on exist, and whether a template has the containers that a config names, is not asked, since
//! the gate may not read these objects.

use berth_addons_core::template::check::{self, Findings};
use berth_api::addon::{AddOnConfig, ConfigGroupResource};
use berth_api::groups;
use jiff::Timestamp;

use crate::findings::Faults;
use crate::introduced::{Finding, introduced, warnings};
use crate::object::{AddOnObject, ManagementSpec, OnClusterSpec, Unchecked};
use crate::sentences::addons;
use crate::{Answers, Case, Change, Decision, Reason, Rules, Settings};

/// Declares the rules of a kind: the reason of its faults, and the function that finds them. It gets the spec of an object, and the stored
/// object.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $reason:ident, $find:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Rules for $name {
            type Object<'a> = AddOnObject<'a>;
            /// Warnings.
            type Seen = Vec<String>;

            /// No questions.
            fn examine(change: &Change<'_, AddOnObject<'_>>, _: &Settings, _: Timestamp) -> Case<Self> {
                let (faults, warnings) = examined(change, Reason::$reason, $find);
                Case::new(faults, warnings, |_| Vec::new())
            }

            fn decide(
                warnings: Vec<String>,
                _: &Change<'_, AddOnObject<'_>>,
                _: &Settings,
                _: Answers<'_>,
            ) -> Decision {
                Decision {
                    warnings,
                    ..Decision::allowed()
                }
            }
        }
    )*};
}

rules! {
    /// The rules of AddOnTemplates.
    ValidateTemplate = AddonTemplate, |object, _| Ok(check::template(&object.template()?, &[]));
    /// The rules of AddOnDeploymentConfigs.
    ValidateDeploymentConfig = AddonDeploymentConfig, |object, _| Ok(check::config(&object.deployment_config()?, &[]));
    /// The rules of ClusterManagementAddOns.
    ValidateManagementAddOn = AddonConfigs, |object, _| Ok(of_management(&object.management()?));
    /// The rules of ManagedClusterAddOns.
    ValidateClusterAddOn = AddonConfigs, |object, stored| Ok(match stored {
        Some(stored) => of_cluster(&object.on_cluster()?, &stored.supported_configs()),
        // Its manager has not reported which kinds it supports.
        None => Findings::default(),
    });
}

/// Returns the faults and the warnings that the change introduces.
fn examined(
    change: &Change<'_, AddOnObject<'_>>,
    reason: Reason,
    find: impl Fn(&AddOnObject<'_>, Option<&AddOnObject<'_>>) -> Result<Findings, Unchecked>,
) -> (Faults, Vec<String>) {
    let mut faults = Faults::default();
    let old = change.old.as_ref();
    if let Some(old) = old
        && (old.metadata.deletion_timestamp.is_some() || change.new.has_spec_of(old))
    {
        return (faults, Vec::new());
    }
    let stored = old.map(|object| find(object, Some(object)));
    let new = match find(&change.new, old) {
        Ok(new) => new,
        Err(Unchecked::TooLarge(why)) => return (faults, vec![addons::not_checked(&why)]),
        Err(Unchecked::Unreadable(why)) => {
            // A stored spec that nobody can read may stay.
            if !matches!(stored, Some(Err(Unchecked::Unreadable(_)))) {
                faults.add(Reason::AddonField, || why);
            }
            return (faults, Vec::new());
        }
    };
    let stored = stored.and_then(Result::ok);
    let of = |lines: &[String]| lines.iter().map(|it| finding(reason, it)).collect();
    for Finding { text, .. } in introduced(&new, stored.as_ref(), |it| of(&it.errors)) {
        faults.add(reason, || text);
    }
    if !faults.is_empty() {
        return (faults, Vec::new());
    }
    let doubtful = introduced(&new, stored.as_ref(), |it| of(&it.warnings));
    (faults, warnings(doubtful))
}

/// Without numbers a finding stays the same when a manifest before it is added, and when there are fewer findings beside it.
fn finding(reason: Reason, line: &str) -> Finding {
    let key: String = line.chars().filter(|it| !it.is_ascii_digit()).collect();
    Finding::whole(reason, &format!("spec: {line}"), &key)
}

/// Checks the configs of the placements.
fn of_management(spec: &ManagementSpec) -> Findings {
    let supported = &spec.supported_configs;
    let mut found = Findings::default();
    for (index, placement) in spec.install_strategy.placements.iter().enumerate() {
        let at = format!("installStrategy.placements[{index}].configs");
        let Findings { errors, warnings } = of_configs(&placement.configs, supported, &at);
        if supported.is_empty() {
            // A manager may support kinds that the ClusterManagementAddOn does not name, as long as it names none.
            found.warnings.extend(errors);
        } else {
            found.errors.extend(errors);
        }
        found.warnings.extend(warnings);
    }
    found
}

/// Checks the configs of a cluster. What is wrong is a doubt: the manager may be about to support more.
fn of_cluster(spec: &OnClusterSpec, supported: &[ConfigGroupResource]) -> Findings {
    if supported.is_empty() {
        return Findings::default();
    }
    let Findings { errors, warnings } = of_configs(&spec.configs, supported, "configs");
    Findings {
        errors: Vec::new(),
        warnings: [errors, warnings].concat(),
    }
}

fn of_configs(configs: &[AddOnConfig], supported: &[ConfigGroupResource], at: &str) -> Findings {
    let mut found = check::configs(configs, supported);
    let is_template = |it: &ConfigGroupResource| {
        (&*it.group, &*it.resource) == (groups::ADDON, groups::ADDON_TEMPLATES)
    };
    if !supported.iter().any(is_template) {
        // They are about templates.
        found.warnings.clear();
    }
    let lines = found.errors.iter_mut().chain(&mut found.warnings);
    lines.for_each(|it| *it = format!("{at}: {it}"));
    found
}
