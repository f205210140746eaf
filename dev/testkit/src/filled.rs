//! ManagedClusters of the largest size that the hub stores.

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

/// The largest object in etcd by its default, in bytes. A hub's limit may differ a little.
const LIMIT: usize = 1_572_864;

/// Fills the ManagedCluster at this path with claims until not one byte more fits.
pub async fn fill(agent: &Person, path: &str) {
    let status = format!("{path}/status");
    // The size of the object with these claims; none when they do not fit.
    let size = async |count, last| {
        let answer = agent.merge(&status, &claims(count, last)).await.unwrap();
        if answer.code == 200 {
            return Some(answer.body.to_string().len());
        }
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(
            berth_api::room::is_too_large(answer.code, message),
            "{answer:?}"
        );
        None
    };
    // The most claims of the shortest value, then the longest value of the last one.
    let some = MOST / 3;
    let guess = some * LIMIT / size(some, LONGEST).await.unwrap();
    let count = most(guess, some, MOST, async |count| {
        size(count, 1).await.is_some()
    })
    .await;
    let room = LIMIT.saturating_sub(size(count, 1).await.unwrap());
    let last = most(room, 1, LONGEST, async |last| {
        size(count, last).await.is_some()
    })
    .await;
    assert!(size(count, last).await.is_some());
}

/// The largest number up to `end` that fits; `least` does. It begins with a guess, as each attempt writes a megabyte.
async fn most(
    guess: usize,
    least: usize,
    end: usize,
    mut fits: impl AsyncFnMut(usize) -> bool,
) -> usize {
    let (mut fitting, mut more) = (least, end + 1);
    let (mut at, mut step) = (guess, 1);
    while more - fitting > 1 {
        if at <= fitting || at >= more {
            at = usize::midpoint(fitting, more);
        }
        if fits(at).await {
            fitting = at;
            at += step;
        } else {
            more = at;
            at = at.saturating_sub(step);
        }
        step *= 4;
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::most;

    #[tokio::test]
    async fn the_largest_number_that_fits_is_found_from_any_guess() {
        for guess in [0, 1, 7, 29, 30, 31, 99, 1000] {
            for limit in [1, 2, 30, 98, 99] {
                let mut attempts = 0;
                let found = most(guess, 1, 99, async |at| {
                    attempts += 1;
                    at <= limit
                });
                assert_eq!(found.await, limit, "{guess}");
                assert!(attempts < 12, "{guess}, {limit}: {attempts}");
            }
        }
    }
}
