//! Objects of several kinds, as manifests contain them: applied, read and deleted by their kind and name.

use std::time::Duration;

use berth_api::path::object_path;
use berth_hub::{APPLY_PATCH, Answer, Call, CallError, METADATA, optional};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{DryRun, HubConnection};
use crate::failure::CommandError;

/// How long an API server may take to serve what a CustomResourceDefinition defines, and the pause between two attempts.
const SERVED_WITHIN: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(200);

/// The field manager of what is applied.
pub(crate) const MANAGER: &str = "berth";

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
        let before = self.version(object).await?;
        let applied = self.ask(applying(object, force, DryRun::None)?).await?;
        let after = applied["metadata"]["resourceVersion"].as_str();
        Ok(match before {
            None => Applied::Created,
            Some(before) if after == Some(&before) => Applied::Unchanged,
            Some(_) => Applied::Configured,
        })
    }

    /// As [`Self::apply`], of an object whose CustomResourceDefinition may have been created a moment ago.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(crate) async fn apply_once_served(
        &self,
        object: &Value,
        force: bool,
    ) -> Result<Applied, CommandError> {
        let deadline = Instant::now() + SERVED_WITHIN;
        loop {
            match self.apply(object, force).await {
                Err(CommandError::NoHub { .. }) if Instant::now() < deadline => {
                    tokio::time::sleep(PERIOD).await;
                }
                applied => return applied,
            }
        }
    }

    /// Returns the object as it would be stored if it was applied. Nothing is written.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(crate) async fn apply_as_trial(
        &self,
        object: &Value,
        force: bool,
    ) -> Result<Value, CommandError> {
        self.ask(applying(object, force, DryRun::Server)?).await
    }

    /// Returns what applying an object would do, or None if its namespace does not exist, so that the API server cannot check it yet.
    /// Nothing is written.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(crate) async fn try_to_apply(
        &self,
        object: &Value,
        force: bool,
    ) -> Result<Option<Applied>, CommandError> {
        let before = self.stored(object).await?.map(content);
        let tried = match self.apply_as_trial(object, force).await {
            Ok(tried) => tried,
            Err(failure) if self.lacks_its_namespace(object, &failure).await? => return Ok(None),
            Err(failure) => return Err(failure),
        };
        Ok(Some(match before {
            None => Applied::Created,
            Some(before) if before == content(tried) => Applied::Unchanged,
            Some(_) => Applied::Configured,
        }))
    }

    /// Returns true if a write of this object failed only because its namespace does not exist.
    ///
    /// # Errors
    /// The namespace cannot be read.
    pub(crate) async fn lacks_its_namespace(
        &self,
        object: &Value,
        failure: &CommandError,
    ) -> Result<bool, CommandError> {
        let namespace = &object["metadata"]["namespace"];
        if !matches!(failure, CommandError::NotFound { .. }) || !namespace.is_string() {
            return Ok(false);
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        Ok(!self.exists(&namespace).await?)
    }

    /// Creates an object, unless it exists. Returns false if it exists.
    pub(crate) async fn create_missing(
        &self,
        object: &Value,
        dry_run: DryRun,
    ) -> Result<bool, CommandError> {
        match self.version(object).await {
            Ok(None) => {}
            Ok(Some(_)) => return Ok(false),
            // A user who may create objects need not be able to read them.
            Err(failure) if failure.is_forbidden() => {}
            Err(failure) => return Err(failure),
        }
        let mut path = format!("{}?fieldManager={MANAGER}", Place::of(object)?.collection());
        match dry_run {
            DryRun::None => {}
            DryRun::Client => return Ok(true),
            DryRun::Server => path.push_str("&dryRun=All"),
        }
        match self.ask(Call::post(path, object.to_string())).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.is_already_there() => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Returns this object as it is stored, or None if it does not exist.
    pub(crate) async fn stored(&self, object: &Value) -> Result<Option<Value>, CommandError> {
        let answer = self.call(Call::get(Place::of(object)?.path())).await;
        self.there(answer)
    }

    /// Returns true if this object exists.
    pub(crate) async fn exists(&self, object: &Value) -> Result<bool, CommandError> {
        Ok(self.version(object).await?.is_some())
    }

    /// As [`exists`](Self::exists): of a kind that the API server does not serve there is none.
    pub(crate) async fn is_there(&self, object: &Value) -> Result<bool, CommandError> {
        match self.exists(object).await {
            Err(CommandError::NoHub { .. }) => Ok(false),
            exists => exists,
        }
    }

    /// Deletes an object. Returns false if it does not exist. With [`DryRun::Client`] the object is only read.
    pub(crate) async fn remove(
        &self,
        object: &Value,
        dry_run: DryRun,
    ) -> Result<bool, CommandError> {
        if dry_run == DryRun::Client {
            return self.exists(object).await;
        }
        self.remove_at(Place::of(object)?.path(), None, dry_run)
            .await
    }

    /// Deletes the object at a path, if its uid is the given one. Returns false if it does not exist. With [`DryRun::Client`] nothing is
    /// sent.
    pub(crate) async fn remove_at(
        &self,
        path: String,
        uid: Option<&str>,
        dry_run: DryRun,
    ) -> Result<bool, CommandError> {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        match dry_run {
            DryRun::None => {}
            DryRun::Client => return Ok(true),
            DryRun::Server => options["dryRun"] = json!(["All"]),
        }
        if let Some(uid) = uid {
            options["preconditions"] = json!({"uid": uid});
        }
        let answer = self.call(Call::delete(path, options.to_string())).await;
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        Ok(answer.is_some())
    }

    /// Returns the resourceVersion of an object, or None if it does not exist.
    async fn version(&self, object: &Value) -> Result<Option<String>, CommandError> {
        let read = Call::get(Place::of(object)?.path()).accept(METADATA);
        let metadata = self.there(self.call(read).await)?;
        Ok(metadata.map(|it| {
            let version = it["metadata"]["resourceVersion"].as_str();
            version.unwrap_or_default().to_owned()
        }))
    }

    fn there(&self, answer: Result<Answer, CallError>) -> Result<Option<Value>, CommandError> {
        let answer = optional(answer).map_err(|error| self.failure(&error))?;
        answer.map(|answer| self.read(&answer)).transpose()
    }
}

/// Returns an object without what the API server keeps by itself.
fn content(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for kept in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(kept);
        }
    }
    object
}

