//! Berth: Kubernetes RBAC evaluation as a pure library
