//! Limits of the gate.

use std::time::Duration;

use berth_serve::BodyMemory;

/// Limits of connections, requests, memory and time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The number of open connections.
    pub connections: usize,
    /// The number of reviews that are decided at the same time.
    pub reviews: usize,
    /// The number of requests whose body is arriving, over all connections. The slowest are refused to make room.
    pub requests: usize,
    /// The memory, in bytes, for bodies of less than 64 KiB that are being received or decided, including their decoding.
    pub small_body_memory: usize,
    /// The memory, in bytes, for larger bodies.
    pub body_memory: usize,
    /// The time from the start of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// The time from the first byte of a request to the end of its header.
    pub header: Duration,
    /// The time that a connection may be without a request.
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
    /// Returns the limits of a listener.
    pub(crate) fn of_listener(&self) -> berth_serve::Limits {
        berth_serve::Limits {
            connections: self.connections,
            handshake: self.handshake,
            header: self.header,
            idle: self.idle,
            ..berth_serve::Limits::default()
        }
    }

    /// Returns the memory for all bodies.
    pub(crate) fn of_bodies(&self) -> BodyMemory {
        BodyMemory::new(self.small_body_memory, self.body_memory, self.requests)
    }
}
