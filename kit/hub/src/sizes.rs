//! A bound on all responses together that are usually small, such as those to reviews.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{CallError, Cause};

/// The maximum size in bytes of a response that any call may read. SubjectAccessReviews and most objects are smaller.
pub const USUAL_RESPONSE: usize = 64 << 10;

/// The maximum number of larger responses that are read at the same time. Further ones are requested when it is their turn.
pub const LARGE_AT_ONCE: usize = 4;

/// The maximum size of a large response in bytes. No object is larger. A list of twenty objects can be larger only if users made
/// their metadata huge; it is refused then.
pub const LONGEST_RESPONSE: usize = 8 << 20;

/// The turns of large responses. All calls whose responses are bounded together share one.
#[derive(Debug)]
pub struct LargeResponses(Semaphore);

/// The bound of the response to one call. Keep it until the response is decoded.
#[derive(Debug)]
pub struct ResponseBound<'a> {
    large: &'a Semaphore,
    turn: Option<SemaphorePermit<'a>>,
}

// === impl LargeResponses ===

impl LargeResponses {
    /// No large response is read yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Semaphore::const_new(LARGE_AT_ONCE))
    }

    /// The bound of a response that is usually small.
    pub fn bound(&self) -> ResponseBound<'_> {
        ResponseBound {
            large: &self.0,
            turn: None,
        }
    }
}

impl Default for LargeResponses {
    fn default() -> Self {
        Self::new()
    }
}

// === impl ResponseBound ===

impl ResponseBound<'_> {
    /// The bytes that the response may have: see [`Call::at_most`](crate::Call::at_most).
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self.turn {
            Some(_) => LONGEST_RESPONSE,
            None => USUAL_RESPONSE,
        }
    }

    /// Returns true if the call is to be made again with a larger bound: its response was too large for the first one. Waits for its turn;
    /// the caller must limit the time. To hold an unread response instead would hold up others on the same HTTP/2 connection.
    pub async fn grows(&mut self, error: &CallError) -> bool {
        if self.turn.is_some() || !matches!(error.cause(), Cause::TooLarge(_)) {
            return false;
        }
        self.turn = self.large.acquire().await.ok();
        self.turn.is_some()
    }
}
