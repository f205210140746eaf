//! The flags of clusteradm's `init` that Berth's lacks: taken as values, accepted with a warning, or refused by name.
//!
//! A flag is accepted if the hub works all the same, and refused if the user would get something else than they asked for.

use serde_json::{Value, json};

use super::values::Given;
use crate::failure::CommandError;

/// The flags. The help hides them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ForeignFlags {
    #[arg(long, hide = true, conflicts_with = "image")]
    image_registry: Option<String>,
    #[arg(long, hide = true, requires = "image_registry")]
    bundle_version: Option<String>,
    #[arg(long, hide = true)]
    bundle_version_overrides: Option<String>,
    #[arg(long, hide = true)]
    image_pull_credential_file: Option<String>,
    #[arg(long, hide = true)]
    cluster_manager_values_file: Option<String>,
    #[arg(long, hide = true, value_delimiter = ',')]
    feature_gates: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    force: Option<bool>,
    #[arg(short, long, hide = true)]
    output: Option<String>,
    #[arg(long, hide = true)]
    output_file: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    create_namespace: Option<bool>,
    #[arg(long, hide = true)]
    resource_qos_class: Option<String>,
    #[arg(long, hide = true)]
    resource_limits: Vec<String>,
    #[arg(long, hide = true)]
    resource_requests: Vec<String>,
    #[arg(long, hide = true, value_delimiter = ',')]
    registration_drivers: Vec<String>,
    #[arg(long, hide = true)]
    hub_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    aws_resource_tags: Vec<String>,
    #[arg(long, hide = true, value_delimiter = ',')]
    auto_approved_csr_identities: Vec<String>,
    #[arg(long, hide = true, value_delimiter = ',')]
    auto_approved_arn_patterns: Vec<String>,
    #[arg(long, hide = true, value_delimiter = ',')]
    auto_approved_grpc_identities: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_sync_labels: Option<bool>,
    #[arg(long, hide = true)]
    grpc_server: Option<String>,
    #[arg(long, hide = true)]
    grpc_endpoint_type: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    singleton: Option<bool>,
    #[arg(long, hide = true)]
    singleton_name: Option<String>,
}

// === impl ForeignFlags ===

impl ForeignFlags {
    /// Returns the image that `--image`, or clusteradm's two flags, name.
    pub(super) fn image(&self, image: Option<&str>) -> Option<String> {
        let registry = self.image_registry.as_deref();
        let named = registry.map(|it| format!("{}/berth", it.trim_end_matches('/')));
        match (image, named, &self.bundle_version) {
            (Some(image), ..) => Some(image.to_owned()),
            (None, Some(image), Some(tag)) => Some(format!("{image}:{tag}")),
            (None, image, _) => image,
        }
    }

    /// Returns the values that flags stand for.
    ///
    /// # Errors
    /// A feature gate is neither on nor off.
    pub(super) fn values(&self) -> Result<Given, CommandError> {
        let mut values = Given::new();
        let mut gates = Given::new();
        for gate in &self.feature_gates {
            let (name, on) = gate.split_once('=').unwrap_or((gate, ""));
            let on: bool = on.parse().map_err(|_| {
                CommandError::Config(format!(
                    "--feature-gates {gate:?} must be NAME=true or NAME=false"
                ))
            })?;
            gates.insert(name.to_owned(), json!(on));
        }
        if !gates.is_empty() {
            values.insert("featureGates".to_owned(), Value::Object(gates));
        }
        let users = &self.auto_approved_csr_identities;
        if !users.is_empty() {
            values.insert("autoApproval".to_owned(), json!({ "users": users }));
        }
        Ok(values)
    }

