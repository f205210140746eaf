//! Laws of agents' CSRs: another parser confirms each CSR that the hub accepts.

mod made_up;

pub use made_up::{agent, alternative_name, subject};

use berth_lifecycle_core::csrs::{reasons, validate};
use berth_lifecycle_core::facts::CertificateRequest;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::oid::db::rfc4519;
use x509_cert::der::oid::db::{rfc5280, rfc5912};
use x509_cert::der::{Decode, Encode, Tag, Tagged};
use x509_cert::request::CertReq;

/// The cluster of all requests.
const CLUSTER: &str = "c1";

/// Runs the laws on a CSR: PEM, DER that is encoded as PEM, or a subject and attributes that are signed with a valid key.
///
/// # Panics
/// A law is broken.
pub fn csr(bytes: &[u8]) {
    checked(bytes);
    checked(&made_up::pem(bytes));
    checked(&made_up::pem(&made_up::signed(bytes)));
}

fn checked(pem: &[u8]) {
    let agents = ["digital signature", "key encipherment", "client auth"];
    let request = |usages: &[&str]| CertificateRequest {
        cluster: CLUSTER.to_owned(),
        request: pem.to_vec(),
        usages: usages.iter().map(|&usage| usage.to_owned()).collect(),
        ..CertificateRequest::default()
    };
    for usages in [
        &[][..],
        &["digital signature"],
        &["client auth", "server auth"],
        &["client auth", "cert sign"],
        &["client auth", "Client Auth"],
    ] {
        let refused = validate(&request(usages)).map_err(|refusal| refusal.reason);
        assert_eq!(refused, Err(reasons::INVALID_USAGES), "{usages:?}");
    }
    let checked = validate(&request(&agents));
    assert_eq!(
        validate(&request(&["client auth"])),
        checked,
        "optional usages"
    );
    let common_name = match checked {
        Ok(common_name) => common_name,
        Err(refusal) => {
            let words = &refusal.words;
            assert!(
                !words.is_empty() && words.len() < 1024,
                "an event takes 1 KiB: {words}"
            );
            assert!(!words.contains(char::is_control), "{words:?}");
            return;
        }
    };
    let other = CertificateRequest {
        cluster: "c2".to_owned(),
        ..request(&agents)
    };
    assert!(validate(&other).is_err(), "it is one cluster's agent");
    is_an_agents(&common_name, &made_up::der(pem));
}

/// Parses the CSR with another parser.
fn is_an_agents(common_name: &str, der: &[u8]) {
    let request = CertReq::from_der(der).expect("another reader takes it, too");
    let agent = common_name.strip_prefix("system:open-cluster-management:c1:");
    assert!(
        agent.is_some_and(|agent| !agent.is_empty() && !agent.contains(':')),
        "{common_name}"
    );
    let (mut names, mut groups) = (Vec::new(), Vec::new());
    for attribute in request.info.subject.iter() {
        let value = text(attribute);
        if attribute.oid == rfc4519::CN {
            names.push(value);
        } else if attribute.oid == rfc4519::O {
            groups.push(value);
        } else {
            panic!("a name of another kind: {attribute}");
        }
    }
    assert_eq!(names, [common_name], "one common name, and the same");
    let own = "system:open-cluster-management:c1";
    let all = "system:open-cluster-management:managed-clusters";
    assert!(groups.iter().any(|group| group == own), "{groups:?}");
    assert!(
        groups.iter().all(|group| group == own || group == all),
        "{groups:?}"
    );

    // Extensions are in an attribute. The OID of alternative names must not occur anywhere in the CSR.
    let oid = rfc5280::ID_CE_SUBJECT_ALT_NAME.to_der().expect("an OID");
    assert!(
        !der.windows(oid.len()).any(|bytes| bytes == oid),
        "no alternative names"
    );
    for attribute in request.info.attributes.iter() {
        if attribute.oid == rfc5912::ID_EXTENSION_REQ {
            for extensions in attribute.values.iter() {
                let extensions = extensions.to_der().expect("it was decoded");
                assert!(!extensions.windows(oid.len()).any(|bytes| bytes == oid));
            }
        }
    }
}

fn text(attribute: &AttributeTypeAndValue) -> String {
    let value = attribute.value.value();
    if attribute.value.tag() == Tag::PrintableString {
        let printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(byte);
        assert!(value.iter().all(printable), "as it says: {value:?}");
    }
    String::from_utf8(value.to_vec()).expect("UTF-8 or printable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_signed_here_can_be_good() {
        let request = CertificateRequest {
            cluster: CLUSTER.to_owned(),
            request: made_up::pem(&made_up::signed(&agent())),
            usages: vec!["client auth".to_owned()],
            ..CertificateRequest::default()
        };
        let good = validate(&request);
        assert_eq!(
            good.as_deref(),
            Ok("system:open-cluster-management:c1:agent")
        );
    }
}
