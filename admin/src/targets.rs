//! Arguments that name clusters, compatible with clusteradm.

use berth_api::names::is_dns1123_subdomain;
use clap_complete::engine::ArgValueCandidates;

use crate::complete;

/// Names of ManagedClusters, as arguments or by two flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "targets", required = true, multiple = true)]
pub(crate) struct ClusterNames {
    /// Names of the ManagedClusters
    #[arg(value_name = "NAME", value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    names: Vec<String>,
    /// Name of a ManagedCluster (repeatable)
    #[arg(short, long, value_name = "NAME", value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    cluster: Vec<String>,
    /// Names of ManagedClusters, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    clusters: Vec<String>,
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
fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_dns1123_subdomain(text) {
        Ok(text.to_owned())
    } else {
        Err("no ManagedCluster can have this name".to_owned())
    }
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
}
