//! The signature of the ConfigMap `cluster-info` by a bootstrap token, as kubeadm's clusters have it.
//!
//! kube-controller-manager signs the kubeconfig in the ConfigMap with each bootstrap token (`jws-kubeconfig-<id>`: a JSON Web
//! Signature without its payload, HS256). Only a server that knows the token can do so, so the signature proves the CA in the
//! kubeconfig to a client with the token, and the token itself is not sent.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use ring::hmac;
use serde_json::Value;

use super::token::BootstrapToken;

/// The prefix of the keys of signatures in the ConfigMap.
pub(super) const KEY_PREFIX: &str = "jws-kubeconfig-";

/// Returns true if this is the signature of the payload by the token.
pub(super) fn is_signed(payload: &str, signature: &str, token: BootstrapToken<'_>) -> bool {
    verify(payload, signature, token).is_some()
}

fn verify(payload: &str, signature: &str, token: BootstrapToken<'_>) -> Option<()> {
    let (header, signature) = signature.split_once("..")?;
    let said: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    if said["alg"] != "HS256" || said["kid"] != token.id {
        return None;
    }
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.secret.as_bytes());
    let signed = format!("{header}.{}", BASE64_URL_SAFE_NO_PAD.encode(payload));
    hmac::verify(&key, signed.as_bytes(), &signature).ok()
}

#[cfg(test)]
pub(super) fn sign(payload: &str, token: BootstrapToken<'_>) -> String {
    let header = format!(r#"{{"alg":"HS256","kid":"{}"}}"#, token.id);
    let header = BASE64_URL_SAFE_NO_PAD.encode(header);
    let signed = format!("{header}.{}", BASE64_URL_SAFE_NO_PAD.encode(payload));
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.secret.as_bytes());
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: BootstrapToken<'_> = BootstrapToken {
        id: "abcdef",
        secret: "0123456789abcdef",
    };

    #[test]
    fn only_the_token_that_signed_it_verifies_it() {
        let signature = sign("payload", TOKEN);
        assert!(is_signed("payload", &signature, TOKEN));
        assert!(!is_signed("another", &signature, TOKEN));
        let other = BootstrapToken {
            secret: "fedcba9876543210",
            ..TOKEN
        };
        assert!(!is_signed("payload", &signature, other));
        let other = BootstrapToken {
            id: "fedcba",
            ..TOKEN
        };
        assert!(!is_signed("payload", &signature, other));
    }

    /// A signature that was made with Python's `hmac` and `base64`.
    #[test]
    fn a_signature_of_another_program_is_verified() {
        let signature =
            "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..K1chermAQEq0rdqy-ehj0VDfmA_ytv8Wzh9g26FldrE";
        assert!(is_signed("apiVersion: v1\n", signature, TOKEN));
    }

    #[test]
    fn what_is_no_signature_verifies_nothing() {
        let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"abcdef"}"#);
        for signature in ["", "..", "a.b.c", &format!("{none}.."), "!..!"] {
            assert!(!is_signed("payload", signature, TOKEN), "{signature}");
        }
    }
}
