//! Custom resources in ManifestWorks.

use serde_json::{Value, json};

use super::world::World;

/// A definition of Shelves: `spec.books` is a list of objects, in which `lang` has a default.
pub fn definition(world: &World) -> Value {
    let text = json!({"type": "string"});
    let book = json!({
        "type": "object",
        "properties": {"title": text, "author": text, "lang": {"type": "string", "default": "en"}},
    });
    let spec = json!({
        "type": "object",
        "properties": {"books": {"type": "array", "items": book}},
    });
    let group = group(world);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("shelves.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf", "listKind": "ShelfList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

/// A Shelf in the namespace.
pub fn shelf(world: &World, name: &str, books: Value) -> Value {
    json!({
        "apiVersion": format!("{}/v1", group(world)),
        "kind": "Shelf",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"books": books},
    })
}

/// The path of a Shelf in the namespace.
pub fn path(world: &World, name: &str) -> String {
    let (group, namespace) = (group(world), &world.namespace);
    format!("/apis/{group}/v1/namespaces/{namespace}/shelves/{name}")
}

/// The API group of the definition: each test has another one.
fn group(world: &World) -> String {
    format!("{}.example.com", world.namespace)
}
