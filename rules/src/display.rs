//! How names that somebody else chose are shown in messages: quoted, and cut when they are long.
//!
//! Denials are printed on terminals, pasted into shells and matched by scripts. So names appear in double quotes with
//! control characters escaped, commands quote what a shell would interpret, and nothing a requester sends makes a
//! message grow without bound.

use std::fmt;

/// Longer names are cut: no Kubernetes name has more characters.
const LONGEST: usize = 253;
/// More items of a list are counted rather than shown.
const MOST: usize = 10;

/// A name in double quotes, escaped, and cut when it is longer than any Kubernetes name.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, cut) = cut(self.0, LONGEST);
        if cut {
            write!(f, "{shown:?}... ({} bytes)", self.0.len())
        } else {
            write!(f, "{shown:?}")
        }
    }
}

/// The name of an object, as [`Quoted`] shows it; without one, all objects are meant.
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

/// A word of a POSIX shell command, quoted only where a shell would interpret it, and cut as [`Quoted`] is.
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
                // No terminal command hides in a command that is meant to be pasted.
                c if c.is_control() => f.write_str("?")?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("'")
    }
}

/// The last argument of a command, quoted as [`ShellWord`] is. One that begins with `-` follows `--`, so that no program
/// reads it as a flag.
#[derive(Clone, Copy, Debug)]
pub struct LastArgument<'a>(pub &'a str);

impl fmt::Display for LastArgument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.0.starts_with('-') { "-- " } else { "" };
        write!(f, "{separator}{}", ShellWord(self.0))
    }
}

/// A long flag of a command and its value, quoted as [`ShellWord`] is. A value that begins with `-` is joined to the flag
/// by `=`, so that no program reads it as another flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag<'a>(pub &'a str, pub &'a str);

impl fmt::Display for Flag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(flag, value) = self;
        let between = if value.starts_with('-') { '=' } else { ' ' };
        write!(f, "{flag}{between}{}", ShellWord(value))
    }
}

/// The first items, separated, and how many more there are.
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

/// The first `longest` characters of a text, and whether there are more.
pub fn cut(text: &str, longest: usize) -> (&str, bool) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_escaped_and_cut() {
        assert_eq!(Quoted("c1").to_string(), r#""c1""#);
        assert_eq!(
            Quoted("a\"b\n\u{1b}[31m").to_string(),
            r#""a\"b\n\u{1b}[31m""#
        );
        let long = Quoted(&"x".repeat(10_000)).to_string();
        assert!(long.len() < 300, "{long}");
        assert!(long.ends_with("... (10000 bytes)"), "{long}");
    }

    #[test]
    fn a_multibyte_name_is_cut_between_characters() {
        assert!(Quoted(&"é".repeat(1000)).to_string().starts_with("\"éé"));
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
        ] {
            assert_eq!(ShellWord(word).to_string(), shown);
        }
    }

    #[test]
    fn arguments_that_begin_with_a_dash_are_no_flags() {
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
