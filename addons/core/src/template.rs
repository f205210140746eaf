//! Renders an AddOnTemplate for a cluster: the objects that the add-on has there.
//!
//! Follows OCM: variables are replaced (`variables`), objects are moved to the install namespace (`namespaces`), and the pods of
//! workloads get what the AddOnDeploymentConfig and the registrations ask for (`decorate`). `docs/differences.md` lists where the result
//! differs from OCM's. Objects are JSON here, so fields that this program does not know are kept.
//!
//! # Promises
//! - The same request gives the same result.
//! - No text of a template, of a config or of an annotation leads to a panic.
//! - The strings of the result have at most [`LARGEST`] bytes.

pub mod check;
mod decorate;
mod images;
mod namespaces;
mod pods;
mod resources;
mod values;
mod variables;

#[cfg(test)]
mod tests;

use std::fmt;

use berth_api::addon::{AddOnDeploymentConfigSpec, AddOnTemplateSpec, DEFAULT_NAMESPACE};
use berth_api::text::shorten;
use serde_json::{Map, Value};

use crate::object::text;
use decorate::Decoration;
use values::Values;
use variables::Replacement;

/// Upper bound on the bytes of the strings of a rendering. A ManagedClusterAddOn with more would have more than ten ManifestWorks.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// Upper bound on the messages of a rendering.
const MESSAGES: usize = 20;

/// Upper bound on the bytes of a message.
const LONGEST_MESSAGE: usize = 512;

/// What is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The name of the add-on.
    pub addon: &'a str,
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The template.
    pub template: &'a AddOnTemplateSpec,
    /// The first AddOnDeploymentConfig of the ManagedClusterAddOn. OCM ignores further ones, too.
    pub config: Option<&'a AddOnDeploymentConfigSpec>,
    /// The annotation `open-cluster-management.io/image-registries` of the cluster.
    pub image_registries: Option<&'a str>,
}

/// The objects of an add-on on a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// The objects, in the order of the template.
    pub objects: Vec<Rendered>,
    /// The namespace of the add-on's agent, for `status.namespace` of the ManagedClusterAddOn.
    pub namespace: String,
    /// Doubts about the template, for users.
    pub warnings: Vec<String>,
}

/// An object of an add-on on a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The object.
    pub object: Value,
    /// The object as OCM renders it, if it is of a kind whose pods cannot be changed and that OCM does not decorate (Job, Pod). An object
    /// that a work already has in this form stays so: the cluster would refuse the other one.
    pub undecorated: Option<Value>,
}

/// The reasons why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrenderable(Messages);

/// Messages for users: a bounded number, each of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Messages {
    all: Vec<String>,
    left_out: usize,
}

/// Renders a template.
///
/// # Errors
/// A manifest has an unclosed `{{`, is not an object, or is too large; the CA bundle of the proxy, the ID of a container or the annotation
/// of the cluster cannot be read. All such mistakes are named.
pub fn render(request: &Request<'_>) -> Result<Rendering, Unrenderable> {
    let mut faults = Messages::default();
    let mut warnings = Messages::default();
    let values = Values::of(request);
    let decoration = match Decoration::of(request, &values) {
        Ok(decoration) => decoration,
        Err(problems) => {
            faults.extend(problems);
            Decoration::default()
        }
    };
    let mut replacement = Replacement::new(&values.variables, LARGEST);
    let mut objects = Vec::new();
    for (index, manifest) in request
        .template
        .agent_spec
        .workload
        .manifests
        .iter()
        .enumerate()
    {
        let mut object: Map<String, Value> = match manifest.read() {
            Ok(object) => object,
            Err(error) => {
                faults.push(format!("manifest {index} is not an object: {error}"));
                continue;
            }
        };
        let name = ManifestName::of(index, &object);
        let unknown = match replacement.object(&mut object) {
            Ok(unknown) => unknown,
            Err(problem) => {
                faults.push(format!("{name}: {problem}"));
                continue;
            }
        };
        for unknown in unknown {
            warnings.push(format!("{name}: {unknown}"));
        }
        if let Some(missing) = missing_field(&object) {
            faults.push(format!("{name} has no {missing}"));
            continue;
        }
        objects.push(object);
    }
    objects.extend(decoration.config_map());
    if !faults.all.is_empty() {
        return Err(Unrenderable(faults));
    }
    let namespace = match values.namespace {
        Some(namespace) => namespace.to_owned(),
        None => namespaces::of_agent(&objects)
            .unwrap_or(DEFAULT_NAMESPACE)
            .to_owned(),
    };
    let objects = objects.into_iter().map(|mut object| {
        if let Some(namespace) = values.namespace {
            namespaces::set(&mut object, namespace);
        }
        decoration.rendered(object)
    });
    Ok(Rendering {
        objects: objects.collect(),
        namespace,
        warnings: warnings.into_lines(),
    })
}

/// Displays a manifest by its place in the template, its kind and its name.
struct ManifestName {
    index: usize,
    kind: String,
    name: String,
}

/// The first of the fields that identify an object and that this one lacks.
fn missing_field(object: &Map<String, Value>) -> Option<&'static str> {
    let fields: [(&str, &[&str]); 3] = [
        ("apiVersion", &["apiVersion"]),
        ("kind", &["kind"]),
        ("metadata.name", &["metadata", "name"]),
    ];
    let mut fields = fields.into_iter();
    let (name, _) = fields.find(|(_, path)| text(object, path).is_empty())?;
    Some(name)
}

// === impl ManifestName ===

impl ManifestName {
    fn of(index: usize, object: &Map<String, Value>) -> Self {
        Self {
            index,
            kind: text(object, &["kind"]).to_owned(),
            name: text(object, &["metadata", "name"]).to_owned(),
        }
    }
}

impl fmt::Display for ManifestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, kind, name } = self;
        write!(
            f,
            "manifest {index} ({} {:?})",
            shorten(kind, 63),
            shorten(name, 63)
        )
    }
}

// === impl Unrenderable ===

impl Unrenderable {
    /// The reasons, one for each mistake.
    #[must_use]
    pub fn into_lines(self) -> Vec<String> {
        self.0.into_lines()
    }
}

impl fmt::Display for Unrenderable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.clone().into_lines().join("; "))
    }
}

impl std::error::Error for Unrenderable {}

// === impl Messages ===

impl Messages {
    fn push(&mut self, message: String) {
        if self.all.len() < MESSAGES {
            self.all
                .push(shorten(&message, LONGEST_MESSAGE).into_owned());
        } else {
            self.left_out += 1;
        }
    }

    fn extend(&mut self, messages: impl IntoIterator<Item = String>) {
        for message in messages {
            self.push(message);
        }
    }

    fn into_lines(self) -> Vec<String> {
        let Self { mut all, left_out } = self;
        if left_out > 0 {
            all.push(format!("and {left_out} more"));
        }
        all
    }
}
