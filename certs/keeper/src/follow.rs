//! A watch on one object by its name, as a right to that name allows it.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::core::WatchEvent::{Added, Bookmark, Deleted, Error, Modified};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::hub::{Failure, LONGEST};

/// For so long a watch goes on; then the object is looked at again, whatever was told or lost.
const WATCH: Duration = Duration::from_secs(240);

/// The first wait after a failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Tells how the object is, whenever that may have changed, and why that cannot be found out.
pub(super) async fn follow(
    api: Api<DynamicObject>,
    name: &str,
    what: &str,
    mut tell: impl FnMut(Result<Option<DynamicObject>, Failure>),
) -> Infallible {
    let mut failures = 0;
    loop {
        match once(&api, name, what, &mut tell, &mut failures).await {
            Ok(()) => {}
            Err(failure) => {
                tell(Err(failure));
                sleep(pause(failures)).await;
                failures += 1;
            }
        }
    }
}

/// Lists and watches, until the watch ends.
async fn once(
    api: &Api<DynamicObject>,
    name: &str,
    what: &str,
    tell: &mut impl FnMut(Result<Option<DynamicObject>, Failure>),
    failures: &mut u32,
) -> Result<(), Failure> {
    let selector = format!("metadata.name={name}");
    let is_it = |object: &DynamicObject| object.metadata.name.as_deref() == Some(name);
    let asked = format!("list {what}");
    let list = ListParams::default().fields(&selector);
    let list = timeout(LONGEST, api.list(&list))
        .await
        .map_err(|_| Failure::late(asked.clone()))?
        .map_err(|error| Failure::of(asked, &error))?;
    let version = list.metadata.resource_version.unwrap_or_default();
    tell(Ok(list.items.into_iter().find(is_it)));
    *failures = 0;

    let asked = format!("watch {what}");
    let seconds = u32::try_from(WATCH.as_secs()).unwrap_or(u32::MAX);
    let params = WatchParams::default().fields(&selector).timeout(seconds);
    let events = timeout(LONGEST, api.watch(&params, &version))
        .await
        .map_err(|_| Failure::late(asked.clone()))?
        .map_err(|error| Failure::of(asked.clone(), &error))?;
    let mut events = pin!(events);
    let end = Instant::now() + WATCH + LONGEST;
    while let Ok(Some(event)) = timeout_at(end, events.next()).await {
        let event: WatchEvent<DynamicObject> =
            event.map_err(|error| Failure::of(asked.clone(), &error))?;
        match event {
            Added(object) | Modified(object) if is_it(&object) => tell(Ok(Some(object))),
            Deleted(object) if is_it(&object) => tell(Ok(None)),
            // Too old to go on: what there is now is looked at anew.
            Error(status) if status.code == 410 => return Ok(()),
            Error(status) => return Err(Failure::of(asked, &kube::Error::Api(status))),
            Added(_) | Modified(_) | Deleted(_) | Bookmark(_) => {}
        }
    }
    // A server that ends watches at once is not to be asked all the time.
    sleep(pause(0)).await;
    Ok(())
}

/// The wait after so many failures.
pub(super) fn pause(failures: u32) -> Duration {
    let wait = FIRST_WAIT.saturating_mul(1 << failures.min(16));
    wait.min(LONGEST_WAIT).mul_f64(0.75 + fastrand::f64() / 2.0)
}
