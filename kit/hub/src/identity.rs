//! [`Identity`]: a user whose credentials are sent with each call, over connections that several users share.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::watch;

use crate::access::ActAs;

const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");
const IMPERSONATE_GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const IMPERSONATE_UID: HeaderName = HeaderName::from_static("impersonate-uid");

/// A user of an API server. Clones are the same user, and see the token of [`Identity::renew`].
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

/// The headers that an API server authenticates by.
pub(crate) struct Credentials(Vec<(HeaderName, HeaderValue)>);

struct Inner {
    credentials: ArcSwap<Credentials>,
    /// True after the API server responded with 401 to the present credentials.
    refused: watch::Sender<bool>,
}

/// A token, or a name, has characters that no header can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is empty, or has a line end, a space around it, or another character that no HTTP header can have"
)]
pub struct BadCredentials;

// === impl Identity ===

impl Identity {
    /// The user of a bearer token.
    ///
    /// # Errors
    /// The token is empty, or no header can have it.
    pub fn of_token(token: &str) -> Result<Self, BadCredentials> {
        Ok(Self::with(Credentials::of_token(token)?))
    }

    /// The user whom the user of the connections impersonates:
    /// <https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>.
    ///
    /// # Errors
    /// The name is empty, or no header can have it, or the name of a group.
    pub fn impersonated(user: &ActAs) -> Result<Self, BadCredentials> {
        let mut headers = vec![(IMPERSONATE_USER, name(&user.user)?)];
        for group in &user.groups {
            headers.push((IMPERSONATE_GROUP, name(group)?));
        }
        if let Some(uid) = &user.uid {
            headers.push((IMPERSONATE_UID, name(uid)?));
        }
        Ok(Self::with(Credentials(headers)))
    }

    fn with(credentials: Credentials) -> Self {
        Self(Arc::new(Inner {
            credentials: ArcSwap::from_pointee(credentials),
            refused: watch::Sender::new(false),
        }))
    }

    /// From now on this is the user's token. Watches under way go on with the one before: an API server authenticates their beginning.
    ///
    /// # Errors
    /// The token is empty, or no header can have it. Then the one before stays.
    pub fn renew(&self, token: &str) -> Result<(), BadCredentials> {
        let credentials = Credentials::of_token(token)?;
        self.0.credentials.store(Arc::new(credentials));
        self.0.refused.send_replace(false);
        Ok(())
    }

    /// Waits until the API server responds with 401 to a call with the present credentials.
    pub async fn refused(&self) {
        let mut refused = self.0.refused.subscribe();
        // The sender lives as long as this.
        let _ = refused.wait_for(|refused| *refused).await;
    }

    pub(crate) fn now(&self) -> Arc<Credentials> {
        self.0.credentials.load_full()
    }

    /// Notes a 401. A token that was replaced while the call was under way says nothing about the present one.
    pub(crate) fn not_accepted(&self, used: &Arc<Credentials>) {
        if Arc::ptr_eq(used, &self.0.credentials.load()) {
            self.0.refused.send_replace(true);
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

// === impl Credentials ===

impl Credentials {
    fn of_token(token: &str) -> Result<Self, BadCredentials> {
        if token.is_empty() {
            return Err(BadCredentials);
        }
        let header = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut header = header.map_err(|_| BadCredentials)?;
        header.set_sensitive(true);
        Ok(Self(vec![(AUTHORIZATION, header)]))
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.0 {
            headers.append(name.clone(), value.clone());
        }
    }
}

/// The value of a header whose receiver reads exactly this text: it would trim spaces.
fn name(text: &str) -> Result<HeaderValue, BadCredentials> {
    if text.is_empty() || text.trim_matches([' ', '\t']) != text {
        return Err(BadCredentials);
    }
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| BadCredentials)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;
    use futures::FutureExt;
    use http::{Request, Response};
    use http_body_util::Full;
    use tower::{BoxError, service_fn};

    use super::*;
    use crate::{Call, HubApi, RequestBody};

    /// Accepts one token, and remembers the headers of the last request.
    fn server(token: &'static str, seen: Arc<Mutex<HeaderMap>>) -> HubApi {
        HubApi::new(service_fn(move |request: Request<RequestBody>| {
            let is_right =
                request.headers().get(AUTHORIZATION) == Some(&HeaderValue::from_static(token));
            *seen.lock().unwrap() = request.headers().clone();
            async move {
                Response::builder()
                    .status(if is_right { 200 } else { 401 })
                    .body(Full::new(Bytes::new()))
                    .map_err(BoxError::from)
            }
        }))
    }

    #[tokio::test]
    async fn a_call_is_of_the_user_and_a_refusal_is_seen_until_the_token_is_renewed() {
        let seen = Arc::new(Mutex::default());
        let api = server("Bearer new", Arc::clone(&seen));
        let identity = Identity::of_token("old").unwrap();
        let user = api.as_user(identity.clone());
        assert!(identity.refused().now_or_never().is_none());
        assert!(user.call(Call::get("/version")).await.is_err());
        assert!(identity.refused().now_or_never().is_some());

        assert_eq!(identity.renew("a\nb"), Err(BadCredentials));
        identity.renew("new").unwrap();
        assert!(identity.refused().now_or_never().is_none());
        user.call(Call::get("/version")).await.unwrap();
        assert!(seen.lock().unwrap()[AUTHORIZATION].is_sensitive());

        // A late refusal of the token before.
        let other = Identity::of_token("other").unwrap();
        let used = other.now();
        other.renew("new").unwrap();
        other.not_accepted(&used);
        assert!(other.refused().now_or_never().is_none());
        // The connections stay those of nobody.
        assert!(api.call(Call::get("/version")).await.is_err());
        assert!(!seen.lock().unwrap().contains_key(AUTHORIZATION));
    }

    #[tokio::test]
    async fn an_impersonated_user_has_its_groups_and_no_others() {
        let seen = Arc::new(Mutex::default());
        let api = server("none", Arc::clone(&seen));
        let user = ActAs {
            user: "ada".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            uid: Some("1".to_owned()),
        };
        let api = api.as_user(Identity::impersonated(&user).unwrap());
        assert!(api.call(Call::get("/version")).await.is_err());
        let headers = seen.lock().unwrap().clone();
        let groups: Vec<_> = headers.get_all(IMPERSONATE_GROUP).iter().collect();
        assert_eq!(headers[IMPERSONATE_USER], "ada");
        assert_eq!(groups, ["a", "b"]);
        assert_eq!(headers[IMPERSONATE_UID], "1");
        for bad in ["", " a", "a\r\nimpersonate-group: system:masters"] {
            let user = ActAs {
                user: "ada".to_owned(),
                groups: vec![bad.to_owned()],
                uid: None,
            };
            assert!(Identity::impersonated(&user).is_err(), "{bad:?}");
        }
        for bad in ["", "a\nb"] {
            assert!(Identity::of_token(bad).is_err(), "{bad:?}");
        }
    }
}
