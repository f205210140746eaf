//! Kubernetes' functions of lists.

use std::cmp::Ordering;

use super::{Function, Returned, no_overload, priced};
use crate::failure::{Evaluated, EvaluationError, charge};
use crate::operators::add;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    priced("isSorted", &[1], |args, steps| {
        charged(args, steps, is_sorted)
    }),
    priced("sum", &[1], |args, steps| charged(args, steps, sum)),
    priced("min", &[1], |args, steps| {
        charged(args, steps, |args| extreme(args, Ordering::Less))
    }),
    priced("max", &[1], |args, steps| {
        charged(args, steps, |args| extreme(args, Ordering::Greater))
    }),
    priced("indexOf", &[2], |args, steps| index(args, false, steps)),
    priced("lastIndexOf", &[2], |args, steps| index(args, true, steps)),
];

/// Compares the items. Only those without parts have an order, or a sum.
fn charged(args: &[Value], steps: &mut u64, run: fn(&[Value]) -> Returned) -> Evaluated {
    for item in items(args)? {
        charge(steps, item.size() - 1)?;
    }
    Ok(run(args)?)
}

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

fn index(args: &[Value], is_last: bool, steps: &mut u64) -> Evaluated {
    let items = items(args)?;
    let mut numbers = 0..items.len();
    while let Some(number) = if is_last {
        numbers.next_back()
    } else {
        numbers.next()
    } {
        let is_equal = items[number].equals_within(&args[1], steps);
        if is_equal.ok_or(EvaluationError::TooCostly)? {
            return Ok(Value::Int(number as i64));
        }
    }
    Ok(Value::Int(-1))
}
