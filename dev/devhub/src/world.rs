//! Everything that a request can need.

use std::sync::Arc;

use crate::admission::Admission;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::resources::Registry;
use crate::storage::Store;

/// A hub's state.
#[derive(Debug)]
pub struct World {
    /// The objects.
    pub store: Arc<Store>,
    /// What is served.
    pub registry: Registry,
    /// Who is it?
    pub authenticator: Authenticator,
    /// May they?
    pub authorizer: Authorizer,
    /// What do the webhooks say?
    pub admission: Admission,
}
