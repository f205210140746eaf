//! Where certificates are kept, whose registrations are looked after, and what others are told of it.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::Policy;
use super::state::Shape;

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

/// What happened, for whoever counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The Secret was looked at.
    Secret(Shape),
    /// This is in the Secret: when leaf and authority expire.
    Seen {
        /// The leaf; none yet.
        leaf: Option<Timestamp>,
        /// The authority.
        authority: Timestamp,
    },
    /// We made a new one.
    Made(Made),
    /// A request failed, or something could not be made. It is tried again.
    Failed,
    /// We wrote a registration's bundle.
    Wrote(Reason),
    /// All registrations had the bundle.
    Verified(Timestamp),
}

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A serving certificate.
    Leaf,
    /// An authority.
    Authority,
}

/// Why a bundle was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The registration is new, or the bundle is.
    Published,
    /// Somebody had changed it.
    Differs,
    /// Somebody had changed it so that our certificate was not verified by it.
    Unverified,
}

/// Is told what happened. It should count, and not block.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

// === impl Registration ===

impl Registration {
    /// The resource.
    pub(super) fn resource(&self) -> &'static str {
        match self.mutates {
            true => "mutatingwebhookconfigurations",
            false => "validatingwebhookconfigurations",
        }
    }
}

// === impl Observer ===

impl Observer {
    /// Tells this function.
    pub fn new(observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(super) fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
