//! Which expressions are allowed, and where they are metered.

use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
use jaq_core::load::parse::{BinaryOp, Parser, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};

/// The longest expression in bytes.
const MAX_LENGTH: usize = 512;
/// The most tokens. The parser may call itself for each of them.
const MAX_TOKENS: usize = 128;
/// The deepest nesting of parentheses, and of parts in the parsed expression.
const MAX_DEPTH: usize = 24;
/// Functions by name and number of arguments.
const ALLOWED: &[(&str, usize)] = &[
    ("all", 0),
    ("all", 1),
    ("all", 2),
    ("any", 0),
    ("any", 1),
    ("any", 2),
    ("arrays", 0),
    ("ascii_downcase", 0),
    ("booleans", 0),
    ("contains", 1),
    ("empty", 0),
    ("endswith", 1),
    ("false", 0),
    ("first", 0),
    ("first", 1),
    ("getpath", 1),
    ("has", 1),
    ("isempty", 1),
    ("iterables", 0),
    ("keys", 0),
    ("last", 0),
    ("last", 1),
    ("length", 0),
    ("ltrimstr", 1),
    ("map", 1),
    ("not", 0),
    ("null", 0),
    ("nulls", 0),
    ("numbers", 0),
    ("objects", 0),
    ("recurse", 0),
    ("rtrimstr", 1),
    ("scalars", 0),
    ("select", 1),
    ("startswith", 1),
    ("strings", 0),
    ("test", 1),
    ("tostring", 0),
    ("true", 0),
    ("type", 0),
    ("values", 0),
];
/// Functions whose argument must be a literal.
const LITERAL: [&str; 2] = ["contains", "test"];

/// Parses an expression, within bounds that keep the parser's recursion small.
pub(super) fn parse(expression: &str) -> Result<Term<&str>, String> {
    if expression.len() > MAX_LENGTH {
        return Err(format!("it is longer than {MAX_LENGTH} bytes"));
    }
    let mut depth = 0_usize;
    for c in expression.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply".to_owned());
        }
    }
    let broken = || "it is not a jq expression".to_owned();
    let tokens = Lexer::new(expression).lex().map_err(|_| broken())?;
    if count(&tokens) > MAX_TOKENS {
        return Err("it has too many parts".to_owned());
    }
    Parser::new(&tokens)
        .parse(Parser::term)
        .map_err(|_| broken())
}

/// The number of tokens, those in parentheses and strings included.
fn count(tokens: &[Token<&str>]) -> usize {
    let inner = |Token(_, kind): &Token<&str>| match kind {
        Tok::Block(tokens) => count(tokens),
        Tok::Str(parts) => parts
            .iter()
            .map(|part| match part {
                StrPart::Term(token) => count(std::slice::from_ref(token)),
                StrPart::Str(_) | StrPart::Char(_) => 0,
            })
            .sum(),
        _ => 0,
    };
    tokens.len() + tokens.iter().map(inner).sum::<usize>()
}

/// Puts a call of `metered` behind an expression and all its parts.
///
/// # Errors
/// A part is not allowed.
pub(super) fn metered(term: Term<&str>, depth: usize) -> Result<Term<&str>, String> {
    if depth > MAX_DEPTH {
        return Err("it is nested too deeply".to_owned());
    }
    let inner = |term| metered(term, depth + 1);
    let boxed = |term: Box<Term<_>>| inner(*term).map(Box::new);
    let term = match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Var(_) | Term::Arr(None) => term,
        Term::Str(None, parts) => {
            let parts = parts.into_iter().map(|part| {
                Ok(match part {
                    StrPart::Term(term) => StrPart::Term(inner(term)?),
                    part => part,
                })
            });
            Term::Str(None, parts.collect::<Result<_, String>>()?)
        }
        Term::Arr(Some(term)) => Term::Arr(Some(boxed(term)?)),
        Term::Neg(term) => Term::Neg(boxed(term)?),
        Term::TryCatch(body, catch) => Term::TryCatch(boxed(body)?, catch.map(boxed).transpose()?),
        Term::IfThenElse(branches, otherwise) => {
            let branches = branches
                .into_iter()
                .map(|(condition, then)| Ok((inner(condition)?, inner(then)?)));
            Term::IfThenElse(
                branches.collect::<Result<_, String>>()?,
                otherwise.map(boxed).transpose()?,
            )
        }
        Term::BinOp(left, op, right) => {
            match &op {
                BinaryOp::Pipe(None | Some(Pattern::Var(_)))
                | BinaryOp::Comma
                | BinaryOp::Alt
                | BinaryOp::Or
                | BinaryOp::And
                | BinaryOp::Cmp(_)
                | BinaryOp::Math(Math::Add | Math::Sub) => {}
                _ => {
                    return Err(
                        "assignments, arithmetic and destructuring are not allowed".to_owned()
                    );
                }
            }
            Term::BinOp(boxed(left)?, op, boxed(right)?)
        }
        Term::Call(name, args) => {
            if !ALLOWED.contains(&(name, args.len())) {
                return Err(format!("the function {name}/{} is not allowed", args.len()));
            }
            if LITERAL.contains(&name) && !args.iter().all(is_literal) {
                return Err(format!(
                    "the argument of {name} must be a string or a number"
                ));
            }
            let args = args.into_iter().map(inner).collect::<Result<_, _>>()?;
            Term::Call(name, args)
        }
        Term::Path(head, Path(parts)) => {
            // Fields are not metered, because they are literals.
            let index = |term: Term<_>| match term {
                Term::Str(None, _) | Term::Num(_) if is_literal(&term) => Ok(term),
                term => inner(term),
            };
            let parts = parts.into_iter().map(|(part, opt)| {
                let part = match part {
                    Part::Index(at) => Part::Index(index(at)?),
                    Part::Range(from, to) => {
                        Part::Range(from.map(index).transpose()?, to.map(index).transpose()?)
                    }
                };
                Ok((part, opt))
            });
            let parts = parts.collect::<Result<_, String>>()?;
            Term::Path(boxed(head)?, Path(parts))
        }
        _ => {
            return Err(
                "definitions, loops, formats, labels and objects are not allowed".to_owned(),
            );
        }
    };
    let call = Term::Call("metered", Vec::new());
    Ok(Term::BinOp(
        Box::new(term),
        BinaryOp::Pipe(None),
        Box::new(call),
    ))
}

/// Is it a number, or a string without interpolation?
fn is_literal(term: &Term<&str>) -> bool {
    match term {
        Term::Num(_) => true,
        Term::Str(None, parts) => !parts.iter().any(|part| matches!(part, StrPart::Term(_))),
        _ => false,
    }
}
