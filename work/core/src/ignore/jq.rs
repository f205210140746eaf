//! jq path expressions, within bounds.
//!
//! A user of the hub writes the expression, and it runs in the agent. So it is a path expression only: functions that
//! select and compare, without definitions, loops, assignments and arithmetic. And it has a budget: each value that a part of the
//! expression returns costs its size. A call `metered` is put behind each part of the parsed expression for that.

mod bounds;

use std::cell::{Cell, RefCell};

use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::data::HasLut;
use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::native::v;
use jaq_core::{Ctx, DataT, Error, Exn, Lut, Native, ValX, Vars, unwrap_valr};
use jaq_json::Val;
use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::budget::Budget;
use super::{Step, position};
use bounds::{metered, parse};

/// What an expression may cost: values that are passed on, each with the values in it.
const BUDGET: usize = 1_000_000;
/// The most paths.
const MAX_PATHS: usize = 10_000;

/// The largest compiled regular expression in bytes.
const MAX_PATTERN: usize = 256 << 10;

/// Functions of jq that are defined by others. jaq defines them for all of its functions together, which are more than needed here.
const DEFINITIONS: &str = r#"
def null: [][0];
def isboolean: . == true or . == false;
def isnumber: . > true and . < "";
def isstring: . >= "" and . < [];
def isarray: . >= [] and . < {};
def isobject: . >= {};
def type:
    if . == null then "null"
  elif isboolean then "boolean"
  elif . < "" then "number"
  elif . < [] then "string"
  elif . < {} then "array"
  else "object" end;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(isboolean);
def numbers: select(isnumber);
def strings: select(isstring);
def arrays: select(isarray);
def objects: select(isobject);
def iterables: select(. >= []);
def scalars: select(. < []);
def keys: keys_unsorted | sort;
"#;

/// Returns the paths that an expression selects, so that they can be removed one after another. What it costs is taken from the budget of
/// the manifest.
///
/// # Errors
/// The expression is not allowed, fails or exceeds its bounds, or the budget.
pub(super) fn paths(
    expression: &str,
    object: &Value,
    budget: &mut Budget,
) -> Result<Vec<Vec<Step>>, String> {
    let granted = BUDGET.min(budget.left());
    let left = Cell::new(granted);
    let paths = selected(expression, object, &left);
    budget.charge(granted - left.get())?;
    paths
}

fn selected(
    expression: &str,
    object: &Value,
    left: &Cell<usize>,
) -> Result<Vec<Vec<Step>>, String> {
    let term = parse(expression)?;
    let ignored = Def {
        name: "ignored",
        args: Vec::new(),
        body: metered(term, 0)?,
    };
    let own = jaq_core::load::parse(DEFINITIONS, |parser| parser.defs()).unwrap_or_default();
    let defs = jaq_core::defs().chain(own).map(shortened);
    let arena = Arena::default();
    let program = File {
        code: "path(ignored)",
        path: (),
    };
    let modules = Loader::new(defs.chain([ignored]))
        .load(&arena, program)
        .map_err(|_| "it is not a jq expression".to_owned())?;
    let funs = jaq_core::funs()
        .chain(jaq_std::base_funs())
        .chain(jaq_json::funs())
        .chain([
            ("metered", v(0), meter()),
            ("test", v(1), Native::<Metered>::new(test)),
        ]);
    let filter = jaq_core::Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(|_| "it uses a variable or a function that does not exist".to_owned())?;
    let data = Data {
        lut: &filter.lut,
        left,
        pattern: RefCell::new(None),
    };
    let input: Val = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let ctx = Ctx::<Metered>::new(&data, Vars::new([]));
    let mut paths = Vec::new();
    for path in filter.id.run((ctx, input)).map(unwrap_valr) {
        // An expression can catch the error, so the budget itself is looked at.
        if left.get() == 0 || paths.len() == MAX_PATHS {
            return Err(exceeded());
        }
        let path = path.map_err(|error| super::cut_text(&error.to_string()))?;
        paths.extend(steps(&path, object));
    }
    if left.get() == 0 {
        return Err(exceeded());
    }
    // Later items first, so that positions stay as they are.
    paths.sort_by(|a, b| order(a, b).reverse());
    paths.dedup();
    Ok(paths)
}

/// Definitions that live as long as the expression.
fn shortened<'s>(definition: Def<&'static str>) -> Def<&'s str> {
    definition
}

fn exceeded() -> String {
    "it exceeds its budget: select fewer fields".to_owned()
}

fn order(a: &[Step], b: &[Step]) -> std::cmp::Ordering {
    let key = |step: &Step| match step {
        Step::Index(index) => (0, *index, String::new()),
        Step::Field(name) => (1, 0, name.clone()),
        Step::All => (2, 0, String::new()),
    };
    a.iter().map(key).cmp(b.iter().map(key))
}

/// A path as steps; `None` if nothing is there.
fn steps(path: &Val, object: &Value) -> Vec<Vec<Step>> {
    let Val::Arr(parts) = path else {
        return Vec::new();
    };
    let mut all: Vec<(Vec<Step>, &Value)> = vec![(Vec::new(), object)];
    for part in parts.iter() {
        let mut next = Vec::new();
        for (steps, value) in all {
            for (step, value) in below(part, value) {
                let mut steps = steps.clone();
                steps.push(step);
                next.push((steps, value));
            }
        }
        all = next;
    }
    all.into_iter().map(|(steps, _)| steps).collect()
}

