//! Add-ons (`addon.open-cluster-management.io`): what runs on managed clusters beside the agent.
//!
//! A [`ClusterManagementAddOn`] defines an add-on, a [`ManagedClusterAddOn`] is an add-on on one cluster. An [`AddOnDeploymentConfig`] and
//! an [`AddOnTemplate`] say how it is deployed. All kinds are read and written as leniently as
//! [`ManagedCluster`](crate::cluster::ManagedCluster). The types are those of v1beta1, and `v1alpha1` has what differs there.

mod config;
mod deployment_config;
mod install;
mod management;
mod on_cluster;
mod template;
pub(crate) mod v1alpha1;

pub use config::{AddOnConfig, AddOnMeta, ConfigGroupResource, ConfigSpecHash};
pub use deployment_config::{
    AddOnDeploymentConfig, AddOnDeploymentConfigSpec, ContainerResourceRequirements,
    CustomizedVariable, ImageMirror, NodePlacement, ProxyConfig,
};
pub use install::{
    DefaultConfigReference, InstallConfigReference, InstallProgression, InstallStrategy,
    InstallStrategyType, PlacementStrategy,
};
pub use management::{
    ClusterManagementAddOn, ClusterManagementAddOnSpec, ClusterManagementAddOnStatus,
};
pub use on_cluster::{
    BaseSubject, ConfigReference, CustomSignerConfig, HealthCheck, HealthCheckMode,
    KubeClientConfig, ManagedClusterAddOn, ManagedClusterAddOnSpec, ManagedClusterAddOnStatus,
    ObjectReference, RegistrationConfig, RegistrationType, Subject,
};
pub use template::{
    AddOnTemplate, AddOnTemplateSpec, CurrentClusterBindingConfig, CustomSignerRegistrationConfig,
    HubPermissionConfig, HubPermissionType, KubeClientRegistrationConfig, RegistrationSpec,
    RegistrationSpecType, RoleReference, SigningCaReference, SingleNamespaceBindingConfig,
    TemplateSubject,
};

/// The namespace of an add-on's agent on its cluster, if nothing names one.
pub const DEFAULT_NAMESPACE: &str = "open-cluster-management-agent-addon";

/// The rule for the names of signers.
const SIGNER_NAME: &str = r"^([a-z0-9][a-z0-9-]*[a-z0-9]\.)+[a-z]+\/[a-z0-9-\.]+$";
