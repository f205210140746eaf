//! Untrusted text: which characters are safe to show, and how a long text is cut.

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
}
