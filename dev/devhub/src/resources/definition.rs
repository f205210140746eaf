//! One resource in one version, with everything that requests to it need to know.

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
#[expect(missing_docs, reason = "the names say it")]
pub enum Verb {
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
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name, as in paths.
    pub name: String,
    /// The singular name.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of lists.
    pub list_kind: String,
    /// Short names for people.
    pub short_names: Vec<String>,
    /// Groups of resources, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// What can be done.
    pub verbs: Vec<Verb>,
    /// Subresources that can be reached.
    pub subresources: Vec<Subresource>,
    /// What its objects look like.
    pub schema: Arc<Schema>,
    /// How its objects are shown in tables.
    pub columns: Columns,
    /// Where its objects are; several versions share one place.
    pub storage: StorageId,
    /// The `apiVersion` that objects are stored with.
    pub storage_version: String,
    /// Whether it comes from a CustomResourceDefinition.
    pub custom: bool,
    /// Paths of fields, besides `metadata.name` and `metadata.namespace`, that field selectors can name
    /// (`spec.signerName`); the value of one is `Resource::field`'s business.
    pub selectable_fields: Vec<String>,
    /// How stored objects are read. None for built-in kinds.
    pub reading: Option<Reading>,
    /// What is special about it.
    pub behaviour: &'static dyn Behaviour,
}

/// How stored custom objects are read: by the definition as it is now, whatever it was when they were written.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The schema of the version that objects are stored in. What it does not know nobody sees, nor is it stored.
    pub stored: Arc<Schema>,
    /// Since which revision objects are stored by that schema; what was committed before is pruned and filled in when read.
    pub since: u64,
}

/// A subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// `status`, `approval`, `token`, `finalize`
    pub name: String,
    /// Group of the kind it takes, where it is another than the resource's (`authentication.k8s.io`).
    pub group: String,
    /// Version of the kind it takes.
    pub version: String,
    /// The kind it takes.
    pub kind: String,
    /// What can be done.
    pub verbs: Vec<Verb>,
}

/// How objects are shown in tables.
#[derive(Clone)]
pub enum Columns {
    /// Columns by code.
    Code {
        /// What the columns are.
        columns: Vec<Column>,
        /// A row's cells.
        cells: fn(&Object, now: Timestamp) -> Vec<Cell>,
    },
    /// `additionalPrinterColumns`: columns with the JSONPath of each. `Name` comes first by itself, and `Age` if there are none.
    Paths(Vec<(Column, String)>),
}

/// A cell of a table: a JSON string, number or boolean, or null.
pub type Cell = Value;

/// A column of a table, as in `meta.k8s.io/v1` `TableColumnDefinition`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean`, `date`
    pub r#type: String,
    /// `name` for the name, otherwise mostly empty.
    pub format: String,
    /// What it says.
    pub description: String,
    /// 0 for what is always shown, 1 for `-o wide`.
    pub priority: i32,
}

/// Which write it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// A new object.
    Create,
    /// A change of a stored one, by whatever verb.
    Update,
}

/// A write that is going on, for [`Behaviour`].
pub struct WriteTo<'a> {
    /// The hub.
    pub world: &'a World,
    /// Who writes. None: devhub itself (garbage collection, signing).
    pub user: Option<&'a User>,
    /// Into which resource.
    pub resource: &'a Arc<Resource>,
    /// Into which part; empty for the object itself.
    pub subresource: &'a str,
    /// Where.
    pub key: &'a Key,
    /// When.
    pub now: Timestamp,
}

/// What is special about a resource. By default nothing is: an object with spec and status, checked by its schema.
///
/// The order of a write: decode, pruning and defaults by schema, `default`, field ownership, mutating admission (and `default`
/// again), `prepare`, schema checks, `validate`, `authorize`, validating admission, commit, `committed`.
pub trait Behaviour: fmt::Debug + Send + Sync {
    /// Fills in what the schema cannot say. Runs again after admission has changed the object.
    fn default(&self, _object: &mut Object) {}

