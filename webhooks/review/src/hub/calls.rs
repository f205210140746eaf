//! Calls to a hub: limits, retries, and messages about failures.

use std::sync::Arc;
use std::time::Duration;

use berth_hub::{Answer, Backoff, Call, CallError, Cause, HubApi, LargeResponses};
use berth_rules::display;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The ClusterRole of the manifests that grants the gate its own rights.
const CLUSTER_ROLE: &str = "open-cluster-management:berth-registration:webhook";

/// The maximum number of concurrent calls. Further calls wait until the deadline of their review.
const CALLS_AT_ONCE: usize = 200;

/// The timeout of a call. It is longer than any review: the deadline of the review limits its calls.
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// The maximum number of retries of a call that may succeed on another connection.
const RETRIES: u32 = 2;

/// At most this many characters of the hub's message are quoted.
const LONGEST_MESSAGE: usize = 300;

/// Makes calls.
#[derive(Clone)]
pub(super) struct Calls {
    hub: HubApi,
    /// A permit for each call: over HTTP/1.1, each call needs a connection, and so an open file.
    places: Arc<Semaphore>,
    large: Arc<LargeResponses>,
}

// === impl Calls ===

impl Calls {
    pub(super) fn new(hub: HubApi) -> Self {
        Self {
            hub,
            places: Arc::new(Semaphore::new(CALLS_AT_ONCE)),
            large: Arc::default(),
        }
    }

    /// Makes a call, and repeats it if its response is large, or if the hub may be busy or restarting. No call changes the hub, so a retry is safe. `what`
    /// is the verb and the resource, as in a role. The caller must limit the time.
    ///
    /// Returns `None` for an error that `absent` recognizes.
    ///
    /// # Errors
    /// A message with the cause.
    pub(super) async fn make<T: DeserializeOwned>(
        &self,
        what: &str,
        call: Call,
        absent: fn(&CallError) -> bool,
    ) -> Result<Option<T>, String> {
        let mut bound = self.large.bound();
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_millis(400));
        let answered = loop {
            let call = call.clone().within(LONGEST_CALL).at_most(bound.bytes());
            match self.once(call).await {
                Err(error) if may_pass(&error) && backoff.failures() < RETRIES => {
                    sleep(backoff.pause()).await;
                }
                Err(error) => {
                    if !bound.grows(&error).await {
                        break Err(error);
                    }
                }
                result => break result,
            }
        };
        match answered.and_then(|answer| answer.json()) {
            Ok(value) => Ok(Some(value)),
            Err(error) if absent(&error) => Ok(None),
            Err(error) => Err(trouble(what, &error)),
        }
    }

    async fn once(&self, call: Call) -> Result<Answer, CallError> {
        let _place = self.places.acquire().await;
        self.hub.call(call).await
    }
}

/// Returns true if a retry may succeed, on another connection or another server of the hub.
fn may_pass(error: &CallError) -> bool {
    matches!(error.code(), 429 | 502..=504) || matches!(error.cause(), Cause::NoConnection(_))
}

fn trouble(what: &str, error: &CallError) -> String {
    match error.cause() {
        Cause::Refused(refusal) => {
            let (message, _) = display::cut(&refusal.message, LONGEST_MESSAGE);
            let message = display::Plain(message.trim());
            match refusal.code {
                401 => format!(
                    "the hub does not accept the gate's own credentials ({what}), \
                     check its kubeconfig or service account: {message}"
                ),
                403 => format!(
                    "the gate itself may not {what}, grant it the ClusterRole {CLUSTER_ROLE} of its manifests: {message}"
                ),
                code => format!("the hub answered {what} with {code} {message}"),
            }
        }
        Cause::Unreadable(why) => format!("the hub's response to {what} cannot be read: {why}"),
        Cause::TooLarge(longest) => format!(
            "the hub's response to {what} cannot be read: it is longer than {} MiB",
            longest >> 20
        ),
        Cause::Credentials(why) => {
            format!("the gate cannot get credentials for the hub ({what}): {why}")
        }
        Cause::NoConnection(why) => format!("the hub cannot be reached ({what}): {why}"),
        cause => format!("the call to the hub failed ({what}): {cause}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
