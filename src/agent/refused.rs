//! Flags of OCM's agent for registration by gRPC or by AWS, which this agent does not do; and flags without effect.

use anyhow::bail;

use crate::common::ignored_flags;

/// Flags of OCM's agent that change what it does in a way that this agent cannot.
#[derive(Debug, clap::Args)]
pub(super) struct Refused {
    #[arg(long, hide = true)]
    hub_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    managed_cluster_arn: Option<String>,
    #[arg(long, hide = true)]
    managed_cluster_role_suffix: Option<String>,
    #[arg(long, hide = true)]
    grpc_bootstrap_config: Option<String>,
    #[arg(long, hide = true)]
    grpc_config: Option<String>,
    /// Only csr is supported.
    #[arg(long, hide = true)]
    registration_auth: Option<String>,
}

/// Flags of OCM's agent that are accepted and ignored.
#[derive(Debug, clap::Args)]
pub(super) struct WithoutEffect {
    #[arg(long, hide = true)]
    bootstrap_kubeconfig_secret: Option<String>,
    #[arg(long, hide = true)]
    config: Option<String>,
    #[arg(long, hide = true)]
    hub_kube_api_burst: Option<String>,
    #[arg(long, hide = true)]
    hub_kube_api_qps: Option<String>,
    #[arg(long, hide = true)]
    kube_api_burst: Option<String>,
    #[arg(long, hide = true)]
    kube_api_qps: Option<String>,
    /// Only kube is supported; the kubeconfig is that of the registration.
    #[arg(long, hide = true)]
    workload_source_driver: Option<String>,
    #[arg(long, hide = true)]
    workload_source_config: Option<String>,
    #[arg(long, hide = true)]
    cloudevents_client_id: Option<String>,
    #[arg(long, hide = true)]
    cloudevents_client_codecs: Option<String>,
    #[arg(long, hide = true)]
    hub_kubeconfig: Option<String>,
}

impl Refused {
    /// Checks that none of the flags asks for what this agent does not do.
    ///
    /// # Errors
    /// A flag does; the message names it.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let given = |text: &Option<String>| text.as_ref().is_some_and(|it| !it.is_empty());
        for (flag, is_given) in [
            ("hub-cluster-arn", given(&self.hub_cluster_arn)),
            ("managed-cluster-arn", given(&self.managed_cluster_arn)),
            (
                "managed-cluster-role-suffix",
                given(&self.managed_cluster_role_suffix),
            ),
            ("grpc-bootstrap-config", given(&self.grpc_bootstrap_config)),
            ("grpc-config", given(&self.grpc_config)),
        ] {
            if is_given {
                bail!(
                    "--{flag}: this agent registers by certificate signing requests only; remove the flag"
                );
            }
        }
        if let Some(driver) = self.registration_auth.as_deref()
            && !matches!(driver, "" | "csr")
        {
            bail!("--registration-auth: {driver:?} is not supported; the only driver is \"csr\"");
        }
        Ok(())
    }
}

impl WithoutEffect {
    /// Returns warnings about ignored flags. Those that the operator always sets are ignored silently.
    pub(super) fn warnings(&self) -> Vec<String> {
        ignored_flags(&[("config", self.config.is_some())])
    }
}
