//! What happens to managed certificates, for metrics.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::state::Shape;

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
    /// So many of the registrations do not exist, on the API server's own word.
    Absent(usize),
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

// === impl Observer ===

impl Observer {
    /// Tells this function.
    pub fn new(observe: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    /// Something happened.
    pub fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
