//! Lists and watches one kind.
//!
//! # Guarantees
//! - A list comes in small pages, and neither a page nor the list is ever in memory whole: each object is reported as it is
//!   read.
//! - One object that cannot be read, or is larger than 4 MiB, concerns itself only.
//! - A list that is not answered within 30 s, or is silent for that long, is requested again; so is the beginning of a watch.
//!   A watch that fails is resumed where it ended, after a pause. A watch whose beginning the API server has forgotten (410),
//!   or whose API server has gone back in time, begins anew with a list.
//! - Pauses grow from 50 ms to 10 s (60 s for kinds that an API server need not have), also when watches succeed and end at
//!   once.

use std::convert::Infallible;
use std::time::Duration;

use berth_hub::{Backoff, Call, CallError, Chunks, HubApi};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::object::{Item, Meta};
use crate::scan::{Found, Items, Lines};
use crate::watched::{Watched, encoded};
use crate::writer::{LARGEST, Shell};

/// The first pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The longest pause for kinds that an API server need not have.
const LONGEST_PAUSE_FOR_OPTIONAL: Duration = Duration::from_secs(60);

/// The longest silence of a list, and the longest time until a watch begins.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// The longest time for a page of a list.
const LONGEST_PAGE: Duration = Duration::from_secs(180);

/// The number of objects of a page.
const PAGE: usize = 200;

/// The API server is asked to end a watch after this time.
const WATCH: Duration = Duration::from_secs(290);

/// A watch that the API server does not end is ended this much later.
const GRACE: Duration = Duration::from_secs(5);

/// A watch that lasts this long works, though it may have reported nothing.
const WORKS: Duration = Duration::from_secs(5);

/// Receives what a watch reports.
pub(crate) trait Reports {
    /// A watch that ended or failed is resumed where it ended. Otherwise it begins with a list.
    const RESUMES: bool;

    /// A list begins.
    fn listing(&mut self);

    /// A list of this version was read to its end.
    fn listed(&mut self, version: Option<u64>);

    /// An object exists, or has changed.
    fn object(&mut self, item: &Item<'_>);

    /// An object was deleted.
    fn deleted(&mut self, meta: &Meta);

    /// An object is too large, or is not an object with a name.
    fn unreadable(&mut self, why: &str);

    /// A list or a watch failed, and is begun again after a pause.
    fn interrupted(&mut self, error: &WatchError);

    /// The API server has begun to answer a watch: the first one after a list, or one that goes on.
    fn resumed(&mut self) {}
}

/// A list or a watch failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WatchError {
    /// HTTP status code; 0 without a response.
    pub code: u16,
    /// What was requested, and why it failed.
    pub message: String,
    pub(crate) then: Then,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The kind is not served in this version: the next version is tried.
    NextVersion,
    /// The watch cannot go on where it ended: a list.
    List,
    /// The watch goes on where it ended.
    Resume,
}

/// Follows a kind in one version.
struct Follower<'a, R> {
    api: &'a HubApi,
    path: String,
    list_anew: &'a Notify,
    reports: &'a mut R,
}

