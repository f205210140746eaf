//! Services: the API server allocates addresses and ports. And the hash that OCM's agent writes on Services and CSIDrivers.

use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

use crate::exact::SPEC_HASH;
use crate::kinds::Rule;

/// Fields of the spec that the API server or a controller fills in.
const ALLOCATED: [&str; 8] = [
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "healthCheckNodePort",
    "loadBalancerClass",
    "sessionAffinityConfig",
    "loadBalancerIP",
];

/// The spec of a Service as it should be: the manifest's, with what was allocated for fields that it lacks.
pub(crate) fn spec(body: &Value, live: &Value) -> Value {
    let mut spec = match &body["spec"] {
        Value::Null => Map::new(),
        Value::Object(spec) => spec.clone(),
        // The API server refuses it.
        other => return other.clone(),
    };
    let found = &live["spec"];
    for name in ALLOCATED {
        if let Some(value) = found.get(name)
            && is_unset(name, spec.get(name))
            && same_type(&spec, found)
        {
            spec.insert(name.to_owned(), value.clone());
        }
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let protocol = |port: &Value| port["protocol"].as_str().unwrap_or("TCP").to_owned();
        let mut live = found["ports"].as_array().into_iter().flatten();
        let Some(live) =
            live.find(|live| live["port"] == port["port"] && protocol(live) == protocol(port))
        else {
            continue;
        };
        let Value::Object(port) = port else { continue };
        // targetPort is the port, unless it is set.
        if is_unset("targetPort", port.get("targetPort")) && live["targetPort"] == live["port"] {
            port.insert("targetPort".to_owned(), live["targetPort"].clone());
        }
        if is_unset("nodePort", port.get("nodePort"))
            && let Some(number) = live.get("nodePort")
        {
            port.insert("nodePort".to_owned(), number.clone());
        }
    }
    Value::Object(spec)
}

/// What was allocated for another type of Service is not kept.
fn same_type(spec: &Map<String, Value>, live: &Value) -> bool {
    let wanted = spec.get("type").and_then(Value::as_str);
    wanted.unwrap_or("ClusterIP") == live["type"].as_str().unwrap_or("ClusterIP")
}

/// Does the field have the value that stands for none? A targetPort is a number or a name.
fn is_unset(name: &str, value: Option<&Value>) -> bool {
    value.is_none_or(|value| match value {
        Value::Null => true,
        Value::Number(_) => name.ends_with("Port") && *value == 0,
        Value::String(text) => {
            text.is_empty() && !["nodePort", "healthCheckNodePort"].contains(&name)
        }
        _ => false,
    })
}

/// Adds the annotation with the hash of the spec, as OCM's agent does: after a change of agents it is not written anew.
pub(crate) fn annotate(rule: Rule, body: &mut Value) {
    let fields = match rule {
        Rule::Service => SERVICE_SPEC,
        _ => CSI_DRIVER_SPEC,
    };
    let mut text = String::new();
    encode(&body["spec"], fields, &mut text);
    let hash = digest(&SHA256, text.as_bytes());
    let hex = hash.as_ref().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a String does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        let annotations = metadata.entry("annotations").or_insert(json!({}));
        if annotations.is_null() {
            *annotations = json!({});
        }
        if let Value::Object(annotations) = annotations {
            annotations.insert(SPEC_HASH.to_owned(), hex.into());
        }
    }
}

/// The fields of a struct in the order of its Go type, which its JSON has.
type Fields = &'static [(&'static str, Form)];

/// How Go writes a field.
#[derive(Clone, Copy)]
enum Form {
    /// Left out if empty. Maps are sorted.
    Plain,
    /// As Plain; an empty value is written if it is given.
    Pointer,
    /// A list of structs.
    Structs(Fields),
    /// A number or a text, which is 0 if missing.
    Port,
}

const SERVICE_SPEC: Fields = &[
    ("ports", Form::Structs(SERVICE_PORT)),
    ("selector", Form::Plain),
    ("clusterIP", Form::Plain),
    ("clusterIPs", Form::Plain),
    ("type", Form::Plain),
    ("externalIPs", Form::Plain),
    ("sessionAffinity", Form::Plain),
    ("loadBalancerIP", Form::Plain),
    ("loadBalancerSourceRanges", Form::Plain),
    ("externalName", Form::Plain),
    ("externalTrafficPolicy", Form::Plain),
    ("healthCheckNodePort", Form::Plain),
    ("publishNotReadyAddresses", Form::Plain),
    ("sessionAffinityConfig", Form::Pointer),
    ("ipFamilies", Form::Plain),
    ("ipFamilyPolicy", Form::Pointer),
    ("allocateLoadBalancerNodePorts", Form::Pointer),
    ("loadBalancerClass", Form::Pointer),
    ("internalTrafficPolicy", Form::Pointer),
    ("trafficDistribution", Form::Pointer),
];
const SERVICE_PORT: Fields = &[
    ("name", Form::Plain),
    ("protocol", Form::Plain),
    ("appProtocol", Form::Pointer),
    ("port", Form::Port),
    ("targetPort", Form::Port),
    ("nodePort", Form::Plain),
];
const CSI_DRIVER_SPEC: Fields = &[
    ("attachRequired", Form::Pointer),
    ("podInfoOnMount", Form::Pointer),
    ("volumeLifecycleModes", Form::Plain),
    ("storageCapacity", Form::Pointer),
    ("fsGroupPolicy", Form::Pointer),
    ("tokenRequests", Form::Structs(TOKEN_REQUEST)),
    ("requiresRepublish", Form::Pointer),
    ("seLinuxMount", Form::Pointer),
    ("nodeAllocatableUpdatePeriodSeconds", Form::Pointer),
];
const TOKEN_REQUEST: Fields = &[
    ("audience", Form::Port),
    ("expirationSeconds", Form::Pointer),
];

/// Writes a struct as Go's encoding/json does.
fn encode(value: &Value, fields: Fields, text: &mut String) {
    text.push('{');
    let mut first = true;
    for (name, form) in fields {
        let value = &value[*name];
        let mut field = String::new();
        match form {
            Form::Port if value.is_null() => field.push('0'),
            Form::Plain if is_zero(value) => continue,
            _ if value.is_null() => continue,
            Form::Structs(_) if value.as_array().is_none_or(Vec::is_empty) => continue,
            Form::Structs(fields) => {
                field.push('[');
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    if index > 0 {
                        field.push(',');
                    }
                    encode(item, fields, &mut field);
                }
                field.push(']');
            }
            _ => field = value.to_string(),
        }
        if !first {
            text.push(',');
        }
        first = false;
        // Go writes these characters as escapes.
        let field = field
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026");
        let _ = write!(text, "\"{name}\":{field}");
    }
    text.push('}');
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}
