//! The agent of a managed cluster: it makes the objects of ManifestWorks real there, and reports them to the hub.
