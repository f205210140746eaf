//! Histories: an agent, a hub and a managed cluster, with everything that may come between a request and its answer.
//!
//! In a history works change and go, other clients change and delete objects, reports of watches come late, answers are lost, requests are
//! refused for a while, and the agent is killed. Whatever the order, it ends as a plain apply of the last manifests would, and then nothing
//! more is sent. Some histories have more, by chance: see [`world::Traits`].
//!
//! Histories with a name are scripts: one for each fault of the order of events that was found and mended.
//!
//! The others are a number: `HISTORY=<number>` plays one again, with each step on stderr; `HISTORIES=<count>` plays more than usual.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod agent;
mod cluster;
mod ending;
mod faults;
mod grants;
mod named;
mod random;
mod store;
mod things;
mod world;

use world::World;

/// Upper bound on the steps until nothing is due any more.
const MOST_STEPS: usize = 6000;
