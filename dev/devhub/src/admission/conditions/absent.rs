//! The value of `object` or `oldObject` in CEL for a write that has no such object.
//!
//! It is null. As in Kubernetes, `has(oldObject.metadata)` is false then, where the null of the `cel` crate fails, and
//! `oldObject.metadata` fails with a missing key.

use std::any::Any;
use std::sync::Arc;

use cel::ExecutionError;
use cel::common::traits::{Indexer, Zeroer};
use cel::common::types::{CelNull, CelString, Type};
use cel::common::value::{CowVal, StaticVal, Val};

#[derive(Clone, Copy, Debug)]
pub(super) struct Absent;

static NULL: CelNull = CelNull;

impl Val for Absent {
    fn get_type(&self) -> &Type {
        <Self as Val>::cel_type()
    }

    fn cel_type() -> &'static Type {
        CelNull::cel_type()
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_zeroer(&self) -> Option<&dyn Zeroer> {
        NULL.as_zeroer()
    }

    fn equals(&self, other: &dyn Val) -> bool {
        NULL.equals(other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(*self)
    }

    /// So that null, too, finds itself equal to this.
    fn as_any(&self) -> Option<&dyn Any> {
        Some(&NULL)
    }
}

impl StaticVal for Absent {}

impl Indexer for Absent {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        Err(no_such_key(index))
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        Err(no_such_key(index))
    }
}

fn no_such_key(index: &dyn Val) -> ExecutionError {
    let key = index.downcast_ref::<CelString>();
    let key = key.map_or_else(String::new, |key| key.inner().to_owned());
    ExecutionError::NoSuchKey(Arc::new(key))
}
