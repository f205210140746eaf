//! `metadata.managedFields`: the managers of an object and the fields that they own.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::element::BadElement;
use super::set::FieldSet;
use crate::object::Object;

/// How many managers that update are told apart.
const MAX_UPDATERS: usize = 10;

/// The manager that the oldest updates are merged into when there are more.
const ANCIENT: &str = "ancient-changes";

/// By what a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells managers apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    pub(crate) name: String,
    pub(crate) operation: Operation,
    /// Empty for server-side apply: the manager is the same in every version.
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// What a manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// The version that the fields are named in.
    pub(crate) api_version: String,
    /// The last change, as it is written in the object.
    pub(crate) time: Option<String>,
    pub(crate) fields: FieldSet,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managers(pub(crate) BTreeMap<ManagerId, Owned>);

/// Why managedFields cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadManagers {
    #[error("managedFields is no list of objects")]
    Type,
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    #[error("invalid fieldsType {1:?} in managed fields entry {0}")]
    FieldsType(usize, String),
    #[error("error decoding set: {0}")]
    Fields(#[from] BadElement),
}

impl Managers {
    /// Reads an object's managedFields.
    pub(crate) fn of(object: &Object) -> Result<Self, BadManagers> {
        match object.at(&["metadata", "managedFields"]) {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::Array(entries)) => Self::parse(entries),
            Some(_) => Err(BadManagers::Type),
        }
    }

    fn parse(entries: &[Value]) -> Result<Self, BadManagers> {
        let mut managers = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            let entry = entry.as_object().ok_or(BadManagers::Type)?;
            let text = |name: &str| match entry.get(name) {
                None | Some(Value::Null) => Ok(""),
                Some(Value::String(text)) => Ok(text.as_str()),
                Some(_) => Err(BadManagers::Type),
            };
            let operation = match text("operation")? {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(BadManagers::Operation),
            };
            let api_version = text("apiVersion")?;
            if api_version.is_empty() {
                return Err(BadManagers::ApiVersion);
            }
            match text("fieldsType")? {
                "FieldsV1" => {}
                "" => return Err(BadManagers::NoFieldsType(index)),
                other => return Err(BadManagers::FieldsType(index, other.to_owned())),
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::default(),
                Some(Value::Object(fields)) => FieldSet::parse(fields)?,
                Some(_) => return Err(BadManagers::Type),
            };
            let id = ManagerId::new(
                text("manager")?,
                operation,
                api_version,
                text("subresource")?,
            );
            let time = text("time")?;
            let owned = Owned {
                api_version: api_version.to_owned(),
                time: (!time.is_empty()).then(|| time.to_owned()),
                fields,
            };
            managers.0.insert(id, owned);
        }
        Ok(managers)
    }

    /// Writes them into an object.
    pub(crate) fn write_to(self, object: &mut Object) {
        if self.0.is_empty() {
            object.remove(&["metadata", "managedFields"]);
            return;
        }
        let mut entries: Vec<_> = self.0.into_iter().collect();
        entries.sort_by_cached_key(|(id, owned)| {
            let order = (owned.seconds(), id.name.clone(), owned.api_version.clone());
            (id.operation, order, id.subresource.clone())
        });
        let entries = entries.iter().map(|(id, owned)| entry(id, owned));
        object.set(
            &["metadata", "managedFields"],
            Value::Array(entries.collect()),
        );
    }

    /// Merges the oldest updates of a version until there are not too many.
    pub(crate) fn cap(&mut self) {
        let mut updaters: Vec<ManagerId> = self
            .0
            .keys()
            .filter(|id| id.operation == Operation::Update)
            .cloned()
            .collect();
        let mut surplus = updaters.len().saturating_sub(MAX_UPDATERS);
        if surplus == 0 {
            return;
        }
        updaters.sort_by_cached_key(|id| (self.0.get(id).map(Owned::seconds), id.clone()));
        let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
        for id in updaters {
            if surplus == 0 {
                return;
            }
            let Some(first) = first_of_version.get(&id.api_version) else {
                first_of_version.insert(id.api_version.clone(), id);
                continue;
            };
            let bucket = ManagerId::new(ANCIENT, Operation::Update, &id.api_version, "");
            if !self.0.contains_key(&bucket)
                && let Some(oldest) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), oldest);
            }
            if let Some(merged) = self.0.remove(&id) {
                let bucket = self.0.entry(bucket).or_insert_with(|| Owned {
                    fields: FieldSet::default(),
                    ..merged.clone()
                });
                bucket.fields.add(&merged.fields);
                bucket.time = merged.time;
            }
            surplus -= 1;
        }
    }
}

impl ManagerId {
    pub(crate) fn new(
        name: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// The manager, as messages about conflicts name it.
    pub(crate) fn in_words(&self) -> String {
        let mut words = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            words.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            words.push_str(&format!(" using {}", self.api_version));
        }
        words
    }
}

impl Owned {
    fn seconds(&self) -> i64 {
        let time = self.time.as_deref();
        time.and_then(|time| time.parse::<Timestamp>().ok())
            .map_or(0, Timestamp::as_second)
    }
}

fn entry(id: &ManagerId, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            entry.insert(name.to_owned(), value.into());
        }
    };
    put("manager", &id.name);
    put("operation", id.operation.as_str());
    put("apiVersion", &owned.api_version);
    put("subresource", &id.subresource);
    put("time", owned.time.as_deref().unwrap_or_default());
    put("fieldsType", "FieldsV1");
    entry.insert("fieldsV1".to_owned(), json!(owned.fields.print()));
    Value::Object(entry)
}

/// Returns true for managedFields that reset the ownership: `[]`, or `[{}]`.
pub(crate) fn is_reset(object: &Object) -> bool {
    match object.at(&["metadata", "managedFields"]) {
        Some(Value::Array(entries)) => match entries.as_slice() {
            [] => true,
            [Value::Object(only)] => only
                .values()
                .all(|value| value.is_null() || *value == json!("")),
            _ => false,
        },
        _ => false,
    }
}
