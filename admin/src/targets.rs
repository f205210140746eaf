//! Arguments that name clusters, compatible with clusteradm.

use berth_api::ManagedCluster;
use berth_api::names::is_dns1123_subdomain;
use berth_api::selector::text::label_selector;
use clap_complete::engine::ArgValueCandidates;

use crate::complete;
use crate::failure::CommandError;
use crate::hub::{Filter, HubConnection, Item};

/// Names of ManagedClusters, as arguments or by two flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "targets", required = true, multiple = true)]
pub(crate) struct ClusterNames {
    /// Names of the ManagedClusters
    #[arg(value_name = "NAME", value_parser = cluster_name, add = ArgValueCandidates::new(complete::clusters))]
    names: Vec<String>,
    /// Name of a ManagedCluster (repeatable)
    #[arg(short, long, value_name = "NAME", value_parser = cluster_name, add = ArgValueCandidates::new(complete::clusters))]
    cluster: Vec<String>,
    /// Names of ManagedClusters, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = cluster_name, add = ArgValueCandidates::new(complete::clusters))]
    clusters: Vec<String>,
}

/// Names of ManagedClusters, or a selector of their labels.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ChosenClusters {
    #[command(flatten)]
    names: ClusterNames,
    /// All clusters with these labels
    #[arg(
        short = 'l',
        long,
        value_name = "SELECTOR",
        value_parser = selector,
        group = "targets",
        conflicts_with_all = ["names", "cluster", "clusters"]
    )]
    selector: Option<String>,
}

/// Returns the clusters with these names, or else those that the hub selects: all, or those with these labels. The latter come with
/// what was read of them.
///
/// # Errors
/// The clusters cannot be listed.
pub(crate) async fn chosen(
    hub: &HubConnection,
    names: Vec<String>,
    all: bool,
    selector: Option<&str>,
) -> Result<Vec<(String, Option<Item<ManagedCluster>>)>, CommandError> {
    let filter = match selector {
        Some(selector) => Filter::labels(selector),
        None if all => Filter::default(),
        None => return Ok(names.into_iter().map(|name| (name, None)).collect()),
    };
    let found = hub.list::<ManagedCluster>(None, &filter).await?;
    let found = found.into_iter().map(|item| (item.name(), Some(item)));
    Ok(found.collect())
}

// === impl ChosenClusters ===

impl ChosenClusters {
    /// Returns each name once, in the given order.
    pub(crate) fn each(&self) -> Vec<String> {
        self.names.each()
    }

    pub(crate) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }
}

// === impl ClusterNames ===

impl ClusterNames {
    /// Returns each name once, in the given order.
    pub(crate) fn each(&self) -> Vec<String> {
        let all = self.names.iter().chain(&self.cluster);
        let each = distinct(all.chain(&self.clusters));
        each.into_iter().map(str::to_owned).collect()
    }
}

/// Splits the words of a command line into names of clusters and the changes that follow them, as kubectl does. `is_selected`: the line
/// also selects clusters by a flag. `what` is what changes, and `missing` is the error of a line without a change.
///
/// # Errors
/// The words are in another order, no change is among them, a name is invalid, or clusters are both named and selected, or neither.
pub(crate) fn names_and_changes<'a>(
    words: &'a [String],
    is_change: fn(&str) -> bool,
    is_selected: bool,
    what: &str,
    missing: &str,
) -> Result<(Vec<String>, &'a [String]), String> {
    let first = words.iter().position(|word| is_change(word));
    let (names, changes) = words.split_at(first.unwrap_or(words.len()));
    if changes.is_empty() {
        return Err(missing.to_owned());
    }
    if let Some(word) = changes.iter().find(|word| !is_change(word)) {
        return Err(format!(
            "all clusters must be specified before {what} changes: {word}"
        ));
    }
    if names.is_empty() != is_selected {
        return Err(
            "name clusters, or select them with --all or --selector, but not both".to_owned(),
        );
    }
    let parse = |name: &str| cluster_name(name).map_err(|why| format!("{name:?}: {why}"));
    let names: Result<Vec<String>, String> = distinct(names).into_iter().map(parse).collect();
    Ok((names?, changes))
}

/// Returns each name once, in the given order.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name.as_str()) {
            distinct.push(name);
        }
    }
    distinct
}

/// Parses a name. Names become part of URLs and selectors, so a name that no object can have is an error.
pub(crate) fn cluster_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_dns1123_subdomain(text) {
        Ok(text.to_owned())
    } else {
        Err("no ManagedCluster can have this name".to_owned())
    }
}

/// Parses a label selector. An empty one would select all clusters.
pub(crate) fn selector(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("the selector is empty, so it would select all clusters".to_owned());
    }
    label_selector(text)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        names: ClusterNames,
    }

    fn names(line: &str) -> Result<Vec<String>, String> {
        Line::try_parse_from(line.split('_'))
            .map(|line| line.names.each())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_merged_in_the_order_given_and_each_counts_once() {
        assert_eq!(
            names("berth_b_a_-c_c_--clusters_a,d, e").unwrap(),
            ["b", "a", "c", "d", "e"]
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        assert!(names("berth").unwrap_err().contains("required"));
        for line in ["berth_", "berth_a/b", "berth_A", "berth_--clusters_a,,b"] {
            let error = names(line).unwrap_err();
            assert!(
                error.contains("no ManagedCluster can have this name"),
                "{line}: {error}"
            );
        }
    }

    #[test]
    fn a_selector_that_selects_everything_or_nothing_is_refused() {
        for (text, expected) in [
            ("a=b", true),
            ("a in (b,c),!d", true),
            ("", false),
            (" ", false),
            ("a=(", false),
        ] {
            assert_eq!(selector(text).is_ok(), expected, "{text:?}");
        }
    }
}
