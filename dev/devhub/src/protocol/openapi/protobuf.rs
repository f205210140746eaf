//! Version 2 as protobuf: kubectl checks a `kind: List` against it before it sends what is in there, and takes no JSON.
//!
//! The messages are those of gnostic (`openapiv2/OpenAPIv2.proto`), as far as documents here have anything to put into them.

use serde_json::Value;

/// A field: its name in JSON; its number, with those of the messages around it before; and what it holds.
type Field = (&'static str, &'static [u32], Sort);

#[derive(Clone, Copy)]
enum Sort {
    Text,
    Flag,
    Integer,
    Double,
    /// Any value, as YAML. JSON is YAML.
    Any,
    Message(&'static Message),
    /// Messages by name.
    Named(&'static Message),
    /// Responses by code: as `Named`, in one more message.
    Responses,
    /// A parameter, of one of three sorts.
    Parameter,
}

/// A message: its fields, and the number of that for `x-...`.
struct Message {
    fields: &'static [Field],
    extensions: u32,
}

static DOCUMENT: Message = Message {
    fields: &[
        ("swagger", &[1], Sort::Text),
        ("info", &[2], Sort::Message(&INFO)),
        ("paths", &[8, 2], Sort::Named(&PATH)),
        ("definitions", &[9, 1], Sort::Named(&SCHEMA)),
    ],
    extensions: 16,
};

static INFO: Message = Message {
    fields: &[
        ("title", &[1], Sort::Text),
        ("version", &[2], Sort::Text),
        ("description", &[3], Sort::Text),
    ],
    extensions: 7,
};

static PATH: Message = Message {
    fields: &[
        ("get", &[2], Sort::Message(&OPERATION)),
        ("put", &[3], Sort::Message(&OPERATION)),
        ("post", &[4], Sort::Message(&OPERATION)),
        ("delete", &[5], Sort::Message(&OPERATION)),
        ("patch", &[8], Sort::Message(&OPERATION)),
        ("parameters", &[9], Sort::Parameter),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        ("description", &[3], Sort::Text),
        ("operationId", &[5], Sort::Text),
        ("produces", &[6], Sort::Text),
        ("consumes", &[7], Sort::Text),
        ("parameters", &[8], Sort::Parameter),
        ("responses", &[9, 1], Sort::Responses),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[
        ("description", &[1], Sort::Text),
        ("schema", &[2, 1], Sort::Message(&SCHEMA)),
    ],
    extensions: 5,
};

static BODY: Message = Message {
    fields: &[
        ("description", &[1], Sort::Text),
        ("name", &[2], Sort::Text),
        ("in", &[3], Sort::Text),
        ("required", &[4], Sort::Flag),
        ("schema", &[5], Sort::Message(&SCHEMA)),
    ],
    extensions: 6,
};

static IN_QUERY: Message = Message {
    fields: &[
        ("required", &[1], Sort::Flag),
        ("in", &[2], Sort::Text),
        ("description", &[3], Sort::Text),
        ("name", &[4], Sort::Text),
        ("type", &[6], Sort::Text),
        ("uniqueItems", &[20], Sort::Flag),
    ],
    extensions: 23,
};

static IN_PATH: Message = Message {
    fields: &[
        ("required", &[1], Sort::Flag),
        ("in", &[2], Sort::Text),
        ("description", &[3], Sort::Text),
        ("name", &[4], Sort::Text),
        ("type", &[5], Sort::Text),
        ("uniqueItems", &[19], Sort::Flag),
    ],
    extensions: 22,
};

static SCHEMA: Message = Message {
    fields: &[
        ("$ref", &[1], Sort::Text),
        ("format", &[2], Sort::Text),
        ("title", &[3], Sort::Text),
        ("description", &[4], Sort::Text),
        ("multipleOf", &[6], Sort::Double),
        ("maximum", &[7], Sort::Double),
        ("exclusiveMaximum", &[8], Sort::Flag),
        ("minimum", &[9], Sort::Double),
        ("exclusiveMinimum", &[10], Sort::Flag),
        ("maxLength", &[11], Sort::Integer),
        ("minLength", &[12], Sort::Integer),
        ("pattern", &[13], Sort::Text),
        ("maxItems", &[14], Sort::Integer),
        ("minItems", &[15], Sort::Integer),
        ("uniqueItems", &[16], Sort::Flag),
        ("maxProperties", &[17], Sort::Integer),
        ("minProperties", &[18], Sort::Integer),
        ("required", &[19], Sort::Text),
        ("enum", &[20], Sort::Any),
        ("additionalProperties", &[21, 1], Sort::Message(&SCHEMA)),
        ("type", &[22, 1], Sort::Text),
        ("items", &[23, 1], Sort::Message(&SCHEMA)),
        ("properties", &[25, 1], Sort::Named(&SCHEMA)),
    ],
    extensions: 31,
};

/// A document of version 2.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    DOCUMENT.encode(document)
}

impl Message {
    fn encode(&self, json: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in json.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                let any = bytes(2, &any(value));
                let named = [bytes(1, name.as_bytes()), any].concat();
                out.extend(bytes(self.extensions, &named));
                continue;
            }
            let known = self.fields.iter().find(|(known, ..)| known == name);
            if let Some((_, at, sort)) = known
                && let Some((&number, around)) = at.split_last()
            {
                let mut field = sort.encode(number, value);
                for &number in around.iter().rev() {
                    field = bytes(number, &field);
                }
                out.extend(field);
            }
        }
        out
    }
}

