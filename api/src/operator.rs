//! What is installed on hubs and clusters (`operator.open-cluster-management.io`): a [`ClusterManager`] declares the components of a hub, a
//! [`Klusterlet`] the agents of a cluster.
//!
//! Both are read and written as leniently as [`ManagedCluster`](crate::cluster::ManagedCluster).

mod cluster_manager;
mod klusterlet;
mod shared;

pub use cluster_manager::{
    AddOnManagerConfiguration, AutoApproved, AwsIrsaHub, BindConfiguration, ClusterManager,
    ClusterManagerDeployOption, ClusterManagerMode, ClusterManagerSpec, ClusterManagerStatus,
    DefaultOption, Endpoint, EndpointExposure, EndpointProtocol, EndpointType, ExposedEndpoint,
    HostedOption, HostedWebhookConfiguration, HostnameEndpoint, ImporterConfiguration,
    PlacementConfiguration, RegistrationAuthType, RegistrationDriverHub,
    RegistrationHubConfiguration, ServerConfiguration, WebhookConfiguration, WorkConfiguration,
    WorkDriver,
};
pub use klusterlet::{
    AddOnAuthType, AddOnRegistrationDriver, AwsIrsa, BootstrapKubeConfigs,
    BootstrapKubeConfigsType, ClusterClaimConfiguration, HubApiServerHostAlias, Klusterlet,
    KlusterletDeployOption, KlusterletMode, KlusterletSpec, KlusterletStatus, KubeConfigSecret,
    LocalSecrets, RegistrationConfiguration, RegistrationDriver, ServerUrl, TokenConfiguration,
    WorkAgentConfiguration,
};
pub use shared::{
    FeatureGate, FeatureGateMode, GenerationStatus, RelatedResource, ResourceQosClass,
    ResourceRequirement,
};
