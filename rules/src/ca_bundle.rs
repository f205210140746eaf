//! CA bundles of client configs: base64 of PEM, with at least one certificate that parses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::pem::Pem;

/// What is wrong with a CA bundle as it stands in an object's JSON; `None` when it is good.
///
/// Blocks that are no certificates, and certificates that do not parse, are passed over as long as one does, as Go's
/// `AppendCertsFromPEM` does.
pub fn defect(base64: &str) -> Option<&'static str> {
    // Go's decoder passes over line breaks.
    let base64: String = base64
        .chars()
        .filter(|c| !matches!(c, '\r' | '\n'))
        .collect();
    let Ok(pem) = STANDARD.decode(base64) else {
        return Some("is not base64");
    };
    let mut blocks = Pem::iter_from_buffer(&pem)
        .filter_map(Result::ok)
        .peekable();
    if blocks.peek().is_none() {
        return Some("holds no PEM block");
    }
    let parses = |block: Pem| block.label == "CERTIFICATE" && block.parse_x509().is_ok();
    (!blocks.any(parses)).then_some("holds no certificate that parses")
}
