use serde_json::json;

use crate::differs::Settled;
use crate::step::Cause;
use crate::testing::{mapped, owner};
use crate::{ApplyOutcome, Applying, Refusal, Response, Step};

/// The message of a manifest whose write to the existing object is refused as invalid.
fn message_of(version: &str, kind: &str, why: &str) -> String {
    let mut manifest = json!({
        "apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "n"},
        "spec": {"b": 1},
    });
    let machine = Applying::new(
        mapped(&manifest),
        None,
        owner("w"),
        Settled::default(),
        None,
    );
    let mut machine = machine.unwrap();
    manifest["spec"] = json!({"b": 2});
    let refusal = Refusal {
        code: 422,
        reason: "Invalid".to_owned(),
        message: format!("{kind} \"a\" is invalid: {why}"),
        causes: vec![Cause {
            message: why.to_owned(),
            ..Cause::default()
        }],
    };
    let mut step = machine.next(Some(Response::Found(manifest.clone())));
    loop {
        step = match step {
            Step::Done(ApplyOutcome::Failed(failure)) => return failure.message,
            Step::Done(outcome) => panic!("{outcome:?}"),
            Step::Get => machine.next(Some(Response::Found(manifest.clone()))),
            _ => machine.next(Some(Response::Refused(refusal.clone()))),
        };
    }
}

fn dump(bytes: usize) -> String {
    let text = "x: {y] \\\"".repeat(bytes / 10);
    format!("core.PodTemplateSpec{{Labels:map[string]string(nil), Name:\"{text}\", At:[]int{{1}}}}")
}

#[test]
fn a_long_value_is_cut_and_reason_and_remedy_stay() {
    let remedy = "; delete the object on the cluster, then it is created anew";
    for (sentence, why, expected) in [
        (
            "a short value is whole",
            format!(
                "spec.template: Invalid value: {}: field is immutable",
                dump(100)
            ),
            &["Name:\"x: {y]", "At:[]int{1}}: field is immutable"][..],
        ),
        (
            "a dump",
            format!(
                "spec.template: Invalid value: {}: field is immutable",
                dump(4000)
            ),
            &[
                "spec.template: Invalid value: core.PodTemplateSpec{",
                "…",
                "}: field is immutable",
            ],
        ),
        (
            "two of them",
            format!(
                "[spec.selector: Invalid value: {}: field is immutable, spec.template: Invalid value: {}: field is immutable]",
                dump(4000),
                dump(3000)
            ),
            &[
                "[spec.selector: Invalid value: core.",
                "…",
                "}: field is immutable, spec.template: Invalid value: core.",
                "}: field is immutable]",
            ],
        ),
        (
            "JSON",
            format!(
                "spec: Invalid value: {}: field is immutable",
                json!({"a": vec!["é: "; 2000]})
            ),
            &["spec: Invalid value: {\"a\":", "]}: field is immutable"],
        ),
        (
            "a value without an end",
            format!(
                "spec: Invalid value: {{\"{}: field is immutable",
                "é".repeat(4000)
            ),
            &["spec: Invalid value: {\"é", "é: field is immutable"],
        ),
        (
            "no value",
            format!("spec: {}: field is immutable", "é".repeat(4000)),
            &["spec: é", "é: field is immutable"],
        ),
    ] {
        let message = message_of("batch/v1", "Job", &why);
        let mut rest = &*message;
        for words in expected.iter().chain([&remedy]) {
            let at = rest.find(words);
            let at = at.unwrap_or_else(|| panic!("{sentence}: {words:?} in {message}"));
            rest = &rest[at + words.len()..];
        }
        assert_eq!(rest, "", "{sentence}");
        assert!(message.len() <= 1024, "{sentence}: {}", message.len());
    }
    let long = format!("{}. It is refused", "é".repeat(4000));
    let message = message_of("batch/v1", "Job", &long);
    assert!(message.ends_with("é. It is refused"), "{message}");
    assert!(message.len() <= 1024, "{}", message.len());
}

#[test]
fn the_remedy_keeps_what_a_deletion_would_take() {
    const IMMUTABLE: &str = "spec.x: Invalid value: 1: field is immutable";
    for (version, kind, why, remedy) in [
        (
            "apps/v1",
            "StatefulSet",
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
            "delete it on the cluster without its pods, then it is created anew: kubectl delete statefulset a -n n --cascade=orphan",
        ),
        (
            "v1",
            "Service",
            "spec.clusterIPs[0]: Invalid value: []string{\"None\"}: may not change once set",
            "delete the object on the cluster, then it is created anew",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            "spec: Forbidden: spec is immutable after creation except resources.requests",
            "put the value of the cluster into the manifest: a deletion of the PersistentVolumeClaim deletes its data",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            IMMUTABLE,
            "put the value of the cluster into the manifest: a deletion of the CustomResourceDefinition deletes all objects of its kind",
        ),
        (
            "apps/v1",
            "Deployment",
            IMMUTABLE,
            "delete the object on the cluster, then it is created anew",
        ),
    ] {
        let message = message_of(version, kind, why);
        let found = message.split_once("; ").map(|(_, it)| it);
        assert_eq!(found, Some(remedy), "{kind}");
    }
}
