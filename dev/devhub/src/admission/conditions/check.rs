//! What can be said about an expression before it is evaluated.
//!
//! kube-apiserver checks types; the `cel` crate does not. Checked here are the names an expression uses, and the type of
//! its result as far as it is plain.

use cel::Program;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::ENV;

/// Longer expressions are refused; Kubernetes' own limit, of the estimated cost, is not far from it.
const MAX_LENGTH: usize = 16 * 1024;
/// Trees deeper than this are refused: evaluation is recursive, and takes up to 16 KiB of stack for each step. (`&&` and `||`
/// make balanced trees.)
const MAX_DEPTH: usize = 40;
/// Address space, of which only expressions that are refused in the end use much.
const PARSER_STACK: usize = 64 * 1024 * 1024;

const VARIABLES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];

/// Fields of the variable `request`, and of what is below them.
const REQUEST: [(&str, &[&str]); 12] = [
    ("kind", &["group", "version", "kind"]),
    ("resource", &["group", "version", "resource"]),
    ("subResource", &[]),
    ("requestKind", &["group", "version", "kind"]),
    ("requestResource", &["group", "version", "resource"]),
    ("requestSubResource", &[]),
    ("name", &[]),
    ("namespace", &[]),
    ("operation", &[]),
    ("userInfo", &["username", "uid", "groups", "extra"]),
    ("dryRun", &[]),
    ("options", &[]),
];

const TYPES: [&str; 11] = [
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// Functions that the environment has, with what they return. A test calls each of them.
const FUNCTIONS: [(&str, &str); 49] = [
    ("_?_:_", "dyn"),
    ("_&&_", "bool"),
    ("_||_", "bool"),
    ("!_", "bool"),
    ("_==_", "bool"),
    ("_!=_", "bool"),
    ("_<_", "bool"),
    ("_<=_", "bool"),
    ("_>_", "bool"),
    ("_>=_", "bool"),
    ("@in", "bool"),
    ("@not_strictly_false", "bool"),
    ("_+_", "dyn"),
    ("_-_", "dyn"),
    ("_*_", "dyn"),
    ("_/_", "dyn"),
    ("_%_", "dyn"),
    ("-_", "dyn"),
    ("_[_]", "dyn"),
    ("_[?_]", "optional_type"),
    ("_?._", "optional_type"),
    ("size", "int"),
    ("contains", "bool"),
    ("startsWith", "bool"),
    ("endsWith", "bool"),
    ("matches", "bool"),
    ("bool", "bool"),
    ("bytes", "bytes"),
    ("double", "double"),
    ("dyn", "dyn"),
    ("int", "int"),
    ("string", "string"),
    ("type", "type"),
    ("uint", "uint"),
    ("hasValue", "bool"),
    ("value", "dyn"),
    ("or", "optional_type"),
    ("orValue", "dyn"),
    ("charAt", "string"),
    ("indexOf", "int"),
    ("lastIndexOf", "int"),
    ("join", "string"),
    ("lowerAscii", "string"),
    ("upperAscii", "string"),
    ("replace", "string"),
    ("split", "list"),
    ("substring", "string"),
    ("trim", "string"),
    ("format", "string"),
];

/// Functions whose result has the type of their operands.
const ARITHMETIC: [&str; 6] = ["_+_", "_-_", "_*_", "_/_", "_%_", "-_"];

/// Functions in namespaces. None of them makes a condition.
const NAMESPACED: [&str; 4] = [
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "strings.quote",
];

/// What is wrong with a matchCondition's expression, as the detail of a field error.
///
/// # Errors
/// It is no CEL, uses what is not there, or is no condition.
pub(crate) fn check_condition(expression: &str) -> Result<(), String> {
    compile(expression).map(drop)
}

/// A program that is known to be within what [`check_condition`] allows.
pub(super) fn compile(expression: &str) -> Result<Program, String> {
    if expression.trim().is_empty() {
        return Err("expression must not be empty".to_owned());
    }
    if expression.len() > MAX_LENGTH {
        return Err(format!(
            "devhub's CEL takes expressions of at most {MAX_LENGTH} bytes"
        ));
    }
    // The parser is recursive: a thread of its own has a stack that is large enough for the longest expression.
    std::thread::scope(|scope| {
        let parse = || parse(expression);
        let thread = std::thread::Builder::new()
            .stack_size(PARSER_STACK)
            .spawn_scoped(scope, parse)
            .map_err(|error| format!("no thread for the parser: {error}"))?;
        let died = |_| Err("the parser failed".to_owned());
        thread.join().unwrap_or_else(died)
    })
}

fn parse(expression: &str) -> Result<Program, String> {
    let program = ENV
        .compile(expression)
        .map_err(|errors| format!("compilation failed: {errors}").replace("\n| ", "\n | "))?;
    if depth(program.expression()) > MAX_DEPTH {
        return Err(format!(
            "devhub's CEL takes expressions nested at most {MAX_DEPTH} deep"
        ));
    }
    let mut walk = Walk {
        program: &program,
        bound: Vec::new(),
    };
    walk.expression(program.expression())
        .map_err(|error| format!("compilation failed: {error}"))?;
    let result = type_of(program.expression());
    if result != "bool" {
        return Err(format!("must evaluate to bool but got {result}"));
    }
    Ok(program)
}

/// How deep the tree is, found without recursion.
fn depth(root: &IdedExpr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(root, 1)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        each_child(node, &mut |child| open.push((child, depth + 1)));
    }
    deepest
}

