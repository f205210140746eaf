//! The state of a hub, which all requests share.

use std::sync::Arc;

use crate::admission::Admission;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::resources::Registry;
use crate::storage::Store;

/// A hub's state.
#[derive(Debug)]
pub(crate) struct World {
    /// The objects.
    pub(crate) store: Arc<Store>,
    /// The resources that are served.
    pub(crate) registry: Registry,
    /// Identifies users.
    pub(crate) authenticator: Arc<Authenticator>,
    /// Checks permissions.
    pub(crate) authorizer: Authorizer,
    /// Calls webhooks.
    pub(crate) admission: Admission,
}
