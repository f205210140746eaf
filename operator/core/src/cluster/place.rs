//! Where the agent of a Klusterlet runs, and where what it needs on the managed cluster is.

use berth_api::operator::{Klusterlet, KlusterletMode};

/// The namespace of a Klusterlet that names none.
const NAMESPACE: &str = "open-cluster-management-agent";

fn mode(klusterlet: &Klusterlet) -> Option<&KlusterletMode> {
    klusterlet.spec.deploy_option.as_ref().map(|it| &it.mode)
}

/// Returns whether one agent does both, under one Lease.
pub(super) fn is_single(klusterlet: &Klusterlet) -> bool {
    use KlusterletMode::{Singleton, SingletonHosted};
    matches!(mode(klusterlet), Some(Singleton | SingletonHosted))
}

/// Returns whether the agent runs on this cluster, and manages another one.
#[must_use]
pub fn is_hosted(klusterlet: &Klusterlet) -> bool {
    use KlusterletMode::{Hosted, SingletonHosted};
    matches!(mode(klusterlet), Some(Hosted | SingletonHosted))
}

/// The mode, if it is none that there is.
pub(super) fn unknown_mode(klusterlet: &Klusterlet) -> Option<&str> {
    match mode(klusterlet) {
        // Empty: as programs with OCM's type write it, if they set none.
        Some(KlusterletMode::Other(mode)) if !mode.is_empty() => Some(mode),
        _ => None,
    }
}

/// The namespace of the agent: on the managed cluster, or on this one that of the Klusterlet's name.
#[must_use]
pub fn namespace(klusterlet: &Klusterlet) -> &str {
    match is_hosted(klusterlet) {
        true => klusterlet.metadata.name.as_deref().unwrap_or_default(),
        false => managed_namespace(klusterlet),
    }
}

/// The namespace of a Klusterlet on the managed cluster.
pub(super) fn managed_namespace(klusterlet: &Klusterlet) -> &str {
    match &*klusterlet.spec.namespace {
        "" => NAMESPACE,
        namespace => namespace,
    }
}