fn each_child<'a>(node: &'a IdedExpr, visit: &mut dyn FnMut(&'a IdedExpr)) {
    match &node.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target));
            call.args.iter().for_each(visit);
        }
        Expr::Comprehension(it) => {
            let parts = [
                &it.iter_range,
                &it.accu_init,
                &it.loop_cond,
                &it.loop_step,
                &it.result,
            ];
            parts.into_iter().for_each(visit);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Map(map) => map
            .entries
            .iter()
            .for_each(|entry| each_entry(&entry.expr, visit)),
        Expr::Struct(it) => it
            .entries
            .iter()
            .for_each(|entry| each_entry(&entry.expr, visit)),
        Expr::Select(select) => visit(&select.operand),
    }
}

fn each_entry<'a>(entry: &'a EntryExpr, visit: &mut dyn FnMut(&'a IdedExpr)) {
    match entry {
        EntryExpr::StructField(field) => visit(&field.value),
        EntryExpr::MapEntry(entry) => {
            visit(&entry.key);
            visit(&entry.value);
        }
    }
}

/// Looks at every name of a program.
struct Walk<'a> {
    program: &'a Program,
    /// Variables of the macros around.
    bound: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn expression(&mut self, node: &'a IdedExpr) -> Result<(), String> {
        match &node.expr {
            Expr::Ident(name) => self.variable(node, name)?,
            Expr::Select(select) => self.field(node, &select.operand, &select.field)?,
            Expr::Call(call) => {
                if let Some(namespace) = self.namespace(call) {
                    let name = format!("{namespace}.{}", call.func_name);
                    if !NAMESPACED.contains(&name.as_str()) {
                        return Err(self.undeclared(node, &name));
                    }
                    return call.args.iter().try_for_each(|arg| self.expression(arg));
                }
                if !FUNCTIONS.iter().any(|(name, _)| *name == call.func_name) {
                    let name = &call.func_name;
                    return Err(self.at(
                        node,
                        &format!("undeclared reference to '{name}' (in container ''; devhub's CEL has the standard functions and those of strings only)"),
                    ));
                }
            }
            Expr::Struct(it) => return Err(self.undeclared(node, &it.type_name)),
            Expr::Comprehension(it) => {
                self.expression(&it.iter_range)?;
                self.expression(&it.accu_init)?;
                let outer = self.bound.len();
                self.bound.push(&it.iter_var);
                self.bound.extend(it.iter_var2.as_deref());
                self.bound.push(&it.accu_var);
                let inner = [&it.loop_cond, &it.loop_step, &it.result]
                    .into_iter()
                    .try_for_each(|part| self.expression(part));
                self.bound.truncate(outer);
                return inner;
            }
            _ => {}
        }
        let mut children = Vec::new();
        each_child(node, &mut |child| children.push(child));
        children
            .into_iter()
            .try_for_each(|child| self.expression(child))
    }

    /// Of `optional.of(...)` and the like.
    fn namespace(&self, call: &'a CallExpr) -> Option<&'a str> {
        match &call.target.as_deref()?.expr {
            Expr::Ident(name) if !self.bound.contains(&name.as_str()) => {
                let mut namespaces = NAMESPACED.iter().filter_map(|name| name.split_once('.'));
                let is_one = namespaces.any(|(namespace, _)| namespace == name);
                is_one.then_some(name)
            }
            _ => None,
        }
    }

    fn variable(&self, node: &IdedExpr, name: &str) -> Result<(), String> {
        let known =
            self.bound.contains(&name) || VARIABLES.contains(&name) || TYPES.contains(&name);
        if known {
            return Ok(());
        }
        if name == "authorizer" {
            return Err(self.at(node, "devhub's CEL has no 'authorizer'"));
        }
        Err(self.undeclared(node, name))
    }

    /// `request` has a type; all else is dynamic.
    fn field(&self, node: &IdedExpr, operand: &IdedExpr, field: &str) -> Result<(), String> {
        let is_request = |node: &IdedExpr| matches!(&node.expr, Expr::Ident(name) if name == "request" && !self.bound.contains(&"request"));
        let known = if is_request(operand) {
            REQUEST.iter().any(|(name, _)| *name == field)
        } else if let Expr::Select(parent) = &operand.expr
            && is_request(&parent.operand)
        {
            let fields = REQUEST.iter().find(|(name, _)| *name == parent.field);
            fields.is_none_or(|(_, fields)| fields.is_empty() || fields.contains(&field))
        } else {
            true
        };
        if known {
            return Ok(());
        }
        Err(self.at(node, &format!("undefined field '{field}'")))
    }

    fn undeclared(&self, node: &IdedExpr, name: &str) -> String {
        self.at(
            node,
            &format!("undeclared reference to '{name}' (in container '')"),
        )
    }

    /// As cel-go words errors, with the line shown.
    fn at(&self, node: &IdedExpr, what: &str) -> String {
        let info = self.program.source_info();
        let offset = info.offset_for(node.id).map_or(0, |(start, _)| start) as usize;
        let offset = match &node.expr {
            // A call is where its parenthesis is, a selection where its dot is.
            Expr::Call(call) => {
                let rest = info.source.get(offset..).unwrap_or_default();
                let opening = rest.find(&format!("{}(", call.func_name));
                opening.map_or(offset, |at| offset + at + call.func_name.len())
            }
            _ => offset,
        };
        let before = info.source.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        let shown = info.snippet(line as isize).unwrap_or_default();
        let dots = ".".repeat(column);
        let (line, column) = (line + 1, column + 1);
        format!("ERROR: <input>:{line}:{column}: {what}\n | {shown}\n | {dots}^")
    }
}

