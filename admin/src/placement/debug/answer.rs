//! The response about a placement, with the fields of OCM's debug server.

use std::collections::BTreeMap;

use berth_api::Placement;
use berth_placement_core::Explanation;
use serde::Serialize;
use serde_json::Value;

/// The response.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// The placement, without its status.
    placement: Value,
    /// The clusters that each filter left. The name of a filter contains those before it.
    filtered_pipeline_results: Vec<Filtered>,
    prioritize_results: Vec<Prioritized>,
    /// The sums, the highest first, and equal ones by name.
    aggregated_scores: Vec<Aggregated>,
    /// The reason for each cluster; OCM's server does not have it.
    explanation: Explanation,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Filtered {
    name: &'static str,
    filtered_clusters: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Prioritized {
    name: String,
    weight: i32,
    scores: BTreeMap<String, i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Aggregated {
    cluster_name: String,
    score: i64,
}

// === impl Answer ===

impl Answer {
    pub(super) fn new(placement: &Placement, explanation: Explanation) -> Self {
        let mut object = serde_json::to_value(placement).unwrap_or_default();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let mut matched = Vec::new();
        let mut tolerated = Vec::new();
        let mut prioritized: Vec<Prioritized> = Vec::new();
        let mut aggregated = Vec::new();
        for cluster in &explanation.clusters {
            if let Some(score) = cluster.score {
                tolerated.push(cluster.name.clone());
                aggregated.push(Aggregated {
                    cluster_name: cluster.name.clone(),
                    score,
                });
            }
            if cluster.score.is_some() || cluster.taint.is_some() {
                matched.push(cluster.name.clone());
            }
            for (index, part) in cluster.scores.iter().enumerate() {
                // The scores of each cluster have the order of the prioritizers.
                if prioritized.len() == index {
                    prioritized.push(Prioritized {
                        name: part.prioritizer.clone(),
                        weight: part.weight,
                        scores: BTreeMap::new(),
                    });
                }
                if let Some(score) = part.score {
                    prioritized[index]
                        .scores
                        .insert(cluster.name.clone(), score);
                }
            }
        }
        matched.sort_unstable();
        tolerated.sort_unstable();
        aggregated.sort_by(|one, other| {
            (other.score.cmp(&one.score)).then_with(|| one.cluster_name.cmp(&other.cluster_name))
        });
        Self {
            placement: object,
            filtered_pipeline_results: vec![
                Filtered {
                    name: "Predicate",
                    filtered_clusters: matched,
                },
                Filtered {
                    name: "Predicate,TaintToleration",
                    filtered_clusters: tolerated,
                },
            ],
            prioritize_results: prioritized,
            aggregated_scores: aggregated,
            explanation,
        }
    }
}
