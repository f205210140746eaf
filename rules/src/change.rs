//! A change to one object, as the API server submits it for admission.

/// The operation on the object. The rules do not guard DELETE and CONNECT, so these never reach them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is new.
    Create,
    /// A stored object is changed.
    Update,
}

/// A change to one object.
#[derive(Clone, Debug)]
pub struct Change<'a, T> {
    /// The name of the object, as the API server resolved it.
    pub name: &'a str,
    /// The namespace of the object; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The user name of the requester, for messages. Permissions are asked with the whole identity.
    pub user: &'a str,
    /// The object as submitted (and, on the validating path, as mutated).
    pub new: T,
    /// The stored object; `None` makes the change a CREATE.
    pub old: Option<T>,
}

impl<T> Change<'_, T> {
    /// CREATE without a stored object, UPDATE with one.
    pub fn operation(&self) -> Operation {
        if self.old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        }
    }
}
