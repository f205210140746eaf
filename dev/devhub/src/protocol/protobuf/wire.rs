//! The wire format of protobuf (<https://protobuf.dev/programming-guides/encoding/>), without the meaning of fields.

/// What a field holds, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    /// A varint.
    Number(u64),
    /// Eight bytes, little-endian.
    Fixed64(u64),
    /// Four bytes, which no message of Kubernetes has.
    Fixed32,
    /// A string, bytes, or a message.
    Bytes(&'a [u8]),
}

/// Why bytes are no message, as Go's decoder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// They end within a field.
    #[error("unexpected EOF")]
    Truncated,
    /// A number is larger than can be.
    #[error("proto: integer overflow")]
    Overflow,
    /// A field is of another type than its message says, or of none.
    #[error("proto: wrong wireType")]
    WireType,
    /// Messages within messages without end.
    #[error("proto: messages are nested too deeply")]
    TooDeep,
}

/// Reads field after field: (number, content). Ends with the first error.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed::Overflow)
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed::Overflow)?;
        let (bytes, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn field(&mut self) -> Result<(u32, Field<'a>), Malformed> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed::Overflow)?;
        let field = match tag & 7 {
            0 => Field::Number(self.varint()?),
            1 => {
                let bytes = self.bytes(8)?;
                let bytes = bytes.try_into().map_err(|_| Malformed::Truncated)?;
                Field::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => {
                self.bytes(4)?;
                Field::Fixed32
            }
            _ => return Err(Malformed::WireType),
        };
        Ok((number, field))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Field<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}
