//! The sets, and their bindings.

use berth_admin::answers::selects;
use berth_api::cluster_set::SelectorType;
use berth_api::conditions::{FALSE, cluster_set_binding, condition_of};
use berth_api::{ManagedClusterSet, ManagedClusterSetBinding, groups, lenient};
use berth_reconcile::{Item, Watched};
use serde_json::Value;

use super::{Fact, watched};
use crate::answers::Text;

/// Upper bound on the sets that are kept. Further ones are not shown.
const MOST_SETS: usize = 5000;

/// Upper bound on the bindings that are kept. Further ones are not shown.
const MOST_BINDINGS: usize = 20_000;

/// A ManagedClusterSet.
#[derive(Clone, Debug)]
pub(crate) struct SetFact {
    pub(crate) name: String,
    pub(crate) by_name: bool,
    pub(crate) selects: Text,
    pub(crate) reported: Text,
    pub(crate) deleting: bool,
}

/// A ManagedClusterSetBinding.
#[derive(Clone, Debug)]
pub(crate) struct BindingFact {
    pub(crate) namespace: String,
    pub(crate) set: String,
    /// Why it has no effect.
    pub(crate) why: Option<Text>,
}

// === impl SetFact ===

impl Fact for SetFact {
    const RESOURCE: &'static str = "managedclustersets.cluster.open-cluster-management.io";

    fn most() -> usize {
        MOST_SETS
    }

    fn watched() -> Watched<()> {
        watched(
            "managedclustersets",
            (groups::CLUSTER, "v1beta2", groups::MANAGED_CLUSTER_SETS),
        )
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let object: Value = item.parse().ok()?;
        let name = item.meta.name.clone();
        let set = match lenient::with_conditions::<ManagedClusterSet>(&object) {
            Ok(read) => read.object,
            Err(error) => {
                return Some(Self {
                    name,
                    by_name: false,
                    selects: format!("cannot be read: {error}").into(),
                    reported: Text::default(),
                    deleting: false,
                });
            }
        };
        let selector = &set.spec.cluster_selector;
        let status = set.status.as_ref();
        let conditions = status
            .map(|it| it.conditions.as_slice())
            .unwrap_or_default();
        let empty = condition_of(conditions, "ClusterSetEmpty");
        Some(Self {
            name,
            by_name: match &selector.selector_type {
                SelectorType::ExclusiveClusterSetLabel => true,
                SelectorType::Other(other) => other.is_empty(),
                SelectorType::LabelSelector => false,
            },
            selects: Text::line(&selects(selector)),
            reported: Text::line(empty.map_or("", |it| &it.message)),
            deleting: set.metadata.deletion_timestamp.is_some(),
        })
    }
}

// === impl BindingFact ===

impl Fact for BindingFact {
    const RESOURCE: &'static str = "managedclustersetbindings.cluster.open-cluster-management.io";

    fn most() -> usize {
        MOST_BINDINGS
    }

    fn watched() -> Watched<()> {
        watched(
            "managedclustersetbindings",
            (
                groups::CLUSTER,
                "v1beta2",
                groups::MANAGED_CLUSTER_SET_BINDINGS,
            ),
        )
    }

    fn read(item: &Item<'_>) -> Option<Self> {
        let object: Value = item.parse().ok()?;
        let read = lenient::with_conditions::<ManagedClusterSetBinding>(&object).ok()?;
        let binding = read.object;
        let conditions = binding.status.map(|it| it.conditions).unwrap_or_default();
        let bound = condition_of(&conditions, cluster_set_binding::BOUND);
        let why = bound.filter(|it| it.status == FALSE);
        let set = match binding.spec.cluster_set.as_str() {
            "" => item.meta.name.clone(),
            set => set.to_owned(),
        };
        Some(Self {
            namespace: item.meta.namespace.clone(),
            set,
            why: why.map(|it| Text::line(&it.message)),
        })
    }
}
