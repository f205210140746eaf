//! CA bundles of client configs: base64 of PEM, with at least one certificate that can be parsed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::pem::Pem;

/// The maximum number of blocks that are parsed, because the requester chooses their number.
const MOST_BLOCKS: usize = 1_000;

/// Returns the fault of a CA bundle, given as in an object's JSON, or `None` if it is valid.
///
/// As in Go's `AppendCertsFromPEM`, one certificate that can be parsed is enough: other blocks are ignored.
pub(crate) fn defect(base64: &str) -> Option<&'static str> {
    // Go's decoder ignores line breaks.
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