impl Sort {
    /// The field of this number; again and again for the items of a list.
    fn encode(self, number: u32, json: &Value) -> Vec<u8> {
        let named = |value: &dyn Fn(&Value) -> Vec<u8>| {
            let entries = json.as_object().into_iter().flatten();
            let entries = entries.map(|(name, json)| {
                let entry = [bytes(1, name.as_bytes()), bytes(2, &value(json))].concat();
                bytes(number, &entry)
            });
            entries.collect::<Vec<_>>().concat()
        };
        match (self, json) {
            (Self::Named(message), _) => named(&|json| message.encode(json)),
            (Self::Responses, _) => named(&|json| bytes(1, &RESPONSE.encode(json))),
            (_, Value::Array(items)) => {
                let items = items.iter().map(|item| self.encode(number, item));
                items.collect::<Vec<_>>().concat()
            }
            (Self::Any, _) => bytes(number, &any(json)),
            (Self::Message(message), Value::Object(_)) => bytes(number, &message.encode(json)),
            (Self::Parameter, Value::Object(_)) => bytes(number, &parameter(json)),
            (Self::Text, Value::String(text)) => bytes(number, text.as_bytes()),
            (Self::Flag, Value::Bool(yes)) => [tag(number, 0), vec![u8::from(*yes)]].concat(),
            (Self::Integer, Value::Number(value)) => {
                let value = value.as_u64().unwrap_or_default();
                [tag(number, 0), varint(value)].concat()
            }
            (Self::Double, Value::Number(value)) => {
                let value = value.as_f64().unwrap_or_default();
                [tag(number, 1), value.to_le_bytes().to_vec()].concat()
            }
            // Such as `additionalProperties: true`, which says nothing.
            _ => Vec::new(),
        }
    }
}

fn any(json: &Value) -> Vec<u8> {
    bytes(2, json.to_string().as_bytes())
}

/// What is in a `ParametersItem`.
fn parameter(json: &Value) -> Vec<u8> {
    let parameter = match json.get("in").and_then(Value::as_str) {
        Some("body") => bytes(1, &BODY.encode(json)),
        Some("path") => bytes(2, &bytes(4, &IN_PATH.encode(json))),
        _ => bytes(2, &bytes(3, &IN_QUERY.encode(json))),
    };
    bytes(1, &parameter)
}

fn tag(number: u32, wire_type: u64) -> Vec<u8> {
    varint(u64::from(number) << 3 | wire_type)
}

fn bytes(number: u32, content: &[u8]) -> Vec<u8> {
    let mut field = tag(number, 2);
    field.extend(varint(content.len() as u64));
    field.extend_from_slice(content);
    field
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return out;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_are_encoded_as_gnostic_reads_them() {
        let schema = json!({"type": "array", "items": {"$ref": "#/a"}, "x-y": ["z"], "minimum": 1});
        let mut expected: Vec<u8> = vec![0xba, 1, 7, 10, 5, 10, 3];
        expected.extend(b"#/a");
        expected.extend([0x49, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        expected.extend([0xb2, 1, 7, 10, 5]);
        expected.extend(b"array");
        expected.extend([0xfa, 1, 14, 10, 3]);
        expected.extend(b"x-y");
        expected.extend([18, 7, 18, 5]);
        expected.extend(b"[\"z\"]");
        assert_eq!(SCHEMA.encode(&schema), expected);
    }

    #[test]
    fn maps_are_lists_of_names_with_values() {
        let document = json!({"definitions": {"a": {"properties": {"b": {}}}}});
        let property = [bytes(1, b"b"), bytes(2, b"")].concat();
        let schema = bytes(25, &bytes(1, &property));
        let definition = [bytes(1, b"a"), bytes(2, &schema)].concat();
        let expected = bytes(9, &bytes(1, &definition));
        assert_eq!(encode(&document), expected);
    }

    #[test]
    fn numbers_are_written_in_groups_of_seven_bits() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(127), [127]);
        assert_eq!(varint(300), [0xac, 2]);
    }
}
