//! Which clusters a command is about, as clusteradm's users type it.

use berth_api::names::is_dns1123_subdomain;
use clap_complete::engine::ArgValueCandidates;

use crate::complete;

/// Names of ManagedClusters, in any of three ways.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "targets", required = true, multiple = true)]
pub(crate) struct ClusterNames {
    /// Names of the ManagedClusters
    #[arg(value_name = "NAME", value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    names: Vec<String>,
    /// The same, as a flag; may be repeated
    #[arg(short, long, value_name = "NAME", value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    cluster: Vec<String>,
    /// The same, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = name, add = ArgValueCandidates::new(complete::clusters))]
    clusters: Vec<String>,
}

// === impl ClusterNames ===

impl ClusterNames {
    /// Each name once, in the order given.
    pub(crate) fn each(&self) -> Vec<String> {
        let all = self.names.iter().chain(&self.cluster);
        let each = distinct(all.chain(&self.clusters));
        each.into_iter().map(str::to_owned).collect()
    }
}

/// Each name once, in the order given.
pub(crate) fn distinct<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name.as_str()) {
            distinct.push(name);
        }
    }
    distinct
}

/// A name goes into URLs and selectors: what no object can be called is refused here.
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
