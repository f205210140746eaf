//! What a reconcile works on.

/// An object, by namespace and name.
pub(super) type Place = (String, String);

/// What a reconcile works on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// An add-on as a whole, by its name.
    AddOn(String),
    /// An add-on on a cluster: the namespace and the name of a ManagedClusterAddOn, which may not exist.
    OnCluster(Place),
    /// The permissions of an add-on, by its name, which may not exist.
    Permissions(String),
    /// A CertificateSigningRequest, by its name.
    Request(String),
    /// The tokens of an add-on on a cluster: the namespace and the name of a ManagedClusterAddOn, which may not exist.
    Tokens(Place),
}

/// The object of this namespace and name.
pub(super) fn place(namespace: &str, name: &str) -> Place {
    (namespace.to_owned(), name.to_owned())
}
