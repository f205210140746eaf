//! What a hub's controllers do, so that deletions end and certificates are signed: garbage collection, namespaces,
//! definitions, certificate signing, and what every namespace has.
//!
//! # Promises
//! - A controller acts through the same writes as everybody else, under the name it has in Kubernetes: webhooks are asked, and
//!   finalizers respected.
//! - It hears of every change, also when it falls behind the history; and it rests while there is none.
//! - What cannot be done now is tried again, less and less often.

mod collector;
mod defaults;
mod definitions;
mod feed;
mod hand;
mod namespaces;
mod queue;
mod signing;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::World;

/// Runs all of it until cancelled.
pub(crate) async fn run(world: Arc<World>, cancel: CancellationToken) {
    let (world, cancel) = (&world, &cancel);
    tokio::join!(
        collector::run(Arc::clone(world), cancel.clone()),
        namespaces::run(Arc::clone(world), cancel.clone()),
        definitions::run(Arc::clone(world), cancel.clone()),
        defaults::run(Arc::clone(world), cancel.clone()),
        signing::run(Arc::clone(world), cancel.clone()),
    );
}