/// What a part of a path selects of a value: a field, an item, or a range of items.
fn below<'v>(part: &Val, value: &'v Value) -> Vec<(Step, &'v Value)> {
    let integer = |part: &Val| part.to_string().parse::<i64>().ok();
    match (part, value) {
        (Val::TStr(name) | Val::BStr(name), Value::Object(object)) => {
            let name = String::from_utf8_lossy(name).into_owned();
            let found = object.get(&name).map(|value| (Step::Field(name), value));
            found.into_iter().collect()
        }
        (Val::Num(_), Value::Array(items)) => {
            let index = integer(part).and_then(|index| position(index, items.len()));
            let found = index.and_then(|index| Some((item(index)?, items.get(index)?)));
            found.into_iter().collect()
        }
        (Val::Obj(range), Value::Array(items)) => {
            let end = |name: &str, default: usize| {
                let bound = range
                    .iter()
                    .find(|(key, _)| matches!(key, Val::TStr(key) if key[..] == *name.as_bytes()));
                let bound = bound.and_then(|(_, value)| integer(value));
                bound.map_or(default, |index| {
                    position(index, items.len()).unwrap_or(0).min(items.len())
                })
            };
            let (from, to) = (end("start", 0), end("end", items.len()));
            let range = from..to.max(from);
            range
                .filter_map(|index| Some((item(index)?, items.get(index)?)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn item(index: usize) -> Option<Step> {
    i64::try_from(index).ok().map(Step::Index)
}

/// Values, functions, and what is left of the budget.
struct Metered;

impl DataT for Metered {
    type V<'a> = Val;
    type Data<'a> = &'a Data<'a>;
}

struct Data<'a> {
    lut: &'a Lut<Metered>,
    left: &'a Cell<usize>,
    /// The last regular expression, compiled.
    pattern: RefCell<Option<(Vec<u8>, Regex)>>,
}

impl<'a> HasLut<'a, Metered> for &'a Data<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        self.lut
    }
}

/// A context and an input.
type Cv<'a> = (Ctx<'a, Metered>, Val);

// === impl Data ===

impl Data<'_> {
    fn matches(&self, pattern: &[u8], text: &[u8]) -> Result<bool, Error<Val>> {
        let mut last = self.pattern.borrow_mut();
        if last
            .as_ref()
            .is_none_or(|(compiled, _)| compiled != pattern)
        {
            let compiled = RegexBuilder::new(&String::from_utf8_lossy(pattern))
                .size_limit(MAX_PATTERN)
                .dfa_size_limit(MAX_PATTERN)
                .build()
                .map_err(|_| Error::str("the regular expression is invalid or too large"))?;
            *last = Some((pattern.to_vec(), compiled));
        }
        Ok(last
            .as_ref()
            .is_some_and(|(_, compiled)| compiled.is_match(text)))
    }

    /// Takes the cost of a value from the budget.
    fn charge<'a>(&self, value: &Val) -> Result<(), Exn<'a, Val>> {
        let left = self.left.get();
        let cost = size(value, left);
        self.left.set(left.saturating_sub(cost));
        if cost >= left {
            return Err(Exn::from(Error::str("budget exceeded")));
        }
        Ok(())
    }
}

/// The native filter `test`: does a text match a regular expression?
fn test<'a>(mut cv: Cv<'a>) -> BoxIter<'a, ValX<'a, Val>> {
    let pattern = cv.0.pop_var();
    let matched = match (&cv.1, &pattern) {
        (Val::TStr(text), Val::TStr(pattern)) => cv.0.data().matches(pattern, text),
        _ => Err(Error::str("only a string can be matched")),
    };
    box_once(matched.map(Val::from).map_err(Exn::from))
}

/// The native filter `metered`: passes its input on, with its path.
fn meter() -> Native<Metered> {
    fn run<'a>((ctx, value): Cv<'a>) -> BoxIter<'a, ValX<'a, Val>> {
        box_once(ctx.data().charge(&value).map(|()| value))
    }
    let meter = Native::<Metered>::new(run);
    meter.with_paths(|(ctx, (value, path))| {
        box_once(ctx.data().charge(&value).map(|()| (value, path)))
    })
}

/// The number of values in a value, and a part of their text; not more than `most`.
fn size(value: &Val, most: usize) -> usize {
    if most == 0 {
        return 0;
    }
    let text = |bytes: usize| 1 + bytes / 32;
    let mut sum = match value {
        Val::TStr(text_) | Val::BStr(text_) => text(text_.len()),
        _ => 1,
    };
    match value {
        Val::Arr(items) => {
            for item in items.iter() {
                sum += size(item, most.saturating_sub(sum));
                if sum >= most {
                    return most;
                }
            }
        }
        Val::Obj(object) => {
            for (key, value) in object.iter() {
                sum += size(key, most.saturating_sub(sum));
                sum += size(value, most.saturating_sub(sum));
                if sum >= most {
                    return most;
                }
            }
        }
        _ => {}
    }
    sum.min(most)
}
