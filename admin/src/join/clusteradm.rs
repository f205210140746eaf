//! The flags of clusteradm's `join` that Berth does not need: accepted with a warning, or refused by name.
//!
//! A flag is accepted if the cluster joins all the same, and refused if the user would get something else than they asked for.

use crate::failure::CommandError;

/// The flags. The help hides them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ForeignFlags {
    #[arg(short, long, hide = true)]
    mode: Option<String>,
    #[arg(long, hide = true)]
    managed_cluster_kubeconfig: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    force_internal_endpoint_lookup_managed: Option<bool>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    singleton: Option<bool>,
    #[arg(long, hide = true)]
    registration_auth: Option<String>,
    #[arg(long, hide = true)]
    addon_kubeclient_registration_auth: Option<String>,
    #[arg(long, hide = true)]
    addon_token_expiration_seconds: Option<u32>,
    #[arg(long, hide = true)]
    hub_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    managed_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    grpc_server: Option<String>,
    #[arg(long, hide = true)]
    grpc_ca_file: Option<String>,
    #[arg(long, hide = true)]
    klusterlet_values_file: Option<String>,
    #[arg(long, hide = true)]
    bundle_version_overrides: Option<String>,
    #[arg(long, hide = true)]
    image_pull_credential_file: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    capi_import: Option<bool>,
    #[arg(long, hide = true)]
    capi_kubeconfig: Option<String>,
    #[arg(long, hide = true)]
    capi_cluster_name: Option<String>,
    #[arg(long, hide = true)]
    resource_qos_class: Option<String>,
    #[arg(long, hide = true)]
    resource_limits: Vec<String>,
    #[arg(long, hide = true)]
    resource_requests: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    create_namespace: Option<bool>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_sync_labels: Option<bool>,
}

// === impl ForeignFlags ===

