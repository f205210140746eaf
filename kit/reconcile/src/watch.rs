//! Lists and watches one kind.
//!
//! # Guarantees
//! - A list comes in small pages, and neither a page nor the list is ever in memory whole: each object is reported as it is
//!   read.
//! - One object that cannot be read, or is larger than 4 MiB, concerns itself only.
//! - A list that is not answered within 30 s, or is silent for that long, is requested again; so is the beginning of a watch.
//!   A watch that fails is resumed where it ended, after a pause. A watch whose beginning the API server has forgotten (410),
//!   or whose API server has gone back in time, begins anew with a list.
//! - An API server whose etcd was restored accepts a watch after a version of its future, and reports nothing until it comes
//!   that far. So a watch that failed, ended early, or reported nothing goes on only after the API server's present version was
//!   read, and is not lower. A watch that ends as it should costs no such request.
//! - Pauses grow from 50 ms to 10 s (60 s for kinds that an API server need not have), also when watches succeed and end at
//!   once.

mod lines;

use std::convert::Infallible;
use std::time::Duration;

use berth_hub::{Backoff, Call, CallError, Chunks, HubApi, query_value};
use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::object::{Item, Meta};
use crate::scan::{Found, Items, Lines};
use crate::watched::Watched;
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

/// What a list is asked for that is only for its version: metadata, of which not all API servers make lists.
const VERSION: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// Receives what a watch reports, see [`follow_all`].
pub trait Reports {
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

    /// The API server had shown the version `from`, and has come only to `to`: its storage was restored. A list follows.
    fn went_back(&mut self, _from: u64, _to: u64) {}
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
    /// The name of the kind in logs.
    name: &'static str,
    path: String,
    /// Only one object is followed.
    is_one: bool,
    /// The version that lists and watches have come to.
    newest: u64,
    list_anew: &'a Notify,
    reports: &'a mut R,
}

/// The next request of a follower.
enum Place {
    /// A page of a list: its token, and the version that all pages are of.
    List { token: String, version: String },
    /// A watch after this version.
    Watch {
        version: String,
        /// An event could not be read.
        is_partial: bool,
        /// The API server may have gone back behind the version.
        is_unsure: bool,
    },
}

