//! Questions to the hub about the callers of our own ports: whose token it is, and what the user may do.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_hub::{Call, CallError, HubApi};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Byte bound of tokens; longer ones are refused. Tokens of service accounts have about a kilobyte.
pub(crate) const LONGEST_TOKEN: usize = 8 * 1024;

/// Timeout of a request to the hub.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

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
    api.call(Call::post(path, body).within(LONGEST))
        .await?
        .json()
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
    use super::*;

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
