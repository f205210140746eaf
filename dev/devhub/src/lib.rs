//! A Kubernetes-compatible API server within this process: a hub for development, for `berth demo` and the tests.
//!
//! Ordinary clients use it (`kubectl`, `kube`, curl). It refuses what it does not implement, with a clear message. State is kept
//! in memory. It is not a product: use Kubernetes in production.
//!
//! # Modules
//! - `storage`: objects, revisions, watches.
//! - `resources`: built-in kinds and CustomResourceDefinitions; their schemas.
//! - `writes`: creations, updates, patches, server-side apply, deletions.
//! - `admission`: calls webhooks.
//! - `authentication`, `authorization`: identify users, and check their permissions.
//! - `protocol`: HTTP, discovery, selectors, tables, OpenAPI.
//! - `background`: garbage collection, namespaces, signing of certificates.

mod admission;
mod authentication;
mod authorization;
mod background;
mod expressions;
mod hub;
mod object;
mod options;
mod protocol;
mod resources;
mod status;
mod storage;
mod user;
mod world;
mod writes;

pub use hub::{DevHub, Snapshot, StartError};
pub use options::{Options, Services};
pub use user::User;
use world::World;
