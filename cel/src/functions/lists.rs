//! Kubernetes' functions of lists.

use std::cmp::Ordering;

use super::{Function, Returned, member, no_overload};
use crate::eval::add;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    member("isSorted", &[1], is_sorted),
    member("sum", &[1], sum),
    member("min", &[1], |args| extreme(args, Ordering::Less)),
    member("max", &[1], |args| extreme(args, Ordering::Greater)),
    member("indexOf", &[2], |args| index(args, false)),
    member("lastIndexOf", &[2], |args| index(args, true)),
];

fn items(args: &[Value]) -> Result<&[Value], String> {
    match &args[0] {
        Value::List(items) => Ok(items),
        _ => no_overload(),
    }
}

fn is_sorted(args: &[Value]) -> Returned {
    // What has no order does not break it.
    let mut pairs = items(args)?.windows(2);
    let is_broken = pairs.any(|pair| pair[0].compare(&pair[1]) == Some(Ordering::Greater));
    Ok(Value::Bool(!is_broken))
}

fn sum(args: &[Value]) -> Returned {
    let mut items = items(args)?.iter();
    let Some(first) = items.next() else {
        return Ok(Value::Int(0));
    };
    match first {
        Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_) => {}
        _ => return no_overload(),
    }
    items.try_fold(first.clone(), |sum, item| add(&sum, item))
}

fn extreme(args: &[Value], wanted: Ordering) -> Returned {
    let mut items = items(args)?.iter();
    let mut best = items.next().ok_or("the list is empty")?;
    for item in items {
        match item.compare(best) {
            None => return no_overload(),
            Some(order) if order == wanted => best = item,
            Some(_) => {}
        }
    }
    Ok(best.clone())
}

fn index(args: &[Value], is_last: bool) -> Returned {
    let mut items = items(args)?.iter();
    let equals = |item: &Value| item.equals(&args[1]);
    let found = if is_last {
        items.rposition(equals)
    } else {
        items.position(equals)
    };
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}
