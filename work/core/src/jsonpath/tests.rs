use proptest::prelude::*;
use serde_json::json;

use super::*;

fn sample() -> Value {
    json!({
        "metadata": {"labels": {"a.b/c": "label", "it's": "quoted"}, "generation": 3},
        "spec": {
            "num": 5,
            "list": ["l0", "l1", "l2"],
            "objs": [{"name": "o1", "m": 1}, {"name": "o2", "m": 2, "flag": false}],
            "sub": {"deep": "here"},
            "nul": null,
            "empty": [],
        },
        "status": {"observed": 3, "conditions": [
            {"type": "A", "status": "True"},
            {"type": "B)", "status": "False"},
        ]},
    })
}

#[test]
fn a_path_finds_what_kubectl_finds() {
    let sample = sample();
    for (path, expected) in [
        (".spec.num", json!([5])),
        ("$.spec.num", json!([5])),
        ("@.spec.num", json!([5])),
        (" .spec.num ", json!([5])),
        (".spec.nope.more", json!([])),
        (".spec.num.more", json!([])),
        (".spec.nul", json!([null])),
        (".spec.nul[0]", json!([])),
        (r".metadata.labels.a\.b/c", json!(["label"])),
        (".metadata.labels['a.b/c']", json!(["label"])),
        (".metadata.labels[\"a.b/c\"]", json!(["label"])),
        (r".metadata.labels['it\'s']", json!(["quoted"])),
        ("['spec']['num']", json!([5])),
        (".spec['num','nope','sub'].deep", json!(["here"])),
        (".spec.list", json!([["l0", "l1", "l2"]])),
        (".spec.list[*]", json!(["l0", "l1", "l2"])),
        (".spec.list.*", json!(["l0", "l1", "l2"])),
        (".spec.list[1]", json!(["l1"])),
        (".spec.list[-1]", json!(["l2"])),
        (".spec.list[-4]", json!([])),
        (".spec.list[9]", json!([])),
        (".spec.empty[0]", json!([])),
        (".spec.list[1:]", json!(["l1", "l2"])),
        (".spec.list[:2]", json!(["l0", "l1"])),
        (".spec.list[-2:]", json!(["l1", "l2"])),
        (".spec.list[:-1]", json!(["l0", "l1"])),
        (".spec.list[2:1]", json!([])),
        (".spec.list[0:3:2]", json!(["l0", "l2"])),
        (".spec.list[::2]", json!(["l0", "l2"])),
        (".spec.list[0, 2]", json!(["l0", "l2"])),
        ("..deep", json!(["here"])),
        (".spec.sub.*", json!(["here"])),
        ("..name", json!(["o1", "o2"])),
        ("..objs[0].name", json!(["o1"])),
        (".spec..m", json!([1, 2])),
        (".spec.objs[?(@.m>1)].name", json!(["o2"])),
        (".spec.objs[?(@.m >= 1)].name", json!(["o1", "o2"])),
        (".spec.objs[?(@.m<1.5)].name", json!(["o1"])),
        (".spec.objs[?(@.m<=-1)].name", json!([])),
        (".spec.objs[?(@.m==\"1\")].name", json!([])),
        (".spec.objs[?(@.name!=\"o1\")].m", json!([2])),
        (".spec.objs[?(@.flag)].name", json!(["o2"])),
        (".spec.objs[?(@.flag==false)].name", json!(["o2"])),
        (".spec.objs[?(@.flag==true)].name", json!([])),
        (".spec.objs[?(@['m']==2)].name", json!(["o2"])),
        (".spec.list[?(@=='l1')]", json!(["l1"])),
        (
            ".spec.objs[?(@.m < $.metadata.generation)].m",
            json!([1, 2]),
        ),
        (
            ".status.conditions[?(@.type==\"A\")].status",
            json!(["True"]),
        ),
        (
            ".status.conditions[?(@.type=='B)')].status",
            json!(["False"]),
        ),
        (".status.conditions[?(@.type==\"C\")].status", json!([])),
    ] {
        let parsed = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let found = parsed.find(&sample, &mut OBJECT_VISITS.clone()).unwrap();
        assert_eq!(json!(found), expected, "{path}");
    }
}

