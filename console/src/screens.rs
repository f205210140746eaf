//! The answers of the screens.

pub(crate) mod details;
pub(crate) mod events;
pub(crate) mod fleet;
pub(crate) mod health;
pub(crate) mod offers;
pub(crate) mod placement;
pub(crate) mod placements;
pub(crate) mod requests;
pub(crate) mod rights;
pub(crate) mod rollouts;
pub(crate) mod sets;
pub(crate) mod timeline;
pub(crate) mod works;
