//! Shows untrusted text: escaped, and cut when it is long.
//!
//! Denials are printed on terminals, pasted into shells and matched by scripts; logs and audit records are read later. So
//! names appear in double quotes, commands quote characters that a shell would interpret, and the length of all text is
//! limited. Control characters, characters that reorder the text around them, and characters without width are escaped:
//! [`is_plain`] tells them from others, for all of Berth.

use std::fmt::{self, Write};

pub use berth_api::text::{cut, cut_bytes, is_plain};

/// The maximum number of bytes of a name. Kubernetes names are not longer.
const LONGEST: usize = 253;
/// The maximum number of bytes of a requester's text in logs.
const LONGEST_LOGGED: usize = 256;
/// The maximum number of items of a list. The others are counted.
const MOST: usize = 10;

/// A name in double quotes, escaped, and cut if it is longer than any Kubernetes name.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let whole = escaped(f, self.0, LONGEST, |c| matches!(c, '"' | '\\'))?;
        f.write_char('"')?;
        cut_mark(f, self.0, whole)
    }
}

/// Text without quotes, escaped.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a>(pub &'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, self.0, usize::MAX, |_| false).map(drop)
    }
}

/// Text of several lines, without quotes, escaped.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, line) in self.0.split('\n').enumerate() {
            if i > 0 {
                f.write_char('\n')?;
            }
            Plain(line).fmt(f)?;
        }
        Ok(())
    }
}

/// A requester's text in a log: escaped, and cut after 256 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a>(pub &'a str);

impl fmt::Display for Logged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = escaped(f, self.0, LONGEST_LOGGED, |_| false)?;
        cut_mark(f, self.0, whole)
    }
}

/// The name of an object, as [`Quoted`] shows it; `None` means all objects.
#[derive(Clone, Copy, Debug)]
pub struct ObjectOrAll<'a>(pub Option<&'a str>);

impl fmt::Display for ObjectOrAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => Quoted(name).fmt(f),
            None => f.write_str("(all)"),
        }
    }
}

/// ` in namespace "..."`, or nothing without a namespace.
#[derive(Clone, Copy, Debug)]
pub struct InNamespace<'a>(pub Option<&'a str>);

impl fmt::Display for InNamespace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(namespace) => write!(f, " in namespace {}", Quoted(namespace)),
            None => Ok(()),
        }
    }
}

/// A word of a POSIX shell command: quoted only if a shell would interpret it, and cut like [`Quoted`].
#[derive(Clone, Copy, Debug)]
pub struct ShellWord<'a>(pub &'a str);

impl fmt::Display for ShellWord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, _) = cut(self.0, LONGEST);
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
        if !shown.is_empty() && shown.chars().all(plain) {
            return f.write_str(shown);
        }
        f.write_str("'")?;
        for c in shown.chars() {
            match c {
                '\'' => f.write_str("'\\''")?,
                // Users paste this command: it must not contain hidden characters.
                c if !is_plain(c) => f.write_str("?")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}

/// The last argument of a command, quoted like [`ShellWord`]. If it begins with `-`, it follows `--`, so that programs do
/// not read it as a flag.
#[derive(Clone, Copy, Debug)]
pub struct LastArgument<'a>(pub &'a str);

impl fmt::Display for LastArgument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.0.starts_with('-') { "-- " } else { "" };
        write!(f, "{separator}{}", ShellWord(self.0))
    }
}

/// A long flag of a command and its value, quoted like [`ShellWord`]. A value that begins with `-` is joined to the flag
/// by `=`, so that programs do not read it as another flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag<'a>(pub &'a str, pub &'a str);

impl fmt::Display for Flag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(flag, value) = self;
        let between = if value.starts_with('-') { '=' } else { ' ' };
        write!(f, "{flag}{between}{}", ShellWord(value))
    }
}

/// Writes at most `longest` bytes of the text, escaped. Returns true if that was the whole text.
fn escaped(
    f: &mut fmt::Formatter<'_>,
    text: &str,
    longest: usize,
    also: fn(char) -> bool,
) -> Result<bool, fmt::Error> {
    let mut left = longest;
    for c in text.chars() {
        if is_plain(c) && !also(c) {
            if c.len_utf8() > left {
                return Ok(false);
            }
            left -= c.len_utf8();
            f.write_char(c)?;
        } else {
            // `escape_debug` does not escape letters and marks: they need an escape by number.
            let debug = c.escape_debug();
            let escape = if debug.len() > 1 {
                debug.to_string()
            } else {
                c.escape_unicode().to_string()
            };
            if escape.len() > left {
                return Ok(false);
            }
            left -= escape.len();
            f.write_str(&escape)?;
        }
    }
    Ok(true)
}

