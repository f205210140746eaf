//! Fields of an object that feedback rules report. Names and error messages are those of OCM.

use std::collections::BTreeSet;

use berth_api::work::{
    FeedbackRule, FeedbackType, FeedbackValue, FieldValue, JsonPath, ManifestResourceMeta,
    ValueType,
};
use serde_json::Value;

use crate::bound::shortened;
use crate::jsonpath::{OBJECT_VISITS, Path};

/// The most bytes of the values of an object, with their names.
const MOST_BYTES: usize = 64 * 1024;

/// The longest JSON of a value, from the schema: the API server would refuse the whole status otherwise.
pub(crate) const LONGEST_RAW: usize = 1024;

/// The most errors of an object that are kept: more than have room in the text.
const MOST_ERRORS: usize = 100;

/// The longest error in bytes.
const LONGEST_ERROR: usize = 1024;

/// What the rules find in an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Feedback {
    /// The values, each name once.
    pub(crate) values: Vec<FeedbackValue>,
    /// Why other values are missing.
    pub(crate) error: Option<String>,
}

/// A kind, and the values of the type WellKnownStatus: names and paths.
type WellKnown = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The kinds for which the type WellKnownStatus reports values: group, version, kind.
pub(crate) const WELL_KNOWN: &[WellKnown] = &[
    (
        "apps",
        "v1",
        "Deployment",
        &[
            ("ReadyReplicas", ".status.readyReplicas"),
            ("Replicas", ".status.replicas"),
            ("AvailableReplicas", ".status.availableReplicas"),
        ],
    ),
    (
        "apps",
        "v1",
        "DaemonSet",
        &[
            ("NumberReady", ".status.numberReady"),
            ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
            ("NumberAvailable", ".status.numberAvailable"),
        ],
    ),
    (
        "batch",
        "v1",
        "Job",
        &[
            (
                "JobComplete",
                r#".status.conditions[?(@.type=="Complete")].status"#,
            ),
            ("JobSucceeded", ".status.succeeded"),
        ],
    ),
    (
        "",
        "v1",
        "Pod",
        &[
            (
                "PodReady",
                r#".status.conditions[?(@.type=="Ready")].status"#,
            ),
            ("PodPhase", ".status.phase"),
        ],
    ),
];

/// Settings of the agent for reported fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackSettings {
    /// The gate `RawFeedbackJsonString`: lists and objects are reported as JSON, and all values that a path finds.
    pub raw: bool,
    /// The longest such JSON in bytes; at most 1024, which the CRD of ManifestWork allows.
    pub max_raw: usize,
}

/// Collects the values of an object.
struct Collector<'a> {
    meta: &'a ManifestResourceMeta,
    object: &'a Value,
    settings: &'a FeedbackSettings,
    names: BTreeSet<&'a str>,
    /// How many bytes the values may still have.
    room: usize,
    /// How many values the paths may still visit.
    visits_left: &'a mut usize,
    values: Vec<FeedbackValue>,
    /// Each once.
    errors: Vec<String>,
}

/// Reports the fields of an object that the rules name. What they cost is taken from `visits_left`, the budget of the object.
pub(crate) fn feedback(
    meta: &ManifestResourceMeta,
    rules: &[FeedbackRule],
    object: &Value,
    settings: &FeedbackSettings,
    visits_left: &mut usize,
) -> Feedback {
    let mut collector = Collector {
        meta,
        object,
        settings,
        names: BTreeSet::new(),
        room: MOST_BYTES,
        visits_left,
        values: Vec::new(),
        errors: Vec::new(),
    };
    for rule in rules {
        if *collector.visits_left > 0 {
            collector.rule(rule);
        }
    }
    let error = match &collector.errors[..] {
        [] => None,
        [error] => Some(error.clone()),
        errors => Some(format!("[{}]", errors.join(", "))),
    };
    Feedback {
        values: collector.values,
        error: error.map(|it| shortened(it, LONGEST_ERROR)),
    }
}

/// Names the rules that cannot be used, whatever the object is. Paths beyond the budget of an object are not read, as none of them is
/// looked for in an object.
pub(crate) fn faults(rules: &[FeedbackRule]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut left = OBJECT_VISITS;
    for rule in rules {
        match &rule.r#type {
            FeedbackType::Other(other) => faults.push(unknown_type(other)),
            FeedbackType::WellKnownStatus => {}
            FeedbackType::JsonPaths => {
                for it in &rule.json_paths {
                    charge(&it.path, &mut left);
                    if left == 0 {
                        faults.push(too_many(rules));
                        return faults;
                    }
                    if let Err(why) = Path::parse(&it.path) {
                        faults.push(unusable(&it.name, &it.path, &why));
                    }
                }
            }
        }
    }
    faults
}

/// To read a path costs something, too.
fn charge(path: &str, visits_left: &mut usize) {
    *visits_left = visits_left.saturating_sub(1 + path.len() / 8);
}

