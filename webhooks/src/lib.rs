//! Berth: the admission gate: reviews answered, over HTTP and TLS
