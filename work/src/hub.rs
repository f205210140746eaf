//! The controller of the hub: it makes the ManifestWorks of ManifestWorkReplicaSets, and deletes finished ones after their time.
