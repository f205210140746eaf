//! The table of kinds: which objects are watched, and which of their fields are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_addons_core::config::{DeploymentConfig, Stored, Template};
use berth_addons_core::facts::{AddOn, Cluster, OnCluster, Request, Work, binding};
use berth_addons_core::registration::permissions::ADDON_TEMPLATE;
use berth_addons_core::tokens;
use berth_api::{GroupVersionResource, groups, labels};
use berth_reconcile::{Item, Watched};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Selects the CSRs of add-ons, which have both labels.
const OF_ADD_ONS: &str =
    "open-cluster-management.io/addon-name,open-cluster-management.io/cluster-name";

/// Selects the objects with which agents ask for tokens.
const OF_TOKENS: &str = "addon.open-cluster-management.io/token-infrastructure=true";

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    AddOn,
    OnCluster,
    DeploymentConfig,
    Template,
    Cluster,
    Placement,
    Decision,
    Work,
    Binding,
    Request,
    Token(tokens::Kind),
}

/// The kept part of an object.
#[derive(Debug)]
pub(super) enum Fact {
    AddOn(Box<AddOn>),
    OnCluster(Box<OnCluster>),
    DeploymentConfig(Arc<DeploymentConfig>),
    Template(Arc<Template>),
    Cluster(Cluster),
    Placement(PlacementFact),
    Decision(DecisionFact),
    /// `None` without the label of an add-on.
    Work(Option<Work>),
    Binding(Box<RoleBinding>),
    /// `None` if nothing is due for it.
    Request(Option<Request>),
    /// `None` if it is not an add-on's.
    Token(tokens::Kind, Option<tokens::Stored>),
}

/// A Placement, by its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlacementFact {
    /// The number of clusters that it selects.
    pub(super) selected: usize,
    /// It has been evaluated: its status is written last.
    pub(super) is_evaluated: bool,
    /// Its PlacementDecisions are written by another client, and its status is absent or old.
    pub(super) is_paused: bool,
    /// `clustersPerDecisionGroup`
    pub(super) clusters_per_group: Option<IntOrString>,
}

/// A PlacementDecision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DecisionFact {
    /// The placement, in the same namespace.
    pub(super) placement: String,
    pub(super) group_index: i32,
    pub(super) group_name: String,
    pub(super) clusters: Vec<String>,
}

#[derive(Deserialize)]
struct StoredMetadata {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct StoredDecision {
    metadata: StoredMetadata,
    #[serde(default)]
    status: Option<StoredDecisions>,
}

#[derive(Deserialize)]
struct StoredDecisions {
    #[serde(default)]
    decisions: Option<Vec<Selected>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selected {
    #[serde(default)]
    cluster_name: String,
}

#[derive(Deserialize)]
struct StoredPlacement {
    metadata: StoredMetadata,
    #[serde(default)]
    spec: Option<StoredSpec>,
    #[serde(default)]
    status: Option<StoredSelection>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredSpec {
    decision_strategy: Option<StoredStrategy>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredStrategy {
    group_strategy: Option<StoredGroups>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredGroups {
    clusters_per_decision_group: Option<IntOrString>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StoredSelection {
    conditions: Option<Vec<IgnoredAny>>,
    number_of_selected_clusters: i64,
}

// === impl Kind ===

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Self; 13] = [
        Self::AddOn,
        Self::OnCluster,
        Self::DeploymentConfig,
        Self::Template,
        Self::Cluster,
        Self::Placement,
        Self::Decision,
        Self::Work,
        Self::Binding,
        Self::Request,
        Self::Token(tokens::Kind::Account),
        Self::Token(tokens::Kind::Role),
        Self::Token(tokens::Kind::Binding),
    ];

    /// Returns whether add-ons can be installed and deployed without it: it is needed for certificates, permissions and tokens only.
    pub(super) const fn is_of_rights(self) -> bool {
        matches!(self, Self::Binding | Self::Request | Self::Token(_))
    }

    /// Group, version, and resource, which is the name in metrics and logs, too.
    const fn served(self) -> (&'static str, &'static str, &'static str) {
        use groups::{ADDON, CERTIFICATES, CLUSTER, RBAC, WORK};
        match self {
            Self::AddOn => (ADDON, "v1beta1", groups::CLUSTER_MANAGEMENT_ADDONS),
            Self::OnCluster => (ADDON, "v1beta1", groups::MANAGED_CLUSTER_ADDONS),
            Self::DeploymentConfig => (ADDON, "v1beta1", groups::ADDON_DEPLOYMENT_CONFIGS),
            Self::Template => (ADDON, "v1alpha1", groups::ADDON_TEMPLATES),
            Self::Cluster => (CLUSTER, "v1", groups::MANAGED_CLUSTERS),
            Self::Placement => (CLUSTER, "v1beta1", groups::PLACEMENTS),
            Self::Decision => (CLUSTER, "v1beta1", groups::PLACEMENT_DECISIONS),
            Self::Work => (WORK, "v1", groups::MANIFEST_WORKS),
            Self::Binding => (RBAC, "v1", "rolebindings"),
            Self::Request => (CERTIFICATES, "v1", "certificatesigningrequests"),
            Self::Token(tokens::Kind::Account) => ("", "v1", "serviceaccounts"),
            Self::Token(tokens::Kind::Role) => (RBAC, "v1", "roles"),
            Self::Token(tokens::Kind::Binding) => (RBAC, "v1", "rolebindings"),
        }
    }

    /// Its name in metrics and logs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Token(tokens::Kind::Binding) => "rolebindings-of-tokens",
            other => other.served().2,
        }
    }

