//! ManagedClusters as large as the hub stores objects.

use serde_json::{Value, json};

use crate::cluster::Person;

/// More claims than fit.
const MOST: usize = 3000;
/// The longest value of a claim.
const LONGEST: usize = 1024;

fn claims(count: usize, last: usize) -> Value {
    let claims = (0..count).map(|at| {
        let length = if at + 1 == count { last } else { LONGEST };
        json!({"name": format!("claim{at:04}"), "value": "x".repeat(length)})
    });
    json!({"status": {"clusterClaims": claims.collect::<Vec<_>>()}})
}

/// Fills the ManagedCluster at this path with claims until not one byte more fits.
pub async fn fill(agent: &Person, path: &str) {
    let fits = async |count, last| {
        let status = format!("{path}/status");
        let answer = agent.merge(&status, &claims(count, last)).await.unwrap();
        if answer.code != 200 {
            let message = answer.body["message"].as_str().unwrap_or_default();
            assert!(
                berth_api::room::is_too_large(answer.code, message),
                "{answer:?}"
            );
        }
        answer.code == 200
    };
    // The most claims of the shortest value, then the longest value of the last one.
    let (mut fitting, mut more) = (0, MOST);
    while more - fitting > 1 {
        let middle = usize::midpoint(fitting, more);
        if fits(middle, 1).await {
            fitting = middle;
        } else {
            more = middle;
        }
    }
    let count = fitting;
    let (mut fitting, mut more) = (1, LONGEST + 1);
    while more - fitting > 1 {
        let middle = usize::midpoint(fitting, more);
        if fits(count, middle).await {
            fitting = middle;
        } else {
            more = middle;
        }
    }
    assert!(fits(count, fitting).await);
}
