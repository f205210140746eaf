//! The controllers of a hub: garbage collection, namespaces, definitions, certificate signing, and the defaults of namespaces.
//!
//! # Promises
//! - A controller writes as any other client, under the name that it has in Kubernetes: webhooks are called, and finalizers
//!   respected.
//! - A controller sees every change, even if it falls behind the history. It is idle while nothing changes.
//! - A failed job is repeated, with growing delays.

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
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::World;

/// Runs all of it until cancelled. `first_validities`: [`Options::first_validities`](crate::Options::first_validities).
pub(crate) async fn run(
    world: Arc<World>,
    first_validities: Vec<Duration>,
    cancel: CancellationToken,
) {
    let (world, cancel) = (&world, &cancel);
    tokio::join!(
        collector::run(Arc::clone(world), cancel.clone()),
        namespaces::run(Arc::clone(world), cancel.clone()),
        definitions::run(Arc::clone(world), cancel.clone()),
        defaults::run(Arc::clone(world), cancel.clone()),
        signing::run(Arc::clone(world), first_validities, cancel.clone()),
    );
}
