//! What the registrations tell API servers to believe.

use super::root::Root;

/// The bundle of one webhook of a registration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    roots: Vec<Root>,
}

/// The bundles of all webhooks of all registrations that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    bundles: Vec<Bundle>,
    is_incomplete: bool,
}

impl Bundle {
    /// From PEM. An API server takes a bundle whole or not at all; what can be read of one that it would not take, it may
    /// have known before.
    pub fn new(pem: &[u8]) -> Self {
        Self {
            roots: Root::all_in(pem),
        }
    }

    /// The authorities in it.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }
}

impl Published {
    /// The same, where a registration that is wanted does not exist and may come back: no rotation goes on without it.
    pub fn incomplete(self, is_incomplete: bool) -> Self {
        Self {
            is_incomplete,
            ..self
        }
    }

    /// Whether each bundle has each of these, and no registration is missing.
    pub(super) fn all_hold(&self, roots: &[&Root]) -> bool {
        let holds = |bundle: &Bundle| roots.iter().all(|root| bundle.roots.contains(root));
        !self.is_incomplete && self.bundles.iter().all(holds)
    }

    /// Every authority in any bundle, once.
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
