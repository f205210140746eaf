//! Schemas of Kubernetes' own types, for the CRDs.
//!
//! k8s-openapi's schemas of these types lack the limits that OCM's CRDs state. The types here exist only for their schema: a field
//! of `Condition`s is declared with `#[schemars(with = "Vec<schema::Condition>")]`.
#![expect(
    dead_code,
    reason = "the fields are read by the derive of their schema only"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// A qualified name: an optional DNS subdomain with `/`, then a name.
pub(crate) const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// A qualified name as the CRD of Placements writes it: without the group around the name.
pub(crate) const TOPOLOGY_KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
/// A DNS label, the rule for the name of a namespace.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS subdomain, the rule for the names of most objects.
pub(crate) const DNS_SUBDOMAIN: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
const INT_OR_PERCENT: &str = "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$";
const COUNT_OR_PERCENT: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// One aspect of the object's state: its status, since when, and why.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    /// When `status` last changed.
    last_transition_time: Time,
    /// A message for users; may be empty.
    #[schemars(length(max = 32768))]
    message: String,
    /// The `metadata.generation` that the condition was set for. If it is less than the object's, the condition is out of date.
    #[schemars(range(min = 0))]
    observed_generation: Option<i64>,
    /// The reason of `status`, as one CamelCase word for programs.
    #[schemars(length(min = 1, max = 1024), extend("pattern" = REASON))]
    reason: String,
    /// The status of the condition: True, False, or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    status: String,
    /// The type of the condition, in CamelCase. A list holds each type once.
    #[schemars(length(max = 316), extend("pattern" = QUALIFIED_NAME))]
    r#type: String,
}

/// Selects objects by their labels. All requirements must hold; an empty selector selects everything.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub(crate) struct LabelSelector {
    /// Requirements with an operator.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    match_expressions: Option<Vec<LabelSelectorRequirement>>,
    /// Labels that the object must have, with these values.
    match_labels: Option<BTreeMap<String, String>>,
}

/// A requirement on one label.
#[derive(JsonSchema)]
struct LabelSelectorRequirement {
    /// The key of the label.
    key: String,
    /// The comparison: In, NotIn, Exists, or DoesNotExist.
    operator: String,
    /// The values to compare with: at least one for In and NotIn, empty for Exists and DoesNotExist.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    values: Option<Vec<String>>,
}

/// A requirement on one claim of a cluster.
#[derive(JsonSchema)]
pub(crate) struct ClaimRequirement {
    /// The name of the claim.
    key: String,
    /// The comparison: In, NotIn, Exists, or DoesNotExist.
    operator: String,
    /// The values to compare with: at least one for In and NotIn, empty for Exists and DoesNotExist.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    values: Option<Vec<String>>,
}

/// A taint of nodes that pods tolerate.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodToleration {
    /// The effect of the taint: NoSchedule, PreferNoSchedule or NoExecute. Empty: any effect.
    effect: Option<String>,
    /// The key of the taint. Empty, with the operator Exists: any taint.
    key: Option<String>,
    /// The comparison with the value of the taint: Equal or Exists. Empty: Equal.
    operator: Option<String>,
    /// How many seconds a pod stays on a node with a taint of the effect NoExecute. If absent, it stays.
    toleration_seconds: Option<i64>,
    /// The value of the taint, for the operator Equal.
    value: Option<String>,
}

/// The resources of a container.
#[derive(JsonSchema)]
pub(crate) struct ResourceRequirements {
    /// The resource claims of the pod that the container uses.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    claims: Option<Vec<ResourceClaim>>,
    /// The most that the container may use.
    limits: Option<BTreeMap<String, Quantity>>,
    /// The least that the container needs.
    requests: Option<BTreeMap<String, Quantity>>,
}

/// A resource claim of a pod.
#[derive(JsonSchema)]
struct ResourceClaim {
    /// The name of the claim in the pod.
    name: String,
    /// The request of the claim that the container uses. Empty: all of them.
    request: Option<String>,
}

/// A point in time, RFC 3339.
pub(crate) struct Time;

/// An amount with an optional suffix, such as `500m` or `16Gi`.
pub(crate) struct Quantity;

/// A number, or a percentage such as `25%`.
pub(crate) struct IntOrPercent;

/// A number from 0, or a percentage such as `0%`.
pub(crate) struct CountOrPercent;

/// A number without a stated size: `int` in Go.
pub(crate) struct Integer;

/// An object with any fields.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

// === impl Time ===

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

// === impl Quantity ===

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "pattern": QUANTITY})
    }
}

// === impl IntOrPercent ===

impl JsonSchema for IntOrPercent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "pattern": INT_OR_PERCENT})
    }
}

// === impl CountOrPercent ===

impl JsonSchema for CountOrPercent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CountOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "pattern": COUNT_OR_PERCENT})
    }
}

// === impl Integer ===

impl JsonSchema for Integer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Integer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer"})
    }
}
