//! Names in CEL: which a rule can use, and how fields are called that CEL could not write.

use ::cel::IdedExpr;
use ::cel::common::ast::{EntryExpr, Expr};

use crate::resources::schema::{Schema, Type};

/// Functions that both Kubernetes and devhub have. Operators have names that no function has, and are all there.
const FUNCTIONS: &[&str] = &[
    "bytes",
    "charAt",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "format",
    "hasValue",
    "indexOf",
    "int",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "matches",
    "none",
    "of",
    "or",
    "orValue",
    "replace",
    "size",
    "split",
    "startsWith",
    "string",
    "strings.quote",
    "substring",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "value",
];

/// Names of types, which are values in CEL, and of what functions are in.
const CONSTANTS: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "dyn",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "string",
    "strings",
    "type",
    "uint",
];

/// The words that CEL keeps to itself.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// A field's name in rules; none for one that rules cannot name.
pub(super) fn escaped(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut starts = name.chars();
    if !starts
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
    {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(tail) = rest.strip_prefix("__") {
            escaped.push_str("__underscores__");
            rest = tail;
            continue;
        }
        match c {
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => escaped.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(escaped)
}

/// The first name in an expression that means nothing, in cel-go's words.
pub(super) fn unknown(expression: &IdedExpr, schema: &Schema, is_root: bool) -> Option<String> {
    let mut search = Search {
        schema,
        is_root,
        variables: vec!["self", "oldSelf"],
        found: None,
    };
    search.visit(expression);
    search.found
}

/// A walk through an expression, with the variables that are known where it is.
struct Search<'a> {
    schema: &'a Schema,
    is_root: bool,
    variables: Vec<&'a str>,
    found: Option<String>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, expression: &'a IdedExpr) {
        if self.found.is_some() {
            return;
        }
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                if !self.variables.contains(&name.as_str()) && !CONSTANTS.contains(&name.as_str()) {
                    self.undeclared(name);
                }
            }
            Expr::Select(select) => {
                self.visit(&select.operand);
                if self.found.is_none()
                    && let Some(schema) = self.schema_of(&select.operand)
                    && let Some(wrong) = self.wrong_field(schema, &select.operand, &select.field)
                {
                    self.found = Some(wrong);
                }
            }
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                let is_function = name.starts_with(|c: char| c.is_ascii_alphabetic());
                if is_function && !FUNCTIONS.contains(&name) && !FUNCTIONS.contains(&last(name)) {
                    self.undeclared(name);
                }
                call.target.iter().for_each(|target| self.visit(target));
                call.args.iter().for_each(|argument| self.visit(argument));
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.visit(element)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(&entry.expr)),
            Expr::Struct(of) => self.undeclared(&of.type_name),
            Expr::Comprehension(loop_) => {
                self.visit(&loop_.iter_range);
                self.visit(&loop_.accu_init);
                let known = self.variables.len();
                self.variables.push(&loop_.iter_var);
                self.variables.extend(loop_.iter_var2.as_deref());
                self.variables.push(&loop_.accu_var);
                for part in [&loop_.loop_cond, &loop_.loop_step, &loop_.result] {
                    self.visit(part);
                }
                self.variables.truncate(known);
            }
        }
    }

    fn entry(&mut self, entry: &'a EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.visit(&entry.key);
                self.visit(&entry.value);
            }
        }
    }

    fn undeclared(&mut self, name: &str) {
        self.found = Some(format!(
            "undeclared reference to '{name}' (in container '')"
        ));
    }

    /// The schema of what a chain of fields below `self` (or `oldSelf`) means; none if that is not known.
    fn schema_of(&self, expression: &IdedExpr) -> Option<&'a Schema> {
        match &expression.expr {
            Expr::Ident(name) if name == "self" || name == "oldSelf" => Some(self.schema),
            Expr::Select(select) if !select.test => {
                let schema = self.schema_of(&select.operand)?;
                let named =
                    |(name, _): &(&String, _)| escaped(name).as_deref() == Some(&select.field);
                schema
                    .properties
                    .iter()
                    .find(named)
                    .map(|(_, child)| child)
                    .or(schema.additional.as_deref())
            }
            _ => None,
        }
    }

    fn wrong_field(&self, schema: &Schema, operand: &IdedExpr, field: &str) -> Option<String> {
        if schema.additional.is_some() || schema.embedded {
            return None;
        }
        let is_object = self.is_root && matches!(operand.expr, Expr::Ident(_));
        match schema.r#type {
            Type::Object if is_object && matches!(field, "apiVersion" | "kind" | "metadata") => {
                None
            }
            Type::Object => {
                let is_there = schema
                    .properties
                    .keys()
                    .any(|name| escaped(name).as_deref() == Some(field));
                (!is_there).then(|| format!("undefined field '{field}'"))
            }
            Type::Any | Type::IntOrString => None,
            // An optional old value has methods only; fields of it cannot be told from those of the value.
            other => {
                let name = match other {
                    Type::Integer => "int",
                    Type::Number => "double",
                    Type::Boolean => "bool",
                    Type::Array => "list",
                    _ => "string",
                };
                Some(format!("type '{name}' does not support field selection"))
            }
        }
    }
}

/// A qualified name's last part: `optional.of` is `of`.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
