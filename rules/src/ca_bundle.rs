//! CA bundles of client configs: base64 of PEM, with at least one certificate that parses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::pem::Pem;

/// More blocks of a bundle are not looked at: a requester chooses how many there are, and each takes its time.
const MOST_BLOCKS: usize = 1_000;

/// What is wrong with a CA bundle as it stands in an object's JSON; `None` when it is good.
///
/// Blocks that are no certificates, and certificates that do not parse, are passed over as long as one does, as Go's
/// `AppendCertsFromPEM` does.
pub(crate) fn defect(base64: &str) -> Option<&'static str> {
    // Go's decoder passes over line breaks.
    let pem = if base64.contains(['\r', '\n']) {
        STANDARD.decode(base64.replace(['\r', '\n'], ""))
    } else {
        STANDARD.decode(base64)
    };
    let Ok(pem) = pem else {
        return Some("is not base64");
    };
    let mut blocks = Pem::iter_from_buffer(&pem)
        .take(MOST_BLOCKS)
        .filter_map(Result::ok)
        .peekable();
    if blocks.peek().is_none() {
        return Some("holds no PEM block");
    }
    let parses = |block: Pem| block.label == "CERTIFICATE" && block.parse_x509().is_ok();
    (!blocks.any(parses)).then_some("holds no certificate that parses")
}
