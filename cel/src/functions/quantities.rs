//! Kubernetes quantities, exact to 10^-9.

use berth_api::quantity;

use super::{Function, Returned, global, member, no_overload};
use crate::value::Value;

/// A quantity: a number of 10^-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(i128);

/// Units of one.
const ONE: i128 = 1_000_000_000;

pub(super) const FUNCTIONS: &[Function] = &[
    global("quantity", &[1], |args| match &args[0] {
        Value::String(text) => {
            let quantity = parsed(text).map(Value::Quantity);
            quantity.ok_or_else(|| "not a quantity, or too large a one".to_owned())
        }
        _ => no_overload(),
    }),
    global("isQuantity", &[1], |args| match &args[0] {
        Value::String(text) => Ok(Value::Bool(parsed(text).is_some())),
        _ => no_overload(),
    }),
    global("sign", &[1], |args| {
        of(args, |it| Ok(Value::Int(it.0.signum() as i64)))
    }),
    member("isInteger", &[1], |args| {
        of(args, |it| Ok(Value::Bool(it.integer().is_some())))
    }),
    member("asInteger", &[1], |args| {
        of(args, |it| {
            let integer = it.integer().map(Value::Int);
            integer.ok_or_else(|| "the quantity is not an integer of 64 bits".to_owned())
        })
    }),
    member("asApproximateFloat", &[1], |args| {
        of(args, |it| Ok(Value::Double(it.0 as f64 / ONE as f64)))
    }),
    member("add", &[2], |args| combined(args, i128::checked_add)),
    member("sub", &[2], |args| combined(args, i128::checked_sub)),
    member("compareTo", &[2], |args| {
        compared(args, |order| Value::Int(order as i64))
    }),
    member("isGreaterThan", &[2], |args| {
        compared(args, |order| Value::Bool(order.is_gt()))
    }),
    member("isLessThan", &[2], |args| {
        compared(args, |order| Value::Bool(order.is_lt()))
    }),
];

fn parsed(text: &str) -> Option<Quantity> {
    quantity::exact(text).map(Quantity)
}

fn of(args: &[Value], read: fn(Quantity) -> Returned) -> Returned {
    match &args[0] {
        Value::Quantity(quantity) => read(*quantity),
        _ => no_overload(),
    }
}

fn combined(args: &[Value], combine: fn(i128, i128) -> Option<i128>) -> Returned {
    let (one, other) = match args {
        [Value::Quantity(one), Value::Quantity(other)] => (one.0, other.0),
        [Value::Quantity(one), Value::Int(other)] => (one.0, i128::from(*other) * ONE),
        _ => return no_overload(),
    };
    let result = combine(one, other).map(|it| Value::Quantity(Quantity(it)));
    result.ok_or_else(|| "the quantity is too large".to_owned())
}

fn compared(args: &[Value], read: fn(std::cmp::Ordering) -> Value) -> Returned {
    match args {
        [Value::Quantity(one), Value::Quantity(other)] => Ok(read(one.cmp(other))),
        _ => no_overload(),
    }
}

// === impl Quantity ===

impl Quantity {
    fn integer(self) -> Option<i64> {
        let is_whole = self.0 % ONE == 0;
        is_whole.then(|| i64::try_from(self.0 / ONE).ok()).flatten()
    }
}
