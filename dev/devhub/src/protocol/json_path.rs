//! JSONPath in Kubernetes' dialect, as printer columns have it: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`,
//! `.metadata.labels.example\.com/a`, `.spec.list[-1]`.
//!
//! What a path finds is what kube-apiserver's own evaluator finds; the standard's (RFC 9535) differs in escapes, in missing
//! fields and in filters.

mod reader;

use std::borrow::Cow;

use serde_json::Value;

/// How many values a step may yield. Only the first one is ever shown.
const MOST: usize = 10_000;

/// A path that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Recursive,
    Slice {
        start: Option<i64>,
        end: End,
        step: Option<i64>,
    },
    Union(Vec<Vec<Step>>),
    Filter {
        left: Vec<Step>,
        test: Test,
        right: Vec<Step>,
    },
    Literal(Value),
    /// `range`, `end` and words that mean nothing: not to be evaluated.
    Word,
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// At the last item.
    Open,
    /// Before this item.
    At(i64),
    /// After one item: it is an index.
    One,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Test {
    Exists,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Unknown,
}

/// A path that cannot be evaluated on this value; a table shows nothing then.
struct NotThere;

type Values<'a> = Vec<Cow<'a, Value>>;

impl JsonPath {
    /// Reads a path, without the braces around it.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        reader::parse(text).map(Self)
    }

    /// The first value that the path finds.
    pub(crate) fn first<'a>(&self, value: &'a Value) -> Option<Cow<'a, Value>> {
        let found = walk(vec![Cow::Borrowed(value)], &self.0).ok()?;
        found.into_iter().next()
    }
}

fn walk<'a>(input: Values<'a>, steps: &[Step]) -> Result<Values<'a>, NotThere> {
    let mut values = input;
    for step in steps {
        values = take(values, step)?;
        if values.len() > MOST {
            return Err(NotThere);
        }
    }
    Ok(values)
}

fn take<'a>(input: Values<'a>, step: &Step) -> Result<Values<'a>, NotThere> {
    let mut found = Values::new();
    match step {
        Step::Literal(value) => {
            // A text stands for itself once, a number or boolean for each value.
            let times = if value.is_string() { 1 } else { input.len() };
            found.extend(std::iter::repeat_n(Cow::Owned(value.clone()), times));
        }
        Step::Word => return Err(NotThere),
        Step::Field(name) => {
            let there = input.into_iter().filter_map(|value| field(value, name));
            found.extend(there);
        }
        Step::Wildcard => {
            for value in input {
                found.extend(children(value));
            }
        }
        Step::Recursive => {
            for value in input {
                descend(value, &mut found)?;
            }
        }
        Step::Slice { start, end, step } => {
            for value in input {
                match items(value)? {
                    None => {}
                    Some(items) => found.extend(slice(items, *start, *end, *step)?),
                }
            }
        }
        Step::Union(parts) => {
            for part in parts {
                found.extend(walk(input.clone(), part)?);
            }
        }
        Step::Filter { left, test, right } => {
            for value in input {
                // Not even null can be filtered.
                for item in items(value)?.ok_or(NotThere)? {
                    if passes(&item, left, *test, right)? {
                        found.push(item);
                    }
                }
            }
        }
    }
    Ok(found)
}

fn field<'a>(value: Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_object()?.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    }
}

fn children(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(list)) => list.iter().map(Cow::Borrowed).collect(),
        // Owned values are literals, which have no children.
        _ => Values::new(),
    }
}

/// A value and all that are in it, as far as they hold something.
fn descend<'a>(value: Cow<'a, Value>, found: &mut Values<'a>) -> Result<(), NotThere> {
    let children = children(value.clone());
    if children.is_empty() {
        return Ok(());
    }
    if found.len() > MOST {
        return Err(NotThere);
    }
    found.push(value);
    children
        .into_iter()
        .try_for_each(|child| descend(child, found))
}

