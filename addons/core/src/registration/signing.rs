//! Signs approved requests with the certificate authority that a template names.

use std::time::Duration;

use berth_api::certificate_request::{CertificateRequest, target};
use berth_api::plan::{Action, Write};
use berth_certs::csr::{Csr, Usage};
use berth_certs::issue::Authority;
use berth_certs::pem::PemFile;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;

use super::REQUESTS;

/// The validity of a certificate, as with OCM. It ends with the authority, if that is earlier.
const VALIDITY: Duration = Duration::from_secs(24 * 3600);

/// The certificate is for a client only. OCM's is for a server, too.
const USAGES: [Usage; 3] = [
    Usage::DigitalSignature,
    Usage::KeyEncipherment,
    Usage::ClientAuth,
];

/// Returns the write that issues the certificate. The request must have been judged. `ca`: the Secret of the authority, called `name` in
/// texts.
///
/// # Errors
/// The authority cannot sign; the text is for users, names the Secret and has no key.
pub fn sign(
    request: &CertificateRequest,
    ca: &Secret,
    name: &str,
    now: Timestamp,
) -> Result<Write, String> {
    let of = |key: &str| {
        let data = ca.data.as_ref().and_then(|it| it.get(key));
        let content = data.ok_or_else(|| format!("{name} has no key {key}"))?;
        Ok::<_, String>(PemFile {
            name: format!("{name}, {key}"),
            content: content.0.clone(),
        })
    };
    let authority = Authority::from_pem(&of("tls.crt")?, &of("tls.key")?);
    let authority = authority.map_err(|it| it.to_string())?;
    if now < authority.not_before() {
        let since = authority.not_before();
        return Err(format!("{name}: the authority is not valid before {since}"));
    }
    let csr = Csr::from_pem(&request.request).map_err(|it| it.to_string())?;
    let certificate = authority
        .sign(&csr, &USAGES, VALIDITY, now)
        .map_err(|it| format!("{name}: {it}"))?;
    Ok(Write {
        target: target(&request.name),
        action: Action::Replace {
            subresource: Some("status"),
            body: request.issued(&certificate),
        },
        reconciler: REQUESTS,
        events: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use berth_certs::client::{ClientKey, Wanted};
    use k8s_openapi::ByteString;

    use super::*;

    fn secret(authority: &Authority) -> Secret {
        let of = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = [
            ("tls.crt", authority.certificate_pem().to_owned()),
            ("tls.key", authority.key_pem()),
        ];
        Secret {
            data: Some(data.map(|(key, it)| (key.to_owned(), of(&it))).into()),
            ..Secret::default()
        }
    }

    fn request() -> CertificateRequest {
        let wanted = Wanted {
            common_name: "u",
            organizations: &["g"],
            units: &["o"],
            dns_names: &[],
        };
        let pem = ClientKey::generate().unwrap().request(&wanted).unwrap();
        CertificateRequest {
            name: "addon-1".to_owned(),
            request: pem.into_bytes(),
            ..CertificateRequest::default()
        }
    }

    #[test]
    fn an_authority_that_cannot_sign_is_named_with_what_is_wrong() {
        let now = Timestamp::now();
        let day = Duration::from_secs(24 * 3600);
        let good = Authority::new("ca", 2 * day, now).unwrap();
        let other = Authority::new("other", 2 * day, now).unwrap();
        let changed = |key: &str, to: Option<&str>| {
            let mut secret = secret(&good);
            let data = secret.data.get_or_insert_default();
            match to {
                Some(to) => data.insert(key.to_owned(), ByteString(to.as_bytes().to_vec())),
                None => data.remove(key),
            };
            secret
        };
        let expired = now + 10 * day;
        let early = now - 10 * day;
        for (sentence, secret, at, expected) in [
            (
                "no data",
                Secret::default(),
                now,
                "Secret n/ca has no key tls.crt",
            ),
            (
                "no key",
                changed("tls.key", None),
                now,
                "Secret n/ca has no key tls.key",
            ),
            (
                "broken",
                changed("tls.crt", Some("x")),
                now,
                "Secret n/ca, tls.crt: the file holds no PEM certificate",
            ),
            (
                "another's key",
                changed("tls.key", Some(&other.key_pem())),
                now,
                "Secret n/ca, tls.key: the private key does not match",
            ),
            (
                "expired",
                secret(&good),
                expired,
                "Secret n/ca: certificate authority \"ca\" expired",
            ),
            (
                "not yet valid",
                secret(&good),
                early,
                "Secret n/ca: the authority is not valid before",
            ),
        ] {
            let error = sign(&request(), &secret, "Secret n/ca", at).unwrap_err();
            assert!(error.starts_with(expected), "{sentence}: {error}");
        }
        let write = sign(&request(), &secret(&good), "Secret n/ca", now).unwrap();
        let Action::Replace { subresource, body } = write.action else {
            panic!("the status is replaced");
        };
        assert_eq!(subresource, Some("status"));
        assert!(body["status"]["certificate"].is_string(), "{body}");
    }
}
