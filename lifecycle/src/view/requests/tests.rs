use super::*;
use berth_lifecycle_core::csrs::SIGNER;
use berth_lifecycle_core::facts::CertificateRequest;

/// A valid CSR with annotations of this many bytes.
fn request(uid: &str, annotations: usize) -> CheckedRequest {
    let mut request = CertificateRequest {
        name: "csr1".to_owned(),
        cluster: "c1".to_owned(),
        signer: SIGNER.to_owned(),
        request: crate::GOOD_REQUEST.to_vec(),
        usages: vec!["client auth".to_owned()],
        username: "system:open-cluster-management:c1:a1".to_owned(),
        ..CertificateRequest::default()
    };
    request.metadata.uid = Some(uid.to_owned());
    let annotation = ("a".to_owned(), "x".repeat(annotations));
    request.metadata.annotations = Some([annotation].into());
    CheckedRequest::new(request).unwrap()
}

#[test]
fn a_small_one_is_kept_and_a_large_one_is_known_by_its_name() {
    let name: Arc<str> = "csr1".into();
    let mut requests = Requests::default();
    for (sentence, uid, annotations, is_kept, is_other) in [
        ("first", "u1", 10, true, false),
        ("the same, large", "u1", 60_000, false, false),
        ("another, large", "u2", 60_000, false, true),
        ("small again", "u2", 10, true, false),
    ] {
        let other = requests.insert(&name, request(uid, annotations));
        assert_eq!(other, is_other, "{sentence}");
        let got = requests.get(&name).unwrap();
        assert_eq!(got.is_some(), is_kept, "{sentence}");
        assert_eq!(requests.bytes > 0, is_kept, "{sentence}");
    }
    assert!(requests.bytes < LARGEST / 2, "{}", requests.bytes);
    assert_eq!(requests.remove(&name), Some(Some("u2".to_owned())));
    assert_eq!((requests.bytes, requests.get(&name)), (0, None));
}

#[test]
fn many_are_known_by_their_names_and_leave_room_when_they_go() {
    let mut requests = Requests::default();
    let count = ALL / 3000;
    let names: Vec<Arc<str>> = (0..2 * count).map(|it| it.to_string().into()).collect();
    let large = request("u", 2500);
    assert!(
        (2500..LARGEST).contains(&large.memory()),
        "{}",
        large.memory()
    );
    for name in &names {
        requests.insert(name, large.clone());
    }
    assert!((ALL - LARGEST..=ALL).contains(&requests.bytes));
    assert_eq!(requests.names().count(), names.len());
    let last = names.last().unwrap();
    assert_eq!(requests.get(last), Some(None));
    requests.remove(&names[0]);
    requests.insert(last, large);
    assert!(requests.get(last).unwrap().is_some());
    for name in &names {
        requests.remove(name);
    }
    assert_eq!(requests.bytes, 0);
}
