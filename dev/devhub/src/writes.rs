//! All changes of objects: they are prepared, validated and committed here.

pub(crate) mod apply;
mod body;
mod change;
mod check;
mod create;
mod delete;
mod go;
mod merge;
mod metadata;
pub(crate) mod operations;
mod options;
mod patch;
pub(crate) mod strategic;
mod update;

pub(crate) use create::create;
pub(crate) use delete::{
    DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation, delete, delete_collection,
};
pub(crate) use options::{FieldValidation, WriteOptions, WriteOutcome, Writer};
pub(crate) use patch::{Patch, patch};
pub(crate) use update::update;
