//! Bodies that are not AdmissionReviews, and malformed reviews.

use berth_review::Webhook;
use berth_webhooks::shipped;
use serde_json::{Value, json};

use berth_testkit::reviews::{self, PATH, UID, text, with, with_object};
use berth_testkit::{Gate, response};

/// No message is longer, whatever is sent. (The API server prints it on a terminal.)
const LONGEST_MESSAGE: usize = 4096;

/// What is sent, and how it is answered.
struct Row {
    sentence: &'static str,
    body: Vec<u8>,
    /// How the message begins; how it ends, too, unless there is a `…` at its end.
    message: &'static str,
    /// What of the review can be read, and is in the answer.
    saved: Saved,
}

#[derive(Clone, Copy, PartialEq)]
enum Saved {
    Nothing,
    Version,
    Uid,
}
use Saved::{Nothing, Uid, Version};

fn row(
    sentence: &'static str,
    body: impl Into<Vec<u8>>,
    saved: Saved,
    message: &'static str,
) -> Row {
    let body = body.into();
    Row {
        sentence,
        body,
        message,
        saved,
    }
}

/// The whole review changed, not only its request.
fn review(change: impl FnOnce(&mut Value)) -> String {
    let mut review = serde_json::from_str(&text()).unwrap();
    change(&mut review);
    review.to_string()
}

