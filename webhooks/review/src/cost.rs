//! Estimates the memory of a decoded review before it is decoded.

use bytecount::count;

/// The bytes of memory of an object, without its strings.
const OBJECT: usize = 128;

/// The bytes of memory of a string, besides its content.
const TEXT: usize = 48;

/// The maximum for all values of a review, without the content of strings: lists and the requester are limited.
const MOST: usize = 4 * 1024 * 1024;

/// Returns the maximum number of bytes of memory that it takes to decode and decide a review, besides its body. The estimate
/// counts the possible objects and items: it is small for a usual review, and large for one of many small items.
pub fn decoding_costs(body: &[u8]) -> usize {
    // Not a loop of our own: the whole program is linked for size, which vectorizes no loop. This one is so by hand, and takes a quarter of
    // the instructions of memchr's.
    let (objects, items) = (count(body, b'{'), count(body, b','));
    // Strings with escapes are copied through a buffer.
    (objects * OBJECT + items * TEXT).min(MOST + 2 * body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_review_follows_from_its_content() {
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
