//! Watches: the changes of objects, as one line of JSON for each event.
//!
//! A watch reads the history of the store when its client is ready for more. So a slow client costs no memory. A client that
//! falls behind the history gets the error `Expired`, and lists again. Nothing runs for a client that has disconnected.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::object::Object;
use crate::protocol::answer::{self, Body};
use crate::protocol::call::Call;
use crate::protocol::negotiate::{Format, Transform};
use crate::protocol::pages;
use crate::protocol::query::{IncludeObject, ListOptions};
use crate::protocol::selectors::Selection;
use crate::protocol::{show, table};
use crate::resources::Resource;
use crate::status::ApiError;
use crate::storage::{Event, EventKind, Expired, Page, Stored, Watch};

/// The time between bookmarks, for clients that allow them.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// The last bookmark is sent this long before the watch ends.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// A watch without a timeout ends after this time, or up to twice this time.
const SHORTEST: Duration = Duration::from_secs(30 * 60);
/// Events that are ready are sent together, up to about this many bytes.
const CHUNK: usize = 32 * 1024;
/// On the bookmark after the objects that a watch began with.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Begins a watch.
pub(crate) async fn watch(
    call: &Call<'_>,
    resource: &Arc<Resource>,
) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted(resource)?;
    let options = call.query.list_options(resource, &call.info.name, true)?;
    if !matches!(accepted.format, Format::Json { .. }) {
        let message = "only the following media types are accepted: application/json;stream=watch";
        return Err(ApiError::new(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            message,
        ));
    }
    let include = match accepted.transform {
        Transform::Table(_) => call.query.include_object()?,
        _ => IncludeObject::default(),
    };
    let asked = pages::revision(&options.resource_version)?;
    let begins_with_all = options.send_initial_events.unwrap_or(asked == 0);
    if begins_with_all && let Err(error) = pages::wait_for(&call.world.store, asked).await {
        return Ok(respond(Line::Error(error).encode().freeze()));
    }
    let now = Instant::now();
    let ends = now + options.timeout.unwrap_or_else(some_time);
    let namespace = call.namespace(resource);
    let begun = begin(call, resource, &options, namespace, asked, begins_with_all);
    let (initial, initial_revision, watch) = match begun {
        Ok(begun) => begun,
        Err(expired) => return Ok(respond(Line::Error(too_old(expired)).encode().freeze())),
    };
    let says_when_initial_ends =
        begins_with_all && options.send_initial_events.is_some() && options.allow_bookmarks;
    let watcher = Watcher {
        resource: Arc::clone(resource),
        namespace: namespace.to_owned(),
        selection: options.selection,
        form: Form {
            transform: accepted.transform,
            include,
            columns: true,
        },
        initial: initial.into(),
        initial_ends: says_when_initial_ends.then_some(initial_revision),
        events: VecDeque::new(),
        watch,
        bookmark_at: options.allow_bookmarks.then(|| next_bookmark(now, ends)),
        ends,
        stop: call.stop.clone(),
        is_over: false,
    };
    let lines = stream::unfold(watcher, |mut watcher| async {
        let lines = watcher.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(lines)), watcher))
    });
    let body = StreamBody::new(lines).boxed_unsync();
    Ok(answer::bytes(StatusCode::OK, accepted.format, body))
}

type Begun = (Vec<Arc<Stored>>, u64, Watch);

fn begin(
    call: &Call<'_>,
    resource: &Resource,
    options: &ListOptions,
    namespace: &str,
    asked: u64,
    begins_with_all: bool,
) -> Result<Begun, Expired> {
    let store = &call.world.store;
    let name = options.selection.fields.required("metadata.name");
    let watch = |from| store.watch_name(&resource.storage, from, name);
    if !begins_with_all {
        let from = if asked == 0 { store.revision() } else { asked };
        return Ok((Vec::new(), from, watch(from)?));
    }
    let namespace = (!namespace.is_empty()).then_some(namespace);
    let matches = |object: &Object| options.selection.matches(resource, object);
    let listed = store.list(&resource.storage, namespace, &Page::default(), &matches)?;
    Ok((listed.items, listed.revision, watch(listed.revision)?))
}

/// An answer that is over with these lines.
fn respond(lines: Bytes) -> Response<Body> {
    answer::bytes(
        StatusCode::OK,
        Format::Json { pretty: false },
        answer::full(lines),
    )
}

fn too_old(expired: Expired) -> ApiError {
    ApiError::expired(expired.to_string())
}

/// Between [`SHORTEST`] and twice that, so that watches do not all end together.
fn some_time() -> Duration {
    let random = uuid::Uuid::new_v4().as_u128() % u128::from(SHORTEST.as_secs());
    SHORTEST + Duration::from_secs(u64::try_from(random).unwrap_or_default())
}

fn next_bookmark(now: Instant, ends: Instant) -> Instant {
    let last = ends - LAST_BOOKMARK;
    let next = now + BOOKMARKS;
    // No bookmark follows the last one.
    if last < now { ends } else { next.min(last) }
}

/// A watch under way.
struct Watcher {
    resource: Arc<Resource>,
    /// Empty for all.
    namespace: String,
    selection: Selection,
    form: Form,
    /// Objects of the initial list that have not been sent.
    initial: VecDeque<Arc<Stored>>,
    /// The revision of the bookmark that follows the initial list, if one is to be sent.
    initial_ends: Option<u64>,
    /// Events that have been read and not sent.
    events: VecDeque<Event>,
    watch: Watch,
    bookmark_at: Option<Instant>,
    ends: Instant,
    stop: CancellationToken,
    is_over: bool,
}

/// The format of the objects.
struct Form {
    transform: Transform,
    include: IncludeObject,
    /// True if the next table says what its columns are; only the first does.
    columns: bool,
}

