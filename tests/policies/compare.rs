//! Responses in a form that can be compared.

use berth_testkit::cluster::http::Answer;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::differences;
use crate::engine::Engine;
use crate::write::Write;

/// The time in seconds by which the clocks of two responses may differ.
const CLOSE: u64 = 5;

/// A response, without what differs between any two responses.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOutcome {
    pub code: u16,
    /// The author of a refusal.
    pub author: Author,
    /// The message of a refusal, without the words of the API server before it.
    pub message: String,
    /// The warnings, without the words of the API server before them.
    pub warnings: Vec<String>,
    /// The object as it would be stored.
    pub object: Value,
}

/// The author of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The write was admitted.
    None,
    /// The gate, or a policy.
    Engine,
    /// The API server itself, in its own words.
    ApiServer,
}

/// What is equal, and how.
#[derive(Debug)]
pub enum Comparison {
    /// Equal after the effects of these documented differences were removed.
    Equal(Vec<&'static str>),
    /// A difference that is not documented.
    Different(String),
}

impl WriteOutcome {
    /// The outcome of a response.
    pub fn of(answer: &Answer, engine: &Engine) -> Self {
        let is_admitted = answer.code < 300;
        let message = answer.body["message"].as_str().unwrap_or_default();
        let between = match engine {
            Engine::Gate => " denied the request: ",
            Engine::Policies | Engine::Mutant { .. } => " denied request: ",
        };
        let (author, message) = match message.split_once(between) {
            _ if is_admitted => (Author::None, ""),
            Some((_, message)) => (Author::Engine, message),
            None => (Author::ApiServer, message),
        };
        let warnings = answer.warnings.iter().map(|warning| {
            let words = warning.strip_prefix("Validation failed for ValidatingAdmissionPolicy ");
            let own = words.and_then(|words| words.split_once("': "));
            own.map_or(&**warning, |(_, own)| own).to_owned()
        });
        Self {
            code: answer.code,
            author,
            message: message.to_owned(),
            warnings: warnings.collect(),
            object: match is_admitted {
                true => comparable(answer.body.clone(), Timestamp::now()),
                false => Value::Null,
            },
        }
    }

    /// In short: `allow`, or the code of the gate; then `~` and the number of warnings.
    pub fn short(&self) -> String {
        let code = match (self.code, self.author) {
            (..300, _) => "allow".to_owned(),
            (code, Author::ApiServer) => format!("{code} by the API server"),
            (code, _) => code.to_string(),
        };
        match self.warnings.len() {
            0 => code,
            warnings => format!("{code} ~{warnings}"),
        }
    }
}

/// Compares the outcomes of a write.
pub fn compare(write: &Write, gate: &WriteOutcome, policies: &WriteOutcome) -> Comparison {
    let [mut ours, mut theirs] = [gate, policies].map(|outcome| with_known_name(write, outcome));
    let recognised: Vec<_> = differences::ALL
        .iter()
        .filter(|difference| (difference.remove)(write, &mut ours, &mut theirs))
        .map(|difference| difference.name)
        .collect();
    if ours == theirs {
        return Comparison::Equal(recognised);
    }
    Comparison::Different(format!(
        "{}recognised: {recognised:?}\nwrite: {}",
        difference(&ours, &theirs),
        write.replay()
    ))
}

/// Describes what differs.
pub fn difference(gate: &WriteOutcome, policies: &WriteOutcome) -> String {
    let mut text = String::new();
    for (whose, outcome) in [("gate", gate), ("policies", policies)] {
        let short = outcome.short();
        let WriteOutcome {
            message, warnings, ..
        } = outcome;
        text.push_str(&format!(
            "{whose}: {short}: {message:?}, warnings {warnings:?}\n"
        ));
    }
    let objects = json_patch::diff(&gate.object, &policies.object);
    if gate.code < 300 && policies.code < 300 && !objects.0.is_empty() {
        text.push_str(&format!("objects, as a patch: {}\n", json!(objects)));
    }
    text
}

/// The number of characters that the API server adds to a `generateName`.
const GENERATED: usize = 5;

/// The outcome with stars for the part of the name that the API server made up.
fn with_known_name(write: &Write, outcome: &WriteOutcome) -> WriteOutcome {
    let mut outcome = outcome.clone();
    let Some(prefix) = write.object["metadata"]["generateName"].as_str() else {
        return outcome;
    };
    let prefix = &prefix[..prefix.len().min(63 - GENERATED)];
    let known = |text: &str| {
        let mut known = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(prefix) {
            let (before, after) = rest.split_at(at + prefix.len());
            known.push_str(before);
            known.push_str("*****");
            rest = after.get(GENERATED..).unwrap_or_default();
        }
        known + rest
    };
    outcome.message = known(&outcome.message);
    outcome.warnings = outcome.warnings.iter().map(|text| known(text)).collect();
    if let Some(name) = outcome.object.pointer_mut("/metadata/name") {
        *name = known(name.as_str().unwrap()).into();
    }
    outcome
}

/// The object without what the API server makes up, and with `now` for times near now.
fn comparable(mut object: Value, now: Timestamp) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "creationTimestamp", "resourceVersion"] {
            metadata.remove(field);
        }
        let entries = metadata.get_mut("managedFields");
        if let Some(entries) = entries.and_then(Value::as_array_mut) {
            for entry in entries.iter_mut() {
                entry.as_object_mut().unwrap().remove("time");
            }
            // The API server sorts them by their times.
            entries.sort_by_key(Value::to_string);
        }
    }
    // The groups of the requester, one of which is the engine's.
    if object["kind"] == "CertificateSigningRequest" {
        object["spec"].as_object_mut().unwrap().remove("groups");
    }
    let taints = object["spec"]["taints"].as_array_mut();
    for taint in taints.into_iter().flatten() {
        let time = &mut taint["timeAdded"];
        let parsed = time
            .as_str()
            .and_then(|time| time.parse::<Timestamp>().ok());
        if parsed.is_some_and(|it| now.as_second().abs_diff(it.as_second()) <= CLOSE) {
            *time = "now".into();
        }
    }
    object
}
