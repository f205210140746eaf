//! Users with tokens of the hub. The console has no credentials: the hub is called with the user's token alone.

use std::sync::Arc;

use berth_admin::answers::Hub;
use berth_hub::{BadCredentials, Identity};

use crate::app::{App, Settings};
use crate::cookie::Cookie;
use crate::live::Tasks;
use crate::oidc::Provider;
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

    /// The user of a token, whom the hub has not seen yet.
    ///
    /// # Errors
    /// No header can have the token.
    pub(crate) fn user_of(
        &self,
        token: &Secret,
        tasks: Tasks,
    ) -> Result<(Arc<App>, Identity), BadCredentials> {
        let identity = Identity::of_token(token.reveal())?;
        let hub = self.hub.as_user(identity.clone());
        Ok((App::new(hub, self.settings.clone(), tasks), identity))
    }
}
