//! The values of `charts/berth-agent` that make Helm install what `berth join` installs.

use serde_json::{Value, json};

use super::objects::{Agent, kubeconfig_text};
use crate::failure::CommandError;
use crate::image::Reference;

/// Returns the values, as YAML: what differs from the chart's own. `with_token`: also the bootstrap kubeconfig, of which the chart makes the
/// Secret.
///
/// # Errors
/// They cannot be written as YAML.
pub(super) fn yaml(agent: &Agent<'_>, with_token: bool) -> Result<String, CommandError> {
    let mut values = json!({"clusterName": agent.cluster, "image": image(&agent.image)});
    if !agent.flags.is_empty() {
        values["agent"] = json!({"extraArgs": agent.flags});
    }
    if with_token {
        values["bootstrap"] = json!({"kubeconfig": kubeconfig_text(agent.kubeconfig)?});
    }
    serde_saphyr::to_string(&values).map_err(|error| CommandError::Config(error.to_string()))
}

fn image(image: &str) -> Value {
    let Reference {
        registry,
        repository,
        tag,
        digest,
    } = Reference::of(image);
    // Without a tag the chart takes that of its release, and a runtime takes latest.
    let tag = match (tag.is_empty(), digest.is_empty()) {
        (true, true) => "latest",
        _ => tag,
    };
    json!({"registry": registry, "repository": repository, "tag": tag, "digest": digest})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_there_only_on_request() {
        let kubeconfig = json!({"users": [{"name": "bootstrap", "user": {"token": "my-secret"}}]});
        let agent = Agent {
            cluster: "c1",
            image: "registry.example.com:5000/fleet/berth:v1".to_owned(),
            kubeconfig: &kubeconfig,
            flags: vec!["--feature-gates=ClusterProperty=true".to_owned()],
        };
        let expected = json!({
            "clusterName": "c1",
            "image": {"registry": "registry.example.com:5000", "repository": "fleet/berth", "tag": "v1", "digest": ""},
            "agent": {"extraArgs": ["--feature-gates=ClusterProperty=true"]},
        });
        let text = yaml(&agent, false).unwrap();
        assert!(!text.contains("my-secret"), "{text}");
        let values: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(values, expected);
        let values: Value = serde_saphyr::from_str(&yaml(&agent, true).unwrap()).unwrap();
        let text = values["bootstrap"]["kubeconfig"].as_str().unwrap();
        let written: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(written, kubeconfig);
    }

    #[test]
    fn an_image_without_a_tag_is_the_latest_unless_it_has_a_digest() {
        assert_eq!(image("berth")["tag"], "latest");
        assert_eq!(image("berth@sha256:abc")["tag"], "");
        assert_eq!(image("berth:v1@sha256:abc")["tag"], "v1");
    }
}
