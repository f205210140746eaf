//! What an expression may cost, estimated from its shape alone.

use super::Expression;
use super::parse::{Expr, MacroKind, Operator};
use super::value::Value;

/// The items of lists of which the expression does not say how many they have.
pub const ASSUMED_ITEMS: u64 = 20;

impl Expression {
    /// Roughly the steps that an evaluation takes at most. Lists that are not written in the expression count [`ASSUMED_ITEMS`] items, or as
    /// many as the longest one that is written in it. It is an estimate: long values of a host take more.
    #[must_use]
    pub fn estimated_steps(&self) -> u64 {
        steps(&self.root, widest(&self.root).max(ASSUMED_ITEMS))
    }
}

/// The items of the longest list that is written in the expression.
fn widest(expr: &Expr) -> u64 {
    let below = parts(expr).into_iter().map(widest).max();
    written(expr)
        .unwrap_or_default()
        .max(below.unwrap_or_default())
}

/// `other`: the items of lists of which the expression does not say how many they have.
fn steps(expr: &Expr, other: u64) -> u64 {
    let sum = |parts: Vec<&Expr>| {
        let steps = parts.into_iter().map(|it| steps(it, other));
        steps.fold(1, u64::saturating_add)
    };
    let Expr::Macro(it) = expr else {
        return sum(parts(expr));
    };
    let times = match it.kind {
        MacroKind::OptMap | MacroKind::OptFlatMap => 1,
        _ => items(&it.of, other),
    };
    let each = sum([&it.body].into_iter().chain(&it.value).collect());
    sum(vec![&it.of]).saturating_add(times.saturating_mul(each))
}

/// The items of a value that a macro goes through.
fn items(expr: &Expr, other: u64) -> u64 {
    match expr {
        Expr::Binary(Operator::Add, left, right) => {
            items(left, other).saturating_add(items(right, other))
        }
        Expr::Macro(it) if matches!(it.kind, MacroKind::Map | MacroKind::Filter) => {
            items(&it.of, other)
        }
        Expr::Conditional(parts) => items(&parts[1], other).max(items(&parts[2], other)),
        // Such as the parts of a text.
        Expr::Call {
            target: Some(target),
            ..
        } => match &**target {
            Expr::Literal(Value::String(text)) => (text.len() as u64).max(other),
            _ => other,
        },
        expr => written(expr).unwrap_or(other),
    }
}

/// The items of a list or a map that is written in the expression.
fn written(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::List(items) => Some(items.len() as u64),
        Expr::Map(entries) => Some(entries.len() as u64),
        _ => None,
    }
}

/// The expressions that an expression consists of.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Name(_) => Vec::new(),
        Expr::Select { of, .. } | Expr::Has { of, .. } | Expr::Not(of) | Expr::Negative(of) => {
            vec![of]
        }
        Expr::Index { of, at, .. } => vec![of, at],
        Expr::Binary(_, left, right) => vec![left, right],
        Expr::All(parts) | Expr::Any(parts) => parts.iter().collect(),
        Expr::Conditional(parts) => parts.iter().collect(),
        Expr::List(items) => items.iter().map(|(it, _)| it).collect(),
        Expr::Map(entries) => (entries.iter())
            .flat_map(|(key, value, _)| [key, value])
            .collect(),
        Expr::Macro(it) => [&it.of, &it.body].into_iter().chain(&it.value).collect(),
        Expr::Call { target, args, .. } => target.as_deref().into_iter().chain(args).collect(),
    }
}
