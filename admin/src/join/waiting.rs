//! Waits until a cluster has joined, and says what it waits for.

use std::time::Duration;

use berth_api::{ManagedCluster, conditions};
use berth_lifecycle_core::facts::{Cluster, Standing};
use k8s_openapi::api::core::v1::Secret;
use tokio::time::Instant;

use super::objects::{HUB_SECRET, NAMESPACE};
use super::running::why_agent_does_not_run;
use crate::accept::target::requests_of;
use crate::failure::CommandError;
use crate::hub::HubConnection;
use crate::progress::Progress;

/// The pause between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Until {
    /// The hub has a ManagedCluster and a CSR of the agent, so that an admin can accept it. clusteradm waits for about that, too.
    #[value(alias = "true")]
    Registered,
    /// The agent has joined.
    Joined,
}

/// What is known.
#[derive(Clone, Debug)]
struct Facts {
    /// Why the agent does not run yet. None: it runs, or it is not known.
    agent: Option<String>,
    /// The ManagedCluster, or why it cannot be read.
    cluster: Result<Option<Cluster>, CommandError>,
    /// The CSRs of the agent; empty if they cannot be listed.
    requests: Vec<Standing>,
    /// The agent has its certificate.
    certificate: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Done(String),
    Waits(String),
}

/// A cluster that joins.
pub(super) struct Joining<'a> {
    pub(super) name: &'a str,
    pub(super) hub: &'a HubConnection,
    pub(super) cluster: &'a HubConnection,
}

// === impl Joining ===

impl Joining<'_> {
    /// Waits. Returns what has been reached.
    ///
    /// # Errors
    /// The time is over. The error says what is missing.
    pub(super) async fn wait(&self, until: Until, limit: Duration) -> Result<String, CommandError> {
        let deadline = Instant::now() + limit;
        let mut progress = Progress::new(false, limit);
        loop {
            let missing = match next(self.name, &self.facts().await, until) {
                Step::Done(words) => {
                    progress.clear();
                    return Ok(words);
                }
                Step::Waits(missing) => missing,
            };
            progress.waits(self.name, &missing);
            if Instant::now() >= deadline {
                progress.clear();
                return Err(CommandError::Refused(format!(
                    "{}: timed out after {limit:?}, waiting for {missing}; the agent is installed and goes on",
                    self.name
                )));
            }
            progress.draw();
            tokio::time::sleep_until(deadline.min(Instant::now() + PERIOD)).await;
        }
    }

    async fn facts(&self) -> Facts {
        let of_hub = async {
            let cluster = self.hub.get::<ManagedCluster>(None, self.name).await;
            let cluster = cluster.map(|it| it.map(|item| Cluster::from(item.object)));
            let requests = requests_of(self.hub, self.name).await;
            (cluster, requests.unwrap_or_default())
        };
        let secret = self
            .cluster
            .get_value::<Secret>(Some(NAMESPACE), HUB_SECRET);
        let agent = why_agent_does_not_run(self.cluster, NAMESPACE);
        let ((cluster, requests), agent, secret) = futures::join!(of_hub, agent, secret);
        Facts {
            agent,
            cluster,
            requests: requests.into_iter().map(|(_, standing)| standing).collect(),
            certificate: secret
                .ok()
                .flatten()
                .is_some_and(|secret| secret["data"]["tls.crt"].is_string()),
        }
    }
}

