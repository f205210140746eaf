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

/// What the process that keeps the certificates has to know, beside the [`Place`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// What no other process is called, for the Lease.
    pub identity: String,
    /// The registrations that get the bundle, as far as there are any.
    pub registrations: Vec<Registration>,
    /// What certificates are to be.
    pub policy: Policy,
}

/// A webhook configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// MutatingWebhookConfiguration, or else ValidatingWebhookConfiguration.
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
