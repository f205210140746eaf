//! The bytes were written by hand after Go's documentation of `encoding/json`, and hashed by another program.

use super::*;

fn bytes(json: &str) -> String {
    let mut object: Map<String, Value> = serde_json::from_str(json).unwrap();
    object.retain(|field, _| !WITHOUT.contains(&&**field));
    let mut text = String::new();
    write(&Value::Object(object), &mut text);
    text
}

#[test]
fn a_hash_is_that_of_ocm() {
    for (sentence, json, expected, hash) in [
        (
            "only the content counts",
            r#"{"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "status": {"x": 1}, "spec": {}}"#,
            r#"{"spec":{}}"#,
            "53aa778a9b137a0ca7ab79937d069870b14440dae5922f51d940ffa4b178d5cb",
        ),
        (
            "keys are sorted, and what is special in HTML is escaped",
            r#"{"spec": {"customizedVariables": [{"value": "a<b>&c", "name": "A"}],
                "agentInstallNamespace": "open-cluster-management-agent-addon"}}"#,
            r#"{"spec":{"agentInstallNamespace":"open-cluster-management-agent-addon","customizedVariables":[{"name":"A","value":"a\u003cb\u003e\u0026c"}]}}"#,
            "23d1a54293bc9c9a65d078af74a6f226f951f0dc329fad746b9d55af35be6f5c",
        ),
        (
            "line separators and controls are escaped, other characters are not",
            r#"{"spec": {"é": "ü😀\/", "b": "tab\tquote\"back\\nul\u0000bell\u0007\b\f\n\r\u007f",
                "a": "line\u2028para\u2029end"}}"#,
            "{\"spec\":{\"a\":\"line\\u2028para\\u2029end\",\"b\":\"tab\\tquote\\\"back\\\\nul\\u0000bell\\u0007\\b\\f\\n\\r\u{7f}\",\"é\":\"ü😀/\"}}",
            "d6e70c356b86326aa1d3b7b4ba263267070a6183f2bef18173c1ca92779c60bf",
        ),
        (
            "fields beside the spec count",
            r#"{"spec": {"x": 1}, "data": {"k": "v"}}"#,
            r#"{"data":{"k":"v"},"spec":{"x":1}}"#,
            "ab9e335d1b976db134be3230a069b9fdd046fb6b953a083d21a452b5177bd0c4",
        ),
        (
            "an object without content",
            r#"{"metadata": {"name": "a"}}"#,
            "{}",
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        ),
    ] {
        assert_eq!(bytes(json), expected, "{sentence}");
        assert_eq!(spec_hash(json).unwrap(), hash, "{sentence}");
    }
}

#[test]
fn numbers_are_those_of_go() {
    for (json, expected) in [
        ("1", "1"),
        ("-2", "-2"),
        ("9223372036854775807", "9223372036854775807"),
        // Beyond int64 it is a float.
        ("9223372036854775808", "9223372036854776000"),
        ("1.0", "1"),
        ("0.5", "0.5"),
        ("100000000000000000000", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("0.000001", "0.000001"),
        ("1e-7", "1e-7"),
        ("1.25e-10", "1.25e-10"),
    ] {
        let expected = format!(r#"{{"spec":{{"n":{expected}}}}}"#);
        let found = bytes(&format!(r#"{{"spec": {{"n": {json}}}}}"#));
        assert_eq!(found, expected, "{json}");
    }
}

#[test]
fn other_texts_have_no_hash() {
    for json in ["", "[]", "1", "{"] {
        let error = spec_hash(json).unwrap_err();
        assert!(!error.to_string().is_empty(), "{json}");
    }
}