/// The items of a list; none of null. Anything else is no list.
fn items(value: Cow<'_, Value>) -> Result<Option<Values<'_>>, NotThere> {
    match value.as_ref() {
        Value::Null => Ok(None),
        Value::Array(_) => Ok(Some(children(value))),
        _ => Err(NotThere),
    }
}

fn slice<'a>(
    items: Values<'a>,
    start: Option<i64>,
    end: End,
    step: Option<i64>,
) -> Result<impl Iterator<Item = Cow<'a, Value>>, NotThere> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let from_end = |at: i64| {
        if at < 0 {
            at.saturating_add(length)
        } else {
            at
        }
    };
    let first = from_end(start.unwrap_or(0));
    let last = match end {
        End::Open => length,
        End::At(at) => from_end(at),
        End::One => match start.unwrap_or(0).saturating_add(1) {
            // The index -1.
            0 => length,
            after => from_end(after),
        },
    };
    let step = usize::try_from(step.unwrap_or(1)).map_err(|_| NotThere)?;
    let fits = (0..length).contains(&first) && (0..=length).contains(&last) && first <= last;
    let (skip, take) = match (first == last, fits && step > 0) {
        (true, _) => (0, 0),
        (false, true) => (first, last - first),
        (false, false) => return Err(NotThere),
    };
    let as_size = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(items
        .into_iter()
        .skip(as_size(skip))
        .take(as_size(take))
        .step_by(step.max(1)))
}

fn passes(item: &Value, left: &[Step], test: Test, right: &[Step]) -> Result<bool, NotThere> {
    let one = |steps: &[Step]| -> Result<Option<Value>, NotThere> {
        let mut values = walk(vec![Cow::Borrowed(item)], steps)?;
        match values.len() {
            0 | 1 => Ok(values.pop().map(Cow::into_owned)),
            _ => Err(NotThere),
        }
    };
    if test == Test::Exists {
        return Ok(walk(vec![Cow::Borrowed(item)], left).is_ok_and(|found| !found.is_empty()));
    }
    let (Some(left), Some(right)) = (one(left)?, one(right)?) else {
        return Ok(false);
    };
    match test {
        Test::Equal => equal(&left, &right),
        Test::NotEqual => equal(&left, &right).map(|equal| !equal),
        Test::Less => less(&left, &right),
        Test::LessOrEqual => Ok(less(&left, &right)? || equal(&left, &right)?),
        Test::Greater => Ok(!(less(&left, &right)? || equal(&left, &right)?)),
        Test::GreaterOrEqual => less(&left, &right).map(|less| !less),
        Test::Exists | Test::Unknown => Err(NotThere),
    }
}

/// Values of different types cannot be compared, not even an integer with a fraction.
fn equal(left: &Value, right: &Value) -> Result<bool, NotThere> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() == b.is_f64() => Ok(a == b),
        (Value::String(a), Value::String(b)) => Ok(a == b),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        _ => Err(NotThere),
    }
}

