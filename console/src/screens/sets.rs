//! The screen Sets. A plain function of what is followed.

use std::collections::HashMap;

use crate::answers::{BoundTo, Counts, SetRow, SetsAnswer, Text};
use crate::live::{BindingFact, Objects, SetFact};
use crate::table::Table;

/// Upper bound on the sets that are shown.
const MOST_ROWS: usize = 200;

/// Upper bound on the namespaces of a set that are shown.
const MOST_BOUND: usize = 50;

/// Makes the answer.
pub(crate) fn sets(
    table: &Table,
    sets: &Objects<SetFact>,
    bindings: &Objects<BindingFact>,
    notes: Vec<Text>,
    read_only: bool,
) -> SetsAnswer {
    let mut counts: HashMap<&str, Counts> = HashMap::new();
    for fact in table.iter() {
        *counts
            .entry(fact.set.as_str())
            .or_default()
            .of(fact.row.state) += 1;
    }
    let mut bound: HashMap<&str, Vec<&BindingFact>> = HashMap::new();
    for binding in bindings.iter() {
        bound.entry(&binding.set).or_default().push(binding);
    }
    let rows = sets.iter().take(MOST_ROWS).map(|set| {
        let counts = match set.by_name {
            true => counts.get(&*set.name).copied().unwrap_or_default(),
            false => Counts::default(),
        };
        let bound = bound.get(&*set.name).map(Vec::as_slice).unwrap_or_default();
        SetRow {
            name: Text::line(&set.name),
            selects: set.selects.clone(),
            by_name: set.by_name,
            clusters: counts.sum(),
            counts,
            reported: set.reported.clone(),
            deleting: set.deleting,
            bound: bound
                .iter()
                .take(MOST_BOUND)
                .map(|it| BoundTo {
                    namespace: Text::line(&it.namespace),
                    why: it.why.clone(),
                })
                .collect(),
            more_bound: bound.len().saturating_sub(MOST_BOUND),
        }
    });
    SetsAnswer {
        sets: rows.collect(),
        more: sets.len().saturating_sub(MOST_ROWS),
        in_no_set: counts.get("").map_or(0, Counts::sum),
        notes,
        read_only,
    }
}

#[cfg(test)]
mod tests {
    use berth_reconcile::Item;
    use serde_json::{Value, json};

    use super::*;
    use crate::fact::ClusterFact;
    use crate::live::{Fact, Store};

    fn kept<F: Fact>(objects: &[Value]) -> Objects<F> {
        let mut kept = Objects::default();
        for object in objects {
            let text = object.to_string();
            let item = Item::read(text.as_bytes()).unwrap();
            let key = format!("{}/{}", item.meta.namespace, item.meta.name);
            Store::insert(&mut kept, &key, F::read(&item));
        }
        kept
    }

    #[test]
    fn a_set_has_its_clusters_and_the_namespaces_that_it_is_bound_to() {
        let mut table = Table::default();
        for (name, set) in [("c1", "prod"), ("c2", "prod"), ("c3", "")] {
            table.insert(ClusterFact::read(&json!({
                "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": set}},
            })));
        }
        let all = kept::<SetFact>(&[
            json!({"metadata": {"name": "prod"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
            json!({
                "metadata": {"name": "global"},
                "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
                "status": {"conditions": [{"type": "ClusterSetEmpty", "status": "False", "reason": "R", "message": "3 ManagedClusters selected", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            }),
            json!({"metadata": {"name": "odd"}, "spec": {"clusterSelector": {"labelSelector": 7}}}),
        ]);
        let binding = |namespace: &str, conditions: Value| json!({"metadata": {"name": "prod", "namespace": namespace}, "spec": {"clusterSet": "prod"}, "status": {"conditions": conditions}});
        let lost = json!([{"type": "Bound", "status": "False", "reason": "R", "message": "no such set", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let bindings = kept(&[binding("team-a", json!([])), binding("team-b", lost)]);
        let answer = sets(&table, &all, &bindings, Vec::new(), false);
        assert_eq!(answer.in_no_set, 1);
        let [global, odd, prod] = &answer.sets[..] else {
            panic!("{answer:?}");
        };
        assert_eq!((prod.clusters, prod.counts.pending), (2, 2));
        assert!(prod.by_name && !global.by_name);
        assert_eq!(prod.bound[0].namespace.as_str(), "team-a");
        assert_eq!(prod.bound[0].why, None);
        assert_eq!(prod.bound[1].why, Some(Text::line("no such set")));
        assert_eq!(global.selects.as_str(), "selects all clusters");
        assert_eq!(global.reported.as_str(), "3 ManagedClusters selected");
        assert!(odd.selects.as_str().starts_with("cannot be read: "));
    }
}
