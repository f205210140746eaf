//! Questions to the hub about the callers of our own ports: whose token it is, and what the user may do.

use berth_api::path::SUBJECT_ACCESS_REVIEWS;
use berth_hub::{Call, CallError, HubApi, LargeResponses};
use berth_serve::door::{Access, Authority, Caller, LONGEST, ResourceAccess};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Callers choose their groups and tokens, which the hub repeats in its response.
static TURNS: LargeResponses = LargeResponses::new();

/// The API server that knows the callers of our ports.
#[derive(Clone)]
pub(crate) struct Reviews(pub(crate) HubApi);

impl Authority for Reviews {
    type Error = CallError;

    async fn user_of(&self, token: &str) -> Result<Option<Caller>, CallError> {
        let asked = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let status = review(&self.0, path, &asked).await?.status;
        let status = status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        Ok(user.map(|user| Caller {
            name: user.username.unwrap_or_default(),
            uid: user.uid,
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default().into_iter().collect(),
        }))
    }

    async fn is_allowed(&self, caller: &Caller, access: &Access) -> Result<bool, CallError> {
        let (path, resource) = match access {
            Access::Path { verb, path } => {
                let path = NonResourceAttributes {
                    path: Some(path.clone()),
                    verb: Some(verb.clone()),
                };
                (Some(path), None)
            }
            Access::Resource(access) => (None, Some(attributes(access))),
        };
        let asked = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: given(&caller.name),
                uid: caller.uid.clone(),
                groups: Some(caller.groups.clone()),
                extra: Some(caller.extra.clone()),
                non_resource_attributes: path,
                resource_attributes: resource,
            },
            ..SubjectAccessReview::default()
        };
        let status = review(&self.0, SUBJECT_ACCESS_REVIEWS, &asked)
            .await?
            .status;
        Ok(status.is_some_and(|status| status.allowed))
    }
}

fn attributes(access: &ResourceAccess) -> ResourceAttributes {
    ResourceAttributes {
        group: given(&access.group),
        version: given(&access.version),
        resource: given(&access.resource),
        namespace: given(&access.namespace),
        name: given(&access.name),
        verb: given(&access.verb),
        ..ResourceAttributes::default()
    }
}

fn given(field: &str) -> Option<String> {
    (!field.is_empty()).then(|| field.to_owned())
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
    use k8s_openapi::api::authentication::v1::{TokenReviewStatus, UserInfo};

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
        let reviews = Reviews(HubApi::new(hub));
        let users = join_all((0..CALLERS).map(|_| reviews.user_of("token"))).await;
        assert!(users.iter().all(|it| matches!(it, Ok(Some(_)))));
        let most = held.most.load(Ordering::Relaxed);
        let bound = CALLERS * (USUAL_RESPONSE + CHUNK) + LARGE_AT_ONCE * length;
        assert!(most <= bound, "{most} of {bound}");
    }
}
