//! Where certificates are kept, and which registrations get their authority.

use berth_certs::managed::Policy;

/// Where the Secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace of Secret and Lease.
    pub namespace: String,
    /// The name of both.
    pub name: String,
}

/// The settings of a keeper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of this process in the Lease. No other process has it.
    pub identity: String,
    /// The registrations that get the bundle. Some may not exist.
    pub registrations: Vec<Registration>,
    /// The names and lifetimes of certificates.
    pub policy: Policy,
}

/// A webhook configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// True: MutatingWebhookConfiguration. False: ValidatingWebhookConfiguration.
    pub mutates: bool,
    /// Its name.
    pub name: String,
}

// === impl Registration ===

impl Registration {
    /// The resource.
    pub(crate) fn resource(&self) -> &'static str {
        match self.mutates {
            true => "mutatingwebhookconfigurations",
            false => "validatingwebhookconfigurations",
        }
    }
}
