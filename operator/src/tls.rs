//! The ConfigMap with the TLS settings of all components.

use berth_api::GroupVersionResource;
use berth_certs::options::TlsOptions;
use berth_operator_core::{TLS_PROFILE, TlsProfile};
use berth_reconcile::Watched;
use serde_json::Value;

/// The row of the ConfigMap, in the operator's namespace. It need not be there, and OCM's roles need not allow it.
pub(crate) fn row<F: 'static>(namespace: &str, fact: fn(TlsProfile) -> F) -> Watched<F> {
    let maps = GroupVersionResource::new("", "v1", "configmaps");
    let row = Watched::new("tls-profile", maps, move |item| {
        Ok(fact(profile(&serde_json::from_str(item.json)?)))
    });
    row.within(namespace).named(TLS_PROFILE).optional()
}

fn profile(map: &Value) -> TlsProfile {
    let text = |key: &str| {
        let text = map["data"][key].as_str().unwrap_or_default();
        text.trim().to_owned()
    };
    let (min_version, cipher_suites) = (text("minTLSVersion"), text("cipherSuites"));
    let mistake = TlsOptions::parse(&min_version, &[&cipher_suites]).err();
    TlsProfile {
        mistake: mistake.map(|it| it.to_string()),
        min_version,
        cipher_suites,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_that_no_component_could_start_with_is_not_used() {
        let of = |version: &str, suites: &str| {
            let map = json!({"data": {"minTLSVersion": version, "cipherSuites": suites}});
            profile(&map).mistake
        };
        assert_eq!(of("VersionTLS13", ""), None);
        assert_eq!(
            of(
                "VersionTLS12",
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
            ),
            None
        );
        assert_eq!(of("", ""), None);
        assert!(of("TLS13", "").unwrap().contains("unknown TLS version"));
        assert!(of("", "NO_SUCH_SUITE").unwrap().contains("NO_SUCH_SUITE"));
        assert_eq!(profile(&json!({})), TlsProfile::default());
    }
}
