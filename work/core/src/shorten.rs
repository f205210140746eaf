//! Cuts long messages of an API server so that their reason stays, which is at the end.

use std::borrow::Cow;

/// What precedes the value in an error about a field: `Invalid value: `, `Unsupported value: `.
const BEFORE_VALUE: &str = " value: ";
/// Upper bound on the bytes of a value in a message that is too long.
const LONGEST_VALUE: usize = 160;

/// At most `longest` bytes of a message. Values in it are cut first, such as the whole pod template of an object; then the message is
/// cut. Both lose their middle.
#[must_use]
pub fn shorten(message: &str, longest: usize) -> Cow<'_, str> {
    if message.len() <= longest {
        return message.into();
    }
    without_middle(&with_short_values(message), longest)
        .into_owned()
        .into()
}

fn with_short_values(message: &str) -> String {
    let (mut short, mut rest) = (String::new(), message);
    while let Some(at) = rest.find(BEFORE_VALUE) {
        let (before, value) = rest.split_at(at + BEFORE_VALUE.len());
        short.push_str(before);
        rest = value;
        let Some(end) = end_of_value(value) else {
            break;
        };
        let (value, after) = value.split_at(end);
        short.push_str(&without_middle(value, LONGEST_VALUE));
        rest = after;
    }
    short + rest
}

/// Where a value ends, which is JSON or as Go's `%#v` writes it. `None` if it has no end.
fn end_of_value(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' if depth > 0 => depth -= 1,
            b']' | b',' if depth == 0 => return Some(at),
            b':' if depth == 0 && text.as_bytes().get(at + 1) == Some(&b' ') => return Some(at),
            _ => {}
        }
    }
    (depth == 0 && !is_quoted).then_some(text.len())
}

/// The beginning and the end of a text, in at most `longest` bytes.
fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    const CUT: char = '…';
    if text.len() <= longest {
        return text.into();
    }
    let room = longest.saturating_sub(CUT.len_utf8());
    let head = text.floor_char_boundary(room - room / 4);
    let tail = text.ceil_char_boundary(text.len() - room / 4);
    format!("{}{CUT}{}", &text[..head], &text[tail..]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_both_ends() {
        let long = format!("a {} b", "é".repeat(100));
        for longest in 0..long.len() {
            let short = shorten(&long, longest);
            assert!(short.len() <= longest.max(3), "{longest}: {short}");
            assert!(longest < 16 || short.starts_with("a é") && short.ends_with(" b"));
        }
        assert_eq!(shorten(&long, long.len()), long);
    }
}
