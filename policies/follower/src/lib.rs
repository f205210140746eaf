//! Watches the gate's rules as policies of the API server, and reports a policy that is gone.
//!
//! - [`Follower`] watches each policy and binding by its name, and sets the metric `berth_admission_policies`.
//! - `sight` is pure: what was seen so far, and the state of each policy that follows from it.
//!
//! # Promises
//! - It reads only, so every replica of the controller may run it, and no Lease is needed. A role that grants list and watch
//!   on the names of the policies suffices.
//! - It reports nothing until a policy has been seen. From then on, policies that disappear are missing, even all of them.
//!   The memory ends with the process.
//! - Where the API server does not serve policies, or the role is missing, it sends one request every few minutes, and logs one
//!   line.
//! - A state is reported when nothing has changed for a few seconds: an upgrade replaces policies one after the other.

mod follower;
mod sight;

pub use follower::Follower;
