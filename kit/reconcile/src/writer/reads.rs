//! Reads: one object, or a list that is never in memory whole.

use std::time::Duration;

use berth_api::plan::Target;
use berth_hub::{Call, CallError, Cause, METADATA_LIST, query_value};
use bytes::Bytes;
use futures::StreamExt;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use super::request::{all_of, path};
use super::{LARGEST, Writer, no_object, object_in};
use crate::object::{Item, RawObject};
use crate::refusal::Refusal;
use crate::scan::{Found, Items};

/// The number of objects of a page of metadata.
const PAGE: usize = 500;

/// A list without its items. Another JSON object does not pass for an empty list.
#[derive(Deserialize)]
pub(crate) struct Shell {
    pub(crate) metadata: ListMeta,
    /// Go writes an empty list as `null`.
    #[serde(rename = "items", deserialize_with = "Option::deserialize")]
    _items: Option<[u8; 0]>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(rename = "continue")]
    pub(crate) token: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl Writer {
    /// Reads an object. Returns also how long the API server took.
    ///
    /// # Errors
    /// The object does not exist, or cannot be read.
    pub async fn read(&self, target: &Target) -> Result<(RawObject, Duration), Refusal> {
        let answer = self.call(Call::get(path(target, None))).await?;
        let took = answer.took;
        Ok((object_in(answer)?, took))
    }

    /// Finds an object by a list: a role may grant to list a kind and not to get an object.
    ///
    /// # Errors
    /// The kind cannot be listed.
    pub async fn find(&self, target: &Target) -> Result<Option<RawObject>, Refusal> {
        let path = format!(
            "{}?fieldSelector=metadata.name%3D{}",
            path(&all_of(target), None),
            query_value(&target.name)
        );
        let mut found = None;
        let mut take = |item: &[u8]| {
            if found.is_none() {
                found = Some(Bytes::copy_from_slice(item));
            }
        };
        self.page(Call::get(path), &mut take).await?;
        found
            .map(|json| RawObject::read(json).map_err(no_object))
            .transpose()
    }

    /// Lists the metadata of all objects of a kind in a namespace. Calls `look` for each as it is read. Returns whether the kind is
    /// served: one that is not has no objects to list.
    ///
    /// # Errors
    /// The objects cannot be listed, or one cannot be read.
    pub async fn each_metadata(
        &self,
        kind: &Target,
        look: &mut (dyn FnMut(&Item<'_>) -> Result<(), serde_json::Error> + Send),
    ) -> Result<bool, Refusal> {
        let mut next = String::new();
        loop {
            let path = path(&all_of(kind), None);
            let call = Call::get(format!(
                "{path}?limit={PAGE}&continue={}",
                query_value(&next)
            ));
            let mut failed = None;
            let mut take = |item: &[u8]| {
                let looked = Item::read(item).and_then(|item| look(&item));
                failed = failed.take().or(looked.err());
            };
            let page = self.page(call.accept(METADATA_LIST), &mut take).await;
            let shell = match page {
                Err(refusal) if refusal.kind_is_absent => return Ok(false),
                page => page?,
            };
            if let Some(error) = failed {
                return Err(Refusal::without_response(format!(
                    "the response is not a list: {error}"
                )));
            }
            match shell.metadata.token {
                Some(token) if !token.is_empty() => next = token,
                _ => return Ok(true),
            }
        }
    }

    /// Reads a page of a list: calls `item` for each item as it is read, and returns the rest.
    async fn page(
        &self,
        call: Call,
        item: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Shell, Refusal> {
        // The permit is held until the page has been read.
        let (_permit, longest) = self.turn(&call).await?;
        let ends = Instant::now() + longest;
        let asked = call.asked();
        let late = || CallError::new(asked.clone(), Cause::Late(longest));
        let mut chunks = self.api.stream(call.within(longest)).await?;
        let mut items = Items::new(LARGEST);
        let mut too_large = false;
        while let Some(chunk) = timeout_at(ends, chunks.next()).await.map_err(|_| late())? {
            items.feed(&chunk?, &mut |found| match found {
                Found::Item(json) => item(json),
                Found::TooLarge(_) => too_large = true,
            });
        }
        if too_large {
            return Err(Refusal::without_response(
                "an object of the list is larger than 4 MiB".to_owned(),
            ));
        }
        let shell = items
            .shell()
            .ok_or_else(|| Refusal::without_response("the response is not a list".to_owned()))?;
        serde_json::from_slice(shell).map_err(|error| {
            Refusal::without_response(format!("the response is not a list: {error}"))
        })
    }
}
