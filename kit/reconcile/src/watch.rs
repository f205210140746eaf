//! Lists and watches one kind, for ever.
//!
//! # Guarantees
//! - A list comes in small pages, and neither a page nor the list is ever in memory whole: each object is made a fact as it
//!   is read.
//! - One object that cannot be read, or is larger than 4 MiB, concerns itself only. It is counted; what was known of it stays.
//! - A list that is not answered within 30 s, or falls silent for that long, is asked for again; so is the beginning of a
//!   watch. A watch that fails is resumed where it ended, after a pause; one whose beginning is forgotten (410), or whose API
//!   server has gone back in time, begins anew with a list.
//! - Pauses grow from 0.2 s to 10 s (60 s for kinds that an API server need not have), also when watches succeed and end at
//!   once.

use std::sync::Arc;
use std::time::Duration;

use berth_hub::{Backoff, Call, CallError, Chunks, HubApi};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use crate::object::Item;
use crate::scan::{Found, Items, Lines};
use crate::seen::Source;
use crate::watched::encoded;
use crate::work::{Row, Work};
use crate::world::World;
use crate::writer::{LARGEST, Shell};

/// The first pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The same for kinds that an API server need not have.
const LONGEST_PAUSE_FOR_OPTIONAL: Duration = Duration::from_secs(60);

/// The longest a list may be silent, or a watch take to begin: an API server that accepts requests and answers none is asked
/// again.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// The longest a page of a list may take.
const LONGEST_PAGE: Duration = Duration::from_secs(180);

/// How many objects a list asks for at a time.
const PAGE: usize = 200;

/// After which time the API server is asked to end a watch.
const WATCH: Duration = Duration::from_secs(290);

/// A watch that the API server does not end is ended this much later.
const GRACE: Duration = Duration::from_secs(5);

/// A watch that lasted as long works, though it may have had nothing to report.
const WORKS: Duration = Duration::from_secs(5);

/// Why following a kind was interrupted.
enum Interruption {
    /// The kind is not served in this version.
    NotServed(String),
    /// The watch cannot go on where it ended.
    Expired(String),
    /// Anything else.
    Failed(String),
}

/// Follows a kind in one version.
struct Follower<'a, W: World> {
    work: &'a Work<W>,
    kind: W::Kind,
    row: &'a Row<W>,
    path: String,
    /// Unreadable objects were logged.
    has_logged: bool,
}

/// How far it is.
enum Place {
    /// In a list: the next page's token, and the version that all pages are of.
    List { token: String, version: String },
    /// In a watch, after this version. `is_partial`: one of its events could not be read.
    Watch { version: String, is_partial: bool },
}

/// A line of a watch.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    type_: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// The object of a BOOKMARK has nothing but its version.
#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
}

/// The object of an ERROR.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

