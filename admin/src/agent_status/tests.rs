//! What each state of a cluster looks like on the screen.

use std::time::Duration;

use berth_agent_core::cluster::Cluster;
use berth_agent_core::held::SecretData;
use berth_certs::client::ClientKey;
use berth_certs::csr::{Csr, Usage};
use berth_certs::issue::Authority;
use serde_json::{Value, json};

use super::*;
use crate::agent_status::gather::Warning;

const HOUR: Duration = Duration::from_secs(3600);

fn now() -> Timestamp {
    "2026-08-11T12:00:00Z".parse().unwrap()
}

/// A hub Secret with a certificate of ten hours.
fn secret() -> SecretData {
    let asked = Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), None);
    let key = ClientKey::generate().unwrap();
    let request = berth_agent_core::request::body("n", &asked, &key).unwrap();
    let pem = request["spec"]["request"].as_str().unwrap();
    let pem = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, pem).unwrap();
    let authority = Authority::new("hub", 100 * HOUR, now()).unwrap();
    let csr = Csr::from_pem(&pem).unwrap();
    let chain = authority
        .sign(&csr, &[Usage::ClientAuth], 10 * HOUR, now())
        .unwrap();
    held::filled(
        &SecretData::new(),
        &asked,
        "",
        Some((chain.as_bytes(), &key)),
    )
}

fn cluster(
    accepted: bool,
    conditions: &[(&str, &str)],
) -> Result<Option<Cluster>, crate::failure::CommandError> {
    let condition = |(type_, status): &(&str, &str)| {
        json!({
            "type": type_, "status": status, "reason": "R", "message": "why", "lastTransitionTime": "2026-08-11T10:00:00Z",
        })
    };
    let conditions: Vec<Value> = conditions.iter().map(condition).collect();
    Ok(Some(Cluster::read(&json!({
        "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": accepted}, "status": {"conditions": conditions},
    }))))
}

fn facts() -> Facts {
    Facts {
        namespace: "ns".to_owned(),
        stopped: None,
        has_bootstrap: true,
        secret: None,
        warning: None,
        hub: None,
        works: Ok(Vec::new()),
    }
}

fn seen(cluster: Result<Option<Cluster>, crate::failure::CommandError>) -> Facts {
    Facts {
        secret: Some(secret()),
        hub: Some(HubView {
            server: "https://hub:6443".to_owned(),
            cluster,
            renewed: Some("2026-08-11T11:59:30Z".parse().unwrap()),
        }),
        ..facts()
    }
}

fn unauthorized() -> crate::failure::CommandError {
    let status = kube::core::response::Status {
        code: 401,
        ..Default::default()
    };
    crate::failure::CommandError::Api(Box::new(status))
}

#[test]
fn each_state_names_its_remedy() {
    let refused = crate::failure::CommandError::Refused("no route".to_owned());
    let warning = Warning {
        reason: "CSRPending".to_owned(),
        note: "on the hub, run `berth accept c1`".to_owned(),
        at: Some("2026-08-11T11:55:00Z".parse().unwrap()),
    };
    let all = [
        (cluster::HUB_ACCEPTED, TRUE),
        (cluster::JOINED, TRUE),
        (cluster::AVAILABLE, TRUE),
    ];
    let unknown = [all[0], all[1], (cluster::AVAILABLE, UNKNOWN)];
    let down = [all[0], all[1], (cluster::AVAILABLE, FALSE)];
    for (sentence, facts, managed, remedy) in [
        (
            "never joined",
            Facts {
                has_bootstrap: false,
                ..facts()
            },
            false,
            "run `berth get token`",
        ),
        (
            "it does not run",
            Facts {
                stopped: Some("pod a: ErrImagePull".to_owned()),
                ..facts()
            },
            false,
            "pod a: ErrImagePull",
        ),
        (
            "it waits, and its bootstrap kubeconfig is elsewhere",
            Facts {
                has_bootstrap: false,
                warning: Some(warning.clone()),
                ..facts()
            },
            false,
            "berth accept c1",
        ),
        (
            "it waits",
            Facts {
                warning: Some(warning.clone()),
                ..facts()
            },
            false,
            "berth accept c1",
        ),
        (
            "managed",
            Facts {
                warning: Some(warning.clone()),
                ..seen(cluster(true, &all))
            },
            true,
            "",
        ),
        (
            "its certificate is refused, and it asks for another",
            Facts {
                warning: Some(warning),
                ..seen(Err(unauthorized()))
            },
            false,
            "berth accept c1",
        ),
        (
            "its certificate is refused",
            seen(Err(unauthorized())),
            false,
            "the hub refuses the certificate",
        ),
        (
            "denied",
            seen(cluster(false, &all[1..])),
            false,
            "does not accept ManagedCluster c1",
        ),
        (
            "deleted",
            seen(Ok(None)),
            false,
            "does not exist on the hub",
        ),
        (
            "away",
            seen(Err(refused)),
            false,
            "the hub does not answer: no route",
        ),
        (
            "silent",
            seen(cluster(true, &unknown)),
            false,
            "check that it runs",
        ),
        (
            "its API server is down",
            seen(cluster(true, &down)),
            false,
            "check the API server of this cluster: why",
        ),
    ] {
        let report = Report::of(&facts, now());
        assert_eq!(report.is_managed, managed, "{sentence}: {report:?}");
        let shown = report.remedy.clone().unwrap_or_default();
        assert!(shown.contains(remedy), "{sentence}: {report:?}");
        assert_eq!(report.remedy.is_none(), managed, "{sentence}");
    }
}

