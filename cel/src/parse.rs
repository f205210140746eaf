//! The syntax of CEL expressions. Nesting is bounded while parsing, so that neither parsing nor evaluating exhausts the stack.

use super::functions::Function;
use super::lex::{Token, TokenKind, tokens};
use super::value::Value;

/// The deepest nesting, in nodes of the tree.
const DEEPEST: usize = 64;

/// A node of an expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Literal(Value),
    Name(String),
    /// `a.b`, or `a.?b`
    Select {
        of: Box<Expr>,
        field: String,
        is_optional: bool,
    },
    /// `has(a.b)`
    Has {
        of: Box<Expr>,
        field: String,
    },
    /// `a[b]`, or `a[?b]`
    Index {
        of: Box<Expr>,
        at: Box<Expr>,
        is_optional: bool,
    },
    Call {
        name: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
        /// The functions of this name, told apart by the types of the arguments. Filled in when names are resolved.
        overloads: Vec<&'static Function>,
    },
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `a && b && c`
    All(Vec<Expr>),
    /// `a || b || c`
    Any(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    /// Each item with true if it is optional.
    List(Vec<(Expr, bool)>),
    /// Each key and value with true if they are optional.
    Map(Vec<(Expr, Expr, bool)>),
    Macro(Box<Macro>),
}

/// A macro with a variable.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    pub(super) kind: MacroKind,
    pub(super) of: Expr,
    pub(super) variable: String,
    pub(super) body: Expr,
    /// The second expression of `map(x, filter, value)`.
    pub(super) value: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    OptMap,
    OptFlatMap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Words that cannot be names.
const RESERVED: [&str; 19] = [
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "null",
];

