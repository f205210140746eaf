//! The objects of an agent with values: what `charts/berth-agent` renders, without Helm.
//!
//! A test renders the chart with many values, and compares the objects one by one.

use serde_json::{Value, json};

use crate::files::{
    AGENT_IMPERSONATION_ROLE, AGENT_PARTS, AGENT_WORK_ADMIN, AGENT_WORK_EXECUTION, AGENT_WORK_ROLE,
    CRD_APPLIED_MANIFEST_WORKS,
};
use crate::hub::{container, documents};
use crate::rendered::{Preset, merge, pulled, push, shape};
use crate::values::AgentValues;

/// The objects of an agent, in the order in which they are installed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// CustomResourceDefinitions.
    pub definitions: Vec<Value>,
    /// Namespaces, account and roles.
    pub foundation: Vec<Value>,
    /// The Deployment.
    pub workloads: Vec<Value>,
}

/// What the manifest has: a settled agent holds less than 24 MiB (docs/performance.md).
const PRESET: Preset = Preset {
    replicas: 1,
    cpu: "10m",
    memory: "24Mi",
    limit: "128Mi",
};

/// The folder of the bootstrap kubeconfigs.
const BOOTSTRAP: &str = "/spoke/bootstrap";

// === impl Agent ===

impl Agent {
    /// Returns the objects of these values, with this image. Monitoring and the Secret with a bootstrap kubeconfig are left out.
    pub fn with(values: &AgentValues, image: &str) -> Self {
        let mut agent = Self::default();
        for object in parts(values) {
            match object["kind"].as_str() {
                Some("CustomResourceDefinition") => agent.definitions.push(object),
                Some("Deployment") => agent.workloads.push(object),
                _ => agent.foundation.push(object),
            }
        }
        if !values.crds.enabled {
            agent.definitions.clear();
        }
        for deployment in &mut agent.workloads {
            container(deployment)["image"] = json!(image);
            shape(deployment, &values.agent, &PRESET);
            pulled(
                deployment,
                values.image.pull_policy,
                &values.image_pull_secrets,
            );
            bootstrap(deployment, &values.bootstrap.secrets);
            container(deployment)["args"] = json!(["agent"]);
            push(&mut container(deployment)["args"], arguments(values));
        }
        for object in agent.objects_mut() {
            merge(&mut object["metadata"], "labels", &values.common_labels);
        }
        agent
    }

    /// Returns all objects, in the order in which they are installed.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        let Self {
            definitions,
            foundation,
            workloads,
        } = self;
        [definitions, foundation, workloads].into_iter().flatten()
    }

    fn objects_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let Self {
            definitions,
            foundation,
            workloads,
        } = self;
        [definitions, foundation, workloads].into_iter().flatten()
    }
}

/// The objects as the manifests have them, without those that the values leave out.
fn parts(values: &AgentValues) -> Vec<Value> {
    let work = &values.work;
    let is_wanted = |path: &str| {
        let of_works = [
            CRD_APPLIED_MANIFEST_WORKS,
            AGENT_WORK_ROLE,
            AGENT_WORK_EXECUTION,
            AGENT_WORK_ADMIN,
        ];
        let is_of_works = of_works.iter().any(|it| it.path == path);
        (work.enabled || !is_of_works) && (work.admin || path != AGENT_WORK_ADMIN.path)
    };
    let wanted = AGENT_PARTS.into_iter().filter(|it| is_wanted(it.path));
    let mut parts: Vec<_> = wanted.collect();
    if work.enabled && work.impersonation {
        parts.push(AGENT_IMPERSONATION_ROLE);
    }
    documents(&parts)
}

/// Mounts the Secrets with the bootstrap kubeconfigs.
fn bootstrap(deployment: &mut Value, secrets: &[String]) {
    let pods = &mut deployment["spec"]["template"]["spec"];
    let several = secrets.len() > 1;
    let name = |index: usize| match several {
        true => format!("bootstrap-{index}"),
        false => "bootstrap".to_owned(),
    };
    let mounts = secrets.iter().enumerate().map(|(index, secret)| {
        let folder = match several {
            true => format!("{BOOTSTRAP}/{secret}"),
            false => BOOTSTRAP.to_owned(),
        };
        json!({"name": name(index), "mountPath": folder, "readOnly": true})
    });
    let volumes = secrets.iter().enumerate().map(|(index, secret)| {
        let source = json!({"secretName": secret, "optional": true, "defaultMode": 0o440});
        json!({"name": name(index), "secret": source})
    });
    let (mounts, volumes): (Vec<_>, Vec<_>) = (mounts.collect(), volumes.collect());
    replace_first(&mut pods["containers"][0]["volumeMounts"], mounts);
    replace_first(&mut pods["volumes"], volumes);
}

/// Replaces the first element of a list.
fn replace_first(list: &mut Value, elements: Vec<Value>) {
    if let Some(list) = list.as_array_mut() {
        list.splice(..1, elements);
    }
}

/// The arguments after the command.
fn arguments(values: &AgentValues) -> Vec<String> {
    let mut args = vec![format!("--cluster-name={}", values.cluster_name)];
    match &*values.bootstrap.secrets {
        [_] => args.push(format!("--bootstrap-kubeconfig={BOOTSTRAP}/kubeconfig")),
        several => {
            args.push("--feature-gates=MultipleHubs=true".to_owned());
            let folders = several.iter();
            args.extend(
                folders.map(|it| format!("--bootstrap-kubeconfigs={BOOTSTRAP}/{it}/kubeconfig")),
            );
        }
    }
    args.push("--hub-kubeconfig-dir=/spoke/hub-kubeconfig".to_owned());
    if !values.work.enabled {
        args.push("--work=false".to_owned());
    }
    let gates = values.feature_gates.iter();
    args.extend(gates.map(|(name, on)| format!("--feature-gates={name}={on}")));
    args.extend(values.agent.extra_args.iter().cloned());
    args
}
