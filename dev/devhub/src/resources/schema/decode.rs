//! What Go's decoder of JSON says of a value that does not fit into a type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::kubernetes::{object_meta, unfolded};
use super::{Schema, Type};

/// Types that are strings in JSON and something of their own in Go: a type, its field, Go's name.
const NAMED: &[(&str, &str, &str)] = &[
    ("ObjectMeta", "uid", "types.UID"),
    ("OwnerReference", "uid", "types.UID"),
    ("ObjectReference", "uid", "types.UID"),
    ("Preconditions", "uid", "types.UID"),
    (
        "ManagedFieldsEntry",
        "operation",
        "v1.ManagedFieldsOperationType",
    ),
    ("NamespaceStatus", "phase", "v1.NamespacePhase"),
    ("NamespaceSpec", "finalizers", "v1.FinalizerName"),
    ("Secret", "type", "v1.SecretType"),
    ("ServiceSpec", "type", "v1.ServiceType"),
    ("ServicePort", "protocol", "v1.Protocol"),
    ("Taint", "effect", "v1.TaintEffect"),
    ("NodeAddress", "type", "v1.NodeAddressType"),
    ("NodeStatus", "phase", "v1.NodePhase"),
    (
        "LabelSelectorRequirement",
        "operator",
        "v1.LabelSelectorOperator",
    ),
    ("CustomResourceDefinitionSpec", "scope", "v1.ResourceScope"),
    (
        "CustomResourceConversion",
        "strategy",
        "v1.ConversionStrategyType",
    ),
    ("RuleWithOperations", "operations", "v1.OperationType"),
    ("RuleWithOperations", "scope", "v1.ScopeType"),
    ("MutatingWebhook", "failurePolicy", "v1.FailurePolicyType"),
    ("MutatingWebhook", "matchPolicy", "v1.MatchPolicyType"),
    ("MutatingWebhook", "sideEffects", "v1.SideEffectClass"),
    (
        "MutatingWebhook",
        "reinvocationPolicy",
        "v1.ReinvocationPolicyType",
    ),
    ("ValidatingWebhook", "failurePolicy", "v1.FailurePolicyType"),
    ("ValidatingWebhook", "matchPolicy", "v1.MatchPolicyType"),
    ("ValidatingWebhook", "sideEffects", "v1.SideEffectClass"),
    ("CertificateSigningRequestSpec", "usages", "v1.KeyUsage"),
    (
        "CertificateSigningRequestCondition",
        "type",
        "v1.RequestConditionType",
    ),
];

pub(super) fn decode_error(schema: &Schema, value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    if !schema.name.is_empty() {
        return Decoder::default().check(schema, value).err();
    }
    // A custom object is decoded into nothing; its metadata is, by itself.
    let metadata = fields.get("metadata")?;
    if !metadata.is_object() && !metadata.is_null() {
        let found = found(metadata, false);
        return Some(format!(
            "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
        ));
    }
    Decoder::default().check(object_meta(), metadata).err()
}

/// Where the decoder is.
#[derive(Default)]
struct Decoder {
    /// The innermost type, by its short name.
    within: String,
    /// Names of fields on the way.
    path: Vec<String>,
}

impl Decoder {
    fn check(&mut self, schema: &Schema, value: &Value) -> Result<(), String> {
        let schema = unfolded(schema, value);
        if value.is_null() {
            return Ok(());
        }
        match short(&schema.name) {
            "Time" => return self.time(value, "2006-01-02T15:04:05Z07:00"),
            "MicroTime" => return self.time(value, "2006-01-02T15:04:05.000000Z07:00"),
            "Quantity" => return quantity(value),
            _ => {}
        }
        match (schema.r#type, value) {
            (Type::Any, _) => Ok(()),
            (Type::Object, Value::Object(_)) => self.object(schema, value),
            (Type::Array, Value::Array(items)) => {
                let Some(child) = schema.items.as_deref() else {
                    return Ok(());
                };
                items.iter().try_for_each(|item| self.check(child, item))
            }
            (Type::String, Value::String(text)) if schema.format == "byte" => bytes(text),
            (Type::String, Value::Array(items)) if schema.format == "byte" => {
                let wrong = items
                    .iter()
                    .find(|item| item.as_u64().is_none_or(|byte| byte > 255));
                wrong.map_or(Ok(()), |item| self.wrong(item, "uint8", true))
            }
            (Type::String, Value::String(_)) | (Type::Boolean, Value::Bool(_)) => Ok(()),
            (Type::IntOrString, Value::String(_)) => Ok(()),
            (Type::Number, Value::Number(_)) => Ok(()),
            (Type::Integer, Value::Number(number)) => {
                let fits = number
                    .as_i64()
                    .is_some_and(|int| schema.format != "int32" || i32::try_from(int).is_ok());
                if fits {
                    Ok(())
                } else {
                    self.wrong(value, &self.go_type(schema), true)
                }
            }
            (Type::IntOrString, Value::Number(number)) => {
                let fits = number
                    .as_i64()
                    .is_some_and(|int| i32::try_from(int).is_ok());
                if fits {
                    Ok(())
                } else {
                    self.wrong(value, "int32", true)
                }
            }
            (Type::IntOrString, other) => self.wrong(other, "int32", false),
            (_, other) => self.wrong(other, &self.go_type(schema), false),
        }
    }

