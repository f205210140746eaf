//! What is read and kept of a CSR.

use super::*;

#[test]
fn little_is_kept_of_a_request_that_cannot_be_approved() {
    let size = |request: &CertificateRequest| format!("{request:?}").len();
    let much = "x".repeat(10_000);
    let mut large = renewal([good_pem(), vec![b'\n'; 10_000]].concat());
    large.metadata.annotations = Some([("much".to_owned(), much.clone())].into());
    large.metadata.finalizers = Some(vec![much]);
    let approvable = CheckedRequest::new(large.clone()).unwrap();
    assert_eq!(approvable.request().metadata, large.metadata);
    assert_eq!(approvable.request().request, [] as [u8; 0]);
    let (mut invalid, mut foreign, mut other) = (large.clone(), large.clone(), large);
    invalid.request.push(b'x');
    foreign.username = "system:open-cluster-management:c2:a1".to_owned();
    for hostile in [invalid, foreign] {
        let kept = CheckedRequest::new(hostile).unwrap();
        assert!(size(kept.request()) < 2_000, "{kept:?}");
        let metadata = &kept.request().metadata;
        assert_eq!(metadata.uid.as_deref(), Some("u1"));
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
    }
    other.signer = "example.com/signer".to_owned();
    assert_eq!(CheckedRequest::new(other), None);
}

#[test]
fn only_requests_with_the_label_are_looked_at_and_refused_ones_are_told_from_approved_ones() {
    let condition = |type_: &str| CertificateSigningRequestStatus {
        conditions: Some(vec![CertificateSigningRequestCondition {
            type_: type_.to_owned(),
            status: "True".to_owned(),
            ..CertificateSigningRequestCondition::default()
        }]),
        certificate: None,
    };
    let issued = CertificateSigningRequestStatus {
        conditions: None,
        certificate: Some(ByteString(b"x".to_vec())),
    };
    let label = BTreeMap::from([(berth_api::labels::CLUSTER_NAME.to_owned(), "c1".to_owned())]);
    let now = Time("2026-01-01T00:00:00Z".parse().unwrap());
    for (sentence, labels, status, deleted, standing) in [
        (
            "a new one",
            Some(label.clone()),
            None,
            None,
            Some(Standing::Pending),
        ),
        (
            "one with a condition of somebody else",
            Some(label.clone()),
            Some(condition("Seen")),
            None,
            Some(Standing::Pending),
        ),
        (
            "an approved one",
            Some(label.clone()),
            Some(condition("Approved")),
            None,
            Some(Standing::Approved),
        ),
        (
            "a denied one",
            Some(label.clone()),
            Some(condition("Denied")),
            None,
            Some(Standing::Refused),
        ),
        (
            "a failed one",
            Some(label.clone()),
            Some(condition("Failed")),
            None,
            Some(Standing::Refused),
        ),
        (
            "an issued one",
            Some(label.clone()),
            Some(issued),
            None,
            Some(Standing::Approved),
        ),
        ("a deleted one", Some(label), None, Some(now), None),
        ("one without labels", None, None, None, None),
        (
            "one without the label",
            Some(BTreeMap::new()),
            None,
            None,
            None,
        ),
    ] {
        let request = CertificateRequest::read(CertificateSigningRequest {
            metadata: ObjectMeta {
                name: Some("x".to_owned()),
                labels,
                deletion_timestamp: deleted,
                ..ObjectMeta::default()
            },
            status,
            ..CertificateSigningRequest::default()
        });
        assert_eq!(
            request.map(|(_, standing)| standing),
            standing,
            "{sentence}"
        );
    }
}
