//! What an operator installs, and the image of it.

use anyhow::Context;
use berth_hub::{Call, HubApi, object_path};
use berth_operator::{cluster, hub};
use berth_reconcile::{Controller, Metrics};
use serde_json::Value;

use crate::common::{install_namespace, pod_name};

/// An operator, before its image is known.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(super) image: Option<String>,
    pub(super) installs: Installs,
}

/// What an operator installs.
#[derive(Debug)]
pub(super) enum Installs {
    Hub(hub::Settings),
    Agent(cluster::Settings),
}

// === impl Operator ===

impl Operator {
    /// Returns the controller. What it installs has the image of the pod in which this runs, unless a flag names one.
    ///
    /// # Errors
    /// There is neither.
    pub(crate) async fn controller(
        self,
        api: &HubApi,
        namespace: String,
        metrics: Metrics,
    ) -> anyhow::Result<Controller> {
        let image = match self.image {
            Some(image) => image,
            None => own_image(api).await.context(
                "the image of what the operator installs is not known: name it by --image, such as --image registry.example.com/berth:v1",
            )?,
        };
        Ok(match self.installs {
            Installs::Hub(settings) => {
                hub::controller(hub::Settings { image, ..settings }, namespace, metrics)
            }
            Installs::Agent(settings) => {
                cluster::controller(cluster::Settings { image, ..settings }, namespace, metrics)
            }
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
