//! A resource in one version, with all that requests to it need.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::World;
use crate::object::Object;
use crate::resources::schema::Schema;
use crate::status::{ApiError, FieldError};
use crate::storage::{Key, StorageId};
use crate::user::User;

/// What can be done to a resource; the names are Kubernetes' (`deletecollection`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

/// A resource in one version: what a request's path names.
pub(crate) struct Resource {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The plural name, as in paths.
    pub(crate) name: String,
    /// The singular name.
    pub(crate) singular: String,
    /// The kind.
    pub(crate) kind: String,
    /// The kind of lists.
    pub(crate) list_kind: String,
    /// Short names for people.
    pub(crate) short_names: Vec<String>,
    /// Groups of resources, such as `all`.
    pub(crate) categories: Vec<String>,
    /// True if its objects are in namespaces.
    pub(crate) namespaced: bool,
    /// What can be done.
    pub(crate) verbs: Vec<Verb>,
    /// Subresources that can be reached.
    pub(crate) subresources: Vec<Subresource>,
    /// What its objects look like.
    pub(crate) schema: Arc<Schema>,
    /// How its objects are shown in tables.
    pub(crate) columns: Columns,
    /// Where its objects are; several versions share one place.
    pub(crate) storage: StorageId,
    /// The `apiVersion` that objects are stored with.
    pub(crate) storage_version: String,
    /// True if it comes from a CustomResourceDefinition.
    pub(crate) custom: bool,
    /// Paths of fields, besides `metadata.name` and `metadata.namespace`, that field selectors can name
    /// (`spec.signerName`); the value of one is `Resource::field`'s business.
    pub(crate) selectable_fields: Vec<String>,
    /// How stored objects are read. None for built-in kinds.
    pub(crate) reading: Option<Reading>,
    /// What is wrong with an object's name, as details of field errors.
    pub(crate) name_errors: fn(&str) -> Vec<String>,
    /// An update must name the resourceVersion that it replaces.
    pub(crate) needs_version: bool,
    /// A PUT or a patch to a name that does not exist creates the object. Server-side apply always does.
    pub(crate) creates_on_update: bool,
    /// A creation keeps its status, although that is a subresource.
    pub(crate) takes_status_on_create: bool,
    /// `metadata.generation` counts the changes outside of metadata and status.
    pub(crate) has_generation: bool,
    /// What is special about it.
    pub(crate) behaviour: &'static dyn Behaviour,
}

/// How stored custom objects are read: by the definition as it is now, whatever it was when they were written.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// The schema of the version that objects are stored in. Fields that it does not know are neither stored nor shown.
    pub(crate) stored: Arc<Schema>,
    /// Since which revision objects are stored by that schema; what was committed before is pruned and filled in when read.
    pub(crate) since: u64,
}

/// A subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subresource {
    /// `status`, `approval`, `token`, `finalize`
    pub(crate) name: String,
    /// Group of the kind it takes, where it is another than the resource's (`authentication.k8s.io`).
    pub(crate) group: String,
    /// Version of the kind it takes.
    pub(crate) version: String,
    /// The kind it takes.
    pub(crate) kind: String,
    /// What can be done.
    pub(crate) verbs: Vec<Verb>,
}

/// How objects are shown in tables.
#[derive(Clone)]
pub(crate) enum Columns {
    /// Columns by code.
    Code {
        /// What the columns are.
        columns: Vec<Column>,
        /// A row's cells.
        cells: fn(&Object, now: Timestamp) -> Vec<Cell>,
    },
    /// `additionalPrinterColumns`: columns with the JSONPath of each. `Name` comes first by itself, and `Age` without other columns.
    Paths(Vec<(Column, String)>),
}

/// A cell of a table: a JSON string, number or boolean, or null.
pub(crate) type Cell = Value;

