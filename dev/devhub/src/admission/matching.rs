//! Decides if a webhook is called about a write, and with which version of the resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::conditions::Variables;
use super::hook::Hook;
use super::review::About;
use super::rules::{self, Target};
use super::{Operation, Write};
use crate::object::Object;
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::{Key, Store};

/// What there is besides the write.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Namespaces have labels.
    pub(crate) store: &'a Store,
    /// Everything that is served: resources have other versions.
    pub(crate) served: &'a [Arc<Resource>],
}

/// A write as admission goes by it.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    around: Surroundings<'a>,
    write: &'a Write<'a>,
    /// Of the object, also if it was made of generateName by now.
    name: &'a str,
    /// Where the object is; of a Namespace, that namespace.
    namespace: &'a str,
}

/// As what a webhook is called.
#[derive(Clone, Debug)]
pub(super) enum Invocation {
    /// As the resource that is written.
    Asked,
    /// As another version of it.
    Equivalent(Arc<Resource>),
}

/// Objects in the version that a webhook is called with.
#[derive(Debug)]
pub(super) struct Versioned {
    pub(super) object: Option<Object>,
    pub(super) old: Option<Object>,
}

impl<'a> Attributes<'a> {
    /// `object` is given where a name that was generated is to be seen.
    pub(super) fn new(
        around: Surroundings<'a>,
        write: &'a Write<'a>,
        object: Option<&'a Object>,
    ) -> Self {
        let name = match (write.name, object) {
            ("", Some(object)) => object.name(),
            (name, _) => name,
        };
        let is_namespace = write.resource.group.is_empty() && write.resource.name == "namespaces";
        let namespace = if is_namespace { name } else { write.namespace };
        Self {
            around,
            write,
            name,
            namespace,
        }
    }

    pub(super) fn about(&self, invocation: &'a Invocation) -> About<'a> {
        let invoked = invocation.resource(self.write.resource);
        About::new(self.write, invoked, self.name, self.namespace)
    }

    /// The objects as the webhook wants them.
    pub(super) fn versioned(&self, invocation: &Invocation, object: Option<&Object>) -> Versioned {
        let convert = |object: Option<&Object>| {
            let object = object?;
            Some(match invocation {
                Invocation::Asked => object.clone(),
                Invocation::Equivalent(other) => convert(object, self.write.resource, other),
            })
        };
        Versioned {
            object: convert(object),
            old: convert(self.write.old),
        }
    }

    fn target(&self) -> Target<'a> {
        let resource = self.write.resource;
        let is_namespace = resource.group.is_empty() && resource.name == "namespaces";
        Target {
            operation: self.write.operation,
            group: &resource.group,
            version: &resource.version,
            resource: &resource.name,
            subresource: self.write.subresource,
            namespaced: !is_namespace && !self.namespace.is_empty(),
        }
    }

    /// How, if at all, a webhook is to be called about `object`.
    ///
    /// # Errors
    /// That cannot be said, so that the write must not go on.
    pub(super) fn invocation(
        &self,
        hook: &Hook,
        object: Option<&Object>,
    ) -> Result<Option<Invocation>, ApiError> {
        // What goes wrong with selectors matters only if the rules match.
        let namespaces = self.selects_namespace(hook, object);
        if matches!(namespaces, Ok(false)) {
            return Ok(None);
        }
        let objects = selects_object(hook, object, self.write.old);
        if matches!(objects, Ok(false)) {
            return Ok(None);
        }
        let Some(invocation) = self.rule(hook) else {
            return Ok(None);
        };
        namespaces?;
        objects?;
        if hook.conditions.is_empty() {
            return Ok(Some(invocation));
        }
        let versioned = self.versioned(&invocation, object);
        let holds = hook.conditions.hold(&Variables {
            request: &self.about(&invocation).variable(),
            object: versioned.object.as_ref(),
            old: versioned.old.as_ref(),
        });
        match holds {
            Ok(true) => Ok(Some(invocation)),
            Ok(false) => Ok(None),
            Err(_) if hook.fails_open => Ok(None),
            Err(why) => Err(self.write.resource.forbidden(self.name, &why)),
        }
    }

    fn rule(&self, hook: &Hook) -> Option<Invocation> {
        let target = self.target();
        if hook.rules.iter().any(|rule| rules::matches(rule, &target)) {
            return Some(Invocation::Asked);
        }
        if !hook.equivalent {
            return None;
        }
        let asked = self.write.resource;
        // Earlier rules count before earlier versions.
        hook.rules.iter().find_map(|rule| {
            let other = self.around.served.iter().find(|other| {
                other.storage == asked.storage
                    && other.version != asked.version
                    && (target.subresource.is_empty()
                        || other.subresource(target.subresource).is_some())
                    && rules::matches(
                        rule,
                        &Target {
                            group: &other.group,
                            version: &other.version,
                            resource: &other.name,
                            ..target
                        },
                    )
            });
            other.cloned().map(Invocation::Equivalent)
        })
    }

    fn selects_namespace(&self, hook: &Hook, object: Option<&Object>) -> Result<bool, ApiError> {
        let is_namespace = self.write.resource.name == "namespaces";
        if self.namespace.is_empty() && !is_namespace {
            return Ok(true);
        }
        let Some(selector) = hook.namespaces.as_ref().map_err(ApiError::internal)? else {
            return Ok(true);
        };
        let writes_it = matches!(self.write.operation, Operation::Create | Operation::Update);
        let labels = if is_namespace && self.write.subresource.is_empty() && writes_it {
            object.map(Object::labels).unwrap_or_default()
        } else {
            self.namespace_labels()?
        };
        Ok(selector.matches(&labels))
    }

    fn namespace_labels(&self) -> Result<BTreeMap<String, String>, ApiError> {
        let key = Key::new("namespaces", "", self.namespace);
        let namespace = self.around.store.get(&key);
        let namespace =
            namespace.ok_or_else(|| ApiError::not_found("", "namespaces", self.namespace))?;
        Ok(namespace.object.labels())
    }
}

impl Invocation {
    pub(super) fn resource<'a>(&'a self, asked: &'a Resource) -> &'a Resource {
        match self {
            Self::Asked => asked,
            Self::Equivalent(other) => other,
        }
    }
}

/// The new or the old object will do.
fn selects_object(
    hook: &Hook,
    object: Option<&Object>,
    old: Option<&Object>,
) -> Result<bool, ApiError> {
    let Some(selector) = hook.objects.as_ref().map_err(ApiError::internal)? else {
        return Ok(true);
    };
    let mut objects = [object, old].into_iter().flatten();
    Ok(objects.any(|object| selector.matches(&object.labels())))
}

/// An object of one version of a resource as another one.
pub(super) fn convert(object: &Object, from: &Resource, to: &Resource) -> Object {
    let mut stored = object.clone();
    from.behaviour.to_storage(&mut stored);
    stored.set_type(&from.storage_version, &from.kind);
    to.in_this_version(&stored)
}

#[cfg(test)]
mod tests;
