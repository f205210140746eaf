//! Reads paths.

use std::iter::Peekable;
use std::str::CharIndices;

use super::{End, Step, Test};

struct Parser<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
}

/// Reads a path.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let mut parser = Parser {
        text,
        chars: text.char_indices().peekable(),
    };
    let mut steps = Vec::new();
    while let Some((at, next)) = parser.chars.next() {
        match next {
            ' ' | '@' | '$' => {}
            '[' if text[at..].starts_with("[?(") => steps.push(parser.filter()?),
            '[' => steps.extend(parser.array()?),
            '"' | '\'' => steps.push(Step::Literal(parser.quoted(next)?.into())),
            '.' if parser.chars.peek().is_some_and(|(_, next)| *next == '.') => {
                parser.chars.next();
                if steps.last() == Some(&Step::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                steps.push(Step::Recursive);
                let next = parser.chars.peek();
                if next.is_some_and(|(_, next)| *next == '_' || next.is_alphanumeric()) {
                    steps.push(parser.field());
                }
            }
            '.' => steps.push(parser.field()),
            '+' | '-' => steps.push(parser.number(at)?),
            _ if next.is_numeric() => steps.push(parser.number(at)?),
            _ if next == '_' || next.is_alphabetic() => steps.push(parser.word(at)),
            '\r' | '\n' | '}' => return Err("unclosed action".to_owned()),
            other => return Err(format!("unrecognized character in action: {other:?}")),
        }
    }
    Ok(steps)
}

impl<'a> Parser<'a> {
    /// Everything up to the next place where `stops` says so, which is left there.
    fn until(&mut self, stops: impl Fn(char) -> bool) -> &'a str {
        let start = self.position();
        while self.chars.next_if(|(_, next)| !stops(*next)).is_some() {}
        &self.text[start..self.position()]
    }

    fn position(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn field(&mut self) -> Step {
        let mut name = String::new();
        while let Some((_, next)) = self.chars.next_if(|(_, next)| !ends_name(*next)) {
            match next {
                '\\' => name.extend(
                    self.chars
                        .next()
                        .map(|(_, next)| next)
                        .filter(|next| *next != '\\'),
                ),
                _ => name.push(next),
            }
        }
        match name.as_str() {
            "*" => Step::Wildcard,
            _ => Step::Field(name),
        }
    }

    fn word(&mut self, start: usize) -> Step {
        self.until(ends_name);
        match &self.text[start..self.position()] {
            "true" => Step::Literal(true.into()),
            "false" => Step::Literal(false.into()),
            _ => Step::Word,
        }
    }

    fn number(&mut self, start: usize) -> Result<Step, String> {
        self.until(|next| next != '.' && !next.is_numeric());
        let text = &self.text[start..self.position()];
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Step::Literal(number.into()));
        }
        match text.parse::<f64>() {
            Ok(number) => Ok(Step::Literal(number.into())),
            Err(_) => Err(format!("cannot parse number {text}")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        while let Some((_, next)) = self.chars.next() {
            match next {
                '\n' => break,
                '\\' => text.extend(self.chars.next().map(|(_, next)| unescaped(next))),
                _ if next == quote => return Ok(text),
                _ => text.push(next),
            }
        }
        Err("unterminated quoted string".to_owned())
    }

    /// What is in brackets: an index, a slice, a key in quotes, or several of them.
    fn array(&mut self) -> Result<Vec<Step>, String> {
        let text = self.until(|next| matches!(next, ']' | '\n'));
        if self.chars.next().is_none_or(|(_, next)| next != ']') {
            return Err("unterminated array".to_owned());
        }
        if !text.contains(',') {
            return index(text);
        }
        let parts = text.split(',').map(|part| index(part.trim_matches(' ')));
        Ok(vec![Step::Union(parts.collect::<Result<_, _>>()?)])
    }

    /// `[?(LEFT==RIGHT)]`, of which the first bracket is read.
    fn filter(&mut self) -> Result<Step, String> {
        self.chars.next();
        self.chars.next();
        let start = self.position();
        // One string may hold a parenthesis.
        let mut open: Option<char> = None;
        let mut closed = false;
        let mut escaped = false;
        let end = loop {
            match self.chars.next() {
                None | Some((_, '\n')) => return Err("unterminated filter".to_owned()),
                Some((_, quote @ ('"' | '\''))) => match open {
                    None => open = Some(quote),
                    Some(first) => closed |= first == quote && !escaped,
                },
                Some((at, ')')) if open.is_some() == closed => break at,
                Some((_, next)) => {
                    escaped = next == '\\';
                    continue;
                }
            }
            escaped = false;
        };
        if self.chars.next().is_none_or(|(_, next)| next != ']') {
            return Err("unclosed array expect ]".to_owned());
        }
        let text = &self.text[start..end];
        let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
        let operator = text.find(is_operator).filter(|at| *at > 0);
        let split = operator.map(|at| {
            let (left, rest) = text.split_at(at);
            let length = rest.find(|next| !is_operator(next)).unwrap_or(rest.len());
            let (operator, right) = rest.split_at(length);
            (left, operator, right)
        });
        Ok(match split {
            Some((left, operator, right)) if !right.is_empty() => Step::Filter {
                left: parse(left)?,
                test: test(operator),
                right: parse(right)?,
            },
            _ => Step::Filter {
                left: parse(text)?,
                test: Test::Exists,
                right: Vec::new(),
            },
        })
    }
}

fn ends_name(next: char) -> bool {
    matches!(
        next,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

fn unescaped(next: char) -> char {
    match next {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}

fn test(operator: &str) -> Test {
    match operator {
        "==" => Test::Equal,
        "!=" => Test::NotEqual,
        "<" => Test::Less,
        "<=" => Test::LessOrEqual,
        ">" => Test::Greater,
        ">=" => Test::GreaterOrEqual,
        _ => Test::Unknown,
    }
}

fn index(text: &str) -> Result<Vec<Step>, String> {
    let key = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    if let Some(key) = key.filter(|key| !key.contains('\'')) {
        return parse(&format!(".{key}"));
    }
    let text = if text == "*" { ":" } else { text };
    let number = |part: &str| match part {
        "" => Ok(None),
        _ => {
            let number = part.parse::<i64>();
            number
                .map(Some)
                .map_err(|_| format!("invalid array index {text}"))
        }
    };
    let mut parts = text.split(':');
    let start = number(parts.next().unwrap_or_default())?;
    let end = match parts.next() {
        None => End::One,
        Some(part) => number(part)?.map_or(End::Open, End::At),
    };
    let step = number(parts.next().unwrap_or_default())?;
    if parts.next().is_some() {
        return Err(format!("invalid array index {text}"));
    }
    Ok(vec![Step::Slice { start, end, step }])
}
