//! What the agent keeps of the objects that it watches.

use std::collections::BTreeMap;

use berth_agent_core::cluster::Cluster;
use berth_agent_core::resources::Node;
use berth_reconcile::{Item, Keep};
use serde::Deserialize;
use serde_json::Value;

/// The label of a ClusterClaim that is not reported.
const SPOKE_ONLY: &str = "open-cluster-management.io/spoke-only";

/// One more than the longest value that the hub's schema allows, in characters: of a longer one no more is kept.
const KEPT: usize = 1025;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The ManagedCluster, on the hub.
    Cluster,
    /// Nodes of the managed cluster.
    Node,
    /// Namespaces with the hub's label.
    Namespace,
    /// ClusterClaims.
    Claim,
    /// ClusterProperties.
    Property,
}

/// What is kept of an object.
#[derive(Debug)]
pub(crate) enum Fact {
    Cluster(Box<Cluster>),
    Node(Node),
    /// The value of the hub's label.
    Namespace(String),
    Claim(Claim),
}

/// A ClusterClaim or a ClusterProperty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) value: Box<str>,
    pub(crate) is_spoke_only: bool,
}

type Read = Result<Fact, serde_json::Error>;

/// Reads a ManagedCluster. Fields that cannot be read count as absent.
pub(crate) fn cluster(item: &Item<'_>) -> Read {
    let keep = Keep::Fields(&[
        (
            "metadata",
            Keep::Fields(&[
                ("name", Keep::Whole),
                ("uid", Keep::Whole),
                ("resourceVersion", Keep::Whole),
                ("deletionTimestamp", Keep::Whole),
            ]),
        ),
        (
            "spec",
            Keep::Fields(&[
                ("hubAcceptsClient", Keep::Whole),
                ("leaseDurationSeconds", Keep::Whole),
            ]),
        ),
        ("status", Keep::Whole),
    ]);
    Ok(Fact::Cluster(Box::new(Cluster::read(
        &item.trimmed(&keep)?,
    ))))
}

/// Reads a Node. Amounts that are not texts or numbers are left out.
pub(crate) fn node(item: &Item<'_>) -> Read {
    #[derive(Deserialize)]
    struct Stored {
        #[serde(default)]
        spec: Option<Spec>,
        #[serde(default)]
        status: Option<Status>,
    }
    #[derive(Default, Deserialize)]
    struct Spec {
        #[serde(default)]
        unschedulable: Option<bool>,
    }
    #[derive(Default, Deserialize)]
    struct Status {
        #[serde(default)]
        capacity: Option<BTreeMap<String, Value>>,
        #[serde(default)]
        allocatable: Option<BTreeMap<String, Value>>,
    }
    let stored: Stored = item.parse()?;
    let status = stored.status.unwrap_or_default();
    let texts = |amounts: Option<BTreeMap<String, Value>>| {
        let text = |(name, amount)| match amount {
            Value::String(text) => Some((name, text)),
            Value::Number(number) => Some((name, number.to_string())),
            _ => None,
        };
        amounts
            .unwrap_or_default()
            .into_iter()
            .filter_map(text)
            .collect()
    };
    Ok(Fact::Node(Node {
        is_unschedulable: stored
            .spec
            .and_then(|it| it.unschedulable)
            .unwrap_or_default(),
        capacity: texts(status.capacity),
        allocatable: texts(status.allocatable),
    }))
}

/// Reads a ClusterClaim or a ClusterProperty: both have `spec.value`.
pub(crate) fn claim(item: &Item<'_>) -> Read {
    #[derive(Deserialize)]
    struct Stored {
        metadata: Metadata,
        #[serde(default)]
        spec: Spec,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        labels: Option<BTreeMap<String, String>>,
    }
    #[derive(Default, Deserialize)]
    struct Spec {
        #[serde(default)]
        value: String,
    }
    let stored: Stored = item.parse()?;
    let value = stored.spec.value;
    let end = value
        .char_indices()
        .nth(KEPT)
        .map_or(value.len(), |(at, _)| at);
    let labels = stored.metadata.labels.unwrap_or_default();
    Ok(Fact::Claim(Claim {
        value: value[..end].into(),
        is_spoke_only: labels.contains_key(SPOKE_ONLY),
    }))
}

/// Reads the value of the hub's label of a namespace.
pub(crate) fn namespace(item: &Item<'_>, label: &str) -> Read {
    #[derive(Deserialize)]
    struct Stored {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        labels: BTreeMap<String, String>,
    }
    let mut stored: Stored = item.parse()?;
    Ok(Fact::Namespace(
        stored.metadata.labels.remove(label).unwrap_or_default(),
    ))
}
