//! The resources that the API serves: built-in kinds, and those of CustomResourceDefinitions.

pub(crate) mod age;
pub(crate) mod builtin;
pub(crate) mod custom;
mod definition;
pub(crate) mod metadata;
mod registry;
pub(crate) mod schema;

#[cfg(test)]
pub(crate) use definition::Plain;
pub(crate) use definition::{
    Behaviour, Cell, Column, Columns, Reading, Resource, Subresource, Verb, WriteTo,
};
pub(crate) use registry::{Registry, Served};
