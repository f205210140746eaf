//! Sends reviews to a gate with one of several fake hubs, and checks each response.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_review::{Answerer, FilesAnswerer, Finding, Gate, HubFiles, Requester, Webhook};
use berth_rules::{Answer, FeatureGates, Namespace, Question};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use json_patch::Patch;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// A fake hub, which answers the gate's questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FakeHub {
    /// The hub of `examples/hub`.
    Sample,
    /// Every user has every permission, and no object prevents a change.
    Open,
    /// No user has any permission, and objects prevent every change.
    Closed,
    /// No question is answered.
    Silent,
}

/// Maximum length of a message: 20 lines, each with a few truncated names.
const LONGEST_MESSAGE: usize = 64 * 1024;

static GATES: LazyLock<[Gate; 4]> = LazyLock::new(|| {
    let mut files = HubFiles::default();
    for (name, text) in [
        ("rbac.yaml", include_str!("../../../examples/hub/rbac.yaml")),
        (
            "state.yaml",
            include_str!("../../../examples/hub/state.yaml"),
        ),
    ] {
        files.add(name, text).expect("the sample hub is valid");
    }
    let gate = |answerer: Arc<dyn Answerer>| Gate::new(answerer, FeatureGates::default());
    [
        gate(Arc::new(FilesAnswerer::new(files))),
        gate(Arc::new(Constant(FakeHub::Open))),
        gate(Arc::new(Constant(FakeHub::Closed))),
        gate(Arc::new(Constant(FakeHub::Silent))),
    ]
});

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_time()
        .build()
        .expect("a runtime with a timer")
});

/// The time at which reviews are decided, not a whole second.
pub(crate) fn now() -> Timestamp {
    "2026-11-21T12:00:00.7Z".parse().expect("a time")
}

/// A response of the gate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) allowed: bool,
    pub(crate) code: u64,
    /// The reason of a refusal, as in metrics.
    pub(crate) reason: &'static str,
    pub(crate) patch: Patch,
    /// The whole response.
    pub(crate) json: Value,
}

/// Sends a review, and checks that the response is a well-formed AdmissionReview.
pub(crate) fn ask(hub: FakeHub, webhook: Webhook, body: &[u8], now: Timestamp) -> Said {
    let deadline = Instant::now() + Duration::from_secs(3600);
    let gate = &GATES[hub as usize];
    let verdict = RUNTIME.block_on(gate.examine(webhook, body, now, deadline));
    let json = verdict.to_json();
    let json: Value = serde_json::from_slice(&json).expect("an answer is JSON");
    let said = Said {
        allowed: json["response"]["allowed"] == true,
        code: json["response"]["status"]["code"].as_u64().unwrap_or(0),
        reason: verdict.reason(),
        patch: patch(&json["response"]),
        json,
    };
    is_well_formed(webhook, &said);
    said
}

/// Like [`ask`], for a review that is JSON: the response must have the review's uid and version, and a patch must apply.
pub(crate) fn ask_json(hub: FakeHub, webhook: Webhook, review: &Value, now: Timestamp) -> Said {
    let said = ask(hub, webhook, review.to_string().as_bytes(), now);
    if let Some(uid) = review["request"]["uid"].as_str() {
        assert_eq!(
            said.json["response"]["uid"], uid,
            "the response has the uid of the review"
        );
    }
    if let Some(version @ ("admission.k8s.io/v1" | "admission.k8s.io/v1beta1")) =
        review["apiVersion"].as_str()
    {
        assert_eq!(
            said.json["apiVersion"], version,
            "the response has the version of the review"
        );
    }
    if !said.patch.0.is_empty() {
        patched(&review["request"]["object"], &said.patch);
    }
    said
}

/// Returns the patched object.
pub(crate) fn patched(object: &Value, patch: &Patch) -> Value {
    let mut object = object.clone();
    json_patch::patch(&mut object, patch).expect("a patch applies to the object of its review");
    object
}

fn patch(response: &Value) -> Patch {
    assert_eq!(
        response.get("patch").is_some(),
        response.get("patchType").is_some(),
        "a response has a patchType if and only if it has a patch: {response}"
    );
    let Some(patch) = response.get("patch") else {
        return Patch::default();
    };
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = STANDARD.decode(patch.as_str().expect("a patch is a string"));
    let patch: Patch = serde_json::from_slice(&patch.expect("a patch is base64"))
        .expect("a patch is a JSON Patch");
    assert!(!patch.0.is_empty(), "a patch is not empty");
    patch
}

fn is_well_formed(webhook: Webhook, said: &Said) {
    let Said { json, code, .. } = said;
    let response = &json["response"];
    assert_eq!(json["kind"], "AdmissionReview");
    assert!(
        json["apiVersion"] == "admission.k8s.io/v1"
            || json["apiVersion"] == "admission.k8s.io/v1beta1",
        "{json}"
    );
    assert!(
        response["uid"].is_string() && response["allowed"].is_boolean(),
        "{json}"
    );
    let status = &response["status"];
    let message = status["message"].as_str().unwrap_or_default();
    if said.allowed {
        assert_eq!(*code, 200);
        assert_eq!(message, "", "an allowed change has no message");
    } else {
        let reason = match code {
            400 => "BadRequest",
            403 => "Forbidden",
            500 => "InternalError",
            _ => panic!("unexpected code: {json}"),
        };
        assert_eq!(status["reason"], reason);
        assert_eq!(status["status"], "Failure");
        assert!(!message.is_empty(), "a refusal has a message");
        assert!(said.patch.0.is_empty(), "a refused change is not patched");
        if *code == 500 {
            assert!(message.contains("this is not a denial"), "{message}");
            assert!(status["details"]["retryAfterSeconds"].is_u64(), "{json}");
        }
    }
    assert!(
        said.patch.0.is_empty() || webhook.mutates(),
        "only the mutating path patches"
    );
    let warnings = response["warnings"].as_array().cloned().unwrap_or_default();
    for text in warnings
        .iter()
        .filter_map(Value::as_str)
        .chain(message.lines())
    {
        assert!(
            !text.contains(char::is_control),
            "control characters are escaped: {text:?}"
        );
    }
    assert!(
        message.len() <= LONGEST_MESSAGE,
        "a message is too long: {} bytes",
        message.len()
    );
    assert!(warnings.len() <= 8, "warnings are few");
    let annotations = response["auditAnnotations"].as_object();
    assert!(
        annotations.is_some_and(|annotations| annotations.values().all(Value::is_string)),
        "audit annotations are strings: {json}"
    );
}

/// Answers every question in the same way.
#[derive(Debug)]
struct Constant(FakeHub);

impl Answerer for Constant {
    fn answer<'a>(&'a self, _: &'a Requester, question: &'a Question) -> BoxFuture<'a, Finding> {
        let good = matches!(
            question,
            Question::Permission(_) | Question::SetExists { .. }
        );
        let finding = match (self.0, question) {
            (FakeHub::Silent, _) => Finding::unknown("the hub is silent"),
            (hub, Question::Namespace { .. }) => Finding::found(Answer::Namespace(Namespace {
                terminating: hub == FakeHub::Closed,
                of_cluster: hub == FakeHub::Open,
            })),
            (FakeHub::Open, _) => Finding::sure(good),
            (_, Question::BindingsIn { .. }) => Finding {
                answer: Answer::Names(vec!["held".to_owned()]),
                because: None,
            },
            _ => Finding::sure(!good),
        };
        ready(finding).boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        ready(Ok(())).boxed()
    }
}