/// A line of the answer.
enum Line<'a> {
    Object(&'a str, Shown),
    Error(ApiError),
}

/// An object in its form.
enum Shown {
    Bytes(Bytes),
    Value(Value),
}

impl Watcher {
    /// The next lines; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        let mut lines = BytesMut::new();
        loop {
            self.tell_what_is_at_hand(&mut lines);
            if !lines.is_empty() {
                return Some(lines.freeze());
            }
            if self.is_over {
                return None;
            }
            let bookmark_at = self.bookmark_at.unwrap_or(self.ends);
            tokio::select! {
                // Nothing is lost when an arm is dropped: reading the history is cancel safe.
                biased;
                () = self.stop.cancelled() => return None,
                () = sleep_until(self.ends) => return None,
                events = self.watch.next() => match events {
                    Ok(events) => self.events = events.into(),
                    Err(expired) => {
                        self.is_over = true;
                        return Some(Line::Error(too_old(expired)).encode().freeze());
                    }
                },
                () = sleep_until(bookmark_at), if self.bookmark_at.is_some() => {
                    self.bookmark_at = Some(next_bookmark(Instant::now(), self.ends));
                    // A watch from the future is silent until the hub has come so far, as with kube-apiserver.
                    if let Some(seen) = self.watch.seen() {
                        self.tell_bookmark(seen, false, &mut lines);
                    }
                }
            }
        }
    }

    fn tell_what_is_at_hand(&mut self, lines: &mut BytesMut) {
        while lines.len() < CHUNK {
            if let Some(stored) = self.initial.pop_front() {
                let shown = self.form.stored(&self.resource, &stored);
                Line::Object("ADDED", shown).write(lines);
            } else if let Some(revision) = self.initial_ends.take() {
                self.tell_bookmark(revision, true, lines);
            } else if let Some(event) = self.events.pop_front() {
                self.tell(&event, lines);
            } else {
                return;
            }
        }
    }

    /// An object that comes into the selection is added to it, and one that leaves it is deleted.
    fn tell(&mut self, event: &Event, lines: &mut BytesMut) {
        let object = &event.object.object;
        if !self.namespace.is_empty() && object.namespace() != self.namespace {
            return;
        }
        let is_selected = |object: &Object| self.selection.matches(&self.resource, object);
        let was = event
            .before
            .as_ref()
            .is_some_and(|before| is_selected(&before.object));
        let is = event.kind != EventKind::Deleted && is_selected(object);
        let (sort, shown) = match (was, is) {
            (false, false) => return,
            (false, true) => ("ADDED", self.form.stored(&self.resource, &event.object)),
            (true, true) => ("MODIFIED", self.form.stored(&self.resource, &event.object)),
            (true, false) => {
                let shown = match &event.before {
                    Some(before) if event.kind != EventKind::Deleted => {
                        let mut last = self.resource.present(&before.object);
                        let revision = event.revision.to_string();
                        last.set(&["metadata", "resourceVersion"], revision);
                        self.form.object(&self.resource, last)
                    }
                    _ => self.form.stored(&self.resource, &event.object),
                };
                ("DELETED", shown)
            }
        };
        Line::Object(sort, shown).write(lines);
    }

    fn tell_bookmark(&mut self, revision: u64, initial_ends: bool, lines: &mut BytesMut) {
        let mut object = Object::default();
        object.set_type(&self.resource.api_version(), &self.resource.kind);
        object.set(&["metadata", "resourceVersion"], revision.to_string());
        if initial_ends {
            let annotations = json!({INITIAL_EVENTS_END: "true"});
            object.set(&["metadata", "annotations"], annotations);
        }
        let shown = self.form.object(&self.resource, object);
        Line::Object("BOOKMARK", shown).write(lines);
    }
}

impl Form {
    fn stored(&mut self, resource: &Resource, stored: &Stored) -> Shown {
        if self.transform == Transform::Nothing && resource.presents_as_stored(&stored.object) {
            return Shown::Bytes(stored.json());
        }
        self.object(resource, resource.present(&stored.object))
    }

    fn object(&mut self, resource: &Resource, object: Object) -> Shown {
        Shown::Value(match self.transform {
            Transform::Nothing | Transform::Discovery(_) => object.into_value(),
            // A watch of metadata is asked for under either name.
            Transform::Metadata(version) | Transform::MetadataList(version) => {
                answer::metadata(version, &object)
            }
            Transform::Table(version) => {
                let columns = std::mem::replace(&mut self.columns, false);
                let form = table::Form {
                    version,
                    include: self.include,
                    headers: columns,
                };
                let metadata = show::metadata_of_table(&object);
                table::table(resource, &[&object], Timestamp::now(), form, metadata)
            }
        })
    }
}

impl Line<'_> {
    fn encode(self) -> BytesMut {
        let mut line = BytesMut::new();
        self.write(&mut line);
        line
    }

    fn write(self, lines: &mut BytesMut) {
        let (sort, object) = match self {
            Self::Object(sort, shown) => (sort, shown),
            Self::Error(error) => ("ERROR", Shown::Value(error.status())),
        };
        lines.extend_from_slice(b"{\"type\":\"");
        lines.extend_from_slice(sort.as_bytes());
        lines.extend_from_slice(b"\",\"object\":");
        match object {
            Shown::Bytes(bytes) => lines.extend_from_slice(&bytes),
            Shown::Value(value) => {
                let mut writer = serde_json::Serializer::new((&mut *lines).writer());
                // JSON values can always be written into memory.
                let _ = value.serialize(&mut writer);
            }
        }
        lines.extend_from_slice(b"}\n");
    }
}
