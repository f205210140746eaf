//! Finding what was asked for: all of a kind, or those that are named.

use std::collections::HashSet;
use std::io::{self, Write};

use berth_api::names;
use berth_rules::display::Lines;
use futures::{StreamExt, TryStreamExt, stream};
use kube::Resource;
use serde::de::DeserializeOwned;

use crate::failure::CommandError;
use crate::hub::{Filter, HubConnection, Item};

/// So many are asked for at once.
const AT_ONCE: usize = 8;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// In which namespace; None: in all, or the kind has none.
    pub(super) namespace: Option<String>,
    /// In all namespaces, where a name may stand for several objects.
    pub(super) everywhere: bool,
    /// Those of these names; all, if there are none.
    pub(super) names: Vec<String>,
    pub(super) filter: Filter,
}

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Found<K> {
    /// Sorted, or in the order in which they were named.
    pub(super) items: Vec<Item<K>>,
    /// What watches go on from, where it is known.
    pub(super) version: String,
    /// Why others that were named are not among them.
    pub(super) failures: Vec<CommandError>,
}

// === impl Asked ===

impl Asked {
    /// Each name once, in the order given.
    pub(super) fn new(names: &[String], filter: Filter) -> Self {
        let mut seen = HashSet::new();
        let names = names.iter().filter(|name| seen.insert(name.as_str()));
        Self {
            names: names.cloned().collect(),
            filter,
            ..Self::default()
        }
    }

    /// Whether one object is asked for, by its name.
    pub(super) fn is_for_one(&self) -> bool {
        self.names.len() == 1 && !self.everywhere
    }

    /// Whether what has this name is asked for.
    pub(super) fn is_about(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|it| it == name)
    }

    /// What to list or watch, to get at least those that are asked for.
    pub(super) fn listed(&self) -> Filter {
        let mut filter = self.filter.clone();
        if let [name] = &self.names[..]
            && names::is_dns1123_subdomain(name)
        {
            filter.fields = Some(format!("metadata.name={name}"));
        }
        filter
    }

    /// Finds them, one by one if they are named: so they are found by somebody who may read only those.
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
                    // It concerns this name.
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

    /// Finds them by a list, from which a watch can go on.
    pub(super) async fn list<K>(&self, hub: &HubConnection) -> Result<Found<K>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
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

/// There is no object of this name, among these.
pub(super) fn no_such<K: Resource<DynamicType = ()>>(name: &str, names: &[String]) -> CommandError {
    let resource = format!("{}.{}", K::plural(&()), K::group(&()));
    CommandError::no_such(&resource, name, names.iter().map(String::as_str))
}

/// The names there are, to suggest one; none, where we may not know.
pub(super) async fn names_of<K>(hub: &HubConnection, namespace: Option<&str>) -> Vec<String>
where
    K: Resource<DynamicType = ()>,
{
    hub.names::<K>(namespace).await.unwrap_or_default()
}

/// Says what could not be shown, and why. With nowhere to write it to, the command goes on.
pub(super) fn warn(what: &str, why: &CommandError) {
    let why = why.to_string();
    let _ = writeln!(
        io::stderr(),
        "Warning: {what} cannot be shown: {}",
        Lines(&why)
    );
}
