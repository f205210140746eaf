//! Figures of constants, read from the source.

use std::time::Duration;

/// The value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Figure {
    Number(i128),
    Time(Duration),
    /// The first of several times, and the longest.
    Range(Box<(Figure, Figure)>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(i128),
    Text(String),
    Sign(char),
    Shift,
}

/// How many constants may refer to each other: one that refers to itself is an error.
const DEEPEST: usize = 8;

/// An expression, and where its constants are defined.
struct Expression<'a> {
    tokens: Vec<Token>,
    at: usize,
    source: &'a str,
    elsewhere: Option<&'a str>,
    depth: usize,
}

/// Reads the figure of a constant, or of a field whose name has small letters. Constants that the source does not define are in `elsewhere`.
///
/// # Errors
/// There is no such constant, or its expression is not understood.
pub(super) fn of(source: &str, name: &str, elsewhere: Option<&str>) -> Result<Figure, String> {
    if name.chars().any(char::is_lowercase) {
        field(source, name, elsewhere)
    } else {
        constant(source, name, elsewhere, 0)
    }
}

/// The names of the constants that are numbers or times, but for those of tests.
pub(super) fn names(source: &str) -> Vec<&str> {
    let lines: Vec<_> = source.lines().collect();
    let mut found = Vec::new();
    for (at, &line) in lines.iter().enumerate() {
        if line.starts_with("mod tests {") {
            break;
        }
        let Some((name, rest)) = declaration(line) else {
            continue;
        };
        let Some((type_, _)) = rest.split_once('=') else {
            continue;
        };
        if is_figure(type_.trim()) && !is_for_tests(&lines, at) {
            found.push(name);
        }
    }
    found
}

/// The name of the constant that a line declares, and what follows its colon.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        rest = match public.strip_prefix('(') {
            Some(within) => within.split_once(')')?.1,
            None => public,
        };
        rest = rest.trim_start();
    }
    let (name, rest) = rest.strip_prefix("const ")?.split_once(':')?;
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(is_part)).then_some((name, rest))
}

fn is_figure(type_: &str) -> bool {
    let last = type_.rsplit("::").next().unwrap_or_default();
    let plain = [
        "usize",
        "u128",
        "u64",
        "u32",
        "u16",
        "u8",
        "i128",
        "i64",
        "i32",
        "f64",
        "Duration",
        "SignedDuration",
    ];
    plain.contains(&last) || (type_.starts_with('(') && type_.contains("Duration"))
}

fn is_for_tests(lines: &[&str], at: usize) -> bool {
    let before = lines[..at].iter().rev().map(|line| line.trim());
    let mut attributes = before.take_while(|line| line.starts_with('#') || line.starts_with("//"));
    attributes.any(|line| line == "#[cfg(test)]")
}

fn constant(
    source: &str,
    name: &str,
    elsewhere: Option<&str>,
    depth: usize,
) -> Result<Figure, String> {
    let lines: Vec<_> = source.lines().collect();
    let is_it = |at: &usize| {
        declaration(lines[*at]).is_some_and(|(declared, _)| declared == name)
            && !is_for_tests(&lines, *at)
    };
    let at = (0..lines.len()).find(is_it);
    let at = at.ok_or_else(|| format!("there is no constant {name}"))?;
    let text = lines[at..lines.len().min(at + 12)].join(" ");
    let expression = text
        .split_once('=')
        .and_then(|(_, rest)| rest.split_once(';'))
        .ok_or("its declaration has no value, or is long")?
        .0;
    evaluate(shipped(expression.trim()), source, elsewhere, depth)
}

/// Of an expression with another value in tests, the one that ships.
fn shipped(expression: &str) -> &str {
    if !(expression.starts_with("if cfg!(") && expression.contains("test")) {
        return expression;
    }
    let other = expression.split_once("else {").map(|(_, other)| other);
    let other = other.and_then(|other| other.trim_end().strip_suffix('}'));
    other.map_or(expression, str::trim)
}

/// The first value of a field that is a figure.
fn field(source: &str, name: &str, elsewhere: Option<&str>) -> Result<Figure, String> {
    let mut values = source.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix(name)?.strip_prefix(": ")?;
        evaluate(rest.strip_suffix(',')?, source, elsewhere, 0).ok()
    });
    values
        .next()
        .ok_or_else(|| format!("no line `{name}: FIGURE,`"))
}

fn evaluate(
    text: &str,
    source: &str,
    elsewhere: Option<&str>,
    depth: usize,
) -> Result<Figure, String> {
    if depth > DEEPEST {
        return Err("its constants refer to each other in a circle".to_owned());
    }
    let mut expression = Expression {
        tokens: tokens(text)?,
        at: 0,
        source,
        elsewhere,
        depth,
    };
    let figure = expression.shift()?;
    if expression.at < expression.tokens.len() {
        return Err(format!("`{text}` is not understood"));
    }
    Ok(figure)
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
            let number = digits.replace('_', "").parse::<i128>();
            let number = number.map_err(|_| format!("`{digits}` is not understood"))?;
            (Token::Number(number), after)
        } else if first.is_ascii_alphabetic() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            (Token::Word(word.to_owned()), after)
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let (within, after) = quoted.split_once('"').ok_or("a quote does not end")?;
            (Token::Text(within.to_owned()), after)
        } else if let Some(after) = rest.strip_prefix("<<") {
            (Token::Shift, after)
        } else {
            (Token::Sign(first), &rest[first.len_utf8()..])
        };
        found.push(token);
        rest = after.trim_start();
    }
    Ok(found)
}

// === impl Figure ===

