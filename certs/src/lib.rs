//! Berth: serving certificates: made, loaded, verified and reloaded without restart
//!
//! What a TLS server needs before the first byte of HTTP:
//! - [`options`]: which versions and cipher suites, from the flag values that OCM's binaries take;
//! - [`folder`] and [`pair`]: a certificate and its key, read from a mounted Secret and checked;
//! - [`client_auth`]: optionally, who may connect;
//! - [`serving`]: all of it as one rustls configuration, replaced while connections go on;
//! - [`issue`]: an authority of our own and what it issues; [`self_signed`]: a pair of such in memory;
//! - [`managed`]: when both are renewed and published, decided without I/O;
//! - [`csr`]: what others ask it to sign;
//! - [`served`]: what somebody else serves, and whether a client with a CA bundle trusts it.
//!
//! Time comes in as an argument everywhere but in [`serving::ServingTls::watch`]. No error and no `Debug` output
//! contains key material. The cryptography is ring's, named explicitly: nothing here depends on a process default.

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
#[cfg(all(test, feature = "serving"))]
mod testing;

/// Makes ring the default provider of the process, for libraries that build their own rustls configurations (kube).
///
/// Harmless when called again, and when another default is installed already: the first one stays.
pub fn install_provider() {
    // The only failure is that a default exists.
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
