//! What a review takes in memory once it is decoded, told before it is.

/// What an object takes that is held, with all it holds itself but its texts.
const OBJECT: usize = 128;

/// What a text takes that is held, besides its bytes.
const TEXT: usize = 48;

/// What all that is held takes at most, besides its texts: lists are bounded, and so is the requester.
const MOST: usize = 4 * 1024 * 1024;

/// At most so many bytes of memory are taken by decoding and deciding a review, besides its body. Counted by the objects and
/// items there could be in it, so that a plain review costs little, and one of tiny items what it takes.
pub fn decoding_costs(body: &[u8]) -> usize {
    let (mut objects, mut items) = (0, 0);
    for byte in body {
        objects += usize::from(*byte == b'{');
        items += usize::from(*byte == b',');
    }
    // Texts with escapes are copied once, by way of a buffer.
    (objects * OBJECT + items * TEXT).min(MOST + 2 * body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_costs_what_is_in_it() {
        let plain =
            include_bytes!("../../../tests/data/reviews/update-unrelated-bob.validate.json");
        assert!(
            decoding_costs(plain) < 8 * plain.len(),
            "{}",
            decoding_costs(plain)
        );
        let tiny = "{},".repeat(1_000);
        assert!(decoding_costs(tiny.as_bytes()) > 100_000);
        let large = "{},".repeat(2_000_000);
        assert!(decoding_costs(large.as_bytes()) < 20 << 20);
    }
}