/// Follows a kind for ever.
pub(crate) async fn follow<W: World>(work: Arc<Work<W>>, kind: W::Kind, row: Arc<Row<W>>) {
    let watched = &row.watched;
    let longest = if watched.optional {
        LONGEST_PAUSE_FOR_OPTIONAL
    } else {
        LONGEST_PAUSE
    };
    let mut backoff = Backoff::new(FIRST_PAUSE, longest);
    loop {
        for version in &watched.versions {
            let mut follower = Follower {
                work: &work,
                kind,
                row: &row,
                path: watched.path(version),
                has_logged: false,
            };
            follower.follow_version(&mut backoff).await;
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

// === impl Follower ===

impl<W: World> Follower<'_, W> {
    /// Until the API server says that it does not have this version.
    async fn follow_version(&mut self, backoff: &mut Backoff) {
        let mut place = Place::beginning();
        let row = self.row;
        loop {
            let followed = tokio::select! {
                followed = self.step(&mut place, backoff) => followed,
                () = row.list_anew.notified() => {
                    place = Place::beginning();
                    continue;
                }
            };
            let Err(why) = followed else {
                continue;
            };
            let name = self.row.watched.name;
            self.work.lost_sight(self.kind, name);
            let (Interruption::NotServed(error)
            | Interruption::Expired(error)
            | Interruption::Failed(error)) = &why;
            let not_served = matches!(why, Interruption::NotServed(_));
            if !(not_served && self.row.watched.optional) {
                tracing::warn!(resource = name, %error, "a watch failed and is begun anew");
            }
            match why {
                Interruption::NotServed(_) => return,
                Interruption::Expired(_) => place = Place::beginning(),
                Interruption::Failed(_) => {}
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    /// One page, or one watch.
    async fn step(&mut self, place: &mut Place, backoff: &mut Backoff) -> Result<(), Interruption> {
        match place {
            Place::List { token, version } => {
                if token.is_empty() {
                    version.clear();
                    self.work.listing(self.kind);
                }
                let shell = self.page(token).await?;
                if version.is_empty() {
                    let missing =
                        || Interruption::Failed("the list has no resourceVersion".to_owned());
                    *version = shell.metadata.resource_version.ok_or_else(missing)?;
                }
                *token = shell.metadata.token.unwrap_or_default();
                if token.is_empty() {
                    self.work.listed(self.kind, version.parse().ok());
                    tracing::debug!(resource = self.row.watched.name, "listed");
                    *place = Place::Watch {
                        version: std::mem::take(version),
                        is_partial: false,
                    };
                }
                Ok(())
            }
            Place::Watch {
                version,
                is_partial,
            } => {
                let begun = Instant::now();
                let mut has_told = false;
                let watched = self.watch(version, is_partial, &mut has_told).await;
                let works = has_told || begun.elapsed() >= WORKS;
                if works {
                    backoff.reset();
                }
                watched?;
                if *is_partial {
                    *place = Place::beginning();
                }
                // What ends at once would be begun without end.
                if begun.elapsed() < WORKS {
                    tokio::time::sleep(backoff.pause()).await;
                }
                Ok(())
            }
        }
    }

    fn api(&self) -> &HubApi {
        self.work.writer(self.row.watched.server).api()
    }

    async fn page(&mut self, token: &str) -> Result<Shell, Interruption> {
        let ends = Instant::now() + LONGEST_PAGE;
        let mut path = format!("{}limit={PAGE}", self.path);
        if !token.is_empty() {
            path.push_str(&format!("&continue={}", encoded(token)));
        }
        let mut chunks = self.begin(path).await?;
        let mut items = Items::new(LARGEST);
        let silent = |_| Interruption::Failed("a list fell silent".to_owned());
        while let Some(chunk) = {
            let until = ends.min(Instant::now() + LONGEST_SILENCE);
            timeout_at(until, chunks.next()).await.map_err(silent)?
        } {
            let chunk = chunk.map_err(failed)?;
            items.feed(&chunk, &mut |found| self.item(found));
        }
        let shell = items.shell().unwrap_or_default();
        serde_json::from_slice(shell)
            .map_err(|error| Interruption::Failed(format!("the response is no list: {error}")))
    }

    /// An item of a list.
    fn item(&mut self, found: Found<'_>) {
        match read(found) {
            Ok(item) => self
                .work
                .see(self.kind, &self.row.watched, &item, Source::Watch),
            Err(why) => self.unreadable(&why),
        }
    }

    async fn watch(
        &mut self,
        version: &mut String,
        is_partial: &mut bool,
        has_told: &mut bool,
    ) -> Result<(), Interruption> {
        let seconds = WATCH.as_secs();
        let path = format!(
            "{}watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}",
            self.path
        );
        let ends = Instant::now() + WATCH + GRACE;
        let mut chunks = self.begin(path).await?;
        let mut lines = Lines::new(LARGEST);
        let mut outcome = Ok(());
        // A watch whose end does not come ends all the same.
        while let Ok(Some(chunk)) = timeout_at(ends, chunks.next()).await {
            let chunk = chunk.map_err(failed)?;
            lines.feed(&chunk, &mut |line| {
                if outcome.is_ok() {
                    *has_told = true;
                    outcome = self.line(line, version, is_partial);
                }
            });
            std::mem::replace(&mut outcome, Ok(()))?;
        }
        Ok(())
    }

    /// A line of a watch.
    fn line(
        &mut self,
        line: Found<'_>,
        version: &mut String,
        is_partial: &mut bool,
    ) -> Result<(), Interruption> {
        let event = match line {
            Found::Item(line) => {
                serde_json::from_slice::<Event<'_>>(line).map_err(|error| error.to_string())
            }
            Found::TooLarge(bytes) => Err(too_large(bytes)),
        };
        let event = match event {
            Ok(event) => event,
            Err(why) => {
                *is_partial = true;
                self.unreadable(&why);
                return Ok(());
            }
        };
        let object = event.object.get().as_bytes();
        match event.type_ {
            "BOOKMARK" => {
                if let Ok(Bookmark { metadata }) = serde_json::from_slice(object) {
                    advance(version, metadata.resource_version)?;
                }
            }
            "ERROR" => {
                let Status { code, message } = serde_json::from_slice(object).unwrap_or_default();
                let why = format!("the watch ended: {code} {message}");
                return Err(if code == 410 {
                    Interruption::Expired(why)
                } else {
                    Interruption::Failed(why)
                });
            }
            "ADDED" | "MODIFIED" | "DELETED" => match Item::read(object) {
                Ok(item) => {
                    advance(version, item.meta.resource_version.clone())?;
                    if event.type_ == "DELETED" {
                        self.work.deleted(self.kind, &item.meta);
                    } else {
                        self.work
                            .see(self.kind, &self.row.watched, &item, Source::Watch);
                    }
                }
                Err(error) => {
                    *is_partial = true;
                    self.unreadable(&error.to_string());
                }
            },
            _ => {}
        }
        Ok(())
    }

    async fn begin(&self, path: String) -> Result<Chunks, Interruption> {
        let call = Call::get(path).within(LONGEST_SILENCE);
        self.api().stream(call).await.map_err(failed)
    }

    fn unreadable(&mut self, why: &str) {
        let name = self.row.watched.name;
        self.work.unreadable(self.kind, name);
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                resource = name,
                why,
                "an object cannot be read and is passed over; further ones are counted"
            );
        }
    }
}

// === impl Place ===

impl Place {
    fn beginning() -> Self {
        Self::List {
            token: String::new(),
            version: String::new(),
        }
    }
}

fn read(found: Found<'_>) -> Result<Item<'_>, String> {
    match found {
        Found::Item(json) => Item::read(json).map_err(|error| error.to_string()),
        Found::TooLarge(bytes) => Err(too_large(bytes)),
    }
}

fn too_large(bytes: usize) -> String {
    format!("it has {bytes} bytes; more than {LARGEST} are not read")
}

/// The watch has come this far.
///
/// # Errors
/// It went back: the API server's storage was restored to an earlier state.
fn advance(version: &mut String, new: String) -> Result<(), Interruption> {
    if let (Ok(old), Ok(new)) = (version.parse::<u64>(), new.parse::<u64>())
        && new < old
    {
        let why = format!("the watch went back from resourceVersion {old} to {new}");
        return Err(Interruption::Expired(why));
    }
    if !new.is_empty() {
        *version = new;
    }
    Ok(())
}

fn failed(error: CallError) -> Interruption {
    let message = error.to_string();
    if error.kind_is_absent() {
        return Interruption::NotServed(message);
    }
    // From before a restore to an earlier state: an API server that waits for it to come does not say 410.
    if error.code() == 410 || message.contains("Too large resource version") {
        return Interruption::Expired(message);
    }
    Interruption::Failed(message)
}

#[cfg(test)]
mod tests;
