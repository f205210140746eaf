//! Probes of the managed cluster's API server.

use std::time::Duration;

use berth_agent_core::availability::{Health, falls_back_to_healthz};
use berth_hub::{Call, CallError, HubApi};
use berth_reconcile::{Handle, now};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::world::ClusterReport;

/// The longest time for a probe.
const LONGEST: Duration = Duration::from_secs(10);

/// How often the version is read. It is also read after each failure: an upgrade restarts the API server.
const VERSION: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

/// Probes at once, and then once in each period; sooner after a failure. Never ends.
pub(super) async fn run(managed: &HubApi, period: Duration, work: &Handle<ClusterReport>) {
    let mut version_read = None::<Instant>;
    loop {
        let health = probe(managed).await;
        let mut version = None;
        if health != Health::Ok {
            version_read = None;
        } else if version_read.is_none_or(|at| at.elapsed() >= VERSION) {
            version = self::version(managed).await;
            version_read = version.is_some().then(Instant::now);
        }
        let again = work.change(|world, wakes| world.probed(health, version, now(), wakes));
        sleep(again.unwrap_or(period).min(period)).await;
    }
}

/// Asks `/livez`, and `/healthz` where that is not served or not allowed.
async fn probe(managed: &HubApi) -> Health {
    let get = |path: &'static str| managed.call(Call::get(path).within(LONGEST));
    let answer = match get("/livez").await {
        Err(error) if falls_back_to_healthz(error.code()) => get("/healthz").await,
        answer => answer,
    };
    match answer {
        Ok(answer) if answer.status.as_u16() == 200 => Health::Ok,
        Ok(answer) => Health::Failed {
            code: answer.status.as_u16(),
            error: String::from_utf8_lossy(&answer.body).into_owned(),
        },
        Err(error) => Health::Failed {
            code: error.code(),
            error: error.to_string(),
        },
    }
}

async fn version(managed: &HubApi) -> Option<String> {
    let read = async {
        let answer = managed.call(Call::get("/version").within(LONGEST)).await?;
        let version: Version = answer.json()?;
        Ok::<_, CallError>(version.git_version)
    };
    let version = read.await;
    if let Err(error) = &version {
        tracing::warn!(%error, "the version of the managed cluster cannot be read");
    }
    version.ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::tests::server;
    use super::*;

    #[tokio::test]
    async fn livez_counts_and_healthz_where_livez_is_not_served_or_not_allowed() {
        for (livez, healthz, expected) in [
            (200, 500, Ok(())),
            (404, 200, Ok(())),
            (403, 200, Ok(())),
            (404, 500, Err(500)),
            (403, 403, Err(403)),
            (500, 200, Err(500)),
            (401, 200, Err(401)),
            // Only 200 is good.
            (204, 200, Err(204)),
        ] {
            let managed = server(move |asked, _| match asked {
                "GET /livez" => Some((livez, "why".to_owned())),
                "GET /healthz" => Some((healthz, "why".to_owned())),
                _ => None,
            });
            let probed = match probe(&managed).await {
                Health::Ok => Ok(()),
                Health::Failed { code, error } => {
                    assert!(error.contains("why"), "{error}");
                    Err(code)
                }
            };
            assert_eq!(probed, expected, "{livez} {healthz}");
        }
    }
}