impl Figure {
    /// The figure for readers.
    pub(super) fn shown(&self, is_bytes: bool) -> String {
        match self {
            Self::Number(number) => shown_number(*number, is_bytes),
            Self::Time(time) => shown_time(*time),
            Self::Range(both) => format!("{} to {}", both.0.shown(false), both.1.shown(false)),
        }
    }

    fn number(&self) -> Result<i128, String> {
        match self {
            Self::Number(number) => Ok(*number),
            _ => Err("a time where a number is expected".to_owned()),
        }
    }

    fn times(self, other: Self) -> Result<Self, String> {
        let large = || "a large number".to_owned();
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                Ok(Self::Number(a.checked_mul(b).ok_or_else(large)?))
            }
            (Self::Time(time), Self::Number(by)) | (Self::Number(by), Self::Time(time)) => {
                let by = u32::try_from(by).map_err(|_| large())?;
                Ok(Self::Time(time.checked_mul(by).ok_or_else(large)?))
            }
            _ => Err("a product of times".to_owned()),
        }
    }
}

fn shown_number(number: i128, is_bytes: bool) -> String {
    match number {
        _ if !is_bytes || number < 1024 || number % 1024 != 0 => thousands(number),
        _ if number % (1 << 20) == 0 => format!("{} MiB", thousands(number >> 20)),
        _ => format!("{} KiB", thousands(number >> 10)),
    }
}

fn thousands(number: i128) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && !shown.ends_with('-') {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    if time.subsec_nanos() != 0 {
        return format!("{} ms", time.as_millis());
    }
    match seconds {
        172_800.. if seconds.is_multiple_of(86_400) => {
            format!("{} days", thousands((seconds / 86_400).into()))
        }
        3_600.. if seconds.is_multiple_of(3_600) => format!("{} h", seconds / 3_600),
        120.. if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

// === impl Expression ===

impl Expression<'_> {
    fn take(&mut self, token: &Token) -> bool {
        let is_next = self.tokens.get(self.at) == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        let is_next = self.take(&Token::Sign(sign));
        is_next
            .then_some(())
            .ok_or_else(|| format!("`{sign}` is expected"))
    }

    fn shift(&mut self) -> Result<Figure, String> {
        let mut figure = self.sum()?;
        while self.take(&Token::Shift) {
            let by = u32::try_from(self.sum()?.number()?).map_err(|error| error.to_string())?;
            let factor = 1_i128.checked_shl(by).ok_or("a large shift")?;
            figure = figure.times(Figure::Number(factor))?;
        }
        Ok(figure)
    }

    fn sum(&mut self) -> Result<Figure, String> {
        let mut figure = self.product()?;
        loop {
            if self.take(&Token::Sign('+')) {
                figure = Figure::Number(figure.number()? + self.product()?.number()?);
            } else if self.take(&Token::Sign('-')) {
                figure = Figure::Number(figure.number()? - self.product()?.number()?);
            } else {
                return Ok(figure);
            }
        }
    }

    fn product(&mut self) -> Result<Figure, String> {
        let mut figure = self.value()?;
        while self.take(&Token::Sign('*')) {
            figure = figure.times(self.value()?)?;
        }
        Ok(figure)
    }

    fn value(&mut self) -> Result<Figure, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        let figure = match token {
            Some(Token::Number(number)) => Figure::Number(number),
            Some(Token::Text(text)) => {
                self.expect('.')?;
                if !self.take(&Token::Word("len".to_owned())) {
                    return Err("of a text only its length is understood".to_owned());
                }
                self.expect('(')?;
                self.expect(')')?;
                Figure::Number(i128::try_from(text.len()).map_err(|error| error.to_string())?)
            }
            Some(Token::Sign('(')) => {
                let first = self.shift()?;
                if self.take(&Token::Sign(',')) {
                    let last = self.shift()?;
                    self.take(&Token::Sign(','));
                    self.expect(')')?;
                    return Ok(Figure::Range(Box::new((first, last))));
                }
                self.expect(')')?;
                first
            }
            Some(Token::Word(word)) if self.take(&Token::Sign('(')) => {
                let argument = self.shift()?.number()?;
                self.expect(')')?;
                time(&word, argument)?
            }
            Some(Token::Word(word)) => self.named(&word)?,
            token => return Err(format!("{token:?} is not understood")),
        };
        // `as usize`
        if self.take(&Token::Word("as".to_owned())) {
            self.at += 1;
        }
        Ok(figure)
    }

    /// The figure of another constant: with a path it is of another file.
    fn named(&self, path: &str) -> Result<Figure, String> {
        let depth = self.depth + 1;
        let name = path.rsplit("::").next().unwrap_or(path);
        let is_defined_here = name == path && names(self.source).contains(&name);
        match self.elsewhere {
            _ if is_defined_here => constant(self.source, name, self.elsewhere, depth),
            Some(elsewhere) => constant(elsewhere, name, None, depth),
            None => Err(format!("{path} is defined in another file")),
        }
    }
}

fn time(function: &str, argument: i128) -> Result<Figure, String> {
    let argument = u64::try_from(argument).map_err(|error| error.to_string())?;
    let name = function.rsplit("Duration::").next().unwrap_or_default();
    let seconds = match name {
        "from_millis" => return Ok(Figure::Time(Duration::from_millis(argument))),
        "from_secs" => Some(argument),
        "from_mins" => argument.checked_mul(60),
        "from_hours" => argument.checked_mul(3_600),
        _ => return Err(format!("the function {function} is not understood")),
    };
    let seconds = seconds.ok_or("a long time")?;
    Ok(Figure::Time(Duration::from_secs(seconds)))
}

mod tests;
