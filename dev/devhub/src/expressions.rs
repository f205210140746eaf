//! CEL in devhub, for matchConditions of webhooks and rules of CustomResourceDefinitions: the standard functions, and those of
//! strings.
//!
//! An expression with an unknown variable or function is refused when it is written, so that its evaluation never fails for it.
//! Types, fields and costs are not checked.

use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Env, Program, extensions};

/// Longer expressions are refused; Kubernetes' own limit, of the estimated cost, is not far from it.
const MAX_LENGTH: usize = 16 * 1024;
/// Trees deeper than this are refused: evaluation is recursive, and takes up to 16 KiB of stack for each step. (`&&` and `||`
/// make balanced trees.)
const MAX_DEPTH: usize = 40;
/// Address space, of which only expressions that are refused in the end use much.
const PARSER_STACK: usize = 64 * 1024 * 1024;
/// Functions that both Kubernetes and devhub have. Operators have names that no function has, and are all there.
const FUNCTIONS: &str = "bool bytes charAt contains double dyn endsWith format hasValue indexOf int join lastIndexOf lowerAscii \
    matches none of ofNonZeroValue or orValue replace size split startsWith string substring trim type uint upperAscii value";
/// Names of types, which are values in CEL, and of what functions are in.
const CONSTANTS: &str =
    "bool bytes double dyn int list map null_type optional string strings type uint";

/// What expressions can use.
pub(crate) static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    env.set_error_on_duplicate_map_keys(false);
    // Declared once and on a fresh environment, it cannot collide with anything.
    let _ = env.add_extension(extensions::strings);
    Arc::new(env)
});

/// Compiles an expression that may use these variables.
///
/// # Errors
/// It is not CEL, is too large, or uses what devhub does not have.
pub(crate) fn compile(expression: &str, variables: &[&str]) -> Result<Program, String> {
    if expression.trim().is_empty() {
        return Err("expression must not be empty".to_owned());
    }
    if expression.len() > MAX_LENGTH {
        return Err(format!(
            "devhub's CEL takes expressions of at most {MAX_LENGTH} bytes"
        ));
    }
    // The parser is recursive: a thread of its own has a stack that is large enough for the longest expression.
    let program = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(PARSER_STACK)
            .spawn_scoped(scope, || ENV.compile(expression))
            .map_err(|error| format!("no thread for the parser: {error}"))?;
        let program = thread.join().map_err(|_| "the parser failed".to_owned())?;
        program.map_err(|errors| format!("compilation failed: {errors}"))
    })?;
    if depth(program.expression()) > MAX_DEPTH {
        return Err(format!(
            "devhub's CEL takes expressions nested at most {MAX_DEPTH} deep"
        ));
    }
    let mut known: Vec<&str> = CONSTANTS
        .split(' ')
        .chain(variables.iter().copied())
        .collect();
    match unknown(program.expression(), &mut known) {
        None => Ok(program),
        Some(name) => Err(format!(
            "compilation failed: undeclared reference to '{name}'"
        )),
    }
}

/// How deep the tree is, found without recursion.
fn depth(root: &IdedExpr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 1)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        open.extend(children(node).into_iter().map(|child| (child, depth + 1)));
    }
    deepest
}

fn children(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::Comprehension(it) => vec![
            &it.iter_range,
            &it.accu_init,
            &it.loop_cond,
            &it.loop_step,
            &it.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|it| entry(&it.expr)).collect(),
        Expr::Struct(it) => it.entries.iter().flat_map(|it| entry(&it.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
    }
}

fn entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The first name that means nothing. `known` are the variables where the expression is.
fn unknown<'a>(node: &'a IdedExpr, known: &mut Vec<&'a str>) -> Option<&'a str> {
    let outer = known.len();
    match &node.expr {
        Expr::Ident(name) if !known.contains(&name.as_str()) => return Some(name),
        Expr::Struct(it) => return Some(&it.type_name),
        Expr::Call(call) => {
            // `optional.of` is `of`.
            let name = call.func_name.rsplit('.').next().unwrap_or_default();
            let is_function = name.starts_with(|c: char| c.is_ascii_alphabetic());
            if is_function && !FUNCTIONS.split_whitespace().any(|known| known == name) {
                return Some(&call.func_name);
            }
        }
        Expr::Comprehension(it) => {
            // The range and the start are outside of the loop.
            if let Some(name) = unknown(&it.iter_range, known) {
                return Some(name);
            }
            known.push(&it.iter_var);
            known.extend(it.iter_var2.as_deref());
            known.push(&it.accu_var);
            let inner = [&it.accu_init, &it.loop_cond, &it.loop_step, &it.result];
            let found = inner.into_iter().find_map(|part| unknown(part, known));
            known.truncate(outer);
            return found;
        }
        _ => {}
    }
    children(node)
        .into_iter()
        .find_map(|child| unknown(child, known))
}
