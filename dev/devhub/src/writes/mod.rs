//! Every change of an object goes through here: what it becomes, whether it may be, and its commit.

pub mod apply;
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
pub mod strategic;
mod update;

pub use create::create;
pub use delete::{
    DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation, delete, delete_collection,
};
pub use options::{FieldValidation, Outcome, WriteOptions, Writer};
pub use patch::{Patch, patch};
pub use update::update;
