//! What the hub knows of add-ons from templates beside their objects: what their templates make, and which works are as they should be.
//!
//! A work is known by its digest: the manifests of all clusters would be most of the memory of a large hub.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_addons_core::config::{DeploymentConfig, Template};
use berth_addons_core::deploy::{Hosting, Made, Part, Source};
use berth_addons_core::facts::{OnCluster, Work};
use berth_addons_core::works::Digest;
use berth_api::addon::ConfigReference;

use super::keys::Place;

/// What an add-on is made of, and where: as long as it is equal, so is what the template makes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Inputs {
    pub(super) template: Arc<Template>,
    pub(super) config: Option<Arc<DeploymentConfig>>,
    pub(super) image_registries: Option<String>,
    /// The cluster that is to host the agent, and whether it can.
    hosting: Option<(String, bool)>,
    /// `status.configReferences`, whose hashes the works have.
    references: Vec<ConfigReference>,
    /// The uid of the ManagedClusterAddOn, which owns the works.
    pub(super) owner: String,
}

/// The works of a part, by name.
type Digests = BTreeMap<String, Digest>;

/// An add-on from a template on a cluster.
#[derive(Debug)]
struct Deployment {
    inputs: Inputs,
    made: Result<Made, String>,
    /// The works that are as they should be.
    done: BTreeMap<Part, Digests>,
    fault: Option<String>,
}

/// The add-ons from templates, each on its cluster.
#[derive(Debug, Default)]
pub(super) struct Deployments(HashMap<Place, Deployment>);

/// What is known of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Known<'a> {
    pub(super) made: Option<Result<&'a Made, &'a str>>,
    pub(super) done: Vec<Part>,
    pub(super) fault: Option<&'a str>,
}

// === impl Inputs ===

impl Inputs {
    /// `None` while the source is not known.
    pub(super) fn of(
        source: &Source<'_>,
        image_registries: Option<&String>,
        hosting: Hosting<'_>,
        on: &OnCluster,
    ) -> Option<Self> {
        let Source::Known { template, config } = source else {
            return None;
        };
        Some(Self {
            template: Arc::clone(template),
            config: config.cloned(),
            image_registries: image_registries.cloned(),
            hosting: match hosting {
                Hosting::Own => None,
                Hosting::By(name) => Some((name.to_owned(), true)),
                Hosting::Missing(name) => Some((name.to_owned(), false)),
            },
            references: (on.references.iter())
                .map(|it| ConfigReference {
                    group: it.group.clone(),
                    resource: it.resource.clone(),
                    desired_config: it.desired_config.clone(),
                    ..ConfigReference::default()
                })
                .collect(),
            owner: on.uid.clone(),
        })
    }

    /// Which cluster hosts the agent.
    pub(super) fn hosting(&self) -> Hosting<'_> {
        match &self.hosting {
            None => Hosting::Own,
            Some((name, true)) => Hosting::By(name),
            Some((name, false)) => Hosting::Missing(name),
        }
    }

    pub(super) fn references(&self) -> &[ConfigReference] {
        &self.references
    }
}

// === impl Deployments ===

impl Deployments {
    /// What is known for these inputs. `works`: the stored works of the add-on.
    pub(super) fn known(&self, at: &Place, inputs: &Inputs, works: &[&Work]) -> Known<'_> {
        let of = self.0.get(at).filter(|it| it.inputs == *inputs);
        let Some(deployment) = of else {
            return Known::default();
        };
        let is_done = |(part, digests): &(&Part, &Digests)| {
            stored(at, **part, inputs, works).as_ref() == Some(*digests)
        };
        Known {
            made: Some(deployment.made.as_ref().map_err(String::as_str)),
            done: (deployment.done.iter().filter(is_done))
                .map(|(part, _)| *part)
                .collect(),
            fault: deployment.fault.as_deref(),
        }
    }

    /// Notes what a template makes.
    pub(super) fn made(&mut self, at: &Place, inputs: Inputs, made: Result<Made, String>) {
        let deployment = Deployment {
            inputs,
            made,
            done: BTreeMap::new(),
            fault: None,
        };
        self.0.insert(at.clone(), deployment);
    }

    /// Forgets what is known of an add-on.
    pub(super) fn forget(&mut self, at: &Place) {
        self.0.remove(at);
    }

    /// Notes that works with these digests are as they should be.
    pub(super) fn done(&mut self, at: &Place, inputs: &Inputs, part: Part, digests: Digests) {
        if let Some(it) = self.0.get_mut(at).filter(|it| it.inputs == *inputs) {
            it.done.insert(part, digests);
            it.fault = None;
        }
    }

    /// Notes why works cannot be written, or that they are to be written again.
    pub(super) fn set_fault(&mut self, at: &Place, fault: Option<String>) {
        if let Some(it) = self.0.get_mut(at) {
            it.fault = fault;
        }
    }
}

/// The stored works of a part that are not being deleted; `None` if one of them cannot be read.
fn stored(
    (cluster, add_on): &Place,
    part: Part,
    inputs: &Inputs,
    works: &[&Work],
) -> Option<Digests> {
    let namespace = part.namespace(cluster, inputs.hosting());
    let place = part.place(cluster);
    let named = works.iter().filter_map(|it| {
        let metadata = &it.reported.metadata;
        let name = metadata.name.as_deref()?;
        let is_of = metadata.namespace.as_deref() == namespace && place.has(add_on, name);
        let is_there = metadata.deletion_timestamp.is_none();
        (is_of && is_there).then(|| Some((name.to_owned(), it.digest?)))
    });
    named.collect()
}
