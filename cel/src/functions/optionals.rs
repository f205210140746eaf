//! Optional values.

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    global("optional.of", &[1], |args| {
        Ok(Value::optional(Some(args[0].clone())))
    }),
    global("optional.none", &[0], |_| Ok(Value::optional(None))),
    global("optional.ofNonZeroValue", &[1], |args| {
        let value = Some(args[0].clone());
        Ok(Value::optional(value.filter(|value| !value.is_zero())))
    }),
    member("hasValue", &[1], |args| match &args[0] {
        Value::Optional(value) => Ok(Value::Bool(value.is_some())),
        _ => no_overload(),
    }),
    member("value", &[1], |args| match &args[0] {
        Value::Optional(Some(value)) => Ok(Value::clone(value)),
        Value::Optional(None) => Err("an optional value is absent".to_owned()),
        _ => no_overload(),
    }),
    member("or", &[2], |args| match args {
        [Value::Optional(Some(_)), Value::Optional(_)] => Ok(args[0].clone()),
        [Value::Optional(None), Value::Optional(_)] => Ok(args[1].clone()),
        _ => no_overload(),
    }),
    member("orValue", &[2], or_value),
    member("first", &[1], |args| end(args, <[Value]>::first)),
    member("last", &[1], |args| end(args, <[Value]>::last)),
];

fn or_value(args: &[Value]) -> Returned {
    match args {
        [Value::Optional(Some(value)), _] => Ok(Value::clone(value)),
        [Value::Optional(None), other] => Ok(other.clone()),
        _ => no_overload(),
    }
}

/// The first or the last item of a list, if it has one.
fn end(args: &[Value], end: fn(&[Value]) -> Option<&Value>) -> Returned {
    match &args[0] {
        Value::List(items) => Ok(Value::optional(end(items).cloned())),
        _ => no_overload(),
    }
}
