//! The metadata that only the server writes.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::object::{self, Object};
use crate::resources::Resource;

/// Letters and digits of generated names: no vowels, nothing that is mistaken for something else.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Random characters of a generated name.
const SUFFIX: usize = 5;
/// How much of generateName is left before them.
const LONGEST_PREFIX: usize = 63 - SUFFIX;

/// Fields that are kept from update to update, whatever the writer leaves out.
const KEPT: [&str; 4] = ["namespace", "uid", "deletionGracePeriodSeconds", "selfLink"];

/// Gives a new object what every object has.
pub(super) fn begin(resource: &Resource, object: &mut Object, now: Timestamp) {
    for name in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
        "generation",
    ] {
        object.remove(&["metadata", name]);
    }
    object.set(&["metadata", "uid"], Uuid::new_v4().to_string());
    object.set(&["metadata", "creationTimestamp"], object::time(now));
    if resource.has_generation {
        object.set(&["metadata", "generation"], 1);
    }
}

/// A name that begins with `prefix`.
pub(super) fn generate_name(prefix: &str) -> String {
    let mut end = prefix.len().min(LONGEST_PREFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let random = Uuid::new_v4();
    let suffix = random.as_bytes().iter().take(SUFFIX);
    let suffix = suffix.map(|&byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
    prefix[..end].chars().chain(suffix).collect()
}

/// Puts back what an update must not change: the fields of other subresources, and the server's metadata where the writer
/// left it out. Where it is otherwise, the checks of metadata say so.
pub(super) fn carry_over(
    resource: &Resource,
    subresource: &str,
    object: &mut Object,
    old: &Object,
) {
    match subresource {
        "" if resource.has_status() => object.put_back(old, &["status"]),
        "" => {}
        "status" => {
            let status = object.remove(&["status"]);
            let managed = object.remove(&["metadata", "managedFields"]);
            let version = object.remove(&["metadata", "resourceVersion"]);
            *object = old.clone();
            object.remove(&["status"]);
            set_if(object, &["status"], status);
            set_if(object, &["metadata", "managedFields"], managed);
            set_if(object, &["metadata", "resourceVersion"], version);
        }
        _ => {
            let managed = object.remove(&["metadata", "managedFields"]);
            let version = object.remove(&["metadata", "resourceVersion"]);
            object.put_back(old, &["metadata"]);
            set_if(object, &["metadata", "managedFields"], managed);
            // A stale one is a conflict; without one the change is for the stored object.
            set_if(object, &["metadata", "resourceVersion"], version);
        }
    }
    for name in KEPT {
        if object.at(&["metadata", name]).is_none() {
            set_if(
                object,
                &["metadata", name],
                old.at(&["metadata", name]).cloned(),
            );
        }
    }
    // Whatever the writer says of these is passed over in silence.
    for name in ["creationTimestamp", "deletionTimestamp", "generation"] {
        object.put_back(old, &["metadata", name]);
    }
}

/// Counts a generation, if this is one.
pub(super) fn count_generation(resource: &Resource, object: &mut Object, old: &Object) {
    if resource.has_generation && resource.behaviour.is_new_generation(object, old) {
        object.set(&["metadata", "generation"], old.generation() + 1);
    }
}

/// Marks an object as being deleted.
pub(super) fn begin_deletion(object: &mut Object, now: Timestamp) {
    object.set(&["metadata", "deletionTimestamp"], object::time(now));
    object.set(&["metadata", "deletionGracePeriodSeconds"], 0);
    if object.generation() > 0 {
        object.set(&["metadata", "generation"], object.generation() + 1);
    }
}

fn set_if(object: &mut Object, path: &[&str], value: Option<Value>) {
    if let Some(value) = value {
        object.set(path, value);
    }
}
