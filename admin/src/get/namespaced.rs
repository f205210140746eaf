//! What `berth get` has in common for kinds that have a namespace.

use clap_complete::engine::ArgValueCandidates;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::UNREADABLE;
use super::find::Asked;
use crate::complete;
use crate::hub::{Item, namespace};

/// Which namespaces are asked for.
#[derive(Debug, clap::Args)]
pub(super) struct NamespacedArgs {
    /// Only objects in this namespace
    #[arg(
        short,
        long,
        value_name = "NAME",
        conflicts_with = "all_namespaces",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::namespaces)
    )]
    pub(super) namespace: Option<String>,
    /// Objects in all namespaces; this is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
}

/// The namespace whose objects are shown, or all: then the first column names it.
pub(super) struct Namespaces(pub(super) Option<String>);

// === impl NamespacedArgs ===

impl NamespacedArgs {
    /// Asks for these namespaces only.
    pub(super) fn narrow(&self, asked: &mut Asked) -> Namespaces {
        asked.namespace.clone_from(&self.namespace);
        asked.everywhere = self.namespace.is_none();
        Namespaces(self.namespace.clone())
    }
}

// === impl Namespaces ===

impl Namespaces {
    /// These titles, after that of the namespace if it is a column.
    pub(super) fn titles(
        &self,
        namespace: &'static str,
        others: &[&'static str],
    ) -> Vec<&'static str> {
        let first = self.0.is_none().then_some(namespace);
        first.into_iter().chain(others.iter().copied()).collect()
    }

    /// The first cells of a row: the namespace if it is a column, and the name.
    pub(super) fn first_cells<K>(&self, item: &Item<K>) -> Vec<String>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        let mut cells = Vec::new();
        if self.0.is_none() {
            cells.push(item.object.namespace().unwrap_or_default());
        }
        cells.push(item.name());
        cells
    }

    /// The message if there are none. `kind`: their plural.
    pub(super) fn none(&self, kind: &str) -> String {
        match &self.0 {
            None => format!("No {kind} found."),
            Some(namespace) => format!("No {kind} found in namespace {namespace:?}."),
        }
    }
}

/// A cell of an object, unless it cannot be read.
pub(super) fn cell<K>(item: &Item<K>, text: impl FnOnce(&K) -> String) -> String {
    match item.unreadable {
        None => text(&item.object),
        Some(_) => UNREADABLE.to_owned(),
    }
}
