//! `berth get csr`.

use std::process::ExitCode;

use berth_api::labels::CLUSTER_NAME;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::{Resource, ResourceExt};

use super::query::{Query, ShowArgs};
use super::screen::View;
use super::{UNREADABLE, age_of};
use crate::hub::{HubArgs, Item};
use crate::print::{Format, Node, plain};

/// Show the CSRs of clusters: who sent them, and what was decided
///
/// Shows those with the label open-cluster-management.io/cluster-name. A cluster that wants to join sends one; its agent sends others when it
/// renews its certificate, and the controller approves these. 'berth accept CLUSTER' approves those that wait for a person.
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "csrs",
    aliases = ["certificatesigningrequests", "certificatesigningrequest", "certificatesigningrequests.certificates.k8s.io"],
    after_help = "\
Examples:
  berth get csr
  berth get csr --pending
  berth get csr -l open-cluster-management.io/cluster-name=cluster1 -o wide"
)]
pub(super) struct Args {
    /// Only CSRs of these names
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only CSRs that nobody has decided about
    #[arg(long, conflicts_with = "names")]
    pending: bool,
    #[command(flatten)]
    show: ShowArgs,
}

/// The view of CSRs.
struct Csrs {
    wide: bool,
    pending: bool,
}

pub(super) async fn run(args: &Args, hub: &HubArgs) -> anyhow::Result<ExitCode> {
    let mut query = Query::new(hub, &args.names, &args.show, Format::Table).await?;
    if args.names.is_empty() {
        let labels = &mut query.asked.filter.labels;
        let others = labels.take().into_iter();
        let of_clusters = others.chain([CLUSTER_NAME.to_owned()]);
        *labels = Some(of_clusters.collect::<Vec<_>>().join(","));
    }
    let view = Csrs {
        wide: query.format == Format::Wide,
        pending: args.pending,
    };
    query.run(&view).await
}

// === impl Csrs ===

impl View for Csrs {
    type Kind = CertificateSigningRequest;

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = vec!["NAME", "CLUSTER", "REQUESTER", "STATE", "AGE"];
        if self.wide {
            titles.extend(["SIGNER", "GROUPS"]);
        }
        titles
    }

    fn cells(&self, item: &Item<CertificateSigningRequest>, now: Timestamp) -> Vec<String> {
        let cell = |text: fn(&CertificateSigningRequest) -> String| match item.unreadable {
            None => text(&item.object),
            Some(_) => UNREADABLE.to_owned(),
        };
        let mut cells = vec![
            item.name(),
            cluster(&item.object).to_owned(),
            cell(|it| plain(it.spec.username.as_deref().unwrap_or_default())),
            cell(state),
            age_of(item.object.meta(), now),
        ];
        if self.wide {
            cells.extend([
                cell(|it| plain(&it.spec.signer_name)),
                cell(|it| plain(&it.spec.groups.clone().unwrap_or_default().join(","))),
            ]);
        }
        cells
    }

    fn tree(&self, items: &[Item<CertificateSigningRequest>]) -> Node {
        let mut root = Node::new("CertificateSigningRequest");
        for item in items {
            let csr = &item.object;
            root.push(
                Node::new(item.name())
                    .with(Node::leaf("Cluster", cluster(csr)))
                    .with(Node::leaf(
                        "Requester",
                        plain(csr.spec.username.as_deref().unwrap_or_default()),
                    ))
                    .with(Node::leaf("State", state(csr))),
            );
        }
        root
    }

    fn none(&self) -> String {
        match self.pending {
            true => "No CSR of a cluster waits for a decision.".to_owned(),
            false => "No CSR of a cluster.".to_owned(),
        }
    }

    fn includes(&self, item: &Item<CertificateSigningRequest>) -> bool {
        !self.pending || is_pending(item)
    }
}

/// The name in the label, which whoever sent the CSR has chosen.
pub(super) fn cluster(csr: &CertificateSigningRequest) -> &str {
    csr.labels().get(CLUSTER_NAME).map_or("", String::as_str)
}

/// Returns true if nobody has decided about it, also if it cannot be read.
pub(super) fn is_pending(item: &Item<CertificateSigningRequest>) -> bool {
    item.unreadable.is_some() || state(&item.object) == "Pending"
}

/// As kubectl writes it: what was decided, and whether a certificate is there.
fn state(csr: &CertificateSigningRequest) -> String {
    let status = csr.status.as_ref();
    let conditions = status.and_then(|it| it.conditions.as_ref());
    let has = |type_: &str| conditions.is_some_and(|all| all.iter().any(|it| it.type_ == type_));
    let mut words = Vec::new();
    match (has("Approved"), has("Denied")) {
        (_, true) => words.push("Denied"),
        (true, false) => words.push("Approved"),
        (false, false) => words.push("Pending"),
    }
    if has("Failed") {
        words.push("Failed");
    }
    if status.is_some_and(|it| it.certificate.is_some()) {
        words.push("Issued");
    }
    words.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_whose_it_is_and_what_was_decided() {
        let view = Csrs {
            wide: true,
            pending: true,
        };
        let with = |conditions: &[&str], certificate: Option<&str>| {
            let conditions: Vec<_> = conditions
                .iter()
                .map(|type_| json!({"type": type_, "status": "True"}))
                .collect();
            Item::<CertificateSigningRequest>::of(json!({
                "metadata": {
                    "name": "c1-x", "creationTimestamp": "1969-12-31T23:55:00Z",
                    "labels": {"open-cluster-management.io/cluster-name": "c1"},
                },
                "spec": {"request": "", "signerName": "s", "username": "boot\nstrap", "groups": ["a", "b"]},
                "status": {"conditions": conditions, "certificate": certificate},
            }))
        };
        let fresh = with(&[], None);
        let row = ["c1-x", "c1", "boot...", "Pending", "5m", "s", "a,b"];
        assert_eq!(view.cells(&fresh, Timestamp::UNIX_EPOCH), row);
        assert_eq!(view.titles().len(), row.len());
        assert!(view.includes(&fresh));
        for (conditions, certificate, expected) in [
            (&["Approved"][..], None, "Approved"),
            (&["Approved"], Some("aWNo"), "Approved,Issued"),
            (&["Approved", "Failed"], None, "Approved,Failed"),
            (&["Denied"], None, "Denied"),
        ] {
            let csr = with(conditions, certificate);
            assert_eq!(state(&csr.object), expected);
            assert!(!view.includes(&csr), "{expected}");
        }
    }
}
