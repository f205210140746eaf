//! One object by its name, without a [`World`](crate::World): for a process that serves from the object.

use std::convert::Infallible;

use berth_hub::HubApi;
use tokio::sync::Notify;

use crate::object::{Item, Meta};
use crate::watch::{Reports, WatchError, follow};
use crate::watched::Watched;

/// Follows one object, the only one that the row selects: [`Watched::named`].
///
/// `tell` gets what the row makes of the object, `None` if the object does not exist, or why that cannot be found out. It is
/// called for every list and for every change.
///
/// # Guarantees
/// - After a failure, and when a watch ends (every five minutes), the object is listed again, and `tell` is called.
/// - A role that grants list and watch on this name alone suffices.
pub async fn follow_one<T>(
    api: &HubApi,
    watched: &Watched<T>,
    tell: impl FnMut(Result<Option<T>, WatchError>),
) -> Infallible {
    let mut one = One {
        watched,
        tell,
        list: None,
    };
    follow(api, watched, &Notify::new(), &mut one).await
}

struct One<'a, T, F> {
    watched: &'a Watched<T>,
    tell: F,
    /// While the object is listed: what the list says so far.
    list: Option<Result<Option<T>, WatchError>>,
}

// === impl One ===

impl<T, F: FnMut(Result<Option<T>, WatchError>)> One<'_, T, F> {
    fn found(&mut self, found: Result<Option<T>, WatchError>) {
        match &mut self.list {
            Some(list) => *list = found,
            None => (self.tell)(found),
        }
    }
}

impl<T, F: FnMut(Result<Option<T>, WatchError>)> Reports for One<'_, T, F> {
    const RESUMES: bool = false;

    fn listing(&mut self) {
        self.list = Some(Ok(None));
    }

    fn listed(&mut self, _: Option<u64>) {
        if let Some(found) = self.list.take() {
            (self.tell)(found);
        }
    }

    fn object(&mut self, item: &Item<'_>) {
        let fact = self.watched.read(item);
        self.found(
            fact.map(Some)
                .map_err(|error| WatchError::new(error.to_string())),
        );
    }

    fn deleted(&mut self, _: &Meta) {
        self.found(Ok(None));
    }

    fn unreadable(&mut self, why: &str) {
        self.found(Err(WatchError::new(why)));
    }

    fn interrupted(&mut self, error: &WatchError) {
        self.list = None;
        (self.tell)(Err(error.clone()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
