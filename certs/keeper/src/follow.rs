//! A watch on one object by its name, as a right to that name allows it.

use std::convert::Infallible;
use std::time::Duration;

use berth_hub::{Backoff, Call, HubApi};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use crate::objects::{Failure, LONGEST, LONGEST_OBJECT};

/// For so long a watch goes on; then the object is looked at again, whatever was told or lost.
const WATCH: Duration = Duration::from_secs(240);

/// The first wait after a failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A list of at most one object.
#[derive(Deserialize)]
struct List {
    metadata: ListMeta,
    #[serde(default)]
    items: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    #[serde(default)]
    resource_version: String,
}

/// A line of a watch.
#[derive(Deserialize)]
struct WatchEvent {
    #[serde(rename = "type")]
    what: String,
    object: Value,
}

/// Reports how the object of this name in this collection is, whenever that may have changed, and why that cannot be found
/// out.
pub(crate) async fn follow(
    api: &HubApi,
    collection: String,
    name: &str,
    mut tell: impl FnMut(Result<Option<Value>, Failure>),
) -> Infallible {
    let mut backoff = backoff();
    loop {
        if let Err(failure) = once(api, &collection, name, &mut tell, &mut backoff).await {
            tell(Err(failure));
            sleep(backoff.pause()).await;
        }
    }
}

/// Lists and watches, until the watch ends.
async fn once(
    api: &HubApi,
    collection: &str,
    name: &str,
    tell: &mut impl FnMut(Result<Option<Value>, Failure>),
    backoff: &mut Backoff,
) -> Result<(), Failure> {
    let selected = format!("{collection}?fieldSelector=metadata.name%3D{name}");
    let is_it = |object: &Value| object["metadata"]["name"] == name;
    let call = |path| Call::get(path).within(LONGEST).at_most(LONGEST_OBJECT);
    let list: List = api.call(call(selected.clone())).await?.json()?;
    tell(Ok(list.items.into_iter().flatten().find(is_it)));
    backoff.reset();

    let version = list.metadata.resource_version;
    let seconds = WATCH.as_secs();
    let path = format!(
        "{selected}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}"
    );
    let mut events = api.stream(call(path)).await?;
    let end = Instant::now() + WATCH + LONGEST;
    while let Ok(line) = timeout_at(end, events.line()).await {
        let Some(line) = line? else { break };
        let WatchEvent { what, object } =
            serde_json::from_slice(&line).map_err(|error| events.unreadable(error.to_string()))?;
        match what.as_str() {
            "ADDED" | "MODIFIED" if is_it(&object) => tell(Ok(Some(object))),
            "DELETED" if is_it(&object) => tell(Ok(None)),
            // Too old to go on: the object is read anew.
            "ERROR" if object["code"] == 410 => return Ok(()),
            "ERROR" => {
                let message = object["message"]
                    .as_str()
                    .unwrap_or("an error without words");
                return Err(events.unreadable(message).into());
            }
            _ => {}
        }
    }
    // A server that ends watches at once is not to be asked all the time.
    sleep(self::backoff().pause()).await;
    Ok(())
}

/// The pauses after failures.
pub(crate) fn backoff() -> Backoff {
    Backoff::new(FIRST_WAIT, LONGEST_WAIT)
}
