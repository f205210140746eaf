//! Objects as JSON, YAML and names.

use std::io::{self, Write};

use serde_json::{Value, json};

/// Removes `managedFields`, as kubectl does.
fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Returns a List of the objects, as kubectl prints them.
pub(crate) fn list<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Value {
    let items: Vec<Value> = objects.into_iter().map(shown).collect();
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"resourceVersion": ""},
        "items": items,
    })
}

/// Prints an object as JSON.
pub(crate) fn print_one_json(out: &mut impl Write, object: &Value) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &shown(object))?;
    writeln!(out)
}

/// Prints an object as YAML.
pub(crate) fn print_one_yaml(out: &mut impl Write, object: &Value) -> io::Result<()> {
    let text = serde_saphyr::to_string(&shown(object)).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

/// Prints a List of objects as JSON.
pub(crate) fn print_json<'a>(
    out: &mut impl Write,
    objects: impl IntoIterator<Item = &'a Value>,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &list(objects))?;
    writeln!(out)
}

/// Prints a List of objects as YAML.
pub(crate) fn print_yaml<'a>(
    out: &mut impl Write,
    objects: impl IntoIterator<Item = &'a Value>,
) -> io::Result<()> {
    let text = serde_saphyr::to_string(&list(objects)).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

/// Prints names such as `managedcluster.cluster.open-cluster-management.io/c1`, without namespaces, as kubectl does.
pub(crate) fn print_names<'a>(
    out: &mut impl Write,
    objects: impl IntoIterator<Item = &'a Value>,
) -> io::Result<()> {
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let group = match object["apiVersion"]
            .as_str()
            .and_then(|it| it.split_once('/'))
        {
            Some((group, _)) => format!(".{group}"),
            None => String::new(),
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        writeln!(out, "{kind}{group}/{name}")?;
    }
    Ok(())
}
