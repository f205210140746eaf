//! `berth placement debug`: OCM's debug endpoint of placements, with the reasons for all clusters.

use std::path::PathBuf;

use berth_admin::placement_debug;
use berth_hub::{Access, HubApi};
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use crate::common::{LogArgs, TlsArgs};
use crate::leading::{HealthPort, Reviews};
use crate::ports::Address;
use crate::signals;

pub(super) const EXAMPLES: &str = "\
Examples:
  # In a pod, with manifests/placement/debug
  berth placement debug

  # Outside of the hub's cluster
  berth placement debug --kubeconfig ~/.kube/hub --listen 127.0.0.1:9443

  # Ask it about a stored placement, and about one that is not stored
  curl -k -H \"Authorization: Bearer $(kubectl create token me)\" https://127.0.0.1:9443/debug/placements/team-a/app
  curl -k -H \"Authorization: Bearer $(kubectl create token me)\" https://127.0.0.1:9443/debug/placements/ -d @placement.json

The caller needs the verb get or post on the non-resource URL /debug/placements/*, and the verb get or create on placements in the
namespace. The response has OCM's fields, and in 'explanation' the reason for each cluster, as 'berth placement explain -o json' prints.
Clusters of other sets are named only to callers that may list managedclusters.";

/// The flags of `berth placement debug`.
#[derive(Debug, clap::Args)]
pub(super) struct DebugArgs {
    /// Kubeconfig of the hub [default: the files of $KUBECONFIG, else the cluster that this runs in]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Address of /debug/placements/, /healthz, /readyz and /metrics, over TLS; the port may be 'auto' for any free port.
    /// The certificate comes from /var/run/secrets/serving-cert, or else it is self-signed
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:9443")]
    listen: Address,
    /// Accepted, as OCM starts it; there is no leader election
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide = true)]
    disable_leader_election: Option<bool>,
    /// Accepted, as OCM starts it
    #[arg(long, hide = true)]
    namespace: Option<String>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    pub(super) logs: LogArgs,
}

/// Serves until a signal.
pub(super) async fn work(args: &DebugArgs) -> anyhow::Result<()> {
    let (tls, warnings) = args.tls.options()?;
    for warning in warnings.iter().chain(&args.logs.warnings()) {
        tracing::warn!("{warning}");
    }
    let registry = Registry::new();
    berth_serve::metrics::process(&registry);
    berth_hub::register_requests(&registry)?;
    let api = HubApi::connect(&Access::of_server(args.kubeconfig.clone())).await?;
    let port = HealthPort::open(api.clone(), args.listen, tls, &registry).await?;
    let port = port.with_routes(placement_debug(api.clone(), Reviews(api)));
    tracing::info!(
        debug = %port.address()?,
        version = env!("CARGO_PKG_VERSION"),
        "serving",
    );
    signals::stop_orderly("", async |stop| {
        let until_stopped = async |stop: CancellationToken| {
            stop.cancelled().await;
            Ok(())
        };
        port.serve(&stop, until_stopped).await
    })
    .await?;
    tracing::info!("stopped");
    Ok(())
}
