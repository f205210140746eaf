//! Exchanges over HTTP: what was asked, and what was said.
//!
//! ```text
//! POST /api/v1/namespaces/{ns}/configmaps
//! Accept: text/html
//!
//! {"apiVersion": "v1"}
//! = 406 NotAcceptable: only the following media types are accepted: …
//! GET /api/v1/namespaces/{ns}/configmaps/one
//! = 404 NotFound: configmaps "one" not found
//!   kind=configmaps name=one
//! ```
//!
//! An answer is its code with reason and message of the Status, in which ends of lines are `\n`, or with the kind of what came; then the Status's details and the
//! warnings, a line each. `[..]` and `{ns}` are as in transcripts of kubectl, and all is asked before it is judged.

use std::time::Duration;

use http::Request;
use kube::client::Body;
use serde_json::Value;

use crate::cluster::Person;
use crate::cluster::http::Answer;
use crate::desk::Desk;
use crate::transcript::matches;

/// How long an answer may take to its end, also on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);

impl Desk {
    /// Makes these exchanges as the admin.
    #[track_caller]
    pub fn exchanges(&self, text: &str) -> impl Future<Output = ()> {
        exchanges(&self.admin, text.replace("{ns}", &self.namespace))
    }

    /// Creates `base` with each of these changes, as a dry run. Each row has two lines: a merge patch, and the [`verdict`].
    #[track_caller]
    pub fn creates(&self, path: &str, base: &Value, rows: &str) -> impl Future<Output = ()> {
        self.verdicts("POST", "application/json", path, base, rows)
    }

    /// Makes each of these changes of a stored object, as a dry run. The rows are those of [`Desk::creates`].
    #[track_caller]
    pub fn changes(&self, path: &str, rows: &str) -> impl Future<Output = ()> {
        let merge = "application/merge-patch+json";
        self.verdicts("PATCH", merge, path, &Value::Null, rows)
    }

    #[track_caller]
    fn verdicts(
        &self,
        method: &str,
        content_type: &str,
        path: &str,
        base: &Value,
        rows: &str,
    ) -> impl Future<Output = ()> {
        let rows = rows.trim().replace("{ns}", &self.namespace);
        let mut asked = Vec::new();
        for row in rows.lines().collect::<Vec<_>>().chunks(2) {
            let mut body: Value = serde_json::from_str(row[0]).unwrap();
            if !base.is_null() {
                let patch = std::mem::replace(&mut body, base.clone());
                json_patch::merge(&mut body, &patch);
            }
            let head = format!("{method} {path}?dryRun=All");
            let lines = [head, format!("Content-Type: {content_type}"), String::new()];
            let lines = lines.into_iter().chain([body.to_string()]).collect();
            let expected = row[1].strip_prefix("= ").unwrap().to_owned();
            asked.push((lines, vec![expected]));
        }
        converse(&self.admin, asked, verdict)
    }
}

/// Makes these exchanges as a user.
#[track_caller]
pub fn exchanges(person: &Person, text: String) -> impl Future<Output = ()> {
    converse(person, parse(&text), said)
}

/// Sends requests, and compares all responses, as `tell` shows them, with what is expected.
#[track_caller]
fn converse(
    person: &Person,
    exchanges: Vec<(Vec<String>, Vec<String>)>,
    tell: fn(&Answer) -> String,
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let mut differences = String::new();
        for (index, (asked, expected)) in exchanges.into_iter().enumerate() {
            let answer = tokio::time::timeout(PATIENCE, person.request(request(&asked))).await;
            let said = match answer {
                Ok(Ok(answer)) => tell(&answer),
                Ok(Err(why)) => why,
                Err(_) => "no end".to_owned(),
            };
            let lines: Vec<&str> = said.lines().collect();
            if !matches(&expected, &lines) {
                differences += &format!(
                    "\nat request {}:\n{}\n--- expected\n{}\n+++ said\n{said}\n",
                    index + 1,
                    asked.join("\n"),
                    expected.join("\n"),
                );
            }
        }
        assert!(
            differences.is_empty(),
            "the exchange at {caller} differs:{differences}(end)"
        );
    }
}

/// `fine`, or what is invalid, or any other refusal with its code; and warnings.
fn verdict(answer: &Answer) -> String {
    let said = said(answer);
    let first = said.lines().next().unwrap_or_default();
    let mut verdict = match first.split_once(" is invalid: ") {
        Some((start, wrong)) if start.starts_with("422 ") => wrong.to_owned(),
        _ if answer.code < 300 => "fine".to_owned(),
        _ => first.to_owned(),
    };
    for warning in &answer.warnings {
        verdict += &format!("; warning: {warning}");
    }
    verdict
}

/// What was said, as exchanges show it.
pub fn said(answer: &Answer) -> String {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let body = &answer.body;
    let mut said = match (body["kind"].as_str(), body["status"].as_str()) {
        (Some("Status"), Some("Failure")) => {
            // Some have none.
            let reason = body["reason"].as_str().unwrap_or("(no reason)");
            let message = text(&body["message"]).replace('\n', "\\n");
            format!("{} {reason}: {message}", answer.code)
        }
        (Some(kind), _) => format!("{} {kind}", answer.code),
        (None, _) => format!("{} {}", answer.code, text(body)),
    };
    if let Some(details) = body["details"]
        .as_object()
        .filter(|details| !details.is_empty())
    {
        said += "\n ";
        for (name, value) in details {
            let value = match value {
                Value::Array(causes) => {
                    let cause = |cause: &Value| {
                        format!("{} {}", text(&cause["reason"]), text(&cause["field"]))
                    };
                    format!("{:?}", causes.iter().map(cause).collect::<Vec<_>>())
                }
                value => text(value),
            };
            said += &format!(" {name}={value}");
        }
    }
    for warning in &answer.warnings {
        said += &format!("\n  warning: {warning}");
    }
    said
}

/// Requests, as lines, with the lines of their answers.
fn parse(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut exchanges: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for line in text.trim_matches('\n').lines() {
        let answered = exchanges
            .last()
            .is_none_or(|(_, answer)| !answer.is_empty());
        match line.strip_prefix("= ") {
            Some(answer) => exchanges.last_mut().unwrap().1.push(answer.to_owned()),
            None if answered && line.starts_with("  ") => {
                exchanges.last_mut().unwrap().1.push(line.to_owned());
            }
            None if answered => exchanges.push((vec![line.to_owned()], Vec::new())),
            None => exchanges.last_mut().unwrap().0.push(line.to_owned()),
        }
    }
    exchanges
}

fn request(lines: &[String]) -> Request<Body> {
    let (method, path) = lines[0].split_once(' ').unwrap();
    let end = lines
        .iter()
        .position(String::is_empty)
        .unwrap_or(lines.len());
    let mut request = Request::builder().method(method).uri(path);
    for header in &lines[1..end] {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    let headers = request.headers_mut().unwrap();
    for (name, value) in [
        ("accept", "application/json"),
        ("content-type", "application/json"),
    ] {
        headers.entry(name).or_insert(value.parse().unwrap());
    }
    let body = lines.get(end + 1..).unwrap_or_default().join("\n");
    request.body(Body::from(body.into_bytes())).unwrap()
}
