//! The conversion webhook of add-ons: ConversionReviews, from the bytes of a request to the bytes of its response.
//!
//! The API server stores each object in one version, and calls this webhook when a client reads or writes another one. It calls it for
//! single objects, and for parts of objects, when it computes which fields an apply owns. So a field that is absent is never an error,
//! even if its schema requires it.
//!
//! # Promises
//! - What both versions have is copied byte by byte: fields that this program does not know, and the order of lists, stay.
//! - Of `metadata` only annotations change, as the API server demands.
//! - An object that is read in another version and written back is the same, except for what the other version cannot say:
//!   v1beta1 has no `addOnConfiguration`, no organization units in the subject of a `kubeClient` registration, no old copy of a
//!   config's name beside `desiredConfig`, and a driver only in `kubeClient` registrations; v1alpha1 has one driver for all of them, and an
//!   empty map of annotations may be left out.
//! - If one object cannot be converted, the whole review fails, with a message that names the object and the field.
//! - The work and the memory are linear in the size of the review, and [`costs`] bounds the memory. Only an object's own fields and the
//!   item that is being converted are decoded.
//!
//! Versions and fields are OCM's.

mod cluster_management_addon;
mod fields;
mod managed_cluster_addon;
mod review;

use std::fmt;

use berth_api::{groups, text};

use fields::{Fields, Problem};

pub use review::{Conversion, costs, refuse, respond};

/// Upper bound on the bytes of a name in a message. Kubernetes names are not longer.
const LONGEST_NAME: usize = 253;

/// A kind that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `ClusterManagementAddOn`.
    ClusterManagementAddOn,
    /// `ManagedClusterAddOn`.
    ManagedClusterAddOn,
}

/// A version of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1alpha1,
    V1beta1,
}

/// Why an object cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    /// The kind, if it is known, and the name as far as it can be read.
    object: String,
    problem: Problem,
}

/// Converts an object. Returns its kind and the converted object.
fn convert(json: &str, to: Version) -> Result<(Kind, String), Fault> {
    let mut object = Fields::parse(json).map_err(|problem| Fault {
        object: "an object".to_owned(),
        problem,
    })?;
    let fault = |kind: Option<Kind>, name: &str, problem| Fault {
        object: format!("{} {name}", kind.map_or("object", Kind::as_str)),
        problem,
    };
    let name = name_of(&object);
    let (kind, from) = identity(&object).map_err(|problem| fault(None, &name, problem))?;
    let converted = match (kind, from, to) {
        (_, Version::V1alpha1, Version::V1alpha1) | (_, Version::V1beta1, Version::V1beta1) => {
            Ok(())
        }
        (Kind::ClusterManagementAddOn, _, Version::V1beta1) => {
            cluster_management_addon::to_v1beta1(&mut object)
        }
        (Kind::ClusterManagementAddOn, _, Version::V1alpha1) => {
            cluster_management_addon::to_v1alpha1(&mut object)
        }
        (Kind::ManagedClusterAddOn, _, Version::V1beta1) => {
            managed_cluster_addon::to_v1beta1(&mut object)
        }
        (Kind::ManagedClusterAddOn, _, Version::V1alpha1) => {
            managed_cluster_addon::to_v1alpha1(&mut object)
        }
    };
    converted.map_err(|problem| fault(Some(kind), &name, problem))?;
    object.set_text("apiVersion", &to.api_version());
    Ok((kind, object.to_json()))
}

/// Reads the kind and the version of an object.
fn identity(object: &Fields<'_>) -> Result<(Kind, Version), Problem> {
    let of = |name| {
        let text = object.text(name)?;
        text.ok_or_else(|| Problem::new("is missing").under(name))
    };
    let (kind, api_version) = (of("kind")?, of("apiVersion")?);
    let Some(known) = Kind::ALL.into_iter().find(|it| it.as_str() == kind) else {
        let what = format!("{} is not a kind that is converted here", quoted(&kind));
        return Err(Problem::new(what).under("kind"));
    };
    let version = Version::of(&api_version).map_err(|what| what.under("apiVersion"))?;
    Ok((known, version))
}

/// The name of an object for messages, with its namespace.
fn name_of(object: &Fields<'_>) -> String {
    let Ok(Some(metadata)) = object.object("metadata") else {
        return "without a name".to_owned();
    };
    let of = |name| metadata.text(name).ok().flatten().unwrap_or_default();
    match (of("namespace"), of("name")) {
        (_, name) if name.is_empty() => "without a name".to_owned(),
        (namespace, name) if namespace.is_empty() => quoted(&name),
        (namespace, name) => quoted(&format!("{namespace}/{name}")),
    }
}

/// A text of a request in a message.
fn quoted(text: &str) -> String {
    format!("{:?}", text::cut_bytes(text, LONGEST_NAME))
}

// === impl Kind ===

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::ClusterManagementAddOn, Self::ManagedClusterAddOn];

    /// The name of the kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterManagementAddOn => "ClusterManagementAddOn",
            Self::ManagedClusterAddOn => "ManagedClusterAddOn",
        }
    }
}

// === impl Version ===

impl Version {
    const ALL: [Self; 2] = [Self::V1alpha1, Self::V1beta1];

    fn as_str(self) -> &'static str {
        match self {
            Self::V1alpha1 => "v1alpha1",
            Self::V1beta1 => "v1beta1",
        }
    }

    fn api_version(self) -> String {
        format!("{}/{}", groups::ADDON, self.as_str())
    }

    fn of(api_version: &str) -> Result<Self, Problem> {
        let known = Self::ALL
            .into_iter()
            .find(|it| it.api_version() == api_version);
        known.ok_or_else(|| {
            let [one, two] = Self::ALL.map(Self::api_version);
            Problem::new(format!(
                "{} is neither {one} nor {two}",
                quoted(api_version)
            ))
        })
    }
}

// === impl Fault ===

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.problem)
    }
}

#[cfg(test)]
mod tests;
