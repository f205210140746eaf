//! Estimates the memory of a decoded review before it is decoded.

/// The bytes of memory of an object, without its strings.
const OBJECT: usize = 128;

/// The bytes of memory of a string, besides its content.
const TEXT: usize = 48;

/// The maximum for all values of a review, without the content of strings: lists and the requester are limited.
const MOST: usize = 4 * 1024 * 1024;

/// Returns the maximum number of bytes of memory that it takes to decode and decide a review, besides its body. The estimate
/// counts the possible objects and items: it is small for a usual review, and large for one of many small items.
pub fn decoding_costs(body: &[u8]) -> usize {
    let (objects, items) = objects_and_items(body);
    // Strings with escapes are copied through a buffer.
    (objects * OBJECT + items * TEXT).min(MOST + 2 * body.len())
}

/// The numbers of `{` and `,`.
fn objects_and_items(body: &[u8]) -> (usize, usize) {
    let (mut objects, mut items) = (0, 0);
    // As many bytes as a byte can count: the compiler counts 16 of them with one instruction.
    for part in body.chunks(usize::from(u8::MAX)) {
        let (mut braces, mut commas) = (0_u8, 0_u8);
        for byte in part {
            braces += u8::from(*byte == b'{');
            commas += u8::from(*byte == b',');
        }
        objects += usize::from(braces);
        items += usize::from(commas);
    }
    (objects, items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_items_are_counted_in_bodies_of_any_length() {
        assert_eq!(objects_and_items(b""), (0, 0));
        for times in [1, 84, 85, 86, 255, 1_000] {
            let body = "{,,".repeat(times);
            assert_eq!(objects_and_items(body.as_bytes()), (times, 2 * times));
        }
    }

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
