//! The base of every controller: watches, queues, plans, writes, Events and metrics.
//!
//! # Shape
//! A reconciler is `observe -> decide -> apply`. A controller implements [`World`]: the facts that it keeps, the keys that a
//! change of them concerns, and what is due for a key ([`World::decide`], a plain function of facts and time). A table of kinds
//! ([`Watched`]) names what is watched, and how a fact is read of an object. The [`Engine`] does the rest: it lists and
//! watches, remembers [`Seen`] versions, queues keys, carries out plans, and decides again with the results of the writes,
//! until nothing is due.
//!
//! # Guarantees
//! - No decision is made before every kind that is needed has been listed once.
//! - A key is worked on once at a time. Keys come out in the order they became due; groups of keys ([`World::group`]) take turns. A key
//!   that fails waits longer each time.
//! - The response to a write is seen at once, so that no write is repeated while the watch lags behind.
//! - No write is under way once the [`Settings::term`] is over.
//! - One object that cannot be read concerns itself only. No list is in memory whole, and no object larger than 4 MiB is read.
//! - A settled controller writes nothing, and sends no request except watches, which are renewed every five minutes.
//!
//! A controller may use several API servers ([`Watched::on`], [`World::server`]), and may add and remove rows while it runs
//! ([`Handle::watch`], [`Handle::unwatch`]). A process runs the controllers of one hub, each with a Lease, as [`Controller`]s. A process that
//! only reads one object uses [`follow_one`], one that shows all objects of a kind [`follow_all`].
//!
//! # A reconciler of one kind
//! ```no_run
#![doc = include_str!("../examples/toy.rs")]
//! ```
//!
//! # A controller with its Lease, health and metrics
//! Its decider, its table of kinds, its world and its wiring. A reconciler on another kind is the first two, and what the world does with
//! its fact.
//! ```no_run
#![doc = include_str!("../examples/controller.rs")]
//! ```

mod apart;
mod controller;
mod engine;
mod events;
mod handle;
mod limit;
mod live;
mod metrics;
mod object;
mod one;
pub mod queue;
mod refusal;
pub mod scan;
mod seen;
#[cfg(test)]
mod testing;
mod trim;
mod watch;
mod watched;
mod world;
mod writer;

pub use apart::apart;
pub use controller::{Controller, Names, Progress, RowOf, Running};
pub use engine::{Ended, Engine, Settings};
pub use events::{Reference, Regarding};
pub use handle::{Handle, Locked, Moment, ROUNDS, WriteOutcome, failed, never_settled, now};
pub use limit::Limit;
pub use live::Live;
pub use metrics::{Metrics, number, on_scrape};
pub use object::{Item, Meta, RawObject};
pub use one::follow_one;
pub use refusal::Refusal;
pub use seen::{Seen, Source};
pub use trim::{First, Keep, LabelKeys, trim};
pub use watch::{Reports, WatchError, follow_all};
pub use watched::Watched;
pub use world::{Lane, Report, Wake, World};
pub use writer::{Writer, Written};
