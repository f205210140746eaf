//! Fingerprints of keys, by which an admin recognizes a CSR or a CA.

use std::fmt;
use std::str::FromStr;

use berth_certs::csr::Csr;
use berth_certs::managed::Root;

/// The prefix of a fingerprint.
const SHA256: &str = "SHA256:";

/// The SHA-256 of a SubjectPublicKeyInfo, as this command prints it:
/// `openssl req -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 32]);

// === impl Fingerprint ===

impl Fingerprint {
    /// Returns the fingerprint of the key in a PEM CSR, or None if the CSR is malformed.
    pub(super) fn of(pem: &[u8]) -> Option<Self> {
        let csr = Csr::from_pem(pem).ok()?;
        Some(Self(csr.key_fingerprint()))
    }

    /// Returns the fingerprint of the key of a CA.
    pub(crate) fn of_root(root: &Root) -> Self {
        Self(root.key_fingerprint())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHA256)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    /// Parses either case, with or without colons between the bytes, since tools write all of these.
    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || "expected SHA256: and 64 hexadecimal digits".to_owned();
        let start = text.get(..SHA256.len()).ok_or_else(malformed)?;
        if !start.eq_ignore_ascii_case(SHA256) {
            return Err(malformed());
        }
        let digits: Vec<u8> = text[SHA256.len()..]
            .bytes()
            .filter(|byte| *byte != b':')
            .map(|byte| {
                char::from(byte)
                    .to_digit(16)
                    .and_then(|it| u8::try_from(it).ok())
            })
            .collect::<Option<_>>()
            .ok_or_else(malformed)?;
        let (pairs, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(malformed());
        }
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        bytes.try_into().map(Self).map_err(|_| malformed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_tools_write_it() {
        let digits = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let fingerprint: Fingerprint = format!("SHA256:{digits}").parse().unwrap();
        assert_eq!(fingerprint.to_string(), format!("SHA256:{digits}"));
        let pairs: Vec<&str> = (0..32).map(|at| &digits[2 * at..2 * at + 2]).collect();
        for text in [
            format!("sha256:{}", digits.to_uppercase()),
            format!("SHA256:{}", pairs.join(":")),
        ] {
            assert_eq!(text.parse(), Ok(fingerprint), "{text}");
        }
        for text in [
            "",
            "SHA256:",
            "SHA256",
            digits,
            &format!("MD5:{digits}"),
            &format!("SHA256:{digits}0"),
            &format!("SHA256:{digits}00"),
            &format!("SHA256:{}", &digits[2..]),
            &format!("SHA256:{}g", &digits[1..]),
            "SHA256\u{e4}\u{e4}",
        ] {
            let why = text.parse::<Fingerprint>().unwrap_err();
            assert!(why.contains("64 hexadecimal digits"), "{text}");
        }
    }
}
