//! Finds the items in the chunks of a list, and the lines in the chunks of a watch.
//!
//! A list of ten thousand objects is never in memory at once: each item is reported as soon as it is complete.
//!
//! # Guarantees
//! - The same text gives the same items and lines, however it is cut into chunks.
//! - At most `largest` bytes of an item are kept. A larger item is reported by its size, and reading continues after it.
//! - No input panics, and nothing recurses.

use memchr::{memchr_iter, memchr2};

/// Upper bound on the bytes of a list besides its items: kind, resourceVersion and the token to continue.
const SHELL: usize = 64 * 1024;

/// A buffer that has grown larger is freed after its item.
const KEPT: usize = 64 * 1024;

/// A part that was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// An item, or a line.
    Item(&'a [u8]),
    /// An item or a line that is larger than the bound, in bytes.
    TooLarge(usize),
}

/// The items of a Kubernetes list: the values in the array `items` of the outermost object.
#[derive(Debug)]
pub struct Items {
    item: Bounded,
    /// Everything but the items.
    shell: Bounded,
    depth: usize,
    in_text: bool,
    escaped: bool,
    in_items: bool,
}

/// The lines of a watch.
#[derive(Debug)]
pub struct Lines(Bounded);

/// Bytes up to a bound.
#[derive(Debug)]
struct Bounded {
    bytes: Vec<u8>,
    size: usize,
    largest: usize,
}

// === impl Items ===

impl Items {
    /// `largest`: upper bound on the bytes of one item.
    pub fn new(largest: usize) -> Self {
        Self {
            item: Bounded::new(largest),
            shell: Bounded::new(SHELL),
            depth: 0,
            in_text: false,
            escaped: false,
            in_items: false,
        }
    }

    /// Reads the next chunk of the list.
    pub fn feed(&mut self, chunk: &[u8], found: &mut impl FnMut(Found<'_>)) {
        let (mut start, mut at) = (0, 0);
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            if self.in_text {
                at += self.skip_text(rest);
                continue;
            }
            match rest[0] {
                b'"' => self.in_text = true,
                b'{' => self.depth += 1,
                b'[' => {
                    if self.depth == 1 && !self.in_items {
                        self.shell.push(&chunk[start..at]);
                        start = at;
                        if ends_with_items_key(&self.shell.bytes) {
                            self.shell.push(b"[");
                            start = at + 1;
                            self.in_items = true;
                        }
                    }
                    self.depth += 1;
                }
                end @ (b',' | b']') if self.in_items && self.depth == 2 => {
                    self.item.push(&chunk[start..at]);
                    self.item.take(found);
                    start = at + 1;
                    if end == b']' {
                        self.in_items = false;
                        self.depth = 1;
                        start = at;
                    }
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        self.kept().push(&chunk[start..]);
    }

    /// The list with an empty `items`. None if it is larger than the bound.
    pub fn shell(&self) -> Option<&[u8]> {
        (self.shell.size <= SHELL).then_some(&*self.shell.bytes)
    }

    fn kept(&mut self) -> &mut Bounded {
        if self.in_items {
            &mut self.item
        } else {
            &mut self.shell
        }
    }

    /// The number of bytes up to the end of a string, or all.
    fn skip_text(&mut self, rest: &[u8]) -> usize {
        if std::mem::take(&mut self.escaped) {
            return 1;
        }
        let Some(length) = memchr2(b'"', b'\\', rest) else {
            return rest.len();
        };
        if rest[length] == b'\\' {
            self.escaped = true;
        } else {
            self.in_text = false;
        }
        length + 1
    }
}

/// Returns true if the text ends with the key `items` of the outermost object, before its value.
fn ends_with_items_key(shell: &[u8]) -> bool {
    let key = shell
        .trim_ascii_end()
        .strip_suffix(b":")
        .map(<[u8]>::trim_ascii_end);
    key.and_then(|key| key.strip_suffix(b"\"items\""))
        .is_some_and(|before| !before.ends_with(b"\\"))
}

// === impl Lines ===

impl Lines {
    /// `largest`: upper bound on the bytes of one line.
    pub fn new(largest: usize) -> Self {
        Self(Bounded::new(largest))
    }

    /// Reads the next chunk of the watch. An incomplete line is kept for the next.
    pub fn feed(&mut self, chunk: &[u8], found: &mut impl FnMut(Found<'_>)) {
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.0.push(&chunk[start..end]);
            self.0.take(found);
            start = end + 1;
        }
        self.0.push(&chunk[start..]);
    }
}

// === impl Bounded ===

impl Bounded {
    fn new(largest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            size: 0,
            largest,
        }
    }

    fn push(&mut self, part: &[u8]) {
        self.size = self.size.saturating_add(part.len());
        if self.size <= self.largest {
            self.bytes.extend_from_slice(part);
        } else {
            self.bytes = Vec::new();
        }
    }

    /// Reports the bytes, unless they are blank, and begins with an empty buffer.
    fn take(&mut self, found: &mut impl FnMut(Found<'_>)) {
        if self.size > self.largest {
            found(Found::TooLarge(self.size));
        } else if !self.bytes.trim_ascii().is_empty() {
            found(Found::Item(self.bytes.trim_ascii()));
        }
        self.size = 0;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
    }
}

#[cfg(test)]
mod tests;
