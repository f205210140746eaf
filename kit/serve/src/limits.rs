//! Limits of a listener.

use std::time::Duration;

/// The limits of a listener. Times are checked once a second.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Number of open connections.
    pub connections: usize,
    /// Time from the opening of a connection to the end of its TLS handshake.
    pub handshake: Duration,
    /// Time from the first byte of a request to the end of its header.
    pub header: Duration,
    /// Time without any request. Longer than Go's clients keep an unused connection (90 s), so that the client closes it.
    pub idle: Duration,
    /// Bytes buffered of an HTTP/1.1 connection: a header, or a piece of a body. hyper's default is 400 KiB; with all
    /// connections at that size, the gate would run out of memory.
    pub http1_buffer: usize,
    /// Bytes of all headers of an HTTP/2 request, decoded: in their compressed form, a few bytes can stand for many long
    /// values. An API server sends about 300 bytes.
    pub http2_headers: u32,
    /// Concurrent requests on one HTTP/2 connection.
    pub http2_streams: u32,
    /// Bytes that a client may send on one HTTP/2 request before the server reads them.
    pub http2_stream_window: u32,
    /// Bytes that a client may send on one HTTP/2 connection, for all its requests, before the server reads them.
    pub http2_connection_window: u32,
}

/// Connections to a port for probes and scrapers.
const FEW_CONNECTIONS: usize = 100;

// === impl Limits ===

impl Default for Limits {
    /// The limits of the gate.
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
    /// The same with fewer connections, for a port for probes and scrapers.
    pub fn few(self) -> Self {
        Self {
            connections: FEW_CONNECTIONS,
            ..self
        }
    }
}