fn too_many(rules: &[FeedbackRule]) -> String {
    let paths = || rules.iter().flat_map(|it| &it.json_paths);
    let (count, bytes) = (
        paths().count(),
        paths().map(|it| it.path.len()).sum::<usize>(),
    );
    format!(
        "the {count} paths of the feedback rules have {bytes} bytes: to read them costs more than the {OBJECT_VISITS} that all paths of an \
         object may cost together; name fewer"
    )
}

fn unknown_type(type_: &str) -> String {
    format!("the type {type_:?} of a feedback rule is unknown")
}

fn unusable(name: &str, path: &str, why: &str) -> String {
    format!("the path {path:?} of the value {name} cannot be used: {why}")
}

// === impl FeedbackSettings ===

impl Default for FeedbackSettings {
    fn default() -> Self {
        Self {
            raw: false,
            max_raw: LONGEST_RAW,
        }
    }
}

// === impl Collector ===

impl<'a> Collector<'a> {
    fn rule(&mut self, rule: &'a FeedbackRule) {
        match &rule.r#type {
            FeedbackType::WellKnownStatus => self.well_known(),
            FeedbackType::JsonPaths => {
                for JsonPath {
                    name,
                    path,
                    version,
                } in &rule.json_paths
                {
                    if *self.visits_left == 0 {
                        return;
                    }
                    if version.is_empty() || *version == self.meta.version {
                        self.add(name, path);
                    } else {
                        self.error(format!(
                            "version set in the path {name} is not matched for the related resource"
                        ));
                    }
                }
            }
            FeedbackType::Other(other) => self.error(unknown_type(other)),
        }
    }

    fn well_known(&mut self) {
        let ManifestResourceMeta {
            group,
            version,
            kind,
            ..
        } = self.meta;
        let mut known = WELL_KNOWN.iter();
        match known.find(|it| (it.0, it.1, it.2) == (group, version, kind)) {
            Some((_, _, _, paths)) => paths.iter().for_each(|(name, path)| self.add(name, path)),
            None => self.error(format!(
                "cannot find the wellknown statuses for resource with gvk {group}/{version}, Kind={kind}"
            )),
        }
    }

    /// Adds the value at a path, if it has one. Of several values of one name, the first one counts: the API server refuses a status with
    /// two.
    fn add(&mut self, name: &'a str, path: &str) {
        let value = match self.value(name, path) {
            Ok(Some(value)) => value,
            Ok(None) => return,
            Err(error) => return self.error(error),
        };
        if self.names.contains(name) {
            return self.error(format!(
                "several feedback rules have a value named {name}; the first one is reported"
            ));
        }
        let text = value.string.as_ref().or(value.json_raw.as_ref());
        let bytes = name.len() + text.map_or(0, String::len);
        let Some(room) = self.room.checked_sub(bytes) else {
            return self.error(format!(
                "the value for {name} is too long: all values of an object may have {MOST_BYTES} bytes"
            ));
        };
        self.room = room;
        self.names.insert(name);
        self.values.push(FeedbackValue {
            field_value: value,
            name: name.to_owned(),
        });
    }

    fn value(&mut self, name: &str, path: &str) -> Result<Option<FieldValue>, String> {
        charge(path, self.visits_left);
        let found = Path::parse(path);
        let found = found.and_then(|it| it.find(self.object, self.visits_left));
        let found = found.map_err(|why| unusable(name, path, &why))?;
        let value = match found[..] {
            [] => return Ok(None),
            [_, _, ..] if self.settings.raw => &Value::from_iter(found.into_iter().cloned()),
            [first, ..] => first,
        };
        let mut field = FieldValue {
            boolean: None,
            integer: None,
            json_raw: None,
            string: None,
            r#type: ValueType::JsonRaw,
        };
        match value {
            Value::Null => return Ok(None),
            Value::Bool(value) => {
                field.r#type = ValueType::Boolean;
                field.boolean = Some(*value);
            }
            Value::String(value) => {
                field.r#type = ValueType::String;
                field.string = Some(value.clone());
            }
            Value::Number(number) => match number.as_i64() {
                Some(value) => {
                    field.r#type = ValueType::Integer;
                    field.integer = Some(value);
                }
                None => field.json_raw = Some(number.to_string()),
            },
            Value::Array(_) | Value::Object(_) if !self.settings.raw => {
                let type_ = match value {
                    Value::Array(_) => "[]interface {}",
                    _ => "map[string]interface {}",
                };
                return Err(format!(
                    "the type {type_} of the value for {name} is not found"
                ));
            }
            Value::Array(_) | Value::Object(_) => {
                let longest = self.settings.max_raw.min(LONGEST_RAW);
                let raw = value.to_string();
                if raw.len() > longest {
                    return Err(format!(
                        "the length of returned json raw string for name {name} is larger than the maximum length {longest}"
                    ));
                }
                field.json_raw = Some(raw);
            }
        }
        Ok(Some(field))
    }

    fn error(&mut self, error: String) {
        if *self.visits_left == 0 {
            // It says why other values are missing, and must not be cut.
            return self.errors.insert(0, error);
        }
        // The text of all of them is cut.
        if self.errors.len() < MOST_ERRORS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

#[cfg(test)]
mod tests;
