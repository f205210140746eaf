//! A request as the controller keeps it: with the result of its validation, and without its text.
//!
//! A request stays pending until an admin decides about it, and any user who may create CSRs can label one for a cluster. So the
//! controller keeps little of each: neither the PEM, of up to 16 KiB, nor the annotations of one that cannot be approved.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Decision, Refusal, SIGNER, decide_validated, is_foreign, validate};
use crate::automatic::Obstacle;
use crate::config::Config;
use crate::facts::{CertificateRequest, Cluster};

/// A request, validated once.
///
/// It has neither PEM nor usages. One that cannot be approved keeps, of its metadata, only uid and resourceVersion.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRequest {
    request: CertificateRequest,
    validated: Result<String, Refusal>,
}

// === impl CheckedRequest ===

impl CheckedRequest {
    /// Validates a request and drops what no decision needs. None, if every decision about it is [`Decision::Ignore`].
    pub fn new(mut request: CertificateRequest) -> Option<Self> {
        let is_foreign = is_foreign(&request);
        if request.signer != SIGNER && !is_foreign {
            return None;
        }
        let validated = validate(&request);
        request.request = Vec::new();
        request.usages = Vec::new();
        // An approval repeats the metadata; other writes do not.
        if is_foreign || validated.is_err() {
            request.metadata = ObjectMeta {
                uid: request.metadata.uid,
                resource_version: request.metadata.resource_version,
                ..ObjectMeta::default()
            };
            request.conditions = Vec::new();
        }
        Some(Self { request, validated })
    }

    /// The request, without what was dropped.
    pub fn request(&self) -> &CertificateRequest {
        &self.request
    }

    /// Roughly the bytes that it takes in memory.
    pub fn memory(&self) -> usize {
        /// An entry of a list or a map, besides its text.
        const ENTRY: usize = 96;
        let CertificateRequest {
            name,
            metadata,
            conditions,
            cluster,
            signer,
            username,
            user_uid,
            groups,
            extra,
            ..
        } = &self.request;
        let texts = [name, cluster, signer, username, user_uid];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        let map = |it: &Option<BTreeMap<String, String>>| it.as_ref().map_or(0, BTreeMap::len);
        let finalizers = metadata.finalizers.as_ref().map_or(0, Vec::len);
        let owners = metadata.owner_references.as_ref().map_or(0, Vec::len);
        let values: usize = extra.values().map(|values| 1 + values.len()).sum();
        let entries = map(&metadata.labels)
            + map(&metadata.annotations)
            + finalizers
            + 3 * (owners + conditions.len())
            + groups.len()
            + values;
        let bytes = |of: serde_json::Result<Vec<u8>>| of.map_or(0, |json| json.len());
        size_of::<Self>()
            + texts
            + bytes(serde_json::to_vec(&(metadata, conditions)))
            + bytes(serde_json::to_vec(&(groups, extra)))
            + ENTRY * entries
    }

    /// As [`super::decide`] for the whole request.
    pub fn decide(
        &self,
        config: &Config,
        cluster: Option<&Cluster>,
        obstacle: Option<&Obstacle>,
        may_renew: Option<bool>,
    ) -> Decision {
        let validated = || self.validated.clone();
        decide_validated(
            config,
            &self.request,
            validated,
            cluster,
            obstacle,
            may_renew,
        )
    }
}
