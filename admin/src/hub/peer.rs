//! Which API server a message is about.

use std::fmt;

/// An API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Hub,
    ManagedCluster,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hub => "the hub",
            Self::ManagedCluster => "the managed cluster",
        })
    }
}
