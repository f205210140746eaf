use serde_json::json;

use super::*;

fn object(value: Value) -> Object {
    Object::try_from(value).expect("an object")
}

/// Returns true if conditions hold for a write of `object` over `old`.
fn hold(expressions: &[&str], new: Value, old: Value) -> Result<bool, String> {
    let read = |value: Value| (!value.is_null()).then(|| object(value));
    let (new, old) = (read(new), read(old));
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({
        "operation": operation,
        "kind": { "group": "g", "version": "v1", "kind": "K" },
        "userInfo": { "username": "u", "groups": ["a", "b"] },
        "dryRun": false,
        "options": null,
    });
    Conditions::compile(expressions.iter().copied()).hold(&Variables {
        request: &request,
        object: new.as_ref(),
        old: old.as_ref(),
    })
}

#[test]
fn one_false_condition_outweighs_errors() {
    let fails = "object.spec.missing == 1";
    let spec = json!({ "spec": {} });
    let rows = [
        (vec!["true", "1 == 1"], Ok(true)),
        (vec!["true", "false"], Ok(false)),
        (vec![fails, "false"], Ok(false)),
        (
            vec!["true", fails],
            Err("expression 'object.spec.missing == 1' resulted in error: no such key: missing".to_owned()),
        ),
        (
            vec!["has(oldObject.metadata.name)"],
            Err("expression 'has(oldObject.metadata.name)' resulted in error: no such key: metadata".to_owned()),
        ),
        (
            vec![fails, fails],
            Err("[expression 'object.spec.missing == 1' resulted in error: no such key: missing, expression 'object.spec.missing == 1' resulted in error: no such key: missing]".to_owned()),
        ),
    ];
    for (expressions, expected) in rows {
        assert_eq!(
            hold(&expressions, spec.clone(), Value::Null),
            expected,
            "{expressions:?}"
        );
    }
}

#[test]
fn conditions_see_request_and_objects() {
    let rows = [
        "request.operation == 'CREATE' && request.kind.group == 'g'",
        "oldObject == null && namespaceObject == null",
        "'a' in request.userInfo.groups && !('c' in request.userInfo.groups)",
        "request.userInfo.groups.exists(g, g.startsWith('b'))",
        "object.metadata.name.matches('^c[0-9]+$')",
        "object.metadata.name.lowerAscii() == 'c1'",
        "has(object.spec) && size(object.spec.list) == 2 && object.spec.list[1] > 1",
        "object.spec.list.map(i, i * 2) == [2, 4]",
        "!has(object.spec.missing)",
        "!has(oldObject.metadata)",
        "null == oldObject && oldObject == null && oldObject != {} && type(oldObject) == type(null)",
        "oldObject == namespaceObject && !(oldObject in [1]) && oldObject in [null]",
        "!(object.metadata.name == 1)",
        "object.spec.?missing.orValue('') == ''",
        "type(object.spec.list) == list",
    ];
    let object = json!({ "metadata": { "name": "c1" }, "spec": { "list": [1, 2] } });
    for expression in rows {
        assert_eq!(check_condition(expression), Ok(()), "{expression}");
        assert_eq!(
            hold(&[expression], object.clone(), Value::Null),
            Ok(true),
            "{expression}"
        );
    }
}

#[test]
fn what_devhub_cannot_do_is_refused_when_it_is_written() {
    let rows = [
        ("", "expression must not be empty"),
        (
            "request.",
            "compilation failed: ERROR: <input>:1:9: Syntax error: ",
        ),
        ("foo == 1", "undeclared reference to 'foo'"),
        ("[1].exists(x, y > x)", "undeclared reference to 'y'"),
        ("[1].exists(x, x > 0) && x", "undeclared reference to 'x'"),
        (
            "authorizer.group('').resource('pods').check('get').allowed()",
            "undeclared reference to 'allowed'",
        ),
        ("authorizer == null", "undeclared reference to 'authorizer'"),
        (
            "duration('1h') == duration('1h')",
            "undeclared reference to 'duration'",
        ),
        ("'abc'.quote() == 'abc'", "undeclared reference to 'quote'"),
        ("optional.some(1).hasValue()", "undeclared reference to '"),
        ("Object{} == object", "undeclared reference to 'Object'"),
    ];
    for (expression, expected) in rows {
        let error = check_condition(expression).expect_err(expression);
        assert!(error.contains(expected), "{expression}: {error}");
    }
}

#[test]
fn expressions_have_limits() {
    let long = format!("'{}' == ''", "x".repeat(20_000));
    assert_eq!(
        check_condition(&long),
        Err("devhub's CEL takes expressions of at most 16384 bytes".to_owned())
    );
    let deep = format!("0{} == 1", " + 1".repeat(4_000));
    let error = check_condition(&deep).expect_err("too deep");
    assert!(
        error.contains("deep") || error.contains("recursion"),
        "{error}"
    );
    let nested = [
        format!("1{} == 37", " + 1".repeat(36)),
        format!("size({}{}) == 1", "[".repeat(36), "]".repeat(36)),
        format!("{}true", "!".repeat(36)),
    ];
    for expression in nested {
        assert_eq!(check_condition(&expression), Ok(()), "{expression}");
        assert_eq!(
            hold(&[&expression], json!({}), Value::Null),
            Ok(true),
            "{expression}"
        );
    }
    let wide = vec!["request.dryRun"; 500].join(" || ");
    assert_eq!(check_condition(&wide), Ok(()));
}

/// The list of functions is about what the environment really has.
#[test]
fn every_listed_function_can_be_called() {
    let calls = [
        "true ? 'a' == 'a' && 1 < 2 && 1 <= 2 && 2 > 1 && 2 >= 1 && 1 != 2 : false || !true",
        "1 in [1] && [1, 2][0] == 1 + 2 - 2 * 1 / 1 % 3 - -0",
        "{'a': 1}[?'a'].hasValue() && {'a': 1}.?a.value() == 1",
        "size('abc') == 3 && 'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
        "'abc'.matches('b') && bool('true') && bytes('a') == b'a' && double(1) == 1.0 && dyn(1) == 1",
        "int('1') == 1 && string(1) == '1' && type(1) == int && uint(1) == 1u",
        "optional.of(1).or(optional.none()).orValue(2) == 1 && !optional.ofNonZeroValue(0).hasValue()",
        "'abc'.charAt(1) == 'b' && 'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3",
        "['a', 'b'].join('-') == 'a-b' && 'aB'.lowerAscii() == 'ab' && 'aB'.upperAscii() == 'AB'",
        "'aba'.replace('a', 'c') == 'cbc' && 'a,b'.split(',') == ['a', 'b'] && 'abc'.substring(1) == 'bc'",
        "' a '.trim() == 'a' && '%d'.format([1]) == '1'",
    ];
    for expression in calls {
        assert_eq!(check_condition(expression), Ok(()), "{expression}");
        assert_eq!(
            hold(&[expression], json!({}), Value::Null),
            Ok(true),
            "{expression}"
        );
    }
}
