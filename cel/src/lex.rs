//! The tokens of CEL expressions (<https://github.com/google/cel-spec/blob/master/doc/langdef.md>), and their bounds.

/// The longest expression in bytes.
pub const LONGEST: usize = 16 * 1024;

/// A token and the byte at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Int(u64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    Name(String),
    /// An operator or a delimiter.
    Sign(&'static str),
    End,
}

/// Operators and delimiters. A longer one comes before its beginning.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}", "=", "&",
];

/// Splits an expression into tokens; the last one is the end.
///
/// # Errors
/// The mistake, and the byte at which it is.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, (usize, String)> {
    if text.len() > LONGEST {
        let message = format!(
            "the expression has {} bytes, more than {LONGEST}",
            text.len()
        );
        return Err((0, message));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_space();
        let at = lexer.at;
        let kind = lexer.next().map_err(|message| (at, message))?;
        let is_end = kind == TokenKind::End;
        tokens.push(Token { at, kind });
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

// === impl Lexer ===

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            let Some(comment) = rest.strip_prefix("//") else {
                return;
            };
            let end = comment.find('\n').unwrap_or(comment.len());
            self.at += 2 + end;
        }
    }

    fn next(&mut self) -> Result<TokenKind, String> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(TokenKind::End);
        };
        let second = rest.as_bytes().get(1).copied().unwrap_or_default();
        if first.is_ascii_digit() || first == '.' && second.is_ascii_digit() {
            return self.number();
        }
        if let Some(string) = self.string() {
            return string;
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            self.at += end;
            return Ok(TokenKind::Name(rest[..end].to_owned()));
        }
        if first == '`' {
            let end = rest[1..]
                .find('`')
                .ok_or("a name in backquotes has no end")?;
            self.at += end + 2;
            return Ok(TokenKind::Name(rest[1..=end].to_owned()));
        }
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let sign = sign.ok_or_else(|| format!("unexpected character {first:?}"))?;
        self.at += sign.len();
        Ok(TokenKind::Sign(sign))
    }

    fn number(&mut self) -> Result<TokenKind, String> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize, is_digit: fn(&u8) -> bool| {
            from + bytes[from..]
                .iter()
                .take_while(|byte| is_digit(byte))
                .count()
        };
        let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        let mut end = if is_hex {
            digits(2, u8::is_ascii_hexdigit)
        } else {
            digits(0, u8::is_ascii_digit)
        };
        let mut is_double = false;
        if !is_hex {
            let digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            if bytes.get(end) == Some(&b'.') && digit_at(end + 1) {
                is_double = true;
                end = digits(end + 1, u8::is_ascii_digit);
            }
            if matches!(bytes.get(end), Some(b'e' | b'E')) {
                let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
                if digit_at(end + 1 + signed) {
                    is_double = true;
                    end = digits(end + 1 + signed, u8::is_ascii_digit);
                }
            }
        }
        let number = &rest[..end];
        let wrong = || format!("{number} is not a number");
        self.at += end;
        if is_double {
            return number.parse().map(TokenKind::Double).map_err(|_| wrong());
        }
        let value = if is_hex {
            u64::from_str_radix(&number[2..], 16)
        } else {
            number.parse()
        };
        let value = value.map_err(|_| wrong())?;
        if matches!(bytes.get(end), Some(b'u' | b'U')) {
            self.at += 1;
            return Ok(TokenKind::Uint(value));
        }
        Ok(TokenKind::Int(value))
    }

    /// Reads a string or bytes; `None` if another token follows.
    fn string(&mut self) -> Option<Result<TokenKind, String>> {
        let rest = self.rest();
        // A prefix has at most two letters.
        let mut beginning = rest.bytes().take(3);
        let prefix = beginning.position(|byte| matches!(byte, b'"' | b'\''))?;
        let (is_raw, is_bytes) = match &rest[..prefix] {
            "" => (false, false),
            "r" | "R" => (true, false),
            "b" | "B" => (false, true),
            "rb" | "rB" | "Rb" | "RB" | "br" | "bR" | "Br" | "BR" => (true, true),
            _ => return None,
        };
        let quoted = &rest[prefix..];
        let quote = ["\"\"\"", "'''", "\"", "'"]
            .into_iter()
            .find(|quote| quoted.starts_with(quote))?;
        let mut at = quote.len();
        let mut bytes = Vec::new();
        loop {
            let left = &quoted[at..];
            if left.starts_with(quote) {
                break;
            }
            let Some(c) = left.chars().next() else {
                return Some(Err("a string has no end".to_owned()));
            };
            if quote.len() == 1 && matches!(c, '\n' | '\r') {
                return Some(Err("a string has no end on its line".to_owned()));
            }
            if c == '\\' && !is_raw {
                match escaped(&left[1..], is_bytes, &mut bytes) {
                    Ok(length) => at += 1 + length,
                    Err(message) => return Some(Err(message)),
                }
            } else {
                bytes.extend_from_slice(&left.as_bytes()[..c.len_utf8()]);
                at += c.len_utf8();
            }
        }
        self.at += prefix + at + quote.len();
        if is_bytes {
            return Some(Ok(TokenKind::Bytes(bytes)));
        }
        // Escapes of strings are characters, so this is UTF-8.
        let string = String::from_utf8(bytes).map_err(|_| "a string is not UTF-8".to_owned());
        Some(string.map(TokenKind::String))
    }
}

/// Reads an escape sequence after its backslash, and returns its length.
fn escaped(text: &str, is_bytes: bool, to: &mut Vec<u8>) -> Result<usize, String> {
    let wrong = || "invalid escape sequence in a string".to_owned();
    let first = text.chars().next().ok_or_else(wrong)?;
    let simple = match first {
        'a' => Some(7),
        'b' => Some(8),
        'f' => Some(12),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'v' => Some(11),
        '\\' | '\'' | '"' | '`' | '?' => Some(first as u8),
        _ => None,
    };
    if let Some(byte) = simple {
        to.push(byte);
        return Ok(1);
    }
    let (start, digits, radix) = match first {
        'x' | 'X' => (1, 2, 16),
        'u' if !is_bytes => (1, 4, 16),
        'U' if !is_bytes => (1, 8, 16),
        '0'..='3' => (0, 3, 8),
        _ => return Err(wrong()),
    };
    let code = text.get(start..start + digits).ok_or_else(wrong)?;
    let code = u32::from_str_radix(code, radix).map_err(|_| wrong())?;
    if is_bytes {
        to.push(u8::try_from(code).map_err(|_| wrong())?);
    } else {
        let c = char::from_u32(code).ok_or_else(wrong)?;
        to.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(start + digits)
}
