//! The token with which a cluster asks a hub to register it. No message and no `Debug` output shows it.

use std::convert::Infallible;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use crate::failure::CommandError;

/// Upper bound on the bytes of a file with a token.
const LONGEST: u64 = 64 << 10;

/// A bearer token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

/// The two parts of a bootstrap token, `abcdef.0123456789abcdef`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BootstrapToken<'a> {
    /// The public part.
    pub(crate) id: &'a str,
    pub(crate) secret: &'a str,
}

// === impl Token ===

impl Token {
    /// Reads a token from a file, or from standard input if the path is `-`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self, CommandError> {
        let mut text = String::new();
        let read = if path == Path::new("-") {
            std::io::stdin().take(LONGEST).read_to_string(&mut text)
        } else {
            std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text))
        };
        match read {
            Ok(_) => Ok(Self(text.trim().to_owned())),
            Err(error) => Err(CommandError::Config(format!(
                "--hub-token-file {}: {error}",
                path.display()
            ))),
        }
    }

    /// Returns the token, to be sent or written to a Secret.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Checks that this can be a token.
    ///
    /// # Errors
    /// It is empty, or has characters that no token has, such as a line break.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let why = if self.0.is_empty() {
            "is empty"
        } else if !self.0.bytes().all(|byte| byte.is_ascii_graphic()) {
            "contains spaces, line breaks or other characters that no token contains"
        } else {
            return Ok(());
        };
        Err(CommandError::Config(format!(
            "the hub token {why}; 'berth get token' on the hub prints a token"
        )))
    }

    /// Returns the parts of a bootstrap token, or None if this is another kind of token.
    pub(crate) fn as_bootstrap(&self) -> Option<BootstrapToken<'_>> {
        let (id, secret) = self.0.split_once('.')?;
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let is_token = id.len() == 6 && secret.len() == 16 && is_plain(id) && is_plain(secret);
        is_token.then_some(BootstrapToken { id, secret })
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Accepts every text: clap would show one that is refused here.
impl FromStr for Token {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_nowhere() {
        let token: Token = "top secret".parse().unwrap();
        assert_eq!(format!("{token:?}"), "Token(..)");
        for (text, words) in [
            ("top secret", "spaces"),
            ("a\nb", "line breaks"),
            ("", "is empty"),
        ] {
            let failure = Token::from(text.to_owned())
                .check()
                .unwrap_err()
                .to_string();
            assert!(
                failure.contains(words) && !failure.contains("top"),
                "{failure}"
            );
        }
        assert!(Token::from("a.b-c".to_owned()).check().is_ok());
    }

    #[test]
    fn bootstrap_tokens_are_told_from_others() {
        for (text, id) in [
            ("abcdef.0123456789abcdef", Some("abcdef")),
            ("abcdef.0123456789abcde", None),
            ("ABCDEF.0123456789abcdef", None),
            ("eyJhbGciOi.eyJhdWQi.c2ln", None),
            ("", None),
        ] {
            let token = Token::from(text.to_owned());
            assert_eq!(token.as_bootstrap().map(|it| it.id), id, "{text}");
        }
    }
}
