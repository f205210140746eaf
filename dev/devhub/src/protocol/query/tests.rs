#![allow(clippy::unwrap_used, reason = "tests")]

use http::StatusCode;

use super::*;
use crate::protocol::testing::resource;

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
