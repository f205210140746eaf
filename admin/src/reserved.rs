//! `--reserved-prefixes`, which the gate and the lifecycle go by alike.

use berth_api::reserved::ReservedPrefixes;

/// The flag.
#[derive(Debug, clap::Args)]
pub struct ReservedArgs {
    /// Starts of names that are kept from clusters, separated by commas; empty for none. A cluster that has the namespace
    /// of its name already keeps it. Names such as kube-system are always reserved
    #[arg(
        long,
        value_name = "PREFIXES",
        value_delimiter = ',',
        default_value = "kube-,openshift-"
    )]
    reserved_prefixes: Vec<String>,
}

// === impl ReservedArgs ===

impl ReservedArgs {
    /// The prefixes.
    pub fn prefixes(&self) -> ReservedPrefixes {
        ReservedPrefixes::new(self.reserved_prefixes.iter().map(|it| it.trim()))
    }
}
