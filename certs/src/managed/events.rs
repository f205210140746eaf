//! Events of managed certificates, for metrics.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::state::Shape;

/// An event, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The Secret was read.
    Secret(Shape),
    /// The expiry times of the certificates in the Secret.
    Seen {
        /// The leaf; `None` if the Secret has no leaf yet.
        leaf: Option<Timestamp>,
        /// The authority.
        authority: Timestamp,
    },
    /// This process made a certificate.
    Made(Made),
    /// A request failed, or a certificate could not be made. It is retried.
    Failed,
    /// This process wrote the bundle of a registration.
    Wrote(Reason),
    /// At this time, all registrations had the bundle.
    Verified(Timestamp),
    /// The number of registrations that do not exist, as reported by the API server.
    Absent(usize),
}

/// The kinds of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A serving certificate.
    Leaf,
    /// An authority.
    Authority,
}

/// Reasons for writing a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The registration is new, or the bundle is.
    Published,
    /// Another client had changed the bundle.
    Differs,
    /// Another client had changed the bundle, so that it did not verify our certificate.
    Unverified,
}

/// Receives events. It should count, and must not block.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

// === impl Observer ===

impl Observer {
    /// Makes an observer that calls this function.
    pub fn new(observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Reports an event.
    pub fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