    pub(super) fn resource(self) -> GroupVersionResource {
        let (group, version, resource) = self.served();
        GroupVersionResource::new(group, version, resource)
    }

    fn read(self, item: &Item<'_>) -> Result<Fact, serde_json::Error> {
        Ok(match self {
            Self::AddOn => Fact::AddOn(Box::new(AddOn::read(item.json)?)),
            Self::OnCluster => Fact::OnCluster(Box::new(OnCluster::read(item.json)?)),
            Self::DeploymentConfig => Fact::DeploymentConfig(Stored::read(item.json)?.into()),
            Self::Template => Fact::Template(Stored::read(item.json)?.into()),
            Self::Cluster => Fact::Cluster(Cluster::read(item.json)?),
            Self::Placement => Fact::Placement(PlacementFact::new(item.parse()?)),
            Self::Decision => Fact::Decision(DecisionFact::new(item.parse()?)),
            Self::Work => Fact::Work(Work::read(item.json)?),
            Self::Binding => Fact::Binding(binding(item.json)?.into()),
            Self::Request => Fact::Request(Request::read(item.json)?),
            Self::Token(kind) => Fact::Token(kind, tokens::Stored::read(kind, item.json)?),
        })
    }
}

/// The table of kinds. The hub may get any of their CRDs later.
pub(super) fn watched() -> Vec<(Kind, Watched<Fact>)> {
    let row = |kind: Kind| {
        let all =
            Watched::new(kind.name(), kind.resource(), move |item| kind.read(item)).optional();
        let row = match kind {
            // Those of ManifestWorkReplicaSets and of users say nothing about add-ons.
            Kind::Work => all.labelled(labels::ADDON_NAME),
            Kind::Binding => all.labelled(ADDON_TEMPLATE),
            Kind::Request => all.labelled(OF_ADD_ONS),
            Kind::Token(_) => all.labelled(OF_TOKENS),
            _ => all,
        };
        (kind, row)
    };
    Kind::ALL.into_iter().map(row).collect()
}

// === impl PlacementFact ===

impl PlacementFact {
    fn new(placement: StoredPlacement) -> Self {
        let status = placement.status.unwrap_or_default();
        let selected = status.number_of_selected_clusters;
        let annotations = placement.metadata.annotations.unwrap_or_default();
        let has_conditions = status.conditions.is_some_and(|it| !it.is_empty());
        let strategy = placement.spec.unwrap_or_default().decision_strategy;
        let groups = strategy.unwrap_or_default().group_strategy;
        Self {
            selected: usize::try_from(selected).unwrap_or_default(),
            is_evaluated: has_conditions || selected > 0,
            is_paused: annotations
                .get(labels::SCHEDULING_DISABLE)
                .is_some_and(|it| it == "true"),
            clusters_per_group: groups.unwrap_or_default().clusters_per_decision_group,
        }
    }
}

// === impl DecisionFact ===

impl DecisionFact {
    fn new(stored: StoredDecision) -> Self {
        let mut of = stored.metadata.labels.unwrap_or_default();
        let index = of.remove(labels::DECISION_GROUP_INDEX);
        let decisions = stored.status.and_then(|it| it.decisions);
        let clusters = decisions.into_iter().flatten().map(|it| it.cluster_name);
        Self {
            placement: of.remove(labels::PLACEMENT).unwrap_or_default(),
            group_index: index.and_then(|it| it.parse().ok()).unwrap_or_default(),
            group_name: of.remove(labels::DECISION_GROUP_NAME).unwrap_or_default(),
            clusters: clusters.filter(|it| !it.is_empty()).collect(),
        }
    }
}