/// The next request of a follower.
enum Place {
    /// A page of a list: its token, and the version that all pages are of.
    List { token: String, version: String },
    /// A watch after this version. `is_partial`: one of its events could not be read.
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

/// Follows a kind. A notification of `list_anew` has it listed anew.
pub(crate) async fn follow<F>(
    api: &HubApi,
    watched: &Watched<F>,
    list_anew: &Notify,
    reports: &mut impl Reports,
) -> Infallible {
    let longest = if watched.optional {
        LONGEST_PAUSE_FOR_OPTIONAL
    } else {
        LONGEST_PAUSE
    };
    let mut backoff = Backoff::new(FIRST_PAUSE, longest);
    loop {
        for version in &watched.versions {
            let mut follower = Follower {
                api,
                path: watched.path(version),
                list_anew,
                reports,
            };
            follower.follow_version(&mut backoff).await;
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

// === impl Follower ===

impl<R: Reports> Follower<'_, R> {
    /// Ends when the API server says that it does not serve this version.
    async fn follow_version(&mut self, backoff: &mut Backoff) {
        let mut place = Place::beginning();
        let list_anew = self.list_anew;
        loop {
            let followed = tokio::select! {
                followed = self.step(&mut place, backoff) => followed,
                () = list_anew.notified() => {
                    place = Place::beginning();
                    continue;
                }
            };
            let Err(error) = followed else {
                continue;
            };
            self.reports.interrupted(&error);
            match error.then {
                Then::NextVersion => return,
                Then::Resume if R::RESUMES => {}
                Then::Resume | Then::List => place = Place::beginning(),
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }

    /// One page, or one watch.
    async fn step(&mut self, place: &mut Place, backoff: &mut Backoff) -> Result<(), WatchError> {
        match place {
            Place::List { token, version } => {
                if token.is_empty() {
                    version.clear();
                    self.reports.listing();
                }
                let shell = self.page(token).await?;
                if version.is_empty() {
                    let missing = || WatchError::new("the list has no resourceVersion");
                    *version = shell.metadata.resource_version.ok_or_else(missing)?;
                }
                *token = shell.metadata.token.unwrap_or_default();
                if token.is_empty() {
                    self.reports.listed(version.parse().ok());
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
                let mut has_reported = false;
                let watched = self.watch(version, is_partial, &mut has_reported).await;
                if has_reported || begun.elapsed() >= WORKS {
                    backoff.reset();
                }
                watched?;
                if *is_partial || !R::RESUMES {
                    *place = Place::beginning();
                }
                // Watches that end at once would be begun in a busy loop.
                if begun.elapsed() < WORKS {
                    tokio::time::sleep(backoff.pause()).await;
                }
                Ok(())
            }
        }
    }

    async fn page(&mut self, token: &str) -> Result<Shell, WatchError> {
        let ends = Instant::now() + LONGEST_PAGE;
        let mut path = format!("{}limit={PAGE}", self.path);
        if !token.is_empty() {
            path.push_str(&format!("&continue={}", encoded(token)));
        }
        let mut chunks = self.begin(path).await?;
        let mut items = Items::new(LARGEST);
        let silent = |_| WatchError::new("a list fell silent");
        while let Some(chunk) = {
            let until = ends.min(Instant::now() + LONGEST_SILENCE);
            timeout_at(until, chunks.next()).await.map_err(silent)?
        } {
            items.feed(&chunk?, &mut |found| self.item(found));
        }
        let shell = items.shell().unwrap_or_default();
        serde_json::from_slice(shell)
            .map_err(|error| WatchError::new(format!("the response is not a list: {error}")))
    }

    /// An item of a list.
    fn item(&mut self, found: Found<'_>) {
        match read(found) {
            Ok(item) => self.reports.object(&item),
            Err(why) => self.reports.unreadable(&why),
        }
    }

    async fn watch(
        &mut self,
        version: &mut String,
        is_partial: &mut bool,
        has_reported: &mut bool,
    ) -> Result<(), WatchError> {
        let seconds = WATCH.as_secs();
        let path = format!(
            "{}watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}",
            self.path
        );
        let ends = Instant::now() + WATCH + GRACE;
        let mut chunks = self.begin(path).await?;
        self.reports.resumed();
        let mut lines = Lines::new(LARGEST);
        let mut outcome = Ok(());
        while let Ok(Some(chunk)) = timeout_at(ends, chunks.next()).await {
            lines.feed(&chunk?, &mut |line| {
                if outcome.is_ok() {
                    *has_reported = true;
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
    ) -> Result<(), WatchError> {
        let event = match line {
            Found::Item(line) => {
                if let Some((change, item)) = written_as_usual(line) {
                    return self.changed(change, &item, version);
                }
                serde_json::from_slice::<Event<'_>>(line).map_err(|error| error.to_string())
            }
            Found::TooLarge(bytes) => Err(too_large(bytes)),
        };
        let event = match event {
            Ok(event) => event,
            Err(why) => {
                *is_partial = true;
                self.reports.unreadable(&why);
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
                let then = if code == 410 {
                    Then::List
                } else {
                    Then::Resume
                };
                return Err(WatchError {
                    code,
                    message: format!("the watch ended: {code} {message}"),
                    then,
                });
            }
            "ADDED" | "MODIFIED" | "DELETED" => match Item::read(object) {
                Ok(item) => self.changed(event.type_, &item, version)?,
                Err(error) => {
                    *is_partial = true;
                    self.reports.unreadable(&error.to_string());
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn changed(
        &mut self,
        change: &str,
        item: &Item<'_>,
        version: &mut String,
    ) -> Result<(), WatchError> {
        advance(version, item.meta.resource_version.clone())?;
        if change == "DELETED" {
            self.reports.deleted(&item.meta);
        } else {
            self.reports.object(item);
        }
        Ok(())
    }

    async fn begin(&self, path: String) -> Result<Chunks, WatchError> {
        let call = Call::get(path).within(LONGEST_SILENCE);
        Ok(self.api.stream(call).await?)
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

// === impl WatchError ===

impl WatchError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            code: 0,
            message: message.into(),
            then: Then::Resume,
        }
    }
}

impl From<CallError> for WatchError {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        // An API server whose storage was restored to an earlier state waits for the version to come, and does not say 410.
        let is_ahead = message.contains("Too large resource version");
        let then = match error.code() {
            _ if error.kind_is_absent() => Then::NextVersion,
            _ if is_ahead => Then::List,
            410 => Then::List,
            _ => Then::Resume,
        };
        Self {
            code: error.code(),
            message,
            then,
        }
    }
}

/// Reads a line as API servers write it, `{"type":"ADDED","object":{...}}`, without a parse of its own to find the end of the object.
/// Returns None for any other line, and if the object cannot be read.
fn written_as_usual(line: &[u8]) -> Option<(&'static str, Item<'_>)> {
    let rest = line.strip_prefix(br#"{"type":""#)?.strip_suffix(b"}")?;
    ["ADDED", "MODIFIED", "DELETED"]
        .into_iter()
        .find_map(|change| {
            let rest = rest.strip_prefix(change.as_bytes())?;
            let object = rest.strip_prefix(br#"","object":"#)?;
            Some((change, Item::read(object).ok()?))
        })
}

fn read(found: Found<'_>) -> Result<Item<'_>, String> {
    match found {
        Found::Item(json) => Item::read(json).map_err(|error| error.to_string()),
        Found::TooLarge(bytes) => Err(too_large(bytes)),
    }
}

fn too_large(bytes: usize) -> String {
    format!("the object has {bytes} bytes, which is more than {LARGEST}")
}

/// The watch has come this far.
///
/// # Errors
/// It went back: the API server's storage was restored to an earlier state.
fn advance(version: &mut String, new: String) -> Result<(), WatchError> {
    if let (Ok(old), Ok(new)) = (version.parse::<u64>(), new.parse::<u64>())
        && new < old
    {
        let message = format!("the watch went back from resourceVersion {old} to {new}");
        return Err(WatchError {
            then: Then::List,
            ..WatchError::new(message)
        });
    }
    if !new.is_empty() {
        *version = new;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
