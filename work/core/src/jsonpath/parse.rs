//! Parses JSONPaths.

use serde_json::Value;

use super::{Filter, Operand, Operator, Path, Slice, Step};

/// The longest path in bytes.
const LONGEST: usize = 4096;

/// How deep filters may be nested.
const DEEPEST: usize = 4;

/// Parses a path without braces.
///
/// # Errors
/// What is wrong, and at which character, from 1.
pub(super) fn path(text: &str) -> Result<Path, String> {
    if text.len() > LONGEST {
        let length = text.len();
        return Err(format!("the path has {length} bytes, more than {LONGEST}"));
    }
    let mut parser = Parser {
        chars: text.trim_end().chars().collect(),
        at: 0,
        depth: 0,
    };
    parser.skip_spaces();
    let _ = parser.take('$') || parser.take('@');
    if parser.peek().is_none() {
        return Err("the path is empty".to_owned());
    }
    let steps = parser.steps()?;
    match parser.peek() {
        None => Ok(Path(steps)),
        Some(_) => parser.error("expected . or ["),
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    /// How many filters are around this place.
    depth: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    /// Steps up to a character that begins none.
    fn steps(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.take('.') {
                if self.take('.') {
                    steps.push(Step::Descend);
                    if self.peek() == Some('[') {
                        continue;
                    }
                }
                steps.push(self.field()?);
            } else if self.take('[') {
                steps.push(self.bracket()?);
            } else {
                return Ok(steps);
            }
        }
    }

    /// The name behind a dot.
    fn field(&mut self) -> Parsed<Step> {
        if self.take('*') {
            return Ok(Step::Wildcard);
        }
        let start = self.at;
        let mut name = String::new();
        while let Some(next) = self.peek() {
            match next {
                '\\' => {
                    self.at += 1;
                    name.extend(self.peek());
                }
                '.' | ',' | '[' | ']' | '(' | ')' | '{' | '}' | '$' | '@' => break,
                '=' | '!' | '<' | '>' if self.depth > 0 => break,
                space if space.is_whitespace() => break,
                other => name.push(other),
            }
            self.at += 1;
        }
        if self.at == start {
            return self.error("expected a field");
        }
        Ok(Step::Field(name))
    }

    /// What is behind an opening bracket, and the closing one.
    fn bracket(&mut self) -> Parsed<Step> {
        let mut steps = Vec::new();
        loop {
            self.skip_spaces();
            steps.push(self.choice()?);
            self.skip_spaces();
            if !self.take(',') {
                break;
            }
        }
        self.expect(']')?;
        match <[Step; 1]>::try_from(steps) {
            Ok([step]) => Ok(step),
            Err(steps) => Ok(Step::Union(steps)),
        }
    }

    fn choice(&mut self) -> Parsed<Step> {
        match self.peek() {
            Some('*') => {
                self.at += 1;
                Ok(Step::Wildcard)
            }
            Some('?') => self.filter(),
            Some('\'' | '"') => Ok(Step::Field(self.quoted()?)),
            Some('-' | ':' | '0'..='9') => self.slice(),
            _ => self.error("expected a position, a name in quotes, * or a filter"),
        }
    }

    fn slice(&mut self) -> Parsed<Step> {
        let from = self.position()?;
        if !self.take(':') {
            return match from {
                Some(at) => Ok(Step::Slice(Slice::At(at))),
                None => self.error("expected a position"),
            };
        }
        let to = self.position()?;
        let mut every = 1;
        if self.take(':') {
            let start = self.at;
            let step = self.position()?.unwrap_or(1);
            every = usize::try_from(step).unwrap_or_default();
            if every == 0 {
                self.at = start;
                return self.error("a slice needs a step of 1 or more");
            }
        }
        Ok(Step::Slice(Slice::Range { from, to, every }))
    }

    fn position(&mut self) -> Parsed<Option<i64>> {
        self.skip_spaces();
        let start = self.at;
        let _ = self.take('-');
        while matches!(self.peek(), Some('0'..='9')) {
            self.at += 1;
        }
        let text: String = self.chars[start..self.at].iter().collect();
        self.skip_spaces();
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse() {
            Ok(position) => Ok(Some(position)),
            Err(_) => {
                self.at = start;
                self.error(match text.as_str() {
                    "-" => "expected a position",
                    _ => "the number is too large",
                })
            }
        }
    }

    /// A text in quotes; a backslash takes the special meaning of the next character.
    fn quoted(&mut self) -> Parsed<String> {
        let quote = self.peek();
        self.at += 1;
        let mut text = String::new();
        while let Some(next) = self.peek() {
            self.at += 1;
            match next {
                next if Some(next) == quote => return Ok(text),
                '\\' => {
                    text.extend(self.peek());
                    self.at += 1;
                }
                other => text.push(other),
            }
        }
        self.error("expected a closing quote")
    }

    /// `?(@.a == 1)`
    fn filter(&mut self) -> Parsed<Step> {
        if self.depth == DEEPEST {
            return self.error("the filters are nested too deeply");
        }
        self.depth += 1;
        self.expect('?')?;
        self.expect('(')?;
        let left = self.operand()?;
        self.skip_spaces();
        let filter = if self.peek() == Some(')') {
            if matches!(left, Operand::Literal(_)) {
                return self.error("expected a path that begins with @");
            }
            Filter::Exists(left)
        } else {
            let operator = self.operator()?;
            Filter::Compares(left, operator, self.operand()?)
        };
        self.skip_spaces();
        self.expect(')')?;
        self.depth -= 1;
        Ok(Step::Filter(Box::new(filter)))
    }

    fn operator(&mut self) -> Parsed<Operator> {
        for (text, operator) in [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ] {
            let rest = &self.chars[self.at.min(self.chars.len())..];
            if text.chars().eq(rest.iter().copied().take(text.len())) {
                self.at += text.len();
                return Ok(operator);
            }
        }
        self.error("expected == != < <= > >= or )")
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.skip_spaces();
        let start = self.at;
        match self.peek() {
            Some('@') => {
                self.at += 1;
                Ok(Operand::Item(Path(self.steps()?)))
            }
            Some('$') => {
                self.at += 1;
                Ok(Operand::Root(Path(self.steps()?)))
            }
            Some('\'' | '"') => Ok(Operand::Literal(Value::String(self.quoted()?))),
            _ => {
                let is_part = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
                while self.peek().is_some_and(is_part) {
                    self.at += 1;
                }
                let word: String = self.chars[start..self.at].iter().collect();
                match serde_json::from_str(&word) {
                    Ok(value @ (Value::Bool(_) | Value::Number(_))) => Ok(Operand::Literal(value)),
                    _ => {
                        self.at = start;
                        self.error("expected @, $, a text in quotes, a number, true or false")
                    }
                }
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, wanted: char) -> Parsed<()> {
        if self.take(wanted) {
            return Ok(());
        }
        self.error(&format!("expected {wanted}"))
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn error<T>(&self, what: &str) -> Parsed<T> {
        let at = self.at.min(self.chars.len()) + 1;
        Err(format!("{what} at character {at}"))
    }
}