/// The words for an object that a server dry run cannot check.
pub(crate) fn unchecked(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    format!(
        "{} not checked: namespace {namespace} does not exist yet",
        title(object)
    )
}

fn applying(object: &Value, force: bool, dry_run: DryRun) -> Result<Call, CommandError> {
    let mut path = Place::of(object)?.path();
    path.push_str("?fieldManager=");
    path.push_str(MANAGER);
    if force {
        path.push_str("&force=true");
    }
    if dry_run == DryRun::Server {
        path.push_str("&dryRun=All");
    }
    Ok(Call::patch(path, APPLY_PATCH, object.to_string()))
}

/// Where an object is stored.
pub(crate) struct Place<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    /// Such as `deployments`.
    pub(crate) resource: &'static str,
    /// Empty for an object without one.
    pub(crate) namespace: &'a str,
    name: &'a str,
}

// === impl Place ===

impl<'a> Place<'a> {
    /// # Errors
    /// The object is of a kind that Berth's manifests do not have, or has no name.
    pub(crate) fn of(object: &'a Value) -> Result<Self, CommandError> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let Some((_, resource)) = RESOURCES.iter().find(|(known, _)| *known == kind) else {
            return Err(CommandError::Config(format!(
                "objects of kind {kind:?} are not among the manifests of Berth"
            )));
        };
        let api = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        match object["metadata"]["name"].as_str() {
            Some(name) if !name.is_empty() => Ok(Self {
                group,
                version,
                resource,
                namespace: object["metadata"]["namespace"].as_str().unwrap_or_default(),
                name,
            }),
            _ => Err(CommandError::Config(format!(
                "an object of kind {kind} has no name"
            ))),
        }
    }

    fn path(&self) -> String {
        let kind = (self.group, self.version, self.resource);
        object_path(kind, self.namespace, self.name)
    }

    fn collection(&self) -> String {
        let kind = (self.group, self.version, self.resource);
        object_path(kind, self.namespace, "")
    }
}

/// The kinds of Berth's manifests, and their resources; and configs of add-ons.
const RESOURCES: [(&str, &str); 26] = [
    ("ClusterManager", "clustermanagers"),
    ("Klusterlet", "klusterlets"),
    ("Namespace", "namespaces"),
    ("ServiceAccount", "serviceaccounts"),
    ("ConfigMap", "configmaps"),
    ("Secret", "secrets"),
    ("Service", "services"),
    ("Lease", "leases"),
    ("Deployment", "deployments"),
    ("PodDisruptionBudget", "poddisruptionbudgets"),
    ("NetworkPolicy", "networkpolicies"),
    ("Issuer", "issuers"),
    ("Certificate", "certificates"),
    ("Role", "roles"),
    ("RoleBinding", "rolebindings"),
    ("ClusterRole", "clusterroles"),
    ("ClusterRoleBinding", "clusterrolebindings"),
    ("CustomResourceDefinition", "customresourcedefinitions"),
    ("ManagedCluster", "managedclusters"),
    ("AddOnDeploymentConfig", "addondeploymentconfigs"),
    (
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    ),
    (
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    ),
    ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    (
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    ),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    (
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
];

#[cfg(test)]
mod tests {
    use berth_manifests::{Hub, Manifest, Mode, files};

    use super::*;

    #[test]
    fn every_object_of_hub_agent_and_bootstrap_tokens_has_a_place() {
        let files = files::BOOTSTRAP.iter().chain(&files::AGENT_PARTS);
        let mut objects: Vec<Value> = files.flat_map(Manifest::documents).collect();
        for mode in Mode::ALL {
            objects.extend(Hub::of(mode, "berth").objects().cloned());
        }
        let values = json!({
            "networkPolicies": {"enabled": true}, "autoApproval": {"users": ["a"]},
            "clusterProfiles": {"enabled": true, "placementDecisions": true},
            "certificates": {"source": "cert-manager"},
        });
        let values = serde_json::from_value(values).unwrap();
        objects.extend(Hub::with(&values, "berth").objects().cloned());
        for object in &objects {
            let place = Place::of(object).unwrap();
            assert!(!place.version.is_empty(), "{object}");
            assert!(
                place.path().ends_with(&format!("/{}", place.name)),
                "{object}"
            );
        }
    }

    #[test]
    fn an_object_is_at_its_path() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"},
        });
        let place = Place::of(&deployment).unwrap();
        assert_eq!(place.path(), "/apis/apps/v1/namespaces/n/deployments/d");
        assert_eq!(place.collection(), "/apis/apps/v1/namespaces/n/deployments");
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a:b"},
        });
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b";
        assert_eq!(Place::of(&role).unwrap().path(), path);
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
            let failure = Place::of(&object).err().unwrap().to_string();
            assert!(failure.contains(words), "{failure}");
        }
    }
}
