//! Replacements (PUT).

use http::StatusCode;

use crate::object::Object;
use crate::status::ApiError;
use crate::writes::change::{Change, Made, change};
use crate::writes::create::insert;
use crate::writes::{WriteOutcome, Writer, body};

/// Replaces an object or a subresource. `warnings` as in [`create`](super::create).
///
/// # Errors
/// As kube-apiserver.
pub(crate) async fn update(
    writer: &Writer<'_>,
    name: &str,
    body: Object,
    warnings: &mut Vec<String>,
) -> Result<WriteOutcome, ApiError> {
    let object = body::read(writer, name, body)?;
    let how = Change {
        name,
        options: "UpdateOptions",
        replaces: true,
    };
    let make = |_: &Object| {
        Ok(Made {
            object: object.clone(),
            track: true,
            warnings: Vec::new(),
        })
    };
    let outcome = change(writer, &how, &make, warnings).await;
    let creates = writer.subresource.is_empty() && writer.resource.creates_on_update;
    match outcome {
        Err(error) if creates && error.code == StatusCode::NOT_FOUND => {
            let mut object = object.clone();
            writer.track(None, &mut object);
            insert(writer, object, "CreateOptions", warnings).await
        }
        outcome => outcome,
    }
}
