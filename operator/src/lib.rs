//! The operators: they install and upgrade a hub by a ClusterManager, and the agent of a cluster by a Klusterlet.
//!
//! They do the work of OCM's operators.
//!
//! # Shape
//! What is due is decided in `berth-operator-core`, plain functions. [`hub`] and [`cluster`] keep what they read of the API server, each as a
//! world on the kit of all controllers ([`berth_reconcile`]) with its table of kinds; `settle` carries out what is decided for either.
//!
//! # Guarantees
//! - What is as it should be gets no write, and no request but for watches.
//! - What another client changes or deletes of the operator's objects is put back at once.
//! - An object that cannot be written holds up those that need it, and no others; the ClusterManager or Klusterlet says why.
//! - Killed at any time, it goes on where it was: all that it knows is in the objects.

pub mod cluster;
mod elsewhere;
pub mod hub;
mod reach;
mod seen;
mod settle;
mod sight;
mod tls;
