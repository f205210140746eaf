//! What the pods of an add-on get beside the template: variables, volumes, nodes, registries, a proxy, resources. In OCM's order, because
//! later steps see what earlier ones added.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use berth_api::addon::{
    AddOnDeploymentConfigSpec, AddOnTemplateSpec, DEFAULT_NAMESPACE, ImageMirror, NodePlacement,
    ProxyConfig, RegistrationSpecType,
};
use serde_json::{Map, Value, json};

use super::pods::{Workload, add, each_container, put};
use super::resources::Requirements;
use super::values::{HUB_KUBECONFIG_FOLDER, Values};
use super::{Rendered, Request, images};
use crate::object::text;

/// Where the CA bundle of the proxy is mounted.
const PROXY_CA_FOLDER: &str = "/managed/proxy-ca";
/// The key of the CA bundle in its ConfigMap, and the name of its file.
const PROXY_CA_KEY: &str = "ca-bundle.crt";

/// What the pods of an add-on get.
#[derive(Debug, Default)]
pub(super) struct Decoration {
    environment: Vec<Value>,
    /// Each with its path in the containers.
    volumes: Vec<(Value, String)>,
    placement: Option<NodePlacement>,
    mirrors: Vec<ImageMirror>,
    proxy_environment: Vec<Value>,
    proxy_volumes: Vec<(Value, String)>,
    requirements: Requirements,
    config_map: Option<Map<String, Value>>,
}

// === impl Decoration ===

impl Decoration {
    /// # Errors
    /// A registration, the CA bundle, the ID of a container, or the cluster's annotation cannot be read.
    pub(super) fn of(request: &Request<'_>, values: &Values<'_>) -> Result<Self, Vec<String>> {
        let default = AddOnDeploymentConfigSpec::default();
        let config = request.config.unwrap_or(&default);
        let proxy = &config.proxy_config;
        let mut problems = Vec::new();
        let volumes = volumes(request.addon, request.template)
            .map_err(|problem| problems.push(problem))
            .unwrap_or_default();
        let mirrors = images::mirrors(&config.registries, request.image_registries)
            .map_err(|problem| problems.push(problem))
            .unwrap_or_default();
        let requirements = Requirements::new(&config.resource_requirements)
            .map_err(|all| problems.extend(all))
            .unwrap_or_default();
        let bundle = ca_bundle(proxy)
            .map_err(|problem| problems.push(problem))
            .unwrap_or_default();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut proxy_environment = proxy_environment(proxy);
        let mut proxy_volumes = Vec::new();
        if bundle.is_some() && !proxy_environment.is_empty() {
            let file = format!("{PROXY_CA_FOLDER}/{PROXY_CA_KEY}");
            proxy_environment.push(variable("CA_BUNDLE_FILE_PATH", &file));
            let name = config_map_name(request.addon);
            let volume = json!({"name": "proxy-ca-bundle", "configMap": {"name": name}});
            proxy_volumes.push((volume, PROXY_CA_FOLDER.to_owned()));
        }
        let environment = values.environment.iter();
        Ok(Self {
            environment: environment
                .map(|(name, value)| variable(name, value))
                .collect(),
            volumes,
            placement: config.node_placement.clone(),
            mirrors,
            proxy_environment,
            proxy_volumes,
            requirements,
            config_map: bundle.map(|bundle| config_map(request.addon, &bundle)),
        })
    }

    /// The ConfigMap with the CA bundle of the proxy. As in OCM, also if no proxy is set.
    pub(super) fn config_map(&self) -> Option<Map<String, Value>> {
        self.config_map.clone()
    }

    /// Decorates an object.
    pub(super) fn rendered(&self, mut object: Map<String, Value>) -> Rendered {
        let Some(workload) = Workload::of(&object) else {
            return Rendered {
                object: Value::Object(object),
                undecorated: None,
            };
        };
        let undecorated = workload.is_immutable.then(|| object.clone());
        let name = text(&object, &["metadata", "name"]).to_owned();
        if let Some(pod) = workload.pod(&mut object) {
            self.decorate(workload, &name, pod);
        }
        Rendered {
            undecorated: undecorated
                .filter(|undecorated| *undecorated != object)
                .map(Value::Object),
            object: Value::Object(object),
        }
    }

    fn decorate(&self, workload: Workload, name: &str, pod: &mut Map<String, Value>) {
        set_environment(pod, &self.environment);
        mount(pod, &self.volumes);
        if let Some(placement) = &self.placement {
            place(pod, placement);
        }
        each_container(pod, |container| {
            let mirrored = images::in_mirror(&self.mirrors, text(container, &["image"]));
            if let Some(image) = mirrored {
                container.insert("image".to_owned(), image.into());
            }
        });
        set_environment(pod, &self.proxy_environment);
        mount(pod, &self.proxy_volumes);
        each_container(pod, |container| {
            let id = text(container, &["name"]);
            let resources = self.requirements.of(workload.resource, name, id);
            if let Some(resources) = resources {
                container.insert("resources".to_owned(), resources.clone());
            }
        });
    }
}

