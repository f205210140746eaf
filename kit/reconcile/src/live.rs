//! What runs in this process, for gauges that are computed on scrape.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What runs in this process, if it does: only the leader runs a world. Clones are of the same.
pub struct Live<T: ?Sized>(Arc<Mutex<Option<Weak<T>>>>);

// === impl Live ===

impl<T: ?Sized> Live<T> {
    /// To be called when it begins ([`super::World::begun`]).
    pub fn begun(&self, it: Weak<T>) {
        *self.lock() = Some(it);
    }

    /// To be called when it is over ([`super::World::over`]): another process may report it now.
    pub fn over(&self) {
        *self.lock() = None;
    }

    /// What runs, if it does.
    pub fn get(&self) -> Option<Arc<T>> {
        self.lock().as_ref()?.upgrade()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Weak<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Default for Live<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: ?Sized> fmt::Debug for Live<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

impl<T: ?Sized> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
