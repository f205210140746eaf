//! What is kept of the objects that are watched.

use std::sync::Arc;

use berth_api::GroupVersionResource;
use berth_api::labels::HOLD;
use berth_api::work::{AppliedManifestWork, ManifestWork};
use berth_reconcile::{Item, Watched};
use berth_work_agent_core::{Arrived, Definition, RbacKind, RowId};
use berth_work_core::grants::{self, Rbac};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde::Deserialize;

use super::MANAGED;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// ManifestWorks of the cluster, on the hub.
    Works,
    /// AppliedManifestWorks of all hubs and agents, on the managed cluster.
    Applied,
    /// CustomResourceDefinitions of the managed cluster.
    Definitions,
    /// Roles or bindings of the managed cluster.
    Permissions(RbacKind),
    /// Objects of a kind that manifests prescribe, on the managed cluster.
    Objects(RowId),
}

/// What is kept of an object.
#[derive(Debug)]
pub(crate) enum Fact {
    /// A ManifestWork, with its manifests as text.
    Work(Arc<ManifestWork>),
    /// An AppliedManifestWork.
    Applied(Arc<AppliedManifestWork>),
    /// A CustomResourceDefinition: its group, and whether it is served.
    Definition(Definition),
    /// A role or a binding.
    Permissions(Rbac),
    /// An object that manifests prescribe.
    Object(Arrived),
    /// An object that no manifest prescribes.
    Foreign,
}

/// The resource of CustomResourceDefinitions.
pub(crate) fn definitions() -> GroupVersionResource {
    GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// Reads a ManifestWork. Its unreadable fields count as absent.
pub(crate) fn work(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
    let read = berth_api::lenient::manifest_work(item.json)?;
    let mut work = read.object;
    // Nothing reads them, and they may have hundreds of kilobytes.
    work.metadata.managed_fields = None;
    work.metadata.annotations = None;
    work.metadata.owner_references = None;
    Ok(Fact::Work(Arc::new(work)))
}

/// Reads an AppliedManifestWork.
pub(crate) fn applied(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
    let mut applied: AppliedManifestWork = item.parse()?;
    applied.metadata.managed_fields = managers(applied.metadata.managed_fields);
    Ok(Fact::Applied(Arc::new(applied)))
}

/// Keeps the entry of the last write, and behind it that of the annotation by which an admin holds the work, without their fields.
fn managers(all: Option<Vec<ManagedFieldsEntry>>) -> Option<Vec<ManagedFieldsEntry>> {
    let key = format!("f:{HOLD}");
    let holds = |it: &ManagedFieldsEntry| {
        let fields = it.fields_v1.as_ref();
        fields.is_some_and(|it| it.0["f:metadata"]["f:annotations"].get(&key).is_some())
    };
    let all = all?;
    let holder = all.iter().find(|it| holds(it)).cloned();
    let of_time = |it: &ManagedFieldsEntry| it.time.as_ref().map(|it| it.0);
    let last = all.into_iter().max_by_key(of_time)?;
    let mut kept: Vec<_> = std::iter::once(last).chain(holder).collect();
    for entry in &mut kept {
        entry.fields_v1 = None;
    }
    Some(kept)
}

/// Reads a CustomResourceDefinition.
pub(crate) fn definition(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
    #[derive(Deserialize)]
    struct Object {
        #[serde(default)]
        metadata: Metadata,
        spec: Spec,
        #[serde(default)]
        status: Status,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        generation: i64,
    }
    #[derive(Deserialize)]
    struct Spec {
        group: Box<str>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Status {
        conditions: Option<Vec<Condition>>,
    }
    #[derive(Deserialize)]
    struct Condition {
        #[serde(rename = "type")]
        type_: Box<str>,
        status: Box<str>,
    }
    let object: Object = item.parse()?;
    let conditions = object.status.conditions.unwrap_or_default();
    Ok(Fact::Definition(Definition {
        group: object.spec.group,
        is_served: (conditions.iter())
            .any(|it| &*it.type_ == "Established" && &*it.status == "True"),
        generation: object.metadata.generation,
    }))
}

/// The row of the table of kinds.
pub(crate) fn permissions(kind: RbacKind) -> Watched<Fact> {
    let (resource, read): (_, fn(&str) -> _) = match kind {
        RbacKind::Roles => ("roles", grants::role),
        RbacKind::ClusterRoles => ("clusterroles", grants::role),
        RbacKind::RoleBindings => ("rolebindings", grants::binding),
        RbacKind::ClusterRoleBindings => ("clusterrolebindings", grants::binding),
    };
    let kind = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", resource);
    let watched = Watched::new(resource, kind, move |item| {
        read(item.json).map(Fact::Permissions)
    });
    watched.on(MANAGED).optional()
}
