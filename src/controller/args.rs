//! The flags of the lifecycle, and the settings that they define.

use anyhow::bail;
use berth_api::reserved::ReservedPrefixes;
use berth_lifecycle_core::config::{Config, Gates};

use super::lists;
use crate::common::ignored_flags;

#[derive(Debug, clap::Args)]
pub(crate) struct LifecycleArgs {
    /// Users whose CSRs are approved automatically, and whose clusters are accepted automatically (repeatable); requires the
    /// feature gate ManagedClusterAutoApproval. Excluded are clusters that an admin denied, clusters whose namespace exists
    /// without their label, and clusters in another set than default. Clusters that have joined also require the feature
    /// gate ManagedClusterAutoRebootstrap
    #[arg(long, value_name = "USERS")]
    auto_approved_csr_users: Vec<String>,
    /// The former name of --auto-approved-csr-users.
    #[arg(long, hide = true)]
    cluster_auto_approval_users: Vec<String>,
    /// Resources to delete from the namespace of a deleted cluster, in this order (repeatable; may be empty)
    /// [default: addon.open-cluster-management.io/v1beta1/managedclusteraddons,work.open-cluster-management.io/v1/manifestworks]
    #[arg(long, value_name = "GROUP/VERSION/RESOURCE")]
    gc_resource_list: Option<Vec<String>>,
    /// Labels of all objects that are created for a cluster (repeatable). The two ClusterRoles that all agents share get them only when the
    /// controller writes their rules: they ship as a manifest
    #[arg(long, value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Registration drivers; only csr is supported
    #[arg(long, value_name = "DRIVERS", default_value = "csr")]
    enabled_registration_drivers: Vec<String>,
    #[command(flatten)]
    ignored: NoMeaning,
}

/// Flags of OCM's controller that are accepted and ignored.
#[derive(Debug, clap::Args)]
struct NoMeaning {
    #[arg(long, hide = true)]
    agent_image: Option<String>,
    #[arg(long, hide = true)]
    auto_approved_arn_patterns: Option<String>,
    #[arg(long, hide = true)]
    auto_approved_grpc_users: Option<String>,
    #[arg(long, hide = true)]
    aws_resource_tags: Option<String>,
    #[arg(long, hide = true)]
    bootstrap_serviceaccount: Option<String>,
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    grpc_ca_file: Option<String>,
    #[arg(long, hide = true)]
    grpc_key_file: Option<String>,
    #[arg(long, hide = true)]
    grpc_signing_duration: Option<String>,
    #[arg(long, hide = true)]
    hub_apiserver_url: Option<String>,
    #[arg(long, hide = true)]
    hub_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    image_pull_secret_name: Option<String>,
    #[arg(long, hide = true)]
    import_renderers: Option<String>,
    #[arg(long, hide = true)]
    terminate_on_files: Option<String>,
}

/// The settings that the flags define.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// Warnings for the log.
    pub(crate) warnings: Vec<String>,
}

// === impl LifecycleArgs ===

impl LifecycleArgs {
    /// Returns the settings of the lifecycle on a hub with its components in `namespace`.
    ///
    /// # Errors
    /// A flag has an invalid value; the message names it.
    pub(crate) fn settings(
        &self,
        namespace: &str,
        gates: Gates,
        reserved_prefixes: ReservedPrefixes,
    ) -> anyhow::Result<Settings> {
        let mut warnings = self.ignored.warnings();
        for driver in lists::entries(&self.enabled_registration_drivers) {
            if driver != "csr" {
                bail!("--enabled-registration-drivers: {driver:?} is not supported; only csr is");
            }
        }
        let users = [
            &self.auto_approved_csr_users,
            &self.cluster_auto_approval_users,
        ]
        .map(|it| lists::set(it));
        if !users[1].is_empty() {
            warnings.push(
                "--cluster-auto-approval-users is deprecated, use --auto-approved-csr-users instead".to_owned(),
            );
        }
        let [users, deprecated] = users;
        let users = if users.is_empty() { deprecated } else { users };
        if !users.is_empty() && !gates.auto_approval {
            warnings.push(
                "--auto-approved-csr-users has no effect without --feature-gates=ManagedClusterAutoApproval=true"
                    .to_owned(),
            );
        }
        if gates.auto_rebootstrap && !gates.auto_approval {
            warnings.push(
                "feature gate ManagedClusterAutoRebootstrap has no effect without ManagedClusterAutoApproval"
                    .to_owned(),
            );
        }
        Ok(Settings {
            config: Config {
                namespace: namespace.to_owned(),
                reserved_prefixes,
                labels: lists::labels(&self.labels)?,
                gates,
                auto_approved_users: users,
                gc_resources: lists::gc_resources(self.gc_resource_list.as_deref())?,
            },
            warnings,
        })
    }
}

// === impl NoMeaning ===

impl NoMeaning {
    fn warnings(&self) -> Vec<String> {
        let flags = [
            ("agent-image", &self.agent_image),
            (
                "auto-approved-arn-patterns",
                &self.auto_approved_arn_patterns,
            ),
            ("auto-approved-grpc-users", &self.auto_approved_grpc_users),
            ("aws-resource-tags", &self.aws_resource_tags),
            ("bootstrap-serviceaccount", &self.bootstrap_serviceaccount),
            ("config", &self.config),
            ("grpc-ca-file", &self.grpc_ca_file),
            ("grpc-key-file", &self.grpc_key_file),
            ("grpc-signing-duration", &self.grpc_signing_duration),
            ("hub-apiserver-url", &self.hub_apiserver_url),
            ("hub-cluster-arn", &self.hub_cluster_arn),
            ("image-pull-secret-name", &self.image_pull_secret_name),
            ("import-renderers", &self.import_renderers),
            ("terminate-on-files", &self.terminate_on_files),
        ];
        ignored_flags(&flags.map(|(flag, value)| (flag, value.is_some())))
    }
}