/// The name of the Secret with the certificate or the kubeconfig of a registration, as the agent of the cluster writes it.
fn secret_name(addon: &str, signer: Option<&str>) -> String {
    match signer {
        None => format!("{addon}-hub-kubeconfig"),
        Some(signer) => format!("{addon}-{}-client-cert", signer.replace('/', "-")),
    }
}

fn config_map_name(addon: &str) -> String {
    format!("{addon}-proxy-ca")
}

/// The name of the volume with the certificate of a signer.
pub(super) fn certificate_volume(signer: &str) -> String {
    format!("cert-{}", signer.replace(['/', '.'], "-"))
}

/// The volumes of the registrations, with their paths. Two registrations of one signer have one volume.
fn volumes(addon: &str, template: &AddOnTemplateSpec) -> Result<Vec<(Value, String)>, String> {
    let mut volumes: Vec<(Value, String)> = Vec::new();
    for (index, registration) in template.registration.iter().enumerate() {
        let (name, secret, path) = match &registration.r#type {
            RegistrationSpecType::KubeClient => (
                "hub-kubeconfig".to_owned(),
                secret_name(addon, None),
                HUB_KUBECONFIG_FOLDER.to_owned(),
            ),
            RegistrationSpecType::CustomSigner => {
                let Some(custom) = &registration.custom_signer else {
                    return Err(format!("registration[{index}] has no customSigner"));
                };
                let signer = &custom.signer_name;
                (
                    certificate_volume(signer),
                    secret_name(addon, Some(signer)),
                    format!("/managed/{}", signer.replace('/', "-")),
                )
            }
            RegistrationSpecType::Other(_) => continue,
        };
        let volume = json!({"name": name, "secret": {"secretName": secret}});
        if !volumes.iter().any(|(it, _)| *it == volume) {
            volumes.push((volume, path));
        }
    }
    Ok(volumes)
}

/// A variable of a container. As Go writes it, an empty value is left out.
fn variable(name: &str, value: &str) -> Value {
    match value {
        "" => json!({"name": name}),
        value => json!({"name": name, "value": value}),
    }
}

/// Gives variables to all containers.
///
/// OCM appends a variable that the container already has, and the last one counts. Server-side apply refuses a list with the same name
/// twice, so the value is replaced where it is.
fn set_environment(pod: &mut Map<String, Value>, environment: &[Value]) {
    each_container(pod, |container| {
        for variable in environment {
            put(container, "env", "name", variable);
        }
    });
}

/// Adds volumes, and mounts them in all containers. A name that the pod already has is left as it is.
fn mount(pod: &mut Map<String, Value>, volumes: &[(Value, String)]) {
    for (volume, path) in volumes {
        add(pod, "volumes", "name", volume);
        let mount = json!({"name": volume["name"], "mountPath": path});
        each_container(pod, |container| {
            add(container, "volumeMounts", "mountPath", &mount);
        });
    }
}

/// As in OCM, a node selector replaces that of the pod, and its tolerations. Unlike OCM, tolerations without a node selector count.
fn place(pod: &mut Map<String, Value>, placement: &NodePlacement) {
    let NodePlacement {
        node_selector,
        tolerations,
    } = placement;
    if !node_selector.is_empty() {
        pod.insert("nodeSelector".to_owned(), json!(node_selector));
        pod.remove("tolerations");
    }
    if !tolerations.is_empty() {
        pod.insert("tolerations".to_owned(), json!(tolerations));
    }
}

/// Each variable in upper and in lower case: programs differ in which one they read.
fn proxy_environment(proxy: &ProxyConfig) -> Vec<Value> {
    let all = [
        ("HTTP_PROXY", &proxy.http_proxy),
        ("HTTPS_PROXY", &proxy.https_proxy),
        ("NO_PROXY", &proxy.no_proxy),
    ];
    let set = all.into_iter().filter(|(_, value)| !value.is_empty());
    set.flat_map(|(name, value)| [name.to_owned(), name.to_lowercase()].map(|it| (it, value)))
        .map(|(name, value)| variable(&name, value))
        .collect()
}

fn ca_bundle(proxy: &ProxyConfig) -> Result<Option<String>, String> {
    if proxy.ca_bundle.is_empty() {
        return Ok(None);
    }
    let bytes = BASE64_STANDARD
        .decode(&proxy.ca_bundle)
        .map_err(|_| "proxyConfig.caBundle is not base64".to_owned())?;
    let text = String::from_utf8(bytes)
        .map_err(|_| "proxyConfig.caBundle is not PEM: it is not text".to_owned())?;
    Ok(Some(text))
}

fn config_map(addon: &str, bundle: &str) -> Map<String, Value> {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config_map_name(addon), "namespace": DEFAULT_NAMESPACE},
        "data": {PROXY_CA_KEY: bundle},
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
