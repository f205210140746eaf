//! Which objects of an add-on go where: to its cluster or to the one that hosts its agent, at once or before deletion.

use serde_json::{Map, Value};

use super::names::{asks_to_be_hook, location};
use crate::object::{Key, text};
use crate::template::Rendered;

/// The objects of an add-on, by the works that they go to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// For [`super::Place::Deploy`].
    pub deploy: Vec<Rendered>,
    /// For [`super::Place::HostedDeploy`].
    pub hosted_deploy: Vec<Rendered>,
    /// For [`super::Place::Hook`].
    pub hooks: Vec<Rendered>,
    /// For [`super::Place::HostedHook`].
    pub hosted_hooks: Vec<Rendered>,
}

/// Divides the objects of an add-on. `is_hosted`: another cluster hosts the agent. Otherwise all objects go to the add-on's cluster.
///
/// # Errors
/// In hosted mode, an object whose location is not `managed`, `hosting` or `none`: to guess one would deploy it on a wrong cluster.
pub fn divide(objects: Vec<Rendered>, is_hosted: bool) -> Result<Parts, String> {
    let mut parts = Parts::default();
    for rendered in objects {
        let Value::Object(object) = &rendered.object else {
            continue;
        };
        let location = if is_hosted { location(object) } else { None };
        let (deploy, hooks) = match location {
            None | Some("managed") => (&mut parts.deploy, &mut parts.hooks),
            Some("hosting") => (&mut parts.hosted_deploy, &mut parts.hosted_hooks),
            Some("none") => continue,
            Some(other) => {
                let Key { kind, name, .. } = Key::of(object);
                return Err(format!(
                    "{kind} {name}: hosted-manifest-location {other:?} is not one of managed, hosting, none"
                ));
            }
        };
        let part = if is_hook(object) { hooks } else { deploy };
        part.push(rendered);
    }
    Ok(parts)
}

/// As in OCM, the mark of a hook has no effect on other kinds.
fn is_hook(object: &Map<String, Value>) -> bool {
    ["Job", "Pod"].contains(&text(object, &["kind"])) && asks_to_be_hook(object)
}
