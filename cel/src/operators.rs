//! The operators of values, apart from equality and `in`, which are charged while they compare.

use super::failure::{Evaluated, EvaluationError, error};
use super::functions::NO_OVERLOAD;
use super::parse::Operator;
use super::value::Value;

pub(super) fn negative(value: &Value) -> Evaluated {
    match value {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => error(NO_OVERLOAD),
    }
}

fn overflow() -> EvaluationError {
    EvaluationError::Error("integer overflow".to_owned())
}

pub(super) fn binary(operator: Operator, left: &Value, right: &Value) -> Evaluated {
    let compared = |test: fn(std::cmp::Ordering) -> bool| match left.compare(right) {
        Some(order) => Ok(Value::Bool(test(order))),
        None => error(NO_OVERLOAD),
    };
    match operator {
        // They are charged by what they compare.
        Operator::Equal | Operator::NotEqual | Operator::In => error(NO_OVERLOAD),
        Operator::Less => compared(std::cmp::Ordering::is_lt),
        Operator::LessOrEqual => compared(std::cmp::Ordering::is_le),
        Operator::Greater => compared(std::cmp::Ordering::is_gt),
        Operator::GreaterOrEqual => compared(std::cmp::Ordering::is_ge),
        Operator::Add => Ok(add(left, right)?),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => match (left, right) {
            (Value::Int(a), Value::Int(b)) => {
                a.checked_mul(*b).map(Value::Int).ok_or_else(overflow)
            }
            (Value::Uint(a), Value::Uint(b)) => {
                a.checked_mul(*b).map(Value::Uint).ok_or_else(overflow)
            }
            (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
            _ => error(NO_OVERLOAD),
        },
        Operator::Divide => match (left, right) {
            (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
                error("division by zero")
            }
            (Value::Int(a), Value::Int(b)) => {
                a.checked_div(*b).map(Value::Int).ok_or_else(overflow)
            }
            (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a / b)),
            (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
            _ => error(NO_OVERLOAD),
        },
        Operator::Remainder => match (left, right) {
            (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
                error("division by zero")
            }
            (Value::Int(a), Value::Int(b)) => {
                a.checked_rem(*b).map(Value::Int).ok_or_else(overflow)
            }
            (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a % b)),
            _ => error(NO_OVERLOAD),
        },
    }
}

/// The sum of two numbers, or two texts or lists behind one another.
pub(super) fn add(left: &Value, right: &Value) -> Result<Value, String> {
    let sum = match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int),
        (Value::Uint(a), Value::Uint(b)) => a.checked_add(*b).map(Value::Uint),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a + b)),
        (Value::Duration(a), Value::Duration(b)) => a.checked_add(*b).map(Value::Duration),
        (Value::Timestamp(time), Value::Duration(duration))
        | (Value::Duration(duration), Value::Timestamp(time)) => {
            time.checked_add(*duration).ok().map(Value::Timestamp)
        }
        (Value::String(a), Value::String(b)) => Some(Value::from(format!("{a}{b}").as_str())),
        (Value::Bytes(a), Value::Bytes(b)) => Some(Value::Bytes([&a[..], &b[..]].concat().into())),
        (Value::List(a), Value::List(b)) => Some(Value::list(a.iter().chain(b.iter()).cloned())),
        _ => return Err(NO_OVERLOAD.to_owned()),
    };
    sum.ok_or_else(|| "integer overflow".to_owned())
}

fn subtract(left: &Value, right: &Value) -> Evaluated {
    let difference = match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map(Value::Int),
        (Value::Uint(a), Value::Uint(b)) => a.checked_sub(*b).map(Value::Uint),
        (Value::Double(a), Value::Double(b)) => Some(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => a.checked_sub(*b).map(Value::Duration),
        (Value::Timestamp(a), Value::Duration(b)) => a.checked_sub(*b).ok().map(Value::Timestamp),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(Value::Duration(a.duration_since(*b))),
        _ => return error(NO_OVERLOAD),
    };
    difference.ok_or_else(overflow)
}
