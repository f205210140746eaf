//! The authorities that the registrations make API servers trust.

use super::root::Root;

/// The bundle of one webhook of a registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    roots: Vec<Root>,
}

/// The bundles of all webhooks of all existing registrations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    bundles: Vec<Bundle>,
    is_incomplete: bool,
}

impl Bundle {
    /// Decodes a bundle in PEM, as far as possible. An API server refuses an invalid bundle as a whole, but it may still trust
    /// these authorities from before.
    pub fn new(pem: &[u8]) -> Self {
        Self {
            roots: Root::all_in(pem),
        }
    }

    /// Returns the authorities of the bundle.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }
}

impl Published {
    /// Sets whether a required registration is missing and may come back. A rotation waits for it.
    pub fn incomplete(self, is_incomplete: bool) -> Self {
        Self {
            is_incomplete,
            ..self
        }
    }

    /// Returns true if all bundles contain all these authorities, and no registration is missing.
    pub(super) fn all_hold(&self, roots: &[&Root]) -> bool {
        let holds = |bundle: &Bundle| roots.iter().all(|root| bundle.roots.contains(root));
        !self.is_incomplete && self.bundles.iter().all(holds)
    }

    /// Returns the authorities of all bundles without duplicates.
    pub(super) fn roots(&self) -> Vec<&Root> {
        let mut roots: Vec<_> = self.bundles.iter().flat_map(|it| &it.roots).collect();
        roots.sort_by(|a, b| a.by_age(b));
        roots.dedup();
        roots
    }
}

impl FromIterator<Bundle> for Published {
    fn from_iter<T: IntoIterator<Item = Bundle>>(bundles: T) -> Self {
        Self {
            bundles: bundles.into_iter().collect(),
            is_incomplete: false,
        }
    }
}