/// Follows the objects that the row selects, on one API server, without a [`World`](crate::World): for a process that shows them.
///
/// # Guarantees
/// - One list in pages and one watch; no list is in memory whole. A list or a watch that fails is begun again, with growing pauses.
/// - [`Reports::listing`] comes before the objects of a list, and [`Reports::listed`] after the last: an object that was known before, and
///   was not reported in between, exists no more.
pub async fn follow_all<F>(
    api: &HubApi,
    watched: &Watched<F>,
    reports: &mut impl Reports,
) -> Infallible {
    follow(api, watched, &Notify::new(), reports).await
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
                name: watched.name,
                path: watched.path(version),
                is_one: watched.object.is_some(),
                newest: 0,
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
                    // Before the request: responses to calls of this controller since then are newer than the list.
                    self.reports.listing();
                }
                let mut query = format!("limit={PAGE}");
                if !token.is_empty() {
                    query.push_str(&format!("&continue={}", query_value(token)));
                }
                let page = Call::get(format!("{}{query}", self.path));
                let shell = self.list(page, Self::item).await?;
                if version.is_empty() {
                    let missing = || WatchError::new("the list has no resourceVersion");
                    let new = shell.metadata.resource_version.ok_or_else(missing)?;
                    self.advance(version, new)?;
                }
                *token = shell.metadata.token.unwrap_or_default();
                if token.is_empty() {
                    self.reports.listed(version.parse().ok());
                    *place = Place::Watch {
                        version: std::mem::take(version),
                        is_partial: false,
                        is_unsure: false,
                    };
                }
                Ok(())
            }
            Place::Watch {
                version,
                is_partial,
                is_unsure,
            } => {
                // One object is listed with the same effort, and surely seen if the hub has come past the version again.
                if *is_unsure && (self.is_one || !self.may_resume(version).await?) {
                    *place = Place::beginning();
                    return Ok(());
                }
                // Set first: the watch may fail, or be dropped.
                *is_unsure = true;
                let begun = Instant::now();
                let mut has_reported = false;
                let watched = self.watch(version, is_partial, &mut has_reported).await;
                if has_reported || begun.elapsed() >= WORKS {
                    backoff.reset();
                }
                let has_ended = watched?;
                // A bookmark, at the least, is reported before the end.
                *is_unsure = !(has_ended && has_reported && begun.elapsed() + GRACE >= WATCH);
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

    /// Returns true if the API server has come to this version, and false if versions cannot be compared. It is asked for a list of at
    /// most one object, without a resourceVersion: that reads the present version from a quorum of etcd, and is never behind as the
    /// caches of several API servers may be.
    ///
    /// # Errors
    /// It has not come so far, or does not answer.
    async fn may_resume(&mut self, version: &str) -> Result<bool, WatchError> {
        let first = Call::get(format!("{}limit=1", self.path));
        let shell = self.list(first.accept(VERSION), |_, _| ()).await?;
        let now = shell.metadata.resource_version.unwrap_or_default();
        let (Ok(_), Ok(now)) = (version.parse::<u64>(), now.parse()) else {
            return Ok(false);
        };
        self.compare(now).map(|()| true)
    }

    /// A page of a list, whose items are reported so.
    async fn list(
        &mut self,
        page: Call,
        report: impl Fn(&mut Self, Found<'_>),
    ) -> Result<Shell, WatchError> {
        let ends = Instant::now() + LONGEST_PAGE;
        let mut chunks = self.begin(page).await?;
        let mut items = Items::new(LARGEST);
        let silent = |_| WatchError::new("a list fell silent");
        while let Some(chunk) = {
            let until = ends.min(Instant::now() + LONGEST_SILENCE);
            timeout_at(until, chunks.next()).await.map_err(silent)?
        } {
            items.feed(&chunk?, &mut |found| report(self, found));
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

    /// Returns true if the API server has ended the watch.
    async fn watch(
        &mut self,
        version: &mut String,
        is_partial: &mut bool,
        has_reported: &mut bool,
    ) -> Result<bool, WatchError> {
        let seconds = WATCH.as_secs();
        let path = format!(
            "{}watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}",
            self.path
        );
        let ends = Instant::now() + WATCH + GRACE;
        let mut chunks = self.begin(Call::get(path)).await?;
        self.reports.resumed();
        let mut lines = Lines::new(LARGEST);
        let mut outcome = Ok(());
        while let Ok(next) = timeout_at(ends, chunks.next()).await {
            let Some(chunk) = next else {
                return Ok(true);
            };
            lines.feed(&chunk?, &mut |line| {
                if outcome.is_ok() {
                    *has_reported = true;
                    outcome = self.line(line, version, is_partial);
                }
            });
            std::mem::replace(&mut outcome, Ok(()))?;
        }
        Ok(false)
    }

    /// The list or the watch has come this far.
    ///
    /// # Errors
    /// It went back.
    fn advance(&mut self, version: &mut String, new: String) -> Result<(), WatchError> {
        if let Ok(new) = new.parse() {
            self.compare(new)?;
            self.newest = new;
        }
        if !new.is_empty() {
            *version = new;
        }
        Ok(())
    }

    /// # Errors
    /// The API server has come only to this version, and had shown a higher one: its storage was restored to an earlier state.
    fn compare(&mut self, now: u64) -> Result<(), WatchError> {
        if now >= self.newest {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.newest, now);
        self.reports.went_back(before, now);
        let message = format!(
            "the API server went back from resourceVersion {before} to {now}, as after a restore of its etcd: {} are listed anew",
            self.name
        );
        Err(WatchError {
            then: Then::List,
            ..WatchError::new(message)
        })
    }

    async fn begin(&self, call: Call) -> Result<Chunks, WatchError> {
        Ok(self.api.stream(call.within(LONGEST_SILENCE)).await?)
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
        // An API server whose storage was restored to an earlier state does not say 410. It waits for the version of a watch to come, and
        // etcd refuses the next page of a list.
        let ahead = ["Too large resource version", "is a future revision"];
        let is_ahead = ahead.iter().any(|it| message.contains(it));
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

fn read(found: Found<'_>) -> Result<Item<'_>, String> {
    match found {
        Found::Item(json) => Item::read(json).map_err(|error| error.to_string()),
        Found::TooLarge(bytes) => Err(too_large(bytes)),
    }
}

fn too_large(bytes: usize) -> String {
    format!("the object has {bytes} bytes, which is more than {LARGEST}")
}

#[cfg(test)]
mod tests;
