//! What a controller stands on: watches, queues, plans, writes, Events and metrics.
//!
//! # Shape
//! A reconciler is `observe -> decide -> apply`. A controller brings along its [`World`]: the facts that it keeps, which keys a
//! change of them concerns, and what is due for a key ([`World::decide`], a plain function of facts and time). A table of kinds
//! ([`Watched`]) says what is watched and what is made of an object as it is read. The [`Engine`] does the rest: it lists and
//! watches, keeps [`Seen`] versions, queues keys, carries out plans, and decides again with what the writes made, until
//! nothing is due.
//!
//! # Guarantees
//! - Nothing is decided before every kind that is needed has been listed once.
//! - A key is worked on once at a time; keys come out in the order they became due, and one that fails waits longer each time.
//! - What a write was answered with is seen at once, so that nothing is written twice while a watch is on its way.
//! - No write is under way once the [`Settings::term`] is over.
//! - One object that cannot be read concerns itself only. No list is in memory whole, and no object larger than 4 MiB is read.
//! - At rest nothing is written, and nothing is asked but that watches are begun anew every five minutes.
//!
//! Several API servers may be worked on at once ([`Watched::on`], [`World::server`]), and rows may come and go while the
//! controller runs ([`Work::watch`], [`Work::unwatch`]).
//!
//! # A reconciler of one kind
//! ```no_run
#![doc = include_str!("../examples/toy.rs")]
//! ```

mod engine;
mod events;
mod limit;
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
mod work;
mod world;
mod writer;

pub use engine::{Ended, Engine, Settings};
pub use events::{Reference, Regarding};
pub use limit::Limit;
pub use metrics::Metrics;
pub use object::{Item, Meta, RawObject};
pub use one::follow_one;
pub use refusal::Refusal;
pub use seen::{Seen, Source};
pub use trim::{Keep, LabelKeys, trim};
pub use watch::WatchError;
pub use watched::Watched;
pub use work::{Locked, ROUNDS, Work, WriteOutcome, failed, never_settled, now};
pub use world::{Lane, Sight, Wakes, World};
pub use writer::{Writer, Written};
