//! What the API serves: Kubernetes' kinds as far as devhub has them, and those of CustomResourceDefinitions.

pub(crate) mod age;
pub mod builtin;
pub mod custom;
mod definition;
pub(crate) mod metadata;
mod registry;
pub mod schema;

pub use definition::{
    Behaviour, Cell, Column, Columns, Plain, Reading, Resource, Subresource, Verb, WriteKind,
    WriteTo,
};
pub use registry::{Registry, Served};
