//! Users with tokens of the hub. The console has no credentials: the hub is called with the user's token alone.

use std::sync::Arc;

use berth_admin::answers::Hub;
use berth_hub::Identity;
use http::StatusCode;
use jiff::Timestamp;

use crate::answers::Way;
use crate::app::{App, Settings};
use crate::cookie::Cookie;
use crate::keep::{Kept, Refresh};
use crate::oidc::Provider;
use crate::respond::Refused;
use crate::server::{Server, Visitor};
use crate::sessions::Secret;

/// How users with tokens come in.
#[derive(Debug)]
pub(crate) struct Users {
    /// The hub, without credentials.
    hub: Hub,
    takes_tokens: bool,
    provider: Option<Provider>,
    settings: Settings,
    /// The cookie of a sign-in at the provider that has begun.
    pub(crate) login: Cookie,
}

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
    Failed(Refused),
}

// === impl Users ===

impl Users {
    pub(crate) fn new(
        hub: Hub,
        takes_tokens: bool,
        provider: Option<Provider>,
        settings: Settings,
        login: Cookie,
    ) -> Self {
        Self {
            hub,
            takes_tokens,
            provider,
            settings,
            login,
        }
    }

    pub(crate) fn provider(&self) -> Option<&Provider> {
        self.provider.as_ref()
    }

    pub(crate) fn takes_tokens(&self) -> bool {
        self.takes_tokens
    }

    /// Asks the hub whose token this is, and begins a session of that user. Returns the secret of its cookie.
    ///
    /// # Errors
    /// The hub does not accept the token, or does not answer.
    pub(crate) async fn sign_in(
        &self,
        server: &Arc<Server>,
        token: Token,
        before: Option<&str>,
    ) -> Result<Secret, NotSignedIn> {
        let identity = Identity::of_token(token.text.reveal());
        let identity = identity.map_err(|_| NotSignedIn::NotAccepted)?;
        let hub = self.hub.as_user(identity.clone());
        let app = App::new(hub, self.settings.clone(), server.tasks.child());
        // Bounded: nobody is signed in yet.
        let asked = {
            let _asking = server.asking.acquire().await;
            app.rights.user().await
        };
        let owner = match asked {
            Ok(Some((owner, _))) => owner,
            Ok(None) => {
                let why = "the hub does not say whose token this is: it needs Kubernetes 1.28";
                let code = StatusCode::BAD_GATEWAY;
                return Err(NotSignedIn::Failed(Refused::new(code, "NoUser", why)));
            }
            Err(failure) if failure.code == 401 => return Err(NotSignedIn::NotAccepted),
            Err(failure) => return Err(NotSignedIn::Failed(failure.into())),
        };
        let user = Visitor::new(app, token.way);
        // The hub has accepted the token. If it ended by the clock here, this clock is wrong.
        user.set_until(token.until.filter(|it| *it > Timestamp::now()));
        let begun = server.begin(before, user.clone(), &owner);
        let (session, cookie) = begun.map_err(|error| {
            let code = StatusCode::INTERNAL_SERVER_ERROR;
            NotSignedIn::Failed(Refused::new(code, "Failed", error.to_string()))
        })?;
        let refresh = token.refresh;
        server.keep(session, identity, Kept { user, refresh });
        Ok(cookie)
    }
}
