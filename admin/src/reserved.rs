//! The flag `--reserved-prefixes` of the gate and the lifecycle.

use berth_api::reserved::ReservedPrefixes;

/// The flag `--reserved-prefixes`.
#[derive(Debug, clap::Args)]
pub struct ReservedArgs {
    /// Name prefixes that clusters may not have, separated by commas; may be empty. A cluster that already has the namespace
    /// of its name keeps it. Names such as kube-system are always reserved
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
    /// Returns the prefixes.
    pub fn prefixes(&self) -> ReservedPrefixes {
        ReservedPrefixes::new(self.reserved_prefixes.iter().map(|it| it.trim()))
    }
}
