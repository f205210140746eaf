//! How users come in: the one user of a kubeconfig by a code, or many users, each with the hub's own means.

mod proxy;
mod users;

use std::sync::Arc;

use crate::answers::{SignInAnswer, Text, Way};
use crate::app::App;
use crate::oidc::Provider;

pub(crate) use proxy::{Headers, Proxy};
pub(crate) use users::Users;

/// How users come in.
#[derive(Debug)]
pub(crate) enum Entry {
    /// One user, by the code that the terminal prints.
    Code(Arc<App>),
    /// Each user with a token of the hub, pasted or of a provider.
    Users(Box<Users>),
    /// Each user by the name that an authenticating proxy gives.
    Proxy(Proxy),
}

// === impl Entry ===

impl Entry {
    /// The ways to sign in.
    pub(crate) fn answer(&self) -> SignInAnswer {
        let mut answer = SignInAnswer {
            ways: Vec::new(),
            issuer: None,
        };
        match self {
            Self::Code(_) => answer.ways.push(Way::Code),
            Self::Proxy(_) => answer.ways.push(Way::Proxy),
            Self::Users(users) => {
                if let Some(provider) = users.provider() {
                    answer.ways.push(Way::Oidc);
                    answer.issuer = Some(Text::line(&provider.client.issuer));
                }
                if users.takes_tokens() {
                    answer.ways.push(Way::Token);
                }
            }
        }
        answer
    }

    /// What a user without a session should do.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Code(_) => {
                "press Enter in the terminal of berth console, and open the address that it prints"
            }
            Self::Users(_) => "open the console in a browser, and sign in",
            Self::Proxy(_) => "open the console by the address of its authenticating proxy",
        }
    }

    /// The OpenID provider, and whom it signs in.
    pub(crate) fn provider(&self) -> Option<(&Users, &Provider)> {
        match self {
            Self::Users(users) => Some((users, users.provider()?)),
            Self::Code(_) | Self::Proxy(_) => None,
        }
    }
}
