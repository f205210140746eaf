//! Finds objects: all of a kind, or those of the given names.

use std::collections::HashSet;
use std::io::{self, Write};

use berth_api::names;
use berth_rules::display::Lines;
use futures::{StreamExt, TryStreamExt, stream};
use kube::Resource;
use serde::de::DeserializeOwned;

use crate::failure::CommandError;
use crate::hub::{Filter, HubConnection, Item};

/// Limit on concurrent requests.
const AT_ONCE: usize = 8;

/// The objects that the user asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// The namespace. None: all namespaces, or a cluster-scoped kind.
    pub(super) namespace: Option<String>,
    /// Only the objects of these namespaces, if there are any; not for watches.
    pub(super) among: Vec<String>,
    /// The objects are of all namespaces, so several objects can have the same name.
    pub(super) everywhere: bool,
    /// The names. Empty: all objects.
    pub(super) names: Vec<String>,
    pub(super) filter: Filter,
}

/// The result of a query.
#[derive(Clone, Debug)]
pub(super) struct Found<K> {
    /// The objects, sorted by name, or in the order of the given names.
    pub(super) items: Vec<Item<K>>,
    /// The resourceVersion at which a watch starts; empty if the objects were not listed.
    pub(super) version: String,
    /// The errors for names without an object.
    pub(super) failures: Vec<CommandError>,
}

// === impl Asked ===

impl Asked {
    /// Keeps each name once, in the given order.
    pub(super) fn new(names: &[String], filter: Filter) -> Self {
        let mut seen = HashSet::new();
        let names = names.iter().filter(|name| seen.insert(name.as_str()));
        Self {
            names: names.cloned().collect(),
            filter,
            ..Self::default()
        }
    }

    /// Returns true if the user asks for one object by its name.
    pub(super) fn is_for_one(&self) -> bool {
        self.names.len() == 1 && !self.everywhere
    }

    /// Returns true if the user asks for objects of this name.
    pub(super) fn is_about(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|it| it == name)
    }

    /// Returns a filter for lists and watches. It matches at least the objects that the user asks for.
    pub(super) fn listed(&self) -> Filter {
        let mut filter = self.filter.clone();
        // The flag of fields excludes names.
        if let [name] = &self.names[..]
            && names::is_dns1123_subdomain(name)
        {
            filter.fields = Some(format!("metadata.name={name}"));
        }
        filter
    }

    /// Finds the objects. Names are read one by one, since a user may have the right to read only these objects.
    pub(super) async fn find<K>(&self, hub: &HubConnection) -> Result<Found<K>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        if self.names.is_empty() || self.everywhere {
            return self.list(hub).await;
        }
        let answers: Vec<_> = stream::iter(&self.names)
            .map(
                async |name| match hub.get::<K>(self.namespace.as_deref(), name).await {
                    Ok(answer) => Ok((name, Ok(answer))),
                    // The error concerns this name only.
                    Err(failure) if failure.code().is_some() => Ok((name, Err(failure))),
                    Err(failure) => Err(failure),
                },
            )
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let (mut items, mut failures, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (name, answer) in answers {
            match answer {
                Ok(Some(item)) => items.push(item),
                Ok(None) => missing.push(name.as_str()),
                Err(failure) => failures.push(failure),
            }
        }
        failures.extend(self.missing::<K>(hub, &missing).await);
        Ok(Found {
            items,
            version: String::new(),
            failures,
        })
    }

    /// Lists the objects, so that a watch can start at the resourceVersion.
    pub(super) async fn list<K>(&self, hub: &HubConnection) -> Result<Found<K>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        if !self.among.is_empty() {
            return self.list_among(hub).await;
        }
        let namespace = self.namespace.as_deref();
        let (mut items, version) = hub.list_at::<K>(namespace, &self.listed()).await?;
        items.retain(|item| self.is_about(&item.name()));
        let missing: Vec<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .filter(|name| !items.iter().any(|item| item.name() == *name))
            .collect();
        items.sort_by_key(|item| self.names.iter().position(|name| *name == item.name()));
        Ok(Found {
            failures: self.missing::<K>(hub, &missing).await,
            items,
            version,
        })
    }

    /// Lists the objects of some namespaces. Each name is to be in each of them.
    async fn list_among<K>(&self, hub: &HubConnection) -> Result<Found<K>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        let (listed, mut items, mut failures) = (&self.listed(), Vec::new(), Vec::new());
        let lists = stream::iter(&self.among)
            .map(async |namespace| hub.list_at::<K>(Some(namespace), listed).await);
        let lists: Vec<_> = lists.buffered(AT_ONCE).try_collect().await?;
        for (namespace, (mut found, _)) in self.among.iter().zip(lists) {
            found.retain(|item| self.is_about(&item.name()));
            let missing = self
                .names
                .iter()
                .filter(|name| !found.iter().any(|it| it.name() == **name));
            failures.extend(missing.map(|name| {
                let failure = no_such::<K>(name, &[]);
                CommandError::Refused(format!("{failure} in namespace {namespace}"))
            }));
            items.extend(found);
        }
        items.sort_by_key(|item| self.names.iter().position(|name| *name == item.name()));
        Ok(Found {
            items,
            version: String::new(),
            failures,
        })
    }

    async fn missing<K>(&self, hub: &HubConnection, names: &[&str]) -> Vec<CommandError>
    where
        K: Resource<DynamicType = ()>,
    {
        if names.is_empty() {
            return Vec::new();
        }
        let there = names_of::<K>(hub, self.namespace.as_deref()).await;
        names
            .iter()
            .map(|name| no_such::<K>(name, &there))
            .collect()
    }
}

/// The error for a name without an object. Suggests one of the existing names.
pub(super) fn no_such<K: Resource<DynamicType = ()>>(name: &str, names: &[String]) -> CommandError {
    let resource = format!("{}.{}", K::plural(&()), K::group(&()));
    CommandError::no_such(&resource, name, names.iter().map(String::as_str))
}

/// Returns the existing names, for suggestions; empty if they cannot be read.
pub(super) async fn names_of<K>(hub: &HubConnection, namespace: Option<&str>) -> Vec<String>
where
    K: Resource<DynamicType = ()>,
{
    hub.names::<K>(namespace).await.unwrap_or_default()
}

/// Prints a warning about a part that cannot be shown. An error of standard error does not stop the command.
pub(super) fn warn(what: &str, why: &CommandError) {
    let why = why.to_string();
    let _ = writeln!(
        io::stderr(),
        "Warning: {what} cannot be shown: {}",
        Lines(&why)
    );
}
