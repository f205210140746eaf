//! What decides about a Klusterlet.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::operator::Klusterlet;

use super::choice::Settings;
use super::connection::Connection;
use super::found::Managed;
use super::{RECONCILED, RECONCILER};
use crate::decision::{Failure, Subject};
use crate::objects::{Id, Stored};

/// What decides about a Klusterlet.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The Klusterlet.
    pub klusterlet: &'a Klusterlet,
    /// Another Klusterlet, which has the namespace.
    pub holder: Option<&'a str>,
    /// There are other Klusterlets.
    pub has_others: bool,
    /// All objects that have the label of a Klusterlet, and those that all share.
    pub stored: &'a BTreeMap<Id, Stored>,
    /// What ManifestWorks made on the cluster, by name. `None`: not known; it is needed only while the Klusterlet is being deleted.
    pub works: Option<&'a AppliedWorks>,
    /// Whether the agent can reach its hub; `None` while that is not known.
    pub connection: Option<&'a Connection>,
    /// What was found on the managed cluster, if the agent runs elsewhere; `None` while that is not known.
    pub managed: Option<&'a Managed>,
    /// Other namespaces of add-ons, which get the credentials of the registry, too.
    pub addon_spaces: &'a BTreeSet<String>,
    /// The settings of the operator.
    pub settings: &'a Settings,
    /// The writes of the last decision that failed.
    pub failures: &'a [Failure],
}

/// AppliedManifestWorks, by name.
pub type AppliedWorks = BTreeMap<String, AppliedWork>;

/// An AppliedManifestWork: the record of what a ManifestWork made on the cluster, which owns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedWork {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// `spec.agentID`: the uid of the Klusterlet of its agent.
    pub agent: String,
}

/// A Klusterlet, as one of those that operators decide about.
pub(super) fn subject(klusterlet: &Klusterlet) -> Subject<'_> {
    Subject {
        reconciler: RECONCILER,
        resource: RECONCILED,
        metadata: &klusterlet.metadata,
    }
}
