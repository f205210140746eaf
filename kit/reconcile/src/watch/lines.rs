//! The lines of a watch.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Follower, Reports, Then, WatchError, too_large};
use crate::object::Item;
use crate::scan::Found;

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

// === impl Follower ===

impl<R: Reports> Follower<'_, R> {
    /// A line of a watch.
    pub(super) fn line(
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
                    self.advance(version, metadata.resource_version)?;
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
        self.advance(version, item.meta.resource_version.clone())?;
        if change == "DELETED" {
            self.reports.deleted(&item.meta);
        } else {
            self.reports.object(item);
        }
        Ok(())
    }
}

/// Reads a line as API servers write it, `{"type":"ADDED","object":{...}}`, without a parse of its own to find the end of the object.
/// Returns None for any other line, and if the object cannot be read.
pub(super) fn written_as_usual(line: &[u8]) -> Option<(&'static str, Item<'_>)> {
    let rest = line.strip_prefix(br#"{"type":""#)?.strip_suffix(b"}")?;
    ["ADDED", "MODIFIED", "DELETED"]
        .into_iter()
        .find_map(|change| {
            let rest = rest.strip_prefix(change.as_bytes())?;
            let object = rest.strip_prefix(br#"","object":"#)?;
            Some((change, Item::read(object).ok()?))
        })
}