impl ForeignFlags {
    /// Returns the warnings.
    ///
    /// # Errors
    /// A flag is refused. The error names it, and says what to do instead.
    pub(super) fn judge(&self) -> Result<Vec<String>, CommandError> {
        let other = |value: &Option<String>, usual: &str| {
            value
                .as_deref()
                .filter(|value| !value.is_empty() && *value != usual)
                .map(str::to_owned)
        };
        let given = |value: &Option<String>| other(value, "");
        let hosted =
            "an agent outside of its cluster (mode Hosted) cannot be installed by this command";
        let one_way = "Berth registers clusters by certificates only";
        let refused = [
            ("--mode", other(&self.mode, "default"), hosted),
            (
                "--managed-cluster-kubeconfig",
                given(&self.managed_cluster_kubeconfig),
                hosted,
            ),
            (
                "--force-internal-endpoint-lookup-managed",
                self.force_internal_endpoint_lookup_managed
                    .filter(|it| *it)
                    .map(|_| String::new()),
                hosted,
            ),
            (
                "--registration-auth",
                other(&self.registration_auth, "csr"),
                one_way,
            ),
            (
                "--addon-kubeclient-registration-auth",
                other(&self.addon_kubeclient_registration_auth, "csr"),
                "Berth's agent registers no add-ons by token",
            ),
            ("--hub-cluster-arn", given(&self.hub_cluster_arn), one_way),
            (
                "--managed-cluster-arn",
                given(&self.managed_cluster_arn),
                one_way,
            ),
            ("--grpc-server", given(&self.grpc_server), one_way),
            ("--grpc-ca-file", given(&self.grpc_ca_file), one_way),
            (
                "--klusterlet-values-file",
                given(&self.klusterlet_values_file),
                "it is for OCM's chart: --output-values prints those of Berth's",
            ),
            (
                "--bundle-version-overrides",
                given(&self.bundle_version_overrides),
                "Berth is one image: name it by --image",
            ),
            (
                "--image-pull-credential-file",
                given(&self.image_pull_credential_file),
                "create the Secret in namespace open-cluster-management-agent, and add it to imagePullSecrets of ServiceAccount berth-agent",
            ),
            (
                "--capi-import",
                self.capi_import.filter(|it| *it).map(|_| String::new()),
                "use the kubeconfig of the cluster: --kubeconfig",
            ),
            (
                "--capi-kubeconfig",
                given(&self.capi_kubeconfig),
                "use the kubeconfig of the cluster: --kubeconfig",
            ),
            (
                "--capi-cluster-name",
                given(&self.capi_cluster_name),
                "use the kubeconfig of the cluster: --kubeconfig",
            ),
            (
                "--create-namespace",
                self.create_namespace
                    .filter(|it| !*it)
                    .map(|_| "false".to_owned()),
                "the namespace is applied with the agent",
            ),
        ];
        for (flag, value, why) in refused {
            if let Some(value) = value {
                let between = if value.is_empty() { "" } else { " " };
                return Err(CommandError::Config(format!(
                    "{flag}{between}{value} is not supported: {why}"
                )));
            }
        }
        let resources = "the Deployment's resources stay as they are: change them with kubectl";
        let ignored = [
            (
                "--addon-token-expiration-seconds",
                self.addon_token_expiration_seconds > Some(0),
                "Berth's agent registers no add-ons by token",
            ),
            (
                "--singleton",
                self.singleton == Some(true),
                "the agent is one process",
            ),
            (
                "--resource-qos-class",
                self.resource_qos_class.is_some(),
                resources,
            ),
            (
                "--resource-limits",
                !self.resource_limits.is_empty(),
                resources,
            ),
            (
                "--resource-requests",
                !self.resource_requests.is_empty(),
                resources,
            ),
            (
                "--enable-sync-labels",
                self.enable_sync_labels == Some(true),
                "there is no Klusterlet whose labels could be copied",
            ),
        ];
        let warnings = ignored.into_iter().filter(|(_, given, _)| *given);
        Ok(warnings
            .map(|(flag, _, why)| format!("{flag} has no effect: {why}"))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: ForeignFlags,
    }

    fn judged(line: &str) -> Result<Vec<String>, String> {
        let words = std::iter::once("join").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        line.flags.judge().map_err(|failure| failure.to_string())
    }

    #[test]
    fn what_changes_nothing_is_accepted() {
        for line in [
            "",
            "--mode default",
            "-m default",
            "--registration-auth csr",
            "--addon-kubeclient-registration-auth csr",
            "--addon-token-expiration-seconds 0",
            "--singleton=false",
            "--create-namespace",
            "--create-namespace=true",
            "--capi-import=false",
        ] {
            assert_eq!(judged(line), Ok(Vec::new()), "{line}");
        }
    }

    #[test]
    fn what_makes_no_difference_to_the_hub_is_warned_about() {
        for (line, flag) in [
            ("--singleton", "--singleton"),
            (
                "--addon-token-expiration-seconds 600",
                "--addon-token-expiration-seconds",
            ),
            ("--resource-qos-class BestEffort", "--resource-qos-class"),
            ("--resource-limits cpu=1,memory=1Gi", "--resource-limits"),
            ("--resource-requests cpu=1", "--resource-requests"),
            ("--enable-sync-labels", "--enable-sync-labels"),
        ] {
            let warnings = judged(line).unwrap();
            assert_eq!(warnings.len(), 1, "{line}");
            assert!(
                warnings[0].starts_with(&format!("{flag} has no effect: ")),
                "{warnings:?}"
            );
        }
    }

    #[test]
    fn what_berth_cannot_do_is_refused_by_name() {
        for (line, start) in [
            ("--mode hosted", "--mode hosted is not supported: "),
            (
                "--managed-cluster-kubeconfig f",
                "--managed-cluster-kubeconfig f is",
            ),
            (
                "--force-internal-endpoint-lookup-managed",
                "--force-internal-endpoint-lookup-managed is not",
            ),
            (
                "--registration-auth awsirsa",
                "--registration-auth awsirsa is",
            ),
            ("--registration-auth grpc", "--registration-auth grpc is"),
            (
                "--addon-kubeclient-registration-auth token",
                "--addon-kubeclient-registration-auth token is",
            ),
            ("--hub-cluster-arn a", "--hub-cluster-arn a is"),
            ("--managed-cluster-arn a", "--managed-cluster-arn a is"),
            ("--grpc-server a", "--grpc-server a is"),
            ("--grpc-ca-file a", "--grpc-ca-file a is"),
            (
                "--klusterlet-values-file a",
                "--klusterlet-values-file a is",
            ),
            (
                "--bundle-version-overrides a",
                "--bundle-version-overrides a is",
            ),
            (
                "--image-pull-credential-file a",
                "--image-pull-credential-file a is",
            ),
            ("--capi-import", "--capi-import is not"),
            ("--capi-kubeconfig a", "--capi-kubeconfig a is"),
            ("--capi-cluster-name a", "--capi-cluster-name a is"),
            ("--create-namespace=false", "--create-namespace false is"),
        ] {
            let why = judged(line).unwrap_err();
            assert!(why.starts_with(start), "{line}: {why}");
        }
    }
}
