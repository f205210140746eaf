//! `berth get pending`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::bail;
use berth_api::ManagedCluster;
use berth_api::labels::CLUSTER_NAME;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::Resource;

use super::csrs::{cluster, is_pending};
use super::find::warn;
use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::complete;
use crate::hub::{Filter, HubArgs, Item};
use crate::print::{Format, Node, plain};

/// Show clusters that wait to be accepted, and who asks for them
///
/// Shows the clusters that are not accepted, with their CSRs that nobody has decided about. A cluster without a CSR was registered on the hub
/// only, or denied. 'berth accept NAME' lets one in.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth get pending
  berth get pending -o name
  berth accept cluster1")]
pub(super) struct Args {
    /// Only clusters of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::clusters))]
    names: Vec<String>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of clusters that are not accepted, with those who ask for each.
struct Pending {
    /// The senders of undecided CSRs, by cluster. None: CSRs cannot be read.
    requesters: Option<BTreeMap<String, Vec<String>>>,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    if args.show.is_watch() {
        bail!(
            "--watch does not work with pending: use 'berth get clusters -w' or 'berth get csr -w'"
        );
    }
    let query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    let csrs = query
        .hub
        .list_at::<CertificateSigningRequest>(None, &Filter::labels(CLUSTER_NAME))
        .await;
    let requesters = match csrs {
        Ok((csrs, _)) => Some(requesters(&csrs)),
        Err(why) => {
            warn("CSRs", &why);
            None
        }
    };
    query.run(&Pending { requesters }).await
}

/// The senders of undecided CSRs, by cluster; each once, sorted.
fn requesters(csrs: &[Item<CertificateSigningRequest>]) -> BTreeMap<String, Vec<String>> {
    let mut by_cluster: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for csr in csrs.iter().filter(|it| is_pending(it)) {
        let sender = plain(csr.object.spec.username.as_deref().unwrap_or_default());
        let of_cluster = by_cluster.entry(cluster(&csr.object).to_owned());
        of_cluster.or_default().push(sender);
    }
    for senders in by_cluster.values_mut() {
        senders.sort_unstable();
        senders.dedup();
    }
    by_cluster
}

// === impl Pending ===

impl Pending {
    fn requesters_of(&self, name: &str) -> String {
        match &self.requesters {
            None => UNREADABLE.to_owned(),
            Some(all) => all.get(name).map_or_else(String::new, |it| it.join(",")),
        }
    }
}

impl View for Pending {
    type Kind = ManagedCluster;

    fn titles(&self) -> Vec<&'static str> {
        vec!["NAME", "REQUESTERS", "AGE"]
    }

    fn cells(&self, item: &Item<ManagedCluster>, now: Timestamp) -> Vec<String> {
        let name = item.name();
        let requesters = self.requesters_of(&name);
        vec![name, requesters, age_of(item.object.meta(), now)]
    }

    fn tree(&self, items: &[Item<ManagedCluster>]) -> Node {
        let mut root = Node::new("ManagedCluster");
        for item in items {
            let name = item.name();
            let requesters = self.requesters_of(&name);
            root.push(Node::new(name).with(Node::leaf("Requesters", requesters)));
        }
        root
    }

    fn none(&self) -> String {
        "No cluster waits to be accepted.".to_owned()
    }

    /// One that cannot be read is shown, since it may not be accepted.
    fn includes(&self, item: &Item<ManagedCluster>) -> bool {
        item.unreadable.is_some() || !item.object.spec.hub_accepts_client
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn csr(cluster: &str, sender: &str, decided: bool) -> Item<CertificateSigningRequest> {
        let conditions = decided.then(|| json!([{"type": "Approved", "status": "True"}]));
        Item::of(json!({
            "metadata": {"name": "x", "labels": {CLUSTER_NAME: cluster}},
            "spec": {"request": "", "signerName": "s", "username": sender},
            "status": {"conditions": conditions},
        }))
    }

    #[test]
    fn a_cluster_has_those_who_ask_for_it() {
        let csrs = [
            csr("c1", "b", false),
            csr("c1", "a", false),
            csr("c1", "b", false),
            csr("c2", "a", true),
        ];
        let view = Pending {
            requesters: Some(requesters(&csrs)),
        };
        assert_eq!(view.requesters_of("c1"), "a,b");
        assert_eq!(view.requesters_of("c2"), "");
        let unread = Pending { requesters: None };
        assert_eq!(unread.requesters_of("c1"), UNREADABLE);
    }

    #[test]
    fn accepted_clusters_do_not_wait() {
        let view = Pending {
            requesters: Some(BTreeMap::new()),
        };
        for (spec, waits) in [
            (json!({"hubAcceptsClient": true}), false),
            (json!({}), true),
            (json!({"hubAcceptsClient": 7}), true),
        ] {
            let item = Item::of(json!({"metadata": {"name": "c1"}, "spec": spec}));
            assert_eq!(view.includes(&item), waits, "{spec}");
        }
    }
}
