//! Two gates in alternating runs.

use crate::gate::Gate;
use crate::{loadtest, report};

#[test]
fn two_targets_take_turns_and_are_compared_by_medians() {
    let (one, two) = (Gate::start(), Gate::start());
    let (url, other, ca, other_ca) = (one.url(), two.url(), one.ca(), two.ca());
    let pid = std::process::id().to_string();
    let mut args = vec!["--url", &url, "--ca", &ca, "--pid", &pid, "--name", "one"];
    args.extend([
        "--against",
        &other,
        "--against-ca",
        &other_ca,
        "--against-name",
        "two",
    ]);
    args.extend(["--against-pid", &pid, "--rounds", "2"]);
    let (code, found, said) = report("2", &args);
    assert_eq!(code, 0, "{found:#} {said}");
    assert_eq!(found["names"], serde_json::json!(["one", "two"]));
    for side in 0..2 {
        assert_eq!(found["runs"][side].as_array().unwrap().len(), 2);
    }
    for figure in found["figures"].as_array().unwrap() {
        let [one, two] = [0, 1].map(|side| figure["medians"][side].as_f64());
        // On a busy machine a run can end before its CPU time is measurable.
        if figure["figure"] == "reviews per CPU second" && figure["ratio"].is_null() {
            continue;
        }
        let ratio = one.unwrap() / two.unwrap();
        let found = figure["ratio"].as_f64().unwrap();
        assert!((found / ratio - 1.0).abs() < 1e-9, "{figure}");
    }
    assert_eq!(found["failures"], serde_json::json!([0, 0]));
}

#[test]
fn what_fails_on_one_side_fails_the_comparison() {
    let one = Gate::start();
    let (url, ca) = (one.url(), one.ca());
    let other = format!("{url}/elsewhere");
    let args = [
        "--url",
        &url,
        "--ca",
        &ca,
        "--against",
        &other,
        "--rounds",
        "1",
    ];
    let output = loadtest("1.5", &args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    let line = text
        .lines()
        .find(|line| line.starts_with("failed calls"))
        .unwrap();
    let counts: Vec<&str> = line.split_whitespace().skip(2).collect();
    assert_eq!(counts[0], "0", "{text}");
    assert_ne!(counts[1], "0", "{text}");
    assert!(
        text.contains("with a wrong status; the first: status 404"),
        "{text}"
    );
}
