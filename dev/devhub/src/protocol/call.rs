//! A request that is being handled, and responses with one object.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::World;
use crate::object::Object;
use crate::protocol::answer::{self, Body, Pieces};
use crate::protocol::negotiate::{Accepted, Format, Transform, Transforms};
use crate::protocol::openapi::Documents;
use crate::protocol::path::RequestInfo;
use crate::protocol::query::Query;
use crate::protocol::{show, table};
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::Stored;
use crate::user::User;

/// A request that has been authorized, without its body.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a Arc<World>,
    pub(crate) method: &'a Method,
    pub(crate) info: &'a RequestInfo,
    pub(crate) query: &'a Query,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) user: &'a User,
    pub(crate) openapi: &'a Documents,
    /// When the client, or the server, loses patience.
    pub(crate) deadline: Instant,
    /// Ends watches.
    pub(crate) stop: &'a CancellationToken,
}

impl Call<'_> {
    /// The form of an answer that shows objects.
    pub(crate) fn accepted(&self, resource: &Resource) -> Result<Accepted, ApiError> {
        let transforms = if resource.custom {
            Transforms::Custom
        } else {
            Transforms::BuiltIn
        };
        Accepted::negotiate(self.headers, self.query, transforms)
    }

    /// The namespace for the resource: empty if it has none.
    pub(crate) fn namespace(&self, resource: &Resource) -> &str {
        if resource.namespaced {
            &self.info.namespace
        } else {
            ""
        }
    }

    pub(crate) fn user_agent(&self) -> &str {
        let agent = self.headers.get(http::header::USER_AGENT);
        agent.map_or("", |value| value.to_str().unwrap_or_default())
    }

    /// An answer with one object.
    pub(crate) fn show(
        &self,
        accepted: Accepted,
        code: StatusCode,
        resource: &Resource,
        object: &Object,
    ) -> Result<Response<Body>, ApiError> {
        match accepted.transform {
            Transform::Nothing | Transform::Discovery(_) => {
                Ok(answer::value(code, accepted.format, object))
            }
            Transform::Metadata(version) => {
                let metadata = answer::metadata(version, object);
                Ok(answer::value(code, accepted.format, &metadata))
            }
            Transform::MetadataList(_) => Err(ApiError::new(
                StatusCode::NOT_ACCEPTABLE,
                "NotAcceptable",
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                    show::go_type(resource, &resource.kind)
                ),
            )),
            Transform::Table(version) => {
                let include = self.query.include_object()?;
                let form = table::Form {
                    version,
                    include,
                    headers: true,
                };
                let metadata = show::metadata_of_table(object);
                let table = table::table(resource, &[object], Timestamp::now(), form, metadata);
                Ok(answer::value(code, accepted.format, &table))
            }
        }
    }

    /// An answer with a stored object, whose bytes are sent as they are if that is what the client wants.
    pub(crate) fn show_stored(
        &self,
        accepted: Accepted,
        resource: &Resource,
        stored: &Stored,
    ) -> Result<Response<Body>, ApiError> {
        let as_stored = Accepted {
            format: Format::Json { pretty: false },
            transform: Transform::Nothing,
        };
        if accepted == as_stored && resource.presents_as_stored(&stored.object) {
            let mut pieces = Pieces::default();
            pieces.push(stored.json());
            pieces.push(Bytes::from_static(b"\n"));
            return Ok(answer::bytes(
                StatusCode::OK,
                accepted.format,
                pieces.into_body(),
            ));
        }
        let object = resource.present(&stored.object);
        self.show(accepted, StatusCode::OK, resource, &object)
    }
}