#[test]
fn what_is_no_path_is_refused_with_the_position() {
    for (path, expected) in [
        ("", "the path is empty"),
        ("$", "the path is empty"),
        ("spec", "expected . or [ at character 1"),
        (".spec num", "expected . or [ at character 6"),
        (".a.", "expected a field at character 4"),
        (".", "expected a field at character 2"),
        ("..", "expected a field at character 3"),
        ("...a", "expected a field at character 3"),
        ("{.a}", "expected . or [ at character 1"),
        (".a}", "expected . or [ at character 3"),
        (
            ".a[",
            "expected a position, a name in quotes, * or a filter at character 4",
        ),
        (
            ".a[x]",
            "expected a position, a name in quotes, * or a filter at character 4",
        ),
        (".a[1", "expected ] at character 5"),
        (".a[1:2:3:4]", "expected ] at character 9"),
        (
            ".a[1:2:0]",
            "a slice needs a step of 1 or more at character 8",
        ),
        (
            ".a[1:2:-1]",
            "a slice needs a step of 1 or more at character 8",
        ),
        (".a['b]", "expected a closing quote at character 7"),
        (
            ".a[99999999999999999999]",
            "the number is too large at character 4",
        ),
        (".a[?(@.b", "expected == != < <= > >= or ) at character 9"),
        (
            ".a[?(@.b=1)]",
            "expected == != < <= > >= or ) at character 9",
        ),
        (
            ".a[?(@.b==c)]",
            "expected @, $, a text in quotes, a number, true or false at character 11",
        ),
        (
            ".a[?(1)]",
            "expected a path that begins with @ at character 7",
        ),
        (".a[?(@.b==1 && @.c==2)]", "expected ) at character 13"),
        (
            ".a[?(@.b[?(@.c[?(@.d[?(@.e[?(@.f)])])])])]",
            "the filters are nested too deeply at character 28",
        ),
    ] {
        assert_eq!(Path::parse(path).unwrap_err(), expected, "{path}");
    }
    let long = ".a".repeat(3000);
    assert_eq!(
        Path::parse(&long).unwrap_err(),
        "the path has 6000 bytes, more than 4096"
    );
}

#[test]
fn a_position_or_filter_needs_a_list() {
    let sample = sample();
    for (path, expected) in [
        (
            ".spec[0]",
            "a position needs a list, but the value is an object",
        ),
        (
            ".spec.num[?(@.a)]",
            "a filter needs a list, but the value is a number",
        ),
    ] {
        let found = Path::parse(path)
            .unwrap()
            .find(&sample, &mut OBJECT_VISITS.clone())
            .unwrap_err();
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn the_number_of_visited_values_is_bounded() {
    let object = json!({"a": vec![vec![0; 100]; 100]});
    let find = |path: &str| {
        Path::parse(path)
            .unwrap()
            .find(&object, &mut OBJECT_VISITS.clone())
            .map(|it| it.len())
    };
    assert_eq!(find("..*[0]"), Ok(101));
    assert_eq!(
        find("..*..*..*"),
        Err("the path goes through more than 100000 values".to_owned())
    );
}

proptest! {
    #[test]
    fn any_text_is_taken(path in "[.a@\\[\\]?()*'\"\\\\0-9:,=<> $}é-]{0,20}") {
        if let Ok(path) = Path::parse(&path) {
            let _ = path.find(&sample(), &mut OBJECT_VISITS.clone());
        }
    }

    /// A field is found by its name in quotes, whatever characters it has.
    #[test]
    fn any_name_can_be_written(name in "\\PC{0,10}") {
        let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
        let object = json!({ &name: {"b": 7} });
        let path = Path::parse(&format!("['{quoted}'].b")).unwrap();
        prop_assert_eq!(json!(path.find(&object, &mut OBJECT_VISITS.clone()).unwrap()), json!([7]));
    }
}