fn cut_mark(f: &mut fmt::Formatter<'_>, text: &str, whole: bool) -> fmt::Result {
    if whole {
        return Ok(());
    }
    write!(f, "... ({} bytes)", text.len())
}

/// Joins the first items, and adds the number of the others.
pub fn first_of<I>(items: I, separator: &str) -> String
where
    I: IntoIterator,
    I::Item: fmt::Display,
{
    let mut text = String::new();
    let mut more = 0;
    for (i, item) in items.into_iter().enumerate() {
        if i >= MOST {
            more += 1;
            continue;
        }
        if i > 0 {
            text.push_str(separator);
        }
        text.push_str(&item.to_string());
    }
    if more > 0 {
        text.push_str(&format!("{separator}... and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right-to-left override, zero-width space, isolate, soft hyphen, line separator, byte order mark, Hangul filler, a tag,
    /// the braille blank, a control character of the second set, a no-break space.
    const TRICKS: &str =
        "\u{202e}\u{200b}\u{2066}\u{ad}\u{2028}\u{feff}\u{3164}\u{e0041}\u{2800}\u{9b}\u{a0}";

    #[test]
    fn names_are_quoted_escaped_and_cut() {
        assert_eq!(Quoted("c1").to_string(), r#""c1""#);
        assert_eq!(
            Quoted("a\"b\n\u{1b}[31m").to_string(),
            r#""a\"b\n\u{1b}[31m""#
        );
        assert_eq!(Quoted("it's \\").to_string(), r#""it's \\""#);
        let long = Quoted(&"x".repeat(10_000)).to_string();
        assert!(long.len() < 300, "{long}");
        assert!(long.ends_with("... (10000 bytes)"), "{long}");
        let escaped = Quoted(&"\u{7f}".repeat(10_000)).to_string();
        assert!(escaped.len() < 300, "{escaped}");
    }

    #[test]
    fn a_multibyte_name_is_cut_between_characters() {
        assert!(Quoted(&"é".repeat(1000)).to_string().starts_with("\"éé"));
    }

    #[test]
    fn characters_that_hide_or_reorder_text_are_escaped() {
        let shown = [
            Quoted(TRICKS).to_string(),
            Plain(TRICKS).to_string(),
            Logged(TRICKS).to_string(),
            ShellWord(TRICKS).to_string(),
        ];
        for text in shown {
            assert!(text.chars().all(is_plain), "{text:?}");
            assert!(text.is_ascii(), "{text}");
        }
        assert_eq!(
            Plain("a\u{202e}b\u{3164}").to_string(),
            r"a\u{202e}b\u{3164}"
        );
        assert_eq!(Lines("a\n\u{202e}b\n").to_string(), "a\n\\u{202e}b\n");
    }

    #[test]
    fn a_log_holds_256_bytes_of_it() {
        assert_eq!(Logged("alice").to_string(), "alice");
        for text in ["x".repeat(5 << 20), "\u{202e}".repeat(1 << 20)] {
            let logged = Logged(&text).to_string();
            assert!(logged.len() < 300, "{}", logged.len());
            assert!(
                logged.ends_with(&format!("... ({} bytes)", text.len())),
                "{logged}"
            );
        }
    }

    #[test]
    fn shell_words_are_quoted_where_a_shell_would_interpret_them() {
        for (word, shown) in [
            ("managedclustersets/prod", "managedclustersets/prod"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(rm -rf ~)", "'$(rm -rf ~)'"),
            ("it's", r"'it'\''s'"),
            ("a\u{7}\nb", "'a??b'"),
            ("~root", "'~root'"),
            ("a\u{202e}b", "'a?b'"),
        ] {
            assert_eq!(ShellWord(word).to_string(), shown);
        }
    }

    #[test]
    fn arguments_that_begin_with_a_dash_are_not_flags() {
        for (name, last, flag) in [
            ("c1", "c1", "--as c1"),
            ("-x", "-- -x", "--as=-x"),
            ("--as", "-- --as", "--as=--as"),
            ("-a b", "-- '-a b'", "--as='-a b'"),
            ("", "''", "--as ''"),
        ] {
            assert_eq!(LastArgument(name).to_string(), last);
            assert_eq!(Flag("--as", name).to_string(), flag);
        }
    }

    #[test]
    fn long_lists_are_counted() {
        assert_eq!(first_of(["a", "b"], ","), "a,b");
        assert_eq!(
            first_of(0..12, ", "),
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... and 2 more"
        );
    }
}
