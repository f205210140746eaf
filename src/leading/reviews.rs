//! Questions to the hub about the callers of our own ports: whose token it is, and what the user may do.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_hub::{Call, CallError, HubApi, LargeResponses};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Byte bound of tokens; longer ones are refused. Tokens of service accounts have about a kilobyte.
pub(crate) const LONGEST_TOKEN: usize = 8 * 1024;

/// Timeout of a request to the hub.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// Callers choose their groups and tokens, which the hub repeats in its response.
static TURNS: LargeResponses = LargeResponses::new();

/// What a user wants to do.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// Request a path that is no resource.
    Path(NonResourceAttributes),
    /// Work with a resource.
    Resource(Box<ResourceAttributes>),
}

/// Returns the user of a token, or None if the hub does not authenticate it.
pub(crate) async fn user_of(api: &HubApi, token: &str) -> Result<Option<UserInfo>, CallError> {
    let asked = TokenReview {
        spec: TokenReviewSpec {
            token: Some(token.to_owned()),
            ..TokenReviewSpec::default()
        },
        ..TokenReview::default()
    };
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let status = review(api, path, &asked).await?.status;
    let status = status.unwrap_or_default();
    Ok(status.user.filter(|_| status.authenticated == Some(true)))
}

/// Returns whether the user has the permission.
pub(crate) async fn is_allowed(
    api: &HubApi,
    user: &UserInfo,
    access: Access,
) -> Result<bool, CallError> {
    let (path, resource) = match access {
        Access::Path(path) => (Some(path), None),
        Access::Resource(resource) => (None, Some(*resource)),
    };
    let extra = user.extra.clone();
    let asked = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: extra.map(|extra| extra.into_iter().collect::<BTreeMap<_, _>>()),
            non_resource_attributes: path,
            resource_attributes: resource,
        },
        ..SubjectAccessReview::default()
    };
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let status = review(api, path, &asked).await?.status;
    Ok(status.is_some_and(|status| status.allowed))
}

/// Creates a review, and returns it with its status.
async fn review<T: Serialize + DeserializeOwned>(
    api: &HubApi,
    path: &'static str,
    review: &T,
) -> Result<T, CallError> {
    let body = serde_json::to_vec(review).expect("a review is JSON");
    let call = Call::post(path, body).within(LONGEST);
    let mut bound = TURNS.bound();
    loop {
        match api.call(call.clone().at_most(bound.bytes())).await {
            Err(error) if timeout(LONGEST, bound.grows(&error)).await == Ok(true) => {}
            response => return response?.json(),
        }
    }
}

/// The token that these headers bear.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_one =
        scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST_TOKEN;
    is_one.then_some(token)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::body::{Body, Bytes};
    use berth_hub::{LARGE_AT_ONCE, USUAL_RESPONSE};
    use futures::future::join_all;
    use futures::stream::unfold;
    use k8s_openapi::api::authentication::v1::TokenReviewStatus;

    use super::*;

    /// Bytes of responses that are being read, now and at most.
    #[derive(Default)]
    struct Held {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    /// What was read of a response. It is dropped with the response.
    struct Reading {
        of: Arc<Held>,
        bytes: usize,
    }

    impl Reading {
        fn reads(&mut self, bytes: usize) {
            self.bytes += bytes;
            let now = self.of.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
            self.of.most.fetch_max(now, Ordering::Relaxed);
        }
    }

    impl Drop for Reading {
        fn drop(&mut self) {
            self.of.now.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn large_responses_are_read_a_few_at_a_time() {
        const CALLERS: usize = 20;
        const CHUNK: usize = 16 << 10;
        let review = TokenReview {
            status: Some(TokenReviewStatus {
                authenticated: Some(true),
                user: Some(UserInfo {
                    groups: Some(vec!["x".repeat(1 << 20)]),
                    ..UserInfo::default()
                }),
                ..TokenReviewStatus::default()
            }),
            ..TokenReview::default()
        };
        let body = Bytes::from(serde_json::to_vec(&review).unwrap());
        let (held, length) = (Arc::new(Held::default()), body.len());
        let of_hub = Arc::clone(&held);
        let hub = Router::new().fallback(async move || {
            let reading = Reading {
                of: of_hub,
                bytes: 0,
            };
            let chunks = unfold(
                (body, reading),
                async |(mut rest, mut reading): (Bytes, Reading)| {
                    if rest.is_empty() {
                        return None;
                    }
                    // All other callers have their turn.
                    tokio::task::yield_now().await;
                    let chunk = rest.split_to(CHUNK.min(rest.len()));
                    reading.reads(chunk.len());
                    Some((Ok::<_, Infallible>(chunk), (rest, reading)))
                },
            );
            Body::from_stream(chunks)
        });
        let api = HubApi::new(hub);
        let users = join_all((0..CALLERS).map(|_| user_of(&api, "token"))).await;
        assert!(users.iter().all(|it| matches!(it, Ok(Some(_)))));
        let most = held.most.load(Ordering::Relaxed);
        let bound = CALLERS * (USUAL_RESPONSE + CHUNK) + LARGE_AT_ONCE * length;
        assert!(most <= bound, "{most} of {bound}");
    }

    #[test]
    fn a_token_is_what_follows_the_word_bearer() {
        let long = format!("Bearer {}", "x".repeat(LONGEST_TOKEN + 1));
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("abc", None),
            (&long, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            assert_eq!(bearer(&headers), expected, "{header:.20}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
