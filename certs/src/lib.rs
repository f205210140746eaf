//! Certificates for Berth: issued, loaded, verified, and reloaded without a restart.
//!
//! - [`options`]: TLS versions and cipher suites, from the flag values that OCM's binaries accept;
//! - [`folder`] and [`pair`]: a certificate and its key, read from a mounted Secret and checked;
//! - [`client_auth`]: optionally, the check of client certificates;
//! - [`serving`]: one rustls configuration of all these, replaced without closing connections;
//! - [`issue`]: a certificate authority, and the certificates that it issues; [`self_signed`]: such a pair in memory;
//! - [`managed`]: decides, without I/O, when authority and certificate are renewed and published;
//! - [`csr`]: certificate signing requests;
//! - [`client`]: the key of a client, its signing requests, and the certificate that it gets;
//! - [`served`]: the certificates of another server, and whether a client with a CA bundle trusts them.
//!
//! Time is an argument, except in [`serving::ServingTls::watch`]. No error and no `Debug` output contains key material. The
//! cryptography is always ring's, whatever the default provider of the process is.
//!
//! The modules for servers need tokio, and the feature `serving`, which is on by default.

pub mod client;
#[cfg(feature = "serving")]
pub mod client_auth;
pub mod csr;
#[cfg(feature = "serving")]
pub mod folder;
pub mod issue;
pub mod managed;
#[cfg(feature = "serving")]
pub mod options;
pub mod pair;
pub mod pem;
#[cfg(feature = "serving")]
pub mod self_signed;
#[cfg(feature = "serving")]
pub mod served;
#[cfg(feature = "serving")]
pub mod serving;
mod subject;
#[cfg(test)]
mod testing;

/// Makes ring the default provider of the process, for libraries that build their own rustls configurations (kube).
///
/// A second call has no effect, and an earlier default stays.
pub fn install_provider() {
    // This fails only if a default exists.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_provider_may_be_installed_twice() {
        super::install_provider();
        super::install_provider();
        assert!(rustls::crypto::CryptoProvider::get_default().is_some());
    }
}