    /// Returns the warnings.
    ///
    /// # Errors
    /// A flag is refused. The error names it, and says what to do instead.
    pub(super) fn judge(&self) -> Result<Vec<String>, CommandError> {
        let one_way = "Berth registers clusters by certificates only";
        let one_image = "Berth is one image: name it by --image";
        let drivers = &self.registration_drivers;
        let refused = [
            (
                "--bundle-version-overrides",
                self.bundle_version_overrides.is_some(),
                one_image,
            ),
            (
                "--image-pull-credential-file",
                self.image_pull_credential_file.is_some(),
                "create the Secret in namespace open-cluster-management-hub, and name it in imagePullSecrets of a file of --values",
            ),
            (
                "--cluster-manager-values-file",
                self.cluster_manager_values_file.is_some(),
                "they are those of OCM's chart; --values has Berth's",
            ),
            (
                "--output",
                self.output.as_deref().is_some_and(|it| it != "text"),
                "'berth get token -o json' prints token and address for a program",
            ),
            (
                "--output-file",
                self.output_file.is_some(),
                "--output-manifests prints the manifests",
            ),
            (
                "--registration-drivers",
                drivers.iter().any(|it| it != "csr"),
                one_way,
            ),
            ("--hub-cluster-arn", self.hub_cluster_arn.is_some(), one_way),
            (
                "--aws-resource-tags",
                !self.aws_resource_tags.is_empty(),
                one_way,
            ),
            (
                "--auto-approved-arn-patterns",
                !self.auto_approved_arn_patterns.is_empty(),
                one_way,
            ),
            (
                "--auto-approved-grpc-identities",
                !self.auto_approved_grpc_identities.is_empty(),
                one_way,
            ),
            ("--grpc-server", self.grpc_server.is_some(), one_way),
            (
                "--grpc-endpoint-type",
                self.grpc_endpoint_type.is_some(),
                one_way,
            ),
            (
                "--singleton",
                self.singleton == Some(true),
                "a hub in one process is --mode hub",
            ),
            (
                "--singleton-name",
                self.singleton_name.is_some(),
                "a hub in one process is --mode hub",
            ),
            (
                "--create-namespace",
                self.create_namespace == Some(false),
                "the namespace is one of the objects; it stays as it is if it exists",
            ),
        ];
        if let Some((flag, _, instead)) = refused.iter().find(|(_, given, _)| *given) {
            return Err(CommandError::Config(format!(
                "{flag} is not supported: {instead}"
            )));
        }
        let ignored = [
            (
                "--force",
                self.force == Some(true),
                "the checks cannot be left out; each says what to do",
            ),
            (
                "--resource-qos-class",
                self.resource_qos_class.is_some(),
                "requests and limits are set; size and resources of --values change them",
            ),
            (
                "--resource-limits",
                !self.resource_limits.is_empty(),
                "set gate.resources and controller.resources in a file of --values",
            ),
            (
                "--resource-requests",
                !self.resource_requests.is_empty(),
                "set gate.resources and controller.resources in a file of --values",
            ),
            (
                "--enable-sync-labels",
                self.enable_sync_labels == Some(true),
                "there is no ClusterManager whose labels could be copied",
            ),
        ];
        Ok(ignored
            .iter()
            .filter(|(_, given, _)| *given)
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
        #[arg(long)]
        image: Option<String>,
        #[command(flatten)]
        flags: ForeignFlags,
    }

    fn parsed(line: &str) -> Line {
        Line::try_parse_from(format!("init {line}").split_whitespace()).unwrap()
    }

    #[test]
    fn what_the_user_would_not_get_is_refused_by_name() {
        for (line, words) in [
            ("--registration-drivers csr,grpc", "--registration-drivers"),
            ("--singleton", "--mode hub"),
            ("-o json", "berth get token -o json"),
            ("--create-namespace=false", "--create-namespace"),
            ("--cluster-manager-values-file f", "--values has Berth's"),
        ] {
            let error = parsed(line).flags.judge().unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn flags_of_values_are_taken() {
        let line = "--feature-gates=PlacementScores=true,ResourceCleanup=false --auto-approved-csr-identities a,b";
        let values = parsed(line).flags.values().unwrap();
        let expected = json!({
            "featureGates": {"PlacementScores": true, "ResourceCleanup": false},
            "autoApproval": {"users": ["a", "b"]},
        });
        assert_eq!(Value::Object(values), expected);
        assert_eq!(parsed("").flags.values().unwrap(), Given::new());
        let error = parsed("--feature-gates A").flags.values().unwrap_err();
        assert!(
            error.to_string().contains("NAME=true or NAME=false"),
            "{error}"
        );
    }

    #[test]
    fn the_rest_is_taken_or_warned_about() {
        assert_eq!(
            parsed("--registration-drivers csr -o text --create-namespace")
                .flags
                .judge()
                .unwrap(),
            [""; 0]
        );
        let warnings = parsed("--force --resource-limits a=b").flags.judge();
        assert_eq!(warnings.unwrap().len(), 2);
        for (line, image) in [
            ("", None),
            ("--image r/b:1", Some("r/b:1")),
            ("--image-registry r.io/ocm/", Some("r.io/ocm/berth")),
            ("--image-registry r --bundle-version v1", Some("r/berth:v1")),
        ] {
            let line = parsed(line);
            assert_eq!(line.flags.image(line.image.as_deref()).as_deref(), image);
        }
    }
}
