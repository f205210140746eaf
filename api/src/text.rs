//! Untrusted text: which characters are safe to show, and how a long text is cut.

use std::borrow::Cow;

/// What precedes the value in an error about a field: `Invalid value: `, `Unsupported value: `.
const BEFORE_VALUE: &str = " value: ";
/// Upper bound on the bytes of a value in a message that is too long.
const LONGEST_VALUE: usize = 160;

/// Invisible characters that Unicode classifies as letters, symbols or marks: fillers, the braille blank, joiners.
const INVISIBLE: [char; 9] = [
    '\u{34f}',
    '\u{115f}',
    '\u{1160}',
    '\u{17b4}',
    '\u{17b5}',
    '\u{2800}',
    '\u{3164}',
    '\u{ffa0}',
    '\u{1d159}',
];

/// Returns whether a character is safe to show unescaped.
///
/// Unsafe are control characters, characters that set the direction of text or have no width, all spaces except U+0020, and unassigned
/// code points: a terminal interprets them, or a reader does not see them.
pub fn is_plain(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        c => c.escape_debug().len() == 1 && !INVISIBLE.contains(&c),
    }
}

/// The first `longest` characters of a text, and whether more follow.
pub fn cut(text: &str, longest: usize) -> (&str, bool) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// At most `longest` bytes of a text, up to the end of a character.
pub fn cut_bytes(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// At most `longest` bytes of a message, whose reason is often at its end. Values in it are cut first, such as the whole pod template of
/// an object; then the message is cut. Both lose their middle.
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
#[must_use]
pub fn without_middle(text: &str, longest: usize) -> Cow<'_, str> {
    const CUT: char = '…';
    if text.len() <= longest {
        return text.into();
    }
    let Some(room) = longest.checked_sub(CUT.len_utf8()) else {
        return cut_bytes(text, longest).into();
    };
    let head = text.floor_char_boundary(room - room / 4);
    let tail = text.ceil_char_boundary(text.len() - room / 4);
    format!("{}{CUT}{}", &text[..head], &text[tail..]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_plain_and_invisible_or_reordering_characters_are_not() {
        for c in "aé日本ñ~ \"'\\".chars() {
            assert!(is_plain(c), "{c}");
        }
        let tricks = "\u{202e}\u{200b}\u{2066}\u{ad}\u{2028}\u{feff}\u{3164}\u{e0041}\u{2800}\u{9b}\u{a0}\u{7f}\n\u{1b}";
        for c in tricks.chars() {
            assert!(!is_plain(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn a_text_is_cut_at_the_end_of_a_character() {
        assert_eq!(cut("año", 2), ("añ", true));
        assert_eq!(cut("año", 3), ("año", false));
        assert_eq!(cut_bytes("año", 2), "a");
        assert_eq!(cut_bytes("año", 9), "año");
    }

    #[test]
    fn a_message_keeps_both_ends() {
        let long = format!("a {} b", "é".repeat(100));
        for longest in 0..long.len() {
            let short = shorten(&long, longest);
            assert!(short.len() <= longest, "{longest}: {short}");
            assert!(longest < 16 || short.starts_with("a é") && short.ends_with(" b"));
        }
        assert_eq!(shorten(&long, long.len()), long);
    }
}
