//! The settings of the operator, and the image of what it installs.

use anyhow::Context;
use berth_hub::{Call, HubApi, object_path};
use berth_operator::Settings;
use serde_json::Value;

use crate::common::{install_namespace, pod_name};

/// The settings of the operator, before its image is known.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(super) image: Option<String>,
    pub(super) settings: Settings,
}

// === impl Operator ===

impl Operator {
    /// Returns the settings, with the image of the pod in which this runs, unless a flag names one.
    ///
    /// # Errors
    /// There is neither.
    pub(crate) async fn settings(self, api: &HubApi) -> anyhow::Result<Settings> {
        let image = match self.image {
            Some(image) => image,
            None => own_image(api).await.context(
                "the image of the hub's components is not known: name it by --image, such as --image registry.example.com/berth:v1",
            )?,
        };
        Ok(Settings {
            image,
            ..self.settings
        })
    }
}

/// The image of the pod in which this runs.
async fn own_image(api: &HubApi) -> anyhow::Result<String> {
    let name = pod_name().context("this does not run in a pod: POD_NAME is not set")?;
    let path = object_path(("", "v1", "pods"), &install_namespace(), &name);
    let answer = api.call(Call::get(path)).await?;
    let pod: Value = answer.json()?;
    let image = pod["spec"]["containers"][0]["image"].as_str();
    Ok(image.context("the pod has no container")?.to_owned())
}