fn next(name: &str, facts: &Facts, until: Until) -> Step {
    let waits = |what: String| Step::Waits(what);
    let cluster = match &facts.cluster {
        Ok(cluster) => cluster.as_ref(),
        // The token has expired, or the hub does not let it read ManagedClusters.
        Err(failure) if matches!(failure.code(), Some(401 | 403)) && facts.certificate => {
            return Step::Done(format!(
                "the agent of {name} has its certificate; the token can no longer read the ManagedCluster on the hub"
            ));
        }
        Err(failure) => return waits(format!("an answer of the hub about {name}: {failure}")),
    };
    let Some(cluster) = cluster else {
        return waits(match &facts.agent {
            Some(why) => format!("the agent to start: {why}"),
            None => "the agent to register the cluster at the hub".to_owned(),
        });
    };
    let status = |type_| cluster.condition_status(type_);
    if status(conditions::cluster::JOINED) == Some(conditions::TRUE) {
        let available = match status(conditions::cluster::AVAILABLE) {
            Some(conditions::TRUE) => ", and is available",
            _ => "",
        };
        return Step::Done(format!(
            "managed cluster {name} has joined the hub{available}"
        ));
    }
    let newest = if facts.requests.contains(&Standing::Approved) {
        Some(Standing::Approved)
    } else if facts.requests.contains(&Standing::Pending) {
        Some(Standing::Pending)
    } else {
        facts.requests.first().copied()
    };
    if until == Until::Registered && newest.is_some() {
        return Step::Done(format!(
            "managed cluster {name} waits to be accepted; on the hub: berth accept {name}"
        ));
    }
    let accept = format!("an admin of the hub (berth accept {name})");
    waits(match (cluster.accepted, newest) {
        (_, None) => match &facts.agent {
            Some(why) => format!("the agent to send its CSR: {why}"),
            None => "the agent to send its CSR".to_owned(),
        },
        (false, _) => format!("{accept}: managed cluster {name} is not accepted"),
        (true, Some(Standing::Pending)) => {
            format!("{accept}: the CSR of the agent is not approved")
        }
        (true, Some(Standing::Refused)) => format!("{accept}: the CSR of the agent was denied"),
        (true, Some(Standing::Approved)) => "the agent to use its certificate".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster(accepted: bool, joined: bool) -> Option<Cluster> {
        let conditions = match joined {
            true => json!([{
                "type": "ManagedClusterJoined", "status": "True", "reason": "ManagedClusterJoined", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]),
            false => json!([]),
        };
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": accepted}, "status": {"conditions": conditions},
        });
        let object: ManagedCluster = serde_json::from_value(object).unwrap();
        Some(Cluster::from(object))
    }

    fn facts(cluster: Option<Cluster>, requests: &[Standing]) -> Facts {
        Facts {
            agent: None,
            cluster: Ok(cluster),
            requests: requests.to_vec(),
            certificate: false,
        }
    }

    #[test]
    fn each_wait_names_who_has_to_do_what() {
        use Standing::{Approved, Pending, Refused};
        for (facts, words) in [
            (
                facts(None, &[]),
                "the agent to register the cluster at the hub",
            ),
            (
                facts(cluster(false, false), &[]),
                "the agent to send its CSR",
            ),
            (
                facts(cluster(false, false), &[Pending]),
                "an admin of the hub (berth accept c1): managed cluster c1 is not accepted",
            ),
            (
                facts(cluster(true, false), &[Refused, Pending]),
                "an admin of the hub (berth accept c1): the CSR of the agent is not approved",
            ),
            (
                facts(cluster(true, false), &[Refused]),
                "an admin of the hub (berth accept c1): the CSR of the agent was denied",
            ),
            (
                facts(cluster(true, false), &[Refused, Approved]),
                "the agent to use its certificate",
            ),
        ] {
            let step = next("c1", &facts, Until::Joined);
            assert_eq!(step, Step::Waits(words.to_owned()));
        }
        let starting = Facts {
            agent: Some("pod a: ImagePullBackOff: no such image".to_owned()),
            ..facts(None, &[])
        };
        let words = "the agent to start: pod a: ImagePullBackOff: no such image";
        assert_eq!(
            next("c1", &starting, Until::Joined),
            Step::Waits(words.to_owned())
        );
    }

    #[test]
    fn a_cluster_that_has_joined_is_done_and_one_that_has_registered_may_be() {
        let done = |facts: &Facts, until| matches!(next("c1", facts, until), Step::Done(_));
        let joined = facts(cluster(true, true), &[]);
        assert!(done(&joined, Until::Joined) && done(&joined, Until::Registered));
        let registered = facts(cluster(false, false), &[Standing::Pending]);
        assert!(!done(&registered, Until::Joined) && done(&registered, Until::Registered));
        assert!(!done(&facts(cluster(false, false), &[]), Until::Registered));
    }

    #[test]
    fn an_expired_token_is_no_failure_once_the_agent_has_its_certificate() {
        let refused = |certificate| Facts {
            cluster: Err(CommandError::Api(Box::new(kube::core::response::Status {
                code: 401,
                reason: "Unauthorized".to_owned(),
                message: "Unauthorized".to_owned(),
                ..Default::default()
            }))),
            certificate,
            ..facts(None, &[])
        };
        assert!(matches!(
            next("c1", &refused(true), Until::Joined),
            Step::Done(_)
        ));
        let Step::Waits(words) = next("c1", &refused(false), Until::Joined) else {
            panic!("it waits");
        };
        assert!(
            words.contains("an answer of the hub about c1: Unauthorized"),
            "{words}"
        );
    }
}