fn less(left: &Value, right: &Value) -> Result<bool, NotThere> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Ok(a < b),
        (Value::Number(a), Value::Number(b)) if a.is_f64() == b.is_f64() => {
            let as_integers = a.as_i64().zip(b.as_i64()).map(|(a, b)| a < b);
            let as_floats = a.as_f64().zip(b.as_f64()).map(|(a, b)| a < b);
            as_integers.or(as_floats).ok_or(NotThere)
        }
        _ => Err(NotThere),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn sample() -> Value {
        json!({
            "metadata": {"labels": {"a.b/c": "label"}},
            "spec": {
                "num": 5,
                "fl": 1.5,
                "list": ["l0", "l1", "l2"],
                "objs": [{"name": "o1", "m": 1}, {"name": "o2", "m": 2, "flag": false}],
                "sub": {"deep": "here"},
                "nul": null,
            },
            "status": {"conditions": [
                {"type": "A", "status": "True"},
                {"type": "B)", "status": "False"},
            ]},
        })
    }

    #[test]
    fn a_path_finds_what_kubernetes_finds() {
        let sample = sample();
        for (path, expected) in [
            (".spec.num", Some(json!(5))),
            ("$.spec.num", Some(json!(5))),
            (".spec.nope.more", None),
            (".spec.num.more", None),
            (".spec.nul", Some(json!(null))),
            (".spec.nul.more", None),
            (".metadata.labels.a\\.b/c", Some(json!("label"))),
            (".metadata.labels['a\\.b/c']", Some(json!("label"))),
            (".metadata.labels['a.b/c']", None),
            (".spec.list", Some(json!(["l0", "l1", "l2"]))),
            (".spec.list[*]", Some(json!("l0"))),
            (".spec.list[1]", Some(json!("l1"))),
            (".spec.list[-1]", Some(json!("l2"))),
            (".spec.list[-2]", Some(json!("l1"))),
            (".spec.list[9]", None),
            (".spec.list[-9]", None),
            (".spec.list[1:]", Some(json!("l1"))),
            (".spec.list[1:1]", None),
            (".spec.list[2:1]", None),
            (".spec.list[0:3:2]", Some(json!("l0"))),
            (".spec.list[0:3:0]", None),
            (".spec.list[0:9]", None),
            (".spec[0]", None),
            (".spec.nul[0]", None),
            ("..deep", Some(json!("here"))),
            (".spec['nope','num']", Some(json!(5))),
            (".spec.list[1,0]", Some(json!("l1"))),
            (".spec.sub.*", Some(json!("here"))),
            (".spec.objs[?(@.m>1)].name", Some(json!("o2"))),
            (".spec.objs[?(@.m>=1)].name", Some(json!("o1"))),
            (".spec.objs[?(@.m<2)].name", Some(json!("o1"))),
            (".spec.objs[?(@.m<=0)].name", None),
            (".spec.objs[?(@.m==1.0)].name", None),
            (".spec.objs[?(@.m==\"1\")].name", None),
            (".spec.objs[?(@.name!=\"o1\")].m", Some(json!(2))),
            (".spec.objs[?(@.flag)].name", Some(json!("o2"))),
            (".spec.objs[?(@.flag==false)].name", Some(json!("o2"))),
            (".spec.objs[?(@.name==o1)].name", None),
            (".spec.objs[?(@.name=\"o1\")].name", None),
            (".spec.sub[?(@.deep)]", None),
            (
                ".status.conditions[?(@.type==\"A\")].status",
                Some(json!("True")),
            ),
            (
                ".status.conditions[?(@.type=='B)')].status",
                Some(json!("False")),
            ),
            (".status.conditions[?(@.type==\"C\")].status", None),
            ("spec", None),
        ] {
            let parsed = JsonPath::parse(path).unwrap();
            let found = parsed.first(&sample).map(Cow::into_owned);
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (path, expected) in [
            (".a[", "unterminated array"),
            (".a[x]", "invalid array index x"),
            (".a[1:2:3:4]", "invalid array index 1:2:3:4"),
            (".a[?(@.b", "unterminated filter"),
            (".a[?(@.b)", "unclosed array expect ]"),
            ("....", "invalid multiple recursive descent"),
            (".a[?(@.b=~\"c\")]", "unrecognized character in action: '~'"),
            (".a,b", "unrecognized character in action: ','"),
            (".a}", "unclosed action"),
            ("'a", "unterminated quoted string"),
            ("1.2.3", "cannot parse number 1.2.3"),
        ] {
            assert_eq!(JsonPath::parse(path).unwrap_err(), expected, "{path}");
        }
    }

    #[test]
    fn a_path_does_not_grow_without_bound() {
        let mut value = json!({"a": 1});
        for _ in 0..60 {
            value = json!({"a": value});
        }
        let path = JsonPath::parse(&"..a".repeat(40)).unwrap();
        assert_eq!(path.first(&value), None);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(path in "[.a@\\[\\]?()*'\"\\\\0-9:,=<> $}é-]{0,20}") {
            if let Ok(path) = JsonPath::parse(&path) {
                let _ = path.first(&sample());
            }
        }
    }
}
