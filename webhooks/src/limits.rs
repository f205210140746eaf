//! Limits of the gate.

use std::time::Duration;

use berth_serve::BodyMemory;

/// What the gate bears.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// Reviews that are decided at the same time.
    pub reviews: usize,
    /// Requests whose body is arriving, over all connections; the slowest make room for others.
    pub requests: usize,
    /// Bytes of bodies of less than 64 KiB that are being received or decided, with what decoding them costs.
    pub small_body_memory: usize,
    /// Bytes of larger bodies, in the same way.
    pub body_memory: usize,
    /// From the opening of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request to the end of its header.
    pub header: Duration,
    /// Without any request.
    pub idle: Duration,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        let berth_serve::Limits {
            connections,
            handshake,
            header,
            idle,
            ..
        } = berth_serve::Limits::default();
        Self {
            connections,
            reviews: 1_000,
            requests: 2_000,
            small_body_memory: 64 * 1024 * 1024,
            body_memory: 64 * 1024 * 1024,
            handshake,
            header,
            idle,
        }
    }
}

impl Limits {
    /// Those of a listener.
    pub(crate) fn of_listener(&self) -> berth_serve::Limits {
        berth_serve::Limits {
            connections: self.connections,
            handshake: self.handshake,
            header: self.header,
            idle: self.idle,
            ..berth_serve::Limits::default()
        }
    }

    /// The memory for all bodies.
    pub(crate) fn of_bodies(&self) -> BodyMemory {
        BodyMemory::new(self.small_body_memory, self.body_memory, self.requests)
    }
}
