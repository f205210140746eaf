use serde_json::json;

use super::*;

fn fields(key: &str, expression: &str) -> Vec<IgnoreField> {
    serde_json::from_value(json!([{"condition": "OnSpokePresent", key: [expression]}])).unwrap()
}

fn object() -> Value {
    json!({
        "metadata": {"annotations": {"a.b/c": "1", "d": "2"}},
        "spec": {"replicas": 3, "list": [1, 2, 3], "template": {"containers": [
            {"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}]},
            {"name": "b", "image": "y"},
        ]}},
    })
}

/// The paths that are gone.
fn cut_by(key: &str, expression: &str) -> Result<Value, String> {
    let mut object = object();
    match cut(
        &mut object,
        &fields(key, expression),
        |_| true,
        &mut Budget::default(),
    ) {
        Ok(()) => Ok(object),
        Err(error) => Err(error.to_string()),
    }
}

fn without(pointers: &[&str]) -> Value {
    let mut object = object();
    for pointer in pointers {
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match object.pointer_mut(parent).unwrap() {
            Value::Object(map) => drop(map.remove(&last.replace("~1", "/"))),
            Value::Array(items) => drop(items.remove(last.parse().unwrap())),
            _ => unreachable!(),
        }
    }
    object
}

#[test]
fn json_paths_cut_fields() {
    for (path, gone) in [
        (".spec.replicas", &["/spec/replicas"][..]),
        ("spec.replicas", &["/spec/replicas"]),
        ("{.spec.replicas}", &["/spec/replicas"]),
        ("$.spec['replicas']", &["/spec/replicas"]),
        (
            r".metadata.annotations.a\.b/c",
            &["/metadata/annotations/a.b~1c"],
        ),
        (
            ".metadata.annotations['a.b/c']",
            &["/metadata/annotations/a.b~1c"],
        ),
        (
            ".spec.template.containers[*].image",
            &[
                "/spec/template/containers/0/image",
                "/spec/template/containers/1/image",
            ],
        ),
        (
            ".spec.template.containers[-1].image",
            &["/spec/template/containers/1/image"],
        ),
        (".spec.missing.replicas", &[]),
        // Items of lists cannot be cut, and what cannot be read cuts nothing.
        (".spec.list[0]", &[]),
        (".spec..replicas", &[]),
        ("", &[]),
        (".", &[]),
        (".spec[", &[]),
        (".spec['x", &[]),
        ("..", &[]),
    ] {
        assert_eq!(cut_by("jsonPaths", path), Ok(without(gone)), "{path}");
    }
}

#[test]
fn json_pointers_cut_fields_and_items() {
    for (pointer, gone) in [
        ("/spec/replicas", &["/spec/replicas"][..]),
        (
            "/metadata/annotations/a.b~1c",
            &["/metadata/annotations/a.b~1c"],
        ),
        ("/spec/list/1", &["/spec/list/1"]),
        ("/spec/list/9", &[]),
        ("/spec/none/x", &[]),
    ] {
        assert_eq!(
            cut_by("jsonPointers", pointer),
            Ok(without(gone)),
            "{pointer}"
        );
    }
    let error = cut_by("jsonPointers", "spec/replicas").unwrap_err();
    assert!(
        error.starts_with("JSON pointer \"spec/replicas\" is invalid"),
        "{error}"
    );
}

#[test]
fn jq_expressions_cut_what_they_select() {
    for (expression, gone) in [
        (".spec.replicas", &["/spec/replicas"][..]),
        (
            ".spec.replicas, .spec.list",
            &["/spec/replicas", "/spec/list"],
        ),
        (
            r#".spec.template.containers[] | select(.name == "b")"#,
            &["/spec/template/containers/1"],
        ),
        (
            r#".spec.template.containers[0].env[] | select(.name | startswith("E"))"#,
            &["/spec/template/containers/0/env/0"],
        ),
        (".spec.list[0,2]", &["/spec/list/2", "/spec/list/0"]),
        (".spec.list[1:]", &["/spec/list/2", "/spec/list/1"]),
        (".spec.list[-1]", &["/spec/list/2"]),
        (
            ".spec.template.containers[].image?",
            &[
                "/spec/template/containers/0/image",
                "/spec/template/containers/1/image",
            ],
        ),
        (
            r#".. | objects | select(has("image")) | .image"#,
            &[
                "/spec/template/containers/0/image",
                "/spec/template/containers/1/image",
            ],
        ),
        (
            r#".metadata.annotations["a.b/c"]"#,
            &["/metadata/annotations/a.b~1c"],
        ),
        (".missing.field", &[]),
        (".missing[]?", &[]),
        ("empty", &[]),
        (
            r#".spec.template.containers[] | select(.image | test("^x$")) | .env"#,
            &["/spec/template/containers/0/env"],
        ),
        (
            ".spec | if .replicas > 2 then .replicas else empty end",
            &["/spec/replicas"],
        ),
        (
            ".spec.replicas as $n | .spec.list[] | select(. == $n)",
            &["/spec/list/2"],
        ),
    ] {
        assert_eq!(
            cut_by("jqPathExpressions", expression),
            Ok(without(gone)),
            "{expression}"
        );
    }
}

#[test]
fn jq_expressions_that_are_no_paths_are_refused() {
    for (expression, reason) in [
        (".spec.[", "it is not a jq expression"),
        ("", "it is not a jq expression"),
        (".missing[]", "cannot"),
        ("1 + 1", "invalid path expression"),
        ("def f: f; f", "definitions, loops"),
        ("reduce .[] as $x (0; .)", "definitions, loops"),
        ("repeat(.)", "the function repeat/1 is not allowed"),
        (
            "range(1000000000000)",
            "the function range/1 is not allowed",
        ),
        ("metered", "the function metered/0 is not allowed"),
        ("input", "the function input/0 is not allowed"),
        ("env", "the function env/0 is not allowed"),
        (".spec.replicas = 1", "assignments"),
        (
            r#"select("x" * 1000000000 == "")"#,
            "assignments, arithmetic",
        ),
        (
            r#"select(.metadata.annotations.d | test("(((a{999}){999}){999}){999}"))"#,
            "the regular expression is invalid or too large",
        ),
        (
            r#"select(.spec.list | contains(.))"#,
            "the argument of contains must be a string",
        ),
        (
            "$none",
            "it uses a variable or a function that does not exist",
        ),
        (
            "((((((((((((((((((((((((((.))))))))))))))))))))))))))",
            "it is nested too deeply",
        ),
    ] {
        let error = cut_by("jqPathExpressions", expression).unwrap_err();
        assert!(error.contains(reason), "{expression}: {error}");
    }
}

#[test]
fn jq_expressions_end_within_their_budget() {
    let doubling = vec!["(.,.)"; 20].join("|");
    let swallowed = format!("({})?", vec!["(.,.)"; 20].join("|"));
    let product = format!("select({} == 1)", vec!["(.,.)"; 18].join("=="));
    for expression in [
        doubling.as_str(),
        &swallowed,
        &product,
        "..|..|..|..|..|..|..|..|..|..|..|..",
    ] {
        let error = cut_by("jqPathExpressions", expression).unwrap_err();
        assert!(error.contains("budget"), "{expression}: {error}");
    }
}

#[test]
fn no_expression_needs_a_large_stack() {
    let long = [
        "-",
        "try ",
        "..|",
        ".a",
        ".[",
        "not|",
        "if . then ",
        "(",
        "\"\\(",
        "[",
        "{a:",
        "?",
        "1 as $x|",
        "def f:",
    ];
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let run = move || {
        for part in long {
            for end in ["", ".", "1"] {
                let text = part.repeat(MAX_TEST / part.len()) + end;
                let _ = cut_by("jqPathExpressions", &text);
            }
        }
    };
    thread.spawn(run).unwrap().join().unwrap();
}

/// As long as expressions may be.
const MAX_TEST: usize = 508;

proptest::proptest! {
    #[test]
    fn no_text_panics(text in r#"[.\[\]{}()a-c0-9"'|,*?$@\\/ =:;<>+-]{0,40}"#) {
        for key in ["jsonPaths", "jsonPointers", "jqPathExpressions"] {
            let _ = cut_by(key, &text);
        }
    }
}

/// Each of these is within its own bounds.
#[test]
fn the_fields_of_a_manifest_have_a_budget_together() {
    let many = |key: &str, of: &str, number: usize| {
        let all: Vec<_> = (0..number)
            .map(|it| of.replace('#', &it.to_string()))
            .collect();
        json!([{"condition": "OnSpokePresent", key: all}])
    };
    let items: Vec<_> = (0..20_000).map(|it| json!({"a": it})).collect();
    let large = json!({"spec": {"list": items}});
    for (sentence, object, fields, is_over) in [
        (
            "150 of a usual manifest",
            object(),
            many("jqPathExpressions", ".spec.f#", 150),
            false,
        ),
        (
            "very many",
            object(),
            many("jqPathExpressions", ".spec.f#", 10_000),
            true,
        ),
        (
            "some of a large manifest",
            large.clone(),
            many("jqPathExpressions", ".spec.list[] | select(.a == #)", 100),
            true,
        ),
        (
            "pointers",
            object(),
            many("jsonPointers", "/spec/f#", 10_000),
            false,
        ),
        (
            "paths through all items",
            large,
            many("jsonPaths", ".spec.list[*].a#", 10_000),
            true,
        ),
    ] {
        let (mut object, fields) = (object, serde_json::from_value::<Vec<_>>(fields).unwrap());
        let cut = cut(&mut object, &fields, |_| true, &mut Budget::default());
        let error = cut.err().map(|it| it.to_string());
        let words = "all ignored fields of a manifest may cost 4000000 together";
        let found = error.as_ref().is_some_and(|it| it.contains(words));
        assert_eq!(found, is_over, "{sentence}: {error:?}");
    }
}
