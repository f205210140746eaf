//! Add-ons of the cluster: what the agent asks the hub for on their behalf, and how it reports their health.
//!
//! # Shape
//! - [`fact`]: a ManagedClusterAddOn on the hub, of either version;
//! - [`wanted`]: its registrations, each a certificate, or a [`token`], in a Secret on the managed cluster;
//! - [`records`]: which Secrets the agent made, so that it deletes them also after a restart;
//! - [`health`] and [`status`]: the conditions that the agent writes.
//!
//! # Compatibility
//! Names and keys of Secrets, subjects, labels and conditions are those of OCM's agent.

pub mod fact;
pub mod health;
pub mod records;
pub mod status;
pub mod token;
pub mod wanted;

/// How add-ons are registered with the hub's API server. Other signers always sign certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// By certificates.
    Csr,
    /// By tokens of service accounts.
    Token {
        /// The lifetime to ask for, in seconds.
        seconds: i64,
    },
}

/// The cluster and the namespace that an add-on's agent runs in.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
pub struct Place {
    /// The add-on's agent runs in the cluster that this agent runs in, and not in the managed cluster.
    #[serde(default)]
    pub hosted: bool,
    /// The install namespace.
    pub namespace: String,
}

// === impl Driver ===

impl Driver {
    /// Returns its name in the status of add-ons.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Token { .. } => "token",
        }
    }
}
