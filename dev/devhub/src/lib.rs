//! A Kubernetes-compatible API server within this process: a hub for development, for `berth demo` and the tests.
//!
//! It is used through ordinary clients (`kubectl`, `kube`, curl), and honest: what it does not implement it refuses and says
//! so. State lives in memory. It is no product; production is Kubernetes.
//!
//! # The rooms
//! - `storage`: objects, revisions, watches.
//! - `resources`: built-in kinds and CustomResourceDefinitions; their schemas.
//! - `writes`: creations, updates, patches, server-side apply, deletions.
//! - `admission`: calls webhooks.
//! - `authentication`, `authorization`: who, and whether.
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

pub use hub::{DevHub, StartError};
pub use options::{Options, Services};
pub use user::User;
use world::World;