/// A column of a table, as in `meta.k8s.io/v1` `TableColumnDefinition`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    /// The heading.
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`
    pub(crate) r#type: String,
    /// `name` for the name, otherwise mostly empty.
    pub(crate) format: String,
    /// What it says.
    pub(crate) description: String,
    /// 0 for what is always shown, 1 for `-o wide`.
    pub(crate) priority: i32,
}

/// A write that is going on, for [`Behaviour`].
pub(crate) struct WriteTo<'a> {
    /// The hub.
    pub(crate) world: &'a World,
    /// The user. `None`: devhub itself (garbage collection, signing).
    pub(crate) user: Option<&'a User>,
    /// Into which resource.
    pub(crate) resource: &'a Arc<Resource>,
    /// Into which part; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Where.
    pub(crate) key: &'a Key,
    /// The object as it was stored before; of a question, the object whose subresource is created.
    pub(crate) old: Option<&'a Object>,
    /// When.
    pub(crate) now: Timestamp,
}

/// What is special about a resource. By default nothing is: an object with spec and status, checked by its schema.
///
/// The order of a write: decode, pruning and defaults by schema, `default`, field ownership, mutating admission (and `default`
/// again), `prepare`, schema checks, `validate`, `authorize`, validating admission, commit, `committed`.
pub(crate) trait Behaviour: fmt::Debug + Send + Sync {
    /// Fills in what the schema cannot say. Runs again after admission has changed the object.
    fn default(&self, _object: &mut Object) {}

    /// Resets what the writer may not set. The generic part has been done: metadata, generation, and status kept from (or, on
    /// creation, cleared of) what the resource has as `status` subresource.
    fn prepare(&self, _write: &WriteTo<'_>, _object: &mut Object) {}

    /// Says what is wrong with the object.
    fn validate(&self, _write: &WriteTo<'_>, _object: &Object) -> Vec<FieldError> {
        Vec::new()
    }

    /// Refuses what this user may not write (escalation of rights, approval of a signer's certificates).
    ///
    /// # Errors
    /// Mostly 403.
    fn authorize(&self, _write: &WriteTo<'_>, _object: &Object) -> Result<(), ApiError> {
        Ok(())
    }

    /// Refuses a deletion (of the namespace `default`, ...).
    ///
    /// # Errors
    /// Mostly 403.
    fn authorize_delete(&self, _old: &Object) -> Result<(), ApiError> {
        Ok(())
    }

    /// Returns true if something besides `metadata.finalizers` keeps a deleted object (`spec.finalizers` of a namespace).
    fn holds(&self, _object: &Object) -> bool {
        false
    }

    /// Returns true if the change is one that `metadata.generation` counts. By default: anything outside of metadata and status.
    fn is_new_generation(&self, object: &Object, old: &Object) -> bool {
        let content = |object: &Object| {
            let mut fields = object.fields().clone();
            for name in ["apiVersion", "kind", "metadata", "status"] {
                fields.remove(name);
            }
            fields
        };
        content(object) != content(old)
    }

    /// The value of a selectable field, where it is not what stands at that path.
    fn field(&self, _object: &Object, _path: &str) -> Option<String> {
        None
    }

    /// Words for a Warning header, about an object that is fine otherwise.
    fn warnings(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Turns a stored object (of `storage_version`) into one of this resource's version, beyond `apiVersion`.
    fn to_version(&self, _object: &mut Object) {}

    /// The other way.
    fn to_storage(&self, _object: &mut Object) {}

    /// A creation that stores nothing and answers: SubjectAccessReview, TokenReview, `serviceaccounts/token`. None: it is
    /// stored as usual.
    ///
    /// # Errors
    /// Whatever is wrong with the question.
    fn answer(&self, _: &WriteTo<'_>, _question: &Object) -> Option<Result<Object, ApiError>> {
        None
    }

    /// After a commit, or, if `object` is `None`, a removal. For what must be there at once, such as the resource of a new CRD.
    fn committed(&self, _write: &WriteTo<'_>, _object: Option<&Object>) {}
}

/// Nothing special.
#[derive(Debug)]
pub(crate) struct Plain;

impl Behaviour for Plain {}

impl Resource {
    /// 403 for an object of this resource.
    pub(crate) fn forbidden(&self, name: &str, why: &str) -> ApiError {
        ApiError::forbidden(&self.group, &self.name, name, why)
    }

    /// 409 for an object of this resource.
    pub(crate) fn conflict(&self, name: &str, why: &str) -> ApiError {
        ApiError::conflict(&self.group, &self.name, name, why)
    }

    /// 422 for an object of this kind.
    pub(crate) fn invalid(&self, name: &str, errors: &[FieldError]) -> ApiError {
        ApiError::invalid(&self.group, &self.kind, name, errors)
    }

    /// `group/version`, or the version in the core group.
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// The place of an object.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        let namespace = if self.namespaced { namespace } else { "" };
        Key {
            storage: self.storage.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns true if objects of it are stored; not those of a SubjectAccessReview.
    pub(crate) fn has_objects(&self) -> bool {
        self.verbs.contains(&Verb::Get)
    }

    /// The subresource of this name.
    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// Returns true if status is written by itself.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// The value of a field (one of `selectable_fields`, or of metadata) of an object of this version, for field selectors.
    pub(crate) fn field(&self, object: &Object, path: &str) -> String {
        if let Some(value) = self.behaviour.field(object, path) {
            return value;
        }
        match object.at(&path.split('.').collect::<Vec<_>>()) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        }
    }

    /// A stored object as this version shows it: without fields that the stored version, or this one, does not know.
    pub(crate) fn present(&self, stored: &Object) -> Object {
        let mut object = self.in_this_version(stored);
        if let Some(reading) = &self.reading {
            object.edit(|value| {
                if reading.is_outdated(stored) {
                    reading.settle(value);
                }
                if !self.is_storage_version() {
                    self.schema.prune(value);
                }
            });
        }
        object
    }

    /// An object in the form of the stored version as one of this version, with all its fields.
    pub(crate) fn in_this_version(&self, stored: &Object) -> Object {
        let mut object = stored.clone();
        object.set_type(&self.api_version(), &self.kind);
        self.behaviour.to_version(&mut object);
        object
    }

    /// An object of this version as it is stored.
    pub(crate) fn store(&self, object: &Object) -> Object {
        let mut object = object.clone();
        self.behaviour.to_storage(&mut object);
        object.set_type(&self.storage_version, &self.kind);
        if let Some(reading) = &self.reading
            && !self.is_storage_version()
        {
            object.edit(|value| reading.settle(value));
        }
        object
    }

    /// Returns true if this is the version that objects are stored in.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.storage_version == self.api_version()
    }

    /// Returns true if [`Resource::present`] changes nothing about this object, so that stored bytes can be sent.
    pub(crate) fn presents_as_stored(&self, stored: &Object) -> bool {
        let reading = self.reading.as_ref();
        self.is_storage_version() && !reading.is_some_and(|reading| reading.is_outdated(stored))
    }
}

impl Reading {
    fn is_outdated(&self, stored: &Object) -> bool {
        self.since > 0
            && stored
                .resource_version()
                .parse()
                .is_ok_and(|revision: u64| revision < self.since)
    }

    fn settle(&self, value: &mut Value) {
        self.stored.prune(value);
        self.stored.fill_in(value);
    }
}

impl Subresource {
    /// `group/version` of the kind it takes.
    pub(crate) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

impl Verb {
    /// As in discovery and RBAC.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }

    /// Every verb, in discovery's order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.name, self.api_version())
    }
}
