//! Limits of connections.

use std::time::Duration;

/// What one listener bears. Times are checked once a second.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Open connections.
    pub connections: usize,
    /// From the opening of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request to the end of its header.
    pub header: Duration,
    /// Without any request. Longer than Go's clients keep an unused connection (90 s), so that the client closes it.
    pub idle: Duration,
    /// Bytes kept of an HTTP/1.1 connection until they make a header, or a piece of a body. hyper's own bound is 400 KiB:
    /// with all connections at that bound, that is more memory than the gate has.
    pub http1_buffer: usize,
    /// Bytes of the longest list of headers over HTTP/2, decoded: a few short names index many long values. An API server
    /// sends about 300 bytes.
    pub http2_headers: u32,
    /// Requests at the same time on one HTTP/2 connection.
    pub http2_streams: u32,
    /// Bytes that may be sent on one HTTP/2 request before they are read.
    pub http2_stream_window: u32,
    /// Bytes that may be sent on one HTTP/2 connection, with all its requests, before they are read.
    pub http2_connection_window: u32,
}

/// Connections to a port for probes and scrapers.
const FEW_CONNECTIONS: usize = 100;

// === impl Limits ===

impl Default for Limits {
    /// Those of the gate.
    fn default() -> Self {
        Self {
            connections: 2_000,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(10),
            idle: Duration::from_secs(180),
            http1_buffer: 32 * 1024,
            http2_headers: 4 * 1024,
            http2_streams: 16,
            http2_stream_window: 64 * 1024,
            http2_connection_window: 256 * 1024,
        }
    }
}

impl Limits {
    /// With fewer connections, as a port for probes and scrapers needs.
    pub fn few(self) -> Self {
        Self {
            connections: FEW_CONNECTIONS,
            ..self
        }
    }
}
