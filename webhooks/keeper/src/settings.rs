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

/// An object by which API servers call the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its kind.
    pub kind: RegistrationKind,
    /// Its name.
    pub name: String,
}

/// The kind of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationKind {
    /// A MutatingWebhookConfiguration.
    Mutating,
    /// A ValidatingWebhookConfiguration.
    Validating,
    /// A CustomResourceDefinition that may name the gate as its conversion webhook. It is none of ours if it does not exist, or if it
    /// names another server.
    Conversion,
}

// === impl RegistrationKind ===

impl RegistrationKind {
    /// Group, version and resource.
    pub(crate) fn resource(self) -> (&'static str, &'static str, &'static str) {
        const ADMISSION: &str = "admissionregistration.k8s.io";
        match self {
            Self::Mutating => (ADMISSION, "v1", "mutatingwebhookconfigurations"),
            Self::Validating => (ADMISSION, "v1", "validatingwebhookconfigurations"),
            Self::Conversion => ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        }
    }
}
