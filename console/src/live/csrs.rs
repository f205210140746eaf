//! The CSRs of clusters.

use std::sync::Arc;

use berth_api::labels;
use berth_lifecycle_core::facts::{CertificateRequest, Standing};
use berth_reconcile::{Item, Watched};
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::{Fact, Objects, watched};

/// Upper bound on the CSRs that are kept. Further ones are not shown.
const MOST_CSRS: usize = 5000;

/// A CSR with the label of a cluster, not of an add-on.
#[derive(Clone, Debug)]
pub(crate) struct CsrObject {
    pub(crate) request: CertificateRequest,
    pub(crate) standing: Standing,
    /// Its certificate was issued.
    pub(crate) issued: bool,
    /// The reason of the condition Approved.
    pub(crate) approved_by: Option<String>,
    pub(crate) approved_at: Option<Timestamp>,
}

/// The CSRs by name.
pub(crate) type Csrs = Objects<CsrObject>;

// === impl Csrs ===

impl Csrs {
    /// Those with the label of this cluster.
    pub(crate) fn of<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a Arc<CsrObject>> {
        self.iter().filter(move |it| it.request.cluster == cluster)
    }
}

impl Fact for CsrObject {
    const RESOURCE: &'static str = "certificatesigningrequests.certificates.k8s.io";

    fn most() -> usize {
        MOST_CSRS
    }

    fn watched() -> Watched<()> {
        let selector = format!("{},!{}", labels::CLUSTER_NAME, labels::ADDON_NAME);
        let kind = ("certificates.k8s.io", "v1", "certificatesigningrequests");
        watched("csrs", kind).labelled(selector)
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let object: CertificateSigningRequest = item.parse().ok()?;
        let status = object.status.as_ref();
        let issued = status.is_some_and(|it| it.certificate.is_some());
        let conditions = status.and_then(|it| it.conditions.as_ref());
        let approved = conditions
            .into_iter()
            .flatten()
            .find(|it| it.type_ == "Approved");
        let approved_by = approved.and_then(|it| it.reason.clone());
        let approved_at = approved.and_then(|it| Some(it.last_update_time.as_ref()?.0));
        let (request, standing) = CertificateRequest::read(object)?;
        Some(Self {
            request,
            standing,
            issued,
            approved_by,
            approved_at,
        })
    }
}
