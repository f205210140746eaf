//! The objects of the agent: `manifests/agent`, with the cluster's name, its image and its flags, and the Secret with the bootstrap
//! kubeconfig.

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_manifests::values::AgentValues;
use serde_json::{Value, json};

use crate::failure::CommandError;

/// The agent's namespace.
pub(crate) const NAMESPACE: &str = "open-cluster-management-agent";
/// The agent's Deployment.
pub(crate) const DEPLOYMENT: &str = "berth-agent";
/// The Secret with the bootstrap kubeconfig.
pub(crate) const BOOTSTRAP_SECRET: &str = "bootstrap-hub-kubeconfig";
/// The Secret in which the agent keeps its credentials.
pub(crate) const HUB_SECRET: &str = "hub-kubeconfig-secret";
/// The key of [`HUB_SECRET`] with the cluster's name.
pub(crate) const CLUSTER_NAME_KEY: &str = "cluster-name";

/// What is set in the manifests.
#[derive(Debug)]
pub(super) struct Agent<'a> {
    pub(super) cluster: &'a str,
    pub(super) image: String,
    /// The bootstrap kubeconfig.
    pub(super) kubeconfig: &'a Value,
    /// More flags of the agent.
    pub(super) flags: Vec<String>,
}

// === impl Agent ===

impl Agent<'_> {
    /// Returns the objects, in the order in which they are applied.
    ///
    /// # Errors
    /// The kubeconfig cannot be written as YAML.
    pub(super) fn objects(&self) -> Result<Vec<Value>, CommandError> {
        let rendered = berth_manifests::Agent::with(&self.values(), &self.image);
        let berth_manifests::Agent {
            definitions,
            foundation,
            workloads,
        } = rendered;
        Ok([definitions, foundation, vec![self.secret()?], workloads].concat())
    }

    fn values(&self) -> AgentValues {
        let mut values = AgentValues {
            cluster_name: self.cluster.to_owned(),
            ..AgentValues::default()
        };
        values.agent.extra_args = self.flags.clone();
        values
    }

    pub(super) fn secret(&self) -> Result<Value, CommandError> {
        let text = kubeconfig_text(self.kubeconfig)?;
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": BOOTSTRAP_SECRET, "namespace": NAMESPACE},
            "type": "Opaque",
            "data": {"kubeconfig": BASE64_STANDARD.encode(text)},
        }))
    }
}

/// Returns the bootstrap kubeconfig as its Secret contains it.
///
/// # Errors
/// It cannot be written as YAML.
pub(super) fn kubeconfig_text(kubeconfig: &Value) -> Result<String, CommandError> {
    serde_saphyr::to_string(kubeconfig).map_err(|error| CommandError::Config(error.to_string()))
}

/// The agent's flag with the cluster's name, in its Deployment.
const CLUSTER_NAME_FLAG: &str = "--cluster-name=";

/// Returns the image in the agent's Deployment.
pub(crate) fn image_in(deployment: &Value) -> Option<&str> {
    deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str()
}

/// Returns the cluster's name in the agent's Deployment.
pub(crate) fn cluster_in(deployment: &Value) -> Option<&str> {
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let mut args = args.as_array()?.iter().filter_map(Value::as_str);
    args.find_map(|arg| arg.strip_prefix(CLUSTER_NAME_FLAG))
}

/// Returns the cluster's name in the Secret with the agent's credentials.
pub(crate) fn cluster_of(secret: &Value) -> Option<String> {
    let name = secret["data"][CLUSTER_NAME_KEY].as_str()?;
    String::from_utf8(BASE64_STANDARD.decode(name).ok()?).ok()
}

/// Returns the objects as YAML documents.
///
/// # Errors
/// An object cannot be written as YAML.
pub(crate) fn yaml(objects: &[Value]) -> Result<String, CommandError> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        let document = serde_saphyr::to_string(object);
        text.push_str(&document.map_err(|error| CommandError::Config(error.to_string()))?);
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_get_the_name_the_image_the_flags_and_the_secret() {
        let kubeconfig = json!({"kind": "Config", "users": [{"name": "bootstrap"}]});
        let agent = Agent {
            cluster: "c1",
            image: "registry.example.com/berth:v1".to_owned(),
            kubeconfig: &kubeconfig,
            flags: vec!["--feature-gates=ClusterProperty=true".to_owned()],
        };
        let objects = agent.objects().unwrap();
        let kinds: Vec<_> = objects
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds,
            [
                "CustomResourceDefinition",
                "CustomResourceDefinition",
                "Namespace",
                "ServiceAccount",
                "Role",
                "RoleBinding",
                "ClusterRole",
                "ClusterRoleBinding",
                "Namespace",
                "Role",
                "RoleBinding",
                "ClusterRole",
                "ClusterRoleBinding",
                "ClusterRole",
                "ClusterRoleBinding",
                "ClusterRole",
                "ClusterRoleBinding",
                "Secret",
                "Deployment",
            ]
        );
        let deployment = &objects[18];
        assert_eq!(cluster_in(deployment), Some("c1"));
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(image_in(deployment), Some("registry.example.com/berth:v1"));
        let args = container["args"].as_array().unwrap();
        assert_eq!(args.last().unwrap(), "--feature-gates=ClusterProperty=true");
        let data = BASE64_STANDARD.decode(objects[17]["data"]["kubeconfig"].as_str().unwrap());
        let written: Value = serde_saphyr::from_slice(&data.unwrap()).unwrap();
        assert_eq!(written, kubeconfig);
        let read: Vec<Value> = serde_saphyr::from_multiple(&yaml(&objects).unwrap()).unwrap();
        assert_eq!(read, objects);
    }

    #[test]
    fn the_name_of_a_cluster_is_read_from_its_secret() {
        let name = BASE64_STANDARD.encode("c1");
        assert_eq!(
            cluster_of(&json!({"data": {"cluster-name": name}})).as_deref(),
            Some("c1")
        );
        assert_eq!(cluster_of(&json!({"data": {}})), None);
        assert_eq!(cluster_of(&json!({"data": {"cluster-name": "!"}})), None);
    }
}
