//! Objects of several kinds, as manifests contain them: applied, read and deleted by their kind and name.

use berth_api::ManagedCluster;
use berth_hub::{APPLY_PATCH, Call, METADATA, optional};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::params::{GetParams, PatchParams, PostParams};
use serde_json::Value;

use super::calls::{call, urls};
use super::{DryRun, HubConnection};
use crate::failure::CommandError;

/// The field manager of what is applied.
const MANAGER: &str = "berth";

/// The result of applying an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Configured,
    Unchanged,
}

// === impl Applied ===

impl Applied {
    /// Returns kubectl's word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Returns `kind/name`, as kubectl prints it.
pub(crate) fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]).to_lowercase();
    format!("{kind}/{}", text(&object["metadata"]["name"]))
}

// === impl HubConnection ===

impl HubConnection {
    /// Applies an object (server-side), and returns the result.
    ///
    /// # Errors
    /// Another field manager owns a field with another value, and `force` is false; or any other refusal.
    pub(crate) async fn apply(&self, object: &Value, force: bool) -> Result<Applied, CommandError> {
        let (urls, name) = place(object)?;
        let before = self.version(&urls, name).await?;
        let params = PatchParams {
            force,
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = kube::core::params::Patch::Apply(object);
        let request = urls.patch(name, &params, &patch);
        let path = call(request)?.path().to_owned();
        let applied = Call::patch(path, APPLY_PATCH, object.to_string());
        let applied = self.ask(applied).await?;
        let after = applied["metadata"]["resourceVersion"].as_str();
        Ok(match before {
            None => Applied::Created,
            Some(before) if after == Some(&before) => Applied::Unchanged,
            Some(_) => Applied::Configured,
        })
    }

    /// Creates an object, unless it exists. Returns false if it exists.
    pub(crate) async fn create_missing(
        &self,
        object: &Value,
        dry_run: DryRun,
    ) -> Result<bool, CommandError> {
        let (urls, name) = place(object)?;
        match self.version(&urls, name).await {
            Ok(None) => {}
            Ok(Some(_)) => return Ok(false),
            // A user who may create objects need not be able to read them.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure),
        }
        if dry_run != DryRun::None {
            return Ok(true);
        }
        let params = PostParams {
            dry_run: false,
            field_manager: Some(MANAGER.to_owned()),
        };
        let request = urls.create(&params, object.to_string().into_bytes());
        match self.ask(call(request)?).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_already_there() => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Returns true if this object exists.
    pub(crate) async fn exists(&self, object: &Value) -> Result<bool, CommandError> {
        let (urls, name) = place(object)?;
        Ok(self.version(&urls, name).await?.is_some())
    }

    /// Deletes an object. Returns false if it does not exist.
    pub(crate) async fn remove(&self, object: &Value) -> Result<bool, CommandError> {
        let (urls, name) = place(object)?;
        let path = call(urls.get(name, &GetParams::default()))?
            .path()
            .to_owned();
        let answer = self.call(Call::delete(path, "")).await;
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        Ok(answer.is_some())
    }

    /// Returns the resourceVersion of an object, or None if it does not exist.
    async fn version(
        &self,
        urls: &kube::core::Request,
        name: &str,
    ) -> Result<Option<String>, CommandError> {
        let read = call(urls.get(name, &GetParams::default()))?.accept(METADATA);
        let answer = optional(self.call(read).await).map_err(|error| self.failure(&error))?;
        let Some(answer) = answer else {
            return Ok(None);
        };
        let metadata = self.read(&answer)?;
        let version = metadata["metadata"]["resourceVersion"].as_str();
        Ok(Some(version.unwrap_or_default().to_owned()))
    }
}

/// Returns the collection of an object, and its name.
fn place(object: &Value) -> Result<(kube::core::Request, &str), CommandError> {
    let namespace = object["metadata"]["namespace"].as_str();
    let kind = object["kind"].as_str().unwrap_or_default();
    let urls = match kind {
        "Namespace" => urls::<Namespace>(None),
        "ServiceAccount" => urls::<ServiceAccount>(namespace),
        "Secret" => urls::<Secret>(namespace),
        "Lease" => urls::<Lease>(namespace),
        "Deployment" => urls::<Deployment>(namespace),
        "Role" => urls::<Role>(namespace),
        "RoleBinding" => urls::<RoleBinding>(namespace),
        "ClusterRole" => urls::<ClusterRole>(None),
        "ClusterRoleBinding" => urls::<ClusterRoleBinding>(None),
        "CustomResourceDefinition" => urls::<CustomResourceDefinition>(None),
        "ManagedCluster" => urls::<ManagedCluster>(None),
        kind => {
            return Err(CommandError::Config(format!(
                "objects of kind {kind:?} are not among the manifests of Berth"
            )));
        }
    };
    match object["metadata"]["name"].as_str() {
        Some(name) if !name.is_empty() => Ok((urls, name)),
        _ => Err(CommandError::Config(format!(
            "an object of kind {kind} has no name"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use berth_manifests::{Manifest, files};
    use serde_json::json;

    use super::*;

    #[test]
    fn every_object_of_the_agent_and_of_bootstrap_tokens_has_a_place() {
        let files = files::BOOTSTRAP.iter().chain(&files::AGENT_PARTS);
        for object in files.flat_map(Manifest::documents) {
            let (_, name) = place(&object).unwrap();
            assert!(title(&object).ends_with(&format!("/{name}")), "{object}");
        }
    }

    #[test]
    fn an_object_of_another_kind_or_without_a_name_has_none() {
        for (object, words) in [
            (
                json!({"kind": "Pod", "metadata": {"name": "p"}}),
                "kind \"Pod\"",
            ),
            (json!({"kind": "Secret", "metadata": {}}), "no name"),
        ] {
            let failure = place(&object).err().unwrap().to_string();
            assert!(failure.contains(words), "{failure}");
        }
    }
}