/// The text of the review with another text in it.
fn replaced(from: &str, to: &str) -> String {
    let text = text();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// All of these are answered with 400 `BadRequest`, for the reason `undecodable`.
fn no_reviews() -> Vec<Row> {
    let accepted = r#""hubAcceptsClient": true"#;
    let deep_taints = format!(r#"{accepted}, "taints": {}"#, nested(100_000));
    let not_utf8 = |from: &str| {
        let (before, after) = text()
            .split_once(from)
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        let quoted = from.trim_end_matches('"');
        [
            before.as_bytes(),
            quoted.as_bytes(),
            b"\xff\"",
            after.as_bytes(),
        ]
        .concat()
    };
    vec![
        row("nothing", "", Nothing, "request body is empty"),
        row(
            "only blanks",
            " \n",
            Nothing,
            "cannot decode the AdmissionReview: EOF while parsing a value…",
        ),
        row(
            "no JSON",
            "k8s\0 protobuf",
            Nothing,
            r#"cannot decode the AdmissionReview: expected a JSON object, the body begins with "k""#,
        ),
        row(
            "bytes",
            b"\x16\x03\x01".to_vec(),
            Nothing,
            r#"cannot decode the AdmissionReview: expected a JSON object, the body begins with "\\x16""#,
        ),
        row(
            "a list, even of a review's parts",
            review(|review| {
                *review = json!(["AdmissionReview", review["apiVersion"], review["request"]])
            }),
            Nothing,
            r#"cannot decode the AdmissionReview: expected a JSON object, the body begins with "[""#,
        ),
        row(
            "null",
            "null",
            Nothing,
            r#"cannot decode the AdmissionReview: expected a JSON object, the body begins with "n""#,
        ),
        row(
            "an object of no kind",
            "{}",
            Nothing,
            r#"kind is "", expected "AdmissionReview""#,
        ),
        row(
            "a review of another kind",
            review(|review| review["kind"] = "ConversionReview".into()),
            Uid,
            r#"kind is "ConversionReview", expected "AdmissionReview""#,
        ),
        row(
            "half a review",
            text()[..2000].to_owned(),
            Uid,
            "cannot decode the AdmissionReview: request.object.metadata.managedFields[2]: EOF while parsing…",
        ),
        row(
            "a review and more",
            format!("{}x", text()),
            Uid,
            "cannot decode the AdmissionReview: trailing characters…",
        ),
        row(
            "no request",
            review(|review| drop(review.as_object_mut().unwrap().remove("request"))),
            Version,
            "the AdmissionReview has no request",
        ),
        row(
            "request is null",
            review(|review| review["request"] = Value::Null),
            Version,
            "the AdmissionReview has no request",
        ),
        row(
            "request is a string",
            review(|review| review["request"] = "x".into()),
            Version,
            "cannot decode the AdmissionReview: request: invalid type: string \"x\", expected an object…",
        ),
        row(
            "no uid",
            with(|request| drop(request.as_object_mut().unwrap().remove("uid"))),
            Version,
            "request.uid is missing",
        ),
        row(
            "an empty uid",
            with(|request| request["uid"] = "".into()),
            Version,
            "request.uid is missing",
        ),
        row(
            "a number for a uid",
            with(|request| request["uid"] = 7.into()),
            Version,
            "cannot decode the AdmissionReview: request.uid: invalid type: integer `7`, expected a string…",
        ),
        row(
            "no object",
            with(|request| drop(request.as_object_mut().unwrap().remove("object"))),
            Uid,
            "request.object is missing, UPDATE needs it",
        ),
        row(
            "object is null",
            with(|request| request["object"] = Value::Null),
            Uid,
            "request.object is missing, UPDATE needs it",
        ),
        row(
            "oldObject is null",
            with(|request| request["oldObject"] = Value::Null),
            Uid,
            "request.oldObject is missing, UPDATE needs it",
        ),
        row(
            "a CREATE without an object",
            with(|request| {
                request["operation"] = "CREATE".into();
                request["object"] = Value::Null;
            }),
            Uid,
            "request.object is missing, CREATE needs it",
        ),
        row(
            "an object of another kind",
            with_object(|object| object["kind"] = "ManagedClusterSet".into()),
            Uid,
            r#"request.object has kind "ManagedClusterSet" and apiVersion "cluster.open-cluster-management.io/v1", expected "ManagedCluster" and "cluster.open-cluster-management.io/v1""#,
        ),
        row(
            "an old object of another version",
            with(|request| {
                request["oldObject"]["apiVersion"] =
                    "cluster.open-cluster-management.io/v1beta1".into()
            }),
            Uid,
            r#"request.oldObject has kind "ManagedCluster" and apiVersion "cluster.open-cluster-management.io/v1beta1", expected…"#,
        ),
        row(
            "an object that is a string",
            with(|request| request["object"] = "x".into()),
            Uid,
            "cannot decode the AdmissionReview: request.object: invalid type: string \"x\", expected an object…",
        ),
        row(
            "a resource that the path does not serve",
            with(|request| request["resource"]["resource"] = "managedclustersets".into()),
            Uid,
            "request.resource is \"managedclustersets\" in group \"cluster.open-cluster-management.io\", but \
             /validate-cluster-open-cluster-management-io-v1-managedcluster serves managedclusters in group \
             cluster.open-cluster-management.io: check the webhook registration",
        ),
        row(
            "a subresource",
            with(|request| request["subResource"] = "status".into()),
            Uid,
            "request.resource is \"managedclusters/status\" in group…",
        ),
        row(
            "a version that the path does not serve",
            with(|request| request["resource"]["version"] = "v2".into()),
            Uid,
            "version \"v2\" of managedclusters is not known, expected \"v1\"",
        ),
        row(
            "an unknown operation",
            with(|request| request["operation"] = "PATCH".into()),
            Uid,
            r#"unknown operation "PATCH""#,
        ),
        row(
            "CONNECT",
            with(|request| request["operation"] = "CONNECT".into()),
            Uid,
            r#"unknown operation "CONNECT""#,
        ),
        row(
            "no operation",
            with(|request| drop(request.as_object_mut().unwrap().remove("operation"))),
            Uid,
            r#"unknown operation """#,
        ),
        row(
            "no user",
            with(|request| drop(request.as_object_mut().unwrap().remove("userInfo"))),
            Uid,
            "request.userInfo.username is missing",
        ),
        row(
            "a user without a name",
            with(|request| {
                drop(
                    request["userInfo"]
                        .as_object_mut()
                        .unwrap()
                        .remove("username"),
                )
            }),
            Uid,
            "request.userInfo.username is missing",
        ),
        row(
            "a user with an empty name",
            with(|request| request["userInfo"]["username"] = "".into()),
            Uid,
            "request.userInfo.username is missing",
        ),
        row(
            "a user that is null",
            with(|request| request["userInfo"] = Value::Null),
            Uid,
            "cannot decode the AdmissionReview: request.userInfo: invalid type: null, expected an object…",
        ),
        row(
            "groups of a wrong type, where they matter",
            asking_with(|user| user["groups"] = 7.into()),
            Uid,
            "request.userInfo.groups: invalid type: integer `7`, expected a sequence…",
        ),
        row(
            "one group of a wrong type",
            asking_with(|user| user["groups"] = json!(["a", null])),
            Uid,
            "request.userInfo.groups: invalid type: null, expected a string…",
        ),
        row(
            "extra of a wrong type",
            asking_with(|user| user["extra"] = json!({"scopes": "all"})),
            Uid,
            "request.userInfo.extra: invalid type: string \"all\", expected a sequence…",
        ),
        row(
            "a label that is no string",
            with_object(|object| object["metadata"]["labels"]["zone"] = 5.into()),
            Uid,
            "cannot decode the AdmissionReview: request.object.metadata.labels.zone: invalid type: integer `5`, expected a \
             string…",
        ),
        row(
            "labels that are a list",
            with_object(|object| object["metadata"]["labels"] = json!(["a"])),
            Uid,
            "cannot decode the AdmissionReview: request.object.metadata.labels: invalid type: sequence, expected a map of \
             strings…",
        ),
        row(
            "a name that is a number",
            with_object(|object| object["metadata"]["name"] = 5.into()),
            Uid,
            "cannot decode the AdmissionReview: request.object.metadata.name: invalid type: integer `5`, expected a string…",
        ),
        row(
            "acceptance as a string",
            with_object(|object| object["spec"]["hubAcceptsClient"] = "yes".into()),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.hubAcceptsClient: invalid type: string \"yes\", expected \
             a boolean…",
        ),
        row(
            "a lease duration as a string",
            with_object(|object| object["spec"]["leaseDurationSeconds"] = "60".into()),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.leaseDurationSeconds: invalid type: string \"60\", \
             expected i64…",
        ),
        row(
            "a lease of 1e30",
            with_object(|object| object["spec"]["leaseDurationSeconds"] = 1e30.into()),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.leaseDurationSeconds: invalid type: floating point \
             `1e+30`, expected i64…",
        ),
        row(
            "a lease of thirty digits",
            replaced(
                r#""leaseDurationSeconds": 60"#,
                r#""leaseDurationSeconds": 100000000000000000000000000000"#,
            ),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.leaseDurationSeconds: invalid type: floating point…",
        ),
        row(
            "taints that are numbers",
            with_object(|object| object["spec"]["taints"] = json!([{"key": "a"}, 7])),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.taints[1]: invalid type: integer `7`, expected an object…",
        ),
        row(
            "two requests",
            replaced(r#""request""#, r#""request": {}, "request""#),
            Uid,
            "cannot decode the AdmissionReview: duplicate field `request`…",
        ),
        row(
            "two uids",
            replaced(r#""uid""#, r#""uid": "first", "uid""#),
            Uid,
            "cannot decode the AdmissionReview: request: duplicate field `uid`…",
        ),
        row(
            "acceptance twice",
            replaced(
                accepted,
                r#""hubAcceptsClient": false, "hubAcceptsClient": true"#,
            ),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec: duplicate field `hubAcceptsClient`…",
        ),
        row(
            "two set labels",
            replaced(
                r#""labels": {"#,
                r#""labels": { "cluster.open-cluster-management.io/clusterset": "set-a","#,
            ),
            Uid,
            "cannot decode the AdmissionReview: request.object.metadata.labels: duplicate label \
             \"cluster.open-cluster-management.io/clusterset\"…",
        ),
        row(
            "a name that is not UTF-8",
            not_utf8(r#""name": "c1""#),
            Uid,
            "cannot decode the AdmissionReview: the body is not UTF-8: byte…",
        ),
        row(
            "half a surrogate pair",
            replaced(r#""name": "c1""#, r#""name": "\ud800""#),
            Uid,
            "cannot decode the AdmissionReview: request.name: unexpected end of hex escape…",
        ),
        row(
            "100,000 nested lists",
            nested(100_000),
            Nothing,
            r#"cannot decode the AdmissionReview: expected a JSON object, the body begins with "[""#,
        ),
        row(
            "100,000 nested taints",
            replaced(accepted, &deep_taints),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.taints[0]: invalid type: sequence, expected an object…",
        ),
        row(
            "100,000 lists that only begin",
            replaced(
                accepted,
                &format!(r#"{accepted}, "future": {}"#, "[".repeat(100_000)),
            ),
            Uid,
            "cannot decode the AdmissionReview: request.object.spec.future[0][0][0]…",
        ),
        row(
            "two names",
            with_object(|object| object["metadata"]["name"] = "c2".into()),
            Uid,
            r#"request.name is "c1", but request.object.metadata.name is "c2""#,
        ),
    ]
}

pub(crate) fn asking_with(change: impl FnOnce(&mut Value)) -> String {
    let mut review: Value = serde_json::from_str(&reviews::asking()).unwrap();
    change(&mut review["request"]["userInfo"]);
    review.to_string()
}

/// Sends the row's body as both versions, and then a review as it should be.
async fn check(gate: &Gate, row: &Row) {
    let Row {
        sentence,
        body,
        message,
        saved,
    } = row;
    for version in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
        let body = replace(body, "\"admission.k8s.io/v1\"", &format!("{version:?}"));
        let answer = gate.review(PATH, body).await;
        let expected = if *saved == Nothing {
            "admission.k8s.io/v1"
        } else {
            version
        };
        // A kind that is no AdmissionReview, told in the answer's version.
        assert_eq!(answer["apiVersion"], expected, "{sentence}");
        let response = response(&answer);
        assert_eq!(
            response["uid"],
            if *saved == Uid { UID } else { "" },
            "{sentence}"
        );
        assert_eq!(response["allowed"], false, "{sentence}");
        assert_eq!(response["status"]["status"], "Failure", "{sentence}");
        assert_eq!(response["status"]["code"], 400, "{sentence}: {response}");
        assert_eq!(response["status"]["reason"], "BadRequest", "{sentence}");
        assert_eq!(
            response["auditAnnotations"],
            json!({"outcome": "malformed", "reason": "undecodable"}),
            "{sentence}"
        );
        says(&response["status"]["message"], message, sentence);
    }
    assert_eq!(
        gate.review(PATH, text()).await["response"]["allowed"],
        true,
        "after {sentence}"
    );
}

pub(crate) fn says(found: &Value, expected: &str, sentence: &str) {
    let found = found.as_str().unwrap();
    assert!(
        found.len() <= LONGEST_MESSAGE,
        "{sentence}: {} bytes",
        found.len()
    );
    match expected.strip_suffix('…') {
        Some(beginning) => assert!(found.starts_with(beginning), "{sentence}: {found}"),
        None => assert_eq!(found, expected, "{sentence}"),
    }
}

fn replace(body: &[u8], from: &str, to: &str) -> Vec<u8> {
    match body
        .windows(from.len())
        .position(|window| window == from.as_bytes())
    {
        Some(at) => [&body[..at], to.as_bytes(), &body[at + from.len()..]].concat(),
        None => body.to_vec(),
    }
}

#[tokio::test]
async fn what_is_no_review_is_told_precisely() {
    let gate = Gate::with_files(&[]);
    for row in no_reviews() {
        check(&gate, &row).await;
    }
}

#[tokio::test]
async fn an_unknown_version_is_answered_in_version_1() {
    let gate = Gate::with_files(&[]);
    for version in ["admission.k8s.io/v2", "v1", ""] {
        let answer = gate
            .review(PATH, review(|review| review["apiVersion"] = version.into()))
            .await;
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(response(&answer)["uid"], UID);
        assert_eq!(response(&answer)["status"]["code"], 400);
        let message = format!(
            "apiVersion is {version:?}, expected \"admission.k8s.io/v1\" or \"admission.k8s.io/v1beta1\""
        );
        assert_eq!(response(&answer)["status"]["message"], message);
    }
}

#[tokio::test]
async fn every_path_says_what_it_serves() {
    let gate = Gate::with_files(&[]);
    for webhook in Webhook::ALL {
        let foreign = with(|request| request["resource"]["resource"] = "pods".into());
        let answer = gate.review(shipped(webhook).path, foreign).await;
        let (path, resource, group) = (shipped(webhook).path, webhook.resource(), webhook.group());
        says(
            &response(&answer)["status"]["message"],
            &format!(
                "request.resource is \"pods\" in group \"cluster.open-cluster-management.io\", but {path} serves \
                 {resource} in group {group}: check the webhook registration"
            ),
            path,
        );
    }
}

#[tokio::test]
async fn what_the_gate_does_not_guard_may_be_anything() {
    let gate = Gate::with_files(&[]);
    let accepted = r#""hubAcceptsClient": true"#;
    for (sentence, body) in [
        (
            "100,000 nested lists in a field of the future",
            replaced(
                accepted,
                &format!(r#"{accepted}, "future": {}"#, nested(100_000)),
            ),
        ),
        (
            "a label twice",
            replaced(r#""labels": {"#, r#""labels": { "zone": "a", "zone": "b","#),
        ),
        (
            "groups of a wrong type, where nobody asks for them",
            with(|request| request["userInfo"]["groups"] = 7.into()),
        ),
        ("an object of the same kind that is all null", {
            with(|request| {
                for object in ["object", "oldObject"] {
                    request[object]["metadata"] = Value::Null;
                    request[object]["spec"] = Value::Null;
                }
                request["operation"] = "DELETE".into();
            })
        }),
    ] {
        let answer = gate.review(PATH, body).await;
        assert_eq!(response(&answer)["allowed"], true, "{sentence}: {answer}");
        assert_eq!(response(&answer)["uid"], UID, "{sentence}");
    }
}