/// Parses an expression.
///
/// # Errors
/// The mistake, and the byte at which it is.
pub(super) fn parse(text: &str) -> Result<Expr, (usize, String)> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
    };
    let expr = parser.expression()?;
    match parser.peek() {
        TokenKind::End => Ok(expr.0),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

/// A node and the depth of its tree.
type Node = (Expr, usize);

type Parsed<T = Node> = Result<T, (usize, String)>;

// === impl Parser ===

impl Parser {
    fn peek(&self) -> &TokenKind {
        // The last token is the end, and is never taken.
        self.tokens
            .get(self.next)
            .map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        let last = self.tokens.last();
        self.tokens
            .get(self.next)
            .or(last)
            .map_or(0, |token| token.at)
    }

    fn unexpected(&self) -> (usize, String) {
        let message = match self.peek() {
            TokenKind::End => "unexpected end".to_owned(),
            TokenKind::Sign(sign) => format!("unexpected {sign:?}"),
            TokenKind::Name(name) => format!("unexpected {name:?}"),
            _ => "unexpected literal".to_owned(),
        };
        (self.at(), message)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), TokenKind::Sign(next) if *next == sign);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    fn node(&self, expr: Expr, below: usize) -> Parsed {
        match below + 1 {
            depth if depth > DEEPEST => Err(self.too_deep()),
            depth => Ok((expr, depth)),
        }
    }

    fn too_deep(&self) -> (usize, String) {
        (
            self.at(),
            format!("the expression is nested more than {DEEPEST} levels deep"),
        )
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.too_deep());
        }
        let condition = self.any()?;
        let parsed = if self.takes("?") {
            let (yes, below) = self.any()?;
            self.expect(":")?;
            let (no, other) = self.expression()?;
            let below = below.max(other).max(condition.1);
            self.node(Expr::Conditional(Box::new([condition.0, yes, no])), below)?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(parsed)
    }

    fn any(&mut self) -> Parsed {
        self.chain("||", Self::all, Expr::Any)
    }

    fn all(&mut self) -> Parsed {
        self.chain("&&", Self::relation, Expr::All)
    }

    fn chain(
        &mut self,
        sign: &str,
        part: fn(&mut Self) -> Parsed,
        whole: fn(Vec<Expr>) -> Expr,
    ) -> Parsed {
        let first = part(self)?;
        if !matches!(self.peek(), TokenKind::Sign(next) if *next == sign) {
            return Ok(first);
        }
        let (mut parts, mut below) = (vec![first.0], first.1);
        while self.takes(sign) {
            let (next, depth) = part(self)?;
            parts.push(next);
            below = below.max(depth);
        }
        self.node(whole(parts), below)
    }

    fn relation(&mut self) -> Parsed {
        self.binary(
            |kind| {
                Some(match kind {
                    TokenKind::Sign("==") => Operator::Equal,
                    TokenKind::Sign("!=") => Operator::NotEqual,
                    TokenKind::Sign("<") => Operator::Less,
                    TokenKind::Sign("<=") => Operator::LessOrEqual,
                    TokenKind::Sign(">") => Operator::Greater,
                    TokenKind::Sign(">=") => Operator::GreaterOrEqual,
                    TokenKind::Name(name) if name == "in" => Operator::In,
                    _ => return None,
                })
            },
            Self::sum,
        )
    }

    fn sum(&mut self) -> Parsed {
        self.binary(
            |kind| match kind {
                TokenKind::Sign("+") => Some(Operator::Add),
                TokenKind::Sign("-") => Some(Operator::Subtract),
                _ => None,
            },
            Self::product,
        )
    }

    fn product(&mut self) -> Parsed {
        self.binary(
            |kind| match kind {
                TokenKind::Sign("*") => Some(Operator::Multiply),
                TokenKind::Sign("/") => Some(Operator::Divide),
                TokenKind::Sign("%") => Some(Operator::Remainder),
                _ => None,
            },
            Self::unary,
        )
    }

    fn binary(
        &mut self,
        operator: fn(&TokenKind) -> Option<Operator>,
        part: fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = part(self)?;
        while let Some(operator) = operator(self.peek()) {
            self.next += 1;
            let right = part(self)?;
            let below = left.1.max(right.1);
            left = self.node(Expr::Binary(operator, left.0.into(), right.0.into()), below)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let (mut nots, mut minuses) = (0_usize, 0_usize);
        while self.takes("!") {
            nots += 1;
        }
        if nots == 0 {
            while self.takes("-") {
                minuses += 1;
            }
        }
        // The least integer has no positive counterpart.
        let is_least = minuses == 1 && *self.peek() == TokenKind::Int(1 << 63);
        let (mut expr, mut depth) = if is_least {
            self.next += 1;
            minuses = 0;
            self.members((Expr::Literal(Value::Int(i64::MIN)), 1))?
        } else {
            let first = self.primary()?;
            self.members(first)?
        };
        for _ in 0..nots {
            (expr, depth) = self.node(Expr::Not(expr.into()), depth)?;
        }
        for _ in 0..minuses {
            (expr, depth) = self.node(Expr::Negative(expr.into()), depth)?;
        }
        Ok((expr, depth))
    }

    /// Selections, indices and calls of members.
    fn members(&mut self, mut of: Node) -> Parsed {
        loop {
            if self.takes(".") {
                let is_optional = self.takes("?");
                let at = self.at();
                let field = self.name()?;
                of = if !is_optional && self.takes("(") {
                    let args = self.list(")", Self::expression)?;
                    self.call(at, field, Some(of), args)?
                } else {
                    let (of, depth) = of;
                    let expr = Expr::Select {
                        of: of.into(),
                        field,
                        is_optional,
                    };
                    self.node(expr, depth)?
                };
            } else if self.takes("[") {
                let is_optional = self.takes("?");
                let (index, other) = self.expression()?;
                self.expect("]")?;
                let expr = Expr::Index {
                    of: of.0.into(),
                    at: index.into(),
                    is_optional,
                };
                of = self.node(expr, of.1.max(other))?;
            } else {
                return Ok(of);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let kind = self.peek().clone();
        let literal = match kind {
            TokenKind::Int(value) => {
                let value =
                    i64::try_from(value).map_err(|_| (at, format!("{value} is no integer")))?;
                Value::Int(value)
            }
            TokenKind::Uint(value) => Value::Uint(value),
            TokenKind::Double(value) => Value::Double(value),
            TokenKind::String(value) => Value::from(value.as_str()),
            TokenKind::Bytes(value) => Value::Bytes(value.into()),
            TokenKind::Name(name) => {
                self.next += 1;
                return self.named(at, name);
            }
            TokenKind::Sign("(") => {
                self.next += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            TokenKind::Sign("[") => {
                self.next += 1;
                let items = self.list("]", |parser| {
                    let is_optional = parser.takes("?");
                    let (item, depth) = parser.expression()?;
                    Ok(((item, is_optional), depth))
                })?;
                return self.node(Expr::List(items.0), items.1);
            }
            TokenKind::Sign("{") => {
                self.next += 1;
                let entries = self.list("}", |parser| {
                    let is_optional = parser.takes("?");
                    let (key, below) = parser.expression()?;
                    parser.expect(":")?;
                    let (value, other) = parser.expression()?;
                    Ok(((key, value, is_optional), below.max(other)))
                })?;
                return self.node(Expr::Map(entries.0), entries.1);
            }
            TokenKind::Sign(".") => {
                // A name from the root.
                self.next += 1;
                let name = self.name()?;
                return self.named(at, name);
            }
            _ => return Err(self.unexpected()),
        };
        self.next += 1;
        self.node(Expr::Literal(literal), 0)
    }

    fn named(&mut self, at: usize, name: String) -> Parsed {
        match name.as_str() {
            "true" => return self.node(Expr::Literal(Value::Bool(true)), 0),
            "false" => return self.node(Expr::Literal(Value::Bool(false)), 0),
            "null" => return self.node(Expr::Literal(Value::Null), 0),
            name if RESERVED.contains(&name) => {
                return Err((at, format!("{name:?} is a reserved word")));
            }
            _ => {}
        }
        if self.takes("(") {
            let args = self.list(")", Self::expression)?;
            return self.call(at, name, None, args);
        }
        self.node(Expr::Name(name), 0)
    }

    fn name(&mut self) -> Parsed<String> {
        let TokenKind::Name(name) = self.peek() else {
            return Err(self.unexpected());
        };
        let name = name.clone();
        self.next += 1;
        Ok(name)
    }

    /// Items with commas between them, and perhaps one behind; and the depth of the deepest.
    fn list<T>(
        &mut self,
        end: &str,
        item: fn(&mut Self) -> Parsed<(T, usize)>,
    ) -> Parsed<(Vec<T>, usize)> {
        let (mut items, mut below) = (Vec::new(), 0);
        while !self.takes(end) {
            let (next, depth) = item(self)?;
            items.push(next);
            below = below.max(depth);
            if !self.takes(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok((items, below))
    }

    fn call(
        &mut self,
        at: usize,
        name: String,
        target: Option<Node>,
        (mut args, below): (Vec<Expr>, usize),
    ) -> Parsed {
        let kind = match (name.as_str(), args.len(), target.is_some()) {
            ("has", 1, false) => {
                let Some(Expr::Select { of, field, .. }) = args.pop() else {
                    return Err((at, "has() needs a field, as in has(a.b)".to_owned()));
                };
                return self.node(Expr::Has { of, field }, below);
            }
            ("all", 2, true) => Some(MacroKind::All),
            ("exists", 2, true) => Some(MacroKind::Exists),
            ("exists_one", 2, true) => Some(MacroKind::ExistsOne),
            ("filter", 2, true) => Some(MacroKind::Filter),
            ("map", 2 | 3, true) => Some(MacroKind::Map),
            ("optMap", 2, true) => Some(MacroKind::OptMap),
            ("optFlatMap", 2, true) => Some(MacroKind::OptFlatMap),
            _ => None,
        };
        let depth = target.as_ref().map_or(0, |target| target.1).max(below);
        let target = target.map(|target| target.0);
        match (kind, target) {
            (Some(kind), Some(of)) => {
                let mut args = args.into_iter();
                let (variable, Some(body)) = (args.next(), args.next()) else {
                    return Err((at, format!("{name}() needs a variable and an expression")));
                };
                let Some(Expr::Name(variable)) = variable else {
                    return Err((at, format!("the first argument of {name}() is not a name")));
                };
                let expr = Expr::Macro(Box::new(Macro {
                    kind,
                    of,
                    variable,
                    body,
                    value: args.next(),
                }));
                self.node(expr, depth)
            }
            (_, target) => {
                let target = target.map(Box::new);
                let expr = Expr::Call {
                    name,
                    target,
                    args,
                    overloads: Vec::new(),
                };
                self.node(expr, depth)
            }
        }
    }
}
