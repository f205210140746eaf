//! Kinds that there is never an object of: pods, which nobody would run, and limits, which nobody would keep.
//!
//! They can be read, as kubectl does when it describes a node or a namespace. All else is refused.

use k8s_openapi::Resource as Known;
use k8s_openapi::api::core::v1::{LimitRange, Pod, ResourceQuota};

use super::kind::{kind, names};
use crate::resources::{Resource, Verb};

pub(super) fn limit_ranges() -> Resource {
    absent::<LimitRange>("limits")
}

pub(super) fn pods() -> Resource {
    let fields = [
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ];
    Resource {
        categories: names(&["all"]),
        selectable_fields: names(&fields),
        ..absent::<Pod>("po")
    }
}

pub(super) fn resource_quotas() -> Resource {
    absent::<ResourceQuota>("quota")
}

fn absent<T>(short_name: &str) -> Resource
where
    T: Known + schemars::JsonSchema,
    T::Scope: 'static,
{
    Resource {
        short_names: names(&[short_name]),
        verbs: vec![Verb::Get, Verb::List, Verb::Watch],
        ..kind::<T>()
    }
}
