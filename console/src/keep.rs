//! What becomes of a session whose user has a token: it ends with the token, which a provider may renew before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_hub::{Backoff, Identity};
use jiff::Timestamp;

use crate::oidc::ProviderError;
use crate::server::{Server, Visitor};
use crate::sessions::{Secret, SessionId};

/// A token is renewed this long before its end, or after four fifths of its time, whichever is later.
const BEFORE_THE_END: Duration = Duration::from_secs(60);

/// Pauses between attempts to renew a token.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// What is known of the user's token.
pub(crate) struct Kept {
    pub(crate) user: Visitor,
    pub(crate) refresh: Option<Refresh>,
}

/// By which a token is renewed.
pub(crate) struct Refresh {
    pub(crate) token: Secret,
    /// The user at the provider.
    pub(crate) sub: String,
}

/// What is due for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// To renew it after this time.
    Renewal(Duration),
    /// Its end is after this time.
    End(Duration),
    /// Nothing: the hub's 401 says when it has ended.
    Nothing,
}

/// Ends the session when its token ends or the hub refuses it. A provider's token is renewed before.
pub(crate) fn keep(server: &Arc<Server>, session: SessionId, identity: Identity, kept: Kept) {
    let kept_by = Arc::clone(server);
    server.tasks.tracker.spawn(async move {
        tokio::select! {
            () = kept_by.tasks.end.cancelled() => {}
            () = until_the_end(&kept_by, session, &identity, kept) => {}
        }
    });
}

/// Returns when the session has ended.
async fn until_the_end(server: &Server, session: SessionId, identity: &Identity, mut kept: Kept) {
    let mut ends = server.session_ends.subscribe();
    let has_ended = || !server.sessions().lives(session, Instant::now());
    while !has_ended() {
        let due = due(kept.user.until(), kept.refresh.is_some(), Timestamp::now());
        let after = match due {
            Due::Renewal(after) | Due::End(after) => after,
            Due::Nothing => Duration::MAX,
        };
        tokio::select! {
            _ = ends.wait_for(|_| has_ended()) => break,
            () = identity.refused() => {
                tracing::info!("the hub does not accept the token of a session any more: the session ends");
                server.end(session);
                break;
            }
            () = tokio::time::sleep(after) => {}
        }
        match (due, kept.refresh.take()) {
            // It may have been idle for too long.
            _ if has_ended() => break,
            (Due::Renewal(_), Some(refresh)) => tokio::select! {
                next = renewed(server, &kept.user, identity, refresh) => kept.refresh = next,
                _ = ends.wait_for(|_| has_ended()) => break,
            },
            (Due::Nothing, refresh) => kept.refresh = refresh,
            (Due::End(_) | Due::Renewal(_), _) => server.end(session),
        }
    }
    // What was followed for the user ends with it.
    kept.user.app.tasks.end.cancel();
}

fn due(until: Option<Timestamp>, is_renewed: bool, now: Timestamp) -> Due {
    let Some(until) = until else {
        return Due::Nothing;
    };
    let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    match is_renewed {
        true => Due::Renewal(left.saturating_sub(BEFORE_THE_END).max(left * 4 / 5)),
        false => Due::End(left),
    }
}

/// Renews the token, and returns by what it is renewed next; `None` if the provider refuses.
async fn renewed(
    server: &Server,
    user: &Visitor,
    identity: &Identity,
    refresh: Refresh,
) -> Option<Refresh> {
    let (_, provider) = server.entry.provider()?;
    let until = user.until();
    let (first, longest) = PAUSES;
    let mut backoff = Backoff::new(first, longest);
    loop {
        match provider.refresh(&refresh.token, &refresh.sub).await {
            Ok(signed_in) => {
                if identity.renew(&signed_in.id_token).is_err() {
                    tracing::warn!("the OpenID provider's token cannot be sent to the hub");
                    return None;
                }
                user.set_until(signed_in.claims.until());
                return Some(Refresh {
                    // RFC 6749, 6: without a new one, the one before stays valid.
                    token: signed_in.refresh_token.unwrap_or(refresh.token),
                    sub: refresh.sub,
                });
            }
            Err(ProviderError::Refused(why)) => {
                tracing::info!(why, "a session is not renewed, and ends with its token");
                return None;
            }
            Err(ProviderError::Unavailable(why)) => {
                let pause = backoff.pause();
                let goes_on = until.is_some_and(|until| Timestamp::now() + pause < until);
                tracing::warn!(why, goes_on, "a session could not be renewed");
                if !goes_on {
                    return None;
                }
                tokio::time::sleep(pause).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_in_time_and_a_session_ends_with_its_token() {
        let now = Timestamp::UNIX_EPOCH;
        let seconds = Duration::from_secs;
        for (left, is_renewed, expected) in [
            (Some(3600), true, Due::Renewal(seconds(3540))),
            // A token of a minute.
            (Some(60), true, Due::Renewal(seconds(48))),
            (Some(3600), false, Due::End(seconds(3600))),
            (Some(-5), false, Due::End(seconds(0))),
            (Some(-5), true, Due::Renewal(seconds(0))),
            (None, true, Due::Nothing),
            (None, false, Due::Nothing),
        ] {
            let until = left.map(|left| now + jiff::SignedDuration::from_secs(left));
            assert_eq!(due(until, is_renewed, now), expected, "{left:?}");
        }
    }
}