    fn object(&mut self, schema: &Schema, value: &Value) -> Result<(), String> {
        let outer = self.within.clone();
        if !schema.properties.is_empty() && !schema.name.is_empty() {
            short(&schema.name).clone_into(&mut self.within);
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            if let Some(child) = schema.properties.get(name) {
                self.path.push(name.clone());
                self.check(child, value)?;
                self.path.pop();
            } else if let Some(child) = &schema.additional {
                self.check(child, value)?;
            }
        }
        self.within = outer;
        Ok(())
    }

    fn wrong(&self, value: &Value, go_type: &str, show: bool) -> Result<(), String> {
        let found = found(value, show);
        let path = self.path.join(".");
        let within = &self.within;
        Err(format!(
            "json: cannot unmarshal {found} into Go struct field {within}.{path} of type {go_type}"
        ))
    }

    /// Times have a decoder of their own, which takes a string.
    fn time(&self, value: &Value, layout: &str) -> Result<(), String> {
        let Value::String(text) = value else {
            return self.wrong(value, "string", false);
        };
        if text.parse::<jiff::Timestamp>().is_ok() {
            return Ok(());
        }
        let digits = text.chars().take(4).all(|c| c.is_ascii_digit()) && text.len() >= 4;
        let (rest, part) = if digits {
            (&text[4..], "-")
        } else {
            (text.as_str(), "2006")
        };
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"
        ))
    }

    /// The name of a type in Go.
    fn go_type(&self, schema: &Schema) -> String {
        match schema.r#type {
            _ if !schema.name.is_empty() => {
                let mut parts = schema.name.rsplitn(3, '.');
                let name = parts.next().unwrap_or_default();
                let package = parts.next().unwrap_or_default();
                format!("{package}.{name}")
            }
            Type::Boolean => "bool".to_owned(),
            Type::Number => "float64".to_owned(),
            Type::Integer if schema.format.is_empty() => "int64".to_owned(),
            Type::Integer => schema.format.clone(),
            Type::String if schema.format == "byte" => "[]uint8".to_owned(),
            Type::String | Type::Any | Type::IntOrString => self.string_type().to_owned(),
            Type::Array => {
                let items = schema.items.as_deref();
                format!(
                    "[]{}",
                    items.map(|items| self.go_type(items)).unwrap_or_default()
                )
            }
            Type::Object => match schema.additional.as_deref() {
                Some(values) => format!("map[string]{}", self.go_type(values)),
                None => "map[string]interface {}".to_owned(),
            },
        }
    }

    fn string_type(&self) -> &'static str {
        let field = self.path.last().map(String::as_str).unwrap_or_default();
        if field == "status" && self.within.ends_with("Condition") {
            return "v1.ConditionStatus";
        }
        NAMED
            .iter()
            .find(|(of, its, _)| *of == self.within && *its == field)
            .map_or("string", |(.., name)| name)
    }
}

/// The last part of a type's name.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// What was found, in Go's words. Numbers are shown where it is their value that is wrong.
fn found(value: &Value, show: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if show => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

fn bytes(text: &str) -> Result<(), String> {
    // Go's decoder passes over line ends.
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let at = match STANDARD.decode(&text) {
        Ok(_) => return Ok(()),
        Err(
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol { offset: at, .. },
        ) => at,
        // A last group that is too short is wrong from its start on.
        Err(_) if !text.contains('=') => text.len() / 4 * 4,
        Err(_) => text.len(),
    };
    Err(format!("illegal base64 data at input byte {at}"))
}

/// A number with a unit.
fn quantity(value: &Value) -> Result<(), String> {
    let is_one = match value {
        Value::Number(_) => true,
        Value::String(text) => is_quantity(text),
        _ => false,
    };
    if is_one {
        return Ok(());
    }
    Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned())
}

fn is_quantity(text: &str) -> bool {
    const UNITS: [&str; 17] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e0",
    ];
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = number.len()
        - number
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
    let (digits, unit) = number.split_at(digits);
    let is_exponent = || {
        let exponent = unit.strip_prefix(['e', 'E']).unwrap_or_default();
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && exponent.chars().all(|c| c.is_ascii_digit())
    };
    digits.contains(|c: char| c.is_ascii_digit())
        && digits.matches('.').count() <= 1
        && (UNITS.contains(&unit) || is_exponent())
}