/// The type of an expression's result, as far as it shows.
fn type_of(node: &IdedExpr) -> &'static str {
    match &node.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        },
        Expr::Select(select) if select.test => "bool",
        Expr::List(_) => "list",
        Expr::Map(_) => "map",
        Expr::Struct(_) => "struct",
        Expr::Unspecified | Expr::Ident(_) | Expr::Select(_) => "dyn",
        // `all` and `exists` begin with a boolean, `map` and `filter` with a list; `exists_one` compares in the end.
        Expr::Comprehension(it) => match type_of(&it.result) {
            "dyn" => type_of(&it.accu_init),
            result => result,
        },
        Expr::Call(call) if call.func_name == "_?_:_" => {
            let mut branches = call.args.iter().skip(1).map(type_of);
            match (branches.next(), branches.next()) {
                (Some(one), Some(other)) if one == other => one,
                _ => "dyn",
            }
        }
        Expr::Call(call) if ARITHMETIC.contains(&call.func_name.as_str()) => {
            let mut operands = call.args.iter().map(type_of);
            let first = operands.next().unwrap_or("dyn");
            if operands.all(|operand| operand == first) {
                first
            } else {
                "dyn"
            }
        }
        Expr::Call(call) => FUNCTIONS
            .iter()
            .find(|(name, _)| *name == call.func_name)
            .map_or("dyn", |(_, result)| result),
    }
}
