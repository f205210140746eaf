//! Reviews directly to the gate.

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::{loadtest, report, repository};

fn recorded(name: &str) -> String {
    let path = repository("tests/data/reviews").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_mix_is_answered_whole_and_reported_by_kind() {
    let gate = Gate::start();
    let (url, ca) = (gate.url(), gate.ca());
    let pid = std::process::id().to_string();
    let mut args = vec!["--url", &url, "--ca", &ca, "--pid", &pid];
    let mix = "update=1,create=1,accept=1,move=1,bind=1";
    args.extend(["--expect", "allowed", "--mix", mix]);
    let (code, report, said) = report("2", &args);
    assert_eq!(code, 0, "{report:#} {said}");
    assert_eq!(said, "", "no terminal, no progress in so short a run");
    assert_eq!(report["failures"], json!({}));
    let reviews = report["calls"].as_u64().unwrap();
    assert!(reviews > 9, "{reviews}");
    let kinds = report["kinds"].as_array().unwrap();
    let of = |field: &str| -> Vec<&Value> { kinds.iter().map(|kind| &kind[field]).collect() };
    assert_eq!(of("kind"), ["update", "create", "accept", "move", "bind"]);
    for kind in kinds {
        assert!(kind["allowed"].as_u64().unwrap() > 0, "{kind}");
    }
    let memory = &report["server"]["memory_kib"];
    assert!(
        memory["peak"].as_u64() >= memory["before"].as_u64(),
        "{memory}"
    );
    assert!(report["server"]["cpu_seconds"].is_f64(), "{report:#}");
}

#[test]
fn a_verdict_that_was_not_expected_fails_by_its_kind() {
    let gate = Gate::start();
    let (url, ca) = (gate.url(), gate.ca());
    let args = [
        "--url",
        &url,
        "--ca",
        &ca,
        "--user",
        "bob=team-bob",
        "--mix",
        "update=1,bind=1",
    ];
    let (code, lenient, _) = report("1.5", &args);
    assert_eq!(code, 0, "{lenient:#}");
    assert!(lenient["verdicts"]["denied"].as_u64().unwrap() > 0);
    let expect = ["--expect", "update=allowed,bind=denied"];
    let (code, right, _) = report("1.5", &[&args[..], &expect].concat());
    assert_eq!(code, 0, "{right:#}");
    let (code, wrong, _) = report("1.5", &[&args[..], &["--expect", "allowed"]].concat());
    assert_eq!(code, 1);
    let failure = &wrong["failures"]["verdict"];
    assert!(failure["count"].as_u64().unwrap() > 0, "{wrong:#}");
    let words = failure["first"].as_str().unwrap();
    assert!(words.starts_with("denied, see --expect: {"), "{words}");
    assert_eq!(wrong["kinds"][0]["failed"], 0);
    assert_eq!(wrong["kinds"][1]["failed"], failure["count"]);
}

#[test]
fn recorded_reviews_go_where_they_belong() {
    let gate = Gate::start();
    let (url, ca) = (gate.url(), gate.ca());
    let folder = recorded("");
    let args = [
        "--url", &url, "--ca", &ca, "--body", &folder, "--expect", "any",
    ];
    let (code, report, _) = report("1.5", &args);
    assert_eq!(code, 0, "{report:#}");
    let sent = report["sent"].as_str().unwrap();
    assert!(sent.ends_with("other files)"), "{sent}");
    for verdict in ["allowed", "denied"] {
        assert!(
            report["verdicts"][verdict].as_u64().unwrap() > 0,
            "{verdict}"
        );
    }
}

#[test]
fn the_table_says_what_there_is_to_say() {
    let gate = Gate::start();
    let url = format!(
        "{}/validate-cluster-open-cluster-management-io-v1-managedcluster",
        gate.url()
    );
    let (ca, body) = (gate.ca(), recorded("update-unrelated-bob.validate.json"));
    let mut command = loadtest(
        "1.5",
        &["--url", &url, "--ca", &ca, "--body", &body, "--rate", "100"],
    );
    command.args(["--header", "Connection: close"]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        " s: a review of ",
        "/s that were due\n",
        "ms since due",
        "p99.9",
        "failures  none",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn what_goes_wrong_is_said_and_fails() {
    let gate = Gate::start();
    let (url, ca) = (gate.url(), gate.ca());
    let elsewhere = format!("{url}/elsewhere");
    let (code, report_, _) = report("1.5", &["--url", &elsewhere, "--ca", &ca]);
    assert_eq!(code, 1);
    let first = &report_["failures"]["status"]["first"];
    assert!(first.as_str().unwrap().contains("status 404"), "{first}");

    let other = Gate::start();
    let rows = [
        (["--url", &url, "--ca", &other.ca()], "TLS handshake"),
        (
            ["--url", "https://127.0.0.1:1", "--ca", &ca],
            "is the server running?",
        ),
        (
            ["--url", "http://127.0.0.1:1", "--ca", &ca],
            "not of the form https://",
        ),
        (
            ["--url", &url, "--ca", "/nowhere"],
            "cannot read --ca /nowhere",
        ),
    ];
    for (args, reason) in rows {
        let (code, _, said) = report("1.5", &args);
        assert_eq!(code, 1, "{args:?}");
        assert!(
            said.starts_with("Error: ") && said.contains(reason),
            "{said}"
        );
    }
}