#[test]
fn the_screen_of_a_managed_cluster() {
    let all = [
        (cluster::HUB_ACCEPTED, TRUE),
        (cluster::JOINED, TRUE),
        (cluster::AVAILABLE, TRUE),
    ];
    let report = Report::of(&seen(cluster(true, &all)), now());
    let rows: Vec<_> = report
        .rows(now())
        .map(|(what, text)| format!("{what}: {text}"))
        .collect();
    assert_eq!(
        rows[..3],
        [
            "Cluster: c1, agent a1",
            "Hub: https://hub:6443",
            "Agent: runs"
        ]
    );
    assert!(
        rows[3].starts_with("Certificate: valid until 2026-08-11T22:00:00Z, renewed in 7h"),
        "{}",
        rows[3]
    );
    assert_eq!(
        rows[4..],
        ["Hub says: accepted, joined, available; Lease renewed 30s ago"]
    );
}

#[test]
fn a_secret_that_cannot_be_used_says_why() {
    let broken = |key: &str, value: &[u8]| {
        let mut data = secret();
        data.insert(key.to_owned(), value.to_vec());
        Facts {
            secret: Some(data),
            ..facts()
        }
    };
    for (facts, words) in [
        (facts(), "there is none yet"),
        (broken(held::CERTIFICATE, b"x"), "cannot be read"),
        (
            broken(held::AGENT_NAME, b"other"),
            "is for another cluster or agent",
        ),
        (broken(held::CLUSTER_NAME, b""), "cannot be judged"),
    ] {
        let report = Report::of(&facts, now());
        assert!(report.certificate.contains(words), "{report:?}");
    }
}

#[test]
fn held_works_are_shown_with_age_and_field_manager() {
    use crate::work::applied::AppliedWork;

    let work = |name: &str, hold: Option<Hold>| AppliedWork {
        name: format!("hash-{name}"),
        work: name.to_owned(),
        hold,
    };
    let known = Hold {
        value: "changes".to_owned(),
        since: Some("2026-08-11T11:55:00Z".parse().unwrap()),
        by: Some("berth".to_owned()),
    };
    let unknown = Hold {
        value: "x".repeat(1000),
        since: None,
        by: None,
    };
    let works = vec![
        work("web", Some(known)),
        work("free", None),
        work("db", Some(unknown.clone())),
    ];
    let held = |works| {
        let facts = Facts { works, ..facts() };
        let report = Report::of(&facts, now());
        let rows: Vec<_> = report.rows(now()).collect();
        let first = rows.iter().position(|(what, _)| *what == "Held works");
        first.map_or(Vec::new(), |it| rows[it..].to_vec())
    };
    let rows = held(Ok(works));
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        rows[0].1,
        "web (changes, 5m ago, by field manager berth), appliedmanifestwork/hash-web"
    );
    assert!(
        rows[1].0.is_empty() && rows[1].1.starts_with("db (xxx"),
        "{rows:?}"
    );
    assert!(rows[1].1.len() < 200, "{rows:?}");
    assert_eq!(held(Ok(vec![work("free", None)])), []);
    let many = (0..SHOWN + 3).map(|it| work(&it.to_string(), Some(unknown.clone())));
    let rows = held(Ok(many.collect()));
    assert_eq!(rows.len(), SHOWN + 1);
    assert_eq!(rows[SHOWN].1, "and 3 more: -o yaml shows all");
    let refused = crate::failure::CommandError::Refused("forbidden".to_owned());
    assert_eq!(
        held(Err(refused)),
        [("Held works", "not known: forbidden".to_owned())]
    );
}
