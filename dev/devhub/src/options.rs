//! Options of a hub.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use berth_certs::issue::Authority;

use crate::user::User;

/// How a [`DevHub`](crate::DevHub) is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 for any free one.
    pub bind: SocketAddr,
    /// Bearer tokens that are known from the start.
    pub tokens: Vec<(String, User)>,
    /// Where Services really are.
    pub services: Services,
    /// Who signs client certificates; none for an authority of the hub's own.
    pub client_authority: Option<Arc<Authority>>,
    /// How many events of each kind are kept for watches that come late.
    pub history: usize,
}

/// Where the ports of Services are: (namespace, name, port) to an address. devhub runs no pods, so that somebody has to say.
pub type Services = HashMap<(String, String, u16), SocketAddr>;

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            tokens: Vec::new(),
            services: Services::new(),
            client_authority: None,
            history: 10_000,
        }
    }
}
