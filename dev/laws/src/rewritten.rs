//! Rewrites JSON: keys in another order, unknown fields, duplicate keys.

use fastrand::Rng;
use serde_json::Value;

/// The style in which a value is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// The keys of each object in any order.
    pub(crate) shuffled: bool,
    /// Each object gets an unknown field.
    pub(crate) unknown_fields: bool,
    /// The member with this number (see [`members`]) occurs twice, the second time with another value.
    pub(crate) twice: Option<usize>,
}

/// Returns the number of members of all objects in a value.
pub(crate) fn members(value: &Value) -> usize {
    match value {
        Value::Object(object) => object.values().map(|value| 1 + members(value)).sum(),
        Value::Array(items) => items.iter().map(members).sum(),
        _ => 0,
    }
}

/// Returns the value as text.
pub(crate) fn rewritten(value: &Value, style: Style, dice: &mut Rng) -> String {
    let mut writer = Writer {
        style,
        dice,
        member: 0,
        text: String::new(),
    };
    writer.value(value);
    writer.text
}

struct Writer<'d> {
    style: Style,
    dice: &'d mut Rng,
    member: usize,
    text: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                if self.style.shuffled {
                    self.dice.shuffle(&mut members);
                }
                self.text.push('{');
                for (i, (key, value)) in members.into_iter().enumerate() {
                    if i > 0 {
                        self.text.push(',');
                    }
                    self.member(key, value);
                }
                if self.style.unknown_fields {
                    if !object.is_empty() {
                        self.text.push(',');
                    }
                    let value = ["\"unknown\"", "null", "{\"a\":[1,{}]}"][self.dice.usize(..3)];
                    self.text.push_str(&format!("\"unheardOf\":{value}"));
                }
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        self.text.push(',');
                    }
                    self.value(item);
                }
                self.text.push(']');
            }
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }

    fn member(&mut self, key: &str, value: &Value) {
        const OTHERS: [&str; 8] = [
            "null",
            "false",
            "true",
            "\"\"",
            "\"default\"",
            "0",
            "[]",
            "{}",
        ];
        let key = Value::from(key).to_string();
        let twice = self.style.twice == Some(self.member);
        self.member += 1;
        let other = twice.then(|| (OTHERS[self.dice.usize(..OTHERS.len())], self.dice.bool()));
        if let Some((other, true)) = other {
            self.text.push_str(&format!("{key}:{other},"));
        }
        self.text.push_str(&format!("{key}:"));
        self.value(value);
        if let Some((other, false)) = other {
            self.text.push_str(&format!(",{key}:{other}"));
        }
    }
}
