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
    /// What is served.
    pub(crate) registry: Registry,
    /// Who is it?
    pub(crate) authenticator: Authenticator,
    /// May they?
    pub(crate) authorizer: Authorizer,
    /// What do the webhooks say?
    pub(crate) admission: Admission,
}
