//! Requests that find out about the hub itself.

use berth_api::groups;
use berth_hub::{Call, object_path, version_path};
use http::HeaderMap;
use http::header::DATE;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::core::response::Status;
use serde_json::{Value, json};

use super::calls::{call, writes};
use super::{DryRun, HubConnection};
use crate::failure::{CommandError, status};

/// The result of a write that was tried as a dry run.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// The object as it would be stored, or the refusal of the API server or of a webhook.
    pub(crate) outcome: Result<Value, Box<Status>>,
}

/// The time at which the hub answered, by its clock and by ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// The Date header of the response, in whole seconds.
    pub(crate) its_time: Option<Timestamp>,
    /// Our time before the request and after the response.
    pub(crate) ours: (Timestamp, Timestamp),
    /// The version of Kubernetes, major and minor, if the user may read it.
    pub(crate) version: Option<(u32, u32)>,
}

impl HubConnection {
    /// Creates an object of this resource, group and version as a server-side dry run.
    pub(crate) async fn try_to_create(
        &self,
        (resource, group): (&str, &str),
        version: &str,
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<Tried, CommandError> {
        let kind = (group, version, resource);
        let urls = kube::core::Request::new(object_path(kind, namespace.unwrap_or_default(), ""));
        let body = object.to_string().into_bytes();
        let request = urls.create(&writes(DryRun::Server), body);
        let answer = self.api.call(call(request)?.within(self.wait)).await;
        let outcome = match answer {
            Ok(answer) => Ok(self.read(&answer)?),
            Err(error) => match error.refusal() {
                Some(refusal) => Err(Box::new(status(refusal))),
                None => return Err(self.failure(&error)),
            },
        };
        Ok(Tried { outcome })
    }

    /// Checks that the API server serves ManagedClusters.
    ///
    /// # Errors
    /// It does not, or does not answer.
    pub(crate) async fn check_is_a_hub(&self) -> Result<(), CommandError> {
        let no_hub = || CommandError::NoHub {
            resource: format!("{}.{}", groups::MANAGED_CLUSTERS, groups::CLUSTER),
            api: format!("{}/v1", groups::CLUSTER),
        };
        let served = self.served(groups::CLUSTER, "v1").await?;
        if served.iter().any(|it| it == groups::MANAGED_CLUSTERS) {
            Ok(())
        } else {
            Err(no_hub())
        }
    }

    /// Asks whether the user may do what these `resourceAttributes` say, and returns the status of the SelfSubjectAccessReview.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(crate) async fn review_self(&self, attributes: &Value) -> Result<Value, CommandError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let answer = self.create::<SelfSubjectAccessReview>(None, &review, DryRun::None);
        Ok(answer.await?["status"].take())
    }

    /// Returns the resources that the API server serves in a group and version. The list is empty if the API server does not serve it.
    ///
    /// # Errors
    /// The hub does not answer.
    pub(crate) async fn served(
        &self,
        group: &str,
        version: &str,
    ) -> Result<Vec<String>, CommandError> {
        let api = match self.ask(Call::get(version_path(group, version))).await {
            Err(failure) if failure.code() == Some(404) => return Ok(Vec::new()),
            api => api?,
        };
        let resources = api["resources"].as_array().into_iter().flatten();
        let names = resources.filter_map(|resource| resource["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Reads the hub's version and clock.
    ///
    /// # Errors
    /// The hub does not answer, does not know the user (401), or has an internal error.
    pub(crate) async fn answers(&self) -> Result<Answered, CommandError> {
        let before = Timestamp::now();
        let answer = self.api.call(Call::get("/version").within(self.wait)).await;
        let after = Timestamp::now();
        let (headers, version) = match answer {
            Ok(answer) => {
                let version = self.read(&answer).ok().and_then(|it| version(&it));
                (answer.headers, version)
            }
            // The hub answers, even if this user may not read its version.
            Err(error) if matches!(error.code(), 400 | 402..500) => (HeaderMap::new(), None),
            Err(error) => return Err(self.failure(&error)),
        };
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        Ok(Answered {
            its_time: date
                .and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok()),
            ours: (before, after),
            version,
        })
    }
}

/// Reads the response to `/version`. Some providers write a minor version as `36+`.
fn version(answer: &Value) -> Option<(u32, u32)> {
    let number = |field: &str| {
        let text = answer[field].as_str()?.trim_end_matches('+');
        text.parse().ok()
    };
    Some((number("major")?, number("minor")?))
}
