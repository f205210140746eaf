//! CSRs.

use super::*;

#[test]
fn only_a_good_request_that_nobody_refused_vouches_for_its_cluster() {
    let config = Config {
        gates: berth_lifecycle_core::config::Gates {
            auto_approval: true,
            ..Default::default()
        },
        auto_approved_users: ["listed".to_owned()].into(),
        ..Config::default()
    };
    let condition = |type_: &str| json!({"conditions": [{"type": type_, "status": "True"}]});
    let signer = berth_lifecycle_core::csrs::SIGNER;
    let good = crate::GOOD_REQUEST.to_vec();
    for (sentence, user, signer, pem, status, trusted) in [
        ("a new one", "listed", signer, &*good, json!(null), true),
        (
            "an approved one",
            "listed",
            signer,
            &*good,
            condition("Approved"),
            true,
        ),
        (
            "a denied one",
            "listed",
            signer,
            &*good,
            condition("Denied"),
            false,
        ),
        (
            "a failed one",
            "listed",
            signer,
            &*good,
            condition("Failed"),
            false,
        ),
        (
            "another user's",
            "other",
            signer,
            &*good,
            json!(null),
            false,
        ),
        (
            "one to another signer",
            "listed",
            "example.com/s",
            &*good,
            json!(null),
            false,
        ),
        ("an invalid one", "listed", signer, b"x", json!(null), false),
    ] {
        let mut view = Seeing::new(config.clone());
        view.apply(
            Kind::Cluster,
            &cluster("c1", 1, json!({})),
            Source::Watch,
            now(),
        );
        let request = |version: u64, status: &Value| {
            object(json!({
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {
                    "name": "csr1",
                    "resourceVersion": version.to_string(),
                    "labels": {"open-cluster-management.io/cluster-name": "c1"},
                },
                "spec": {
                    "request": k8s_openapi::ByteString(pem.to_vec()),
                    "signerName": signer,
                    "username": user,
                    "usages": ["client auth"],
                },
                "status": status,
            }))
        };
        view.apply(Kind::Csr, &request(2, &status), Source::Watch, now());
        let is_trusted = |view: &View| view.with_cluster("c1", None, |facts| facts.trusted_request);
        assert_eq!(is_trusted(&view), Some(trusted), "{sentence}");
        // A later denial by an admin counts.
        view.apply(
            Kind::Csr,
            &request(3, &condition("Denied")),
            Source::Watch,
            now(),
        );
        assert_eq!(is_trusted(&view), Some(false), "{sentence}");
    }
}

#[test]
fn a_change_of_a_cluster_concerns_its_pending_requests_and_no_others() {
    let (mut view, now) = (view(), now());
    let pem = crate::GOOD_REQUEST.to_vec();
    let request = |name: &str, of: &str, version: u64, status: Value| {
        object(json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": name, "resourceVersion": version.to_string(),
                "labels": {"open-cluster-management.io/cluster-name": of},
            },
            "spec": {
                "request": k8s_openapi::ByteString(pem.to_vec()),
                "signerName": berth_lifecycle_core::csrs::SIGNER,
                "username": "somebody",
                "usages": ["client auth"],
            },
            "status": status,
        }))
    };
    let approved = json!({"conditions": [{"type": "Approved", "status": "True"}]});
    for (version, name, of) in [(1, "own", "c1"), (2, "second", "c1"), (3, "foreign", "c2")] {
        let request = request(name, of, version, json!(null));
        view.apply(Kind::Csr, &request, Source::Watch, now);
    }
    let concerned = |view: &mut Seeing, version: u64| {
        view.wakes();
        let accepts = json!({"hubAcceptsClient": version.is_multiple_of(2)});
        let object = cluster("c1", version, accepts);
        view.apply(Kind::Cluster, &object, Source::Watch, now);
        let keys = view.wakes().into_iter();
        let names = keys.filter_map(|key| match key {
            Key::Csr(name) => Some(name.to_string()),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(concerned(&mut view, 4), ["own", "second"]);
    let decided = request("own", "c1", 5, approved);
    view.apply(Kind::Csr, &decided, Source::Watch, now);
    assert_eq!(concerned(&mut view, 6 + 1), ["second"]);
    let gone = request("second", "c1", 8, json!(null));
    view.gone(Kind::Csr, &gone, Source::Watch);
    assert_eq!(concerned(&mut view, 10), [] as [&str; 0]);
}
