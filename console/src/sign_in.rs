//! Sign-in of users with tokens of the hub.

use std::sync::Arc;

use berth_admin::answers::Failure;
use http::StatusCode;
use jiff::Timestamp;

use crate::answers::Way;
use crate::entry::Users;
use crate::keep::{Kept, Refresh, keep};
use crate::respond::Refused;
use crate::server::{Server, Visitor};
use crate::sessions::Secret;

/// A token of the hub.
pub(crate) struct Token {
    pub(crate) text: Secret,
    pub(crate) way: Way,
    /// When it ends, if it says so.
    pub(crate) until: Option<Timestamp>,
    pub(crate) refresh: Option<Refresh>,
}

/// Why a token signs nobody in.
pub(crate) enum NotSignedIn {
    /// The hub does not accept it.
    NotAccepted,
    /// The hub's words, or our own.
    Failed(Box<Refused>),
}

/// Asks the hub whose token this is, and begins a session of that user. Returns the secret of its cookie. `before`: the cookie that the
/// browser has.
///
/// # Errors
/// The hub does not accept the token, or does not answer.
pub(crate) async fn sign_in(
    server: &Arc<Server>,
    users: &Users,
    token: Token,
    before: Option<&str>,
) -> Result<Secret, NotSignedIn> {
    let came = users.user_of(&token.text, server.tasks.child());
    let (app, identity) = came.map_err(|_| NotSignedIn::NotAccepted)?;
    // Bounded: nobody is signed in yet.
    let asked = {
        let _asking = server.asking.acquire().await;
        app.rights.user().await
    };
    let owner = match asked {
        Ok(Some((owner, _))) => owner,
        Ok(None) => {
            let why = "the hub does not say whose token this is: it needs Kubernetes 1.28";
            return Err(failed(Refused::new(StatusCode::BAD_GATEWAY, "NoUser", why)));
        }
        Err(Failure { code: 401, .. }) => return Err(NotSignedIn::NotAccepted),
        Err(failure) => return Err(failed(failure.into())),
    };
    let user = Visitor::new(app, token.way);
    user.set_until(token.until);
    let begun = server.begin(before, user.clone(), &owner);
    let (session, cookie) = begun.map_err(|error| failed(Refused::failed(error)))?;
    let refresh = token.refresh;
    keep(server, session, identity, Kept { user, refresh });
    Ok(cookie)
}

fn failed(refused: Refused) -> NotSignedIn {
    NotSignedIn::Failed(Box::new(refused))
}