    /// Resets what the writer may not set. The generic part has been done: metadata, generation, and status kept from (or, on
    /// creation, cleared of) what the resource has as `status` subresource.
    fn prepare(&self, _write: &WriteTo<'_>, _object: &mut Object, _old: Option<&Object>) {}

    /// Says what is wrong with the object.
    fn validate(
        &self,
        _write: &WriteTo<'_>,
        _object: &Object,
        _old: Option<&Object>,
    ) -> Vec<FieldError> {
        Vec::new()
    }

    /// Refuses what this user may not write (escalation of rights, approval of a signer's certificates).
    ///
    /// # Errors
    /// Mostly 403.
    fn authorize(
        &self,
        _write: &WriteTo<'_>,
        _object: &Object,
        _old: Option<&Object>,
    ) -> Result<(), ApiError> {
        Ok(())
    }

    /// Refuses a deletion (of the namespace `default`, ...).
    ///
    /// # Errors
    /// Mostly 403.
    fn authorize_delete(&self, _write: &WriteTo<'_>, _old: &Object) -> Result<(), ApiError> {
        Ok(())
    }

    /// Whether something besides `metadata.finalizers` keeps a deleted object (`spec.finalizers` of a namespace).
    fn holds(&self, _object: &Object) -> bool {
        false
    }

    /// Whether the change is one that `metadata.generation` counts. By default: anything outside of metadata and status.
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

    /// What is wrong with a metadata.name, as field error details. The default is a DNS-1123 subdomain.
    fn name_errors(&self, name: &str) -> Vec<String> {
        berth_api::names::dns1123_subdomain(name)
    }

    /// Whether an update without a resourceVersion overwrites whatever is stored.
    fn allows_unconditional_update(&self) -> bool {
        true
    }

    /// Whether a PUT or a patch to a name that does not exist creates it. Server-side apply always does.
    fn creates_on_update(&self) -> bool {
        false
    }

    /// Whether a creation may bring its status along, although it is a subresource.
    fn takes_status_on_create(&self) -> bool {
        false
    }

    /// The value of a selectable field, where it is not what stands at that path.
    fn field(&self, _object: &Object, _path: &str) -> Option<String> {
        None
    }

    /// Whether `metadata.generation` counts the changes outside of metadata and status.
    fn has_generation(&self) -> bool {
        false
    }

    /// Words for a Warning header, about an object that is fine otherwise.
    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// Turns a stored object (of `storage_version`) into one of this resource's version, beyond `apiVersion`.
    fn to_version(&self, _object: &mut Object) {}

    /// The other way.
    fn to_storage(&self, _object: &mut Object) {}

    /// A creation that stores nothing and answers: SubjectAccessReview, TokenReview, `serviceaccounts/token`. None: it is
    /// stored as usual. `parent` is the object whose subresource is created.
    ///
    /// # Errors
    /// Whatever is wrong with the question.
    fn answer(
        &self,
        _write: &WriteTo<'_>,
        _parent: Option<&Object>,
        _question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        None
    }

    /// After a commit, or (`object` is none) a removal. For what must be there at once, such as the resource of a new CRD.
    fn committed(&self, _write: &WriteTo<'_>, _object: Option<&Object>) {}
}

/// Nothing special.
#[derive(Debug)]
pub struct Plain;

impl Behaviour for Plain {}

impl Resource {
    /// `group/version`, or the version in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The place of an object.
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        let namespace = if self.namespaced { namespace } else { "" };
        Key {
            storage: self.storage.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether objects of it are stored; not those of a SubjectAccessReview.
    pub fn has_objects(&self) -> bool {
        self.verbs.contains(&Verb::Get)
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// Whether status is written by itself.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// The value of a field (one of `selectable_fields`, or of metadata) of an object of this version, for field selectors.
    pub fn field(&self, object: &Object, path: &str) -> String {
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
    pub fn present(&self, stored: &Object) -> Object {
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
    pub fn in_this_version(&self, stored: &Object) -> Object {
        let mut object = stored.clone();
        object.set_type(&self.api_version(), &self.kind);
        self.behaviour.to_version(&mut object);
        object
    }

    /// An object of this version as it is stored.
    pub fn store(&self, object: &Object) -> Object {
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

    /// Whether this is the version that objects are stored in.
    pub fn is_storage_version(&self) -> bool {
        self.storage_version == self.api_version()
    }

    /// Whether [`Resource::present`] changes nothing about this object, so that stored bytes can be sent.
    pub fn presents_as_stored(&self, stored: &Object) -> bool {
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
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl Verb {
    /// As in discovery and RBAC.
    pub fn as_str(self) -> &'static str {
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
    pub const ALL: [Self; 8] = [
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
