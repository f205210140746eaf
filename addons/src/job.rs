//! An add-on from a template that is to be made on a cluster.

use std::collections::BTreeMap;

use berth_addons_core::deploy::Part;
use berth_addons_core::works::Digest;

use super::deployments::Inputs;
use super::keys::Place;

/// An add-on that is to be made.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) at: Place,
    pub(super) inputs: Inputs,
    /// Whose works are to be written, too.
    pub(super) part: Option<Part>,
    /// The digests of the stored works of the add-on, by namespace and name.
    pub(super) stored: BTreeMap<Place, Option<Digest>>,
}
