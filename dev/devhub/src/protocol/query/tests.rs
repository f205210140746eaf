#![allow(clippy::unwrap_used, reason = "tests")]

use http::StatusCode;
use serde_json::json;

use super::*;
use crate::protocol::testing::resource;

fn list(query: &str) -> Result<ListOptions, ApiError> {
    let resource = resource("", "v1", "configmaps", "ConfigMap");
    Query::parse(query).list_options(&resource, "", false)
}

#[test]
fn parameters_of_a_list_are_read() {
    let options = list(
        "limit=5&continue=abc&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&unknown=1&resourceVersion=7\
         &timeoutSeconds=3&bad=%zz&also;bad",
    )
    .unwrap();
    assert_eq!(options.limit, Some(5));
    assert_eq!(options.continues, "abc");
    assert_eq!(options.resource_version, "7");
    assert_eq!(options.timeout, Some(Duration::from_secs(3)));
    assert!(!options.watch && !options.selection.is_everything());
    assert_eq!(
        options.selection.fields.required("metadata.name"),
        Some("x")
    );
    assert_eq!(list("limit=0").unwrap().limit, None);
    assert_eq!(list("limit=-4").unwrap().limit, None);
}

#[test]
fn what_cannot_be_read_is_a_bad_request() {
    for query in [
        "limit=abc",
        "limit=",
        "timeoutSeconds=99999999999999999999",
        "labelSelector=,",
        "fieldSelector=a",
        "fieldSelector=a%3Db",
    ] {
        let error = list(query).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (StatusCode::BAD_REQUEST, "BadRequest"),
            "{query}"
        );
    }
}

#[test]
fn what_does_not_go_together_is_invalid() {
    for query in [
        "watch=1&sendInitialEvents=true",
        "watch=1&resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=x&resourceVersion=1",
        "sendInitialEvents=0",
    ] {
        let error = list(query).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
            "{query}"
        );
    }
}

#[test]
fn a_watch_of_one_object_takes_no_other_name() {
    let resource = resource("", "v1", "configmaps", "ConfigMap");
    let read = |query: &str| Query::parse(query).list_options(&resource, "a", true);
    let options = read("").unwrap();
    assert!(options.watch);
    assert_eq!(
        options.selection.fields.required("metadata.name"),
        Some("a")
    );
    assert!(read("fieldSelector=metadata.name%3Da").is_ok());
    assert_eq!(
        read("fieldSelector=metadata.name%3Db").unwrap_err().message,
        "fieldSelector metadata.name doesn't match requested name"
    );
}

fn write(query: &str, parameters: WriteParameters) -> Result<WriteOptions, ApiError> {
    Query::parse(query).write_options(parameters, "kubectl/v1.32.0 (linux/amd64)", REQUEST_TIMEOUT)
}

#[test]
fn parameters_of_a_write_are_read() {
    let options = write("dryRun=All&fieldValidation=Strict", WriteParameters::Create).unwrap();
    assert!(options.dry_run);
    assert_eq!(options.field_validation, FieldValidation::Strict);
    assert_eq!(options.field_manager, "kubectl");
    let options = write("fieldManager=me&force=1", WriteParameters::ApplyPatch).unwrap();
    assert!(options.force && !options.dry_run);
    assert_eq!(
        (options.field_manager.as_str(), options.field_validation),
        ("me", FieldValidation::Warn)
    );
    assert_eq!(manager_of(""), "unknown");
    assert_eq!(manager_of(&"é".repeat(100)).len(), 128);
}

#[test]
fn what_a_write_cannot_have_is_invalid() {
    use WriteParameters as P;
    for (query, parameters) in [
        ("dryRun=true", P::Create),
        ("fieldValidation=x", P::Update),
        ("", P::ApplyPatch),
        ("force=false", P::Patch),
        ("fieldManager=a%0A", P::Create),
    ] {
        let error = write(query, parameters).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
            "{query}"
        );
    }
}

#[test]
fn parameters_of_a_deletion_come_from_the_body_or_the_query() {
    let query = Query::parse("propagationPolicy=Orphan&gracePeriodSeconds=0&uid=u");
    let deletion = query.delete_options(None).unwrap();
    assert_eq!(deletion.options.propagation, Some(Propagation::Orphan));
    assert_eq!(deletion.options.uid.as_deref(), Some("u"));
    let body = json!({"propagationPolicy": "Foreground", "preconditions": {"resourceVersion": "4"}, "dryRun": ["All"]});
    let deletion = query.delete_options(Some(&body)).unwrap();
    assert_eq!(deletion.options.propagation, Some(Propagation::Foreground));
    assert_eq!(deletion.options.uid, None);
    assert_eq!(deletion.options.resource_version.as_deref(), Some("4"));
    assert!(deletion.dry_run && !deletion.accepted_when_waiting);

    for (query, code) in [
        ("propagationPolicy=x", StatusCode::UNPROCESSABLE_ENTITY),
        ("gracePeriodSeconds=x", StatusCode::BAD_REQUEST),
    ] {
        let error = Query::parse(query).delete_options(None).unwrap_err();
        assert_eq!(error.code, code, "{query}");
    }
    let error = query
        .delete_options(Some(&json!({"dryRun": "All"})))
        .unwrap_err();
    assert_eq!(error.code, StatusCode::BAD_REQUEST);
}

#[test]
fn a_timeout_is_a_duration_of_gos() {
    let read = |text: &str| Query::parse(&format!("timeout={text}")).timeout();
    assert_eq!(read("").unwrap(), REQUEST_TIMEOUT);
    assert_eq!(read("5s").unwrap(), Duration::from_secs(5));
    assert_eq!(read("1m30s").unwrap(), REQUEST_TIMEOUT);
    assert_eq!(read("1.5s").unwrap(), Duration::from_millis(1500));
    assert_eq!(read("0").unwrap(), REQUEST_TIMEOUT);
    assert_eq!(read("-1s").unwrap(), REQUEST_TIMEOUT);
    assert_eq!(read("5").unwrap_err().code, StatusCode::BAD_REQUEST);
}

proptest::proptest! {
    #[test]
    fn no_query_makes_it_panic(text in "\\PC{0,40}") {
        let query = Query::parse(&text);
        let _ = (query.timeout(), query.include_object());
    }
}
