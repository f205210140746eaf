//! A Kubernetes-compatible API server within this process: a hub for development, for `berth demo` and the tests.
//!
//! It is used through ordinary clients (`kubectl`, `kube`, curl), and honest: what it does not implement it refuses and says
//! so. State lives in memory. It is no product; production is Kubernetes.
//!
//! # The rooms
//! - [`storage`]: objects, revisions, watches.
//! - [`resources`]: built-in kinds and CustomResourceDefinitions; their schemas.
//! - [`writes`]: creations, updates, patches, server-side apply, deletions.
//! - [`admission`]: calls webhooks.
//! - [`authentication`], [`authorization`]: who, and whether.
//! - [`protocol`]: HTTP, discovery, selectors, tables, OpenAPI.
//! - [`background`]: garbage collection, namespaces, signing of certificates.

pub mod admission;
pub mod authentication;
pub mod authorization;
pub mod background;
mod expressions;
mod hub;
pub mod object;
mod options;
pub mod protocol;
pub mod resources;
pub mod status;
pub mod storage;
pub mod user;
mod world;
pub mod writes;

pub use hub::{DevHub, StartError};
pub use options::{Options, Services};
pub use world::World;
