//! Options of a hub.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use berth_certs::issue::Authority;

use crate::user::User;

/// Options of a [`DevHub`](crate::DevHub).
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on. With port 0 the system chooses a free port.
    pub bind: SocketAddr,
    /// Bearer tokens, with their users.
    pub tokens: Vec<(String, User)>,
    /// The addresses of Services.
    pub services: Services,
    /// The authority that signs client certificates. By default the hub creates one.
    pub client_authority: Option<Arc<Authority>>,
    /// Number of events that are kept of each kind, for watches that start at an earlier revision.
    pub history: usize,
    /// Validities of the first certificates that the signer issues, in this order. Each later one is valid as long as its request asks.
    pub first_validities: Vec<Duration>,
}

/// The addresses of Services' ports, by namespace, name and port. devhub runs no pods, so the caller supplies them.
pub type Services = HashMap<(String, String, u16), SocketAddr>;

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            tokens: Vec::new(),
            services: Services::new(),
            client_authority: None,
            history: 10_000,
            first_validities: Vec::new(),
        }
    }
}
